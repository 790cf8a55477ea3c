"""Waves: frequencies from periodograms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ieql.selection import Candidate
from ieql.training.fast.waves import waves
from ieql.training.fast.worth import length
from ieql.training.task import Task
from tasks import task_of


def rows(high: float, n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.0, high, n)


def noise(n: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).normal(size=n)


def best(task: Task) -> Candidate:
    """The candidate with the shortest description."""
    return min(
        waves(task), key=lambda c: length(task, c.rmse_train**2, c.n_constants, c.complexity)
    )


def turns(task: Task, candidate: Candidate) -> list[float]:
    """How often each wave turns over the rows."""
    e = candidate.expression
    arguments = e.arguments(task.train.XT.T)
    return sorted(
        float(np.ptp(z)) / (2 * math.pi)
        for node, (z, *_) in zip(e.nodes, arguments, strict=True)
        if node.unit.period is not None
    )


@pytest.mark.parametrize("even", [True, False])
def test_hundreds_of_periods(even: bool) -> None:
    t = np.random.default_rng(0).permutation(np.linspace(0, 40, 2000)) if even else rows(40, 2000)
    task = task_of(np.sin(50 * t) + noise(2000), t=t)
    assert turns(task, best(task)) == pytest.approx([50 * np.ptp(t) / (2 * math.pi)], rel=1e-3)


def test_a_wave_under_strong_noise() -> None:
    t = rows(10, 1000)
    task = task_of(0.35 * np.sin(20 * t) + noise(1000), t=t)
    assert turns(task, best(task)) == pytest.approx([20 * np.ptp(t) / (2 * math.pi)], rel=0.01)


def test_a_handful_of_rows() -> None:
    t = np.random.default_rng(0).permutation(np.linspace(0, 6, 24))
    task = task_of(5 + 2 * np.sin(3 * t) + 0.2 * noise(24), t=t)
    found = best(task)
    assert turns(task, found) == pytest.approx([18 / (2 * math.pi)], rel=0.05)
    assert found.expression.outputs[0].bias != 0.0


def test_a_damped_oscillation() -> None:
    t = rows(10, 500)
    found = best(task_of(3 * np.exp(-0.4 * t) * np.cos(12 * t + 1) + 0.1 * noise(500), t=t))
    assert found.expression.unit_counts() == {"exp": 1, "cos": 1, "mul": 1}
    assert found.expression.outputs[0].bias == 0.0


@pytest.mark.parametrize(
    ("trend", "units"), [(lambda t: 3 + 0.5 * t, 0), (lambda t: 0.5 * (t - 2) ** 2, 1)]
)
def test_a_trend_beside_the_wave(trend: Any, units: int) -> None:
    t = rows(10, 500)
    found = best(task_of(trend(t) + np.cos(12 * t + 1) + 0.1 * noise(500), t=t)).expression
    assert found.unit_counts() == {"cos": 1, **({"square": 1} if units else {})}


@pytest.mark.parametrize("ratio", [2.0, 2.6])
def test_a_second_wave(ratio: float) -> None:
    t = rows(10, 500)
    task = task_of(np.cos(12 * t + 1) + 0.5 * np.cos(ratio * 12 * t) + 0.1 * noise(500), t=t)
    expected = np.array([12, 12 * ratio]) * np.ptp(t) / (2 * math.pi)
    assert turns(task, best(task)) == pytest.approx(expected, rel=1e-2)


def test_other_inputs_beside_the_wave() -> None:
    a, b, c = (rows(5, 500, seed) for seed in range(3))
    found = best(task_of(3 * a + b**2 + np.sin(40 * c), a=a, b=b, c=c))
    assert found.rmse_train < 1e-9
    assert found.expression.unit_counts() == {"square": 1, "cos": 1}


def test_another_input_may_be_the_amplitude() -> None:
    a, c = rows(5, 500, 0), rows(5, 500, 1)
    found = best(task_of(3 * a * np.sin(20 * c), a=a, c=c))
    assert found.rmse_train < 1e-9
    assert found.expression.unit_counts() == {"cos": 1, "mul": 1}


def test_one_of_many_inputs() -> None:
    columns = {f"x{i}": rows(5, 500, i) for i in range(20)}
    found = best(task_of(np.sin(30 * columns["x7"]) + columns["x3"], **columns)).expression
    assert found.inputs_used == ("x3", "x7")


def test_a_sine_where_the_prior_has_no_cosine() -> None:
    t = rows(5, 500)
    found = best(task_of(np.sin(9 * t) + 0.1 * noise(500), {"units": ["sin", "mul"]}, t=t))
    assert found.expression.unit_counts() == {"sin": 1}


def test_nothing_without_a_unit_that_waves() -> None:
    t = rows(5, 200)
    assert waves(task_of(np.sin(9 * t), {"units": ["mul", "square"]}, t=t)) == []


def test_noise_gives_nothing() -> None:
    false = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 500))
        false += bool(waves(task_of(rng.normal(size=n), t=rng.uniform(0, 1, n))))
    assert false <= 2


def test_no_wave_is_faster_than_the_rows_can_tell() -> None:
    """An input with few levels has waves of any frequency that all look the same."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 12, 400).astype(float)
    task = task_of(np.sin(2.0 * x) + 0.1 * rng.normal(size=400), x=x)
    assert all(t < 12 / 2 for c in waves(task) for t in turns(task, c))


def test_curves_are_no_waves() -> None:
    x = rows(5, 300)
    task = task_of(np.exp(x), x=x)
    assert all(t > 0.7 for c in waves(task) for t in turns(task, c))


def test_the_deadline_is_kept() -> None:
    t = rows(5, 200)
    assert waves(task_of(np.sin(9 * t), t=t), deadline=0.0) == []
