"""Fits of many structures from scratch."""

from __future__ import annotations

import numpy as np
import pytest

from ieql import Prior
from ieql.data.sample import Sample
from ieql.training.fast.batch import Batch, Effort, Fits
from ieql.training.fast.structures import RESOLUTION, Grammar
from ieql.training.fast.styles import ALL_OFFSETS, NO_OFFSETS

X = np.linspace(0.3, 4.0, 40)
LAWS = {
    "exponential": (3, 2.1 * np.exp(-0.7 * X) + 0.4),
    "saturation": (3, 3.1 * X / (X + 1.7)),
    "wave": (2, 1.3 * np.cos(2.9 * X + 0.4)),
    "power": (4, 0.8 * X**1.37),
    "peak": (4, 2.7 * np.exp(-((X - 1.9) ** 2) / 0.6)),
}


def fits(
    y: np.ndarray,
    k: int,
    seed: int = 0,
    effort: Effort | None = None,
    variants: tuple[int, ...] = (NO_OFFSETS, ALL_OFFSETS),
) -> list[Fits]:
    """All structures of k connections, with few and with all offsets."""
    g = Grammar(Prior.of("plain"), ("x",), (0,))
    batch = Batch(g, g.structures(k * RESOLUTION))
    sample = Sample(X[None, :].copy(), y, np.ones(len(y)))
    seeds = np.arange(len(batch), dtype=np.uint64) + np.uint64(seed)
    points = np.array([[0.3, 4.0]])
    effort = effort or Effort()
    return [batch.fit(sample, points, seeds, offsets, effort) for offsets in variants]


@pytest.mark.parametrize("law", LAWS)
def test_a_law_is_among_the_fits_of_its_size(law: str) -> None:
    k, y = LAWS[law]
    assert min(float(f.errors.min()) for f in fits(y, k)) < 1e-9 * np.var(y)


def test_the_expression_has_the_error_of_its_fit() -> None:
    y = LAWS["saturation"][1]
    for found in fits(y, 3):
        for i in np.argsort(found.errors)[:5]:
            value = found.expression(int(i)).evaluate(X[:, None])[:, 0]
            assert np.mean((value - y) ** 2) == pytest.approx(float(found.errors[i]), abs=1e-12)


def test_without_offsets_there_are_fewer_constants() -> None:
    bare, all_offsets = fits(LAWS["power"][1], 3)
    assert np.all(bare.n_free <= all_offsets.n_free)
    assert np.any(bare.n_free < all_offsets.n_free)


def test_the_same_seed_gives_the_same_fits_and_another_one_others() -> None:
    y = LAWS["wave"][1] * X
    little = Effort(starts=3, kept=1, steps=2)
    same, again, other = (fits(y, 4, seed, little)[1].errors for seed in (1, 1, 900))
    np.testing.assert_array_equal(same, again)
    assert np.any(same != other)


def test_a_single_offset_finds_what_many_make_hard() -> None:
    """With an offset for every sum the fits of 1/√(c - x²) crept along a valley for ever."""
    y = 3.0 / np.sqrt(49.0 - X**2)
    both, single = fits(y, 4), fits(y, 4, variants=tuple(range(5)))
    assert min(float(f.errors.min()) for f in single) < 1e-14 * np.var(y)
    assert min(float(f.errors.min()) for f in both) > 1e-12 * np.var(y)


def test_a_structure_without_such_an_offset_is_left_out() -> None:
    found = fits(LAWS["wave"][1], 2, variants=(NO_OFFSETS, 40))
    assert np.isfinite(found[0].errors).any()
    assert np.all(np.isinf(found[1].errors))


def test_an_exponential_over_decades_may_lie_close_to_its_edge() -> None:
    """Planck's law: beside exp(x), which goes to thousands, the 1 was never tried."""
    y = 1.0 / (np.exp(2.0 * X) - 0.9)
    assert min(float(f.errors.min()) for f in fits(y, 3)) < 1e-12 * np.var(y)
