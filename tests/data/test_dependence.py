"""That a target rises or falls with an input is known from ranks, before any equation is fitted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from ieql.data.dependence import dependence, rank_chance

RNG = np.random.default_rng(0)


def test_six_rows_that_rise_have_a_chance_of_one_in_360():
    x = np.arange(6.0)
    assert rank_chance(x, x**3) == pytest.approx(2 / 720)
    assert rank_chance(x, -(x**3)) == pytest.approx(2 / 720)
    assert rank_chance(np.arange(12.0), np.arange(12.0)) == pytest.approx(2 / math.factorial(12))


@pytest.mark.parametrize("n", [8, 30, 300])
def test_it_is_spearmans_for_more_rows_ties_included(n):
    x, y = RNG.integers(0, 6, n).astype(float), RNG.integers(0, 6, n).astype(float)
    assert rank_chance(x, y) == pytest.approx(spearmanr(x, y).pvalue)


def test_rows_without_a_law_are_worth_little_however_many_inputs_there_are():
    """A limit of p says: in at most this part of all tables without a law."""
    worth = [dependence(RNG.normal(size=(5, 12)), RNG.normal(size=12)) for _ in range(500)]
    assert np.mean(np.array(worth) > 4.4) <= 0.01  # a chance of one in a hundred


def test_the_best_of_several_inputs_is_one_of_several_tries():
    x, noise = np.arange(6.0), RNG.normal(size=(4, 6))
    alone, among = dependence(x[None], x), dependence(np.vstack([x, noise]), x)
    assert among < alone
    constant = np.ones((3, 6))
    assert dependence(np.vstack([x, constant]), x) == alone


def test_what_cannot_rise_says_nothing():
    x = np.arange(6.0)
    assert dependence(x[None], np.ones(6)) == 0.0
    assert dependence(np.ones((1, 6)), x) == 0.0
    assert dependence(x[None, :2], x[:2]) == 0.0
    assert dependence(np.empty((0, 6)), x) == 0.0


@given(st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=7, unique=True), st.randoms())
def test_any_unit_of_measurement_will_do(values, random):
    y = np.array(values)
    x = np.array(random.sample(values, len(values)))
    chance = rank_chance(x, y)
    assert 0.0 < chance <= 1.0
    assert rank_chance(-3.0 * x, y) == pytest.approx(chance)
    assert rank_chance(np.argsort(np.argsort(x)).astype(float), y) == pytest.approx(chance)
