"""Whether the paper's error of the mean predictor is one that a single test set can have.

The paper prints one number for each problem, ours is a median over five test sets. So test sets
are drawn anew, and it is counted how often their error is as far from the middle as the paper's.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from experiments.paper_values import COMPLEX, PROBLEMS
from ieql import load_problem
from ieql.problems import N_TEST

__all__ = ["tail_share", "words"]

DRAWS = 300
RARE = 0.01
"""Share of the test sets below which chance is no explanation."""


@cache
def tail_share(problem: str) -> float:
    """Share of 300 test sets whose error is at least as far out, on its side, as the paper's."""
    data = load_problem(problem)
    printed = COMPLEX["mean"][problem][0]
    low, high = np.array([data.domain[name] for name in data.feature_names]).T
    rng = np.random.default_rng(0)
    X = rng.uniform(low, high, (DRAWS * N_TEST, len(low)))
    y = data.truth.evaluate(X)[:, 0] + data.noise * rng.normal(size=len(X))
    square = ((y - data.y.mean()) ** 2).reshape(DRAWS, N_TEST)
    # The paper rounds to two decimals.
    error = np.round(np.sqrt(square.mean(axis=1)), 2)
    return float(min(np.mean(error >= printed), np.mean(error <= printed)))


def words() -> str:
    """What the draws say of the problems, in a sentence or two."""
    shares = {name: tail_share(name) for name in PROBLEMS}
    rare = [name for name, share in shares.items() if share < RARE]
    least = min((name for name in shares if name not in rare), key=lambda name: shares[name])
    found = (
        "**The mean predictor.** The paper prints one error for each problem, so it had one test "
        f"set. Of {DRAWS} test sets drawn anew, {shares[least]:.0%} or more have an error as far "
        f"out as the paper's on all problems"
    )
    if not rare:
        return f"{found} (the fewest on {least})."
    return (
        f"{found} but {', '.join(rare)} (the fewest on {least}). On {', '.join(rare)} chance does "
        "not explain it, so the data must have been different; a star in the paper's table says "
        "that inputs and outputs were scaled, but not how."
    )
