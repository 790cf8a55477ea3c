"""Models as JSON files: the same predictions when read back, and a sentence for anything else."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ieql import IeqlError, IEQLRegressor, Prior, Unit
from ieql.model import from_form

NAMES = ["n [1/min]", "T"]


def fitted(prior="plain", n_outputs=1, max_trainings=2, **parameters):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(1, 2, (60, 2)), columns=NAMES)
    steep = np.tanh(9 * X["n [1/min]"] - 13)
    Y = pd.DataFrame({"out 0": X["T"] + steep, "out 1": 2 * X["T"]})
    parameters |= {"max_trainings": max_trainings, "n_jobs": 1, "random_state": 0}
    model = IEQLRegressor(prior, **parameters)
    return model.fit(X, Y.iloc[:, 0] if n_outputs == 1 else Y), X


def read(form):
    return IEQLRegressor._of(from_form(form, "model.json"))


@pytest.fixture(scope="module")
def model():
    return fitted()[0]


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_what_is_read_back_is_what_was_saved(tmp_path, n_outputs):
    model, X = fitted(n_outputs=n_outputs, output_bound=np.float64(1e3), layers=np.int64(2))
    model.save(tmp_path / "model.json")
    copy = IEQLRegressor.load(tmp_path / "model.json")
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    np.testing.assert_array_equal(copy.predict_interval(X), model.predict_interval(X))
    pd.testing.assert_frame_equal(copy.constants(), model.constants())
    pd.testing.assert_frame_equal(copy.equations_, model.equations_)
    assert copy.target_names_ == model.target_names_
    assert copy.domain_ == model.domain_
    assert copy.layers == 2
    assert copy.latex() == model.latex()
    assert str(copy.sympy()) == str(model.sympy())
    np.testing.assert_array_equal(copy.select("V_int").predict(X), model.select("V_int").predict(X))
    with pytest.raises(ValueError, match="feature names"):
        copy.predict(X.rename(columns={"T": "t"}))


def test_the_file_is_plain_json(tmp_path, model):
    model.save(tmp_path / "model.json")
    form = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    assert form == model.fitted_.to_form()
    assert form["features"] == NAMES


def test_what_was_learned_without_names_is_used_without_names(tmp_path):
    X = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    model = IEQLRegressor(max_trainings=1, n_jobs=1, random_state=0).fit(X, X[:, 0])
    model.save(tmp_path / "model.json")
    copy = IEQLRegressor.load(tmp_path / "model.json")
    assert not hasattr(copy, "feature_names_in_")
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_a_loaded_model_can_be_fitted_again(tmp_path):
    """Also to data that lie elsewhere: the old range was not declared by anyone."""
    model, X = fitted()
    model.save(tmp_path / "model.json")
    copy = IEQLRegressor.load(tmp_path / "model.json")
    assert copy.domain is None
    copy.fit(10 * X, X["T"])
    declared, X = fitted(domain={"T": (0, 5)})
    declared.save(tmp_path / "model.json")
    copy = IEQLRegressor.load(tmp_path / "model.json")
    with pytest.raises(IeqlError, match="The domain of 'T' is 0 to 5"):
        copy.fit(X.assign(T=10 * X["T"]), X["T"])


def test_units_of_ones_own_must_be_handed_over(tmp_path):
    tanh = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    prior = Prior(units=("mul",), custom=(tanh,))
    model, X = fitted(prior, max_trainings=4)
    assert any("tanh(" in text for text in model.equations_["equation"])
    model.save(tmp_path / "model.json")
    with pytest.raises(IeqlError, match=r"no unit 'tanh'.*units of your own: hand their prior to"):
        IEQLRegressor.load(tmp_path / "model.json")
    copy = IEQLRegressor.load(tmp_path / "model.json", prior=prior)
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_what_is_said_of_the_errors_and_of_the_rows_left_out_is_kept(model):
    form = model.fitted_.to_form()
    assert (form["validation"], form["outliers"]) == (model.validation_, model.outliers_)
    form |= {"validation": "cross-fitting", "outliers": [[3, 59]]}
    copy = read(form)
    assert (copy.validation_, copy.outliers_, copy.fitted_.n_data_rows) == (
        "cross-fitting",
        [[3, 59]],
        60,
    )
    assert copy.fitted_.doubts()[0][1].startswith("2 of 60 rows lie far")


def test_files_of_old_do_not_say_it(model):
    form = model.fitted_.to_form()
    for key in ("validation", "outliers", "n_data_rows"):
        del form[key]
    copy = read(form)
    assert (copy.validation_, copy.outliers_) == ("held-out rows", [[]])
    assert copy.fitted_.n_data_rows == sum(model.fitted_.n_rows)


def test_constants_with_all_digits_are_for_those_who_ask(model):
    """`precise` changes values and texts; what is shown and selected stays as it is."""
    form = model.fitted_.to_form()
    k = model.selected_[0]
    exact = model.expression().with_constants(model.expression().constants() * (1 + 1e-7))
    form["fronts"][0][k] |= {"precise": exact.to_dict(), "band": None}
    copy = read(form)
    X = pd.DataFrame([[1.5, 1.5]], columns=NAMES)
    assert copy.expression(precise=True).text() == exact.text() != copy.expression().text()
    assert copy.predict(X, precise=True) == exact.evaluate(X.to_numpy())[:, 0]
    assert copy.predict(X) == model.predict(X)
    pd.testing.assert_frame_equal(copy.equations_, model.equations_)
    for write in (copy.latex, copy.c, copy.python, lambda **o: str(copy.sympy(**o))):
        assert write() != write(precise=True)
    # An equation that was never rounded is its own precise form.
    other = next(i for i in range(len(model.fronts_[0])) if i != k)
    form["fronts"][0][other] |= {"precise": None, "band": None}
    copy = read(form)
    assert copy.latex(other, precise=True) == copy.latex(other)


def test_files_of_old_hold_no_intervals(model):
    form = model.fitted_.to_form()
    for candidate in form["fronts"][0]:
        del candidate["band"]
    with pytest.raises(IeqlError, match="There are no intervals: "):
        read(form).predict_interval(pd.DataFrame([[1.5, 1.5]], columns=NAMES))


def test_intervals_take_little_room_in_the_file(model):
    form = model.fitted_.to_form()
    bands = [c["band"] for c in form["fronts"][0]]
    assert len(json.dumps(bands, indent=1)) < 3_000 * len(bands)
    assert all(c["band"] is None for c in form["rivals"][0])


# --- junk ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a saved model"),
        (b"\xff\xfe\x00", "is not a saved model"),
        (b"{", "is not a saved model"),
        (b"[" * 100_000, "is not a saved model"),
        (b"[1, 2]", "was not written by save"),
        (b'{"kind": "other"}', "was not written by save"),
        (b'{"kind": "ieql model", "format": 99}', "has the format 99, .* install a newer version"),
        (b'{"kind": "ieql model", "format": 1}', "is not a whole saved model"),
    ],
)
def test_a_file_that_is_no_model(tmp_path, content, message):
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(IeqlError, match=message):
        IEQLRegressor.load(path)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(IeqlError, match=r"There is no file '.*nowhere.json'"):
        IEQLRegressor.load(tmp_path / "nowhere.json")
    with pytest.raises(IeqlError, match=r"Cannot read .*directory"):
        IEQLRegressor.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.pop("fronts"), "is not a whole saved model: KeyError"),
        (lambda f: f.update(selected=[99]), "the selected equation is not on the front"),
        (lambda f: f.update(selected=[]), "its parts do not belong together"),
        (lambda f: f.update(features=["a"]), "does not fit the inputs"),
        (lambda f: f.update(criterion="best"), "There is no selection criterion .best."),
        (lambda f: f.update(prior={"units": ["cosh"]}), r"no unit 'cosh'. Did you mean 'cos'\?"),
        (lambda f: f.update(validation="hope"), "does not say what its validation error is"),
        (lambda f: f.update(outliers=[]), "its parts do not belong together"),
        (lambda f: f.update(outliers={}), "numbers of rows are not whole"),
        (lambda f: f.update(n_data_rows=-1), "numbers of rows are not whole"),
        (lambda f: f.update(outliers=[[60]]), "not the numbers of rows"),
        (lambda f: f.update(outliers=[[1.5]]), "not the numbers of rows"),
        (lambda f: f.update(outliers=[[5, 5]]), "not in order"),
        (lambda f: f["fronts"][0][0].update(expression={}), "not the stored form of an expression"),
    ],
)
def test_a_model_whose_parts_do_not_fit(model, change, message):
    form = model.fitted_.to_form()
    change(form)
    with pytest.raises(IeqlError, match=message):
        read(form)


JUNK = st.one_of(
    st.sampled_from([None, True, 10**400, [], {}, [[]], {"": 1}]),
    st.integers(-3, 3),
    st.floats(),
    st.text(max_size=3),
)


def places(form, path=()):
    """Every place inside nested lists and dictionaries."""
    yield path
    if isinstance(form, dict | list):
        for key in form if isinstance(form, dict) else range(len(form)):
            yield from places(form[key], (*path, key))


@pytest.mark.filterwarnings("ignore::ieql.errors.OutsideDomainWarning")  # a junk domain
@given(st.data())
@settings(max_examples=300)
def test_junk_anywhere_in_the_file_is_refused_or_harmless(model, data):
    """Whatever is changed: a model that can be used, or one sentence; no other error."""
    form = json.loads(json.dumps(model.fitted_.to_form()))
    *path, last = data.draw(st.sampled_from([p for p in places(form) if p]))
    part = form
    for key in path:
        part = part[key]
    part[last] = data.draw(JUNK)
    message = ""
    try:
        copy = read(form)
        X = pd.DataFrame([[1.5, 1.5]], columns=copy.feature_names_)
        assert copy.predict(X if form["named"] else X.to_numpy()).size == 1
        assert len(copy.equations_)
    except IeqlError as error:
        message = str(error)
    assert message == "" or "model.json" in message


def test_a_file_does_not_say_where_runs_are_written(model):
    """A stranger's file with a run_dir would have made the next fit write there."""
    form = model.fitted_.to_form()
    form["parameters"] |= {"run_dir": "elsewhere", "verbose": 3, "selection": "V_int"}
    options = from_form(form, "model.json").options
    assert (options.run_dir, options.selection) == (None, "V_int")
