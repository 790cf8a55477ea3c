"""Rows whose target is known to lie between two values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql import IeqlError
from ieql.data.dataset import Dataset
from ieql.data.ranges import between, checked_ranges, measured_exactly
from ieql.data.sample import Sample

NAN, INF = np.nan, np.inf


def rows(*bounds: tuple[float, float]) -> Sample:
    n = len(bounds)
    return Sample(np.zeros((1, n)), np.zeros(n), np.ones(n), np.array(bounds))


def test_a_gap_is_an_open_side_and_two_gaps_are_a_measured_row() -> None:
    y, bounds = checked_ranges([[1, 3], [NAN, 2], [4, NAN], [NAN, NAN]], [NAN, NAN, NAN, 7], 4)
    assert y.tolist() == [2, 2, 4, 7]
    assert bounds.tolist() == [[1, 3], [-INF, 2], [4, INF], [7, 7]]


def test_without_values_the_middle_stands_for_each_range() -> None:
    y, _ = checked_ranges([[1.0, 3.0], [0.0, 10.0]], None, 2)
    assert y.tolist() == [2, 5]


@pytest.mark.parametrize(
    ("bounds", "y", "says"),
    [
        ([[1, 2], [3, 2]], None, "goes from 3 to 2 in data row 2"),
        ([[1, 2], [NAN, NAN]], None, "Data row 2 has neither a value nor a bound"),
        ([[1, 2], [3, 4]], [1, 5], "y is 5 in data row 2, but y_range says 3 to 4"),
        ([[1, 2]], None, "its shape is \\(1, 2\\)"),
        ([1, 2], None, "a lower and an upper bound for each of the 2 rows"),
        ([[1, 2], ["a", 4]], None, "must hold numbers"),
        ([[1, 2], [3, 4]], [[1, 3], [1, 3]], "for one target"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_row(bounds, y, says) -> None:
    with pytest.raises(IeqlError, match=says):
        checked_ranges(bounds, y, 2)


def test_an_equation_sees_the_nearest_value_of_a_range_and_measured_values_as_they_are() -> None:
    given_rows = rows((1, 1), (0, 4), (0, 4), (2, INF), (2, INF))
    seen = between(given_rows, np.array([3.0, 2.0, 8.0, 1.0, 9.0])).y
    # Outside, by a quarter of the distance from the middle farther in; an open side has no middle.
    assert seen.tolist() == [1, 2, 3.5, 2, 9]
    assert measured_exactly(given_rows).tolist() == [True, False, False, False, False]


bounds = st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e6)).map(lambda b: (b[0], b[0] + b[1]))


@given(st.lists(st.tuples(bounds, st.floats(-1e7, 1e7)), min_size=1, max_size=20))
def test_what_is_seen_lies_in_the_range_and_costs_nothing_only_in_its_middle(pairs) -> None:
    given_rows = rows(*(b for b, _ in pairs))
    predicted = np.array([p for _, p in pairs])
    seen = between(given_rows, predicted).y
    low, high = given_rows.ranges.T
    assert np.all((low <= seen) & (seen <= high))
    # Looking again at what was seen changes less and less: the view is a step to the least cost.
    middle = (low + high) / 2
    assert np.all(np.abs(seen - middle) <= np.abs(predicted - middle) + 1e-6)


def test_without_ranges_rows_are_seen_as_they_are() -> None:
    plain = Sample(np.zeros((1, 2)), np.array([1.0, 2.0]), np.ones(2))
    assert between(plain, np.zeros(2)) is plain


def test_ranges_stay_with_their_rows() -> None:
    """A data set orders its rows by a hash and merges equal ones; ranges must go along."""
    x = np.arange(20.0).repeat(2)
    low = np.where(np.arange(40) % 2 == 0, x, x - 1)  # equal rows with two different ranges
    data = Dataset.of(x[:, None], x + 0.5, ranges=np.column_stack([low, low + 2]))
    assert len(data) == 40
    assert data.ranges is not None
    for part in (data, *data.split(0.2, 0), data.subset(data.X[:, 0] > 5)):
        assert set((part.ranges[:, 0] - part.X[:, 0]).tolist()) <= {0.0, -1.0}
        np.testing.assert_array_equal(part.ranges[:, 1] - part.ranges[:, 0], 2)
        assert len(part.ranges) == len(part)
    again = Dataset.of(np.r_[x, x][:, None], np.r_[x, x], ranges=np.tile(data.ranges[:1], (80, 1)))
    assert len(again) == 20


def test_a_sample_takes_its_ranges_along() -> None:
    whole = rows((0, 1), (1, 2), (2, 3))
    some = whole.subset(np.array([True, False, True]))
    assert some.ranges is not None
    assert some.ranges.tolist() == [[0, 1], [2, 3]]
    assert whole.head(2).joined(some).ranges.shape == (4, 2)
    drawn = whole.draw(2, np.random.default_rng(0))
    assert drawn.ranges.shape == (2, 2)
    assert whole.standing_for_all(1).ranges.tolist() == [[0, 1]]
