"""An equation as C in integers: for controllers without floating-point numbers.

Every value is an ``int32_t`` whose number of binary places is chosen from its proved range. The
functions compute without overflow whatever the inputs are, and the comment states by how much the
result may be off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ieql.export.c import PARTS, RESERVED, c_comment, c_double, check_choice, include_guard, outward
from ieql.export.fixed_library import NAMES, library
from ieql.export.fixed_point import FixedPlan, fixed_plan
from ieql.export.functions import Dialect, Domain, Equation, Function, functions
from ieql.export.names import identifiers
from ieql.export.origin import Origin, generated, heading, wrapped
from ieql.export.ranges import single
from ieql.export.vectors import vectors

__all__ = ["fixed_c_code", "write"]

TYPES = ("int32_t", "int64_t", "uint64_t", "INT64_C", "UINT64_C", "x", "t", "u", "z")


def fixed_c_code(
    equations: Sequence[Equation | tuple[Any, ...]],
    *,
    domain: Domain | None = None,
    name: str | None = None,
    part: str = "code",
    origin: Origin | None = None,
) -> str:
    """C99 source in integers alone, with one function per equation.

    The functions take and give integers: a value times a power of two, which the comment and the
    header say. Inputs outside their domain are taken as its ends.

    Parameters
    ----------
    equations : sequence of Equation, or tuples (target, expression, output=0)
        What to write.
    domain : mapping
        The bounds of the inputs, from which the formats are chosen.
    name : str, optional
        Name of the function; of several, what goes before the names of the targets. By default
        it is ``ieql_fixed_`` and the target's name.
    part : {"code", "header", "test"}, default "code"
        Which file: the functions; their declarations and formats; or a program that is linked
        with the functions and gives 0 if they compute what they should.
    origin : Origin, optional
        Data, errors and physical units, for the comments.
    """
    check_choice("part", part, PARTS)
    wanted = [Equation(*e) for e in equations]
    dialect = Dialect(RESERVED | {*NAMES, *TYPES}, c_double, lambda unit: unit.name, "ieql_fixed_")
    found = functions(wanted, dialect, name)
    plans = [_plan(e, f, domain) for e, f in zip(wanted, found, strict=True)]
    top = [generated(), origin.data_text() if origin else ""]
    lines = ["/*", *c_comment(wrapped([line for line in top if line])), " */"]
    body = {"code": _code, "header": _header, "test": _test}[part]
    return "\n".join([*lines, *body(wanted, found, plans, domain, origin), ""])


def write(
    equations: Sequence[Equation],
    domain: Domain | None = None,
    name: str | None = None,
    part: str = "code",
    origin: Origin | None = None,
) -> str:
    """The format 'fixed-c': `fixed_c_code` as the registry calls it."""
    return fixed_c_code(equations, domain=domain, name=name, part=part, origin=origin)


def _plan(equation: Equation, function: Function, domain: Domain | None) -> FixedPlan:
    taken = {word for _, word in function.arguments} | {function.name}

    def new_word(letter: str) -> str:
        [word] = identifiers([f"{letter}{len(taken)}"], RESERVED | set(NAMES), taken)
        return word

    return fixed_plan(equation, domain, function.arguments, new_word)


def _declaration(function: Function) -> str:
    arguments = ", ".join(f"int32_t {word}" for _, word in function.arguments) or "void"
    return f"int32_t {function.name}({arguments})"


def _code(
    equations: Sequence[Equation],
    found: Sequence[Function],
    plans: Sequence[FixedPlan],
    domain: Domain | None,
    origin: Origin | None,
) -> list[str]:
    lines = ["#include <stdint.h>", ""]
    calls = {call for plan in plans for call in plan.calls if plan.steps}
    lines += [library(calls)] if calls else []
    for function, plan in zip(found, plans, strict=True):
        lines += ["/*", *c_comment(heading(function, domain, origin, _formats(function, plan)))]
        lines += [" */", f"{_declaration(function)};", "", _declaration(function), "{"]
        for kind, word, code in plan.steps:
            lines.append(f"    const {kind} {word} = {_broken(code)};")
        lines += [f"    return {plan.result};", "}", ""]
    return lines[:-1]


def _broken(code: str) -> str:
    """A long sum on several lines."""
    return code if len(code) <= 80 else code.replace(" + ", "\n        + ")


def _formats(function: Function, plan: FixedPlan) -> list[str]:
    lines = [f"{i.word}: the integer closest to its value times 2^{i.places}" for i in plan.inputs]
    lines.append(f"{function.name}: the value of {function.target} times 2^{plan.places}")
    low, high = outward(plan.low, -1), outward(plan.high, 1)
    return [
        *lines,
        "",
        f"Proved: the equation lies between {low} and {high} in the domain, no step overflows "
        "whatever the inputs are, and the result differs from the equation by at most "
        f"{outward(plan.error, 1)} (rounding of the inputs included). Inputs outside the domain "
        "are taken as its ends.",
    ]


def _header(
    equations: Sequence[Equation],
    found: Sequence[Function],
    plans: Sequence[FixedPlan],
    domain: Domain | None,
    origin: Origin | None,
) -> list[str]:
    lines = ["#include <stdint.h>", ""]
    for function, plan in zip(found, plans, strict=True):
        lines += ["/*", *c_comment(heading(function, domain, origin, _formats(function, plan)))]
        lines += [" */"]
        own = function.name.upper()
        lines += [f"#define {own}_{i.word.upper()}_PLACES ({i.places})" for i in plan.inputs]
        lines += [f"#define {own}_PLACES ({plan.places})", f"{_declaration(function)};", ""]
    return include_guard(found[0].name if found else "ieql_fixed", lines)


def _test(
    equations: Sequence[Equation],
    found: Sequence[Function],
    plans: Sequence[FixedPlan],
    domain: Domain | None,
    origin: Origin | None,
) -> list[str]:
    lines = ["#include <stdint.h>", ""]
    tables: list[str] = []
    checks: list[str] = []
    for k, (equation, function, plan) in enumerate(zip(equations, found, plans, strict=True)):
        inputs, expected = _vectors(equation, plan)
        tolerance = math.ceil(math.ldexp(plan.error, plan.places)) + 1
        width = len(plan.inputs)
        rows = [f"        {{{', '.join(map(str, row))}}}" for row in inputs]
        lines += [f"{_declaration(function)};", ""]
        if plan.inputs:
            tables += [f"    static const int32_t inputs_{k}[{len(rows)}][{width}] =", "    {"]
            tables += [",\n".join(rows), "    };"]
        tables += [f"    static const int32_t expected_{k}[{len(rows)}] =", "    {"]
        tables += [",\n".join(f"        {value}" for value in expected), "    };"]
        arguments = ", ".join(f"inputs_{k}[i][{j}]" for j in range(len(plan.inputs)))
        checks += [
            f"    for (int32_t i = 0; i < {len(rows)}; i++)",
            "    {",
            f"        const int32_t difference = {function.name}({arguments}) - expected_{k}[i];",
            f"        if ((difference > {tolerance}) || (difference < -{tolerance}))",
            "        {",
            "            failures = failures + 1;",
            "        }",
            "    }",
        ]
    lines += ["/* Gives the number of values that are off: 0 if all is well. */"]
    lines += ["int main(void)", "{", *tables, "    int failures = 0;", *checks]
    return [*lines, "    return (failures > 100) ? 100 : failures;", "}"]


def _vectors(equation: Equation, plan: FixedPlan) -> tuple[list[list[int]], list[int]]:
    """Integers to put in, some of them outside the domain, and those that should come out."""
    expression = single(equation)
    low = np.array([i.low for i in plan.inputs], dtype=np.float64)
    high = np.array([i.high for i in plan.inputs], dtype=np.float64)
    points = np.rint(vectors(low, high, outside=True))
    points = np.clip(points, -(2.0**31), 2.0**31 - 1)
    X = np.zeros((len(points), len(expression.names)))
    inside = np.clip(points, low, high)
    for j, i in enumerate(plan.inputs):
        X[:, expression.names.index(i.column)] = np.ldexp(inside[:, j], -i.places)
    values = expression.evaluate(X)[:, 0]
    expected = [round(v) for v in np.ldexp(values, plan.places).tolist()]
    return [[int(q) for q in row] for row in points.tolist()], expected
