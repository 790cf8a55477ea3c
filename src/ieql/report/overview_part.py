"""The first thing below an equation of one or two inputs: the data with the curve, or a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.model import FittedModel
from ieql.report.contours import outlines
from ieql.report.drawings import draw_rows, thinned_out
from ieql.report.evidence import Evidence
from ieql.report.findings import Findings
from ieql.report.svg import Plot, clean, extent, tick_values
from ieql.report.views import Comparison, Map, curve_over, cut_to, map_over, shown_range
from ieql.report.words import number

__all__ = ["map_levels", "overview_inputs", "overview_part", "prediction_band"]

Array = NDArray[np.float64]
LEVEL = 0.9
"""Part of new measurements that should lie within the band."""
N_TINTS = 10
"""Colours of a map in the style sheet."""
MOST_LEVELS = 9
"""Levels of a map, about."""
DECADES, SKEWED = 50.0, 10.0
"""Least ratios of the largest to the least, and to the median, value for logarithmic levels."""
SIZE: dict[str, Any] = {"width": 520, "height": 320, "letter": 1.35}


def overview_inputs(model: FittedModel, e: Expression) -> tuple[int, ...]:
    """The one or two inputs to draw an equation over; none if it takes more, or takes none."""
    if len(model.names) <= 2:
        return tuple(range(len(model.names)))
    used = tuple(j for j, name in enumerate(model.names) if name in e.inputs_used)
    return used if len(used) <= 2 else ()


def overview_part(
    findings: Findings,
    evidence: Evidence,
    output: int,
    index: int,
    comparison: Comparison,
    n_points: int,
) -> dict[str, Any] | None:
    """The picture of row `index` of an output's front, with what its key needs.

    Returns
    -------
    dict or None
        With ``kind`` ("curve" or "map"), ``drawing`` (SVG), ``has_band``, and ``is_whole``:
        whether all of the domain is seen. None if there are more inputs than a picture has.
    """
    model = findings.model
    e, target = model.fronts[output][index].expression, model.targets[output]
    columns = overview_inputs(model, e)
    if not columns or not len(comparison.X):
        return None
    centre = [c.mean for c in evidence.inputs]
    names = [model.names[j] for j in columns]
    domains = [model.domain[name] for name in names]
    ends = [
        shown_range(
            np.append(comparison.X[:, j], [evidence.inputs[j].low, evidence.inputs[j].high]), d
        )
        for j, d in zip(columns, domains, strict=True)
    ]
    part: dict[str, Any] = {
        "kind": "curve" if len(columns) == 1 else "map",
        "has_band": False,
        "is_whole": all(a <= c and d <= b for (a, b), (c, d) in zip(ends, domains, strict=True)),
    }
    if len(columns) == 2:
        drawn = map_over(e, (columns[0], columns[1]), centre, (ends[0], ends[1]))
        measured = evidence.y[~evidence.outlier(output) & ~evidence.outside, output]
        part["drawing"] = _map_drawing(
            drawn, thinned_out(comparison, n_points), columns, names, target, map_levels(measured)
        )
        return part
    X, y = curve_over(e, columns[0], centre, ends[0])
    band = prediction_band(model, output, index, X)
    part["has_band"] = band is not None
    dashes = domains[0] if model.declared else None
    part["drawing"] = _curve_drawing(
        comparison, columns[0], (X[:, columns[0]], y), band, names[0], target, dashes, n_points
    )
    return part


def prediction_band(model: FittedModel, output: int, index: int, X: Array) -> Array | None:
    """Where nine of ten new measurements should lie, lower and upper end; None if not known.

    A model that was stored without what intervals need has none.
    """
    predict_interval = getattr(model, "predict_interval", None)
    if predict_interval is None:
        return None
    row = sum(len(front) for front in model.fronts[:output]) + index
    try:
        found = np.asarray(predict_interval(X, level=LEVEL, index=row), dtype=np.float64)
    except IeqlError:
        return None
    if found.ndim == 3:  # several outputs
        found = found[:, :, output]
    if found.shape != (len(X), 2) or not np.isfinite(found).any():
        return None
    return found


def map_levels(measured: Array) -> list[float]:
    """Round numbers that part the measured values; the same for all equations of an output."""
    if not len(measured):
        return [0.0]
    low, middle, high = np.quantile(measured, [0.01, 0.5, 0.99]).tolist()
    # Logarithmic where equal steps would leave half of the rows in the lowest.
    log = bool(0.0 < DECADES * low < high and SKEWED * middle < high)
    levels = tick_values(low, high, log=log, most=MOST_LEVELS)
    return [t for t in levels if low <= t <= high] or [low]


# --- the two pictures ----------------------------------------------------------------------------


def _curve_drawing(
    comparison: Comparison,
    column: int,
    curve: tuple[Array, Array],
    band: Array | None,
    name: str,
    target: str,
    domain: tuple[float, float] | None,
    n_points: int,
) -> str:
    """The rows over one input, with the equation's curve and its band."""
    x, y = curve
    c = thinned_out(comparison, n_points)
    rest = ~(comparison.outlier | comparison.far)
    seen = extent(comparison.measured[rest], comparison.predicted[rest])
    # Beyond the rows the curve may leave the picture, but not squeeze them.
    room = (seen[1] / 2 - seen[0] / 2) or 1.0
    whole = extent(y, np.empty(0) if band is None else band, default=seen)
    y_range = (
        min(seen[0], max(whole[0], seen[0] - room)),
        max(seen[1], min(whole[1], seen[1] + room)),
    )
    plot = Plot((float(x[0]), float(x[-1])), y_range, name, target, **SIZE)
    bounds = plot.ranges[1]
    if band is not None:
        low, high = np.clip(band.T, *bounds)
        plot.ribbon(x, low, high, "interval")
    for end in domain or ():
        if x[0] <= end <= x[-1]:
            plot.upright(end, "bound")
    marked = draw_rows(plot, c, c.X[:, column], c.measured)
    plot.line(*cut_to(x, y, *bounds), "curve")
    said = "" if band is None else f", and the band of {LEVEL:.0%} of new measurements"
    return plot.svg(
        f"Measured {target} over {name}, with the curve of the equation{said}{marked}",
        kind="overview",
    )


