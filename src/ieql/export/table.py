"""An equation as a lookup table in C: a grid over one to three inputs, linear in between.

The grid is made finer until the error of the interpolation is below what is asked for. The error
is proved: by Taylor's theorem it is at most Σ h²/8 · max |∂²f/∂x²| over the inputs, with the
second derivatives bounded by interval arithmetic in boxes that cover the domain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.equations.derivative import derivative
from ieql.equations.expression import Expression
from ieql.equations.intervals import Enclosure
from ieql.equations.proof import prove
from ieql.errors import IeqlError
from ieql.export.c import (
    REALS,
    RESERVED,
    c_comment,
    c_dialect,
    check_choice,
    declaration,
    number_text,
    outward,
)
from ieql.export.functions import Domain, Equation, Function, functions
from ieql.export.names import identifiers
from ieql.export.origin import Origin, generated, heading, wrapped
from ieql.export.ranges import boxes_of, domain_ends, single

__all__ = ["table_code", "write"]

Array = NDArray[np.float64]
MOST_INPUTS = 3
PART_OF_RANGE = 1e-3
"""The error that is asked for if nothing is said: this part of the values' range ..."""
PART_OF_ERROR = 0.1
"""... or this part of the equation's own error, whichever is larger."""
MOST_CELLS = 20_000
WHAT = "A lookup table"


@dataclass(frozen=True)
class Grid:
    """Values at the nodes of a grid over the inputs, and the error of the interpolation."""

    axes: tuple[Array, ...]
    values: Array
    error: float


def table_code(
    equations: Sequence[Equation],
    *,
    domain: Domain | None = None,
    tolerance: float | None = None,
    most_cells: int = MOST_CELLS,
    real: str = "double",
    name: str | None = None,
    origin: Origin | None = None,
) -> str:
    """C99 source of a lookup table per equation, with linear interpolation between its nodes.

    Inputs outside the domain are taken as its ends.

    Parameters
    ----------
    equations : sequence of Equation
        What to write, each of one to three inputs.
    domain : mapping
        The bounds of the inputs.
    tolerance : float, optional
        The largest error of the interpolation. By default it is a tenth of the equation's own
        error, but a thousandth of the range of its values at least.
    most_cells : int, default 20000
        More values than that are refused.
    real : {"double", "float"}, default "double"
        Type of all numbers; the rounding of floats comes in addition to the stated error.
    name, origin
        As in `ieql.export.c.c_code`.
    """
    check_choice("real", real, REALS)
    _checked(tolerance, most_cells)
    found = functions(equations, c_dialect(real), name)
    said = [generated(), origin.data_text() if origin else ""]
    lines = ["/*", *c_comment(wrapped(list(filter(None, said)))), " */", ""]
    for equation, function in zip(equations, found, strict=True):
        error = (origin or Origin()).errors.get(equation.target, 0.0)
        grid = _grid(equation, function, domain, tolerance, error, most_cells)
        lines += _function(function, grid, real, domain, origin)
    return "\n".join(lines)


def write(
    equations: Sequence[Equation],
    domain: Domain | None = None,
    tolerance: float | None = None,
    most_cells: int = MOST_CELLS,
    real: str = "double",
    name: str | None = None,
    origin: Origin | None = None,
) -> str:
    """The format 'table': `table_code` as the registry calls it."""
    return table_code(
        equations,
        domain=domain,
        tolerance=tolerance,
        most_cells=most_cells,
        real=real,
        name=name,
        origin=origin,
    )


def _checked(tolerance: float | None, most_cells: int) -> None:
    is_number = isinstance(tolerance, int | float) and 0.0 < tolerance < math.inf
    if tolerance is not None and not is_number:
        raise IeqlError(f"tolerance must be a positive number, not {tolerance!r}.")
    if not isinstance(most_cells, int) or most_cells < 1:
        raise IeqlError(f"most_cells must be a whole number, not {most_cells!r}.")


# --- the grid ----------------------------------------------------------------------------------


def _grid(
    equation: Equation,
    function: Function,
    domain: Domain | None,
    tolerance: float | None,
    own_error: float,
    most_cells: int,
) -> Grid:
    expression = single(equation)
    columns = [expression.names.index(column) for column, _ in function.arguments]
    if not 1 <= len(columns) <= MOST_INPUTS:
        raise IeqlError(
            f"{WHAT} is for one to {MOST_INPUTS} inputs; the equation of {equation.target!r} has "
            f"{len(columns)}: choose another equation or the format c."
        )
    lower, upper = domain_ends(expression, domain, WHAT)
    bends = _bends(expression, columns, lower, upper, equation.target)
    low, high = lower[columns], upper[columns]
    asked = tolerance
    if asked is None:
        met = _values(expression, columns, lower, _axes(low, high, [17] * len(columns)))
        own = PART_OF_ERROR * own_error if math.isfinite(own_error) else 0.0
        asked = max(own, PART_OF_RANGE * float(np.ptp(met))) or math.inf
    counts = _counts(bends * (high - low) ** 2 / 8.0, asked)
    if math.prod(counts) > most_cells:
        raise IeqlError(
            f"{WHAT} of {equation.target!r} with an error below {asked:.3g} needs "
            f"{' x '.join(map(str, counts))} values, more than {most_cells}; give a larger "
            "tolerance or most_cells, or choose the format c."
        )
    axes = _axes(low, high, counts)
    steps = np.array([1.0 / max(n - 1, 1) for n in counts])
    error = float(np.sum(bends * ((high - low) * steps) ** 2 / 8.0)) * (1.0 + 1e-9)
    return Grid(axes, _values(expression, columns, lower, axes), error)


