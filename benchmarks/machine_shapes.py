"""Kinks, saturations, dead zones, logistic curves, peaks and steps: how often the form is found.

Problems are drawn from a seed: other constants each time, up to two inputs beside the one that
bends, and for half of them a second, smooth term. Targets have noise of 2 % of their spread. A form
counts as found if the selected equation has the units of the shape and no others, but for those of
the smooth term, and is closer to the truth than the noise is.

    python benchmarks/machine_shapes.py --problems 12 --time 20
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ieql import IEQLRegressor

Array = NDArray[np.float64]
ROWS, NOISE = 240, 0.02
KINKED = {"abs", "min", "max"}
SMOOTH = {"mul", "square"}
"""What the second term may be written with."""


@dataclass(frozen=True)
class Shape:
    """A family of curves: one of them for some random numbers, and the units of its form."""

    draw: Callable[[np.random.Generator], Callable[[Array], Array]]
    units: frozenset[str]
    most: int


def _kink(rng: np.random.Generator) -> Callable[[Array], Array]:
    before, at = rng.uniform(-1, 1), rng.uniform(0.25, 0.75)
    after = before + rng.choice([-1, 1]) * rng.uniform(1, 3)
    return lambda u: before * u + (after - before) * np.maximum(u - at, 0)


def _saturation(rng: np.random.Generator) -> Callable[[Array], Array]:
    slope, at = rng.uniform(1, 4), rng.uniform(0.3, 0.7)
    if rng.random() < 0.5:
        return lambda u: slope * np.minimum(u, at)
    return lambda u: slope * np.tanh(4 * (u - at))


def _dead_zone(rng: np.random.Generator) -> Callable[[Array], Array]:
    low, high = rng.uniform(0.2, 0.4), rng.uniform(0.55, 0.8)
    slope = rng.uniform(1, 4)
    return lambda u: slope * (np.maximum(u - high, 0) + np.minimum(u - low, 0))


def _logistic(rng: np.random.Generator) -> Callable[[Array], Array]:
    height, rate, at = rng.uniform(1, 4), rng.uniform(8, 20), rng.uniform(0.3, 0.7)
    return lambda u: height / (1 + np.exp(-rate * (u - at)))


def _peak(rng: np.random.Generator) -> Callable[[Array], Array]:
    height, width, at = rng.uniform(1, 4), rng.uniform(0.1, 0.3), rng.uniform(0.3, 0.7)
    return lambda u: height * np.exp(-(((u - at) / width) ** 2))


def _step(rng: np.random.Generator) -> Callable[[Array], Array]:
    height, at = rng.uniform(1, 4), rng.uniform(0.25, 0.75)
    return lambda u: height * (u >= at)


SHAPES = {
    "kink": Shape(_kink, frozenset(KINKED), 1),
    "saturation": Shape(_saturation, frozenset({"min", "max", "tanh", "logistic"}), 1),
    "dead zone": Shape(_dead_zone, frozenset(KINKED), 2),
    "logistic": Shape(_logistic, frozenset({"logistic", "tanh"}), 1),
    "peak": Shape(_peak, frozenset({"gauss"}), 1),
    "step": Shape(_step, frozenset({"step"}), 1),
}
"""A logistic curve is a hyperbolic tangent with an offset: either name is its own."""


def problem(family: str, seed: int) -> tuple[pd.DataFrame, Array, Array]:
    """Inputs, noisy targets and the truth of one problem of a family."""
    rng = np.random.default_rng([seed, sorted(SHAPES).index(family)])
    low, width = rng.uniform(-5, 5), np.exp(rng.uniform(np.log(0.5), np.log(50)))
    others = int(rng.integers(0, 3))
    X = {"x": low + width * rng.random(ROWS)}
    X |= {f"z{k}": rng.uniform(0, 3, ROWS) for k in range(others)}
    truth = SHAPES[family].draw(rng)((X["x"] - low) / width)
    truth = truth / np.std(truth)
    if others and rng.random() < 0.7:
        z = X["z0"]
        truth = truth + (0.5 * z if rng.random() < 0.5 else 0.25 * z**2)
    y = truth + NOISE * np.std(truth) * rng.standard_normal(ROWS)
    return pd.DataFrame(X), y, truth


def is_found(model: IEQLRegressor, family: str, X: pd.DataFrame, truth: Array) -> bool:
    """Whether the selected equation has the form of the family, and is right."""
    shape = SHAPES[family]
    counts = model.fitted_.fronts[0][model.selected_[0]].expression.unit_counts()
    own = sum(n for name, n in counts.items() if name in shape.units)
    strangers = set(counts) - shape.units - SMOOTH
    off = float(np.sqrt(np.mean((model.predict(X) - truth) ** 2)))
    return 0 < own <= shape.most and not strangers and off < NOISE * float(np.std(truth))


def main() -> None:
    """Draw problems, family by family, and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=12, help="how many, over all families")
    parser.add_argument("--time", type=float, default=20.0, help="seconds for each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=SHAPES, help="this family alone")
    parser.add_argument("--prior", default="engineering")
    options = parser.parse_args()
    families = [options.family] if options.family else list(SHAPES)
    found = 0
    for k in range(options.problems):
        family, seed = families[k % len(families)], options.seed + k // len(families)
        X, y, truth = problem(family, seed)
        began, cpu = time.monotonic(), time.process_time()
        model = IEQLRegressor(
            prior=options.prior, max_time=options.time, n_jobs=1, random_state=seed
        ).fit(X, y)
        good = is_found(model, family, X, truth)
        found += good
        print(
            f"{'found ' if good else 'MISSED'} {family:10} {seed} {X.shape[1]} input(s) "
            f"{time.monotonic() - began:5.1f} s ({time.process_time() - cpu:.1f} s of CPU): "
            f"{model.expression()}",
            flush=True,
        )
    print(f"{found} of {options.problems} found")


if __name__ == "__main__":
    main()
