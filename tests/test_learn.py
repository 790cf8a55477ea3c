"""From data to equations, end to end."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import sympy

from ieql import IEQLRegressor, Prior, Unit
from ieql.equations.expression import Expression
from ieql.errors import OutlierWarning
from ieql.run.folder import RunFolder


def learned(X, y, trainings=8, **settings):
    parameters = {"max_trainings": trainings, "n_jobs": 1, "random_state": 0, **settings}
    return IEQLRegressor(**parameters).fit(X, y)


def uniform(n=300, d=3, low=-1.0, high=1.0, seed=0):
    return np.random.default_rng(seed).uniform(low, high, (n, d))


def front(model):
    return [c.expression for candidates in model.fronts_ for c in candidates]


def relative_error(model, truth, X):
    return np.sqrt(np.mean((model.predict(X) - truth(X)) ** 2)) / np.std(truth(X))


# --- recovery ------------------------------------------------------------------------------------

TRUTHS = {
    "3*x0**2 + x1": lambda X: 3 * X[:, 0] ** 2 + X[:, 1],
    "2*exp(x0) - x1*x2": lambda X: 2 * np.exp(X[:, 0]) - X[:, 1] * X[:, 2],
    "x0/(x1 + 2)": lambda X: X[:, 0] / (X[:, 1] + 2),
    "cos(3*x0) + x2": lambda X: np.cos(3 * X[:, 0]) + X[:, 2],
}


@pytest.mark.parametrize("text", TRUTHS)
def test_simple_truths_are_found(text):
    truth = TRUTHS[text]
    X = uniform()
    model = learned(X, truth(X))
    assert relative_error(model, truth, uniform(n=1000, seed=1)) < 1e-6


def test_noise_is_not_learned():
    truth = TRUTHS["3*x0**2 + x1"]
    X = uniform(n=2000)
    noise = 0.1
    model = learned(X, truth(X) + noise * np.random.default_rng(1).normal(size=2000))
    chosen = model.equations_[model.equations_["selected"]].iloc[0]
    assert chosen["rmse_validation"] == pytest.approx(noise, rel=0.2)
    assert chosen["n_parameters"] <= 4
    assert relative_error(model, truth, uniform(n=1000, seed=1)) < 0.02


@pytest.mark.parametrize(("offset", "scale"), [(2010.0, 10.0), (1e6, 1.0), (0.0, 1e-9), (0.0, 1e9)])
def test_the_users_units_do_not_matter(offset, scale):
    """Years, or metres that are nanometres: the same equation in other coordinates."""
    truth = TRUTHS["3*x0**2 + x1"]
    X = uniform()
    y = 1e4 * truth(X) - 5e5
    model = learned(offset + scale * X, y)
    assert np.sqrt(np.mean((model.predict(offset + scale * X) - y) ** 2)) < 1e-3 * np.std(y)


# --- what an equation is -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wide():
    """A front learned from noisy data of [0, 1]² for a domain twice as wide."""
    X = pd.DataFrame(uniform(n=400, d=2, low=0.0), columns=["n [1/min]", "T"])
    y = np.log(2 * X["T"] + 1) / (X["n [1/min]"] + 0.2)
    y = y + 0.01 * np.random.default_rng(1).normal(size=len(y))
    return learned(X, y, trainings=8, domain={"n [1/min]": (-0.1, 2), "T": (-0.4, 2)})


def points_of(model, n=10_000):
    lower, upper = np.array(list(model.domain_.values())).T
    return np.random.default_rng(7).uniform(lower, upper, (n, len(lower)))


def test_every_equation_is_finite_in_the_whole_declared_domain(wide):
    assert len(front(wide)) > 2
    for expression in front(wide):
        assert np.all(np.isfinite(expression.evaluate(points_of(wide))))


def test_text_sympy_and_predictions_agree(wide):
    points = points_of(wide, n=200)
    frame = pd.DataFrame(points, columns=wide.feature_names_)
    symbols = [sympy.Symbol(name, real=True) for name in wide.feature_names_]
    for index, text in enumerate(wide.equations_["equation"]):
        predicted = wide.predict(frame, index=index)
        parsed = Expression.parse(text, wide.feature_names_).evaluate(points)[:, 0]
        function = sympy.lambdify(symbols, wide.sympy(index), "numpy")
        np.testing.assert_allclose(parsed, predicted, rtol=1e-9)
        values = np.broadcast_to(function(*points.T), predicted.shape)
        np.testing.assert_allclose(values, predicted, rtol=1e-9)


def test_errors_and_complexity_are_those_of_the_printed_equation(wide):
    for row, expression in zip(wide.equations_.itertuples(), front(wide), strict=True):
        assert row.complexity == expression.complexity(Prior.of("plain"))
        assert row.n_parameters == expression.n_parameters


def test_standard_errors_come_with_every_equation(wide):
    for candidate in wide.fronts_[0]:
        assert len(candidate.standard_errors) == len(candidate.expression.constants())
        assert np.all(np.isfinite(candidate.standard_errors))


def test_the_bound_of_the_output_is_kept_in_the_whole_domain():
    X = uniform(d=1, low=0.0)
    y = 5 * X[:, 0] ** 2
    points = np.linspace(0, 3, 2000)[:, None]
    largest = {
        bound: max(np.abs(e.evaluate(points)).max() for e in front(model))
        for bound in (20.0, 50.0, None)
        for model in [learned(X, y, 4, domain=[(0, 3)], output_bound=bound)]
    }
    assert largest[20.0] <= 20.0
    assert largest[50.0] == pytest.approx(45.0, rel=0.1)  # y = 5 * 3²
    assert largest[None] > 20.0


# --- the prior -----------------------------------------------------------------------------------


def test_the_prior_holds_on_the_whole_front():
    prior = Prior.of(
        {
            "units": ["cos", "square", "mul"],
            "costs": {"cos": 7},
            "prohibit": ["cos(square)", "square(cos)"],
            "inputs": {"b": {"not_in": ["cos", "output"]}, "c": {"only_in": []}},
        }
    )
    X = pd.DataFrame(uniform(), columns=["a", "b", "c"])
    y = np.cos(X["a"] ** 2 + 2 * X["b"]) + 0.1 * X["c"] + X["b"]
    model = learned(X, y, 5, prior=prior)
    assert len(front(model)) > 2
    for expression in front(model):
        assert expression.is_allowed(prior)
        assert set(expression.unit_counts()) <= {"cos", "square", "mul"}
        assert "c" not in expression.inputs_used


def test_no_equation_has_a_unit_that_the_prior_has_not():
    """With exponentials alone a parabola came as x0**2: polishing knew of squares."""
    x = np.random.default_rng(0).uniform(1, 3, (80, 1))
    model = IEQLRegressor(prior={"units": ["exp"]}, max_trainings=2, n_jobs=1, random_state=0)
    model.fit(x, x[:, 0] ** 2)
    for c in model.fronts_[0]:
        assert set(c.expression.unit_counts()) <= {"exp"}


def test_the_number_of_layers_is_kept():
    X = uniform()
    model = learned(X, np.cos(2 * X[:, 0] * X[:, 1]) + X[:, 2] ** 2, 4, layers=1)
    assert max(e.depth for e in front(model)) == 1


def test_a_preset_and_a_file_are_priors_too(tmp_path):
    X = uniform()
    path = tmp_path / "prior.yaml"
    path.write_text(Prior.of("motor").to_yaml())
    frames = [learned(X, X[:, 0] ** 2, 2, prior=p).equations_ for p in ("motor", path, str(path))]
    pd.testing.assert_frame_equal(frames[0], frames[1])
    pd.testing.assert_frame_equal(frames[0], frames[2])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_unit_of_ones_own_is_used_from_end_to_end(n_jobs):
    """Also one made of lambdas, also in other processes."""
    step = Unit(
        "step",
        lambda z: 1 / (1 + np.exp(-z)),
        lambda z: np.exp(-z) / (1 + np.exp(-z)) ** 2,
        sympy=lambda z: 1 / (1 + sympy.exp(-z)),
        latex=r"\sigma\left({0}\right)",
    )
    prior = Prior(units=("mul",), custom=(step,))
    X = uniform(n=100, d=2)
    y = 2 / (1 + np.exp(-8 * X[:, 0] + 1)) + X[:, 1]
    model = learned(X, y, 4, prior=prior, n_jobs=n_jobs)
    text = model.equations_.loc[model.equations_["selected"], "equation"].item()
    assert "step(" in text
    assert r"\sigma" in model.latex()
    assert model.score(X, y) > 0.9999
    parsed = Expression.parse(text, model.feature_names_, {"step": step})
    np.testing.assert_allclose(parsed.evaluate(X)[:, 0], model.predict(X), rtol=1e-12)
    function = sympy.lambdify(sympy.symbols("x0:2", real=True), model.sympy(), "numpy")
    np.testing.assert_allclose(function(*X.T), model.predict(X), rtol=1e-9)


# --- the run folder ------------------------------------------------------------------------------


def test_the_run_folder_tells_the_whole_story(tmp_path):
    X = pd.DataFrame(uniform(), columns=["a", "b", "c"])
    y = pd.Series(X["a"] ** 2 + X["b"], name="out")
    model = learned(X, y, run_dir=tmp_path / "run", domain={"a": (-2, 2)})
    run = RunFolder.open(tmp_path / "run")
    told = run.description()
    assert told["seed"] == 0
    assert told["settings"]["inputs"] == ["a", "b", "c"]
    assert told["settings"]["domain"]["a"] == [-2.0, 2.0]
    assert Prior.from_dict(told["settings"]["prior"]) == Prior.of("plain")

    records = run.records()
    assert {r["output"] for r in records} == {"out"}
    assert min(r["rmse_validation"] for r in records) < 0.01
    for record in records:  # in the user's coordinates, errors in the unit of the target
        expression = Expression.parse(record["equation"], ["a", "b", "c"])
        assert expression.complexity(Prior.of("plain")) <= record["complexity"]
        error = np.sqrt(np.mean((expression.evaluate(X.to_numpy())[:, 0] - y) ** 2))
        assert error < 1.5 * record["rmse_train"] + 1e-9

    constants = pd.read_csv(tmp_path / "run" / "constants.csv", keep_default_na=False)
    assert constants.columns.tolist()[:2] == ["index", "selected"]
    assert set(constants["index"]) <= set(model.equations_.index)
    stored = pd.read_csv(tmp_path / "run" / "equations.csv")
    assert list(stored["equation"]) == list(model.equations_["equation"])
    copy = IEQLRegressor.load(run.model_path())
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_a_run_with_units_of_ones_own_is_written_too(tmp_path):
    tanh = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    X = uniform()
    learned(X, np.tanh(3 * X[:, 0]), 2, prior=Prior(custom=(tanh,)), run_dir=tmp_path / "run")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["prior"] is None
    assert RunFolder.open(tmp_path / "run").records()


def test_a_refused_fit_leaves_no_run(tmp_path):
    with pytest.raises(ValueError, match="output_bound"):
        learned(uniform(), uniform()[:, 0] + 9, output_bound=1.0, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_does_well_outside_is_finished_even_if_something_simpler_did_so_by_chance():
    """Refitted on all rows, the simpler one may lose what it had outside; A2 was lost that way."""
    from ieql.learn import _worth_finishing
    from ieql.selection import Candidate
    from ieql.training.archive import Archive

    def candidate(text, complexity, validation, outside):
        e = Expression.parse(text, ("x",))
        return Candidate(e, complexity, 1, validation, validation, outside)

    lucky = candidate("cos(x)", 6, 0.0101, 0.0083)
    true = candidate("exp(x)", 7, 0.01005, 0.0092)
    assert true in _worth_finishing(Archive([lucky, true]))


@pytest.mark.parametrize(
    ("uncut", "stand"),
    [
        ((0.01004, 0.0099), ["cut"]),  # a trifle better in both: it does not hide the cut one
        ((0.01004, 0.0050), ["cut", "uncut"]),  # clearly better outside: neither hides the other
        ((0.0090, 0.0200), ["cut", "uncut"]),  # or inside
        ((0.0110, 0.0200), ["cut"]),
    ],
)
def test_of_an_equation_cut_and_uncut_neither_hides_the_other(uncut, stand):
    """Offsets are free, so both are equally complex; the uncut one has a constant more."""
    from ieql.learn import _with_shortest
    from ieql.selection import Candidate

    names = {"2*x": "cut", "2*x + 0.01": "uncut"}
    errors = {"2*x": (0.01005, 0.0100), "2*x + 0.01": uncut}
    found = [
        Candidate(Expression.parse(text, ("x",)), 1, 1, validation, validation, outside)
        for text, (validation, outside) in errors.items()
    ]
    mean = Candidate(Expression.parse("0", ("x",)), 0, 0, 1.0, 1.0, 1.0)
    front = _with_shortest([*reversed(found), mean], np.array([-90.0, -100.0, 0.0]))
    assert [names[c.expression.text()] for c in front[1:]] == stand


def test_a_difference_of_large_terms_is_refused_where_something_plain_does_as_well():
    """A4 was selected as 16530*(…)/((exp(z) + 2056)**2 - 4231386), which is 4.02*(…)/(exp(z) + c)
    to more digits than its rows have."""
    from dataclasses import replace
    from types import SimpleNamespace

    from ieql.data.sample import Sample
    from ieql.learn import _without_differences
    from ieql.selection import Candidate

    texts = ["x", "4.1*exp(x)", "0.001*(exp(x) + 2056)**2 - 4227.1"]
    found = [Candidate(Expression.parse(t, ("x",)), 1, 1, 1.0, 1.0) for t in texts]
    x = np.linspace(0, 1, 50)
    rows = Sample(x[None], x, np.ones(50))
    target = SimpleNamespace(fitting=rows, spread=rows.spread())
    assert _without_differences(found, np.array([-10.0, -99.0, -100.0]), target) == [0, 1]
    # Without a rival it stays: what is hard to read is better than what is wrong.
    assert _without_differences(found, np.array([-10.0, -50.0, -100.0]), target) == [0, 1, 2]
    # Without noise: what a plain one leaves is next to nothing, though the other leaves less.
    spread = target.fitting.spread()
    exact = [found[0], replace(found[1], rmse_train=1e-4 * spread), found[2]]
    assert _without_differences(exact, np.array([-10.0, -50.0, -900.0]), target) == [0, 1]


def test_no_wave_stands_where_a_plain_equation_is_told_in_fewer_words():
    """Of nine rows of a growth curve the front showed a line and a piece of a cosine."""
    from ieql.learn import _without_waves_for_others
    from ieql.selection import Candidate

    e = Expression.parse("x", ("x",))
    line, wave = Candidate(e, 1, 1, 3.0, 3.0), Candidate(e, 2, 2, 1.0, 1.0, wave_cost=12.0)
    plain = Candidate(e, 3, 3, 1.05, 1.05)
    found = [line, wave, plain]
    assert _without_waves_for_others(found, np.array([-18.0, -7.0, -14.0])) == [0, 2]
    # A line that is told in fewer words is no reason to hide a wave with a smaller error, ...
    assert _without_waves_for_others(found, np.array([-18.0, -14.0, -7.0])) == [0, 1, 2]
    # ... nor is an equation that is far more complex.
    heavy = Candidate(e, 9, 9, 0.9, 0.9)
    assert _without_waves_for_others([line, wave, heavy], np.array([-18.0, -7.0, -14.0])) == [
        0,
        1,
        2,
    ]


# --- numbers one can trust -----------------------------------------------------------------------


def test_ten_thousand_rows_of_ones_and_zeros_are_ten_thousand_rows():
    """Merged into ten cells before the split, they had given the constant 0.4."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, 10_000).astype(float)
    y = (rng.random(10_000) < 0.1 + 0.2 * x).astype(float)
    model = learned(x[:, None], y, trainings=4)
    assert model.fitted_.n_rows == (9000, 1000)
    slope, offset = np.polyfit(x, y, 1)
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), [offset, offset + slope], atol=0.01)


