"""A unit is added from one file of one's own, without a change to the package."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from extension.plugin import ieql, loaded
from ieql import IEQLRegressor, units

PLUGIN = """
import numpy as np

from ieql.units import Unit, register_unit

register_unit(
    Unit(
        "softplus",
        lambda z: np.log1p(np.exp(z)),
        lambda z: 1.0 / (1.0 + np.exp(-z)),
        cost=2,
        c="log1p(exp({0}))",
        latex=r"\\operatorname{{softplus}}\\left({0}\\right)",
        interval=lambda z: (np.log1p(np.exp(z[0])), np.log1p(np.exp(z[1]))),
    )
)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, a prior that names the unit, and the file that defines it."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "softplus_plugin.py").write_text(PLUGIN)
    (folder / "prior.yaml").write_text("units: [softplus, mul]\nprohibit: [softplus(softplus)]\n")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"t": rng.uniform(-4, 4, 80)})
    frame["out"] = 3.0 * np.log1p(np.exp(2.0 * frame["t"]))
    frame.to_csv(folder / "data.csv", index=False)
    return folder


def fitted(folder, **options):
    frame = pd.read_csv(folder / "data.csv")
    limits = {"max_trainings": 6, "n_jobs": 1, "random_state": 0}
    model = IEQLRegressor(prior=folder / "prior.yaml", **limits, **options)
    return model.fit(frame[["t"]], frame["out"])


def test_it_works_in_python_and_in_a_saved_model(folder):
    with loaded(folder / "softplus_plugin.py", units._REGISTERED):
        model = fitted(folder)
        assert model.equations_["equation"].iloc[-1] == "3*softplus(2*t)"
        assert model.latex() == r"3 \, \operatorname{softplus}\left(2 \, t\right)"
        model.save(folder / "model.json")
        assert "softplus" in model.report_html()
    with loaded(folder / "softplus_plugin.py", units._REGISTERED):
        again = IEQLRegressor.load(folder / "model.json")
        assert str(again.expression()) == str(model.expression())


def test_it_works_in_other_processes(folder):
    with loaded(folder / "softplus_plugin.py", units._REGISTERED):
        frame = pd.read_csv(folder / "data.csv")
        noise = np.random.default_rng(1).normal(0.0, 0.02, len(frame))
        limits = {"max_trainings": 9, "n_jobs": 2, "random_state": 0}
        model = IEQLRegressor(prior=folder / "prior.yaml", **limits)
        model.fit(frame[["t"]], frame["out"] + noise)
        assert "softplus(" in str(model.expression())


@pytest.mark.slow
def test_it_works_on_the_command_line_from_the_fit_to_the_export(folder):
    plugin = "softplus_plugin.py"
    fit = ("fit", "data.csv", "--target", "out", "--prior", "prior.yaml", "--out", "run")
    limits = ("--trainings", "6", "--jobs", "1")
    result = ieql(folder, plugin, *fit, *limits)
    assert result.returncode == 0, result.stderr
    assert "out = 3*softplus(2*t)" in result.stdout
    assert json.loads((folder / "run/run.json").read_text())["settings"]["prior"]["units"] == [
        "softplus",
        "mul",
    ]
    assert "softplus" in (folder / "run/report.html").read_text(encoding="utf-8")
    again = ieql(folder, plugin, "resume", "run", "--trainings", "7", "--jobs", "1")
    assert again.returncode == 0, again.stderr
    exported = ieql(folder, plugin, "export", "run", "--format", "c")
    assert "log1p(exp(" in exported.stdout
    assert ieql(folder, plugin, "predict", "run", "data.csv").returncode == 0


def test_without_the_file_its_name_is_unknown(folder):
    fit = ("fit", "data.csv", "--target", "out", "--prior", "prior.yaml", "--out", "none")
    refused = ieql(folder, "", *fit)
    assert refused.returncode == 2
    assert "softplus" in refused.stderr
    assert refused.stderr.count("\n") == 1
