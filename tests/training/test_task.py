"""A task measures candidates and refuses what the user does not want."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.shape_points import ShapePoints
from ieql.prior import Prior
from ieql.selection import Candidate
from ieql.shape import Shape
from tasks import NAMES, labelled, make_task


def parse(text):
    return Expression.parse(text, NAMES)


def test_a_candidate_knows_its_errors_and_its_complexity():
    task = make_task("x*y + 0.5*x", {"costs": {"mul": 3}})
    exact = task.candidate(parse("x*y + 0.5*x"))
    assert exact.rmse_train < 1e-12
    assert exact.rmse_validation < 1e-12
    assert np.isnan(exact.rmse_extrapolation)
    assert (exact.n_parameters, exact.complexity) == (4, 6.0)
    wrong = task.candidate(parse("x*y + 0.5*x + 0.25"))
    assert wrong.rmse_validation == pytest.approx(0.25)


def test_the_error_outside_the_data_is_measured_where_it_is_known():
    outside = labelled("x*y + 0.5*x", 20, 2.0, 3.0, 0.0, seed=5)
    task = replace(make_task("x*y + 0.5*x"), extrapolation=outside)
    assert task.candidate(parse("x*y + 0.5*x")).rmse_extrapolation < 1e-12
    assert task.candidate(parse("x*y")).rmse_extrapolation > 0.5


def test_what_is_known_outside_counts_in_the_search_only_if_it_steers():
    c = Candidate(parse("x*y"), 1.0, 1, 0.3, 0.3, rmse_extrapolation=0.4)
    task = make_task("x*y")
    assert task.error(c) == 0.3
    assert replace(task, steered=True).error(c) == pytest.approx(0.5 / 2**0.5)


def test_what_the_prior_forbids_is_no_candidate():
    task = make_task(prior={"inputs": {"y": {"not_in": ["output"]}}})
    assert task.candidate(parse("cos(cos(x))")) is None
    assert task.candidate(parse("x + y")) is None
    assert task.candidate(parse("x + y**2")) is not None


def test_what_needs_more_layers_than_there_are_is_no_candidate():
    task = make_task(layers=1)
    assert task.candidate(parse("cos(x) + x*y")) is not None
    assert task.candidate(parse("cos(x*y)")) is None


def test_what_is_not_safe_in_the_domain_is_no_candidate():
    """Safe on the data in [-1, 1], not in a domain twice as wide."""
    assert make_task(reach=1.0).candidate(parse("log(x + 1.5)")) is not None
    assert make_task(reach=2.0).candidate(parse("log(x + 1.5)")) is None


def test_what_leaves_the_bounds_in_the_domain_is_no_candidate():
    task = make_task(reach=2.0, bounds=(-5.0, 5.0))
    assert task.candidate(parse("2*x")) is not None
    assert task.candidate(parse("3*x")) is None


def test_dense_networks_see_inputs_between_minus_one_and_one_and_a_centred_target():
    task = make_task("x*y + 20", low=50.0, high=90.0)
    XT, y, weight = task.dense
    assert XT.dtype == y.dtype == np.float32
    assert (XT.min(), XT.max()) == (-1.0, 1.0)
    assert abs(y.mean()) < 1e-3 * y.std()
    assert weight is None


def test_weights_reach_dense_networks_only_if_they_differ():
    task = make_task()
    train = task.train
    double = Sample(train.XT, train.y, np.full(len(train), 2.0))
    assert replace(task, train=double).dense[2] is None
    uneven = Sample(train.XT, train.y, np.linspace(1.0, 2.0, len(train)))
    assert replace(task, train=uneven).dense[2].mean() == pytest.approx(1.0)


@pytest.mark.parametrize("text", ["3*x + 2", "x*y - 60*x", "2*exp(0.1*x - 7) + y", "1/(x + y)"])
def test_an_equation_survives_the_way_to_dense_coordinates_and_back(text):
    task = make_task("x*y + 20", low=50.0, high=90.0)
    expression = parse(text)
    dense = task.to_dense(expression)
    expected = expression.evaluate(task.train.XT.T)[:, 0]
    XT, _, _ = task.dense
    np.testing.assert_allclose(dense.evaluate(XT.T)[:, 0], expected - task.mean, rtol=1e-4)
    np.testing.assert_allclose(
        task.from_dense(dense).evaluate(task.train.XT.T)[:, 0], expected, rtol=1e-9
    )


def test_a_task_can_be_sent_to_another_process():
    task = make_task()
    copy = pickle.loads(pickle.dumps(task))
    assert copy.prior == Prior.of("plain")
    found, expected = (t.candidate(parse("x*y")) for t in (copy, task))
    assert found.rmse_validation == expected.rmse_validation


def test_no_more_units_of_a_type_than_the_network_has():
    task = make_task(layers=1, copies=2)
    two = Expression.parse("cos(2*x) + cos(3*y)", NAMES)
    three = Expression.parse("cos(2*x) + cos(3*y) + cos(4*x)", NAMES)
    assert task.candidate(two) is not None
    assert task.candidate(three) is None


def test_a_wave_that_the_rows_cannot_see_is_no_candidate():
    """cos(76433335905143*angle) once stood on a front: aliasing."""
    task = make_task("x + y", n=200)
    assert task.candidate(Expression.parse("cos(76433335905143*x)", NAMES)) is None
    assert task.candidate(Expression.parse("cos(300*x)", NAMES)) is None
    assert task.candidate(Expression.parse("cos(20*x)", NAMES)) is not None


def test_what_breaks_a_limit_is_no_candidate():
    """The one gate to the front, for every trainer."""
    limits = Shape.of({"increasing": ["x"]}).limits
    shape = ShapePoints.of(limits, NAMES, np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    task = make_task(shape=shape)
    assert task.candidate(parse("2*x + y**2")) is not None
    assert task.candidate(parse("x*y + 0.5*x")) is None
