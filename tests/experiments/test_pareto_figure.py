"""The paper's Pareto plot, its own points beside ours."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments import pareto_figure
from experiments.paper_values import PARETO, PARETO_EXACT, PARETO_SELECTED


def report(n, shrink=1.0):
    rows = [
        {"complexity": 5.0 * k, "rmse_validation": shrink * 10.0 / k, "rmse_test": 11.0 / k}
        for k in range(1, n + 1)
    ]
    return {"front": rows, "selected": {"V_int-S": 2, "V_int": n - 1}}


FRONTS = {"raw": report(9), "finished": report(7, 0.5)}


def test_the_papers_points_are_those_of_its_figure():
    assert len(PARETO) == 78
    assert {PARETO_SELECTED, PARETO_EXACT} <= {complexity for complexity, _ in PARETO}
    assert min(PARETO, key=lambda point: point[1])[0] == PARETO_EXACT


def test_every_network_is_a_point():
    figure = pareto_figure.draw(FRONTS)
    left, right = figure.axes
    assert [len(c.get_offsets()) for c in left.collections] == [78]
    assert [len(c.get_offsets()) for c in right.collections] == [9, 7]


def test_it_says_what_was_selected():
    words = pareto_figure.words(FRONTS)
    assert words.startswith("9 networks with motor costs")
    assert "7 of them are safe equations" in words
    assert "V_int-S selects a complexity of 15 with a test error of 3.67 Nm" in words
