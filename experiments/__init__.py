"""The experiments of the paper, with their baselines: ``python -m experiments <name>``."""