def _map_drawing(
    drawn: Map,
    c: Comparison,
    columns: Sequence[int],
    names: Sequence[str],
    target: str,
    levels: Sequence[float],
) -> str:
    """The equation's values as colours over two inputs, and on them the measured ones."""
    ends = [(float(v[0]), float(v[-1])) for v in (drawn.x, drawn.y)]
    labels = [number(level) for level in levels]
    room = SIZE["letter"] * (24.0 + 6.4 * max(map(len, labels)))
    plot = Plot(ends[0], ends[1], names[0], names[1], margin=0.02, room=room, **SIZE)
    tints = [round(k * (N_TINTS - 1) / len(levels)) for k in range(len(levels) + 1)]
    for tint, level in zip(tints, (-np.inf, *levels), strict=True):
        found = [np.array(line) for line in outlines(drawn.values, level)]
        plot.shapes(
            [
                (
                    np.interp(line[:, 0], np.arange(len(drawn.x)), drawn.x),
                    np.interp(line[:, 1], np.arange(len(drawn.y)), drawn.y),
                )
                for line in found
            ],
            f"tint-{tint}",
        )
    x, y = c.X[:, columns[0]], c.X[:, columns[1]]
    rows = ~c.outlier
    plot.points(x[rows], y[rows], "map-ring")
    bands = np.searchsorted(np.asarray(levels), c.measured, side="right")
    for k, tint in enumerate(tints):
        of = rows & (bands == k)
        plot.points(x[of], y[of], f"map-dot tint-{tint}")
    plot.crosses(x[c.outlier], y[c.outlier], "outlier")
    plot.raw(_colour_bar(plot, tints, labels))
    low, high = extent(drawn.values)
    n_undefined = int(np.isnan(drawn.values).sum())
    return plot.svg(
        f"Map of {target} over {names[0]} and {names[1]}: from {number(low)} to {number(high)}, "
        f"with {int(rows.sum())} measured rows"
        + (f"; {int(c.outlier.sum())} outliers marked" if c.outlier.any() else "")
        + (f"; undefined in {n_undefined} of {drawn.values.size} points" if n_undefined else ""),
        kind="overview",
    )


def _colour_bar(plot: Plot, tints: Sequence[int], labels: Sequence[str]) -> str:
    """Which colour means what: the levels stand where two colours meet."""
    height = (plot.bottom - plot.top) / len(tints)
    left = plot.right + 12.0
    parts = []
    for k, tint in enumerate(tints):
        top = plot.bottom - (k + 1) * height
        parts.append(
            f'<rect class="tint-{tint}" x="{left:.1f}" y="{top:.1f}" width="12" '
            f'height="{height:.1f}"/>'
        )
        if k < len(labels):
            parts.append(f'<text x="{left + 17:.1f}" y="{top + 4:.1f}">{clean(labels[k])}</text>')
    return f'<g aria-hidden="true">{"".join(parts)}</g>'
