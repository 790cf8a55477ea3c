"""Whether a learned equation has the structure of the truth, up to fitted constants."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression, Sum
from ieql.equations.simplify import simplify

__all__ = ["same_structure", "skeleton"]

Array = NDArray[np.float64]
TOLERANCE = 1e-2
SHARE = 0.95
EXTRA_PARAMETERS = 2
N_POINTS = 2_000
N_LEAST = 100


def same_structure(
    found: Expression,
    truth: Expression,
    X: Array,
    *,
    noise: float = 0.0,
    n_parameters: int | None = None,
) -> bool:
    """Tell whether `found` is the truth, up to fitted constants and the way it is written.

    It is if it has at most two parameters more than the truth and one of these holds:

    - its values are those of the truth in a box twice as wide as the data: at 95 % of the points
      where the truth is defined they differ by at most a hundredth of the distance from the
      truth's mean plus its spread (or, if that is more, as much as the noise is of the spread);
    - its graph is that of the truth (a sine being a shifted cosine) and its values on the data
      differ by no more than that. This is for constants that the data do not fix well enough to
      leave their range.

    Parameters
    ----------
    found, truth : Expression
        With the same inputs.
    X : array (rows, inputs)
        The data.
    noise : float
        Standard deviation of the noise on the outputs learned from.
    n_parameters : int, optional
        Of the truth; default: as `truth` is written.
    """
    n_parameters = truth.n_parameters if n_parameters is None else n_parameters
    if found.n_parameters > n_parameters + EXTRA_PARAMETERS:
        return False
    values = truth.evaluate(X)[:, 0]
    mean, spread = float(np.mean(values)), float(np.std(values))
    tolerance = max(TOLERANCE, noise / spread)

    def agree(points: Array) -> bool:
        exact = truth.evaluate(points)[:, 0]
        defined = np.isfinite(exact)
        if defined.sum() < N_LEAST:
            return False
        exact, own = exact[defined], found.evaluate(points[defined])[:, 0]
        with np.errstate(invalid="ignore"):
            close = np.abs(own - exact) <= tolerance * (spread + np.abs(exact - mean))
        return bool(np.mean(close) >= SHARE)

    if agree(_twice_as_wide(X)):
        return True
    rows = X[:N_POINTS] if len(X) >= N_LEAST else np.tile(X, (N_LEAST // len(X) + 1, 1))
    return agree(rows) and skeleton(found, X) == skeleton(truth, X)


def _twice_as_wide(X: Array) -> Array:
    low, high = X.min(axis=0), X.max(axis=0)
    half = (high - low) / 2
    rng = np.random.default_rng(0)
    points: Array = rng.uniform(low - half, high + half, (N_POINTS, X.shape[1]))
    return points


def skeleton(expression: Expression, X: Array) -> str:
    """The graph without its constants, written so that equal graphs give equal texts."""
    expression = simplify(expression, X[:500])
    texts = list(expression.names)

    def of(s: Sum) -> str:
        return "[" + " ".join(sorted(texts[i] for i in s.sources)) + "]"

    for node in expression.nodes:
        args = [of(a) for a in node.args]
        if node.unit.name == "mul":
            args.sort()
        name = "cos" if node.unit.name == "sin" else node.unit.name
        texts.append(f"{name}({', '.join(args)})")
    return of(expression.outputs[0])
