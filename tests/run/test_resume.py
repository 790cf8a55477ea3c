"""`ieql resume`, from the command line to the front."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ieql import IEQLRegressor
from ieql.cli import app


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a short run on a file of two inputs, made once."""
    folder = tmp_path_factory.mktemp("finished")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (100, 2))
    y = np.cos(3 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.normal(size=100)
    pd.DataFrame({"a": X[:, 0], "n [1/min]": X[:, 1], "out": y}).to_csv(
        folder / "data.csv", index=False
    )
    (folder / "domain.yaml").write_text("a: [-2, 2]\n")
    with contextlib.chdir(folder):
        options = ("--prior", "motor", "--domain", "domain.yaml", "--out", "run", "--jobs", "1")
        ieql("fit", "data.csv", "--target", "out", "--trainings", "2", *options)
    return folder


@pytest.fixture
def run(finished, tmp_path, monkeypatch):
    """A copy of it, to go on with or to damage."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    description = tmp_path / "run" / "run.json"
    description.write_text(description.read_text().replace(str(finished), str(tmp_path)))
    monkeypatch.chdir(tmp_path)
    return "run"


def ieql(*args: str, code: int = 0):
    result = CliRunner().invoke(app, [*args])
    assert result.exit_code == code, result.output
    return result


def n_trainings(run: str) -> int:
    return int(json.loads(Path(run, "model.json").read_text())["n_trainings"])


def test_a_run_goes_on_with_its_own_data_prior_and_domain(run):
    result = ieql("resume", run, "--trainings", "6", "--jobs", "1")
    assert "Selected (*):" in result.stdout
    assert n_trainings(run) == 6
    model = IEQLRegressor.load(Path(run, "model.json"))
    assert model.domain_["a"] == [-2.0, 2.0]


def test_it_says_why_it_stopped_and_searches_at_least_so_long(run):
    limits = ("--time", "30", "--at-least", "20", "--trainings", "4", "--jobs", "1")
    result = ieql("resume", run, *limits)
    assert "s: all 4 trainings are done (--trainings N allows more)." in result.stdout
    assert n_trainings(run) == 4
    refused = ieql("resume", run, "--time", "10", "--at-least", "20", code=2)
    assert refused.stderr.endswith(
        "Error: min_time (--at-least) is 20 s, but max_time (--time) is 10 s; lower the one or "
        "raise the other.\n"
    )


def test_a_run_of_old_that_tells_no_loss_goes_on_as_it_began(run):
    path = Path(run, "run.json")
    form = json.loads(path.read_text())
    del form["settings"]["loss"], form["settings"]["min_time"]
    path.write_text(json.dumps(form))
    ieql("resume", run, "--trainings", "3", "--jobs", "1")
    model = IEQLRegressor.load(Path(run, "model.json"))
    assert model.loss == "squared"


def test_it_needs_no_other_folder_to_be_the_current_one(run, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    ieql("resume", str(tmp_path / run), "--trainings", "4", "--jobs", "1")


def test_a_file_that_has_changed_is_refused(run):
    table = pd.read_csv("data.csv")
    table.assign(out=table["out"] * 2).to_csv("data.csv", index=False)
    assert "a run on other data" in ieql("resume", run, code=2).stderr


def test_a_file_that_is_gone_is_named(run):
    Path("data.csv").unlink()
    assert "data.csv" in ieql("resume", run, code=2).stderr


def test_a_run_from_python_is_gone_on_with_there(tmp_path):
    X = np.random.default_rng(0).uniform(-1, 1, (40, 1))
    IEQLRegressor(max_trainings=1, n_jobs=1, run_dir=tmp_path / "r").fit(X, X[:, 0])
    assert "run_dir=" in ieql("resume", str(tmp_path / "r"), code=2).stderr


@pytest.mark.parametrize("text", ['{"source": {}, "settings": {}}', "[]", "{"])
def test_a_damaged_description_is_said(run, text):
    Path(run, "run.json").write_text(text)
    assert "damaged" in ieql("resume", run, code=2).stderr


def test_what_was_declared_of_the_domain_stays_what_was_declared(run):
    """A partly declared domain became a fully declared one when the run went on."""
    before = IEQLRegressor.load(Path(run, "model.json"))
    assert before.domain == {"a": (-2.0, 2.0)}
    ieql("resume", run, "--trainings", "3", "--jobs", "1")
    after = IEQLRegressor.load(Path(run, "model.json"))
    assert after.domain == before.domain
    assert after.fitted_.declared == ("a",)
    settings = json.loads(Path(run, "run.json").read_text())["settings"]
    assert settings["declared_inputs"] == ["a"]


def test_a_run_of_old_does_not_say_which_inputs_were_declared(run):
    path = Path(run, "run.json")
    form = json.loads(path.read_text())
    del form["settings"]["declared_inputs"]
    path.write_text(json.dumps(form))
    ieql("resume", run, "--trainings", "3", "--jobs", "1")


def test_a_run_may_go_on_with_another_criterion(run):
    ieql("resume", run, "--trainings", "3", "--jobs", "1", "--select", "V_int")
    assert IEQLRegressor.load(Path(run, "model.json")).criterion_ == "V_int"
