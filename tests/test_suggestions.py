"""Where to measure next: which points, within which limits, and what is said of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fitted import changed, model, with_rivals_at
from ieql import IeqlError, IEQLRegressor
from ieql.suggestions import MOST_POINTS, suggest

COLUMNS = ["x", "z", "selected", "rival", "disagreement", "rival_equation"]
CURVE = "3*exp(x) - 4"


def line(rivals, front=("4", "3*x + 1"), **settings):
    """A straight line in x from 1 to 2, with a noise of 0.1, and its rivals."""
    return with_rivals_at(model(front, prior="plain", **settings), rivals)


def noise_of(fitted):
    selected = fitted.fronts_[0][fitted.selected_[0]]
    return selected.rmse_train * math.sqrt(270 / (270 - selected.n_constants))


# --- which points --------------------------------------------------------------------------------


def test_the_first_point_is_where_the_equations_disagree_most():
    fitted = line({CURVE: 1.0})
    found = fitted.suggest()
    assert list(found) == COLUMNS
    assert len(found) == 5
    first = found.iloc[0]
    assert first["x"] == 2.0
    assert first["selected"] == 7.0
    assert first["rival"] == pytest.approx(3 * math.exp(2) - 4)
    expected = (3 * math.exp(2) - 11) / noise_of(fitted)
    assert first["disagreement"] == pytest.approx(expected)
    assert set(found["rival_equation"]) == {CURVE}


def test_the_largest_disagreement_may_be_inside():
    assert line({"3*x + 0.5*cos(4*x) + 1": 1.0}).suggest(1)["x"][0] == 1.571


def test_points_are_spread_out():
    x = np.sort(line({CURVE: 1.0}).suggest(5)["x"])
    assert np.diff(x).min() > 0.1
    both = line({"x*z": 1.0}).suggest(6)[["x", "z"]].to_numpy()
    apart = np.linalg.norm(both[:, None] - both[None], axis=2) + 9 * np.eye(6)
    assert apart.min() > 0.2


def test_they_are_close_together_where_only_a_part_of_the_domain_tells_anything():
    narrow = line({"3*x + 1 + exp(300*x - 595)": 1.0}).suggest(4)["x"]
    assert (narrow.sort_values()[1:] > 1.95).all()


def test_plausible_equations_have_more_say_than_others():
    """Both rivals differ by the same, one above and one below."""
    left, right = "3*x + 1 + 0.5*cos(2*x - 2)**2", "3*x + 1 + 0.5*cos(2*x - 4)**2"
    assert line({left: 0.5, right: 7.0}).suggest(1)["x"][0] < 1.3
    assert line({left: 7.0, right: 0.5}).suggest(1)["x"][0] > 1.7


def test_a_rival_that_runs_away_is_not_all_that_counts():
    """Far off at x = 2 it is told anyway; the better rival differs at z = 2 alone."""
    found = line({"3*x + 1 + 0.4*(z - 1)**2": 0.5, "3*x + 1 + exp(40*x - 70)": 6.0}).suggest(2)
    assert found["z"].max() == 2.0


def test_equations_better_than_the_selected_one_count():
    found = line({CURVE: -30.0}).suggest(2)
    assert (found["disagreement"] > 5).all()


def test_what_the_rows_rule_out_does_not_count():
    found = line({CURVE: 10.5}).suggest()
    assert found["rival"].isna().all()


def test_where_a_rival_has_no_value_a_row_tells_it_apart():
    found = line({"3*sqrt(x - 1.2) + 1": 1.0}).suggest()
    undefined = found[found["x"] < 1.2]
    assert len(undefined) >= 1
    assert np.isinf(undefined["disagreement"]).all()
    assert undefined["rival"].isna().all()
    assert np.isfinite(found["selected"]).all()


def test_where_no_equation_has_a_value_nothing_is_told():
    fitted = line({"3*log(x - 1) + 1": 1.0}, front=("4", "3*sqrt(x - 1) + 1"))
    found = fitted.suggest(limits={"x": (-10, 2)})
    assert np.isfinite(found["selected"]).sum() >= 4


def test_an_input_that_no_plausible_equation_uses_stays_in_the_middle():
    found = line({CURVE: 1.0}, domain={"z": (0.0, 10.0)})
    assert (found.suggest()["z"] == 5.0).all()
    assert "left in the middle: z." in found.suggest().attrs["sentence"]
    assert found.suggest(2, limits={"z": [1, 2, 7]})["z"].tolist() == [2, 2]


def test_many_inputs():
    names = [f"a{i}" for i in range(30)]
    fitted = with_rivals_at(
        model(("4", "3*a0 + a1 + a2*a3 + exp(a4)"), names=names, prior="plain"),
        {"3*a0 + a1*a5 + cos(a7) + a8*a9*a10": 1.0, "a11*a20 + a12 + a13 + a14": 2.0},
    )
    found = fitted.suggest()
    assert (found["disagreement"] > 50).all()
    assert (found[["a6", "a29"]] == 1.5).all(axis=None)
    assert not found.duplicated().any()


def test_the_answer_is_always_the_same_and_needs_no_data(tmp_path):
    fitted = line({"x*z": 1.0, CURVE: 2.0})
    expected = fitted.suggest()
    pd.testing.assert_frame_equal(fitted.suggest(), expected)
    pd.testing.assert_frame_equal(fitted.fitted_.suggest(), expected)
    fitted.save(tmp_path / "model.json")
    loaded = IEQLRegressor.load(tmp_path / "model.json")
    pd.testing.assert_frame_equal(loaded.suggest(), expected)


# --- nothing is open -----------------------------------------------------------------------------


def test_without_rivals_points_are_where_the_constants_leave_most_open():
    alone = line({}, front=("4", "2*exp(x)"))
    found = alone.suggest()
    assert list(found) == COLUMNS
    assert found["x"][0] == 2.0
    assert found["selected"][0] == pytest.approx(2 * math.exp(2))
    assert found["disagreement"].isna().all()
    assert set(found["rival_equation"]) == {""}
    assert np.diff(np.sort(found["x"])).min() > 0.1


def test_a_constant_spreads_the_points_over_all_inputs():
    found = line({}, front=("4",)).suggest()
    assert set(found["x"]) == set(found["z"]) == {1.0, 1.5, 2.0}


def test_without_standard_errors_points_are_just_spread():
    fitted = line({})
    front = tuple(replace(c, standard_errors=None) for c in fitted.fitted_.fronts[0])
    found = changed(fitted, fronts=(front,)).suggest(3)
    assert sorted(found["x"]) == pytest.approx([1.0, 1.5, 2.0], abs=0.01)
    assert found.attrs["sentence"].startswith(
        "No other equation describes the rows nearly as well (within 10 nats), so the points are "
        "just spread out."
    )


def test_rows_without_noise():
    assert not line({}, noise=0.0).suggest().isna()["selected"].any()
    assert line({CURVE: 1.0}, noise=1e-5).suggest(1)["x"][0] == 2.0


# --- several outputs -----------------------------------------------------------------------------


def two_outputs():
    fitted = model(("4", "3*x + 1"), ("2", "x*z"), prior="plain")
    return with_rivals_at(fitted, {CURVE: 1.0}, {"x + z": 2.0})


def test_a_point_tells_of_all_outputs():
    found = two_outputs().suggest()
    assert list(found) == ["x", "z", "output", *COLUMNS[2:]]
    assert set(found["output"]) <= {"y", "w"}
    equations = dict(zip(found["output"], found["rival_equation"], strict=True))
    assert equations.items() <= {"y": CURVE, "w": "x + z"}.items()


def test_one_output_may_be_asked_about():
    found = two_outputs().suggest(3, output=1)
    assert set(found["output"]) == {"w"}
    assert set(found["rival_equation"]) == {"x + z"}
    with pytest.raises(IeqlError, match="There is no output 2; the outputs are 0 to 1"):
        two_outputs().suggest(output=2)


def test_outputs_of_which_nothing_is_open_do_not_count():
    fitted = with_rivals_at(model(("4", "3*x + 1"), ("2", "x*z"), prior="plain"), {CURVE: 1.0}, {})
    found = fitted.suggest()
    assert set(found["output"]) == {"y"}
    assert (found["z"] == 1.5).all()


# --- limits --------------------------------------------------------------------------------------


def test_an_interval_narrows_the_domain():
    found = line({"x*z": 1.0}).suggest(limits={"x": (1.2, 1.4)})
    assert found["x"].between(1.2, 1.4).all()
    assert found["z"].between(1, 2).all()


def test_one_value():
    found = line({"x*z": 1.0}).suggest(limits={"x": 1.25})
    assert (found["x"] == 1.25).all()
    assert found["z"].nunique() == 5


@pytest.mark.parametrize(
    "values", [[1, 1.5, 2], {1, 1.5, 2}, np.array([2, 1.5, 1]), (1.5, 1, 2, 2)], ids=str
)
def test_values_to_choose_from(values):
    found = line({"x*z": 1.0}).suggest(8, limits={"x": values})
    assert set(found["x"]) <= {1.0, 1.5, 2.0}
    assert not found.duplicated().any()


def test_two_values_are_a_set_since_two_numbers_are_an_interval():
    assert set(line({"x*z": 1.0}).suggest(limits={"x": {1, 2}})["x"]) == {1.0, 2.0}
    assert set(line({"x*z": 1.0}).suggest(limits={"x": range(1, 3)})["x"]) == {1.0, 2.0}
    assert len(set(line({CURVE: 1.0}).suggest(limits={"x": [1, 2]})["x"])) == 5


def test_values_at_which_nothing_is_told_come_last():
    fitted = line({"3*x + 1 + (x - 1)*(x - 2)": 1.0}, domain={"x": (0.0, 4.0)})
    found = fitted.suggest(4, limits={"x": [0, 1, 2, 4]})
    assert set(found["x"][:2]) == {0.0, 4.0}
    assert set(found["x"]) == {0.0, 1.0, 2.0, 4.0}


def test_limits_may_reach_beyond_the_domain_and_it_is_said():
    found = line({CURVE: 1.0}).suggest(limits={"x": (0, 5)})
    assert found["x"][0] == 5.0
    assert found.attrs["sentence"].endswith(
        "As the limits allow, points lie outside the domain in x, where no equation was checked."
    )
    assert "outside" not in line({CURVE: 1.0}).suggest(limits={"x": (1, 2)}).attrs["sentence"]


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"y": (0, 1)}, "The limits name 'y', which is not an input."),
        ({"x": (2, 1)}, r"The limits of 'x' must be \(low, high\) with low below high, but they "),
        ({"x": "1:2"}, r"The limits of 'x' must be two numbers \(low, high\), one number, or a"),
        ({"x": (0, math.inf)}, "two numbers"),
        ({"x": math.nan}, "two numbers"),
        ({"x": []}, "two numbers"),
        ({"x": [0, True]}, "two numbers"),
        ({"x": None}, "two numbers"),
        ({"x": {"low": 1}}, "two numbers"),
        ({"x": range(10**12)}, "1,000,000,000,000 values; give an interval"),
        ([(0, 1)], "The limits must map inputs to"),
        ("x", "The limits must map inputs to"),
        (
            {"x": [1, 1.5, 2], "z": 1},
            r"The limits leave only 3 different points in the inputs that matter, so 5 cannot",
        ),
        ({"x": 1, "z": 1}, "leave only 1 different"),
    ],
)
def test_limits_that_cannot_be(limits, sentence):
    with pytest.raises(IeqlError, match=sentence):
        line({"x*z": 1.0}).suggest(limits=limits)


def test_a_misspelt_input_has_a_nearest():
    fitted = with_rivals_at(model(("4", "3*speed"), names=("speed", "load")), {"load": 1.0})
    with pytest.raises(IeqlError, match=r"Did you mean 'speed'\?"):
        fitted.suggest(limits={"sped": (0, 1)})


@pytest.mark.parametrize("n", [0, -1, 2.0, "5", True, None, MOST_POINTS + 1])
def test_a_number_of_points_that_cannot_be(n):
    with pytest.raises(IeqlError, match="must be a whole number from 1 to 100, not"):
        line({CURVE: 1.0}).suggest(n)


def test_as_many_points_as_can_be_asked_for_are_all_different():
    found = line({"x*z": 1.0}).suggest(MOST_POINTS)
    assert len(found) == MOST_POINTS
    assert not found.duplicated(["x", "z"]).any()


def test_a_domain_as_wide_as_numbers_go():
    wide = line({"x*z": 1.0}, domain={"x": (-1.7e308, 1.7e308)}).suggest(3)
    assert np.isfinite(wide["x"]).all()
    assert wide["x"].nunique() == 3


def test_before_a_fit_there_is_nothing_to_suggest():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        IEQLRegressor().suggest()


# --- what is said --------------------------------------------------------------------------------


def test_the_sentence():
    assert line({"x*z": 1.0}).suggest().attrs["sentence"] == (
        "The points are spread where the 2 equations that the rows leave open (within 10 nats) "
        "disagree most."
    )
    hardly = line({"3*x + 0.05*cos(z) + 1": 1.0}).suggest().attrs["sentence"]
    assert "At none of them is the selected one further from its rival than the noise" in hardly
    same = line({"3*x + 1 + (x - 1)*(x - 2)": 1.0}).suggest(2, {"x": {1, 2}}).attrs["sentence"]
    assert "do not differ within the limits, so the points are just spread out." in same
    alone = line({}, front=("4", "2*exp(x)")).suggest().attrs["sentence"]
    assert "so the points are spread where its constants leave the selected one most " in alone


def test_an_input_may_have_the_name_of_a_column():
    fitted = model(("4", "3*selected"), names=("selected", "rival_equation"), prior="plain")
    found = with_rivals_at(fitted, {"selected*rival_equation": 1.0}).suggest(2)
    assert list(found) == [
        "selected", "rival_equation", "selected_", "rival", "disagreement", "rival_equation_",
    ]  # fmt: skip


def test_points_have_the_digits_that_matter():
    found = suggest(line({"x*z": 1.0}, domain={"x": (0.0, 3000.0)}).fitted_, 20)
    x = found.points[:, 0]
    np.testing.assert_array_equal(x, np.round(x))
