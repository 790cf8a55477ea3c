"""Experiment 2: an ambiguous data set (section "Expert Knowledge", figure "ambiguity").

Near zero y = 8 cos(x/2) - 4 looks like a parabola. The cost of cos against that of the square
decides which of them is found and selected.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from experiments.budget import Budget
from experiments.compare import chosen
from experiments.methods import ieql, of_budget
from experiments.store import Store
from ieql import load_problem
from ieql.equations.expression import Expression
from ieql.prior import Prior
from ieql.selection import Candidate, select

__all__ = ["RATIOS", "run", "summary"]

RATIOS = [Fraction(1, k) for k in range(10, 1, -1)] + [Fraction(k) for k in range(1, 11)]
"""c_cos / c_square: as in the paper, the preferred unit costs less than one, the other one."""
SECONDS = 6.0
"""An equation in one input takes no longer; a smaller limit of the budget holds."""


def run(store: Store, budget: Budget) -> None:
    """Learn the data with each of the 19 cost ratios."""
    limits = replace(budget, seconds=min(SECONDS, budget.seconds))
    for ratio in budget.first(RATIOS):
        for seed in range(budget.runs):
            store.part(
                f"r={ratio}/ieql/{seed}",
                budget,
                lambda ratio=ratio, seed=seed: _part(ratio, seed, limits),
            )
    store.csv(store.name, summary(store))
    store.figure(store.name, _figure(summary(store)))


def prior(ratio: Fraction) -> Prior:
    """The plain prior with the costs of cos and square for a ratio."""
    costs = {"cos": float(min(ratio, Fraction(1))), "square": float(min(1 / ratio, Fraction(1)))}
    return replace(Prior.of("plain"), costs={**Prior.of("plain").costs, **costs})


def _part(ratio: Fraction, seed: int, budget: Budget) -> dict[str, Any]:
    problem = of_budget(load_problem("ambiguity", seed), budget)
    found = ieql(problem, seed, budget, prior=prior(ratio))
    found["settings"]["prior"] = {"cos": float(min(ratio, 1)), "square": float(min(1 / ratio, 1))}
    found["selected"]["V_int-S without factors"] = _without_factors(found["front"])
    return found


def _without_factors(front: list[dict[str, Any]]) -> int:
    """V_int-S on the same equations with every weight counting one."""
    blank = Expression.parse("0", ("x1",))
    candidates = [
        Candidate(blank, r["n_parameters"], 0, r["rmse_train"], r["rmse_validation"]) for r in front
    ]
    return select(candidates, "V_int-S")


def summary(store: Store) -> list[dict[str, Any]]:
    """For each ratio the share of cos and square among all units, and the selected units."""
    rows = []
    for ratio in RATIOS:
        parts = store.group(f"r={ratio}/ieql")
        if not parts:
            continue
        shares = {}
        for unit in ("cos", "square"):
            each = [100 * p["units"].get(unit, 0) / max(sum(p["units"].values()), 1) for p in parts]
            shares[unit] = sum(each) / len(each)
        row: dict[str, Any] = {
            "ratio": str(ratio),
            "runs": len(parts),
            **{f"{k}_percent": v for k, v in shares.items()},
        }
        for name, criterion in (("with", "V_int-S"), ("without", "V_int-S without factors")):
            for unit in ("cos", "square"):
                counts = [chosen(p, criterion)["units"].get(unit, 0) for p in parts]
                row[f"{unit}_{name}_factors"] = sum(counts) / len(counts)
        rows.append(row)
    return rows


def follows(row: dict[str, Any]) -> bool:
    """Whether in every run exactly the cheaper of the two units is in the selected equation."""
    cheap, dear = ("cos", "square") if Fraction(row["ratio"]) < 1 else ("square", "cos")
    return row[f"{cheap}_with_factors"] >= 1 and row[f"{dear}_with_factors"] == 0


def _figure(rows: list[dict[str, Any]]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.6), layout="constrained")
    axes = figure.subplots(1, 3, width_ratios=(2, 1, 1))
    places = range(len(rows))
    cos = [r["cos_percent"] for r in rows]
    axes[0].bar(places, cos, color="#7b5ea7", label="cos", hatch="..", edgecolor="white")
    axes[0].bar(places, [r["square_percent"] for r in rows], bottom=cos, color="#0f766e",
                label="square", hatch="//", edgecolor="white")  # fmt: skip
    axes[0].set_xticks(places, [r["ratio"] for r in rows], rotation=70)
    axes[0].set_ylabel("share of all units [%]")
    axes[0].set_title("all equations", fontsize="medium")
    axes[0].legend(frameon=False)
    for ax, name in zip(axes[1:], ("with", "without"), strict=True):
        x = [float(Fraction(r["ratio"])) for r in rows]
        ax.plot(x, [r[f"cos_{name}_factors"] for r in rows], ":o", color="#7b5ea7", label="cos")
        ax.plot(x, [r[f"square_{name}_factors"] for r in rows], "--s", color="#0f766e",
                label="square")  # fmt: skip
        ax.set_xscale("log")
        ax.set_ylim(-0.1, 2.2)
        ax.set_ylabel("units in the selected equation")
        ax.set_title(f"V_int-S, {name} factors", fontsize="medium")
        ax.legend(frameon=False)
    for ax in axes:
        ax.set_xlabel("cost ratio  $c_{cos} / c_{square}$")
        ax.spines[["top", "right"]].set_visible(False)
    return figure
