"""Measured tables with their accepted laws: the suite ``measured``.

The tables are not part of the project. They are read from ``shared/data/real`` beside it, whose
README names their sources; what is missing there is left out.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from problems import Data, Problem, beyond

__all__ = ["FOLDER", "problems"]

Array = NDArray[np.float64]
FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "real"
"""Where the tables are looked for: beside the folder of the project."""
ACCEPTED = {
    "eb_bode": ("1", "exp(0.6931471805599453*n)"),
    "eb_hubble": ("D",),
    "eb_kepler": ("a*sqrt(a)",),
    "eb_leavitt": ("log(P)", "1"),
    "eb_tully": ("DV**2*sqrt(DV)",),
}
"""Laws whose constants are fitted to the rows: the terms that the constants multiply."""
STATED = {
    "eb_ideal_gas": "8.314*n*T/V",
    "eb_rydberg": "1/(1.097e7*(1/n_1**2 - 1/n_2**2))",
    "eb_schechter": "0.002/2.5e8*(L/2.5e8)**(-1.2)*exp(-L/2.5e8)",
    "strogatz_bacres1": "20 - x - x*y/(1 + 0.5*x**2)",
    "strogatz_barmag1": "0.5*sin(x - y) - sin(x)",
    "strogatz_glider1": "-0.05*x**2 - sin(y)",
    "strogatz_lv1": "3*x - 2*x*y - x**2",
    "strogatz_predprey1": "x*(4 - x - y/(1 + x))",
    "strogatz_vdp1": "10*(y - (x**3 - x)/3)",
}
"""Laws from which the tables were generated, with their constants."""
WITHOUT = (
    "eng_airfoil", "eng_ccpp", "eng_concrete", "eng_energy_heating", "eng_friction_static",
    "eng_yacht",
)  # fmt: skip
"""Tables without a law, of which only the error on rows kept back is recorded."""
KEPT_BACK = 0.2
ROUNDED = 1e-4
"""Residuals below this part of the spread are the digits with which a table was written."""


def problems(folder: Path = FOLDER) -> list[Problem]:
    """The tables that there are, each with what is known of it."""
    found = []
    for name in (*ACCEPTED, *STATED, *WITHOUT):
        path = folder / f"{name}.csv"
        if not path.exists():
            continue
        table = pd.read_csv(path)
        X, y = table.iloc[:, :-1].astype(float), table.iloc[:, -1].astype(float)
        if name in ACCEPTED:
            found.append(_accepted(name, X, y))
        elif name in STATED:
            found.append(_stated(name, X, y))
        else:
            draw = partial(_split, X=X, y=y)
            found.append(Problem(name, "", tuple(X.columns), "record", draw))
    return found


def _accepted(name: str, X: pd.DataFrame, y: pd.Series) -> Problem:
    """A table whose accepted law is linear in its constants, which are fitted to the rows."""
    names = tuple(X.columns)
    terms = ACCEPTED[name]
    columns = [Expression.parse(term, names).evaluate(X.to_numpy())[:, 0] for term in terms]
    scale = float(np.std(y))  # targets of 1e34 would overflow when squared and squared again
    constants = np.linalg.lstsq(np.stack(columns, axis=1), y.to_numpy() / scale, rcond=None)[0]
    pairs = zip(constants * scale, terms, strict=True)
    formula = " + ".join(f"({float(c)!r})*({term})" for c, term in pairs)
    draw = partial(_rows, X=X, y=y)
    return Problem(name, formula, names, "rss", draw, given_constants=len(terms))


def _rows(seed: int, *, X: pd.DataFrame, y: pd.Series) -> Data:
    """All rows, to learn from and to compare with the accepted law; the seed is the method's."""
    return Data(X, y, X, y, 0.0, float(np.std(y)), {}, {}, is_like_train=False)


def _stated(name: str, X: pd.DataFrame, y: pd.Series) -> Problem:
    names = tuple(X.columns)
    truth = Expression.parse(STATED[name], names)
    draw = partial(_with_truth, X=X, y=y, truth=truth)
    return Problem(name, STATED[name], names, "law", draw)


def _with_truth(seed: int, *, X: pd.DataFrame, y: pd.Series, truth: Expression) -> Data:
    """All rows to learn from; to be judged by, exact values there and beyond."""

    def exact(rows: Array) -> Array:
        return truth.evaluate(rows)[:, 0]

    values = exact(X.to_numpy())
    spread = float(np.std(values))
    noise = float(np.sqrt(np.mean((y.to_numpy() - values) ** 2)))
    noise = 0.0 if noise < ROUNDED * spread else noise
    y_test = pd.Series(values, name=y.name)
    X_beyond, y_beyond = beyond(X, exact, np.random.default_rng(0))
    return Data(X, y, X, y_test, noise, spread, {}, {}, X_beyond, y_beyond)


def _split(seed: int, *, X: pd.DataFrame, y: pd.Series) -> Data:
    """A fifth of the rows kept back, always the same."""
    order = np.random.default_rng(0).permutation(len(X))
    n = round(KEPT_BACK * len(X))
    test, train = np.sort(order[:n]), np.sort(order[n:])
    X_train, X_test = (X.iloc[rows].reset_index(drop=True) for rows in (train, test))
    y_train, y_test = (y.iloc[rows].reset_index(drop=True) for rows in (train, test))
    return Data(X_train, y_train, X_test, y_test, 0.0, float(np.std(y)), {}, {})
