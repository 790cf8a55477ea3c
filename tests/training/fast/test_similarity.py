"""Groups of inputs are read off the slopes of a surrogate."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.equations.expression import Expression
from ieql.training.fast.similarity import Group, Similarity, similarities
from ieql.training.fast.smoothed import Smoothed
from tasks import of_formula


def found(formula: str, names: str, **options: float) -> list[Similarity]:
    task = of_formula(formula, names, **options)
    smooth = Smoothed.fit(task.train, task.inputs)
    return list(similarities(smooth, task.train.XT))


def written(group: Group, names: str) -> str:
    return " ".join(f"{names[i]}^{p:g}" for i, p in sorted(group.powers))


@pytest.mark.parametrize(
    ("formula", "names", "factors", "groups"),
    [
        ("m*v/sqrt(1 - 0.05*v**2/c**2)", "mvc", {"m^1 v^1", "m^1 c^1"}, {"v^1 c^-1"}),
        ("h*w**3/(exp(h*w/t) - 0.5)", "hwt", {"h^1 w^3", "w^2 t^1"}, {"h^1 w^1 t^-1"}),
        ("a**2*exp(-1.3*b)", "ab", {"a^2"}, {"b^1"}),
        ("a*cos(b)*sqrt(c)", "abc", {"a^1 c^0.5"}, {"b^1"}),
    ],
)
def test_a_law_shows_its_groups(formula, names, factors, groups):
    """The fewest groups come first, the simplest way to write them before the others."""
    first = found(formula, names)[0]
    assert written(first.factor, names) in factors
    assert {written(g, names) for g in first.groups} == groups


def test_noise_hides_no_groups():
    first = found("m*v/sqrt(1 - 0.05*v**2/c**2)", "mvc", noise=0.02)[0]
    assert [written(g, "mvc") for g in first.groups] == ["v^1 c^-1"]


def test_a_difference_is_one_group():
    first = found("exp(-((a - b)/c)**2)/c", "abc")[0]
    assert sorted(map(len, first.sums)) == [1, 2]
    assert len(first.groups) == 1
    (_, one), (_, other) = max(first.sums, key=len)
    assert one == pytest.approx(-other, rel=0.03)


def test_differences_of_a_common_unit_are_exact():
    """Inputs are divided by their ranges, which differ a little though the unit is the same."""
    task = of_formula("exp(-(0.98*a - 1.02*b)**2)/c", "abc")
    smooth = Smoothed.fit(task.train, task.inputs)
    first = next(similarities(smooth, task.train.XT, np.array([0.98, 1.02, 1.0])))
    (_, one), (_, other) = max(first.sums, key=len)
    assert other / one == pytest.approx(-1.02 / 0.98, rel=1e-12)


def test_a_similarity_takes_the_function_apart_and_puts_it_together():
    """Values of factor and groups give the function, and so does what is written."""
    similarity = Similarity(
        (((0, 1.0),), ((1, 1.0),), ((2, 1.0),)),
        (1.0, 1.0, 1.0),
        Group(((0, 1.0), (2, 2.0))),
        (Group(((1, 1.0), (2, -1.0))),),
    )
    XT = np.random.default_rng(0).uniform(0.5, 2.0, (3, 40))
    m, v, c = XT
    factor, groups = similarity.values(XT)
    np.testing.assert_allclose(factor, m * c**2)
    np.testing.assert_allclose(groups[0], v / c)
    function = Expression.parse("1/sqrt(20 - g**2)", ("g",))
    for e in similarity.expressions(("m", "v", "c"), function, scale=2.0):
        expected = 2.0 * m * c**2 / np.sqrt(20 - (v / c) ** 2)
        np.testing.assert_allclose(e.evaluate(XT.T)[:, 0], expected)
