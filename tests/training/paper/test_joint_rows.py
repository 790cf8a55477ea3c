"""Rows of several outputs in one table: what one output sets aside counts for the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ieql.training.paper.joint_rows import joint_rows
from tasks import make_task


def part(task, kept):
    """The task without some of its rows."""
    train = task.train.subset(kept)
    return replace(task, train=train, rows=np.flatnonzero(kept), mean=float(train.y.mean()))


def test_one_output_is_what_it_was():
    task = make_task(n=50)
    XT, y, weight = joint_rows([task])
    np.testing.assert_array_equal(XT, task.dense[0])
    np.testing.assert_array_equal(y, task.dense[1][None])
    assert weight is None


def test_rows_that_all_outputs_have_need_no_weights():
    tasks = [make_task("x*y", n=50), make_task("x - y", n=50)]
    XT, y, weight = joint_rows(tasks)
    assert XT.shape == (2, 50)
    np.testing.assert_array_equal(y, [t.dense[1] for t in tasks])
    assert weight is None


def test_a_row_that_is_set_aside_counts_for_the_other_output_alone():
    one, two = make_task("x*y", n=50), make_task("x - y", n=50)
    kept = np.ones((2, 50), dtype=bool)
    kept[0, [3, 7]] = kept[1, 20] = False
    XT, y, weight = joint_rows([part(one, kept[0]), part(two, kept[1])])
    np.testing.assert_allclose(XT, one.dense[0], rtol=1e-6)
    np.testing.assert_array_equal(weight, kept)
    np.testing.assert_allclose(y[0, kept[0]], one.train.y[kept[0]] - one.train.y[kept[0]].mean(),
                               rtol=1e-4, atol=1e-6)  # fmt: skip
    np.testing.assert_array_equal(y[~kept], 0.0)


def test_weights_of_the_users_are_kept():
    task = make_task(n=20)
    heavy = np.linspace(1.0, 3.0, 20)
    task = replace(task, train=replace(task.train, weight=heavy))
    _, _, weight = joint_rows([task, make_task("x - y", n=20)])
    np.testing.assert_allclose(weight[0], heavy / heavy.mean(), rtol=1e-6)
    np.testing.assert_array_equal(weight[1], 1.0)
