"""The scikit-learn door."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fitted import changed
from fitted import model as made_by_hand
from ieql import IeqlError, IEQLRegressor, Prior
from ieql.files import NotWritableError

COLUMNS = [
    "equation",
    "complexity",
    "n_parameters",
    "n_constants",
    "rmse_train",
    "rmse_validation",
    "rmse_extrapolation",
    "proved",
    "selected",
]


def quick(**settings):
    """A regressor that fits within a second."""
    return IEQLRegressor(**{"max_trainings": 2, "n_jobs": 1, "random_state": 0, **settings})


def rows(n=120, seed=0):
    """Three columns and a target that needs the first two."""
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 3))
    return X, 3 * X[:, 0] ** 2 + X[:, 1]


@pytest.fixture(scope="module")
def model():
    return quick(max_trainings=6).fit(*rows())


# --- scikit-learn --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::ieql.errors.DisagreementWarning")  # of a handful of rows
@parametrize_with_checks(
    # The less an equation may have, the quicker a training, of which these checks need many.
    [IEQLRegressor(prior={"units": ["square"], "max_units": 1}, max_trainings=1, n_jobs=1)]
)
def test_scikit_learns_own_checks(estimator, check):
    """All of them: none is skipped, none is expected to fail."""
    check(estimator)


def test_it_works_in_a_pipeline():
    X, y = rows()
    pipeline = make_pipeline(StandardScaler(), quick(max_trainings=6)).fit(X, y)
    assert pipeline.score(X, y) > 0.99


def test_it_works_in_a_grid_search():
    X, y = rows()
    grid = {"layers": [1, 2], "selection": ["V_int"], "prior": ["plain", {"units": ["square"]}]}
    search = GridSearchCV(quick(max_trainings=1), grid, cv=2).fit(X, y)
    assert set(search.best_params_) == set(grid)
    assert search.predict(X).shape == y.shape


def test_it_works_in_cross_validation():
    X, y = rows()
    assert cross_val_score(quick(max_trainings=4), X, y, cv=2).min() > 0.9


def test_a_clone_is_unfitted_and_has_the_same_parameters(model):
    prior = Prior.of({"preset": "motor", "costs": {"cos": 20}})
    original = quick(prior=prior, domain={"x0": (-2, 2)})
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    with pytest.raises(NotFittedError):
        clone(model).predict(rows()[0])


def test_a_pickled_model_predicts_the_same(model):
    X, _ = rows()
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    pd.testing.assert_frame_equal(copy.equations_, model.equations_)


def test_the_same_random_state_gives_the_same_equations():
    """And of what no short equation describes, another one gives others."""
    X, _ = rows()
    y = np.tanh(np.sin(4 * X[:, 0] * X[:, 1]) + X[:, 1] ** 3)
    y = y + 0.05 * np.random.default_rng(1).normal(size=len(y))
    # After two trainings some rows may lie far from the equation, which would be warned of.
    texts = [
        tuple(quick(random_state=seed, loss="squared").fit(X, y).equations_["equation"])
        for seed in (0, 0, 1)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_the_number_of_processes_does_not_matter():
    X, y = rows()
    one, two = (quick(max_trainings=5, n_jobs=n).fit(X, y).equations_ for n in (1, 2))
    pd.testing.assert_frame_equal(one, two)


# --- data ----------------------------------------------------------------------------------------


def test_names_of_a_frame_are_the_names_in_the_equations():
    X, y = rows()
    frame = pd.DataFrame(X, columns=["n [1/min]", "exp", "T_rot"])
    model = quick(max_trainings=6).fit(frame, pd.Series(y, name="M [Nm]"))
    assert model.feature_names_ == ["n [1/min]", "exp", "T_rot"]
    assert model.target_names_ == ["M [Nm]"]
    assert model.domain_["exp"] == [X[:, 1].min(), X[:, 1].max()]
    text = model.equations_.loc[model.equations_["selected"], "equation"].item()
    assert "`n [1/min]`" in text
    assert {s.name for s in model.sympy().free_symbols} == {"n [1/min]", "exp"}
    np.testing.assert_allclose(model.predict(frame), y, atol=1e-6)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"exp": "log"}))


def test_without_names_the_inputs_are_numbered(model):
    assert model.feature_names_ == ["x0", "x1", "x2"]
    assert model.target_names_ == ["y"]


def test_several_outputs_have_an_equation_each():
    X, y = rows()
    Y = pd.DataFrame({"first": y, "second": 2 * X[:, 2] - 1})
    model = quick(max_trainings=5).fit(X, Y)
    table = model.equations_
    assert list(table.columns) == ["output", *COLUMNS]
    assert table.groupby("output", sort=False)["selected"].sum().to_dict() == {
        "first": 1,
        "second": 1,
    }
    assert model.predict(X).shape == Y.shape
    np.testing.assert_allclose(model.predict(X), Y, atol=1e-6)
    assert len(model.sympy()) == len(model.latex()) == 2
    # A row of the front is one equation to the reader; a program needs those of all outputs.
    last = len(model.equations_) - 1
    assert model.export("text", last) == f"{model.equations_['equation'][last]}\n"
    assert model.export("text").count("\n") == 2
    assert model.export("c", last).count("{\n") == 2
    assert "double ieql_first(" in model.c()
    assert "double ieql_second(double x2)" in model.c()
    assert "def model_second(x2):" in model.python(name="model")

    # The rows of the table are counted through: the last one belongs to the second output.
    first, last = model.predict(X, index=0), model.predict(X, index=len(table) - 1)
    np.testing.assert_array_equal(last[:, 0], model.predict(X)[:, 0])
    np.testing.assert_array_equal(first[:, 1], model.predict(X)[:, 1])
    assert np.ptp(first[:, 0]) == 0.0  # the simplest equation is the mean
    with pytest.raises(IeqlError, match=f"There is no equation {len(table)}; the rows are 0 to"):
        model.predict(X, index=len(table))


def test_a_column_vector_as_target_gives_a_column_of_predictions():
    X, y = rows()
    assert quick(max_trainings=1).fit(X, y[:, None]).predict(X).shape == (len(X), 1)


def test_a_weight_is_a_number_of_repetitions():
    X, y = rows(n=40)
    y = y + 0.1 * np.random.default_rng(1).normal(size=len(y))
    weight = np.arange(len(y)) % 3
    weighted = quick().fit(X, y, sample_weight=weight)
    repeated = quick().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    pd.testing.assert_frame_equal(weighted.equations_, repeated.equations_)


def test_precisions_that_happen_to_be_whole_numbers_are_not_taken_for_counts_in_silence():
    """1/σ² with σ = 0.01 is 10,000: standard errors would be a hundred times too small."""
    X, y = rows()
    with pytest.warns(UserWarning, match=r"they count rows: .* If they are precisions"):
        quick(max_trainings=1).fit(X, y, sample_weight=np.full(len(y), 10_000))


@pytest.mark.parametrize("weight", [1.0, [1.0, 2.0], [[1.0]]])
def test_weights_that_do_not_fit_the_rows_are_refused_in_a_sentence(weight):
    X, y = rows()
    with pytest.raises(IeqlError, match=f"one number for each of the {len(y)} rows"):
        quick().fit(X, y, sample_weight=weight)


def test_weights_pull_the_equation_to_their_rows():
    X, _ = rows(n=200)
    right = np.arange(200) % 2 == 0
    y = np.where(right, X[:, 0], -X[:, 0])
    model = quick(max_trainings=3).fit(X, y, sample_weight=np.where(right, 1.0, 1e-3))
    assert np.sqrt(np.mean((model.predict(X) - y)[right] ** 2)) < 0.1


def test_a_constant_column_is_said_and_left_out():
    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(still=7.0)
    with pytest.warns(UserWarning, match=r"The input 'still' has the same value"):
        model = quick(max_trainings=6, domain={"still": (0, 100)}).fit(frame, y)
    assert not any("still" in text for text in model.equations_["equation"])
    np.testing.assert_allclose(model.predict(frame.assign(still=50.0)), y, atol=1e-6)


def test_only_constant_columns_leave_the_mean():
    X, y = np.ones((30, 2)), np.arange(30.0)
    with pytest.warns(UserWarning, match="same value"):
        model = quick().fit(X, y)
    assert len(model.equations_) == 1
    assert model.predict(X)[0] == pytest.approx(y.mean(), rel=0.1)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, y: (X.assign(b="text"), y), "column 'b' holds 'text' in data row 1"),
        (lambda X, y: (X.mask(X > 0.9), y), r"values are missing \(NaN\), the first in data row"),
        (
            lambda X, y: (X.replace(X.iloc[3, 0], np.inf), y),
            "are infinite, the first in data row 4",
        ),
        (lambda X, y: (X.iloc[:3], y[:3]), r"has 3 sample\(s\); at least 4 rows are needed"),
        (lambda X, y: (X, 0 * y + 4), "The target 'y' is 4.0 in every row"),
        (lambda X, y: (X, 1e160 * y), r"'y' holds numbers too large .* in another unit"),
        (lambda X, y: (X, 1e-160 * y), "'y' holds numbers too large or too close together"),
        (lambda X, y: (X.assign(b=1e-310 * X["b"]), y), "'b' holds numbers too large or too"),
        (lambda X, y: (X.set_axis(["a", "a", "b"], axis=1), y), "'a' appears 2 times"),
    ],
)
def test_data_that_cannot_be_learned_from(spoil, message):
    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(IeqlError, match=message):
        quick().fit(*spoil(frame, y))


# --- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"trainer": "fats"},
            r"no trainer 'fats'; the choices are fast, paper, published\. Did you mean 'fast'\?",
        ),
        ({"selection": "V_in"}, r"no selection criterion 'V_in'; .* Did you mean 'V_int'\?"),
        ({"prior": "moto"}, r"'moto' is neither a preset .* Did you mean 'motor'\?"),
        ({"prior": {"unit": []}}, r"Unknown key 'unit' in the prior. Did you mean 'units'\?"),
        ({"prior": 3}, "A prior is a preset name"),
        ({"layers": 0}, "layers must be None or a whole number of at least 1, not 0"),
        ({"copies": 1.5}, "copies must be None or a whole number of at least 1, not 1.5"),
        ({"max_trainings": True}, "max_trainings must be None or a whole number of at least 1"),
        ({"max_time": 0}, "max_time must be None or a positive number, not 0"),
        ({"max_time": float("nan")}, "max_time must be None or a positive number, not nan"),
        ({"output_bound": -1}, "output_bound must be None or a positive number, not -1"),
        ({"output_bound": "1"}, "output_bound must be None or a positive number, not '1'"),
        ({"max_time": None, "max_trainings": None}, "Give max_time or max_trainings"),
        ({"n_jobs": 0}, r"n_jobs must be None or a whole number other than 0 .* not 0"),
        ({"n_jobs": 1.5}, "n_jobs must be None or a whole number"),
        ({"validation_fraction": 0}, "validation_fraction must lie between 0 and 0.9, not 0"),
        ({"validation_fraction": 1}, "validation_fraction must lie between 0 and 0.9, not 1"),
        ({"selection": "V_int&ex"}, "V_int&ex needs labelled points outside the data"),
        ({"domain": {"x7": (0, 1)}}, r"The domain names 'x7', which is not an input"),
        ({"domain": {"x0": (0, 1)}}, "The domain of 'x0' is 0 to 1 but the data range from"),
        ({"domain": [(-1, 1)]}, r"The domain has 1 pair but there are 3 inputs"),
        (
            {"domain": [(-1, 1), (-1, 1), (1, -1)]},
            r"'x2' must be \(low, high\) with low below high",
        ),
        ({"prior": {"inputs": {"x9": {"not_in": []}}}}, "rule for input 'x9', which is not a"),
        ({"output_bound": 0.5}, "output_bound is 0.5, but the mean of 'y' is"),
    ],
)
def test_wrong_parameters_are_said_before_any_work(settings, message):
    with pytest.raises(IeqlError, match=message):
        quick(**settings).fit(*rows())


@pytest.mark.parametrize("given", ["X_extrapolation", "y_extrapolation"])
def test_points_outside_the_data_come_with_their_labels(model, given):
    X, y = rows(n=20, seed=3)
    half = {given: X if given.startswith("X") else y}
    with pytest.raises(IeqlError, match="Give X_extrapolation and y_extrapolation together"):
        quick().fit(*rows(), **half)
    with pytest.raises(IeqlError, match="Give X_extrapolation and y_extrapolation together"):
        model.select("V_int", **half)
    with pytest.raises(IeqlError, match=r"y_extrapolation has the shape \(20, 2\); 20 rows and 1"):
        quick().fit(*rows(), X_extrapolation=X, y_extrapolation=np.stack([y, y], axis=1))


def test_layers_and_copies_may_be_numbers_of_numpy():
    model = quick(layers=np.int64(1), copies=np.int64(1), max_time=np.float32(60)).fit(*rows())
    assert "equation" in model.equations_


# --- the front -----------------------------------------------------------------------------------


def test_the_front_is_a_table(model):
    table = model.equations_
    assert list(table.columns) == COLUMNS
    assert table["selected"].sum() == 1
    assert table["complexity"].is_monotonic_increasing
    assert table["rmse_validation"].is_monotonic_decreasing
    assert table["rmse_extrapolation"].isna().all()
    assert table["n_parameters"].iloc[0] == 0
    assert 0 < model.n_trainings_ <= 6
    assert model.stop_reason_
    assert not model.interrupted_


def test_errors_are_in_the_unit_of_the_target():
    X, y = rows()
    mean = quick(max_trainings=1).fit(X, 1000 * y).equations_.iloc[0]
    assert mean["rmse_train"] == pytest.approx(1000 * y.std(), rel=0.1)


def test_every_equation_can_be_used(model):
    X, y = rows()
    for index in range(len(model.equations_)):
        error = np.sqrt(np.mean((model.predict(X, index=index) - y) ** 2))
        row = model.equations_.iloc[index]
        assert error <= 1.01 * max(row["rmse_train"], row["rmse_validation"])
        assert isinstance(model.latex(index), str)
        assert (
            model.sympy(index).free_symbols <= model.sympy(len(model.equations_) - 1).free_symbols
        )
    for index in (-1, len(model.equations_), "0", 1.5):
        with pytest.raises(IeqlError, match="There is no equation"):
            model.predict(X, index=index)


def test_another_criterion_selects_another_equation():
    X, y = rows()
    y = y + 0.05 * np.random.default_rng(1).normal(size=len(y))
    model = quick(max_trainings=6).fit(X, y)
    table = model.equations_
    assert model.select("V_int") is model
    best = table["rmse_validation"].idxmin()
    assert model.equations_["selected"].idxmax() == best
    np.testing.assert_array_equal(model.predict(X), model.predict(X, index=int(best)))
    model.select("V_int-S")
    assert model.equations_["selected"].idxmax() <= best


def test_selecting_by_points_outside_the_data():
    X, y = rows()
    X_far, y_far = np.array([[2.0, 2.0, 0.0], [3.0, -2.0, 0.0]]), np.array([14.0, 25.0])
    model = quick(max_trainings=6).fit(X, y)
    model.select("V_int&ex", X_extrapolation=X_far, y_extrapolation=y_far)
    chosen = model.equations_[model.equations_["selected"]].iloc[0]
    assert model.equations_["rmse_extrapolation"].notna().all()
    assert chosen["rmse_extrapolation"] < 1e-6
    direct = quick(max_trainings=6, selection="V_int&ex")
    direct.fit(X, y, X_extrapolation=X_far, y_extrapolation=y_far)
    np.testing.assert_allclose(direct.predict(X_far), y_far, atol=1e-5)
    assert direct.domain_["x0"][1] == 3.0  # the domain holds the points outside the data


def test_a_row_is_selected_by_its_number():
    X = np.array([[1.0, 1.0], [2.0, 2.0]])
    model = made_by_hand(("2", "3*x + 1", "2.5*x**2 + cos(z)"), targets=("y",), prior="plain")
    assert model.select(1) is model
    np.testing.assert_array_equal(model.predict(X), [4.0, 7.0])
    assert model.equations_["selected"].tolist() == [False, True, False]
    assert model.criterion_ == "hand"
    assert str(model).endswith("\n\ny = 3*x + 1\nRow 1 was chosen by hand; MDL would select row 2.")
    assert model.select("MDL").equations_["selected"].tolist() == [False, False, True]
    assert "nats shorter than that of row" in str(model)
    for neither in (None, True, 1.5, [1]):  # None was taken for the row that is selected
        with pytest.raises(IeqlError, match=r"^There is no selection criterion "):
            model.select(neither)
    with pytest.raises(IeqlError, match=r"^A row is selected by its number alone"):
        model.select(1, X_extrapolation=X)


def test_a_row_of_several_outputs_is_counted_as_in_the_table(tmp_path):
    model = made_by_hand(("4", "3*x + 1"), ("2", "x*z"), prior="plain").select(2)
    assert model.equations_["selected"].tolist() == [False, True, True, False]
    model.save(tmp_path / "model.json")
    again = IEQLRegressor.load(tmp_path / "model.json")
    assert again.selected_ == (1, 0)
    assert str(again) == str(model)
    assert "Row 2 was chosen by hand; MDL would select row 3." in str(again)


def test_before_a_fit_a_model_prints_its_parameters():
    assert str(IEQLRegressor(max_time=3)) == repr(IEQLRegressor(max_time=3))


def test_a_selection_in_vain_changes_nothing(model):
    before = model.equations_
    with pytest.raises(IeqlError, match="needs labelled points outside the data"):
        model.select("V_int&ex")
    with pytest.raises(IeqlError, match=r"There is no selection criterion 'V_ex'"):
        model.select("V_ex", X_extrapolation=np.ones((3, 3)), y_extrapolation=np.ones(3))
    pd.testing.assert_frame_equal(model.equations_, before)


def test_every_format_is_exported_by_its_name(model, tmp_path):
    assert model.export("text") == f"{model.expression()}\n"
    assert model.export("text", index=0, digits=3) == f"{model.expression(0).text(0, 3)}\n"
    assert model.export("c", real="float", name="loss") == model.c(real="float", name="loss")
    assert model.export("latex", precise=True) == model.latex(precise=True) + "\n"
    path = tmp_path / "equation.py"
    assert model.export("python", path=path) == path.read_text(encoding="utf-8") == model.python()
    with pytest.raises(IeqlError, match=r"^There is no format 'C'; the choices are text, "):
        model.export("C")
    with pytest.raises(IeqlError, match=r"^The format 'c' takes no 'digits'; "):
        model.export("c", digits=3)
    with pytest.raises(NotWritableError, match=r"Cannot write .*nowhere"):
        model.export("c", path=tmp_path / "nowhere" / "equation.c")


def test_latex_and_sympy(model):
    import sympy

    x0, x1 = sympy.symbols("x0 x1", real=True)
    difference = sympy.nsimplify(sympy.expand(model.sympy() - (3 * x0**2 + x1)), rational=True)
    assert all(abs(c) < 1e-6 for c in sympy.Poly(difference, x0, x1).coeffs())
    assert "x_{0}" in model.latex()
    assert len(model.latex(precision=2)) <= len(model.latex(precision=12))
    assert model.latex(substitutions=True) == model.latex()  # too short to have parts


def test_c_and_python(model):
    assert "double ieql_y(double x0, double x1)" in model.c()
    assert "float loss(float x0, float x1)" in model.c(real="float", name="loss")
    assert "double ieql_y(void)" in model.c(index=0)
    assert "x0: column 'x0', from " in model.c()
    module = {}
    exec(model.python(name="loss"), module)
    X, _ = rows()
    np.testing.assert_array_equal(module["loss"](X[:, 0], X[:, 1]), model.predict(X))
    with pytest.raises(IeqlError, match="There is no equation 99"):
        model.c(index=99)


def test_an_unfitted_model_says_so():
    for use in ("equations_", "sympy", "latex", "c", "python", "expression"):
        with pytest.raises(NotFittedError):
            getattr(quick(), use)()


# --- stopping ------------------------------------------------------------------------------------


def test_ctrl_c_keeps_what_was_found(monkeypatch):
    from ieql.training.fast import search

    calls = []
    run_island = search.run_island

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return run_island(*args)

    monkeypatch.setattr(search, "run_island", interrupted)
    X, y = rows()
    y = y + np.random.default_rng(1).normal(0.0, 0.1, len(y))  # else the first training is the last
    model = quick(max_trainings=100).fit(X, y)
    assert model.interrupted_
    assert model.stop_reason_.startswith("it was interrupted")
    assert len(model.equations_) > 1
    assert model.score(X, y) > 0.5


def test_ctrl_c_while_the_equations_are_finished_keeps_them_as_they_are(monkeypatch):
    from ieql import learn

    calls = []
    finish = learn.finish

    def interrupted(*args, **options):
        calls.append(options)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return finish(*args, **options)

    monkeypatch.setattr(learn, "finish", interrupted)
    X, y = rows()
    model = quick(max_trainings=6).fit(X, y)
    assert model.interrupted_
    assert calls[-1]["is_late"]()
    assert model.score(X, y) > 0.9


def test_progress_is_told_on_stderr(capsys):
    quick(progress=True).fit(*rows())
    out, err = capsys.readouterr()
    assert out == ""
    assert "s of at most 60 s, 1 trainings, " in err
    assert "validation error" in err
    quick().fit(*rows())
    assert capsys.readouterr() == ("", "")


# --- what was asked, as it was then --------------------------------------------------------------


def test_a_prior_file_is_read_once(tmp_path):
    """It was read again at every save, report and round: edited later, it was the model's own."""
    path = tmp_path / "prior.yaml"
    path.write_text("units: [square]\n", encoding="utf-8")
    model = quick(prior=str(path)).fit(*rows())
    path.write_text("units: [cos]\ncosts: {cos: 7}\n", encoding="utf-8")
    model.save(tmp_path / "model.json")
    assert IEQLRegressor.load(tmp_path / "model.json").prior.units == ("square",)
    assert model.fitted_.prior.units == ("square",)
    path.unlink()
    model.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "model.json").read_text()


