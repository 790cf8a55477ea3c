"""A problem of the recovery benchmark: an equation, where its data are drawn, and what counts.

Points are described in the notation of McDermott et al. (2012): ``U[a,b,n]`` are n random points of
[a, b], ``E[a,b,s]`` is the grid from a to b with step s. Ours are ``G[a,b,n]``, an evenly spaced
grid of n points, ``L[a,b,n]``, a grid with equal ratios, and ``V[a,b,n]``, random points with
evenly distributed logarithms. Inputs with grids are crossed with one another.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.equations.simplify import simplify
from reference import n_constants

__all__ = ["Data", "Problem", "beyond", "drawn_problem", "spoilt"]

Array = NDArray[np.float64]
Exact = Callable[[Array], Array]
PAPER_RMSE = 0.011
EXACT = 1e-3
"""Without noise an equation is right if its RMSE is below this part of the output's spread."""
NOISE_FACTOR = 1.1
R2 = 0.999
RSS_FACTOR = 1.05
"""On a measured table an equation is right if its residuals are at most so much larger."""
EXTRA_CONSTANTS = 1
"""How many constants more than the truth an equation may have."""
MAX_TEST_ROWS = 10_000
WIDER = 0.3
"""Part of an input's range by which it is widened on either side, to look beyond the data."""
N_BEYOND = 2_000
FAR = 10.0
"""Where the truth is so many spreads from its mean, beyond the data, an equation is not judged."""
SPEC = re.compile(r"([UVEGL])\[([^,]+),([^,]+),([^,]+)\]")


@dataclass(frozen=True, eq=False)
class Data:
    """Rows to learn from and rows to judge by.

    Attributes
    ----------
    X, y : DataFrame, Series
        To learn from, with noise.
    X_test, y_test : DataFrame, Series
        To judge by: without noise, except in the suites ``paper``, ``noise`` and ``measured``.
    noise, spread : float
        Standard deviation of the noise, and of the exact output over the rows to learn from.
    fit_options : dict
        Further arguments of `fit`: extrapolation points, where the suite has them.
    model_options : dict
        Further parameters of the regressor: criterion and domain, where the suite sets them.
    X_beyond, y_beyond : DataFrame, Series, optional
        Rows without noise outside the range of those to learn from; None where no law is known.
    is_like_train : bool
        Whether the test rows lie where those to learn from do, so that the error on new, noisy
        rows is known: that on the test rows and the noise together.
    y_right : Series, optional
        The rows to learn from as they were before some of them were made grossly wrong: what the
        truth reaches is judged by those that are still right.
    """

    X: pd.DataFrame
    y: pd.Series
    X_test: pd.DataFrame
    y_test: pd.Series
    noise: float
    spread: float
    fit_options: dict[str, Any]
    model_options: dict[str, Any]
    X_beyond: pd.DataFrame | None = None
    y_beyond: pd.Series | None = None
    is_like_train: bool = True
    y_right: pd.Series | None = None

    @property
    def spread_beyond(self) -> float:
        """Spread of the exact output beyond the data, at least that inside."""
        return self.spread if self.y_beyond is None else max(self.spread, _std(self.y_beyond))


