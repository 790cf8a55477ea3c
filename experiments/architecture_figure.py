"""The paper's architecture figure ("Exemplary setup of the iEQL"), drawn from what was learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from experiments.budget import Budget
from experiments.store import Part
from ieql import IEQLRegressor
from ieql.equations.builder import joined
from ieql.equations.expression import Expression
from ieql.prior import Prior
from ieql.report.architecture import architecture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "learned", "words"]

EXAMPLE = {"y1": "x1*x2/(cos(x1) + 1.5)", "y2": "0"}
"""The equations of the paper's architecture figure, ..."""
EXAMPLE_PRIOR = {
    "units": ["cos", "exp", "log", "mul", "div"],
    "prohibit": ["cos(cos)", "cos(exp)", "exp(exp)", "log(log)"],
}
"""... its units, and what the paper prohibits."""
EXAMPLE_ROWS, EXAMPLE_NOISE = 300, 0.01


def learned(budget: Budget) -> Part:
    """Learn the paper's example jointly: one output is a quotient of units, the other is zero."""
    rng = np.random.default_rng(0)
    names = ["x1", "x2"]
    X = pd.DataFrame(rng.uniform(-3.0, 3.0, (EXAMPLE_ROWS, 2)), columns=names)
    noise = EXAMPLE_NOISE * rng.normal(size=EXAMPLE_ROWS)
    truth = [Expression.parse(text, names) for text in EXAMPLE.values()]
    Y = pd.DataFrame(
        {name: e.evaluate(X.to_numpy())[:, 0] for name, e in zip(EXAMPLE, truth, strict=True)}
    )
    Y["y1"] += noise
    model = IEQLRegressor(
        prior=dict(EXAMPLE_PRIOR),
        max_time=budget.seconds,
        max_trainings=budget.max_trainings,
        n_jobs=budget.n_jobs,
        random_state=0,
    ).fit(X, Y)
    whole = model.whole()
    return {
        "names": names,
        "rows": EXAMPLE_ROWS,
        "noise": EXAMPLE_NOISE,
        "outputs": [
            {
                "output": name,
                "equation": whole.expression.text(k),
                "paper": EXAMPLE[name],
                "complexity": model.fitted_.candidate(output=k).complexity,
                "rmse_validation": model.fitted_.candidate(output=k).rmse_validation,
            }
            for k, name in enumerate(whole.targets)
        ],
        "complexity": whole.complexity,
        "complexity_apart": whole.complexity_apart,
    }


def draw(part: Part) -> Figure:
    """Draw the figure from the stored equations."""
    equations = [Expression.parse(row["equation"], part["names"]) for row in part["outputs"]]
    targets = [row["output"] for row in part["outputs"]]
    return architecture(joined(equations), targets, Prior.of(EXAMPLE_PRIOR))


def words(part: Part) -> str:
    """What the figure shows, for the reproduction report."""
    equations = " and ".join(f"`{row['output']} = {row['equation']}`" for row in part["outputs"])
    return (
        "The network of the paper's architecture figure, drawn from what was learned: both outputs "
        f"together from {part['rows']} rows, with noise {part['noise']:g} on the first. Found were "
        f"{equations}, with a complexity of {part['complexity']:g} together. Dashed lines are "
        "prohibited; units that the equations do not use are faint. The paper draws four hidden "
        "layers, of which these equations need two."
    )
