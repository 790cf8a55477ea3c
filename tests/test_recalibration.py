"""The same structure, new constants: from Python, and on the command line."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fitted
from ieql import IeqlError, IEQLRegressor
from ieql.cli import app

LAW = "2.5*x**2 + 3*cos(z)"


def old(*fronts, **options):
    made = fitted.model(*(fronts or (("2", LAW),)), prior="plain", **options)
    return IEQLRegressor._of(replace(made.fitted_, is_named=True))


def device(n, factor=3.0, noise=0.1, seed=1):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(1, 2, (n, 2)), columns=["x", "z"])
    y = factor * X["x"] ** 2 + 3 * np.cos(X["z"]) + noise * rng.normal(size=n)
    return X, y.rename("y")


def test_another_device_has_the_same_structure_and_its_own_constants():
    X, y = device(8)
    model = old()
    new = model.recalibrate(X, y)
    assert list(new.recalibrated_.columns) == ["of", "old", "new", "standard_error", "moved"]
    square = new.recalibrated_[new.recalibrated_["of"] == "factor of x**2"].iloc[0]
    assert square["old"] == 2.5
    assert square["new"] == pytest.approx(3.0, abs=4 * square["standard_error"])
    assert square["moved"] > 5
    moved, holds = new.recalibrated_.attrs["sentences"]
    assert moved.startswith("1 of 2 constants has moved: factor of x**2 from 2.5 to ")
    assert holds.startswith("The structure still holds")
    assert new.equations_["equation"].iloc[0].count("x**2") == 1
    assert model.equations_["equation"].iloc[1] == LAW  # the old one stays as it is


def test_eight_rows_are_enough_to_predict_the_new_device():
    X, y = device(8)
    truth_X, truth = device(500, noise=0.0, seed=2)
    model = old()
    new = model.recalibrate(X, y)
    assert np.sqrt(np.mean((new.predict(truth_X) - truth) ** 2)) < 0.1
    assert np.sqrt(np.mean((model.predict(truth_X) - truth) ** 2)) > 0.5


def test_intervals_hold_new_rows_of_the_new_device():
    held = []
    for seed in range(15):
        X, y = device(10, seed=seed)
        new = old().recalibrate(X, y)
        others, measured = device(200, seed=100 + seed)
        low, high = new.predict_interval(others, level=0.9).T
        held.append(np.mean((low <= measured) & (measured <= high)))
    assert 0.85 < np.mean(held) < 0.98


def test_one_row_is_fewer_than_constants_and_is_fine():
    X, y = device(1)
    new = old().recalibrate(X, y)
    assert np.isfinite(new.predict(X)).all()
    assert "too few to tell" in new.recalibrated_.attrs["sentences"][1]


def test_what_another_law_leaves_is_said():
    X, y = device(40)
    y = y + 2 * np.sin(3 * X["z"])
    sentences = old().recalibrate(X, y).recalibrated_.attrs["sentences"]
    assert "does not hold any more" in sentences[1]
    assert "depends on z" in sentences[1]


def test_rows_with_more_noise_leave_it_open():
    X, y = device(60, noise=1.0)
    assert "It is open" in old().recalibrate(X, y).recalibrated_.attrs["sentences"][1]


def test_rows_without_noise_lie_on_the_equation():
    X, y = device(20, noise=0.0)
    new = old(noise=1e-14).recalibrate(X, y)
    assert new.equations_["equation"].iloc[0] == "3*x**2 + 3*cos(z)"
    assert "lie on the equation" in new.recalibrated_.attrs["sentences"][1]


def test_another_equation_of_the_front_by_its_index():
    X, y = device(8)
    new = old(("2", "3*x + 1", LAW)).recalibrate(X, y, index=1)
    assert "cos" not in new.equations_["equation"].iloc[0]
    assert len(new.equations_) == 1


def test_several_outputs_each_have_their_sentences():
    X, y = device(12)
    both = np.column_stack([y, 4 * X["x"]])
    new = old(("2", LAW), ("1", "3*x + 1")).recalibrate(X, both)
    assert list(new.recalibrated_["output"].unique()) == ["y", "w"]
    assert new.predict(X).shape == (12, 2)
    assert len(new.recalibrated_.attrs["sentences"]) == 4
    with pytest.raises(IeqlError, match="y has 1 column"):
        old(("2", LAW), ("1", "3*x + 1")).recalibrate(X, y)


def test_weights_say_which_rows_count():
    X, y = device(20)
    spoilt = y.copy()
    spoilt.iloc[10:] += 50.0
    weight = np.r_[np.ones(10), np.zeros(10)]
    alone = old().recalibrate(X[:10], y[:10])
    weighed = old().recalibrate(X, spoilt, sample_weight=weight)
    assert list(weighed.equations_["equation"]) == list(alone.equations_["equation"])
    with pytest.raises(IeqlError, match="sample_weight"):
        old().recalibrate(X, y, sample_weight=[1.0])


def test_the_new_equation_is_proved_in_the_domain_and_kept_safe():
    """The new rows ask for a pole at x = 1.5, in the middle of the domain."""
    model = old(("2", "3/(x - 0.5)"))
    X, _ = device(30)
    new = model.recalibrate(X, 1 / np.abs(X["x"] - 1.5 + 1e-3))
    assert bool(new.equations_["proved"].iloc[0])
    across = pd.DataFrame({"x": np.linspace(1, 2, 99), "z": 1.5})
    assert np.isfinite(new.predict(across)).all()


def test_a_bound_on_the_output_holds_for_new_constants_too():
    model = old(domain={"x": (1, 2), "z": (1, 2)})
    model.fitted_.options.output_bound = 12.0
    X, y = device(20, factor=6.0)
    new = model.recalibrate(X, y)
    corners = pd.DataFrame({"x": [2.0, 2.0], "z": [1.0, 2.0]})
    assert np.all(np.abs(new.predict(corners)) <= 12.0)


def test_the_domain_is_widened_to_new_rows_unless_it_was_declared():
    X, y = device(8)
    X.loc[0, "x"] = 2.2
    assert old().recalibrate(X, y).domain_["x"] == pytest.approx([1.0, 2.2], abs=0.1)
    with pytest.warns(UserWarning, match="outside the declared domain"):
        new = old(domain={"x": (1, 2)}).recalibrate(X, y)
    assert new.domain_["x"] == [1.0, 2.0]


def test_bad_rows_get_a_sentence():
    X, y = device(8)
    with pytest.raises(IeqlError, match="8 rows but y has"):
        old().recalibrate(X, y[:3])
    with pytest.raises(IeqlError, match="at least 1"):
        old().recalibrate(X[:0], y[:0])
    with pytest.raises(IeqlError, match="lacks the column"):
        old().recalibrate(X.rename(columns={"x": "z"}), y)
    X.loc[0, "x"] = 0.4
    with pytest.raises(IeqlError, match="no finite value in 1 of 8 new rows"):
        old(("2", "3*log(x - 0.5)")).recalibrate(X, y)
    with pytest.raises(AttributeError, match="recalibrate"):
        _ = old().recalibrated_


def test_a_saved_model_is_recalibrated_and_saved_again(tmp_path):
    X, y = device(8)
    old().save(tmp_path / "old.json")
    new = IEQLRegressor.load(tmp_path / "old.json").recalibrate(X, y)
    new.save(tmp_path / "new.json")
    again = IEQLRegressor.load(tmp_path / "new.json")
    pd.testing.assert_frame_equal(again.recalibrated_, new.recalibrated_)
    assert again.recalibrated_.attrs == new.recalibrated_.attrs
    assert np.array_equal(again.predict(X), new.predict(X))
    assert np.array_equal(again.predict_interval(X), new.predict_interval(X))
    assert np.array_equal(pickle.loads(pickle.dumps(new)).predict(X), new.predict(X))
    assert "new constants" in str(again)


def test_what_was_recalibrated_is_recalibrated_again():
    first = old().recalibrate(*device(8))
    second = first.recalibrate(*device(8, factor=2.5, seed=5))
    value = second.recalibrated_.set_index("of")["new"]["factor of x**2"]
    assert value == pytest.approx(2.5, abs=0.1)


def test_a_damaged_file_is_refused(tmp_path):
    old().recalibrate(*device(8)).save(tmp_path / "new.json")
    form = json.loads((tmp_path / "new.json").read_text())
    form["recalibrated"]["sentences"] = []
    (tmp_path / "new.json").write_text(json.dumps(form))
    with pytest.raises(IeqlError, match="does not fit its outputs"):
        IEQLRegressor.load(tmp_path / "new.json")


def test_the_report_shows_what_moved():
    new = old().recalibrate(*device(8))
    page = new.report_html()
    assert "What has moved" in page
    assert "factor of x**2" in page
    assert "What has moved" not in old().report_html()


# --- the command line ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of one device, from its CSV file."""
    folder = tmp_path_factory.mktemp("runs")
    X, y = device(60, factor=2.5, seed=7)
    X.assign(y=y).to_csv(folder / "old.csv", index=False)
    asked = ["fit", str(folder / "old.csv"), "--target", "y", "--trainings", "2", "--jobs", "1"]
    done = CliRunner().invoke(app, [*asked, "--seed", "0", "--out", str(folder / "old")])
    assert done.exit_code == 0, done.output
    X, y = device(8)
    X.assign(y=y, note="new").to_csv(folder / "new.csv", index=False)
    return folder


