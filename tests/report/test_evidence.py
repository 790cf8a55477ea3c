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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "other"}, "is not the evidence of a fit"),
        ({"format": 2}, "reads format 1"),
        ({"X": []}, "empty or too long"),
        ({"X": [[1.0, 2.0]] * 2_001}, "empty or too long"),
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


@pytest.mark.parametrize("key", sorted(set(evidence().to_form()) - {"kind", "format"}))
def test_a_missing_part_is_refused(key):
    form = evidence().to_form()
    del form[key]
    with pytest.raises(IeqlError, match="damaged"):
        Evidence.from_form(form)
