"""Several outputs end to end: units shared, paid once, and kept through files, runs and exports."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fitted
from ieql import IEQLRegressor
from ieql.cli import app
from ieql.data.dataset import Dataset
from ieql.equations.expression import Expression
from ieql.equations.finish import presented
from ieql.equations.refit import refit
from ieql.options import FitOptions
from ieql.prior import Prior
from ieql.selection import CONNECTION, scores
from ieql.shared_fronts import shared_fronts, with_savings
from ieql.target import prepare
from ieql.training.trainers import Trainer
from ieql.whole import Whole
from tasks import NAMES

FEW = {"units": ["exp", "square"], "costs": {"input": 1, "exp": 5, "square": 2}}


def table(n=150, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1.5, 1.5, (n, 2)), columns=["x1", "x2"])
    u = np.exp(-0.73 * X["x1"] ** 2)
    Y = pd.DataFrame({"y1": 2 * u, "y2": 3 * u + X["x2"]})
    return X, Y + noise * rng.normal(size=Y.shape)


class Knowing(Trainer):
    """Finds what it is told, at once: what becomes of it is looked at here."""

    name = "knowing"

    def __init__(self, **structures):
        self.structures = structures

    def step(self, state, budget):
        for k, (task, text) in enumerate(zip(state.tasks, self.structures.values(), strict=True)):
            found = refit(Expression.parse(text, task.names), task.train)
            state.add(k, task.candidate(found))
        state.n_trainings += 1

    def done(self, state, budget):
        return "it knew" if state.n_trainings else ""


def fit(Y, **options):
    told = {"y1": "exp(-0.9*x1**2)", "y2": "x2 + exp(-0.9*x1**2)"}
    trainer = Knowing(**{name: told[name] for name in Y})
    return IEQLRegressor(
        prior=FEW, trainer=trainer, n_jobs=1, random_state=0, max_trainings=1, **options
    ).fit(table()[0], Y)


@pytest.fixture(scope="module")
def model():
    return fit(table()[1])


def test_a_costly_unit_is_shared_and_the_whole_costs_less_than_the_sum(model):
    whole = model.whole()
    (unit,) = whole.shared
    assert unit.text.startswith("exp(")
    assert unit.outputs == (0, 1)
    X, Y = table()
    single = [fit(Y[[name]]) for name in Y]
    apart = [m.fronts_[0][m.selected_[0]] for m in single]
    assert whole.complexity < sum(c.complexity for c in apart)
    # Fitted one by one the units are not the same.
    assert apart[0].expression.nodes[-1] != apart[1].expression.nodes[-1]
    assert len(model.whole(precise=True).shared) == 1
    truth = np.exp(-0.73 * X["x1"] ** 2)
    np.testing.assert_allclose(model.predict(X)[:, 0], 2 * truth, atol=0.03)


def test_the_selected_equations_are_still_those_of_the_criterion(model):
    assert model.fitted_.selected_by("MDL").selected == model.selected_
    assert all(
        front[k].saved > 0.0 for front, k in zip(model.fronts_, model.selected_, strict=True)
    )


def test_common_constants_have_one_standard_error(model):
    constants = model.constants()
    inside = constants[constants["of"].str.contains("inside exp")]
    assert list(inside["output"]) == ["y1", "y2"]
    assert inside["value"].nunique() == inside["standard_error"].nunique() == 1
    assert 0.0 < inside["standard_error"].iloc[0] < 0.01


def test_files_and_exports_keep_it(model, tmp_path):
    model.save(tmp_path / "model.json")
    loaded = IEQLRegressor.load(tmp_path / "model.json")
    assert loaded.whole() == model.whole()
    assert loaded.fitted_.to_json() == model.fitted_.to_json()
    number = repr(model.expression(output=0).nodes[-1].args[0].weights[0])
    assert f"exp({number} * " in model.c()
    assert model.c().count(f"exp({number} * ") == 2
    assert model.python().count(number) >= 2


def test_a_run_goes_on_and_still_shares(tmp_path):
    Y = table()[1]
    first = fit(Y, run_dir=tmp_path / "run")
    again = fit(Y, run_dir=tmp_path / "run")
    assert [u.outputs for u in again.whole().shared] == [(0, 1)]
    assert again.whole().complexity <= first.whole().complexity
    stored = json.loads((tmp_path / "run" / "model.json").read_text())
    assert len(stored["fronts"]) == 2
    assert "Together: complexity" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "run")])
    assert again.whole().sentence() in shown.stdout


def test_the_papers_example_with_an_output_that_is_zero():
    """The architecture figure, learned: y1 = x1 x2 / (cos x1 + 1.5), y2 = 0."""
    X = pd.DataFrame(np.random.default_rng(0).uniform(-3, 3, (200, 2)), columns=["x1", "x2"])
    Y = pd.DataFrame({"y1": X["x1"] * X["x2"] / (np.cos(X["x1"]) + 1.5), "y2": np.zeros(200)})
    prior = {"units": ["cos", "mul", "div"]}
    model = IEQLRegressor(prior=prior, max_trainings=6, n_jobs=1, random_state=1).fit(X, Y)
    assert str(model.expression(output=0)) == "x1*x2/(cos(x1) + 1.5)"
    assert str(model.expression(output=1)) == "0"
    whole = model.whole()
    assert whole.complexity == whole.complexity_apart == 6
    np.testing.assert_array_equal(model.predict(X)[:, 1], 0.0)
    assert "y2" in model.report_html()
    assert model.predict_interval(X).shape == (200, 2, 2)


def test_the_fast_trainer_shares_a_costly_unit():
    X, Y = table(80, noise=0.0)
    model = IEQLRegressor(prior=FEW, max_trainings=1, n_jobs=1, random_state=0).fit(X, Y)
    assert [u.outputs for u in model.whole().shared] == [(0, 1)]
    assert model.whole().complexity == 14 < model.whole().complexity_apart == 17


# --- the parts -----------------------------------------------------------------------------------


def test_each_output_pays_its_part_of_what_is_shared():
    prior = Prior.of("motor")
    both = fitted.model(("2*exp(-0.7*x**2)",), ("3*exp(-0.7*x**2) + z",)).fitted_
    one, two = with_savings([front[0] for front in both.fronts], prior, [100.0, 100.0])
    # A square and an input inside, and one constant; half of it for each of two outputs.
    expected = (CONNECTION * 3 + np.log(100)) / 2
    assert one.saved == two.saved == pytest.approx(expected)
    apart = fitted.model(("2*x",), ("3*exp(-0.7*x**2) + z",)).fitted_
    assert [c.saved for c in with_savings([f[0] for f in apart.fronts], prior, [9, 9])] == [0, 0]


def measured(*texts, noise=0.1):
    """Fronts of one equation each, and the targets that they were fitted to."""
    found = fitted.model(*[(t,) for t in texts], names=NAMES, noise=noise)
    X = np.random.default_rng(0).uniform(1, 2, (300, 2))
    Y = np.column_stack([f[0].expression.evaluate(X)[:, 0] for f in found.fronts_])
    Y += noise * np.random.default_rng(1).normal(size=Y.shape)
    data = Dataset.of(X, Y, feature_names=NAMES)
    targets = prepare(replace(FitOptions(), prior="motor"), data, None, 0)
    return found.fronts_, targets


def test_fronts_without_common_units_are_left_as_they_are():
    fronts, targets = measured("2*exp(-0.7*x)", "3*cos(2*y)")
    assert shared_fronts(fronts, fronts, targets, "MDL", [10, 10]) == [list(f) for f in fronts]


def test_an_output_without_any_equation_shares_nothing():
    fronts, targets = measured("2*exp(-0.7*x)", "3*exp(-0.7*x)")
    assert shared_fronts([fronts[0], ()], fronts, targets, "MDL", [10, 10]) == [list(fronts[0]), []]


def finished(text, target):
    """An equation fitted to the rows of a target."""
    fitting = target.fitting
    precise = refit(Expression.parse(text, target.task.names), fitting)
    found = presented(precise, fitting, fitting, target.points, target.task.prior)
    return target.candidate(found)


def test_of_equations_that_the_rows_do_not_tell_apart_the_one_that_shares_is_selected():
    """By itself y2 looks like a quotient; y1 has an exponential that does as well."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 1.3, 150)
    Y = np.column_stack([2 * np.exp(-0.73 * x), 2.13 / (x + 0.47)])
    Y += rng.normal(size=Y.shape) * [0.001, 0.2]
    data = Dataset.of(x[:, None], Y, feature_names=["x"])
    prior = Prior.of({"units": ["exp", "div"], "costs": {"exp": 5, "div": 5}})
    targets = prepare(FitOptions(prior=prior), data, None, 0)
    one = finished("2*exp(-0.7*x)", targets[0])
    quotient, power = (finished(t, targets[1]) for t in ("2.1/(x + 0.5)", "3*exp(-0.7*x)"))
    asked = ([[one], [quotient]], [[one], [quotient, power]], targets)
    lengths = [
        scores([c], "MDL", mean_error=targets[1].mean_errors["validation"], n_rows=(150, 0))[0]
        for c in (quotient, power)
    ]
    assert lengths[0] < lengths[1] < lengths[0] + 5.0
    first, second = shared_fronts(*asked, "MDL", [10, 10])
    assert [c.expression.source_name(1) for c in second] == ["div", "exp"]
    whole = Whole.of([first[0].expression, second[1].expression], ["y1", "y2"], prior)
    assert [unit.outputs for unit in whole.shared] == [(0, 1)]
    assert second[1].saved > 0.0
    # By another criterion each output has its own, and they share what they happen to.
    assert shared_fronts(*asked, "V_int", [10, 10])[1][0].expression == quotient.expression