def ieql(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.output


def test_a_run_is_recalibrated_into_a_folder_of_its_own(run):
    code, said = ieql("recalibrate", run / "old", run / "new.csv", "--out", run / "new")
    assert code == 0, said
    assert "y = " in said
    assert "moved" in said
    assert "The structure still holds" in said
    names = {path.name for path in (run / "new").iterdir()}
    assert {"run.json", "model.json", "equations.csv", "constants.csv", "report.html"} <= names

    code, said = ieql("show", run / "new")
    assert code == 0
    assert "The structure still holds" in said
    assert "The search ended" not in said
    for command in (
        ["predict", run / "new", run / "new.csv"],
        ["export", run / "new", "--format", "c"],
        ["constants", run / "new"],
        ["report", run / "new"],
    ):
        code, said = ieql(*command)
        assert code == 0, said
    assert "What has moved" in (run / "new" / "report.html").read_text()


def test_a_recalibration_has_no_search_to_continue(run):
    ieql("recalibrate", run / "old", run / "new.csv", "--out", run / "again")
    code, said = ieql("resume", run / "again")
    assert code == 2
    assert "no search to continue" in said


def test_a_run_that_is_there_is_replaced_only_if_asked_to(run):
    code, said = ieql("recalibrate", run / "old", run / "new.csv", "--out", run / "old")
    assert code == 2
    assert "--overwrite" in said
    first = ("recalibrate", run / "old", run / "new.csv", "--out", run / "third")
    assert ieql(*first)[0] == 0
    assert ieql(*first)[0] == 0  # the same once more changes nothing
    assert ieql(*first, "--overwrite")[0] == 0


def test_a_column_that_is_missing_is_named(run):
    pd.DataFrame({"x": [1.0], "y": [2.0]}).to_csv(run / "short.csv", index=False)
    code, said = ieql("recalibrate", run / "old", run / "short.csv", "--out", run / "short")
    assert code == 2
    assert "lacks the column 'z'" in said
    assert not (run / "short").exists()


def test_nothing_that_is_no_number_is_in_the_file(run):
    ieql("recalibrate", run / "old", run / "new.csv", "--out", run / "plain")

    def refuse(name: str) -> float:
        raise AssertionError(name)

    json.loads((run / "plain" / "model.json").read_text(), parse_constant=refuse)
    assert math.isfinite(json.loads((run / "plain" / "evidence.json").read_text())["seconds"])
