"""`model.plot_…()` and `model.report()`: what the estimator can show of what it found.

A part of the scikit-learn door: a mixin in the manner of scikit-learn's own, so that the
regressor's file is about learning. It uses the fitted model and, where there is one, the evidence
of the fit.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ieql.data.table import check_table
from ieql.equations.expression import Expression
from ieql.errors import IeqlError, counted, nearest
from ieql.files import save_text
from ieql.model import FittedModel
from ieql.report.evidence import Evidence
from ieql.report.findings import Findings
from ieql.report.views import Comparison, compare, slice_through

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["PlotMethods"]

Array = NDArray[np.float64]


class PlotMethods:
    """Figures (Matplotlib axes in, axes out) and the report of a fitted model.

    Figures of data use the sample that `fit` kept; a model from a file has none, so hand it `X` and
    `y`. `index` is a row of the output's front (default: the selected one), `output` the number of
    the output. Without `ax` a new figure is made.
    """

    fitted_: FittedModel
    evidence_: Evidence

    def plot_pareto(self, *, output: int = 0, ax: Axes | None = None) -> Axes:
        """Error over complexity of all equations on the front, the selected one ringed."""
        from ieql.report.figures import draw_pareto

        findings = self._findings()
        k = self._checked_output(output)
        return draw_pareto(
            _axes(ax),
            findings.model.fronts[k],
            findings.model.selected[k],
            findings.model.targets[k],
        )

    def plot_parity(
        self,
        X: ArrayLike | pd.DataFrame | None = None,
        y: ArrayLike | None = None,
        *,
        index: int | None = None,
        output: int = 0,
        ax: Axes | None = None,
    ) -> Axes:
        """Predicted over measured values."""
        from ieql.report.figures import draw_parity

        comparison = self._comparison(X, y, index, output)
        return draw_parity(_axes(ax), comparison, self._findings().model.targets[output])

    def plot_residuals(
        self,
        X: ArrayLike | pd.DataFrame | None = None,
        y: ArrayLike | None = None,
        *,
        over: str | None = None,
        index: int | None = None,
        output: int = 0,
        ax: Axes | None = None,
    ) -> Axes:
        """Histogram of the residuals or, with the name of an input, the residuals over it."""
        from ieql.report.figures import draw_histogram, draw_residuals

        comparison = self._comparison(X, y, index, output)
        target = self._findings().model.targets[output]
        if over is None:
            return draw_histogram(_axes(ax), comparison, target)
        return draw_residuals(_axes(ax), comparison, self._column(over), over, target)

    def plot_slices(
        self,
        X: ArrayLike | pd.DataFrame | None = None,
        *,
        over: str | None = None,
        index: int | None = None,
        output: int = 0,
        ax: Any = None,
    ) -> Any:
        """The equation along each input, the others at their means or most frequent levels.

        With the name of an input in `over`, `ax` is one axes object and is returned. Without, it
        is a sequence of one per input, and an array of axes is returned.
        """
        from ieql.report.figures import draw_slice

        findings = self._findings()
        expression = self._expression(index, self._checked_output(output))
        means, ranges = self._centre(X)
        centre = findings.model.box.possible(np.array([means]))[0].tolist()
        names = findings.model.names if over is None else (over,)
        columns = [self._column(name) for name in names]
        axes = _many_axes(ax, len(names)) if over is None else [_axes(ax)]
        for one, column, name in zip(axes, columns, names, strict=True):
            cut = slice_through(
                expression,
                column,
                centre,
                ranges[column],
                findings.model.domain[findings.model.names[column]],
            )
            draw_slice(one, cut, name, findings.model.targets[output])
        return axes[0] if over is not None else np.array(axes, dtype=object)

    def plot_network(
        self, *, index: int | None = None, output: int | None = None, ax: Axes | None = None
    ) -> Axes:
        """The network with its live connections; all outputs in one unless `output` says which."""
        from ieql.report.diagram import diagram
        from ieql.report.figures import draw_network

        findings = self._findings()
        X = None if findings.evidence is None else findings.evidence.X
        if output is None and index is None:
            shown, targets = findings.selected_expression(), findings.model.targets
        else:
            k = self._checked_output(output or 0)
            shown, targets = self._expression(index, k), (findings.model.targets[k],)
        return draw_network(_axes(ax, (8.0, 5.0)), diagram(shown, targets, findings.model.prior, X))

    def plot_units(self, *, ax: Axes | None = None) -> Axes:
        """Relative frequency of each unit over all candidates, with the units' costs."""
        from ieql.report.figures import draw_units

        findings = self._findings()
        evidence = findings.evidence
        if evidence is None:
            raise IeqlError(
                "This model was loaded without the evidence of its fit, so the units of its "
                "candidates are not known; fit again, or use 'ieql report' on its run folder."
            )
        return draw_units(_axes(ax), evidence, findings.model.prior)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report: one HTML file that needs no network and no other file.

        Parameters
        ----------
        path : path
            Where to; an existing file is replaced, by the whole report or not at all.

        Returns
        -------
        Path
            The file that was written.
        """
        return save_text(path, self.report_html(), "the report ")

    def report_html(self) -> str:
        """The report as HTML text, to be shown or stored elsewhere."""
        from ieql.report.page import page

        findings = self._findings()
        return page(findings.model, findings.evidence)

    # --- what the figures are made of ------------------------------------------------------------

    def _findings(self) -> Findings:
        check_is_fitted(self, "fitted_")
        return Findings(self.fitted_, getattr(self, "evidence_", None))

    def _expression(self, index: int | None, output: int) -> Expression:
        """The selected equation, or row `index` of the front, of one output."""
        return self.fitted_.candidate(index, output).expression

    def _checked_output(self, output: int) -> int:
        n = len(self._findings().model.targets)
        if not isinstance(output, int | np.integer) or not 0 <= output < n:
            raise IeqlError(f"There is no output {output!r}; the outputs are 0 to {n - 1}.")
        return int(output)

    def _column(self, name: str) -> int:
        names = self._findings().model.names
        if name not in names:
            raise IeqlError(f"There is no input {name!r}.{nearest(str(name), names)}")
        return names.index(name)

    def _comparison(self, X: Any, y: Any, index: int | None, output: int) -> Comparison:
        k = self._checked_output(output)
        expression = self._expression(index, k)
        if (X is None) != (y is None):
            raise IeqlError("Give X and y together, or neither.")
        if X is None:
            evidence = self._findings().evidence
            if evidence is None:
                raise IeqlError(
                    "This model was loaded without the data of its fit; give X and y to plot."
                )
            return compare(
                expression, evidence.X, evidence.y[:, k], evidence.outside, evidence.outlier(k)
            )
        table = self._table(X)
        targets = check_array(y, ensure_2d=False, dtype=np.float64)
        targets = targets.reshape(len(targets), -1)
        n = len(self._findings().model.targets)
        if targets.shape != (len(table), n):
            raise IeqlError(
                f"y has the shape {targets.shape}; {counted(len(table), 'row')} and "
                f"{counted(n, 'column')} are needed."
            )
        return compare(expression, table, targets[:, k])

    def _table(self, X: Any) -> Array:
        check_table(X, "X", min_rows=1)
        table: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return table

    def _centre(self, X: Any) -> tuple[list[float], list[tuple[float, float]]]:
        """Mean and range of each input, of `X` or else of the data of the fit."""
        evidence = self._findings().evidence
        if X is not None:
            table = self._table(X)
            ranges = zip(table.min(axis=0).tolist(), table.max(axis=0).tolist(), strict=True)
            return table.mean(axis=0).tolist(), list(ranges)
        if evidence is None:
            raise IeqlError("This model was loaded without the data of its fit; give X to plot.")
        return [c.mean for c in evidence.inputs], [(c.low, c.high) for c in evidence.inputs]


def _axes(ax: Any, size: tuple[float, float] = (5.0, 4.0)) -> Any:
    """The axes given, or new ones in a figure of their own."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def _many_axes(ax: Any, n: int) -> list[Any]:
    if ax is None:
        import matplotlib.pyplot as plt

        columns = min(n, 3)
        rows = -(-n // columns)
        figure = plt.figure(figsize=(3.4 * columns, 2.8 * rows), layout="constrained")
        return [figure.add_subplot(rows, columns, k + 1) for k in range(n)]
    axes = np.ravel(np.asarray(ax, dtype=object)).tolist()
    if len(axes) < n:
        raise IeqlError(f"{n} axes are needed, one per input, not {len(axes)}; or name one: over=.")
    return axes[:n]
