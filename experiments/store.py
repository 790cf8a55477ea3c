"""Result files: each finished part is written at once, and is not run again.

An experiment has one JSON file ``{"about": …, "parts": {key: part}}``; a part is what one method
found in one run, with the budget and the settings it had. Tables are written beside it as CSV,
figures as SVG and PNG.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.budget import BUDGETS, Budget
from ieql.errors import IeqlError
from ieql.model import versions
from tables import plain, write_results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Store"]

Part = dict[str, Any]


class Store:
    """The results of one experiment in a folder.

    Parameters
    ----------
    folder : path
        Where the results of all experiments are.
    name : str
        The experiment.
    say : callable
        Gets a line of text for each part as it is finished.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        name: str,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.folder = Path(folder)
        self.name = name
        self.say = say
        self.folder.mkdir(parents=True, exist_ok=True)
        self.parts: dict[str, Part] = {}
        self.finished: str | None = None
        """The budget with which all parts were made; None while some are missing."""
        if self.path.exists():
            try:
                found = json.loads(self.path.read_text(encoding="utf-8"))
                self.parts, self.finished = found["parts"], found["about"]["finished"]
            except (ValueError, KeyError, TypeError) as error:
                raise IeqlError(
                    f"{str(self.path)!r} is not a result file ({error!r}); delete it to run the "
                    "experiment again."
                ) from error

    @property
    def path(self) -> Path:
        """The result file."""
        return self.folder / f"{self.name}.json"

    def has(self, key: str, budget: Budget) -> bool:
        """Whether this or a larger budget has made the part of that key."""
        known = self.parts.get(key)
        order = list(BUDGETS)
        return known is not None and order.index(known["budget"]) >= order.index(budget.name)

    def part(
        self, key: str, budget: Budget, make: Callable[..., Mapping[str, Any]], *args: Any
    ) -> Part:
        """The part of that key: from the file if this or a larger budget has made it, or made now.

        `key` reads ``problem/method/seed``; `make` is called with the further arguments.
        """
        if self.has(key, budget):
            return self.parts[key]
        start = time.perf_counter()
        made = plain(make(*args))
        seconds = round(time.perf_counter() - start, 2)
        self.parts[key] = {"budget": budget.name, "seconds": seconds, **made}
        self._write()
        self.say(f"{self.name}: {key} ({self.parts[key]['seconds']:.1f} s)")
        return self.parts[key]

    def finish(self, budget: Budget) -> None:
        """Note that all parts of the experiment are there."""
        self.finished = budget.name
        self._write()

    def group(self, prefix: str) -> list[Part]:
        """All parts whose key begins with ``prefix/``, in the order of their seeds."""
        return [p for key, p in sorted(self.parts.items()) if key.startswith(f"{prefix}/")]

    def _write(self) -> None:
        about = {
            "experiment": self.name,
            "finished": self.finished,
            "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
            "python": platform.python_version(),
            "versions": versions(),
        }
        write_results(self.path, {"about": about, "parts": dict(sorted(self.parts.items()))})

    def csv(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write a table; the columns are those of the first row."""
        rows = list(rows)
        path = self.folder / f"{name}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    def figure(self, name: str, figure: Figure) -> None:
        """Write a figure as SVG and PNG, the same bytes for the same figure."""
        import matplotlib as mpl

        with mpl.rc_context({"svg.hashsalt": name}):
            for kind, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
                figure.savefig(
                    self.folder / f"{name}.{kind}", dpi=110, metadata=metadata, bbox_inches="tight"
                )
