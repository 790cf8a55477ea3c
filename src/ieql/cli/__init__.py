"""The command line: thin commands over `IEQLRegressor` and the run folder.

Exit codes: 0 done; 2 wrong use or bad input, said in one sentence; 130 interrupted, results kept.
Whatever is slow to import is imported inside the commands, so that ``--help`` is quick.
"""

from __future__ import annotations

from ieql.cli.app import app

# To import them is to register their commands, in the order of the help.
from ieql.cli import fitting, many, looking, using  # noqa: F401  isort: skip

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    app(prog_name="ieql")
