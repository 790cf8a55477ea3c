"""Where a function on a grid is at least so large: closed outlines, by marching squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["outlines"]

Array = NDArray[np.float64]
Point = tuple[float, float]
Edge = tuple[int, int, int]
"""Row and column of where an edge begins, and 0 if it goes along the row, 1 if along the column."""


def outlines(values: Array, level: float) -> list[list[Point]]:
    """Outline the parts of a grid in which values are at least `level`.

    Parameters
    ----------
    values : array (rows, columns)
        NaN counts as below every level.
    level : float
        May be minus infinity: then all that is not NaN is outlined.

    Returns
    -------
    list of lists of points
        Closed lines of (column, row) in units of the grid; a hole has a line of its own, so they
        are to be filled by the rule of even and odd.
    """
    # A border below every level closes all lines; what is undefined ends at its last known point.
    grid = np.full((values.shape[0] + 2, values.shape[1] + 2), -np.inf)
    grid[1:-1, 1:-1] = values
    known = np.zeros(grid.shape, dtype=bool)
    known[1:-1, 1:-1] = np.isfinite(values)
    inside = known & (np.where(known, grid, 0.0) >= level)
    corners = inside[:-1, :-1].astype(int) + inside[:-1, 1:] + inside[1:, 1:] + inside[1:, :-1]
    follows: dict[Edge, Edge] = {}
    for i, j in np.argwhere((corners > 0) & (corners < 4)).tolist():
        follows.update(_crossings(inside, i, j))
    lines = []
    while follows:
        start, at = follows.popitem()
        line = [_point(grid, known, inside, level, start)]
        while at != start:
            line.append(_point(grid, known, inside, level, at))
            at = follows.pop(at)
        lines.append(line)
    return lines


def _crossings(inside: NDArray[np.bool_], i: int, j: int) -> list[tuple[Edge, Edge]]:
    """How outlines pass through one cell: from the edge where each enters to where it leaves."""
    corners = [(i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j)]
    edges: list[Edge] = [(i, j, 0), (i, j + 1, 1), (i + 1, j, 0), (i, j, 1)]
    found = []
    for k in range(4):
        # Around the cell, where a stretch of inner corners ends; the line goes back to where that
        # stretch began, so that two inner corners across from each other stay apart.
        if inside[corners[k]] and not inside[corners[(k + 1) % 4]]:
            first = k
            while inside[corners[first - 1]]:
                first -= 1
            found.append((edges[k], edges[first - 1]))
    return found


def _point(
    grid: Array,
    known: NDArray[np.bool_],
    inside: NDArray[np.bool_],
    level: float,
    edge: Edge,
) -> Point:
    """Where the level lies on an edge of the grid, in the coordinates of the values."""
    i, j, along = edge
    one, other = (i, j), (i + along, j + 1 - along)
    if not inside[one]:
        one, other = other, one
    share = 0.0
    if known[other]:
        share = float((grid[one] - level) / (grid[one] - grid[other]))
    return (
        one[1] + share * (other[1] - one[1]) - 1.0,
        one[0] + share * (other[0] - one[0]) - 1.0,
    )
