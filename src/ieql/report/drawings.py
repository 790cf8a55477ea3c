"""The report's plots as SVG: what `figures` draws in Matplotlib, in the page's own colours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ieql.report.svg import Plot, clean, extent, legend
from ieql.report.views import (
    Comparison,
    Slice,
    at_the_border,
    histogram,
    running_median,
    staircase,
)
from ieql.report.words import number
from ieql.selection import Candidate

__all__ = [
    "draw_rows",
    "drawn_words",
    "histogram_drawing",
    "pareto_drawing",
    "parity_drawing",
    "residual_drawing",
    "slice_drawing",
    "thinned_out",
]

Array = NDArray[np.float64]
MOST_FAR = 50
"""Rows far off that are drawn although few others are: the farthest."""
DECADES = 1e-7
"""Part of the largest error below which errors are not told apart in the Pareto plot."""


def pareto_drawing(
    front: Sequence[Candidate], selected: int, target: str, keys: Sequence[str]
) -> str:
    """The front with one button per equation; `keys` tell the page's script which it is."""
    x = np.array([c.complexity for c in front])
    y = np.array([c.rmse_validation for c in front])
    outside = np.array([c.rmse_extrapolation for c in front])
    everything = np.concatenate([y, outside])
    everything = everything[np.isfinite(everything)]
    positive = everything[everything > 0]
    log = bool(len(positive) and positive.max() > 8 * positive.min())
    # An exact equation would squeeze all others to the top; it lies on the lower edge instead.
    floor = max(float(positive.min()), DECADES * float(positive.max())) if log else 0.0
    plot = Plot(
        (0.0, float(x.max()) or 1.0),
        extent(np.maximum(everything, floor)) if log else (0.0, extent(everything)[1] or 1.0),
        "complexity",
        f"RMSE of {target}",
        width=640,
        height=340,
        letter=1.45,
        y_log=log,
        margin=0.07,
    )
    steps, best = staircase(front)
    corners = np.repeat(np.arange(len(steps)), 2)
    plot.line(
        steps[corners[1:]], np.maximum(best, floor)[corners[:-1]], "stairs"
    )  # level first, then down: an equation is the best until a more complex one is better
    known = np.isfinite(outside)
    plot.points(x[known], np.maximum(outside[known], floor), "dots outside ring")
    for k, c in enumerate(front):
        if not np.isfinite(c.rmse_validation):
            continue  # it has a row in the table, but no place here
        at = (float(plot.x(c.complexity)), float(plot.y(max(c.rmse_validation, floor))))
        plot.raw(_button(c, k, keys[k], at, k == selected))
    if log and everything.min() < floor:
        words = f"lower edge: {number(floor, 1)} or less"
        plot.raw(
            f'<text x="{plot.left + 4:.0f}" y="{plot.bottom - 5:.0f}" aria-hidden="true">'
            f"{words}</text>"
        )
    if known.any():
        items = [("dots", "validation"), ("dots outside ring", "extrapolation")]
        plot.raw(legend(items, plot.right - 112, plot.top + 10))
    return plot.svg(
        f"Pareto plot of {target}: {len(front)} equations, error over complexity", "group", "pareto"
    )


def _button(c: Candidate, k: int, key: str, at: tuple[float, float], selected: bool) -> str:
    label = (
        f"Equation {k}: complexity {c.complexity:g}, validation error "
        f"{number(c.rmse_validation)}: {c.expression.text()}"
    )
    return (
        f'<g class="point{" selected" if selected else ""}" role="button" tabindex="0" '
        f'data-show="{clean(key)}" aria-pressed="{str(selected).lower()}" '
        f'aria-label="{clean(_brief(label, 400))}" '
        f'transform="translate({at[0]:.1f} {at[1]:.1f})">'
        '<circle class="reach" r="14"/><circle class="halo" r="10"/>'
        '<circle class="mark" r="5"/></g>'
    )


