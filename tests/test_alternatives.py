"""What the rows cannot tell from the selected equation: which, how far apart, what would decide."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fitted import model, with_rivals_at
from ieql import IeqlError, IEQLRegressor
from ieql.alternatives import (
    MOST_RIVALS,
    Alternative,
    alternatives,
    alternatives_sentence,
    with_rivals,
)
from ieql.data.sample import Sample
from ieql.model import from_form

COLUMNS = ["equation", "nats", "largest_difference", "where", "rows_needed"]


def line(rivals, front=("4", "3*x + 1"), **settings):
    """A straight line in x, and rivals with descriptions longer by so many nats."""
    return with_rivals_at(model(front, prior="plain", **settings), rivals)


# --- which ---------------------------------------------------------------------------------------


def test_structures_within_five_nats_are_listed_the_best_first():
    fitted = line({"3*x + cos(z)": 4.9, "3*exp(x) - 4": 0.5, "x*z": 5.1})
    found = fitted.alternatives()
    assert list(found) == COLUMNS
    assert found["equation"].tolist() == ["3*exp(x) - 4", "3*x + cos(z)"]
    np.testing.assert_allclose(found["nats"], [0.5, 4.9], atol=1e-6)


def test_one_of_the_front_is_an_alternative_like_any_other():
    fitted = line({"x*z": 1.0}, front=("exp(z)", "3*x + 1"))
    front, selected = fitted.fitted_.fronts[0], fitted.fitted_.selected[0]
    near = replace(front[0], **{k: getattr(fitted.fitted_.rivals[0][0], k) for k in ERRORS})
    fitted.fitted_ = replace(fitted.fitted_, fronts=((near, front[selected]),))
    places = {str(a.candidate.expression): a.index for a in alternatives(fitted.fitted_)}
    assert places == {"exp(z)": 0, "x*z": None}


ERRORS = ("rmse_train", "rmse_validation")


@pytest.mark.parametrize(
    "same",
    [
        "exp(log(3*x + 1))",  # the same values in other words
        "3.3*x + 0.5",  # the same structure with other constants
        "3*x + 1.001",
    ],
)
def test_an_equation_that_is_only_written_differently_is_left_out(same):
    assert line({same: 1.0}).alternatives().empty


def test_of_two_that_are_the_same_the_simpler_one_stays():
    fitted = line({"exp(log(x*z))": 0.1, "x*z": 2.0})
    assert fitted.alternatives()["equation"].tolist() == ["x*z"]


def test_another_row_may_be_asked_about():
    fitted = line({"x*z": 1.0}, front=("4", "3*exp(x) - 4", "3*x + 1"))
    worse = fitted.alternatives(index=0)
    assert worse.empty  # the others are better by far: the rows can tell
    with pytest.raises(IeqlError, match="There is no equation 3; the front has rows 0 to 2"):
        fitted.alternatives(index=3)


def test_one_that_describes_the_rows_better_has_nats_below_zero():
    assert line({"x*z": -2.0}).alternatives()["nats"].tolist() == [pytest.approx(-2.0)]


def test_several_outputs_are_told_apart():
    m = model(("4", "3*x + 1"), ("2", "x*z"), prior="plain")
    fitted = with_rivals_at(m, {"3*exp(x) - 4": 1.0}, {"x + z": 2.0, "x**2": 3.0})
    found = fitted.alternatives()
    assert list(found) == ["output", *COLUMNS]
    assert found["output"].tolist() == ["y", "w", "w"]
    assert fitted.alternatives(output=1)["equation"].tolist() == ["x + z", "x**2"]
    # Rows 2 and 3 of all equations are rows 0 and 1 of the second output's front.
    pd.testing.assert_frame_equal(fitted.alternatives(index=3), fitted.alternatives(1, output=1))
    with pytest.raises(IeqlError, match="There is no output 2; the outputs are 0 to 1"):
        fitted.alternatives(output=2)


# --- how they differ -----------------------------------------------------------------------------


def test_the_largest_difference_is_found_inside_the_domain_and_at_its_border():
    inside = line({"3*x + 0.05*cos(4*x) + 1": 1.0}).alternatives().iloc[0]
    assert inside["largest_difference"] == pytest.approx(0.05, rel=1e-4)
    assert inside["where"] == {"x": 1.571}  # pi/2, with the digits that matter
    border = line({"3*x + 0.05*cos(z) + 1": 1.0}).alternatives().iloc[0]
    assert border["largest_difference"] == pytest.approx(0.05 * math.cos(1.0))
    assert border["where"]["z"] == 1.0


def test_the_declared_domain_counts_not_the_range_of_the_rows():
    far = line({"3*exp(0.1*x) + 1": 1.0}, domain={"x": (0.0, 100.0)}).alternatives().iloc[0]
    assert far["where"] == {"x": 100.0}
    assert far["largest_difference"] == pytest.approx(3 * math.exp(10.0) - 300)


def test_where_one_of_them_has_no_value_the_difference_is_infinite():
    found = line({"3*sqrt(x - 1.2) + 1": 1.0}).alternatives().iloc[0]
    assert found["largest_difference"] == math.inf
    assert found["where"]["x"] < 1.2


def test_constants_have_alternatives_too():
    fitted = line({"3*x": 1.0}, front=("4",), noise=1.0)
    assert fitted.alternatives()["where"].tolist() == [{"x": 2.0}]
    assert line({}, front=("4",)).alternatives().empty


def test_a_place_as_text():
    where = {"x": 3.2, "T": 400.0}
    some = Alternative(None, None, 1.0, 1.0, where, 10.0)  # type: ignore[arg-type]
    assert some.where_text() == "x = 3.2, T = 400"
    many = replace(some, where={f"x{i}": float(i) for i in range(9)})
    assert many.where_text().endswith("x5 = 5, …")


# --- how many rows would decide ------------------------------------------------------------------


def test_rows_needed_follow_from_the_noise_and_the_difference():
    fitted = line({"3*x + 0.05": 1.0}, front=("4", "3*x"))
    selected = fitted.fronts_[0][1]
    needed = 20 * selected.rmse_train**2 / 0.05**2  # about 80
    found = fitted.alternatives()["rows_needed"][0]
    assert needed <= found <= 1.03 * needed + 1
    assert isinstance(found, np.integer)


def test_the_rows_of_the_fit_decide_not_the_domain():
    """A difference that is large where nobody measured does not make rows tell more."""
    fitted = line({"3*x + 0.05": 1.0}, front=("4", "3*x"))
    n = len(fitted.fitted_.fronts[0]) + 1
    rows = tuple((0.5,) * i for i in range(n))
    fitted.fitted_ = replace(fitted.fitted_, differences=(rows,))
    needed = 20 * fitted.fronts_[0][1].rmse_train ** 2 / 0.5**2
    assert fitted.alternatives()["rows_needed"][0] == math.ceil(needed * 270 / 269)
    fitted.fitted_ = replace(fitted.fitted_, differences=(tuple((0.0,) * i for i in range(n)),))
    assert fitted.alternatives()["rows_needed"][0] == math.inf


# --- what is said --------------------------------------------------------------------------------


def test_the_sentence():
    def said(fitted, k=0):
        return alternatives_sentence(fitted.fitted_, alternatives(fitted.fitted_, output=k), k)

    assert said(line({"x*z": 1.0})).startswith(
        "The rows cannot tell these from the selected equation: "
    )
    alone = "o other structure that was tried describes the rows as well (within 5 nats)."
    assert said(line({"x*z": 9.0})) == f"N{alone}"
    assert said(line({"x*z": -30.0})).endswith("another one is shorter by 30 nats.")
    two = with_rivals_at(
        model(("4", "3*x + 1"), ("2", "x*z"), prior="plain"), {"x**2": 1.0}, {"x": 9.0}
    )
    assert "equation of y: " in said(two)
    assert said(two, 1) == f"Of w, n{alone}"


# --- what is kept --------------------------------------------------------------------------------


def kept(fitted, *texts_and_nats):
    """The rivals that a fit keeps of these finished equations."""
    finished = with_rivals_at(fitted, dict(texts_and_nats)).fitted_
    candidates = [*finished.fronts[0], *finished.rivals[0]]
    X = fitted.evidence_.X
    rows = Sample(X.T, fitted.evidence_.y[:, 0], np.ones(len(X)))
    return with_rivals(replace(finished, rivals=()), [candidates], [rows])


def test_rivals_of_the_selected_equation_are_kept_with_the_model():
    fitted = model(("4", "3*x + 1"), prior="plain")
    found = kept(fitted, ("x*z", 9.0), ("x + z", 2.0), ("x**2", 11.0), ("exp(log(3*x + 1))", 1.0))
    assert [str(c.expression) for c in found.rivals[0]] == ["x + z", "x*z"]
    assert [len(row) for row in found.differences[0]] == [0, 1, 2, 3]
    x = fitted.evidence_.X[:, 0]
    assert found.differences[0][1][0] == pytest.approx(np.sqrt(np.mean((3 * x - 3) ** 2)))


def test_there_are_not_too_many_rivals():
    parts = [f"{unit}({name})" for unit in ("exp", "log", "cos", "sqrt") for name in "xz"]
    texts = [f"{a} + {b}" for a, b in itertools.combinations(parts, 2)]
    ranked = [(text, 0.1 * i) for i, text in enumerate(texts)]
    found = kept(model(("4", "3*x + 1"), prior="plain"), *ranked)
    assert [str(c.expression) for c in found.rivals[0]] == texts[:MOST_RIVALS]


def test_a_loaded_model_gives_the_same_answer(tmp_path):
    fitted = model(("4", "3*x + 1"), prior="plain")
    fitted.fitted_ = kept(fitted, ("x*z", 1.0), ("x + z", 2.0))
    expected = fitted.alternatives()
    assert len(expected) == 2
    fitted.save(tmp_path / "model.json")
    pd.testing.assert_frame_equal(
        IEQLRegressor.load(tmp_path / "model.json").alternatives(), expected
    )


def test_a_file_of_old_answers_from_its_front():
    form = line({"x*z": 1.0}).fitted_.to_form()
    del form["rivals"], form["differences"]
    old = IEQLRegressor._of(from_form(form, "model.json"))
    assert old.alternatives().empty
    assert list(old.alternatives()) == COLUMNS


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"rivals": []}, "the differences of its equations do not fit them"),
        ({"rivals": [[], []]}, "its parts do not belong together"),
        ({"differences": [[[], [1.0]]]}, "the differences of its equations do not fit them"),
        ({"differences": [[[], [1.0], [1.0, -1.0]]]}, "it holds an impossible number"),
    ],
)
def test_a_damaged_file_is_refused(part, message):
    fitted = model(("4", "3*x + 1"), prior="plain")
    form = kept(fitted, ("x*z", 1.0)).to_form() | part
    with pytest.raises(IeqlError, match=message):
        from_form(form, "model.json")