@dataclass(frozen=True, eq=False)
class Problem:
    """An equation to be recovered.

    Attributes
    ----------
    name, formula : str
        The formula is the truth in the grammar of `Expression.parse`; empty if there is none.
    names : tuple of str
        All inputs, those that do not matter included.
    criterion : str
        What counts as success, see `succeeds`.
    draw : callable
        Data from a seed.
    is_expressible : bool
        Whether our units can write the formula; if not, it is in the grammar of SymPy.
    given_constants : int, optional
        Constants of the truth, where it has numbers that are not fitted, like the base of 2ⁿ.
    """

    name: str
    formula: str
    names: tuple[str, ...]
    criterion: str
    draw: Callable[[int], Data]
    is_expressible: bool = True
    given_constants: int | None = None

    @property
    def has_truth(self) -> bool:
        """Whether there is an equation to be recovered that our units can write."""
        return bool(self.formula) and self.is_expressible

    @cached_property
    def truth(self) -> Expression:
        """The equation without noise."""
        if not self.has_truth:
            raise ValueError(f"{self.name} has no equation that our units can write.")
        return Expression.parse(self.formula, self.names)

    @cached_property
    def n_parameters(self) -> int | None:
        """Parameters of the truth in our units, as it is written or simpler; None without one."""
        if not self.has_truth:
            return None
        X = self._some_rows()
        return min(self.truth.n_parameters, simplify(self.truth, X).n_parameters)

    @cached_property
    def n_constants(self) -> int | None:
        """Constants of the truth, counted as those of what is found; None without a truth."""
        if not self.has_truth or self.given_constants is not None:
            return self.given_constants
        return n_constants(self.truth, self._some_rows())

    def _some_rows(self) -> Array:
        return self.draw(0).X.to_numpy(dtype=float)[:500]

    def succeeds(
        self,
        data: Data,
        rmse: float,
        inputs_used: Sequence[str],
        *,
        n_constants: int | None = None,
        reachable: float = 0.0,
        is_beyond: bool = False,
    ) -> bool:
        """Tell whether an equation with this test error and these inputs counts as found.

        ``paper``: RMSE ≤ 0.011. ``noise``: with noise s, sqrt(RMSE² + s²) ≤ 1.1 s, the test rows
        being exact; without noise, RMSE ≤ 0.001 of the output's spread. ``r2``: R² > 0.999.
        ``inputs``: exactly the inputs of the truth are used, whatever the error. ``law``: RMSE at
        most the larger of 1.5 times what the truth reaches that is fitted to the same rows
        (`reachable`) and half the noise. ``rss``: the squared error of the measured rows is at most
        1.05 times that of the accepted law (`reachable`), with at most one constant more.
        ``constant``: no input is used.

        Beyond the data the same holds, with noise and spread in proportion to the output's spread
        there, if that is larger.
        """
        if self.criterion == "constant":
            return not inputs_used
        if self.criterion == "inputs" and not is_beyond:
            return set(inputs_used) == set(self.truth.inputs_used)
        if not np.isfinite(rmse):
            return False
        if self.criterion == "paper":
            return rmse <= PAPER_RMSE
        if self.criterion == "rss":
            few = n_constants is None or n_constants <= (self.n_constants or 0) + EXTRA_CONSTANTS
            return few and rmse**2 <= RSS_FACTOR * reachable**2
        if self.criterion == "r2":
            exact = data.y_test if data.y_beyond is None or not is_beyond else data.y_beyond
            return 1.0 - rmse**2 / _std(exact) ** 2 > R2
        return self._is_close(data, rmse, reachable, is_beyond)

    def _is_close(self, data: Data, rmse: float, reachable: float, is_beyond: bool) -> bool:
        """Compare an error with the noise or, without noise, with the output's spread."""
        scale = data.spread_beyond / data.spread if is_beyond else 1.0
        noise = scale * data.noise
        if noise == 0.0:
            return rmse <= EXACT * scale * data.spread
        if self.criterion == "law":
            return rmse <= max(1.5 * reachable, 0.5 * noise)
        return bool(np.hypot(rmse, noise) <= NOISE_FACTOR * noise)


def _std(values: pd.Series) -> float:
    return float(np.std(values.to_numpy(dtype=float)))


# --- drawing -----------------------------------------------------------------------------------


def points(specs: Mapping[str, str], rng: np.random.Generator) -> pd.DataFrame:
    """Draw the rows that a mapping from inputs to ``U[...]``, ``E[...]`` and so on describes."""
    grids: dict[str, NDArray[Any]] = {}
    drawn: dict[str, tuple[str, float, float]] = {}
    n_rows = 1
    for name, spec in specs.items():
        match = SPEC.fullmatch(spec)
        if match is None:
            raise ValueError(f"{spec!r} is neither U[a,b,n] nor V, E, G or L instead of U.")
        kind = match[1]
        low, high, last = (float(match[k]) for k in (2, 3, 4))
        if kind in "UV":
            drawn[name] = (kind, low, high)
            n_rows = max(n_rows, int(last))
        elif kind == "E":
            grids[name] = low + last * np.arange(int((high - low) / last + 1e-9) + 1)
        else:
            grids[name] = (np.linspace if kind == "G" else np.geomspace)(low, high, int(last))
    mesh = [axis.ravel() for axis in np.meshgrid(*grids.values(), indexing="ij")]
    n_rows = len(mesh[0]) if mesh else n_rows
    columns = dict(zip(grids, mesh, strict=True))
    for name, (kind, low, high) in drawn.items():
        if kind == "U":
            columns[name] = rng.uniform(low, high, n_rows)
        else:
            columns[name] = np.exp(rng.uniform(np.log(low), np.log(high), n_rows))
    return pd.DataFrame({name: columns[name] for name in specs})


