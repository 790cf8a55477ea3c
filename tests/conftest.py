"""Settings of all tests; being here also puts this folder on the import path."""

from __future__ import annotations

import os

# Before anything loads NumPy. Tests run in parallel processes, one BLAS thread each; and without
# the last one scikit-learn would skip one of its checks of an estimator.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "SCIPY_ARRAY_API"):
    os.environ.setdefault(name, "1")

from hypothesis import settings  # noqa: E402

from ieql.equations.program import compile_kernels  # noqa: E402

# Before a test imports one of them: what numba compiles in this process is not, in its last digits,
# what it stores for others (`ieql.equations.program`).
compile_kernels(
    "ieql.equations.kernels", "ieql.training.fast.law_kernel", "ieql.training.paper.steps"
)

# The same examples in every run, and no clock: a busy machine must not make a test fail.
settings.register_profile("ieql", derandomize=True, deadline=None)
settings.load_profile("ieql")
