"""The page docs/reproduction.md, written from the stored results alone."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path

from experiments import claims
from experiments.store import Store

__all__ = ["SECTIONS", "write_page", "write_tables"]

SECTIONS = (
    "complex_equations",
    "paper_sweeps",
    "ambiguity",
    "unit_frequencies",
    "electric_machine",
    "engine_torque",
    "method_figures",
)
"""In the order of the paper."""
SHOWN_IN_PARTS = ("paper_sweeps",)
"""What takes days and says itself how many runs there are is shown while parts are missing."""
TOP = """# The paper, reproduced

Every table and figure of *Informed Equation Learning*, with its baselines, beside the paper's own
numbers. Every number below is read from a file in `experiments/results`, which one command writes:

```text
make paper                                             # budget quick: 90 minutes on 2 cores
python -m experiments ambiguity                        # one experiment
python -m experiments paper_sweeps --budget full       # the paper's own method: hours
python -m experiments paper_sweeps --budget published  # S0, S5 and A2 as published: more hours
python -m experiments all --budget full                # five runs of everything: a day or more
```

Finished parts are not run again, and an interrupted run continues where it stopped. The results
shown here are such parts: to run everything again, add `--results` with another folder. The
baselines need `pip install -e '.[paper]'`; what is not installed is skipped with a message."""


def write_tables(results: str | os.PathLike[str]) -> None:
    """Write the tables of all experiments again: those of one show what another has found, too."""
    for name in SECTIONS:
        module, store = import_module(f"experiments.{name}"), Store(results, name)
        if hasattr(module, "write_tables") and (store.finished or _is_shown_in_parts(store)):
            module.write_tables(store)


def _is_shown_in_parts(store: Store) -> bool:
    return bool(store.parts) and store.name in SHOWN_IN_PARTS


def write_page(results: str | os.PathLike[str], page: str | os.PathLike[str]) -> None:
    """Write the page from all results there are."""
    pieces = [TOP, _about(Path(results)), claims.section(Path(results))]
    for name in SECTIONS:
        store = Store(results, name)
        if store.finished or _is_shown_in_parts(store):
            pieces.append(import_module(f"experiments.{name}").section(store))
        else:
            pieces.append(f"## {name}\n\nNot finished yet: `python -m experiments {name}`.")
    Path(page).write_text("\n\n".join(pieces) + "\n", encoding="utf-8")


def _about(results: Path) -> str:
    """Machine, versions and budgets of the results."""
    machines: set[str] = set()
    budgets: dict[str, list[float]] = {}
    for path in sorted(results.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        about = found["about"]
        machines.add(
            f"{about['machine']}, Python {about['python']}, "
            + ", ".join(
                f"{k} {v}"
                for k, v in about["versions"].items()
                if k != "python" and v != "unknown"  # run from the sources, ieql has no number
            )
        )
        for part in found["parts"].values():
            spent = budgets.setdefault(part["budget"], [0, 0.0])
            spent[0] += 1
            spent[1] += part["seconds"] / 60
    words = "; ".join(
        f"{n:.0f} parts with the budget {name}, {minutes:.0f} minutes of fits"
        for name, (n, minutes) in budgets.items()
    )
    return f"Results below: {words}. Machine: {'; '.join(sorted(machines))}."
