"""The problems of `machine_shapes.py`: drawn from a seed, with the noise that they say."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from machine_shapes import NOISE, SHAPES, problem


@pytest.mark.parametrize("family", SHAPES)
def test_a_seed_fixes_a_problem_and_another_gives_another(family):
    X, y, truth = problem(family, 3)
    again, same, _ = problem(family, 3)
    assert again.equals(X)
    np.testing.assert_array_equal(same, y)
    assert not np.array_equal(problem(family, 4)[1], y)
    assert np.std(y - truth) == pytest.approx(NOISE * np.std(truth), rel=0.2)
