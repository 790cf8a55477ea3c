"""A smooth surface through noisy rows, which networks may be taught by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor

from ieql.equations.expression import Expression
from ieql.training.fast import surface
from ieql.training.fast.surface import with_surface
from ieql.training.fast.surrogate import Surrogate
from tasks import NAMES, make_task

FORMULA = "cos(3*x) + x*y"
TRUTH = Expression.parse(FORMULA, NAMES)


@pytest.fixture(scope="module")
def task():
    return with_surface(make_task(FORMULA, n=200, noise=0.3))


def test_it_is_closer_to_the_truth_than_the_rows(task):
    exact = TRUTH.evaluate(task.surface.points.XT.T)[:, 0]
    assert np.std(task.surface.points.y - exact) < 0.4 * 0.3


def test_its_error_is_what_new_rows_show(task):
    assert task.surface.error == pytest.approx(0.3, rel=0.15)


def test_it_has_the_rows_and_points_between_them(task):
    n = len(task.train)
    np.testing.assert_array_equal(task.surface.points.XT[:, :n], task.train.XT)
    between = task.surface.points.XT[:, n:]
    assert between.shape[1] == surface.POINTS
    low, high = task.train.XT.min(axis=1), task.train.XT.max(axis=1)
    assert np.all((between >= low[:, None]) & (between <= high[:, None]))
    assert np.unique(between, axis=1).shape[1] > 0.9 * surface.POINTS


def test_some_points_are_rows_with_an_input_of_another_row(task):
    """A new row of concrete lies far from all others, as a mixture of what they are made of."""
    XT = task.train.XT
    crossed = np.isin(task.surface.points.XT[:, XT.shape[1] :], XT).all(axis=0)
    assert 0.3 < crossed.mean() < 0.5  # fewer than half: some are drawn twice
    grid = np.arange(40.0).reshape(4, 10)
    points = surface._crossed(grid, 200, np.random.default_rng(0))
    assert {len({int(x) % 10 for x in point}) for point in points.T} == {2}  # rows of each


def test_rows_of_one_input_cannot_be_crossed():
    assert surface._crossed(np.arange(9.0)[None], 200, np.random.default_rng(0)).shape == (1, 0)
    points = surface._between(np.arange(9.0)[None], 200, np.random.default_rng(0))
    assert np.unique(points).size > 150


def test_it_is_laid_once(task):
    assert with_surface(task) is task


def test_it_is_the_same_every_time(task):
    again = with_surface(replace(task, surface=None))
    np.testing.assert_array_equal(again.surface.points.y, task.surface.points.y)


def test_many_rows_need_none(monkeypatch):
    monkeypatch.setattr(surface, "MOST_ROWS", 100)
    assert with_surface(make_task(FORMULA, n=120)).surface is None


def test_lengths_are_learned_from_several_starts():
    """NOx over the speed of an engine: from one start it took half of the function for noise."""
    task = make_task("cos(14*x) + 2*y", n=300, noise=0.1)
    assert with_surface(task).surface.error < 0.25


def test_what_it_expects_of_an_equation_is_what_new_rows_show(task):
    """Of the truth, of the surface itself, and of an equation that is off by a quarter."""
    rows = task.train.XT
    exact = TRUTH.evaluate(rows.T)[:, 0]
    assert task.surface.expected(task.surface.points.y[:200]) == task.surface.error
    off = task.surface.points.y[:200] + 0.25 * np.sign(rows[0] - 0.3)
    assert task.surface.expected(off) == pytest.approx(np.hypot(task.surface.error, 0.25), rel=0.1)
    assert task.surface.expected(exact) < 1.1 * task.surface.error


def test_rows_left_out_of_the_rougher_process_are_left_out():
    """By a closed form; here each row is left out in turn, with the same lengths and noise."""
    rows = make_task(FORMULA, n=40, noise=0.2).train
    rows = replace(rows, weight=np.linspace(0.5, 2.0, 40))
    process = Surrogate.fit(rows, (0, 1))
    learned = surface._learned(process)
    kernel, noise = learned.kernel, learned.noise / process.weight
    _, left_out = surface._rough(process, learned, process.rows)
    for k in (0, 17, 39):
        others = np.arange(40) != k
        without = GaussianProcessRegressor(kernel, alpha=noise[others], optimizer=None)
        without.fit(process.rows.T[others], process.y[others])
        error = process.y[k] - without.predict(process.rows.T[[k]])[0]
        assert left_out[k] == pytest.approx(process.scale * error, rel=1e-6)


def test_what_runs_off_between_the_rows_is_an_error(task):
    """Of 215 constants by 772 rows of concrete one new row in 258 was off by 80 MPa."""
    at_rows, between = task.surface.points.y[: len(task.train)], task.surface.checks.y
    assert task.surface.strayed(at_rows, between) == 0.0
    assert task.surface.strayed(at_rows + 0.1, between + 0.1) == 0.0  # as far off at the rows
    wild = between.copy()
    wild[:8] += 50.0
    expected = np.sqrt(8 * 50.0**2 / len(between))
    assert task.surface.strayed(at_rows, wild) == pytest.approx(expected, rel=0.1)
    wild[0] = np.nan
    assert task.surface.strayed(at_rows, wild) == np.inf


def test_networks_are_not_judged_where_they_were_taught(task):
    taught = {tuple(p) for p in task.surface.points.XT.T.tolist()}
    assert not taught & {tuple(p) for p in task.surface.checks.XT.T.tolist()}


def test_what_was_learned_once_serves_nearly_the_same_rows_in_other_units(task, monkeypatch):
    """To learn it again, once or twice after the time was up, took 22 s each."""
    rows = task.train
    anew = surface.laid(replace(rows, XT=10.0 * rows.XT, y=3.0 * rows.y), task.inputs)
    monkeypatch.delattr(surface, "_learned")
    monkeypatch.setattr("ieql.training.fast.surrogate._learned", None)
    again = surface.laid(
        replace(rows, XT=10.0 * rows.XT, y=3.0 * rows.y), task.inputs, task.surface.learned
    )
    np.testing.assert_allclose(again.points.y, anew.points.y, atol=0.1)
    assert again.error == pytest.approx(3.0 * task.surface.error, rel=0.02)
