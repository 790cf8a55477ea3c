"""The paper's architecture figure, drawn from what was learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.prior import Prior
from ieql.report.diagram import diagram
from ieql.report.figures import draw_network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["architecture"]

Array = NDArray[np.float64]
DIGITS = 4
"""Significant digits of the constants below the network."""
LONGEST = 110
"""Characters of an equation below the network, at most."""


def architecture(
    expression: Expression,
    targets: Sequence[str] | None = None,
    prior: Prior | str = "plain",
    X: Array | None = None,
) -> Figure:
    """Draw a network with one or several outputs (figure "Exemplary setup of the iEQL").

    Inputs on the left, a column of units per hidden layer, outputs on the right; live connections
    in colour with their weights, other units faint, and a bold frame around units that several
    outputs share. Below it stand the equations.

    Parameters
    ----------
    expression : Expression
        Such as `IEQLRegressor.whole` gives; in it outputs share the units they have in common.
    targets : sequence of str, optional
        Names of the outputs; default y1, y2, …
    prior : Prior or name of a preset
        Which units stand in every layer, and what is prohibited.
    X : array (rows, inputs), optional
        With it a connection is drawn as strong as what it carries.

    Examples
    --------
    >>> e = Expression.parse("x1*x2/(cos(x1) + 1.5)", ["x1", "x2"])
    >>> architecture(e).savefig("architecture.png")  # doctest: +SKIP
    """
    from matplotlib.figure import Figure

    names = targets or [f"y{k + 1}" for k in range(len(expression.outputs))]
    network = diagram(expression, tuple(names), Prior.of(prior), X)
    figure = Figure(
        figsize=(1.2 + 1.55 * network.n_columns, 0.9 + 0.42 * network.n_rows + 0.25 * len(names)),
        layout="constrained",
    )
    ax = draw_network(figure.subplots(), network)
    inner = [f"layer {k}" for k in range(1, network.n_columns - 1)]
    headings = ["inputs", *inner, "output" if len(names) == 1 else "outputs"]
    top = network.n_rows / 2 + 0.25
    for column, word in enumerate(headings):
        ax.text(column, top, word, ha="center", va="bottom", fontsize="small", color="0.35")
    ax.set_ylim(-network.n_rows / 2 - 0.2, top + 0.5)
    figure.supxlabel(
        "\n".join(_equation(expression, k, name) for k, name in enumerate(names)),
        fontsize="small",
        parse_math=False,
    )
    return figure


def _equation(expression: Expression, output: int, name: str) -> str:
    text = f"{name} = {expression.text(output, precision=DIGITS)}"
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
