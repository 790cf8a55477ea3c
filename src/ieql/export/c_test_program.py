"""A C program that checks exported functions: inputs, and the values that should come out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ieql.equations.intervals import EPS
from ieql.export.c import c_double, declaration
from ieql.export.functions import Domain, Equation, Function
from ieql.export.ranges import domain_ends, single
from ieql.export.vectors import rounding_allowance, vectors

__all__ = ["test_program"]

Array = NDArray[np.float64]
FLOAT_EPS = float(np.finfo(np.float32).eps)
LARGEST = 1e300


def test_program(
    equations: Sequence[Equation],
    functions: Sequence[Function],
    real: str,
    guard: str,
    domain: Domain | None,
) -> list[str]:
    """Lines of a program that is linked with the functions; it gives the number of failures.

    Each row of a table holds the inputs, the value of the equation, and by how much rounding may
    move it. A row whose value is NaN asks for NaN.
    """
    lines = ["#include <math.h>", ""]
    tables: list[str] = []
    checks: list[str] = []
    for k, (equation, function) in enumerate(zip(equations, functions, strict=True)):
        rows = _rows(equation, function, real, guard, domain)
        width = rows.shape[1]
        lines += [f"{declaration(function, real)};", ""]
        tables += [f"    static const double rows_{k}[{len(rows)}][{width}] =", "    {"]
        written = [", ".join(_literal(x) for x in row) for row in rows.tolist()]
        tables += [",\n".join(f"        {{{row}}}" for row in written), "    };"]
        cast = "" if real == "double" else "(float)"
        arguments = ", ".join(f"{cast}rows_{k}[i][{j}]" for j in range(width - 2))
        value = f"{function.name}({arguments})"
        checks += [
            f"    for (int i = 0; i < {len(rows)}; i++)",
            "    {",
            f"        const double value = {value};"
            if real == "double"
            else f"        const double value = (double){value};",
            f"        const double expected = rows_{k}[i][{width - 2}];",
            "        if (isnan(expected) != 0)",
            "        {",
            "            failures += (isnan(value) != 0) ? 0 : 1;",
            "        }",
            f"        else if (!(fabs(value - expected) <= rows_{k}[i][{width - 1}]))",
            "        {",
            "            failures += 1;",
            "        }",
            "        else",
            "        {",
            "            /* as it should be */",
            "        }",
            "    }",
        ]
    lines += ["/* Gives the number of values that are off: 0 if all is well. */"]
    lines += ["int main(void)", "{", *tables, "    int failures = 0;", *checks]
    return [*lines, "    return (failures > 100) ? 100 : failures;", "}"]


def _literal(value: float) -> str:
    return f"-{c_double(-value)}" if value < 0 else c_double(value)


def _rows(
    equation: Equation, function: Function, real: str, guard: str, domain: Domain | None
) -> Array:
    """Inputs, expected value and tolerance, one row per point."""
    expression = single(equation)
    lower, upper = domain_ends(expression, domain, "The test program")
    columns = [expression.names.index(column) for column, _ in function.arguments]
    points = vectors(lower[columns], upper[columns], outside=guard != "none")
    if real == "float":
        points = points.astype(np.float32).astype(np.float64)
    X = np.tile(lower, (len(points), 1))
    X[:, columns] = np.clip(points, lower[columns], upper[columns])
    with np.errstate(all="ignore"):
        value = expression.evaluate(X)[:, 0]
        allowed = rounding_allowance(expression, X, FLOAT_EPS if real == "float" else EPS)
    outside = np.any(X[:, columns] != points, axis=1)
    if guard == "check":
        # At the very ends a float may lie on either side of the number in the domain.
        if real == "float":
            ends = np.any((X[:, columns] == lower[columns]) | (X[:, columns] == upper[columns]), 1)
            keep = ~ends | (np.abs(X[:, columns] - points).max(axis=1, initial=0.0) > 1e-3)
            points, value, allowed, outside = (a[keep] for a in (points, value, allowed, outside))
        value = np.where(outside, np.nan, value)
    rows = np.column_stack([points, value, allowed])
    clear = np.isfinite(allowed) & (allowed < LARGEST) | np.isnan(value)
    rows = rows[clear]
    rows[np.isnan(rows[:, -2]), -1] = 0.0
    return np.asarray(rows)
