"""Labelled rows of one target."""

import numpy as np

from ieql.data.sample import Sample


def sample(n=10):
    rng = np.random.default_rng(0)
    return Sample(rng.normal(size=(2, n)), rng.normal(size=n), np.ones(n))


def test_a_draw_keeps_rows_together_and_never_repeats_one():
    whole = sample(100)
    part = whole.draw(30, np.random.default_rng(1))
    rows = [int(np.flatnonzero(whole.y == y)[0]) for y in part.y]
    assert len(set(rows)) == 30
    np.testing.assert_array_equal(part.XT, whole.XT[:, rows])
    assert whole.draw(100, np.random.default_rng(1)) is whole


def test_a_weight_of_two_is_a_row_twice():
    rows = sample(3)
    double = Sample(rows.XT, rows.y, np.array([2.0, 1.0, 1.0]))
    repeated = Sample(rows.XT[:, [0, 0, 1, 2]], rows.y[[0, 0, 1, 2]], np.ones(4))
    assert np.isclose(double.rmse(np.zeros(3)), repeated.rmse(np.zeros(4)))
    assert np.isclose(double.spread(), repeated.spread())


def test_an_undefined_prediction_has_an_infinite_error():
    assert sample().rmse(np.full(10, np.nan)) == np.inf


def test_head_takes_the_first_rows():
    whole = sample()
    np.testing.assert_array_equal(whole.head(4).y, whole.y[:4])
    assert whole.head(50) is whole
