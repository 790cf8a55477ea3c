"""How rare the networks of a sweep are that extrapolate, and what a larger sweep would select.

What V_int&ex selects can be no better than the best network of its sweep. Whether a sweep falls
short of the paper because the criterion overlooks a good network or because it has none to choose
is counted here, from all networks that are stored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.methods import selected_rows
from experiments.paper_values import COMPLEX, PROBLEMS
from experiments.store import Store
from experiments.sweeping import swept_rows
from experiments.words import number, table
from tables import median

__all__ = ["words"]

COUNTS = (8, 16, 32)
"""Numbers of networks from which a criterion may choose, beside all of a sweep."""
AS_PUBLISHED = 78
"""Networks of a sweep of the paper."""
DRAWS = 200
"""Random parts of a sweep, or random sweeps, for each number."""
KINDS = (("raw", "as trained"), ("finished", "finished"))


def words(store: Store) -> list[str]:
    """Both tables, as far as there are sweeps for them."""
    pieces = []
    if lines := _shares(store):
        pieces += [
            "**Is it the selection, or is there nothing better to select?** Of all networks of the "
            "budget full: in how many sweeps V_int&ex selects the network with the least test "
            "error, or one within a tenth of it; how many networks are at or below the paper's "
            "error, to its two decimals; the least test error; and what V_int&ex selects from "
            f"{AS_PUBLISHED} networks drawn at random from those of all runs (median of {DRAWS} "
            "draws), as many as the paper trains:",
            table(
                [
                    "", "", "best selected", "networks at the paper's error", "least",
                    f"selected from {AS_PUBLISHED}", "*paper*",
                ],
                lines,
            ),
        ]  # fmt: skip
    if lines := _parts(store):
        pieces += [
            "**From how many networks?** The test error of what V_int&ex selects if a published "
            f"sweep had fewer networks (median of {DRAWS} random parts):",
            table(["", "", *(f"{n} networks" for n in COUNTS), "all"], lines),
        ]
    return pieces


def _shares(store: Store) -> list[list[str]]:
    """For each problem that a network of the budget full missed, how many networks did not."""
    lines = []
    for name in PROBLEMS:
        for kind, label in KINDS:
            sweeps = [s for run in range(5) for s in swept_rows(store, f"full/{name}/{run}", kind)]
            sweeps = [(about, rows) for about, rows in sweeps if rows]
            if not sweeps:
                continue
            rows = [row for _, some in sweeps for row in some]
            printed = COMPLEX["ieql"][name][0]
            good = sum(round(_test(row), 2) <= printed for row in rows)
            best = sum(_selects_best(some, about["mean_errors"]) for about, some in sweeps)
            drawn = _chosen_from(rows, sweeps[0][0]["mean_errors"], AS_PUBLISHED, replace=True)
            lines.append(
                [
                    name, label, f"{best} of {len(sweeps)}", f"{good} of {len(rows)}",
                    number(min(map(_test, rows))), number(median(drawn)), f"*{printed:g}*",
                ]
            )  # fmt: skip
    return lines


def _parts(store: Store) -> list[list[str]]:
    """What V_int&ex reaches if it chooses from fewer networks of a published sweep, at the median.

    The networks of a sweep have starts of their own, so that any part of them is a smaller sweep.
    """
    lines = []
    for name in PROBLEMS:
        for kind, label in KINDS:
            for about, rows in swept_rows(store, f"published/{name}/0", kind):
                errors = about["mean_errors"]
                cells = [
                    number(median(_chosen_from(rows, errors, n))) if n < len(rows) else "–"
                    for n in COUNTS
                ]
                everything = _test(rows[selected_rows(rows, errors)["V_int&ex"]])
                lines.append([name, label, *cells, number(everything)])
    return lines


def _selects_best(rows: Sequence[dict[str, Any]], errors: Mapping[str, float]) -> bool:
    """Whether V_int&ex finds the network with the least test error, or one as good."""
    picked = _test(rows[selected_rows(list(rows), errors)["V_int&ex"]])
    return picked <= 1.1 * min(map(_test, rows))


def _chosen_from(
    rows: Sequence[dict[str, Any]], errors: Mapping[str, float], n: int, replace: bool = False
) -> list[float]:
    """Test errors of what V_int&ex selects from n of the rows, for random choices of them."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(DRAWS):
        some = [rows[i] for i in sorted(rng.choice(len(rows), n, replace=replace))]
        found.append(_test(some[selected_rows(some, errors)["V_int&ex"]]))
    return found


def _test(row: Mapping[str, Any]) -> float:
    error = row["rmse_test"]
    return math.inf if error is None else float(error)