def test_a_prior_file_that_goes_away_does_not_end_a_running_fit(tmp_path, monkeypatch):
    from ieql import learn

    path = tmp_path / "prior.yaml"
    path.write_text("units: [square]\n", encoding="utf-8")
    train = learn.train

    def without_file(*args, **options):
        path.unlink()
        return train(*args, **options)

    monkeypatch.setattr(learn, "train", without_file)
    model = quick(prior=str(path), run_dir=tmp_path / "run", max_trainings=6).fit(*rows())
    assert model.fitted_.prior.units == ("square",)


def test_a_clock_that_is_set_during_a_fit_does_not_end_it(monkeypatch):
    """Deadlines were moments of the system's time: an hour put forward, and the time was up."""
    import itertools
    import time

    hours = itertools.count(1_700_000_000, 3600)  # each look at the clock finds it an hour on
    monkeypatch.setattr(time, "time", lambda: float(next(hours)))
    X, y = rows()
    model = quick(max_trainings=3).fit(X, y + np.random.default_rng(0).normal(0, 0.1, len(y)))
    assert model.stop_reason_.startswith("all 3 trainings are done")


# --- frames with more columns than inputs --------------------------------------------------------


def test_columns_that_are_no_input_are_ignored_as_on_the_command_line():
    X, y = rows()
    X = pd.DataFrame(X, columns=[f"in {j}" for j in range(X.shape[1])])
    model = quick().fit(X, y)
    more = X.assign(remark="fine", out=y)[["out", "remark", *reversed(X.columns)]]
    np.testing.assert_array_equal(model.predict(more), model.predict(X))
    assert model.score(more, y) == model.score(X, y)
    with pytest.raises(IeqlError, match=r"X lacks the column 'in 0', which is an input of the fit"):
        model.predict(more.drop(columns="in 0"))


