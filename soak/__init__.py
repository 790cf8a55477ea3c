"""The long forms of the tests: ``python -m soak <name>``; the short ones are in ``tests``."""
