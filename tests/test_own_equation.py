"""An equation of one's own beside the front: the same rows, the same measures."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ieql import IeqlError, IEQLRegressor
from ieql.cli import app

RNG = np.random.default_rng(0)
X = pd.DataFrame({"speed": RNG.uniform(1, 6, 80), "load": RNG.uniform(0, 1, 80)})
TORQUE = pd.Series(0.5 * X["speed"] ** 2 + 3 * X["load"] + 0.1 * RNG.normal(size=80), name="torque")


@pytest.fixture(scope="module")
def model():
    return IEQLRegressor(max_time=20, max_trainings=2, random_state=0, n_jobs=1).fit(X, TORQUE)


def test_the_law_typed_by_hand_stands_where_the_selected_equation_stands(model):
    selected = model.equations_[model.equations_["selected"]].iloc[0]
    assert "speed**2" in selected["equation"]
    row = model.try_equation("a*speed**2 + b*load")
    assert list(row.index) == [*model.equations_.columns, "nats"]
    assert row["nats"] == pytest.approx(0.0, abs=0.1)
    for name in ("complexity", "n_parameters", "rmse_train", "rmse_validation"):
        assert row[name] == pytest.approx(selected[name], rel=0.02)
    value, error = row.attrs["constants"]["a"]
    assert value == pytest.approx(0.5, abs=3 * error)
    assert row.attrs["sentences"][0].startswith("The rows cannot tell it from the selected")


def test_a_term_too_few_is_what_the_rows_speak_against(model):
    row = model.try_equation("a*speed**2 + b")
    assert row["nats"] > 100
    assert "The rows speak against it" in row.attrs["sentences"][0]


def test_numbers_are_fitted_unless_they_are_meant(model):
    fitted = model.try_equation("0.4*speed**2 + 2*load")
    assert fitted["nats"] == pytest.approx(0.0, abs=0.1)
    meant = model.try_equation("0.4*speed**2 + 2*load", refit=False)
    assert meant["equation"] == "0.4*speed**2 + 2*load"
    error = np.sqrt(np.mean((0.4 * X["speed"] ** 2 + 2 * X["load"] - TORQUE) ** 2))
    assert meant["rmse_train"] == pytest.approx(error)
    assert meant["rmse_validation"] == pytest.approx(error)


def test_a_number_beside_a_name_is_held_in_validation_too(model):
    """The measure of the front would fit the 2 again, and call a wrong equation right."""
    row = model.try_equation("a*speed**2 + 2*load")
    assert row["rmse_validation"] > 0.9 * row["rmse_train"] > 0.2


def test_what_the_prior_forbids_and_what_is_not_safe_is_said():
    prior = {"units": ["square", "log"], "prohibit": ["log(square)"]}
    model = IEQLRegressor(
        prior=prior, domain={"speed": (0, 6)}, max_time=20, max_trainings=1, n_jobs=1
    ).fit(X, TORQUE)
    row = model.try_equation("a*log(speed**2) + b")
    assert row["proved"] is False
    assert row.attrs["sentences"][1:] == [
        "The search could not have found it: the prior prohibits a composition in it.",
        "It is not safe in the whole domain: somewhere it has no value.",
    ]


def test_of_several_outputs_one_is_meant():
    Y = pd.DataFrame({"torque": TORQUE, "heat": 2 * X["speed"]})
    model = IEQLRegressor(max_time=20, max_trainings=1, n_jobs=1, random_state=0).fit(X, Y)
    row = model.try_equation("k*speed", output=1)
    assert row["output"] == "heat"
    assert row.attrs["constants"]["k"][0] == pytest.approx(2.0)


def test_rows_are_not_saved_but_may_be_given_again(model, tmp_path):
    model.save(tmp_path / "model.json")
    row = model.try_equation("a*speed**2 + b*load")
    pickled = pickle.loads(pickle.dumps(model))
    for other in (IEQLRegressor.load(tmp_path / "model.json"), pickled):
        with pytest.raises(IeqlError, match="rows of the fit are not saved with a model"):
            other.try_equation("a*speed")
        again = other.try_equation(
            "a*speed**2 + b*load", X=X[["load", "speed"]][X.columns], y=TORQUE
        )
        assert again["nats"] == pytest.approx(row["nats"], abs=1e-6)
        with pytest.raises(IeqlError, match="y has 2 column"):
            other.try_equation("a*speed", X=X, y=np.zeros((80, 2)))
        with pytest.raises(IeqlError, match="Give X and y together"):
            other.try_equation("a*speed", X=X)
        with pytest.raises(IeqlError, match=r"X has 80 rows but y has the shape \(3,\)"):
            other.try_equation("a*speed", X=X, y=TORQUE[:3])


def test_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X.assign(torque=TORQUE).to_csv("bench.csv", index=False)
    run = CliRunner().invoke
    done = run(app, ["fit", "bench.csv", "--target", "torque", "--out", "run", "--time", "3",
                     "--jobs", "1"])  # fmt: skip
    assert done.exit_code == 0, done.output
    result = run(app, ["try", "run", "a*speed**2 + b*load"])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].startswith("torque = 0.")
    assert [line.split()[0] for line in lines[1:3]] == ["a", "b"]
    assert lines[4].startswith("this one")
    wrong = run(app, ["try", "run", "a*speed", "--target", "tork"])
    assert wrong.exit_code == 2
    assert "no output 'tork'. Did you mean 'torque'?" in wrong.output
    X.assign(torque=TORQUE)[:-1].to_csv("bench.csv", index=False)
    changed = run(app, ["try", "run", "a*speed"])
    assert changed.exit_code == 2
    assert "has 79 rows now, and had 80 at the fit" in changed.output
