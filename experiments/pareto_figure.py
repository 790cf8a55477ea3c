"""The paper's Pareto plot of the engine torque: one point for each of the 78 networks of a sweep.

Figure "Equation learning with iEQL motor", panel (a). The paper's own points, read off its figure,
stand beside ours. Its measurements are not public, and ours are generated from one of its
equations, so that the two clouds may be compared in kind only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from experiments.paper_values import PARETO, PARETO_EXACT, PARETO_SELECTED
from experiments.words import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "words"]

SELECTED, EXACT = "#7b3fa0", "0.4"


def draw(fronts: dict[str, dict[str, Any]]) -> Figure:
    """Complexity and validation error of all networks, as trained and finished.

    `fronts` has the reports of the sweep (`experiments.sweeping.reports`) by kind.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    left.scatter(*zip(*PARETO, strict=True), s=22, color="#1f77b4", label="the paper's")
    left.set_title("the paper's 78 networks, its own engine", fontsize="medium")
    marks = {"raw": ("o", "#c2570c", "as trained"), "finished": ("s", "#0f766e", "finished")}
    for kind, (marker, colour, label) in marks.items():
        points = [(max(x, 1.0), y) for x, y in _points(fronts[kind]["front"])]
        right.scatter(*zip(*points, strict=True), s=22, marker=marker, color=colour, label=label)
    right.set_title(f"ours, {len(fronts['raw']['front'])} networks, generated torque",
                    fontsize="medium")  # fmt: skip
    chosen, exact = (_chosen(fronts["finished"], c)["complexity"] for c in ("V_int-S", "V_int"))
    for ax, places in ((left, (PARETO_SELECTED, PARETO_EXACT)), (right, (chosen, exact))):
        ax.axvline(places[0], color=SELECTED, linestyle=":", linewidth=2, label="V_int-S")
        ax.axvline(places[1], color=EXACT, linestyle="-.", linewidth=1.5, label="V_int")
        ax.set(xscale="log", yscale="log", xlabel="complexity")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize="small")
    left.set_ylabel("validation RMSE [Nm]")
    return figure


def words(fronts: dict[str, dict[str, Any]]) -> str:
    """What the figure shows, in a sentence."""
    raw, finished = fronts["raw"]["front"], fronts["finished"]["front"]
    chosen, exact = (_chosen(fronts["finished"], c) for c in ("V_int-S", "V_int"))
    return (
        f"{len(raw)} networks with motor costs and other strengths λ, one point each, beside the "
        f"paper's {len(PARETO)}: complexities from {number(_least(raw))} to "
        f"{number(_largest(raw))} (the paper: {PARETO[0][0]} to {PARETO[-1][0]}). "
        f"{len(finished)} of them are safe equations after finishing; V_int-S selects a complexity "
        f"of {number(chosen['complexity'])} with a test error of {number(chosen['rmse_test'])} Nm, "
        f"V_int one of {number(exact['complexity'])} with {number(exact['rmse_test'])} Nm."
    )


def _points(rows: Sequence[dict[str, Any]]) -> list[tuple[float, float]]:
    return [(float(r["complexity"]), float(r["rmse_validation"])) for r in rows]


def _chosen(report: dict[str, Any], criterion: str) -> dict[str, Any]:
    row: dict[str, Any] = report["front"][report["selected"][criterion]]
    return row


def _least(rows: Sequence[dict[str, Any]]) -> float:
    return min(x for x, _ in _points(rows))


def _largest(rows: Sequence[dict[str, Any]]) -> float:
    return max(x for x, _ in _points(rows))
