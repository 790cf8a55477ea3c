"""Fit the constants of a formula that is known: no search, an answer at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ieql.data.dataset import Dataset
from ieql.data.frames import as_pandas
from ieql.data.intake import refuse_extremes, target_names
from ieql.data.sample import Sample
from ieql.data.table import check_table
from ieql.equations.expression import Expression
from ieql.equations.formula import Formula
from ieql.equations.formula_fit import FormulaFit, fit, with_few_digits
from ieql.errors import IeqlError, counted, nearest, shown
from ieql.options import is_whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FittedFormula", "fit_formula"]

Array = NDArray[np.float64]
DIGITS = 2
"""Digits of a constant behind the first one of its standard error."""


@dataclass(frozen=True, eq=False)
class FittedFormula:
    """A formula with its constants at their best fit; printed, it says all of that.

    Attributes
    ----------
    formula : str
        The formula as it was given.
    equation : str
        The same with numbers in the place of the constants.
    constants : DataFrame
        For each constant its ``value``, its ``standard_error`` (NaN if the rows do not determine
        it, 0 at a bound), and its ``low`` and ``high`` bound.
    rmse : float
        Root mean squared error on the rows, in the unit of y.
    undetermined : tuple of str
        Constants that the rows do not determine: only a combination of them, or nothing.
    covariance : DataFrame
        Of the constants.
    expression : Expression
        The equation as a graph.
    """

    formula: str
    equation: str
    constants: pd.DataFrame
    rmse: float
    undetermined: tuple[str, ...]
    covariance: pd.DataFrame
    expression: Expression
    _target: str
    _domain: dict[str, list[float]]

    def predict(self, X: Any) -> Array:
        """Values of the equation at rows of a frame, by the names of its columns, or an array."""
        names = self.expression.names
        table = _table(X, names)
        value: Array = self.expression.evaluate(table)[:, 0]
        return value

    def sympy(self) -> Any:
        """SymPy form of the equation."""
        return self.expression.to_sympy()

    def latex(self, precision: int | None = None) -> str:
        """LaTeX of the equation."""
        from ieql.export.latex import latex

        return latex(self.expression, precision=precision)

    def export(self, format: str, **options: Any) -> str | bytes:
        """The equation in one of the formats that ``ieql export --list`` names."""
        from ieql.export.formats import find_format
        from ieql.export.functions import Equation
        from ieql.export.origin import Origin

        chosen = find_format(format)
        chosen.check(options)
        origin = Origin(errors={self._target: self.rmse})
        return chosen(
            [Equation(self._target, self.expression)], self._domain, origin=origin, **options
        )

    def __str__(self) -> str:
        lines = [f"{self._target} = {self.equation}", f"RMSE {self.rmse:.4g}"]
        for name, row in self.constants.iterrows():
            line = f"  {name} = {row['value']:.10g}"
            at_bound = row["value"] in (row["low"], row["high"])
            if name in self.undetermined:
                line += "  (not determined by these rows)"
            elif at_bound:
                line += "  (at its bound)"
            else:
                line += f" ± {row['standard_error']:.2g}"
            lines.append(line)
        return "\n".join(lines)


def fit_formula(
    text: str,
    X: Any,
    y: Any,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    *,
    start: Mapping[str, float] | None = None,
    sample_weight: Any = None,
    random_state: int = 0,
) -> FittedFormula:
    """Fit the constants of one formula by least squares, from several starts.

    Parameters
    ----------
    text : str
        The formula, ``"a*exp(-t/tau) + b"``: what is not the name of a column is a constant. It is
        read by a grammar of our own, never run as code. Names of columns that are no plain words
        stand in backticks.
    X : DataFrame or array (rows, inputs)
        The inputs; the columns of an array are x0, x1, ….
    y : Series or array (rows,)
        The measured values.
    bounds : mapping from name to (low, high), optional
        Limits of constants; ``float("inf")`` where there is none.
    start : mapping from name to number, optional
        Values to start from, beside random ones.
    sample_weight : array (rows,), optional
        As in `IEQLRegressor.fit`.
    random_state : int, default 0
        Seed of the random starts: the same gives the same.

    Returns
    -------
    FittedFormula
        The equation, its constants with standard errors, and what to do with it.

    Examples
    --------
    >>> import numpy as np
    >>> import ieql
    >>> t = np.linspace(0, 5, 50)
    >>> found = ieql.fit_formula("a*exp(-x0/tau)", t[:, None], 3 * np.exp(-t / 1.5))
    >>> found.equation
    '3*exp(-2*x0/3)'
    >>> found.constants["value"].to_dict()
    {'a': 3.0, 'tau': 1.5}
    """
    X, y = as_pandas(X), as_pandas(y)
    names = _names(X)
    formula = Formula.parse(text, names)
    inputs = _table(X, tuple(names))
    check_table(y, "y", min_rows=1)
    outputs = np.asarray(y, dtype=np.float64)
    if outputs.ndim == 2 and outputs.shape[1] == 1:
        outputs = outputs[:, 0]
    if outputs.ndim != 1:
        raise IeqlError(f"y must be one column, not an array of the shape {outputs.shape}.")
    if not is_whole(random_state) or random_state < 0:
        raise IeqlError(
            f"random_state must be a whole number of at least 0, not {shown(random_state)}."
        )
    data = Dataset.of(inputs, outputs, sample_weight, None, names, target_names(y, outputs)[:1])
    refuse_extremes(data)
    sample = Sample(np.ascontiguousarray(data.X.T), data.y[:, 0], data.weight)
    found = fit(formula, sample, bounds, start, random_state)
    return _presented(formula, found, data, bounds or {})


def _presented(
    formula: Formula, found: FormulaFit, data: Dataset, bounds: Mapping[str, tuple[float, float]]
) -> FittedFormula:
    """What is shown is what is computed: constants with the digits that their errors allow."""
    import pandas as pd

    values = [_rounded(v, e) for v, e in zip(found.values, found.standard_errors, strict=True)]
    expression = with_few_digits(formula.filled(values), data.X, found.rmse)
    inside = [bounds.get(name, (-math.inf, math.inf)) for name in formula.constants]
    index = pd.Index(formula.constants, name="constant")
    table = pd.DataFrame(
        {
            "value": values,
            "standard_error": found.standard_errors,
            "low": [float(low) for low, _ in inside],
            "high": [float(high) for _, high in inside],
        },
        index=index,
        dtype=np.float64,
    )
    residuals = expression.evaluate(data.X)[:, 0] - data.y[:, 0]
    return FittedFormula(
        formula=formula.text,
        equation=expression.text(),
        constants=table,
        rmse=float(np.sqrt(np.average(residuals**2, weights=data.weight))),
        undetermined=found.undetermined,
        covariance=pd.DataFrame(found.covariance, index=index, columns=index),
        expression=expression,
        _target=data.target_names[0],
        _domain={
            name: [float(a), float(b)]
            for name, a, b in zip(
                data.feature_names, data.domain.lower, data.domain.upper, strict=True
            )
        },
    )


def _rounded(value: float, error: float) -> float:
    """A constant to two digits behind the first one of its error, twelve digits at most."""
    size = abs(float(value))
    if size == 0.0 or not math.isfinite(error):
        return float(value)
    least = math.floor(math.log10(size)) - 12
    last = max(least, math.floor(math.log10(error)) - DIGITS) if error > 0.0 else least
    return round(float(value), -last)


def _names(X: Any) -> list[str]:
    """Names of the inputs: a frame's columns, or x0, x1, …."""
    columns = getattr(X, "columns", None)
    if columns is not None:
        return [str(c) for c in columns]
    shape = np.shape(X)
    if len(shape) != 2:
        raise IeqlError(
            f"X must be a frame or an array of rows and columns, not of the shape {shape}; one "
            "column is X[:, None]."
        )
    return [f"x{i}" for i in range(shape[1])]


def _table(X: Any, names: tuple[str, ...]) -> Array:
    """The inputs as numbers, in the order of their names."""
    X = as_pandas(X)
    columns = getattr(X, "columns", None)
    if columns is not None:
        for name in names:
            if name not in list(map(str, columns)):
                raise IeqlError(f"X lacks the column {name!r}.{nearest(name, map(str, columns))}")
        X = X.iloc[:, [list(map(str, columns)).index(name) for name in names]]
    check_table(X, "X", min_rows=1)
    table = np.asarray(X, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(names):
        raise IeqlError(
            f"X must have {counted(len(names), 'column')}, not the shape {table.shape}."
        )
    return table
