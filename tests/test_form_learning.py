"""Learning the parts of a known form."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ieql import IEQLRegressor
from ieql.errors import IeqlError


def table(n=80, noise=0.002):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({k: rng.uniform(1.0, 3.0, n) for k in ("U", "I", "T", "n")})
    y = X["U"] * X["I"] * (0.5 * X["T"] + 1) + X["n"] ** 2
    return X, (y + noise * rng.normal(size=n)).rename("P")


def model_of(form, **options):
    options = {"max_trainings": 2, "max_time": 30, "n_jobs": 1, "random_state": 0, **options}
    return IEQLRegressor(form=form, **options)


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    return model_of("U*I*f(T) + g(n)").fit(X, y)


def test_parts_are_learned_and_make_one_equation(fitted):
    parts = fitted.parts()
    assert list(parts["part"]) == ["f(T)", "g(n)"]
    X, y = table(noise=0.0)
    np.testing.assert_allclose(fitted.predict(X), y, rtol=0.01)
    f = fitted.fitted_.candidate().parts[0][1]
    assert set(f.inputs_used) == {"T"}
    T = X.to_numpy()
    offset = fitted.fitted_.candidate().parts[1][1].evaluate(T)[:, 0] - X["n"] ** 2
    assert np.ptp(offset) < 0.05
    np.testing.assert_allclose(f.evaluate(T)[:, 0], 0.5 * X["T"] + 1, rtol=0.02)


def test_they_are_shown_beside_the_equation(fitted):
    shown = str(fitted)
    assert "where f(T) = " in shown
    assert "where g(n) = " in shown


def test_every_equation_of_the_front_has_the_form(fitted):
    X = table()[0].to_numpy()
    for c in fitted.fronts_[0]:
        (_, f), (_, g) = c.parts
        value = X[:, 0] * X[:, 1] * f.evaluate(X)[:, 0] + g.evaluate(X)[:, 0]
        np.testing.assert_allclose(c.expression.evaluate(X)[:, 0], value, rtol=1e-6)


def test_it_is_saved_and_exported_like_any_other(fitted, tmp_path):
    fitted.save(tmp_path / "model.json")
    again = IEQLRegressor.load(tmp_path / "model.json")
    X = table()[0]
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    pd.testing.assert_frame_equal(again.parts(), fitted.parts())
    assert again.form == "U*I*f(T) + g(n)"
    assert "U" in again.export("python")
    assert fitted.predict_interval(X).shape == (len(X), 2)


def test_constants_that_were_fitted_have_errors_and_given_numbers_have_none():
    X, y = table()
    model = model_of("U*I*f(T) + 1.2*n**2").fit(X, y + 0.2 * X["n"] ** 2)
    errors = model.constants().set_index("value")["standard_error"]
    assert errors.pop(1.2) == 0.0
    assert len(errors) == 2
    assert (errors > 0).all()


def test_a_part_has_knowledge_of_its_own():
    X, y = table()
    form = {"equation": "U*I*f(T) + g(n)", "g": {"units": ["exp"]}}
    model = model_of(form).fit(X, y)
    for c in model.fronts_[0]:
        assert set(c.parts[1][1].unit_counts()) <= {"exp"}


def test_errors_stay_those_of_y_where_the_form_is_one_of_its_logarithm():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(0, 4, 150)})
    y = np.exp(1.5 * X["x"]) + rng.normal(size=150)
    model = model_of("log(y) = f(x)").fit(X, y.rename("y"))
    c = model.fitted_.candidate()
    assert c.rmse_train == pytest.approx(1.0, rel=0.2)
    assert c.parts[0][1].evaluate(np.array([[2.0]]))[0, 0] == pytest.approx(3.0, abs=0.02)


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ("U*I*f(V)", "'V' is none"),
        ("cos(f(T))", "possible to solve"),
        (7, "must be a text"),
        ({"f": "plain"}, "must be a text"),
        ({"equation": "U*f(T)", "h": "plain"}, "no part 'h'"),
        ({"equation": "U*f(T)", "f": {"inputs": {"n": {"not_in": ["cos"]}}}}, "'n'"),
    ],
)
def test_bad_forms_get_a_sentence(form, sentence):
    X, y = table()
    with pytest.raises(IeqlError, match=sentence):
        model_of(form).fit(X, y)


def test_what_a_form_would_not_heed_is_refused():
    """A robust loss, and units of constants, were taken and not heeded."""
    X, y = table()
    with pytest.raises(IeqlError, match="least squares"):
        model_of("U*f(T)", loss="huber").fit(X, y)
    units = {"U": "V", "I": "A", "T": "K", "n": "1/s", "P": "W"}
    with pytest.raises(IeqlError, match="constants: free"):
        model_of("U*f(T)", prior={"quantities": units, "constants": "plain"}).fit(X, y)


def test_a_form_is_for_one_target_and_without_guesses():
    X, y = table()
    with pytest.raises(IeqlError, match="one target"):
        model_of("U*f(T)").fit(X, np.column_stack([y, y]))
    with pytest.raises(IeqlError, match="not both"):
        model_of("U*f(T)", guesses=["U*T"]).fit(X, y)


def test_a_form_without_a_value_at_the_rows_is_refused():
    X, y = table()
    with pytest.raises(IeqlError, match="no value at these rows"):
        model_of("f(T) + log(U - 10)").fit(X, y)


@pytest.mark.slow
def test_a_run_goes_on_from_the_parts_it_has(tmp_path):
    X, y = table()
    first = model_of("U*I*f(T) + g(n)", run_dir=tmp_path / "run").fit(X, y)
    again = model_of("U*I*f(T) + g(n)", run_dir=tmp_path / "run", max_trainings=4).fit(X, y)
    before, after = (min(c.rmse_validation for c in m.fronts_[0]) for m in (first, again))
    assert after <= before * 1.0001
    assert len(again.parts()) == 2
