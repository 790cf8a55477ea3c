"""Fits to rows whose target is only known to lie between two values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ieql import IeqlError, IEQLRegressor
from ieql.cli import app
from ieql.run.resume import read_asked

RNG = np.random.default_rng(0)
X = pd.DataFrame({"dose": RNG.uniform(0.2, 3, 60)})
TRUTH = (3 * X["dose"] ** 2 + 1).to_numpy()
MEASURED = TRUTH + 0.05 * RNG.normal(size=60)
LIMIT = 6.0


def regressor(**options):
    few = {"units": ["square", "mul"]}
    asked = {"prior": few, "max_time": None, "max_trainings": 4, "random_state": 0, "n_jobs": 1}
    return IEQLRegressor(**asked | options)


def off(model) -> float:
    return float(np.sqrt(np.mean((model.predict(X) - TRUTH) ** 2)))


def censored() -> tuple[np.ndarray, np.ndarray]:
    """Readings above the limit of detection alone; of the others it is known that they are below.

    Half of the rows are such: taken for the limit itself, they would bend the law.
    """
    y, bounds = MEASURED.copy(), np.full((60, 2), np.nan)
    y[MEASURED < LIMIT], bounds[MEASURED < LIMIT, 1] = np.nan, LIMIT
    return y, bounds


def test_rows_below_the_limit_of_detection_do_not_bend_the_law() -> None:
    y, bounds = censored()
    model = regressor().fit(X, y, y_range=bounds)
    filled = regressor().fit(X, np.where(np.isnan(y), LIMIT, y))
    assert "dose**2" in model.equations_.loc[model.equations_["selected"], "equation"].iloc[0]
    assert off(model) < 0.05 < 5 * off(model) < off(filled)


def test_a_target_in_classes_is_learned_from_their_ends_alone() -> None:
    low = np.floor(MEASURED / 2) * 2
    model = regressor().fit(X, None, y_range=np.column_stack([low, low + 2]))
    assert off(model) < 0.2
    predicted = model.predict(X)
    assert np.all((low - 0.1 < predicted) & (predicted < low + 2.1))
    selected = model.equations_[model.equations_["selected"]].iloc[0]
    assert selected["rmse_train"] < 0.25  # ranges two wide have a spread of 0.58 about the middle


def test_ranges_of_no_width_are_measurements() -> None:
    exact = np.column_stack([MEASURED, MEASURED])
    by_range = regressor().fit(X, None, y_range=exact)
    plain = regressor().fit(X, MEASURED)
    equations = [m.equations_.query("selected")["equation"].iloc[0] for m in (by_range, plain)]
    assert equations[0] == equations[1]


def test_the_name_of_the_target_is_kept() -> None:
    y, bounds = censored()
    model = regressor(max_trainings=1).fit(X, pd.Series(y, name="reading"), y_range=bounds)
    assert model.target_names_ == ["reading"]
    model = regressor(max_trainings=1).fit(X, pd.DataFrame({"reading": y}), y_range=bounds)
    assert model.target_names_ == ["reading"]


@pytest.mark.parametrize(
    ("options", "more", "says"),
    [
        ({"loss": "huber"}, {}, "leave them out, or use the loss auto or squared"),
        ({"form": "a*f(dose)"}, {}, "A fit with a form takes no ranges"),
        ({}, {"groups": ["a", "b"] * 30}, "A fit with groups takes no ranges"),
    ],
)
def test_what_ranges_cannot_stand_beside_is_refused_in_a_sentence(options, more, says) -> None:
    y, bounds = censored()
    with pytest.raises(IeqlError, match=says):
        regressor(**options).fit(X, y, y_range=bounds, **more)


QUICK = ("--trainings", "3", "--jobs", "1", "--seed", "0", "--time", "60")


def ieql(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y, bounds = censored()
    frame = X.assign(reading=y, least=bounds[:, 0], most=bounds[:, 1])
    frame.to_csv("readings.csv", index=False)
    return frame


def test_on_the_command_line_and_resumed(table) -> None:
    ranges = ("--target-range", "least,most")
    result = ieql("fit", "readings.csv", "--target", "reading", *ranges, "--out", "run", *QUICK)
    assert result.exit_code == 0, result.output
    source = json.loads(Path("run/run.json").read_text(encoding="utf-8"))["source"]
    assert (source["target_range"], source["inputs"]) == (["least", "most"], ["dose"])
    asked = read_asked("run")
    np.testing.assert_array_equal(asked.ranges, table[["least", "most"]])
    assert not asked.y["reading"].isna().any()
    before = IEQLRegressor.load("run/model.json").equations_
    # The limit of detection was taken for what had been measured.
    tried = ieql("try", "run", "a*dose**2 + b").output.split()
    assert float(tried[tried.index("a") + 2]) == pytest.approx(3, abs=0.05)
    result = ieql("resume", "run", "--trainings", "5", "--time", "60", "--jobs", "1")
    assert result.exit_code == 0, result.output
    after = IEQLRegressor.load("run/model.json").equations_
    assert after["rmse_validation"].min() <= before["rmse_validation"].min() * 1.0001


def test_a_target_without_a_column_has_its_ranges_alone(table) -> None:
    table["most"] = table["reading"].fillna(LIMIT) + 1
    table["least"] = table["reading"] - 1
    table.drop(columns="reading").to_csv("bands.csv", index=False)
    ranges = ("--target-range", "least,most")
    result = ieql("fit", "bands.csv", "--target", "reading", *ranges, "--out", "run", *QUICK)
    assert result.exit_code == 0, result.output
    assert IEQLRegressor.load("run/model.json").target_names_ == ["reading"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("least", "takes two columns, the lower bound first"),
        ("least,mots", "has no column 'mots', which the target range names. Did you mean 'most'?"),
        ("least,dose", "The column 'dose' is both a bound of the target and an input"),
        ("most,least", "goes from 6 to"),
    ],
)
def test_a_range_that_is_none_is_refused(table, given, says) -> None:
    if given == "most,least":
        table.assign(least=1.0).to_csv("readings.csv", index=False)
    more = ("--inputs", "dose") if "dose" in given else ()
    result = ieql("fit", "readings.csv", "--target", "reading", "--target-range", given, *more)
    assert result.exit_code == 2
    assert says in result.stderr.replace("\n", " ")


def test_an_equation_of_ones_own_is_fitted_to_the_ranges_too(tmp_path):
    y, bounds = censored()
    model = regressor().fit(X, y, y_range=bounds)
    model.save(tmp_path / "model.json")
    again = IEQLRegressor.load(tmp_path / "model.json")
    given = again.try_equation("a*dose**2 + b", X=X, y=y, y_range=bounds)
    for row in (model.try_equation("a*dose**2 + b"), given):
        a, b = (value for value, _ in row.attrs["constants"].values())
        assert (a, b) == (pytest.approx(3, abs=0.05), pytest.approx(1, abs=0.2))