def test_few_rows_all_fit_the_constants_and_validate_each_other():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, (40, 1))
    y = 2.37 * X[:, 0] + rng.normal(size=40)
    model = learned(X, y, trainings=4)
    assert (model.validation_, model.fitted_.n_rows) == ("cross-fitting", (40, 0))
    chosen = model.equations_[model.equations_["selected"]].iloc[0]
    assert chosen["equation"].endswith("*x0")
    best = (X[:, 0] @ y) / (X[:, 0] @ X[:, 0])
    error = 1 / np.sqrt(X[:, 0] @ X[:, 0])
    assert model.expression(precise=True).constants()[1] == pytest.approx(best, rel=1e-9)
    assert model.expression().constants()[1] == pytest.approx(best, abs=0.06 * error)
    assert chosen["rmse_validation"] > chosen["rmse_train"]


@pytest.mark.parametrize("seed", range(2))
def test_pure_noise_does_not_look_like_a_law(seed):
    """Four validation rows of forty had shown an error of 0.23 where the truth is 1."""
    rng = np.random.default_rng(seed)
    model = learned(rng.uniform(-1, 1, (40, 2)), rng.normal(size=40), trainings=6)
    table = model.equations_
    assert table["selected"].iloc[0]
    assert table["rmse_validation"].min() > 0.5


