"""The offsets of an input are one number wherever it stands, if the rows do not object."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.equations.common_offsets import with_common_offsets
from ieql.equations.expression import Expression
from ieql.equations.refit import refit
from ieql.equations.standard_form import standard_form
from ieql.prior import Prior
from samples import NAMES, sample


def common(expression: Expression, rows: Sample) -> Expression:
    probe = rows.XT[:, :300].T
    return with_common_offsets(expression, rows, lambda e: standard_form(e, probe, Prior()))


def fitted(text: str, rows: Sample) -> Expression:
    return refit(Expression.parse(text, NAMES), rows, rows.XT)


def offsets(expression: Expression, source: int = 0) -> list[float]:
    """The offsets of an input, in the order of the graph."""
    return [s.bias for s in expression.sums[:-1] if s.sources == (source,)]


def test_a_law_in_a_shifted_input_has_one_shift():
    """The paper's A4 came as 3.975*(x1 + 0.1769)**2*(x1 + 0.3128)*…/(exp(9.77*(x1 + 0.2236)*…."""
    rows = sample("4*(x + 0.2)**3/(exp(2*(x + 0.2)/y) - 1)", n=3000, noise=0.05, low=0.3, high=2.0)
    free = fitted("4*(x + 0.1)**2*(x + 0.3)/(exp(2*(x + 0.2)/y) - 1)", rows)
    assert np.ptp(offsets(free)) > 0.001
    one = common(free, rows)
    assert np.ptp(offsets(one)) < 1e-12
    assert offsets(one)[0] == pytest.approx(0.2, abs=0.02)
    # The others are fitted beside them: hardly any error is added.
    assert rows.rmse(one.evaluate(rows.XT.T)[:, 0]) < 1.001 * rows.rmse(
        free.evaluate(rows.XT.T)[:, 0]
    )


def test_offsets_of_different_meaning_are_not_one_for_being_uncertain():
    """Thirty rows do not tell 0.9 from 1.4 here; one offset would not make it simpler, either."""
    rows = sample("3/(x + 0.9) + exp(-(x + 1.4)**2/9)*y", n=30, noise=0.1)
    free = fitted("3/(x + 0.9) + exp(-(x + 1.4)**2/9)*y", rows)
    assert common(free, rows) == free


def test_offsets_that_the_rows_tell_apart_stay():
    rows = sample("(x + 0.2)**2/(x + 2)", n=1000, noise=0.001)
    free = fitted("(x + 0.2)**2/(x + 2)", rows)
    assert common(free, rows) == free


def test_of_three_offsets_two_may_be_the_same():
    rows = sample("(x + 0.2)**2*(x + 0.2)/(x + 2)", n=3000, noise=0.05)
    free = fitted("(x + 0.15)**2*(x + 0.3)/(x + 2)", rows)
    values = offsets(common(free, rows))
    assert len(values) == 3
    assert len(np.unique(np.round(values, 9))) == 2


def test_what_was_set_to_a_simple_number_stays():
    rows = sample("(x + 1)**2*(x + 1.05)", n=200, noise=1.0)
    free = Expression.parse("(x + 1)**2*(x + 1.0517)", NAMES)
    assert 1.0 in offsets(common(free, rows))


def test_an_equation_without_offsets_is_left_alone():
    rows = sample("3*x*y", n=50)
    plain = Expression.parse("3*x*y", NAMES)
    assert common(plain, rows) is plain
