"""What a file that leaves ieql says of itself."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from ieql import IEQLRegressor, Prior, fit_formula
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.export import formats
from ieql.export.formats import Equation, Format, all_formats, register_format
from ieql.export.origin import Origin, about, generated
from ieql.model import from_form

EQUATION = Equation("torque", Expression.parse("2*speed + 1", ["speed", "load"]))
DOMAIN = {"speed": (0.0, 6000.0), "load": (0.0, 1.0)}
ORIGIN = Origin("ab" * 32, {"torque": 0.0123456}, {"torque": "N*m", "speed": "1/min"})


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"speed": rng.uniform(0, 6, 60), "load": rng.uniform(0, 1, 60)})
    prior = Prior(units=("square", "mul"), quantities={"torque": "N*m", "speed": "1/min"})
    y = pd.Series(2 * X["speed"] + 1 + rng.normal(0, 0.01, 60), name="torque")
    return IEQLRegressor(prior=prior, max_trainings=2, n_jobs=1, random_state=0).fit(X, y)


def test_a_heading_names_equation_error_domain_and_data():
    assert about([EQUATION], DOMAIN, ORIGIN) == [
        generated(),
        "torque = 2*speed + 1, error (RMSE) 0.01235 N*m",
        "speed: from 0 to 6000 1/min",
        f"Data: SHA-256 {'ab' * 32}",
    ]
    assert about([EQUATION], None, None) == [generated(), "torque = 2*speed + 1"]


def test_a_name_cannot_leave_its_line():
    hostile = Equation("a\nb", Expression.parse("2*`c\\d`", ["c\\d"]))
    lines = about([hostile], {"c\\d": (0, 1)}, Origin(units={"c\\d": "x\ny"}))
    assert not any(set("\n\\") & set(line) for line in lines)


def test_a_format_gets_the_origin_if_it_asks_for_it(monkeypatch, model):
    monkeypatch.setattr(formats, "_FORMATS", dict(formats._FORMATS))
    own = Format("own", "One's own.", ".txt", lambda e, d, origin: repr(origin), takes_origin=True)
    register_format(own)
    assert own([EQUATION], DOMAIN, origin=ORIGIN) == repr(ORIGIN)
    assert own([EQUATION], DOMAIN) == "None"
    assert model.evidence_.sha256 in model.export("own")
    with pytest.raises(IeqlError, match=r"^The format 'own' takes no 'origin'\.$"):
        model.export("own", origin=ORIGIN)


@pytest.mark.parametrize("name", [n for n, f in all_formats().items() if f.takes_origin])
def test_files_say_what_they_are_and_no_date(model, name):
    content = model.export(name)
    text = content if isinstance(content, str) else ""
    if text:
        error = model.equations_["rmse_validation"][model.equations_["selected"]].iloc[0]
        assert generated() in text
        assert model.evidence_.sha256 in text
        assert f"{error:.4g} N*m" in text
        assert not re.search(r"\b20\d\d-\d\d", text)
    assert model.export(name) == content


def test_the_data_are_known_again_after_saving(model, tmp_path):
    model.save(tmp_path / "model.json")
    again = IEQLRegressor.load(tmp_path / "model.json")
    assert again.fitted_.data_sha256 == model.evidence_.sha256 != ""
    assert again.export("c") == model.export("c") == model.c()
    assert again.export("python") == model.python()
    form = model.fitted_.to_form()
    assert from_form({**form, "data_sha256": ""}, "old").data_sha256 == ""
    with pytest.raises(IeqlError, match="SHA-256 of its data"):
        from_form({**form, "data_sha256": "*/ int x;"}, "hostile")


def test_recalibrated_constants_come_from_other_data(model):
    X = pd.DataFrame({"speed": np.linspace(0, 6, 30), "load": np.linspace(1, 0, 30)})
    new = model.recalibrate(X, 3 * X["speed"] + 1)
    assert new.fitted_.data_sha256 == new.evidence_.sha256 != model.fitted_.data_sha256


def test_a_formula_knows_its_error():
    x = np.linspace(0, 1, 20)
    fitted = fit_formula("a*x0 + b", x[:, None], 2 * x + np.sin(40 * x))
    assert f"error (RMSE): {fitted.rmse:.4g}" in fitted.export("c")