def test_gross_outliers_are_left_out_named_and_said():
    """Five per cent of ± 50 on noise of 0.05 had ended in a constant."""
    rng = np.random.default_rng(0)
    X = uniform(n=300, d=2, low=-2.0, high=2.0)
    y = 0.5 * X[:, 1] ** 2 + X[:, 0] + 0.05 * rng.normal(size=300)
    bad = np.sort(rng.choice(300, 15, replace=False))
    y[bad] += 50.0 * rng.choice([-1, 1], 15)
    with pytest.warns(OutlierWarning, match=r"15 of 300 rows lie far"):
        model = learned(X, y)
    assert model.outliers_ == [bad.tolist()]
    chosen = model.equations_[model.equations_["selected"]].iloc[0]
    assert chosen["rmse_validation"] == pytest.approx(0.05, rel=0.2)
    assert set(model.expression().unit_counts()) == {"square"}
    plain = learned(X, y, loss="squared")
    assert plain.outliers_ == [[]]
    assert plain.equations_["rmse_validation"].min() > 5.0


def test_an_exact_law_without_noise_keeps_its_outliers_out():
    X = uniform(n=200, d=1)
    y = 2 * X[:, 0]
    y[17] += 30.0
    with pytest.warns(OutlierWarning, match="data row 18"):
        model = learned(X, y, trainings=4)
    assert model.expression().text() == "2*x0"