# --- what is counted -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "n_parameters", "n_constants"),
    [
        ("3", 0, 1),
        ("x + y", 2, 0),
        ("2.5*x**2 + 1.5", 2, 2),
        ("cos(3*x + 0.5) - y", 3, 2),
        ("1/(x + 2)", 2, 1),
        ("4*x**1.7", 3, 2),
    ],
)
def test_weights_are_counted_as_in_the_paper_and_constants_as_one_sees_them(
    text, n_parameters, n_constants
):
    """Two were reported where three numbers were printed, and nine where there were seven."""
    from fitted import model

    row = model((text,), names=("x", "y"), prior="plain").equations_.iloc[0]
    assert (row["n_parameters"], row["n_constants"]) == (n_parameters, n_constants)


# --- constants -----------------------------------------------------------------------------------


def test_constants_are_those_that_are_written_with_their_errors():
    m = made_by_hand(("2", "3*x + 1.5", "2.5*exp(-0.5*z) + x"), targets=("y",))
    table = m.constants()
    assert table.columns.tolist() == ["value", "standard_error", "of", "unit"]
    assert table["value"].tolist() == [2.5, -0.5]
    assert table["standard_error"].tolist() == pytest.approx([0.025, 0.005])
    assert table["of"].tolist() == ["factor of exp(-0.5*z)", "factor of z inside exp"]
    assert table["unit"].tolist() == ["", ""]
    assert m.constants(index=1)["of"].tolist() == ["factor of x", "offset"]
    assert m.select(0).constants()["value"].tolist() == [2.0]


