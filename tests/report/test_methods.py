"""From a fit to its report and back from the run folder."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ieql import IEQLRegressor
from ieql.runs import RunFolder


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


def test_a_random_state_that_is_no_number_is_no_seed():
    X = np.random.default_rng(0).uniform(1, 2, (40, 1))
    model = IEQLRegressor(max_trainings=1, n_jobs=1).fit(X, X[:, 0])
    assert model.evidence_.seed is None
    assert "not repeatable" in model.report_html()
