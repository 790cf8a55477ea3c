"""The experiments of the paper, with their baselines: ``python -m experiments <name>``."""

import sys
from pathlib import Path

# The benchmarks are scripts beside this package; what runs other tools and writes files is there.
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
