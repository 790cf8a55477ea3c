"""What levels of a category do to a product stands in one factor."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql.equations.expression import Expression
from ieql.equations.level_factors import with_one_factor_each

NAMES = ("x", "{g: 1}", "{g: 2}", "{g: 3}", "{m: a}", "{m: b}")
LEVELS = ((1, 2, 3), (4, 5))
ONES = np.ones(len(NAMES))


def merged(text: str, sizes=ONES) -> Expression:
    return with_one_factor_each(Expression.parse(text, NAMES), LEVELS, sizes)


def rows(sizes=ONES) -> np.ndarray:
    """Every combination of levels at some places."""
    found = [
        [x, *np.eye(3)[g], *np.eye(2)[m]] for x in (0.5, 1.7) for g in range(3) for m in range(2)
    ]
    return np.array(found) * sizes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(2 - {g: 1})*({g: 3} + 3)", "6 - 3*{g: 1} + 2*{g: 3}"),
        ("(2 - {g: 1})*({g: 3} + 3)*sqrt(x)", "(6 - 3*{g: 1} + 2*{g: 3})*sqrt(x)"),
        ("x*(1 - {g: 1})*({m: a} + 3)*({g: 1} + 2)", "({m: a} + 3)*(-2*{g: 1} + 2)*x"),
        ("{g: 1}*{g: 2}*x + 3", "3"),
        ("{g: 1}**2*x", "{g: 1}**2*x"),
        ("(2 - {g: 1})*({m: a} + 3)", "(2 - {g: 1})*({m: a} + 3)"),
        ("(x - {g: 1})*({g: 3} + 3)", "(x - {g: 1})*({g: 3} + 3)"),
    ],
)
def test_levels_of_a_category_stand_in_one_factor(text: str, expected: str) -> None:
    found = merged(text)
    np.testing.assert_allclose(
        found.evaluate(rows()), Expression.parse(expected, NAMES).evaluate(rows()), atol=1e-12
    )
    assert found.n_parameters == Expression.parse(expected, NAMES).n_parameters


def test_without_categories_nothing_is_changed() -> None:
    e = Expression.parse("(2 - {g: 1})*({g: 3} + 3)", NAMES)
    assert with_one_factor_each(e, (), ONES) is e


CONSTANT = st.floats(-3, 3).map(lambda c: round(c, 3))


@given(st.lists(CONSTANT, min_size=8, max_size=8), st.floats(0.2, 5.0))
def test_values_stay_as_they_are(constants: list[float], size: float) -> None:
    """In the coordinates of the search a level may be 2, not 1."""
    a, b, c, d, e, f, g, h = constants
    first, second = f"({a} + {b}*{{g: 1}})", f"({c} + {d}*{{g: 2}} + {e}*{{g: 1}})"
    text = f"{first}*{second}*cos(x)*({f}*{{g: 3}} + {g}) + {h}"
    sizes = np.array([1.0, size, 1.0, 2.0, 1.0, 1.0])
    before = Expression.parse(text, NAMES)
    after = with_one_factor_each(before, LEVELS, sizes)
    np.testing.assert_allclose(
        after.evaluate(rows(sizes)), before.evaluate(rows(sizes)), rtol=1e-9, atol=1e-9
    )
