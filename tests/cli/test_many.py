"""`ieql fit-many` from a file of jobs to the page that compares the runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ieql.cli import app
from ieql.model import read_model


def ieql(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def jobs(tmp_path):
    x = np.linspace(1.0, 3.0, 30)
    pd.DataFrame({"x": x, "y": 2.0 * x + 1.0, "z": x**2}).to_csv(tmp_path / "a.csv", index=False)
    path = tmp_path / "bench.yaml"
    path.write_text(
        "defaults: {inputs: x, trainings: 1, jobs: 1, seed: 0}\n"
        "jobs:\n- {data: a.csv, target: y}\n- {data: a.csv, target: torque, name: wrong}\n"
        "- {data: a.csv, target: 'y,z', name: both}\n"
    )
    return path


def test_jobs_are_fitted_compared_and_not_fitted_twice(jobs, tmp_path):
    out = tmp_path / "runs"
    result = ieql("fit-many", jobs, "--out", out)
    assert result.exit_code == 2
    assert "[1/3] a-y: y = 2*x + 1 (error" in result.stdout
    assert "[2/3] wrong: failed. 'a.csv': The target 'torque' is not a column" in result.stdout
    assert "[3/3] both: z = x**2" in result.stdout
    assert "Error: 1 job of 3 failed: wrong." in result.stderr
    page = (out / "index.html").read_text()
    assert '<a href="a-y/report.html">a-y</a>' in page
    assert "What it printed" in page
    assert read_model(out / "a-y" / "model.json").targets == ("y",)

    jobs.write_text(jobs.read_text().replace("torque", "z"))
    again = ieql("fit-many", jobs, "--out", out, "--at-once", 2)  # no reason to do all anew
    assert again.exit_code == 0, again.output
    assert "3 jobs, 2 of them done before" in again.stdout
    assert "[1/3]" not in again.output
    assert "[2/3] wrong: z = x**2" in again.stdout


def test_a_job_that_cannot_be_is_refused_before_anything_begins(jobs, tmp_path):
    jobs.write_text(jobs.read_text().replace("trainings", "training"))
    result = ieql("fit-many", jobs, "--out", tmp_path / "runs")
    assert result.exit_code == 2
    assert "job 1: there is no option 'training'. Did you mean 'trainings'?" in result.stderr
    assert not (tmp_path / "runs").exists()