def test_a_steep_law_has_no_outliers():
    X = uniform(n=300, d=1, low=0.01, high=1.0)
    model = learned(X, 1 / X[:, 0], trainings=4)
    assert model.outliers_ == [[]]
    assert model.expression().text() == "1/x0"


def test_what_an_earlier_part_of_a_run_has_shown_stays(tmp_path):
    """Resume had turned 3500 into 3600, and the validation error from 0.57 to 0.69."""
    rng = np.random.default_rng(0)
    X = uniform(n=40, d=2)
    y = np.exp(X[:, 0]) + 0.3 * rng.normal(size=40)
    first = learned(X, y, trainings=4, run_dir=tmp_path).equations_
    second = learned(X, y, trainings=12, run_dir=tmp_path).equations_
    for row in first.itertuples():
        simpler = second[second["complexity"] <= row.complexity]
        assert simpler["rmse_validation"].min() <= 1.011 * row.rmse_validation


@pytest.mark.filterwarnings("ignore:.*rows are used")
def test_a_short_time_gives_the_best_of_some_rows():
    """One second for five million rows took ten, and gave the mean."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (700_000, 2))
    y = 2 * X[:, 0] + 0.1 * rng.normal(size=len(X))
    model = IEQLRegressor(max_time=4, max_trainings=1, n_jobs=1, random_state=0).fit(X, y)
    assert sum(model.fitted_.n_rows) == 400_000
    assert relative_error(model, lambda X: 2 * X[:, 0], X[:1000]) < 0.1


def test_what_the_rows_cannot_tell_apart_is_kept_with_the_model(tmp_path):
    """Fourteen noisy points of a saturation: many curves run through them."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"dose": np.linspace(0.5, 8, 14)})
    y = 10 * X["dose"] / (X["dose"] + 2) + 0.35 * rng.normal(size=14)
    model = learned(X, y, trainings=4, run_dir=tmp_path)
    found = model.alternatives()
    assert len(found) > 2
    assert not set(found["equation"]) & {model.expression().text()}
    assert found["nats"].abs().max() <= 5
    assert np.isfinite(found["rows_needed"]).all()
    loaded = IEQLRegressor.load(RunFolder.open(tmp_path).model_path())
    pd.testing.assert_frame_equal(loaded.alternatives(), found)