def test_constants_of_several_outputs_say_which():
    m = made_by_hand(("2", "3*x + 1.5"), ("4", "2*z"))
    table = m.constants()
    assert table.columns.tolist()[0] == "output"
    assert table["output"].tolist() == ["y", "y", "w"]
    assert m.constants(index=2)["output"].tolist() == ["w"]
    with pytest.raises(IeqlError, match="no equation 9"):
        m.constants(index=9)


def test_an_equation_without_constants_has_none():
    table = made_by_hand(("x",), targets=("y",)).constants()
    assert table.columns.tolist() == ["value", "standard_error", "of", "unit"]
    assert len(table) == 0


def test_precise_constants_have_all_digits_and_the_same_errors(model):
    row = model.equations_.index[-1]
    short, precise = model.constants(row), model.constants(row, precise=True)
    assert precise["value"].to_numpy() == pytest.approx(short["value"].to_numpy(), rel=1e-2)
    assert set(precise["value"]) <= set(model.expression(row, precise=True).constants())
    assert precise["standard_error"].tolist() == short["standard_error"].tolist()


# --- intervals -----------------------------------------------------------------------------------


def interval_model():
    return made_by_hand(("2", "3*x + 1", "2.5*x**2 + cos(z)"), targets=("y",), noise=0.3)


