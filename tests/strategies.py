"""Random expressions for property tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from ieql.equations.builder import Builder, tidy
from ieql.equations.expression import Expression, Sum
from ieql.units import UNITS

__all__ = ["CONSTANTS", "boxes", "endless", "expressions"]

CONSTANTS = st.one_of(
    st.integers(-3, 3).map(float),
    st.sampled_from([0.1, -0.5, 1e-5, 1e20, -1e-20, 1 / 3]),
    st.floats(-10, 10),
)


READ_BACK = tuple(name for name in UNITS if name != "abs")
"""All units but one: without a prior that names it, abs is read as the root of a square."""


@st.composite
def _sums(draw: st.DrawFn, pool: list[Sum], constants: st.SearchStrategy[float]) -> Sum:
    terms = draw(st.lists(st.tuples(st.sampled_from(pool), constants), max_size=3))
    bias = draw(st.one_of(st.just(0.0), constants))
    return Sum.total([Sum(bias), *(part.scaled(weight) for part, weight in terms)])


@st.composite
def expressions(
    draw: st.DrawFn,
    n_inputs: int = 3,
    max_units: int = 8,
    names: Sequence[str] | None = None,
    units: Sequence[str] = READ_BACK,
    constants: st.SearchStrategy[float] = CONSTANTS,
    n_outputs: int = 1,
) -> Expression:
    """Canonical expressions with up to `max_units` units, shared as often as they come.

    Left out is what is no equation: a denominator that is the constant zero, and constants that
    are not finite because a product of constants overflowed.
    """
    builder = Builder(tuple(names or (f"x{i + 1}" for i in range(n_inputs))))
    pool = [builder.input(i) for i in range(len(builder.names))]
    for name in draw(st.lists(st.sampled_from(units), max_size=max_units)):
        unit = UNITS[name]
        args = [draw(_sums(pool, constants)) for _ in range(unit.arity)]
        if name != "div" or tidy(args[1]) != Sum(0.0):
            pool.append(builder.apply(unit, *args))
    outputs = [draw(_sums(pool, constants)) for _ in range(n_outputs)]
    expression = builder.expression(*outputs)
    assume(np.all(np.isfinite(expression.constants())))
    return expression


def endless() -> Expression:
    """A small graph with an endless text: every product writes what it is made of twice."""
    builder = Builder(("x1",))
    s = builder.input(0)
    for _ in range(24):
        s = builder.apply(UNITS["mul"], s.plus(Sum(1.0)), s.plus(Sum(2.0)))
    return builder.expression(s)


def boxes(n_inputs: int = 3) -> st.SearchStrategy[list[list[float]]]:
    """Boxes of inputs: a sorted pair of bounds per input."""
    return st.lists(
        st.lists(st.floats(-5, 5), min_size=2, max_size=2).map(sorted),
        min_size=n_inputs,
        max_size=n_inputs,
    )
