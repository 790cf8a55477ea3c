"""Run experiments of the paper: ``python -m experiments <name> [--budget quick]``.

Each writes its data (JSON, CSV) and figures (SVG, PNG) to the folder of results; finished parts
are not run again. ``all`` runs every experiment and writes docs/reproduction.md, ``report`` writes
the page, tables and figures again from the stored results.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from experiments.budget import BUDGETS
from experiments.methods import METHODS
from experiments.store import Store
from ieql.errors import IeqlError, nearest

__all__ = ["EXPERIMENTS", "main"]

ROOT = Path(__file__).parents[1]
EXPERIMENTS = (
    "complex_equations",
    "paper_sweeps",
    "ambiguity",
    "electric_machine",
    "engine_torque",
    "unit_frequencies",
    "method_figures",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=(*EXPERIMENTS, "all", "report"))
    parser.add_argument("--budget", choices=tuple(BUDGETS), default="quick")
    parser.add_argument(
        "--methods",
        default="",
        metavar="NAMES",
        help=f"compare these alone, with commas between them: {', '.join(METHODS)}",
    )
    parser.add_argument("--results", type=Path, default=ROOT / "experiments" / "results")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "reproduction.md")
    options = parser.parse_args(arguments)
    start = time.monotonic()

    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        print(f"[{(time.monotonic() - start) / 60:5.1f} min] {text}", flush=True)

    names = EXPERIMENTS if options.name == "all" else (options.name,)
    only = tuple(name.strip() for name in options.methods.split(",") if name.strip())
    try:
        for name in only:
            if name not in METHODS:
                raise IeqlError(f"There is no method {name!r}.{nearest(name, METHODS)}")
        for name in names:
            if name != "report":
                store = Store(options.results, name, say)
                budget = replace(BUDGETS[options.budget], only=only)
                import_module(f"experiments.{name}").run(store, budget)
                if not only:
                    store.finish(budget)
        if options.name != "report" and not said:
            say("every part was finished before; with --results and another folder all is run anew")
        if options.name in ("all", "report"):
            from experiments.reproduction import write_page, write_tables

            write_tables(options.results)
            write_page(options.results, options.page)
            say(f"wrote {options.page.name}")
    except KeyboardInterrupt:
        print(
            "Interrupted; finished parts are kept, and the same command continues.", file=sys.stderr
        )
        return 130
    except IeqlError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"Error: {error}; choose another folder by --results.", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
