"""From a fit to its report and back from the run folder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fitted import model as hand_made
from ieql import IeqlError, IEQLRegressor
from ieql.errors import DisagreementWarning
from ieql.learn import learn
from ieql.run.folder import RunFolder


def test_fit_keeps_the_evidence_apart_from_the_model(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(1, 2, (60, 2)), columns=["speed", "load"])
    y = pd.Series(3 * X["speed"] * X["load"], name="torque")
    model = IEQLRegressor(
        max_trainings=2, n_jobs=1, random_state=5, run_dir=tmp_path / "run", max_time=8
    ).fit(X, y, X_extrapolation=X.head(5) + 1, y_extrapolation=y.head(5))

    evidence = model.evidence_
    assert (evidence.n_rows, evidence.n_extrapolation, evidence.seed) == (60, 5, 5)
    assert [c.name for c in evidence.inputs] == ["speed", "load"]
    assert evidence.seconds > 0
    assert "mul" in evidence.unit_counts[0]
    folder = RunFolder.open(tmp_path / "run")
    assert folder.description()["data_sha256"] == evidence.sha256

    copy = IEQLRegressor.load(folder.model_path())
    assert not hasattr(copy, "evidence_")
    copy.evidence_ = folder.evidence()
    assert copy.report_html() == model.report_html()


@pytest.fixture
def learned(monkeypatch):
    """Change what a fit has learned before the model takes it: a function of the result."""

    def change(by):
        def changed(*arguments, **options):
            return by(learn(*arguments, **options))

        monkeypatch.setattr("ieql.learn.learn", changed)

    return change


def bench():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(1, 2, (60, 2)), columns=["speed", "load"])
    return X, pd.Series(3 * X["speed"] * X["load"], name="torque")


def quick(**parameters):
    return IEQLRegressor(max_trainings=1, n_jobs=1, random_state=0, **parameters)


@pytest.mark.filterwarnings("ignore::ieql.errors.OutlierWarning")
def test_outliers_go_from_the_fit_into_evidence_model_file_and_report(tmp_path):
    X, y = bench()
    y.iloc[[3, 40]] += 100
    model = quick(run_dir=tmp_path / "run").fit(X, y)
    assert (model.outliers_, model.validation_) == ([[3, 40]], "cross-fitting")
    for row, place in model.evidence_.outliers[0].items():
        np.testing.assert_array_equal(model.evidence_.X[place], X.iloc[row])
        assert model.evidence_.y[place] == y.iloc[row]
    folder = RunFolder.open(tmp_path / "run")
    assert "2 of 60 rows lie far" in folder.report_path.read_text(encoding="utf-8")
    copy = IEQLRegressor.load(folder.model_path())
    assert (copy.outliers_, copy.validation_) == ([[3, 40]], "cross-fitting")
    evidence = folder.evidence()
    assert evidence is not None
    assert evidence.outliers == model.evidence_.outliers


def test_a_fit_warns_where_its_errors_do_not_agree(learned):
    def by(last):
        (front,) = last.model.fronts
        worse = tuple(replace(c, rmse_train=1.0, rmse_validation=9.0) for c in front)
        return replace(last, model=replace(last.model, fronts=(worse,)))

    learned(by)
    with pytest.warns(DisagreementWarning, match=r"^The validation error \(9\) of the selected"):
        quick().fit(*bench())


def test_a_random_state_that_is_no_number_is_no_seed():
    X = np.random.default_rng(0).uniform(1, 2, (40, 1))
    model = IEQLRegressor(max_trainings=1, n_jobs=1).fit(X, X[:, 0])
    assert model.evidence_.seed is None
    assert "not repeatable" in model.report_html()


def test_a_report_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """A full disk left half a page where a whole one had been."""
    import os

    path = tmp_path / "report.html"
    path.write_text("what was there before", encoding="utf-8")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(IeqlError, match=r"^Cannot write the report .*: No space left on device"):
        hand_made().report(path)
    assert path.read_text(encoding="utf-8") == "what was there before"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
