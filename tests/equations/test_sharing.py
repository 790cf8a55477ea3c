"""Units that equations of several outputs have in common: found, judged, fitted together."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.equations.builder import joined
from ieql.equations.expression import Expression
from ieql.equations.refit import refit
from ieql.equations.shared_units import shared_units
from ieql.equations.sharing import fitted_together

NAMES = ("x", "z")


def parsed(*texts):
    return [Expression.parse(text, NAMES) for text in texts]


def rows(truth, noise=0.02, seed=0, n=200):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.5, 3.0, (n, 2))
    y = Expression.parse(truth, NAMES).evaluate(X)[:, 0] + noise * rng.normal(size=n)
    return Sample(np.ascontiguousarray(X.T), y, np.ones(n))


def together(truths, starts=None, **options):
    """Each fitted by itself first, as the search leaves them."""
    samples = [rows(t, seed=k, **options) for k, t in enumerate(truths)]
    starts = starts or truths
    equations = [refit(e, s) for e, s in zip(parsed(*starts), samples, strict=True)]
    return equations, samples, fitted_together(equations, samples)


def test_the_same_unit_gets_the_same_constants_to_the_last_digit():
    truths = ("2.1*exp(-0.73*x)", "3.3*exp(-0.73*x) + 1.7*z")
    equations, samples, found = together(truths)
    apart = joined(equations)
    assert not shared_units(apart)
    assert all(f is not None for f in found)
    for kind in ("precise", "shown"):
        whole = joined([getattr(f, kind) for f in found])
        assert [u.outputs for u in shared_units(whole)] == [(0, 1)]
        assert len(whole.nodes) == 1
    for f, s in zip(found, samples, strict=True):
        assert s.rmse(f.precise.evaluate(s.XT.T)[:, 0]) < 0.0225
        (error,) = (e for e in f.common.values() if e > 0.0)
        exponent = f.precise.nodes[0].args[0].weights[0]
        assert abs(exponent + 0.73) < 4 * error
    assert len(str(found[0].shown.nodes[0].args[0].weights[0])) < 9  # digits that it deserves


def test_common_constants_are_known_better_than_from_one_output():
    from ieql.equations.precision import standard_errors

    equations, samples, found = together(("2.1*exp(-0.73*x)", "2.2*exp(-0.73*x) + 1.7*z"))
    (place,) = (t for t, e in found[0].common.items() if e > 0.0)
    single = [standard_errors(e, s)[0] for e, s in zip(equations, samples, strict=True)]
    assert found[0].common[place] < min(single[0][place], max(single[1]))


def test_the_output_with_less_noise_has_more_to_say():
    truths = ("2.1*exp(-0.73*x)", "3.3*exp(-0.73*x) + 1.7*z")
    samples = [rows(truths[0], noise=1e-4, seed=0), rows(truths[1], noise=0.1, seed=1)]
    equations = [refit(e, s) for e, s in zip(parsed(*truths), samples, strict=True)]
    found = fitted_together(equations, samples)
    exact, loose = (e.nodes[0].args[0].weights[0] for e in equations)
    common = found[0].precise.nodes[0].args[0].weights[0]
    assert abs(common - exact) < 0.02 * abs(common - loose)


def test_units_that_differ_stay_apart():
    assert together(("2.1*exp(-0.73*x)", "3.3*exp(-0.9*x) + 1.7*z"))[2] is None


def test_what_the_rows_hardly_tell_is_not_called_the_same():
    """Of two exponentials with errors as large as they are, nothing is known."""
    truths = ("2.1*exp(-0.3*x)", "3.3*exp(-0.4*x) + 1.7*z")
    assert together(truths, noise=3.0, n=30)[2] is None


def test_a_given_number_stays_and_the_other_follows():
    equations, _, found = together(
        ("2.1*exp(-x)", "3.3*exp(-x) + 1.7*z"), ("2.1*exp(-x)", "3.3*exp(-1.01*x) + 1.7*z")
    )
    assert equations[0].nodes[0].args[0].weights == (-1.0,)
    assert equations[1].nodes[0].args[0].weights != (-1.0,)
    assert found[0] is None  # nothing has changed
    assert found[1].precise.nodes[0].args[0].weights == (-1.0,)
    assert shared_units(joined([equations[0], found[1].precise]))


def test_the_outermost_unit_is_shared_with_all_inside():
    truths = ("2.1*exp(-0.73*(x - 1.3)**2)", "3.3*exp(-0.73*(x - 1.3)**2) + 1.7*z")
    _, _, found = together(truths)
    whole = joined([f.precise for f in found])
    assert len(whole.nodes) == 2
    assert len(shared_units(whole)) == 1


def test_products_match_in_either_order():
    truths = ("2.1*cos(0.7*x*z)", "1.3*cos(0.7*z*x) + 1.7*z")
    assert together(truths)[2] is not None


def test_three_outputs_share_one_unit():
    truths = ("2.1*exp(-0.73*x)", "3.3*exp(-0.73*x) + 1.7*z", "1.4*exp(-0.73*x) - 0.6*z")
    _, _, found = together(truths)
    whole = joined([f.precise for f in found])
    assert len(whole.nodes) == 1
    assert shared_units(whole)[0].outputs == (0, 1, 2)


def test_what_is_shared_already_moves_together():
    """As after a run that goes on: the first two have one unit, the third is to join them."""
    truths = ("2.1*exp(-0.73*x)", "3.3*exp(-0.73*x) + 1.7*z", "1.4*exp(-0.73*x) - 0.6*z")
    equations, samples, _ = together(truths)
    first = fitted_together(equations[:2], samples[:2])
    again = [*(f.precise for f in first), equations[2]]
    found = fitted_together(again, samples)
    assert len(joined([f.precise for f in found]).nodes) == 1


def test_exact_rows_agree_without_noise_to_judge_by():
    truths = ("2.1*exp(-0.731058*x)", "3.3*exp(-0.731058*x) + 1.7*z")
    equations, _, found = together(truths, noise=0.0)
    shown = [f.shown if f is not None else e for f, e in zip(found or [None] * 2, equations,
                                                             strict=True)]  # fmt: skip
    constants = [e.nodes[0].args[0].weights[0] for e in shown]
    assert constants == pytest.approx([-0.731058] * 2, rel=1e-8)


def test_nothing_in_common_takes_no_time():
    assert together(("2.1*exp(-0.73*x)", "1.7*z"))[2] is None
    assert fitted_together(parsed("1.5", "2.5"), [rows("1.5"), rows("2.5")]) is None