def _brief(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def parity_drawing(comparison: Comparison, target: str, n_points: int) -> str:
    """Predicted over measured; outliers and rows far off stand at the border if they lie beyond."""
    c = thinned_out(comparison, n_points)
    rest = ~(comparison.outlier | comparison.far)
    both = extent(comparison.measured[rest], comparison.predicted[rest])
    plot = Plot(both, both, f"{target}, measured", f"{target}, predicted", height=290)
    plot.line(np.array(both), np.array(both), "rule")
    marked = draw_rows(plot, c, c.measured, c.predicted)
    return plot.svg(
        f"Predicted over measured {target}: RMSE {number(comparison.rmse)}, "
        f"R² {number(comparison.r2)}{marked}"
    )


def histogram_drawing(comparison: Comparison, target: str) -> str:
    """Histogram of the residuals of the data, outliers not counted."""
    residual = comparison.residual[comparison.bulk]
    counts, edges = histogram(residual)
    top = float(counts.max()) or 1.0
    plot = Plot(
        (float(edges[0]), float(edges[-1])), (0.0, top), f"residual of {target}", "rows", height=290
    )
    plot.bars(edges, counts)
    plot.upright(0.0, "rule")
    middle = number(float(np.median(residual))) if len(residual) else "unknown"
    return plot.svg(f"Histogram of the residuals of {target}; their median is {middle}")


def residual_drawing(
    comparison: Comparison, column: int, name: str, target: str, n_points: int
) -> str:
    """Residuals over one input, with their running median.

    The axes are those of the other rows: outliers and rows far off, at the border if need be, do
    not flatten them.
    """
    c = thinned_out(comparison, n_points)
    reach = comparison.reach
    x_range = extent(comparison.X[~comparison.outlier, column])
    plot = Plot(x_range, (-reach, reach), name, f"residual of {target}", height=220)
    plot.level(0.0, "rule")
    marked = draw_rows(plot, c, c.X[:, column], c.residual)
    bulk = comparison.bulk
    plot.line(*running_median(comparison.X[bulk, column], comparison.residual[bulk]), "trend")
    return plot.svg(f"Residuals of {target} over {name}{marked}")


def slice_drawing(
    cut: Slice, y_range: tuple[float, float], name: str, target: str, declared: bool
) -> str:
    """The equation along one input; training range shaded, declared domain between dashes."""
    x_range = (float(cut.x[0]), float(cut.x[-1]))
    plot = Plot(x_range, y_range, name, target, height=220)
    plot.band(*cut.data)
    if declared:
        for end in cut.domain:
            plot.upright(end, "bound")
    plot.line(cut.x, cut.y, "curve")
    known = cut.y[np.isfinite(cut.y)]
    spoken = (
        f"from {number(float(known.min()))} to {number(float(known.max()))}" if len(known) else ""
    )
    undefined = len(cut.y) - len(known)
    return plot.svg(
        f"{target} along {name}, other inputs at their means: {spoken or 'undefined'}"
        + (f"; undefined in {undefined} of {len(cut.y)} points" if undefined and spoken else "")
        + f"; data from {number(cut.data[0])} to {number(cut.data[1])}"
        + (f", domain from {number(cut.domain[0])} to {number(cut.domain[1])}" if declared else "")
    )


def thinned_out(comparison: Comparison, n_points: int) -> Comparison:
    """Few enough rows to draw; every outlier and the rows farthest off are among them."""
    inside = np.flatnonzero(comparison.bulk)
    outside = np.flatnonzero(comparison.outside)
    few = outside[:: max(1, -(-len(outside) // max(1, n_points // 4)))]
    rest = inside[:: max(1, -(-len(inside) // max(1, n_points - len(few))))]
    far = np.flatnonzero(comparison.far)
    far = far[np.argsort(-np.abs(comparison.residual[far]))][:MOST_FAR]
    rows = np.unique(np.concatenate([rest, few, far, np.flatnonzero(comparison.outlier)]))
    return Comparison(
        comparison.X[rows],
        comparison.measured[rows],
        comparison.predicted[rows],
        comparison.outside[rows],
        comparison.outlier[rows],
        comparison.n_undefined,
    )


def drawn_words(comparison: Comparison, n_points: int, rows: str, n_outliers: int) -> str:
    """How many rows a plot of so many points shows: "400 of 2,000 sampled rows and all …".

    Parameters
    ----------
    comparison : Comparison
        All that could be drawn.
    n_points : int
        As for the drawings.
    rows : str
        What the rows are called.
    n_outliers : int
        Number of all outliers, of which a few may not be in the comparison.
    """
    drawn, known = thinned_out(comparison, n_points), int(comparison.bulk.sum())
    n_drawn = int(drawn.bulk.sum())
    words = f"{known:,} {rows}" if n_drawn == known else f"{n_drawn:,} of {known:,} {rows}"
    marked = int(drawn.outlier.sum())
    if n_outliers == 0:
        return words
    if marked < n_outliers:
        return f"{words}, and {marked:,} of {n_outliers:,} outliers"
    return f"{words}, and " + ("the outlier" if marked == 1 else f"all {marked:,} outliers")


def draw_rows(plot: Plot, c: Comparison, x: Array, y: Array) -> str:
    """Draw all rows, each kind by its own mark; words on the special ones, for the plot's label."""
    said = ""
    n_beyond = 0
    for rows, kind in ((c.bulk, "dots"), (c.outside, "dots outside")):
        (x_in, y_in), sides = _moved_in(plot, x[rows], y[rows])
        beyond = sides.any(axis=1)
        plot.points(x_in[~beyond], y_in[~beyond], kind)
        plot.arrows(x_in[beyond], y_in[beyond], sides[beyond], kind.replace("dots", "far"))
        n_beyond += int(beyond.sum())
    if n_beyond:
        said += f"; {n_beyond} row{'s' * (n_beyond > 1)} beyond the axes"
    if not c.outlier.any():
        return said
    (x_in, y_in), sides = _moved_in(plot, x[c.outlier], y[c.outlier])
    beyond = sides.any(axis=1)
    plot.crosses(x_in[~beyond], y_in[~beyond], "outlier")
    plot.arrows(x_in[beyond], y_in[beyond], sides[beyond], "outlier beyond")
    return f"{said}; {len(x_in)} outliers marked, {int(beyond.sum())} of them beyond the axes"


def _moved_in(plot: Plot, x: Array, y: Array) -> tuple[tuple[Array, Array], Array]:
    """Points moved to the border of a plot if they lie beyond, and on which side they lay."""
    x_in, x_side = at_the_border(x, *plot.ranges[0])
    y_in, y_side = at_the_border(y, *plot.ranges[1])
    return (x_in, y_in), np.column_stack([x_side, y_side]).astype(np.float64)
