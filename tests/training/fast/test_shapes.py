"""Shapes first: a kink, a saturation, a dead zone, a peak, a step are found in their own form."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ieql.prior import Prior
from ieql.training.fast.shapes import shapes
from tasks import task_of

X = np.random.default_rng(0).uniform(-3, 7, 200)
Z = np.random.default_rng(1).uniform(0, 2, 200)


def best(y, prior="engineering", **inputs):
    """The equation that the first look likes best, of the target with 2 % noise."""
    task = task_of(y, prior, 0.02, **(inputs or {"x": X}))
    found = list(shapes(task))
    return min(found, key=lambda c: np.log(c.rmse_train) + task.price * task.size(c.expression))


@pytest.mark.parametrize(
    ("y", "units"),
    [
        (0.5 * X + np.maximum(X - 2.2, 0), {"abs", "max", "min"}),
        (2 * np.minimum(X, 2.2), {"min", "max"}),
        (np.tanh(X - 2), {"tanh", "logistic"}),
        (1 / (1 + np.exp(4 - 2 * X)), {"tanh", "logistic"}),
        (np.exp(-((X - 1) ** 2)), {"gauss"}),
        (np.where(X >= 2.2, 3.0, 1.0), {"step"}),
        (np.sign(X) * np.abs(X) ** 0.6, {"signed_power"}),
    ],
)
def test_one_unit_is_found_as_such(y, units):
    candidate = best(y)
    assert {node.unit.name for node in candidate.expression.nodes} <= units
    assert len(candidate.expression.nodes) == 1
    assert candidate.rmse_train < 0.025


def test_a_dead_zone_is_two_kinks_beside_a_smooth_term():
    y = np.maximum(X - 4, 0) + np.minimum(X, 0) + 0.5 * Z**2
    candidate = best(y, x=X, z=Z)
    units = [node.unit.name for node in candidate.expression.nodes]
    assert sorted(set(units) - {"max", "min", "abs"}) == ["square"]
    assert len(units) == 3
    assert candidate.rmse_train < 0.025


def test_a_prior_without_such_units_costs_nothing():
    assert list(shapes(task_of(np.abs(X), "plain", x=X))) == []


def test_only_units_of_the_prior_are_used():
    found = list(shapes(task_of(np.abs(X - 2), {"units": ["square", "tanh"]}, x=X)))
    assert found
    assert {n.unit.name for c in found for n in c.expression.nodes} <= {"square", "tanh"}


def test_after_the_deadline_nothing_is_begun():
    task = task_of(np.abs(X), "engineering", x=X)
    assert list(shapes(task, time.monotonic() - 1)) == []


def test_a_saturation_that_no_row_sees_the_bend_of_is_a_step():
    task = task_of(np.where(X >= 2.2, 3.0, 1.0), "engineering", 0.02, x=X)
    steep = task.names and [
        c for c in shapes(task) for n in c.expression.nodes if n.unit.is_bounded_curve
        and np.sum(np.abs(c.expression.arguments(task.train.XT.T)[0][0]) < 3) == 0
    ]  # fmt: skip
    assert not steep


def test_where_physical_units_leave_no_trend_there_is_no_shape():
    """A power, inputs of other units, and no constant with one: the fit ended by a traceback."""
    prior = Prior(
        units=("abs", "gauss", "mul"),
        quantities={"x": "1/s", "z": "m", "y": "W"},
        constants="plain",
    )
    task = task_of(np.abs(X - 2), prior.for_target("y"), x=X, z=Z)
    assert task.has_rule
    assert list(shapes(task)) == []