def test_intervals_hold_the_share_that_is_asked_for():
    m = interval_model()
    X = np.random.default_rng(5).uniform(1, 2, (2000, 2))
    y = m.predict(X) + np.random.default_rng(6).normal(0, 0.3, 2000)
    for level in (0.5, 0.9, 0.99):
        low, high = m.predict_interval(X, level).T
        chance = np.sqrt(level * (1 - level) / 300)  # that of the rows of the fit
        assert np.mean((low <= y) & (y <= high)) == pytest.approx(level, abs=3 * chance)
    np.testing.assert_array_equal(m.predict_interval(X), m.predict_interval(X, 0.9))


def test_intervals_follow_the_selected_equation():
    m = interval_model()
    X = np.random.default_rng(5).uniform(1, 2, (50, 2))
    other = m.predict_interval(X, index=0)
    assert other.shape == (50, 2)
    # It explains less.
    assert np.mean(np.diff(other)) > 3 * np.mean(np.diff(m.predict_interval(X)))
    np.testing.assert_array_equal(m.select(0).predict_interval(X), other)
    middle = m.predict_interval(X).mean(axis=1)
    np.testing.assert_allclose(middle, m.predict(X))


def test_intervals_of_several_outputs():
    m = made_by_hand(("2", "3*x + 1"), ("4", "2*z"))
    X = np.random.default_rng(5).uniform(1, 2, (50, 2))
    found = m.predict_interval(X, 0.8)
    assert found.shape == (50, 2, 2)
    np.testing.assert_allclose(found.mean(axis=1), m.predict(X))
    other = m.predict_interval(X, 0.8, index=2)
    np.testing.assert_array_equal(other[:, :, 0], found[:, :, 0])
    assert not np.array_equal(other[:, :, 1], found[:, :, 1])


