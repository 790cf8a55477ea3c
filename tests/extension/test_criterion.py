"""A selection criterion is added from one file of one's own, without a change to the package."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from extension.plugin import ieql, loaded
from ieql import IEQLRegressor, selection

PLUGIN = """
import numpy as np

from ieql.selection import Criterion, register_criterion


def sizes(candidates, context):
    errors = np.array([c.rmse_validation for c in candidates])
    complexity = np.array([c.complexity for c in candidates])
    return np.where(errors <= 2 * errors.min(), complexity, np.inf)


register_criterion(Criterion("twice", "the simplest within twice the least error", sizes))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table and the file of a plugin."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "twice_plugin.py").write_text(PLUGIN)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(1, 3, (60, 2)), columns=["a", "b"])
    noise = rng.normal(0.0, 0.05, 60)
    frame.assign(out=2 * frame["a"] * frame["b"] + noise).to_csv(folder / "data.csv", index=False)
    return folder


def test_it_works_in_python_and_in_the_report(folder):
    frame = pd.read_csv(folder / "data.csv")
    with loaded(folder / "twice_plugin.py", selection._CRITERIA):
        model = IEQLRegressor(selection="twice", max_trainings=4, n_jobs=1, random_state=0)
        model.fit(frame[["a", "b"]], frame["out"])
        table = model.equations_
        good = table[table["rmse_validation"] <= 2 * table["rmse_validation"].min()]
        assert good.index[0] == table.index[table["selected"]][0]
        assert "the simplest within twice the least error" in model.report_html()
        assert model.select("V_int").select("twice").criterion_ == "twice"


@pytest.mark.slow
def test_it_works_on_the_command_line(folder):
    plugin = "twice_plugin.py"
    fit = ("fit", "data.csv", "--target", "out", "--out", "run", "--trainings", "4", "--jobs", "1")
    result = ieql(folder, plugin, *fit, "--select", "twice")
    assert result.returncode == 0, result.stderr
    assert "within twice" in (folder / "run/report.html").read_text(encoding="utf-8")
    shown = ieql(folder, plugin, "show", "run")  # the model names what selected it
    assert shown.returncode == 0, shown.stderr
    without = ieql(folder, "", "show", "run")
    assert "There is no selection criterion 'twice'" in without.stderr
    assert "V_int&ex, twice." in " ".join(ieql(folder, plugin, "fit", "--help").stdout.split())
    refused = ieql(folder, plugin, *fit, "--overwrite", "--select", "twic")
    assert refused.returncode == 2
    assert refused.stderr.endswith("V_int&ex, twice. Did you mean 'twice'?\n")
