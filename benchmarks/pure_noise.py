"""Targets without any law: the suite ``noise``. What is right is a constant.

Five kinds of noise about a level that is not zero, over one to three inputs that were measured in
the usual ways, in 6 to 200 rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from problems import Data, Problem, points

__all__ = ["problems"]

Array = NDArray[np.float64]
LEVEL, SPREAD = 37.4, 2.31
N_TEST = 2_000
N_ROWS = (6, 12, 30, 80, 200)
INPUTS = (
    {"t": "G[0,24,{n}]"},
    {"T": "U[250,900,{n}]", "c": "V[0.001,5,{n}]"},
    {"x": "U[-1,1,{n}]", "p": "U[90,110,{n}]", "v": "U[0.4,4,{n}]"},
)
"""How the inputs are measured, with one, two and three of them."""
KINDS: Mapping[str, Callable[[np.random.Generator, Array], Array]] = {
    "normal": lambda rng, x: rng.normal(size=len(x)),
    "uniform": lambda rng, x: rng.uniform(-1.7, 1.7, len(x)),
    "t3": lambda rng, x: rng.standard_t(3, len(x)),
    "heteroscedastic": lambda rng, x: (0.2 + 1.8 * x) * rng.normal(size=len(x)),
    "lognormal": lambda rng, x: np.exp(rng.normal(0.0, 0.7, len(x))),
}
"""Noise from a generator and, for noise that is not the same everywhere, an input from 0 to 1."""


def problems() -> list[Problem]:
    """All targets, named by kind, inputs and rows."""
    return [
        Problem(
            f"{kind}-{len(inputs)}x{n}",
            "",
            tuple(inputs),
            "constant",
            partial(_draw, kind=kind, inputs=inputs, n=n),
        )
        for kind, inputs, n in product(KINDS, INPUTS, N_ROWS)
    ]


def _draw(seed: int, *, kind: str, inputs: Mapping[str, str], n: int) -> Data:
    name = f"{kind}-{len(inputs)}x{n}"
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    X = points({x: how.format(n=n) for x, how in inputs.items()}, rng)
    # New rows lie where the others do; of a grid, anywhere on it.
    X_test = points({x: how.format(n=N_TEST) for x, how in inputs.items()}, rng)
    y, y_test = (_target(kind, T, rng) for T in (X, X_test))
    return Data(X, y, X_test, y_test, 0.0, float(np.std(y)), {}, {})


def _target(kind: str, X: pd.DataFrame, rng: np.random.Generator) -> pd.Series:
    first = X.iloc[:, 0].to_numpy(dtype=float)
    place = (first - first.min()) / (first.max() - first.min())
    return pd.Series(LEVEL + SPREAD * KINDS[kind](rng, place), name="y")