def test_intervals_warn_outside_the_domain_and_are_wider_there():
    m = interval_model()
    with pytest.warns(UserWarning, match="rows lie outside the range of the data in x") as warned:
        found = m.predict_interval([[1.5, 1.5], [9.0, 1.5]])
    assert warned[0].filename == __file__
    inside, outside = np.diff(found)[:, 0]
    assert outside > 2 * inside


@pytest.mark.parametrize("level", [0.0, 1.0, 90, "much", None])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(IeqlError, match="level must be a number between 0 and 1"):
        interval_model().predict_interval([[1.5, 1.5]], level)


def test_models_of_old_have_no_intervals():
    m = interval_model()
    fronts = tuple(tuple(replace(c, band=None) for c in front) for front in m.fitted_.fronts)
    changed(m, fronts=fronts)
    with pytest.raises(IeqlError, match="did not keep what they need; fit again"):
        m.predict_interval([[1.5, 1.5]])
    changed(m, finished=False)
    with pytest.raises(IeqlError, match="`ieql resume` finishes it"):
        m.predict_interval([[1.5, 1.5]])


def test_every_equation_of_a_fit_has_intervals(model):
    X, y = rows()
    for row in model.equations_.index:
        low, high = model.predict_interval(X, index=row).T
        assert np.mean((low <= y) & (y <= high)) > 0.85, row
    assert all(c.band is None for rivals in model.fitted_.rivals for c in rivals)


