"""Settings of all tests; being here also puts this folder on the import path."""

from __future__ import annotations

from hypothesis import settings

# The same examples in every run, and no clock: a busy machine must not make a test fail.
settings.register_profile("ieql", derandomize=True, deadline=None)
settings.load_profile("ieql")
