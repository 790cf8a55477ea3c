"""A surrogate of a function or of its logarithm, whichever predicts the rows better.

Products of powers, and all that spans decades, are smooth in logarithms only: a Gaussian process of
the logarithm is off by ten to a thousand times less there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.training.fast.surrogate import Surrogate

__all__ = ["Smoothed"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
PREFERRED = 2.0
"""Factor by which errors of the logarithm may be larger."""
OTHER_SIGN = 1e-3
"""Part of the sum of squares that rows of the other sign may have: noise, where there is little."""


@dataclass(frozen=True, eq=False)
class Smoothed:
    """A function known through a surrogate; made by `Smoothed.fit`.

    Attributes
    ----------
    surrogate : Surrogate
        Of the function or of its logarithm.
    is_logarithm : bool
        Which of them.
    logs : tuple of int
        Inputs that the surrogate sees through their logarithms.
    error : float
        Root mean squared error of rows predicted by the others, in the target's unit.
    """

    surrogate: Surrogate
    is_logarithm: bool
    logs: tuple[int, ...]
    error: float

    @classmethod
    def fit(
        cls, sample: Sample, inputs: Sequence[int], is_logarithm: bool | None = None
    ) -> Smoothed:
        """Fit to the first rows of a sample; the better of both kinds if none is asked for."""
        kinds = (False, True) if is_logarithm is None else (is_logarithm,)
        fits = [cls._fit(sample, tuple(inputs), kind) for kind in kinds]
        # Symmetries show better in logarithms.
        return min(
            (f for f in fits if f is not None),
            key=lambda f: f.error / (PREFERRED if f.is_logarithm else 1.0),
        )

    @classmethod
    def _fit(cls, sample: Sample, inputs: tuple[int, ...], is_logarithm: bool) -> Smoothed | None:
        rows = sample
        logs: tuple[int, ...] = ()
        if is_logarithm:
            kept = _of_one_sign(sample)
            if kept is None:
                return None
            sample = rows = sample.subset(kept)
            logs = tuple(i for i in inputs if _has_one_sign(rows.XT[i]))
            # With these weights errors of the logarithm count as those of the target do.
            rows = Sample(_seen(rows.XT, logs), np.log(np.abs(rows.y)), rows.weight * rows.y**2)
        surrogate = Surrogate.fit(rows, inputs)
        part = sample.head(surrogate.n_rows)
        off = surrogate.left_out * (np.abs(part.y) if is_logarithm else 1.0)
        error = float(np.sqrt(np.average(off**2, weights=part.weight)))
        return cls(surrogate, is_logarithm, logs, error)

    @property
    def inputs(self) -> tuple[int, ...]:
        """The inputs that it is a function of."""
        return self.surrogate.inputs

    def size(self, XT: Array) -> Array:
        """What relative changes of the function are to be multiplied by: itself, or 1."""
        return np.ones(XT.shape[1]) if self.is_logarithm else self.surrogate.predict(XT)

    def change(self, XT: Array, steps: Mapping[int, Array | float]) -> Array:
        """What the function, or its logarithm, changes by from a step down to a step up."""
        up, down = XT.copy(), XT.copy()
        for i, h in steps.items():
            up[i] = up[i] + h
            down[i] = down[i] - h
        predict = self.surrogate.predict
        changes: Array = predict(_seen(up, self.logs)) - predict(_seen(down, self.logs))
        return changes


def _has_one_sign(x: Array) -> bool:
    return bool(np.all(x > 0.0) or np.all(x < 0.0))


def _of_one_sign(sample: Sample) -> Mask | None:
    """The rows with the sign of most, if the others are next to nothing."""
    sign = 1.0 if np.sum(sample.weight * sample.y) > 0.0 else -1.0
    kept: Mask = sign * sample.y > 0.0
    square = sample.weight * sample.y**2
    return kept if np.sum(square[~kept]) <= OTHER_SIGN * np.sum(square) else None


def _seen(XT: Array, logs: tuple[int, ...]) -> Array:
    seen = XT.copy()
    for i in logs:
        seen[i] = np.log(np.abs(XT[i]))
    return seen
