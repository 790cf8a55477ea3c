"""One new file with an extension, used from Python and on the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ieql.plugins import load_plugins

__all__ = ["ieql", "loaded"]


@contextmanager
def loaded(file: Path, registry: dict[str, Any]) -> Iterator[None]:
    """The plugin as Python finds it; afterwards the registry is as it was before."""
    before = dict(registry)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IEQL_PLUGINS", str(file))
        patch.setattr(sys, "path", list(sys.path))
        load_plugins.cache_clear()
        try:
            yield
        finally:
            registry.clear()
            registry.update(before)
            load_plugins.cache_clear()
            sys.modules.pop(file.stem, None)


def ieql(folder: Path, plugin: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a folder that holds the plugin."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "IEQL_PLUGINS": plugin,
    }
    return subprocess.run(
        [sys.executable, "-m", "ieql", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
    )