# --- limits --------------------------------------------------------------------------------------

SHAPE = {"increasing": ["load"], "decreasing": ["speed"], "bounds": [0, 9]}


@pytest.fixture(scope="module")
def shaped():
    """A fit whose noise would rather have it otherwise: at small loads the output falls."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"speed": rng.uniform(1, 3, 40), "load": rng.uniform(0, 1, 40)})
    y = 2 + X["load"] / X["speed"] + rng.normal(0, 0.3, 40)
    return IEQLRegressor(
        prior={"shape": SHAPE}, max_trainings=6, max_time=None, n_jobs=1, random_state=0
    ).fit(X, y)


def test_every_equation_on_the_front_keeps_to_the_shape(shaped):
    for k in range(len(shaped.equations_)):
        assert False not in shaped.prove(k).limits.values()


def test_the_front_says_what_is_proved(shaped):
    assert set(shaped.equations_["limits"]) == {"all proved"}
    assert shaped.fronts_[0][0].limits == {
        "at least 0": True,
        "at most 9": True,
        "increasing in load": True,
        "decreasing in speed": True,
    }


def test_limits_are_saved_and_loaded(shaped, tmp_path):
    shaped.save(tmp_path / "model.json")
    again = IEQLRegressor.load(tmp_path / "model.json")
    assert again.equations_.equals(shaped.equations_)
    assert again.prior.shape == shaped.fitted_.prior.shape
    assert again.prove().limits == shaped.prove().limits


def test_a_run_with_a_shape_goes_on(tmp_path):
    """In JSON the places of ``at`` are texts; they are the same settings nevertheless."""
    X = pd.DataFrame({"x": np.linspace(0, 2, 40)})
    prior = {"shape": {"at": {"x": {0: 0, 1.5: [0, 9]}}, "increasing": ["x"]}}
    for trainings in (1, 2):
        m = quick(max_trainings=trainings, prior=prior, run_dir=tmp_path / "run")
        m.fit(X, 3 * X["x"] ** 2)
    assert "3*x**2" in set(m.equations_["equation"])


def test_without_a_shape_the_table_has_no_column_for_it(model):
    assert "limits" not in model.equations_


def test_the_bound_of_the_output_is_a_limit_too():
    m = made_by_hand(("2*x",), prior="plain", domain={"x": (1.0, 2.0)})
    bounded = changed(m, options=replace(m.fitted_.options, output_bound=4.0))
    assert bounded.prove().limits == {"at least -4": True, "at most 4": True}


def test_a_proof_is_of_the_row_that_is_asked_for():
    m = made_by_hand(("4", "x*z"), ("7*x", "8*x"), prior="plain")
    assert m.prove().equation == "x*z"
    assert m.prove(0).equation == "4"
    assert m.prove(2).equation == "7*x"
    assert m.prove(output=1).equation == "8*x"


def test_an_equation_of_ones_own_is_told_which_limit_it_breaks(shaped):
    own = shaped.try_equation("a + b*load*speed", refit=True)
    assert any("it is not decreasing in speed" in line for line in own.attrs["sentences"])


def test_an_equation_of_ones_own_is_bounded_in_the_unit_of_the_output():
    """It was once compared in the scaled unit of the search, where all but tiny values broke it."""
    X = pd.DataFrame({"x": np.linspace(1, 2, 60)})
    m = IEQLRegressor(output_bound=500.0, max_trainings=1, n_jobs=1, random_state=0)
    m.fit(X, 100 * X["x"])
    assert m.try_equation("100*x", refit=False)["proved"] is True
    assert m.try_equation("300*x", refit=False)["proved"] is False
