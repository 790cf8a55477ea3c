"""With few rows the validation error contains what equally good equations differ by."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitted import changed, model, with_rivals_at
from ieql import IEQLRegressor
from ieql.ambiguity import ambiguity, places_like, with_ambiguity
from ieql.data.sample import Sample
from ieql.doubts import CROSS_FITTING, LEFT_OUT
from ieql.selection import Candidate, scores

RNG = np.random.default_rng(0)
ROWS = Sample(RNG.uniform(1, 2, (2, 50)), RNG.normal(size=50), np.ones(50))


def few_rows(rivals, front=("4", "3*x + 1")):
    fitted = model(front, prior="plain")
    changed(fitted, validation=CROSS_FITTING, n_rows=(300, 0), mean_errors=({"validation": 5.0},))
    return with_rivals_at(fitted, rivals).fitted_


def test_an_equally_good_equation_adds_its_distance_by_its_odds():
    own = few_rows({}).candidate()
    fitted = few_rows({"3*x + z": 0.0, "exp(z)": 40.0})
    z = places_like(ROWS.XT.T, np.random.default_rng(0))[:, 1]
    # Both descriptions are equally long, so that the other is right with odds of one half.
    added = math.sqrt(0.5 * np.mean((z - 1) ** 2))
    assert ambiguity(fitted, ROWS) == pytest.approx(added)
    found = with_ambiguity(fitted, [ROWS]).candidate()
    assert found.rmse_validation == pytest.approx(math.hypot(own.rmse_validation, added))
    assert found.rmse_rows == pytest.approx(own.rmse_validation)


def test_a_lone_equation_and_a_constant_keep_their_errors():
    for fitted in (few_rows({}), few_rows({"x*z": 30.0}), few_rows({"x": 1.0}, front=("4",))):
        assert with_ambiguity(fitted, [ROWS]).fronts == fitted.fronts


def test_an_equation_chosen_by_its_error_alone_is_not_measured_by_shorter_ones():
    """Selected by V_int, an equation with an error of 0.161 on new rows was shown with 0.318."""
    fitted = replace(few_rows({"3*x + z": 0.0}), validation=LEFT_OUT)
    assert with_ambiguity(fitted, [ROWS]) is fitted


def test_errors_of_rows_that_were_kept_back_stay_as_they_are():
    fitted = with_rivals_at(model(("4", "3*x + 1"), prior="plain"), {"3*x + z": 0.0}).fitted_
    assert with_ambiguity(fitted, [ROWS]) is fitted


def test_no_equation_is_worse_than_the_mean_for_that_and_the_front_keeps_its_order():
    """A pole between the rows is no better known than anything else there."""
    fitted = few_rows({"1/(x - 1.5) + 2": 0.0}, front=("4", "3*x + 1", "3*x + 0.1*z + 1"))
    found = with_ambiguity(fitted, [ROWS]).fronts[0]
    errors = [c.rmse_validation for c in found]
    assert max(errors) <= 5.0
    assert errors == sorted(errors, reverse=True)


def test_the_choice_does_not_depend_on_what_was_added():
    """Else a model that is loaded would select another equation than its fit did."""
    fitted = few_rows({"2*x*z": 0.3})
    with_it = with_ambiguity(fitted, [ROWS])
    lengths = [
        scores(m.fronts[0], "MDL", mean_error=5.0, n_rows=(300, 0)) for m in (fitted, with_it)
    ]
    np.testing.assert_allclose(*lengths)


def test_it_is_written_to_files_and_read_again():
    c = with_ambiguity(few_rows({"2*x*z": 0.3}), [ROWS]).candidate()
    assert c.ambiguity > 0.1
    again = Candidate.from_form(c.to_form(), {})
    assert (again.ambiguity, again.rmse_rows) == (c.ambiguity, c.rmse_rows)
    old = {k: v for k, v in c.to_form().items() if k != "ambiguity"}
    assert Candidate.from_form(old, {}).ambiguity == 0.0
    assert replace(c, ambiguity=0.0).rmse_rows == c.rmse_validation


@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 100))
def test_places_lie_inside_the_ranges_and_inputs_that_go_together_still_do(n, d, seed):
    X = np.random.default_rng(seed).normal(size=(n, 1)) * np.arange(1, d + 1) + np.arange(d)
    places = places_like(X, np.random.default_rng(0))
    assert np.all((X.min(axis=0) <= places) & (places <= X.max(axis=0)))
    np.testing.assert_allclose(
        places, places[:, :1] * np.arange(1, d + 1) + np.arange(d), atol=1e-9
    )


def test_a_dozen_rows_of_six_inputs_do_not_claim_to_know_the_law():
    """Cross-fitting alone reported a third of the error that new rows showed."""
    rng = np.random.default_rng([7, 5])
    X = rng.uniform(0.5, 3.0, (4012, 5))
    y = 6 * np.log(X[:, 0] ** 2 * X[:, 1] ** 2 + 2) + 1.5 * np.sin(2 * X[:, 0]) * X[:, 4]
    y += 0.1 * y.std() * rng.normal(size=len(y))
    model = IEQLRegressor(max_trainings=4, max_time=30, n_jobs=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:12], y[:12])
    c = model.fitted_.candidate()
    fresh = np.sqrt(np.mean((model.predict(X[12:]) - y[12:]) ** 2))
    assert c.ambiguity > 0.0
    assert abs(math.log(fresh / c.rmse_validation)) < abs(math.log(fresh / c.rmse_rows))
