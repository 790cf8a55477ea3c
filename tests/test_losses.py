"""What errors cost: whole fits under each loss, and standard deviations of the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ieql import IEQLRegressor
from ieql.cli import app
from ieql.data.intake import weights_of
from ieql.errors import IeqlError, OutlierWarning

QUICK = {"max_trainings": 2, "n_jobs": 1, "random_state": 0}


def spoilt(n=60, share=0.1):
    """A decay with some rows that are grossly wrong."""
    rng = np.random.default_rng(3)
    x = np.linspace(0.2, 5, n)
    y = 3 * np.exp(-0.7 * x) + 1 + rng.normal(0, 0.005, n)
    wrong = rng.choice(n, round(share * n), replace=False)
    y[wrong] += rng.uniform(5, 50, len(wrong)) * rng.choice([-1, 1], len(wrong))
    return pd.DataFrame({"t": x}), y


@pytest.mark.parametrize("loss", ["huber", "absolute"])
@pytest.mark.parametrize("n", [12, 60])
def test_gross_errors_do_not_hide_the_law(loss, n):
    """With a dozen rows there are too few to leave any out, as "auto" would."""
    X, y = spoilt(n)
    model = IEQLRegressor(loss=loss, **QUICK).fit(X, y)
    error = model.predict(X) - (3 * np.exp(-0.7 * X["t"]) + 1)
    assert np.abs(error).max() < 0.02
    assert model.equations_["rmse_train"][model.equations_["selected"]].item() < 0.015


@pytest.mark.parametrize("loss", ["huber", "absolute"])
def test_an_exact_law_is_exact_beside_gross_errors(loss):
    x = np.linspace(0.2, 5, 20)
    y = 2 * x**2 + 1
    y[[3, 15]] -= 100
    model = IEQLRegressor(loss=loss, **QUICK).fit(x[:, None], y)
    assert str(model.expression()) == "2*x0**2 + 1"
    assert model.equations_["rmse_train"].min() < 1e-9


def test_robust_losses_leave_no_row_out():
    X, y = spoilt()
    assert IEQLRegressor(loss="huber", **QUICK).fit(X, y).outliers_ == [[]]
    with pytest.warns(OutlierWarning):
        assert IEQLRegressor(loss="auto", **QUICK).fit(X, y).outliers_ != [[]]


@pytest.mark.filterwarnings("ignore::ieql.errors.DisagreementWarning")
def test_squared_leaves_no_row_out_of_an_equation_of_ones_own():
    """It once did, so that the same equation had another error than on the front."""
    x = np.linspace(0, 1, 100)
    y = 2 * x + np.random.default_rng(0).normal(0, 0.01, 100)
    y[50] += 3.0
    model = IEQLRegressor(loss="squared", **QUICK).fit(x[:, None], y)
    row = model.try_equation("a*x0 + b")
    assert row["rmse_train"] > 0.25


def test_an_equation_of_ones_own_is_fitted_under_the_loss():
    X, y = spoilt()
    model = IEQLRegressor(loss="huber", **QUICK).fit(X, y)
    row = model.try_equation("a*exp(-k*t) + c")
    assert row.attrs["constants"]["k"][0] == pytest.approx(0.7, abs=0.01)
    assert row["rmse_train"] < 0.01


def test_standard_errors_under_huber_are_those_of_the_rows_that_are_right():
    X, y = spoilt(200)
    model = IEQLRegressor(loss="huber", guesses=["a*exp(-k*t) + c"], **QUICK).fit(X, y)
    errors = model.constants()["standard_error"]
    assert errors[errors > 0].max() < 0.01


def test_relative_errors_make_small_values_count():
    rng = np.random.default_rng(0)
    x = np.geomspace(1, 1e4, 80)
    y = 2 * x**1.5 * (1 + rng.normal(0, 0.05, 80))
    model = IEQLRegressor(loss="relative", **QUICK).fit(x[:, None], y)
    off = model.predict(x[:, None]) / (2 * x**1.5) - 1
    assert np.abs(off).max() < 0.06


@pytest.mark.parametrize("values", [(0.0, 1.0), (-1.0, 1.0)])
def test_relative_errors_need_a_target_of_one_sign(values):
    x = np.linspace(*values, 20)
    with pytest.raises(IeqlError, match="all values must be above zero, or all below"):
        IEQLRegressor(loss="relative", **QUICK).fit(x[:, None], x)


def test_a_target_that_hardly_changes_has_no_robust_loss():
    x = np.linspace(0, 1, 40)
    y = np.where(x > 0.9, x, 0.0)
    with pytest.raises(IeqlError, match="90% of the rows of 'y' have the same value"):
        IEQLRegressor(loss="huber", **QUICK).fit(x[:, None], y)


def test_a_loss_is_kept_in_files(tmp_path):
    X, y = spoilt(12)
    model = IEQLRegressor(loss="huber", run_dir=tmp_path / "run", **QUICK).fit(X, y)
    model.save(tmp_path / "model.json")
    assert IEQLRegressor.load(tmp_path / "model.json").loss == "huber"
    again = IEQLRegressor(loss="huber", run_dir=tmp_path / "run", **QUICK | {"max_trainings": 4})
    assert again.fit(X, y).predict(X) == pytest.approx(model.predict(X), abs=0.05)


# --- standard deviations -------------------------------------------------------------------------


def noisy(n=100):
    """A line whose second half is hardly measured at all."""
    rng = np.random.default_rng(1)
    sigma = np.where(np.arange(n) < n // 2, 0.01, 5.0)
    x = np.linspace(0, 1, n)
    return x[:, None], 3 * x + 1 + sigma * rng.normal(size=n), sigma


def test_rows_weigh_by_their_standard_deviations():
    X, y, sigma = noisy()
    model = IEQLRegressor(loss="squared", **QUICK).fit(X, y, sigma=sigma)
    assert model.predict([[1.0]])[0] == pytest.approx(4.0, abs=0.1)


def test_equal_standard_deviations_are_none():
    """As weights they would be 1/0.5² = 4, and four rows each."""
    np.testing.assert_array_equal(weights_of(np.full(7, 0.5), 7), np.ones(7))


@pytest.mark.parametrize(
    ("sigma", "sentence"),
    [
        ([1.0, 0.0, 1.0, 1.0], "it is 0 in data row 2"),
        ([1.0, 1.0, -2.0, 1.0], "it is -2 in data row 3"),
        ([1.0, 1.0], r"one standard deviation for each of the 4 rows, but its shape is \(2,\)"),
        ([1e-200, 1.0, 1.0, 1.0], "orders of magnitude"),
    ],
)
def test_standard_deviations_that_cannot_be_are_refused(sigma, sentence):
    X = np.arange(4.0)[:, None]
    with pytest.raises(IeqlError, match=sentence):
        IEQLRegressor(**QUICK).fit(X, X[:, 0], sigma=sigma)


def test_weights_are_given_in_one_way_only():
    X = np.arange(4.0)[:, None]
    with pytest.raises(IeqlError, match="sample_weight or sigma, not both"):
        IEQLRegressor(**QUICK).fit(X, X[:, 0], sample_weight=np.ones(4), sigma=np.ones(4))


def ieql(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y, sigma = noisy()
    frame = pd.DataFrame({"x": X[:, 0], "y": y, "s": sigma})
    frame.to_csv("data.csv", index=False)
    return frame


def test_the_command_line_takes_a_column_of_standard_deviations(table):
    options = ("--trainings", 2, "--jobs", 1, "--out", "run")
    fit = ("fit", "data.csv", "--target", "y", "--sigma", "s", "--loss", "squared", *options)
    result = ieql(*fit)
    assert result.exit_code == 0, result.output
    model = IEQLRegressor.load("run/model.json")
    assert list(model.feature_names_) == ["x"]
    assert model.predict(pd.DataFrame({"x": [1.0]}))[0] == pytest.approx(4.0, abs=0.1)
    resumed = ieql("resume", "run", "--trainings", 3, "--jobs", 1)
    assert resumed.exit_code == 0, resumed.output
    tried = ieql("try", "run", "a*x + b")
    assert "a = 3" in tried.output or "a = 2.9" in tried.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--sigma", "z"), "--sigma: there is no column 'z'"),
        (("--sigma", "y"), "--sigma: 'y' is an input or a target as well"),
        (("--sigma", "s", "--inputs", "x,s"), "--sigma: 's' is an input or a target as well"),
    ],
)
def test_a_column_of_standard_deviations_has_no_other_part(table, arguments, sentence):
    result = ieql("fit", "data.csv", "--target", "y", *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_a_standard_deviation_of_zero_is_told_with_its_column(table):
    table.assign(s=0.0).to_csv("data.csv", index=False)
    result = ieql("fit", "data.csv", "--target", "y", "--sigma", "s")
    assert result.exit_code == 2
    assert "column 's': sigma must be above zero" in result.stderr
