"""What a fit leaves behind for figures and report: a sample, and back from its file unharmed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fitted import CIRCUMSTANCES, evidence
from ieql.errors import IeqlError
from ieql.report.evidence import Evidence


def test_small_data_are_kept_whole():
    e = evidence()
    assert e.X.shape == (100, 2)
    assert e.kinds == ("data",) * 100
    assert not e.outside.any()
    assert (e.n_rows, e.n_extrapolation) == (100, 0)


def test_of_large_data_a_sample_is_kept_but_the_range_of_all():
    X = np.arange(50_000.0)[:, None]
    e = Evidence.of(X, 2 * X, ["x"], ["y"], **CIRCUMSTANCES)
    assert len(e.X) == 2_000
    assert e.n_rows == 50_000
    np.testing.assert_array_equal(e.y, 2 * e.X)
    assert (e.inputs[0].low, e.inputs[0].high) == (0.0, 49_999.0)
    assert e.inputs[0].mean == pytest.approx(24_999.5)
    assert e.targets[0].name == "y"


def test_the_sample_is_the_same_every_time():
    np.testing.assert_array_equal(evidence(5_000).X, evidence(5_000).X)


def test_points_outside_stand_last_and_are_a_quarter_at_most():
    e = evidence(5_000, n_outside=3_000)
    assert len(e.X) == 2_000
    assert e.kinds.count("extrapolation") == 500
    assert e.n_extrapolation == 3_000
    np.testing.assert_array_equal(e.outside, e.X[:, 0] > 2.5)
    assert e.inputs[0].high < 2.5


def test_wide_tables_get_fewer_rows():
    assert len(evidence(300, n_inputs=4_000).X) == 99
    assert len(evidence(300, n_inputs=15_000).X) == 50


def test_the_mean_of_large_numbers_does_not_overflow():
    X = np.full((100, 1), 1e307)
    assert Evidence.of(X, X, ["x"], ["y"], **CIRCUMSTANCES).inputs[0].mean == pytest.approx(1e307)


def test_it_cannot_be_written_to():
    e = evidence()
    with pytest.raises(ValueError, match="read-only"):
        e.X[0] = 0.0


def test_its_file_gives_it_back():
    e = evidence(n_outside=20, n_outputs=2)
    copy = Evidence.from_form(json.loads(json.dumps(e.to_form(), allow_nan=False)))
    np.testing.assert_array_equal(copy.X, e.X)
    np.testing.assert_array_equal(copy.y, e.y)
    for name in e.__dataclass_fields__:
        if name not in ("X", "y"):
            assert getattr(copy, name) == getattr(e, name)


def test_a_seed_may_be_missing():
    form = evidence().to_form() | {"seed": None}
    assert Evidence.from_form(form).seed is None


# --- outliers ------------------------------------------------------------------------------------


def with_outliers(n_rows=6_000, n_outside=100):
    """Evidence of two outputs; the last row is an outlier of both, row 5 of the first alone."""
    e = evidence(n_rows, n_outside=n_outside, n_outputs=2)
    rng = np.random.default_rng(1)
    X = rng.uniform(1, 2, (n_rows, 2))  # what `evidence` is made of
    y = X[:, :1] * [1, 2]
    return e, e.with_outliers(X, y, [[5, n_rows - 1], [n_rows - 1]]), X, y


def test_the_sample_holds_every_outlier_and_knows_its_row():
    before, e, X, y = with_outliers()
    assert (len(before.X), before.n_sampled) == (2_000, 1_900)
    assert [list(of) for of in e.outliers] == [[5, 5999], [5999]]
    for k, of in enumerate(e.outliers):
        for row, place in of.items():
            np.testing.assert_array_equal(e.X[place], X[row])
            np.testing.assert_array_equal(e.y[place], y[row])
        assert e.outlier(k).sum() == len(of)
    assert len(e.X) - e.kinds.count("extrapolation") - e.n_sampled == 2
    np.testing.assert_array_equal(e.outside, e.X[:, 0] > 2.5)  # those outside still stand last
    np.testing.assert_array_equal(e.X[e.outside], before.X[before.outside])


def test_a_row_that_is_in_the_sample_already_is_not_there_twice():
    before, e, _, _ = with_outliers(100)
    assert len(e.X) == len(before.X)
    assert (before.n_sampled, e.n_sampled) == (100, 98)


def test_equal_outliers_have_a_place_each():
    e, _, X, y = with_outliers(100)
    twice = e.with_outliers(X[[5, 5]], y[[5, 5]], [[0, 1], []])
    assert twice.outlier(0).sum() == 2
    assert twice.n_sampled == 99


def test_of_very_many_outliers_the_first_are_kept():
    e, _, X, y = with_outliers(1_000)
    kept = e.with_outliers(X, y, [range(300), []])
    assert list(kept.outliers[0]) == list(range(200))
    assert not kept.outliers[1]


def test_outliers_come_back_from_the_file():
    _, e, _, _ = with_outliers()
    copy = Evidence.from_form(json.loads(json.dumps(e.to_form(), allow_nan=False)))
    assert copy.outliers == e.outliers
    np.testing.assert_array_equal(copy.X, e.X)


def test_evidence_of_old_knows_of_no_outliers():
    form = evidence(n_outputs=2).to_form()
    del form["outliers"]
    e = Evidence.from_form(form)
    assert e.outliers == ()
    assert not e.outlier(1).any()
    assert e.n_sampled == 100


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "other"}, "is not the evidence of a fit"),
        ({"format": 2}, "reads format 1"),
        ({"X": []}, "empty or too long"),
        ({"X": [[1.0, 2.0]] * 2_201}, "empty or too long"),
        ({"X": [[1.0]] * 100}, "does not fit the columns"),
        ({"X": [[1.0, "a"]] * 100}, "'a' is not a number"),
        ({"X": [[1.0, float("nan")]] * 100}, "not finite"),
        ({"X": [[1.0, 10**400]] * 100}, "damaged"),
        ({"y": [[1.0]] * 99}, "different numbers of rows"),
        ({"n_outside": 101}, "different numbers of rows"),
        ({"n_rows": -1}, "-1 is not a count"),
        ({"n_rows": True}, "True is not a count"),
        ({"inputs": []}, "no columns"),
        ({"inputs": [["x", 2, 1, 1], ["z", 0, 1, 0]]}, "reversed"),
        ({"inputs": [[3, 2, 1, 1], ["z", 0, 1, 0]]}, "3 is not a name"),
        ({"inputs": [["x"], ["z"]]}, "damaged"),
        ({"sha256": "<b>"}, "'<b>' is not a SHA-256"),
        ({"seconds": None}, "None is not a number"),
        ({"versions": []}, r"\[\] is not a short mapping"),
        ({"unit_counts": []}, "do not fit the targets"),
        ({"unit_counts": [{"cos": "x" * 99}]}, r"xx\.\.\. is not a count"),
        ({"outliers": {}}, "outliers do not fit the targets"),
        ({"outliers": [[], []]}, "outliers do not fit the targets"),
        ({"outliers": [[[3]]]}, "damaged"),
        ({"outliers": [[[-1, 3]]]}, "-1 is not a count"),
        ({"outliers": [[[7, 100]]]}, "an outlier is not in its sample"),
        ({"outliers": [[[k, 0] for k in range(201)]]}, "too many outliers"),
    ],
)
def test_damaged_forms_are_refused(change, message):
    with pytest.raises(IeqlError, match=message) as caught:
        Evidence.from_form(evidence().to_form() | change)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("form", [None, [], "x", 3, {}])
def test_other_files_are_refused(form):
    with pytest.raises(IeqlError, match=r"'evidence\.json' is not the evidence of a fit"):
        Evidence.from_form(form)


@pytest.mark.parametrize("key", sorted(set(evidence().to_form()) - {"kind", "format", "outliers"}))
def test_a_missing_part_is_refused(key):
    form = evidence().to_form()
    del form[key]
    with pytest.raises(IeqlError, match="damaged"):
        Evidence.from_form(form)