def beyond(
    X: pd.DataFrame, exact: Exact, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.Series]:
    """Rows without noise outside the range of given ones, at least in one input.

    Each range is widened by 30 % of its width on either side, but not across zero; a lower end
    above zero goes down by 30 % of itself at most. Points at which the truth is undefined, or
    more than ten spreads away from its mean, are left out: there is a pole or its like.
    """
    rows = X.to_numpy(dtype=float)
    low, high = rows.min(axis=0), rows.max(axis=0)
    width = WIDER * (high - low)
    lower, upper = low - width, high + width
    lower = np.where((low >= 0.0) & (lower <= 0.0), (1.0 - WIDER) * low, lower)
    upper = np.where((high <= 0.0) & (upper >= 0.0), (1.0 - WIDER) * high, upper)
    drawn = rng.uniform(lower, upper, (4 * N_BEYOND, len(low)))
    drawn = drawn[np.any((drawn < low) | (drawn > high), axis=1)]
    inside = exact(rows)
    with np.errstate(all="ignore"):
        values = exact(drawn)
        kept = np.abs(values - inside.mean()) <= FAR * np.std(inside)
    chosen = np.flatnonzero(kept)[:N_BEYOND]
    return pd.DataFrame(drawn[chosen], columns=X.columns), pd.Series(values[chosen], name="y")


def _draw(
    seed: int,
    *,
    name: str,
    exact: Exact,
    train: Mapping[str, str],
    test: Mapping[str, str],
    noise: float,
    is_like_train: bool,
) -> Data:
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    X, X_test = points(train, rng), points(test, rng)
    if len(X_test) > MAX_TEST_ROWS:
        X_test = X_test.iloc[np.sort(rng.permutation(len(X_test))[:MAX_TEST_ROWS])]
        X_test = X_test.reset_index(drop=True)
    values, values_test = exact(X.to_numpy()), exact(X_test.to_numpy())
    spread = float(np.std(values))
    y = values + rng.normal(0.0, 1.0, len(X)) * noise * spread
    data = Data(
        X,
        pd.Series(y, name="y"),
        X_test,
        pd.Series(values_test, name="y"),
        noise * spread,
        spread,
        {},
        {},
        is_like_train=is_like_train,
    )
    # After everything else, so that the rows to learn from are those that they always were.
    X_beyond, y_beyond = beyond(X, exact, rng)
    return replace(data, X_beyond=X_beyond, y_beyond=y_beyond)


def _evaluated(expression: Expression, X: Array) -> Array:
    return expression.evaluate(X)[:, 0]


def drawn_problem(
    name: str,
    formula: str,
    train: Mapping[str, str],
    test: Mapping[str, str],
    noise: float,
    criterion: str,
    *,
    exact: Exact | None = None,
    is_like_train: bool = True,
) -> Problem:
    """A problem whose rows are drawn.

    Parameters
    ----------
    name, formula, criterion
        As in `Problem`.
    train, test : mapping
        From each input to how it is drawn.
    noise : float
        As a part of the output's spread.
    exact : callable, optional
        Values of a formula that our units cannot write.
    is_like_train : bool
        Whether the test rows lie where the others do.
    """
    values = exact or partial(_evaluated, Expression.parse(formula, tuple(train)))
    draw = partial(
        _draw,
        name=name,
        exact=values,
        train=train,
        test=test,
        noise=noise,
        is_like_train=is_like_train,
    )
    return Problem(name, formula, tuple(train), criterion, draw, is_expressible=exact is None)


def spoilt(draw: Callable[[int], Data], share: float, seed: int) -> Data:
    """Data of which some rows to learn from are off by 5 to 50 times the output's spread."""
    data = draw(seed)
    rng = np.random.default_rng([seed, 17])
    n = len(data.y)
    rows = rng.choice(n, round(share * n), replace=False)
    y = data.y.to_numpy(copy=True)
    y[rows] += data.spread * rng.uniform(5, 50, len(rows)) * rng.choice([-1, 1], len(rows))
    wrong = pd.Series(y, index=data.y.index, name=data.y.name)
    return replace(data, y=wrong, y_right=data.y)
