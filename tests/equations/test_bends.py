"""What is straight on the rows is written as a line, and what is bent stays."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.dataset import Scaling
from ieql.data.sample import Sample
from ieql.equations.bends import unseen_bends
from ieql.equations.expression import Expression
from ieql.equations.finish import finish
from ieql.prior import Prior

NAMES = ("x", "y")
PLAIN = Prior.of("plain")
UNSCALED = Scaling(np.zeros(2), np.ones(2)), Scaling(np.zeros(1), np.ones(1))


def rows(truth, low=0.5, high=3.0, n=400, noise=0.01, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(low, high, (n, 2))
    exact = Expression.parse(truth, NAMES).evaluate(X)[:, 0]
    y = exact + noise * exact.std() * rng.normal(size=n)
    return Sample(np.ascontiguousarray(X.T), y, np.ones(n))


def finished(found, sample, outside=None, **options):
    equation = finish(
        Expression.parse(found, NAMES),
        *UNSCALED,
        sample,
        sample.XT if outside is None else np.concatenate([sample.XT, outside.XT], axis=1),
        PLAIN,
        outside=outside,
        **options,
    )
    return equation.expression.text()


@pytest.mark.parametrize("cut", [True, False])
def test_two_bends_that_make_a_line_are_a_line(cut):
    """Seen where points outside chose: exp(0.468*sqrt(x4 + 4.646)) for x4."""
    sample = rows("x*y/3 + 2*x", -1.0, 1.0, noise=0.03)
    found = finished("1.12*x*(exp(0.468*sqrt(y + 4.646)) - 2.743) + 2*x", sample, cut=cut)
    assert "exp" not in found
    assert "sqrt" not in found


def test_also_when_the_time_is_up():
    """A random equation came as 33.6 - 6.87*sqrt(x - 1.93*cos(…) + 35.3) at its time limit: the
    parabola in the place of the root has to be fitted to do as well."""
    sample = rows("33.6 - 6.87*sqrt(x - 1.93*cos(1.86*y) + 35.3)", -2.0, 2.0, n=2000)
    found = "30 - 6.3*sqrt(x - 1.9*cos(1.86*y) + 30)"
    assert "sqrt" not in finished(found, sample, is_late=lambda: True)


def test_points_outside_say_that_a_bend_is_there():
    """On the rows exp(x/30) is a line; where x is 100, it is not."""
    truth = "3*exp(x/30) + y"
    sample, outside = rows(truth, noise=0.03), rows(truth, 60.0, 100.0, n=40, noise=0.001)
    assert "exp" not in finished("3*exp(x/30) + y", sample)
    assert "exp" in finished("3*exp(x/30) + y", sample, outside, cut=False)


@pytest.mark.parametrize("truth", ["3*exp(-x) + y", "y*log(x)", "2*sqrt(x) - y", "y/(x + 1)"])
def test_a_bend_that_the_rows_see_stays(truth):
    sample = rows(truth)
    expression = Expression.parse(truth, NAMES)
    noise = float(np.std(sample.y - expression.evaluate(sample.XT.T)[:, 0]))
    assert list(unseen_bends(expression, sample.XT.T, noise)) == []


def test_a_unit_that_is_a_number_on_the_rows_is_one_also_when_time_is_up():
    """Seen at the end of a search: 5.3e22*exp(-4e20*x1), which is zero."""
    sample = rows("y + 1")
    assert "exp" not in finished("y + 1 + 5e22*exp(-4e20*x)", sample, is_late=lambda: True)


def test_a_term_that_does_nothing_is_dropped_also_when_time_is_up():
    """Seen on rows without noise: 3*v*(v - 5.77e-17*cos(21.96*v))."""
    sample = rows("3*x**2", noise=0.0)
    found = finished("3*x*(x - 5.77e-17*cos(21.96*y))", sample, is_late=lambda: True)
    assert found == "3*x**2"


def test_a_quotient_by_what_hardly_changes_is_a_product():
    expression = Expression.parse("5800*x*y/(y + 5800)", NAMES)
    sample = rows("x*y")
    first = next(unseen_bends(expression, sample.XT.T, 0.1))
    assert "div" not in first.unit_counts()
    np.testing.assert_allclose(
        first.evaluate(sample.XT.T), expression.evaluate(sample.XT.T), rtol=1e-3
    )


def test_too_few_rows_and_undefined_values_show_nothing():
    line = Expression.parse("exp(x/100)", NAMES)
    assert list(unseen_bends(line, np.ones((3, 2)), 0.1)) == []
    # Two values of an input do not tell a parabola, and nothing is to be said about that.
    two = np.column_stack([np.tile([1.0, 2.0], 5), np.linspace(0, 1, 10)])
    assert all("square" not in e.unit_counts() for e in unseen_bends(line, two, 0.1))
    log = Expression.parse("log(x/100)", NAMES)
    assert list(unseen_bends(log, -np.ones((9, 2)), 0.1)) == []
