"""A trainer is added from one file of one's own, without a change to the package."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from extension.plugin import ieql, loaded
from ieql import IEQLRegressor
from ieql.training import registry

PLUGIN = """
import numpy as np

from ieql.equations.expression import Expression, Sum
from ieql.training.registry import register_trainer
from ieql.training.trainers import State, Trainer


class Proportions(Trainer):
    \\"\\"\\"Fits y = a x for one input after the other.\\"\\"\\"

    name = "proportions"

    def step(self, state, budget):
        for k, task in enumerate(state.tasks):
            i = state.n_trainings // len(state.tasks) % len(task.names)
            x, y = task.train.XT[i], task.train.y
            slope = float(np.dot(x, y) / np.dot(x, x))
            equation = Expression(task.names, (), (Sum(0.0, (i,), (slope,)),))
            state.add(k, task.candidate(equation))
        state.n_trainings += len(state.tasks)

    def done(self, state, budget):
        n = state.n_trainings // len(state.tasks)
        most = min(len(state.tasks[0].names), budget.max_trainings or 1000)
        return f"all {most} proportions are tried" if n >= most else ""


register_trainer("proportions", "tries one straight line per input", lambda _: Proportions())
""".replace('\\"', '"')


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table and the file of a plugin."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "proportions_plugin.py").write_text(PLUGIN)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(1, 3, (60, 3)), columns=["a", "b", "c"])
    frame.assign(out=2.5 * frame["b"]).to_csv(folder / "data.csv", index=False)
    return folder


def test_it_works_in_python_and_in_the_report(folder):
    frame = pd.read_csv(folder / "data.csv")
    with loaded(folder / "proportions_plugin.py", registry.TRAINERS):
        model = IEQLRegressor(trainer="proportions", n_jobs=1)
        model.fit(frame[["a", "b", "c"]], frame["out"])
        assert str(model.expression()) == "2.5*b"
        assert model.stop_reason_ == "all 3 proportions are tried"
        assert "proportions" in model.report_html()


def test_a_run_goes_on_from_the_state_that_it_wrote(folder):
    plugin, run = "proportions_plugin.py", "run"
    fit = ("fit", "data.csv", "--target", "out", "--out", run, "--trainer", "proportions")
    first = ieql(folder, plugin, *fit, "--trainings", "1", "--jobs", "1")
    assert first.returncode == 0, first.stderr
    assert "all 1 proportions are tried" in first.stdout
    assert json.loads((folder / run / "checkpoint.json").read_text())["n_trainings"] == 1
    again = ieql(folder, plugin, "resume", run, "--jobs", "1")
    assert again.returncode == 0, again.stderr
    assert "out = 2.5*b" in again.stdout
    assert json.loads((folder / run / "model.json").read_text())["n_trainings"] == 3


def test_help_and_messages_list_it(folder):
    plugin = "proportions_plugin.py"
    said = " ".join(ieql(folder, plugin, "fit", "--help").stdout.split())
    assert "proportions tries one straight line per input" in said
    refused = ieql(folder, plugin, "fit", "data.csv", "--target", "out", "--trainer", "proportion")
    assert refused.returncode == 2
    assert "published, proportions. Did you mean 'proportions'?" in refused.stderr
