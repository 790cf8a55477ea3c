"""The figures in Matplotlib: each function draws into the axes it is given and returns them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ieql.prior import Prior
from ieql.report.diagram import Connection, Diagram
from ieql.report.svg import extent
from ieql.report.views import (
    Comparison,
    Slice,
    at_the_border,
    frequencies,
    histogram,
    running_median,
    staircase,
)
from ieql.selection import Candidate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ieql.report.evidence import Evidence

__all__ = [
    "draw_histogram",
    "draw_network",
    "draw_pareto",
    "draw_parity",
    "draw_residuals",
    "draw_slice",
    "draw_units",
]

LIVE, OUTSIDE, PROHIBITED, DEAD = "#0f766e", "#c2570c", "#c0322b", "#b8bec4"
"""Colours with a meaning, the same as in the report: they can be told apart when printed grey."""
SHADE = "#0f766e22"
MOST_WEIGHTS = 14
"""Weights that are written on their connections; of more none is."""
WEIGHT_AT = 0.42
"""Where on a connection its weight stands: where lines enter a unit they are close."""


def draw_pareto(ax: Axes, front: Sequence[Candidate], selected: int, target: str = "y") -> Axes:
    """Validation error over complexity: the front, the selected equation, errors outside."""
    x = np.array([c.complexity for c in front])
    y = np.array([c.rmse_validation for c in front])
    steps = staircase(front)
    ax.step(*steps, where="post", color=DEAD, zorder=1)
    ax.scatter(x, y, color=LIVE, zorder=3, label="validation")
    outside = np.array([c.rmse_extrapolation for c in front])
    known = np.isfinite(outside) & (outside > 0)
    if known.any():
        ax.scatter(
            x[known],
            outside[known],
            facecolors="none",
            edgecolors=OUTSIDE,
            marker="D",
            zorder=2,
            label="extrapolation",
        )
    ax.scatter(
        x[[selected]],
        y[[selected]],
        s=160,
        facecolors="none",
        edgecolors=LIVE,
        linewidths=2,
        zorder=4,
        label="selected",
    )
    positive = y[y > 0]
    if len(positive) == len(y) and positive.max() > 8 * positive.min():
        ax.set_yscale("log")
    ax.set_xlabel("complexity")
    ax.set_ylabel(f"RMSE of {_plain(target)}")
    ax.legend(frameon=False)
    return ax


def draw_parity(ax: Axes, comparison: Comparison, target: str = "y") -> Axes:
    """Predicted over measured; on the line they agree."""
    rest = ~(comparison.outlier | comparison.far)
    both = np.concatenate([comparison.measured[rest], comparison.predicted[rest]])
    ends = extent(both)
    _scatter(ax, comparison, comparison.measured, comparison.predicted, ends, ends)
    if len(both):
        ax.plot(ends, ends, color="0.4", linewidth=1, zorder=1)
    ax.set_xlabel(f"{_plain(target)}, measured")
    ax.set_ylabel(f"{_plain(target)}, predicted")
    ax.set_title(_agreement(comparison), fontsize="medium")
    return ax


def draw_histogram(ax: Axes, comparison: Comparison, target: str = "y") -> Axes:
    """Histogram of the residuals; the outermost bars hold what lies further out, but no outlier."""
    counts, edges = histogram(comparison.residual[comparison.bulk])
    ax.bar(edges[:-1], counts, np.diff(edges), align="edge", color=LIVE, edgecolor="white")
    ax.axvline(0.0, color="0.4", linewidth=1)
    ax.set_xlabel(f"residual of {_plain(target)}")
    ax.set_ylabel("rows")
    return ax


def draw_residuals(
    ax: Axes, comparison: Comparison, column: int, name: str, target: str = "y"
) -> Axes:
    """Residuals over one input, with their running median."""
    x, r, rest = comparison.X[:, column], comparison.residual, ~comparison.outlier
    reach = comparison.reach
    ax.axhline(0.0, color="0.4", linewidth=1, zorder=1)
    _scatter(ax, comparison, x, r, extent(x[rest]), (-reach, reach))
    bulk = comparison.bulk
    ax.plot(*running_median(x[bulk], r[bulk]), color="black", linewidth=1.5, zorder=4)
    ax.set_xlabel(_plain(name))
    ax.set_ylabel(f"residual of {_plain(target)}")
    return ax


def draw_slice(ax: Axes, cut: Slice, name: str, target: str = "y") -> Axes:
    """An equation along one input: training range shaded, ends of the domain dashed."""
    ax.axvspan(*cut.data, color=SHADE, linewidth=0, zorder=0)
    for end in cut.domain:
        ax.axvline(end, color=OUTSIDE, linewidth=1, linestyle="--", zorder=1)
    ax.plot(cut.x, cut.y, color=LIVE, linewidth=2, zorder=3)
    ax.set_xlabel(_plain(name))
    ax.set_ylabel(_plain(target))
    return ax


def draw_units(ax: Axes, evidence: Evidence, prior: Prior) -> Axes:
    """Relative frequency of the units, with each unit's cost, as in the paper's figure."""
    shares = frequencies(evidence.unit_counts, prior.units)
    n = len(evidence.targets)
    places = np.arange(len(shares))
    for k, column in enumerate(evidence.targets):
        heights = [100.0 * share[k] for share in shares.values()]
        colour = LIVE if n == 1 else f"C{k}"
        ax.bar(places + (k - (n - 1) / 2) * 0.8 / n, heights, 0.8 / n, color=colour)
        ax.containers[-1].set_label(_plain(column.name))
    known = {"input", *prior.costs}
    labels = [f"{u}\n({prior.cost(u):g})" if u in known else u for u in shares]
    ax.set_xticks(places, labels)
    ax.set_xlabel("unit (cost)")
    ax.set_ylabel("relative frequency [%]")
    ax.set_title("over all candidates", fontsize="medium")
    if n > 1:
        ax.legend(frameon=False)
    return ax


def draw_network(ax: Axes, network: Diagram) -> Axes:
    """The network with its live connections, as in the paper's architecture figure.

    Weights stand on their connections if there are few; those of one are not written.
    """
    for a, b in network.prohibited:
        ends = [network.places[k] for k in (a, b)]
        ax.plot(
            [p.column for p in ends],
            [-p.row for p in ends],
            color=PROHIBITED,
            linewidth=0.7,
            linestyle=(0, (4, 3)),
            alpha=0.5,
            zorder=1,
        )
    for connection in network.connections:
        points = np.array(
            [(p.column, -p.row) for p in map(network.places.__getitem__, connection.path)]
        )
        ax.plot(*_smooth(points), color=LIVE, linewidth=0.8 + 2.4 * connection.strength, zorder=2)
    labelled = [c for c in network.connections if c.weight != 1.0]
    for connection in labelled if len(labelled) <= MOST_WEIGHTS else ():
        _draw_weight(ax, connection, network)
    for place in network.places:
        _draw_place(ax, place)
    ax.set_xlim(-0.5, network.n_columns - 0.5)
    ax.set_ylim(-network.n_rows / 2 - 0.2, network.n_rows / 2 + 0.2)
    ax.set_axis_off()
    return ax


def _draw_weight(ax: Axes, connection: Connection, network: Diagram) -> None:
    """The weight on the last piece of its connection, nearer to where it comes from."""
    a, b = (network.places[k] for k in connection.path[-2:])
    x, y = _smooth(np.array([(p.column, -p.row) for p in (a, b)]))
    at = int(WEIGHT_AT * len(x))
    ax.text(
        x[at],
        y[at],
        f"{connection.weight:.4g}",
        ha="center",
        va="center",
        fontsize="x-small",
        color=LIVE,
        bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none"},
        zorder=4,
    )


def _draw_place(ax: Axes, place: Any) -> None:
    box = {
        "boxstyle": "round,pad=0.35" if place.kind in ("unit", "copy") else "circle,pad=0.3",
        "facecolor": "white",
        "edgecolor": LIVE if place.live else DEAD,
        "linewidth": 2.2 if place.shared else 1.0,
        "linestyle": "--" if place.kind == "copy" else "-",
    }
    ax.text(
        place.column,
        -place.row,
        _plain(place.label),
        ha="center",
        va="center",
        fontsize="small",
        color="black" if place.live else DEAD,
        bbox=box,
        zorder=5,
    )


def _smooth(points: Any) -> tuple[Any, Any]:
    """A line that leaves and enters every place horizontally."""
    t = np.linspace(0.0, 1.0, 24)
    ease = t * t * (3 - 2 * t)
    pieces = [
        np.column_stack([a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * ease])
        for a, b in itertools.pairwise(points)
    ]
    line = np.concatenate(pieces)
    return line[:, 0], line[:, 1]


def _scatter(
    ax: Axes,
    comparison: Comparison,
    x: Any,
    y: Any,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
) -> None:
    """Rows by kind; the ranges are those of all but the outliers and rows far off."""
    bulk, outside = comparison.bulk & ~comparison.far, comparison.outside & ~comparison.far
    ax.scatter(x[bulk], y[bulk], s=10, alpha=0.5, color=LIVE, linewidths=0, zorder=2)
    if outside.any():
        ax.scatter(
            x[outside], y[outside], s=14, marker="D", color=OUTSIDE, zorder=3, label="extrapolation"
        )
    special = {"far rows": (comparison.far, LIVE), "outliers": (comparison.outlier, PROHIBITED)}
    for name, (rows, colour) in special.items():
        if rows.any():
            _mark(ax, x[rows], y[rows], x_range, y_range, name, colour)
    if outside.any() or any(rows.any() for rows, _ in special.values()):
        ax.legend(frameon=False)


def _mark(
    ax: Axes,
    x: Any,
    y: Any,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    name: str,
    colour: str,
) -> None:
    """Crosses, and triangles at the border for those beyond it: they do not flatten the rest."""
    bounds = [_with_room(r) for r in (x_range, y_range)]
    x, x_side = at_the_border(x, *bounds[0])
    y, y_side = at_the_border(y, *bounds[1])
    where = np.where(y_side != 0, 2 * y_side, x_side)  # up and down before left and right
    n = len(x)
    marks = {0: ("x", f"{name} ({n})"), 1: (">", ""), -1: ("<", ""), 2: ("^", ""), -2: ("v", "")}
    beyond = f"{name} beyond the axes ({int((where != 0).sum())} of {n})"
    for side, (marker, label) in marks.items():
        of = where == side
        if of.any():
            ax.scatter(
                x[of],
                y[of],
                s=28,
                marker=marker,
                color=colour,
                zorder=5,
                clip_on=False,
                label=label or beyond,
            )
            beyond = "_" if label == "" else beyond  # one line of the legend for all sides
    ax.set_xlim(*bounds[0])
    ax.set_ylim(*bounds[1])


def _with_room(bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds
    room = 0.04 * (high - low) or 0.1 * abs(low) or 1.0
    return low - room, high + room


def _agreement(comparison: Comparison) -> str:
    text = f"RMSE {comparison.rmse:.4g}, R² {comparison.r2:.4f}"
    if comparison.n_undefined:
        text += f"; undefined in {comparison.n_undefined} rows"
    return text


def _plain(name: str) -> str:
    """A name as it stands: Matplotlib would read what is between dollar signs as a formula."""
    return name.replace("$", r"\$")
