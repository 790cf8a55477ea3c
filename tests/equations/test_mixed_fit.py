"""One structure for many devices: what is shared, and what is each one's own."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.mixed_fit import mixed_fit
from ieql.equations.recalibrate import Movable
from ieql.equations.roles import ROLES

DOMAIN = np.linspace(0.0, 5.0, 60)[None, :]


def fleet(gains, rates, offset=0.4, n=15, noise=0.01, seed=0):
    rng = np.random.default_rng(seed)
    samples = []
    for gain, rate in zip(gains, rates, strict=True):
        t = rng.uniform(0, 5, n)
        y = gain * np.exp(-rate * t) + offset + noise * rng.normal(size=n)
        samples.append(Sample(t[None, :].copy(), y, np.ones(n)))
    return samples


LAW = Expression.parse("4*exp(-0.5*t) + 0.3", ["t"])
GAINS, RATES = [4.1, 5.2, 4.6, 5.9, 3.7], [0.7] * 5


def by_size(fit):
    """Means and spreads of gain, rate and offset."""
    order = np.argsort(-np.abs(fit.mean))
    return fit.mean[order], fit.spreads[order]


def test_what_differs_is_each_ones_own_and_the_rest_is_shared():
    fit = mixed_fit(LAW, fleet(GAINS, RATES), DOMAIN)
    mean, spreads = by_size(fit)
    assert spreads[0] > 0.3
    assert spreads[1:].tolist() == [0.0, 0.0]
    assert mean == pytest.approx([np.mean(GAINS), 0.7, 0.4], rel=0.02)
    own = fit.own[:, int(np.argmax(np.abs(fit.mean)))]
    assert own == pytest.approx(GAINS, rel=0.02)
    assert fit.sigma == pytest.approx(0.01, rel=0.3)


def test_devices_that_are_the_same_share_everything():
    fit = mixed_fit(LAW, fleet([4.0] * 5, RATES), DOMAIN)
    assert not fit.spreads.any()
    assert np.all(fit.own == fit.own[0])


def test_it_can_be_said_which_constants_differ():
    samples = fleet(GAINS, RATES)
    assert np.all(mixed_fit(LAW, samples, DOMAIN, differing=ROLES).spreads > 0.0)
    shared = mixed_fit(LAW, samples, DOMAIN, differing=())
    assert not shared.spreads.any()
    assert shared.length > mixed_fit(LAW, samples, DOMAIN).length + 50


@pytest.mark.parametrize(
    ("differing", "expected"),
    [
        (["factor"], [True, False, False]),
        (["inside"], [False, True, False]),
        (["offset"], [False, False, True]),
        (["factor", "offset"], [True, False, True]),
    ],
)
def test_what_differs_may_be_named_by_where_it_stands(differing, expected):
    fit = mixed_fit(LAW, fleet(GAINS, RATES), DOMAIN, differing=differing)
    assert (by_size(fit)[1] > 0.0).tolist() == expected


def test_a_number_that_stands_twice_is_two_things():
    """Of 3*(1 - exp(-t)) the 3 is an offset and a factor, so that either name frees it."""
    roles = Movable.of(Expression.parse("3 - 3*exp(-0.5*t)", ["t"])).roles
    assert sorted(map(sorted, roles)) == [["factor", "offset"], ["inside"]]


def test_a_device_of_two_rows_stays_near_the_others():
    """Two rows for three numbers: its gain is told by them, the rest by the others."""
    samples = fleet(GAINS, RATES)
    few = fleet([4.9], [0.7], n=2, seed=7)
    fit = mixed_fit(LAW, [*samples, *few], DOMAIN)
    t = DOMAIN[0]
    truth = 4.9 * np.exp(-0.7 * t) + 0.4
    found = fit.expression(5).evaluate(t[:, None])[:, 0]
    assert np.sqrt(np.mean((found - truth) ** 2)) < 0.05


def test_the_right_structure_has_the_shorter_description():
    samples = fleet(GAINS, [0.6, 0.7, 0.8, 0.75, 0.65])
    wrong = [Expression.parse(text, ["t"]) for text in ("4/(t + 1)", "4 - 0.9*t + 0.1*t**2")]
    right = mixed_fit(LAW, samples, DOMAIN).length
    assert all(mixed_fit(e, samples, DOMAIN).length > right + 20 for e in wrong)


def test_the_order_of_the_devices_does_not_matter():
    samples = fleet(GAINS, RATES)
    one, other = mixed_fit(LAW, samples, DOMAIN), mixed_fit(LAW, samples[::-1], DOMAIN)
    assert one.length == pytest.approx(other.length, abs=0.1)
    assert one.own == pytest.approx(other.own[::-1], rel=1e-3)


def test_where_a_structure_has_no_value_there_is_no_fit():
    e = Expression.parse("2*log(t - 1)", ["t"])
    assert mixed_fit(e, fleet(GAINS, RATES), DOMAIN) is None