def test_a_network_that_was_hardly_cut_is_finished_at_once():
    """With 691 parameters to write in standard form, a fit of two seconds did not end."""
    from ieql.data.dataset import Dataset
    from ieql.learn import finish_candidate
    from ieql.options import FitOptions
    from ieql.target import prepare

    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 2))
    target = prepare(FitOptions(), Dataset.of(X, X[:, 0] * X[:, 1]), None, 0)[0]
    inner = [f"({a:.3f}*x1 + {b:.3f}*x2 + {c:.3f})" for a, b, c in rng.normal(size=(40, 3))]
    squares = " + ".join(f"0.1*{z}**2" for z in inner)
    outer = " + ".join(f"0.01*({squares} + {z})**2*{z}" for z in inner[:9])
    candidate = target.task.candidate(Expression.parse(outer, target.task.names))
    assert candidate.n_parameters > 300
    found = finish_candidate(candidate, target)
    assert found.n_parameters == candidate.n_parameters


def test_an_equation_that_cannot_be_finished_is_left_out(monkeypatch):
    """One matrix without an inverse ended a fit, with all that it had found."""
    from ieql import learn

    def finish(expression, *args, **more):
        if expression.n_parameters > 1:
            raise np.linalg.LinAlgError
        return finished(expression, *args, **more)

    finished = learn.finish
    monkeypatch.setattr(learn, "finish", finish)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60, 2))
    y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=60)  # an exact law may be found before others
    model = IEQLRegressor(max_trainings=1, n_jobs=1, random_state=0).fit(X, y)
    assert model.equations_["n_parameters"].tolist() == [0, 1]


def test_no_equation_is_more_complex_than_the_user_wants_to_see():
    """Of a law of complexity 5 the best equation of at most 3 is found, and nothing beyond."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (200, 2))
    y = X[:, 0] ** 2 + 2.0 * X[:, 1] + np.cos(3.0 * X[:, 0]) + 0.01 * rng.normal(size=200)
    settings = {"max_time": 20, "max_trainings": 4, "random_state": 0, "n_jobs": 1}
    free = IEQLRegressor(**settings).fit(X, y)
    short = IEQLRegressor(max_complexity=3, **settings).fit(X, y)
    assert free.equations_["complexity"].max() > 3
    assert short.equations_["complexity"].max() == 3
    best = short.equations_.iloc[-1]
    assert best["rmse_train"] < 1.0 < np.std(y)
    assert short.equations_["complexity"].is_monotonic_increasing
