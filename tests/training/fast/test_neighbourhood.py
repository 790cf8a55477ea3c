"""Complete moves: every part of an equation replaced by every structure of at most its size."""

from __future__ import annotations

import time

import numpy as np

from ieql.equations.expression import Expression
from ieql.training.fast.neighbourhood import Place, explored, places
from tasks import NAMES, make_task


def parse(text: str) -> Expression:
    return Expression.parse(text, NAMES)


def test_the_parts_of_an_equation() -> None:
    e = parse("2*exp(-x) + 3*y")
    assert places(e) == [Place(0, 0), Place(1, 0, 0), Place(1, 0, 1)]


def test_a_wrong_part_is_put_right() -> None:
    """exp(-x²) had been selected as a cosine, and no draw of the search put it right."""
    task = make_task("exp(-2*x**2)*cos(3*y)", n=200)
    impostor = parse("-1.6*cos(3*y)*(log(3.57 - cos(1.8*x)) - 1.57)")
    best = np.inf
    for place in places(impostor):
        for candidate in explored(task, impostor, place, seed=0):
            best = min(best, candidate.rmse_train)
    assert best < 1e-6


def test_nothing_is_begun_after_the_deadline() -> None:
    task = make_task(n=60)
    assert explored(task, parse("x*y"), Place(0, 0), seed=0, deadline=time.monotonic() - 1) == []


def test_all_that_is_found_is_permitted() -> None:
    task = make_task("x*y + 0.3*cos(2*x)", {"preset": "plain", "prohibit": ["mul(cos)"]}, n=80)
    e = parse("x*y + 0.2*x**2")
    for place in places(e):
        for candidate in explored(task, e, place, seed=1):
            assert candidate.expression.is_allowed(task.prior)
