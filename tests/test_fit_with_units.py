"""Fits that know the physical units of their columns: from Python, files and the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ieql import IEQLRegressor, Prior
from ieql.cli import app
from ieql.errors import IeqlError

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from feynman_units import violation

UNITS = {"m": "kg", "v": "m/s", "h": "m", "g": "m/s**2", "E": "J"}
ENERGY = {"quantities": UNITS, "constants": "plain"}


def energies(n=120):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "m": rng.uniform(1, 5, n),
            "v": rng.uniform(1, 3, n),
            "h": rng.uniform(1, 5, n),
            "g": rng.uniform(8, 11, n),
        }
    )
    y = 0.5 * X.m * X.v**2 + X.m * X.g * X.h  # exact, so that a fit ends as soon as it is found
    return X, y.rename("E")


def fitted(prior, X, y, **options):
    options = {"max_time": None, "max_trainings": 1, "n_jobs": 1, "random_state": 0, **options}
    return IEQLRegressor(prior=prior, **options).fit(X, y)


@pytest.fixture(scope="module")
def model():
    return fitted(ENERGY, *energies())


def test_every_equation_of_the_front_is_right_for_pint(model):
    front = [model.expression(k) for k in range(len(model.equations_))]
    assert len(front) > 1
    assert [violation(e, UNITS, "E") for e in front] == [""] * len(front)


def test_the_law_is_found(model):
    X, y = energies()
    assert model.expression().inputs_used == ("m", "v", "h", "g")
    np.testing.assert_allclose(model.predict(X), y)


def test_where_no_mean_is_possible_the_simplest_equation_is_zero(model):
    assert model.equations_["equation"][0] == "0"


def test_constants_have_units():
    X, _ = energies()
    model = fitted({"quantities": {"h": "m", "E": "kJ"}}, X[["h"]], 3.0 * X.h.rename("E"))
    (row,) = model.constants().to_dict("records")
    assert row["unit"] == "kJ/m"
    assert "kJ/m" in model.report_html()


def test_a_saved_model_keeps_its_units(model, tmp_path):
    model.save(tmp_path / "energy.json")
    again = IEQLRegressor.load(tmp_path / "energy.json")
    assert again.fitted_.prior == Prior.from_dict(ENERGY)
    assert again.constants().equals(model.constants())


def test_the_equation_in_other_units_gives_the_same_values(model):
    X, _ = energies()
    e = model.in_units({"v": "km/h", "m": "g", "E": "kJ"})
    other = e.evaluate(X.assign(v=3.6 * X.v, m=1000 * X.m).to_numpy())[:, 0]
    np.testing.assert_allclose(1000 * other, model.predict(X), rtol=1e-9)


def test_an_equation_of_one_s_own_with_wrong_units_is_told_so(model):
    wrong, right = model.try_equation("a*m*v"), model.try_equation("a*m*v**2")
    assert any("by the units of the columns" in text for text in wrong.attrs["sentences"])
    assert not any("units" in text for text in right.attrs["sentences"])


def test_a_contradiction_is_told_before_the_search():
    X, y = energies()
    units = {name: UNITS[name] for name in ("v", "h", "E")}
    with pytest.raises(IeqlError, match=r"'E' in J cannot be made of 'v' in m/s, 'h' in m"):
        fitted({"quantities": units, "constants": "plain"}, X[["v", "h"]], y)


def test_a_target_without_a_unit_is_asked_for():
    X, y = energies()
    with pytest.raises(IeqlError, match="none of the target 'loss'"):
        fitted({"quantities": {"m": "kg"}, "constants": "plain"}, X, y.rename("loss"))


def test_the_paper_s_trainer_obeys_the_units_as_well():
    X, y = energies()
    settings = {"name": "paper", "layers": 1, "copies": 1, "epochs": 3, "first_epochs": 2}
    model = fitted(ENERGY, X, y, trainer={**settings, "n_strengths": 1}, max_trainings=1)
    for k in range(len(model.equations_)):
        assert violation(model.expression(k), UNITS, "E") == ""


def test_each_of_several_outputs_has_its_own_unit():
    """What outputs share was once judged by the unit of the first one."""
    X, _ = energies()
    y = pd.DataFrame({"E": 0.5 * X.m * X.v**2, "p": X.m * X.v, "T": X.m * X.v**2})
    units = {**UNITS, "p": "kg*m/s", "T": "N*m"}
    model = fitted({"quantities": units, "constants": "plain"}, X, y)
    for k, front in enumerate(model.fitted_.fronts):
        assert [violation(c.expression, units, y.columns[k]) for c in front] == [""] * len(front)
    assert [model.expression(output=k).text() for k in range(3)] == ["0.5*m*v**2", "m*v", "m*v**2"]


# --- the command line --------------------------------------------------------------------------


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run whose units stand in the names of its columns."""
    path = tmp_path_factory.mktemp("units")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"n [1/min]": rng.uniform(500, 6000, 60), "M (Nm)": rng.uniform(1, 50, 60)}
    )
    power = np.pi / 30e3 * table["n [1/min]"] * table["M (Nm)"]
    table.assign(**{"P [kW]": power}).to_csv(path / "data.csv", index=False)
    (path / "plain.yaml").write_text("constants: plain\n", encoding="utf-8")
    result = run(
        *("fit", path / "data.csv", "--target", "P [kW]", "--units", "--time", 3, "--jobs", 1),
        *("--prior", path / "plain.yaml", "--out", path / "run"),
    )
    assert result.exit_code == 0, result.output
    assert "n [1/min] in 1/min, M (Nm) in Nm, P [kW] in kW" in result.output
    return path


def test_units_of_the_names_are_in_the_run(folder):
    stored = json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
    assert stored["settings"]["prior"]["quantities"]["P [kW]"] == "kW"


def test_show_has_the_units_of_constants(folder):
    assert "kW*min/(N*m)" in run("show", folder / "run").output
    assert "kW*min/(N*m)" in (folder / "run" / "constants.csv").read_text(encoding="utf-8")


def test_show_converts(folder):
    output = run("show", folder / "run", "--in", "n [1/min]=1/s", "--in", "P [kW]=W").output
    assert "P [kW] = 2*pi*`n [1/min]`*`M (Nm)`" in output or "6.2831853" in output


def test_a_conversion_that_is_none_gets_a_sentence(folder):
    result = run("show", folder / "run", "--in", "n [1/min]")
    assert result.exit_code == 2
    assert "write COLUMN=UNIT" in result.output


def test_a_contradiction_leaves_the_run_alone(folder):
    before = (folder / "run" / "model.json").read_bytes()
    result = run(
        *("fit", folder / "data.csv", "--target", "P [kW]", "--inputs", "n [1/min]", "--units"),
        *("--prior", folder / "plain.yaml", "--out", folder / "run", "--overwrite"),
    )
    assert result.exit_code == 2
    assert "The units leave no equation" in result.output
    assert (folder / "run" / "model.json").read_bytes() == before


def test_resuming_keeps_the_units(folder):
    result = run("resume", folder / "run", "--time", 1)
    assert result.exit_code == 0, result.output
    assert "kW*min/(N*m)" in run("show", folder / "run").output