def _bends(
    expression: Expression, columns: Sequence[int], lower: Array, upper: Array, target: str
) -> Array:
    """Proved bounds of the amounts of the second derivatives by each input."""
    verdict = prove(expression, lower, upper, extremes=False)
    bends = []
    for column in columns:
        first = derivative(expression, column)
        second = None if first is None else derivative(first, column)
        bound = math.inf
        if verdict.proved is True and second is not None:
            f = Enclosure(second, second.outputs[0], verdict.known)
            inputs = list(f.inputs)
            ends = f.bounds(*boxes_of(lower[inputs], upper[inputs]))
            bound = float(np.max(np.maximum(np.abs(ends[0]), np.abs(ends[1]))))
        if not math.isfinite(bound):
            name = expression.names[column]
            raise IeqlError(
                f"{WHAT} needs a proved bound of its error, and the curvature of {target!r} in "
                f"{name!r} is not proved to be bounded in the domain; choose a smaller domain or "
                "the format c."
            )
        bends.append(bound)
    return np.array(bends)


def _counts(sizes: Array, asked: float) -> list[int]:
    """Nodes per input so that Σ size / (n - 1)² is below what is asked for, with few in all."""
    bent = sizes > 0.0
    share = asked / max(int(bent.sum()), 1)
    cells = np.where(bent, np.ceil(np.sqrt(sizes / share)), 1.0)
    return [int(max(c, 1.0)) + 1 for c in cells]


def _axes(low: Array, high: Array, counts: Sequence[int]) -> tuple[Array, ...]:
    return tuple(np.linspace(a, b, n) for a, b, n in zip(low, high, counts, strict=True))


def _values(
    expression: Expression, columns: Sequence[int], lower: Array, axes: Sequence[Array]
) -> Array:
    mesh = np.meshgrid(*axes, indexing="ij")
    X = np.tile(lower, (mesh[0].size, 1))
    for column, axis in zip(columns, mesh, strict=True):
        X[:, column] = axis.ravel()
    return np.asarray(expression.evaluate(X)[:, 0].reshape(mesh[0].shape))


# --- the code ----------------------------------------------------------------------------------


def _function(
    function: Function, grid: Grid, real: str, domain: Domain | None, origin: Origin | None
) -> list[str]:
    shape = grid.values.shape
    n_bytes = grid.values.size * (8 if real == "double" else 4)
    last = [
        f"Linear interpolation between {' x '.join(map(str, shape))} values ({n_bytes} bytes). "
        f"Proved: it differs from the equation by at most {outward(grid.error, 1)}. Inputs outside "
        "the domain are taken as its ends, NaN as the lower one.",
    ]
    head = declaration(function, real)
    taken = {word for _, word in function.arguments} | {function.name}
    lines = ["/*", *c_comment(heading(function, domain, origin, last)), " */"]
    lines += [f"{head};", "", head, "{"]
    lines += _array(grid.values, real, taken)
    indices, shares = [], []
    for (_, word), axis in zip(function.arguments, grid.axes, strict=True):
        code, index, share = _place(word, axis, real, taken)
        lines += code
        indices.append(index)
        shares.append(share)
    lines += _interpolation(shape, indices, shares, real, taken)
    return [*lines, "}", ""]


def _array(values: Array, real: str, taken: set[str]) -> list[str]:
    """All values in one row: the last input runs fastest."""
    taken.add("values")
    texts = [number_text(v, real) for v in values.ravel().tolist()]
    rows = [", ".join(texts[i : i + 6]) for i in range(0, len(texts), 6)]
    inner = ",\n".join(f"        {row}" for row in rows)
    return [f"    static const {real} values[{len(texts)}] =", "    {", inner, "    };"]


def _place(word: str, axis: Array, real: str, taken: set[str]) -> tuple[list[str], str, str]:
    """Code that finds the cell of an input, and where in it the input lies, from 0 to 1."""
    position, index, share = identifiers(
        [f"{word}_at", f"{word}_cell", f"{word}_part"], RESERVED, taken
    )
    low, cells = float(axis[0]), len(axis) - 1
    width = float(axis[-1]) - low
    number = number_text(low, real)
    scale = number_text(cells / width if width > 0 else 0.0, real)
    zero, top = number_text(0.0, real), number_text(float(cells), real)
    lines = [
        f"    {real} {position} = ({word} - {number}) * {scale};",
        f"    if (!({position} > {zero}))",
        "    {",
        f"        {position} = {zero};",
        "    }",
        f"    if ({position} > {top})",
        "    {",
        f"        {position} = {top};",
        "    }",
        f"    int {index} = (int){position};",
        f"    if ({index} > {cells - 1})",
        "    {",
        f"        {index} = {cells - 1};",
        "    }",
        f"    const {real} {share} = {position} - ({real}){index};",
    ]
    return lines, index, share


def _interpolation(
    shape: Sequence[int], indices: Sequence[str], shares: Sequence[str], real: str, taken: set[str]
) -> list[str]:
    """Code that joins the corners of the cell, one input after the other from the last on."""
    [place] = identifiers(["cell"], RESERVED, taken)
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    terms = [f"({i} * {s})" if s != 1 else i for i, s in zip(indices, strides, strict=True)]
    lines = [f"    const int {place} = {' + '.join(terms)};"]
    offsets = [0]
    for stride in strides:
        offsets = [o + k for o in offsets for k in (0, stride)]
    words = [f"values[{place} + {o}]" if o else f"values[{place}]" for o in offsets]
    for share in reversed(shares):
        joined = []
        for a, b in zip(words[::2], words[1::2], strict=True):
            [word] = identifiers([f"v{len(taken)}"], RESERVED, taken)
            lines.append(f"    const {real} {word} = {a} + ({share} * ({b} - {a}));")
            joined.append(word)
        words = joined
    return [*lines, f"    return {words[0]};"]
