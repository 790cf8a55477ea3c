"""Guesses start the search: a right one is found at once, a wrong one does no harm."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ieql import IeqlError, IEQLRegressor
from ieql.cli import app

RNG = np.random.default_rng(0)
X = pd.DataFrame({name: RNG.uniform(1, 3, 150) for name in "abcd"})
LAW = 2.0 * X["a"] * np.exp(-0.7 * X["b"]) + 1.5 * np.sqrt(X["c"]) / (X["d"] + X["a"] ** 2)
Y = pd.Series(LAW + 0.002 * RNG.normal(size=150), name="y")
TRUE = "p*a*exp(-q*b) + r*sqrt(c)/(d + a**2)"


def fitted(*guesses, **options):
    settings = {"max_time": 20, "max_trainings": 1, "n_jobs": 1, "random_state": 0} | options
    return IEQLRegressor(guesses=guesses, **settings).fit(X, Y)


def test_a_right_guess_is_on_the_front_after_a_single_training():
    without, with_it = fitted(), fitted("a + k*b", TRUE)
    error = {m: m.equations_["rmse_validation"].min() for m in (without, with_it)}
    assert error[with_it] == pytest.approx(0.002, rel=0.2)
    assert error[without] > 1.5 * error[with_it]
    best = with_it.equations_.iloc[-1]["equation"]
    assert all(part in best for part in ("exp(", "sqrt(c)", "a**2"))


def test_a_guess_that_may_not_be_used_is_left_out_with_a_word():
    with pytest.warns(UserWarning, match="The guess 'k/\\(a - 2\\)' is left out"):
        fitted("k/(a - 2)")


@pytest.mark.parametrize(
    ("guesses", "message"),
    [
        ("a*x", "guesses must be a list of equations as texts, not 'a\\*x'"),
        ([3], "guesses must be a list of equations as texts"),
        (["a*("], "The guess 'a\\*\\(' cannot be used. Expected a number"),
        (["k*log(a - 2)"], "The guess .* cannot be used. No values of 'k'"),
        (["a"] * 101, "guesses has 101 equations; at most 100"),
    ],
)
def test_guesses_that_make_no_sense_are_refused_in_a_sentence(guesses, message):
    with pytest.raises(IeqlError, match=message):
        IEQLRegressor(guesses=guesses, max_trainings=1, n_jobs=1).fit(X, Y)


def test_the_papers_trainer_takes_none():
    with pytest.raises(IeqlError, match="The trainer 'paper' takes no guesses"):
        fitted(TRUE, trainer="paper")


def test_guesses_are_kept_with_the_run_and_come_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X.assign(y=Y).to_csv("data.csv", index=False)
    run = CliRunner().invoke
    arguments = ["fit", "data.csv", "--target", "y", "--out", "run", "--trainings", "1",
                 "--jobs", "1", "--guess", "a + k*b", "--guess", TRUE]  # fmt: skip
    done = run(app, arguments)
    assert done.exit_code == 0, done.output
    model = IEQLRegressor.load("run/model.json")
    assert model.guesses == ["a + k*b", TRUE]
    assert model.equations_["rmse_validation"].min() == pytest.approx(0.002, rel=0.2)
    again = run(app, ["resume", "run", "--trainings", "2", "--jobs", "1"])
    assert again.exit_code == 0, again.output
