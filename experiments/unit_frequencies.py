"""Experiment 3: how often each unit is used, with and without complexity factors.

Figure "Relative frequency of atomic units": on the engine data plain against motor, and on S5 plain
against a cosine that costs five. The equations are those of the experiments on these data; only S5
with the dear cosine is learned here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiments.budget import Budget
from experiments.compare import compare
from experiments.engine_torque import GENERATED, REAL
from experiments.methods import ieql, of_budget
from experiments.paper_values import FREQUENCIES, UNITS
from experiments.store import Store
from experiments.words import table
from ieql import load_problem

__all__ = ["DEAR_COS", "run", "section", "shares"]

PAPERS = "the paper's method"
SWEPT = {
    ("engine, generated", "plain"): "engine",
    ("engine, generated", "motor"): "engine, motor",
    ("S5", "plain"): "S5",
    ("S5", "c_cos=5"): "S5, c_cos=5",
}
"""Sweeps of `experiments.paper_sweeps` by data and costs."""
DEAR_COS = {"preset": "plain", "costs": {"cos": 5.0}}


def run(store: Store, budget: Budget) -> None:
    """Learn S5 with c_cos = 5 and count units, also those of the experiments made before."""
    for seed in range(budget.runs):
        store.part(f"S5/c_cos=5/{seed}", budget, _with_dear_cos, seed, budget)
    compare(Store(store.folder, "complex_equations", store.say), budget, ["S5"], ["ieql"])
    engine = Store(store.folder, "engine_torque", store.say)
    compare(engine, budget, [GENERATED], ["ieql", "ieql_motor"])
    write_tables(store)


def write_tables(store: Store) -> None:
    """Write what the stores hold as a table and a figure."""
    rows = summary(store)
    store.csv(store.name, rows)
    store.figure(store.name, _figure(rows))


def _with_dear_cos(seed: int, budget: Budget) -> dict[str, Any]:
    return ieql(of_budget(load_problem("S5", seed), budget), seed, budget, prior=DEAR_COS)


def shares_per_equation(networks: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Per cent of each unit: the mean over all equations of its share in the equation.

    As the paper has it (appendix): an equation of hundreds of units counts no more than a short
    one. What has no unit, as a constant or a straight line, has no shares.
    """
    counts = [n["raw"]["units"] for n in networks if n["raw"] is not None]
    counts = [c for c in counts if sum(c.get(u, 0) for u in UNITS) > 0]
    totals = dict.fromkeys(UNITS, 0.0)
    for c in counts:
        n = sum(c.get(u, 0) for u in UNITS)
        for unit in UNITS:
            totals[unit] += 100.0 * c.get(unit, 0) / n / len(counts)
    return totals


def shares(parts: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Per cent of each unit: the mean of the shares in each run."""
    totals = dict.fromkeys(UNITS, 0.0)
    parts = list(parts)
    for part in parts:
        n = max(sum(part["units"].get(u, 0) for u in UNITS), 1)
        for unit in UNITS:
            totals[unit] += 100.0 * part["units"].get(unit, 0) / n / len(parts)
    return totals


def summary(store: Store) -> list[dict[str, Any]]:
    """Shares by data and costs."""
    complex_equations = Store(store.folder, "complex_equations")
    engine = Store(store.folder, "engine_torque")
    groups = {
        ("engine, generated", "plain"): engine.group(f"{GENERATED}/ieql"),
        ("engine, generated", "motor"): engine.group(f"{GENERATED}/ieql_motor"),
        ("engine, measured", "plain"): [p for t in REAL for p in engine.group(f"{t}/ieql")],
        ("engine, measured", "motor"): [p for t in REAL for p in engine.group(f"{t}/ieql_motor")],
        ("S5", "plain"): complex_equations.group("S5/ieql"),
        ("S5", "c_cos=5"): store.group("S5/c_cos=5"),
    }
    rows = [
        {"data": data, "costs": costs, "fits": len(parts), **shares(parts)}
        for (data, costs), parts in groups.items()
        if parts
    ]
    return rows + swept(Store(store.folder, "paper_sweeps"))


def swept(sweeps: Store) -> list[dict[str, Any]]:
    """Shares by data and costs in the networks of the paper's own method."""
    rows = []
    for (data, costs), name in SWEPT.items():
        keys = [k for k in sweeps.parts if k.startswith(f"full/{name}/")]
        networks = [sweeps.parts[k] for k in keys if "strength" in sweeps.parts[k]]
        if networks:
            fits = len({k.split("/")[2] for k in keys})
            row = {"data": f"{data}, {PAPERS}", "costs": costs, "fits": fits}
            rows.append({**row, **shares_per_equation(networks)})
    return rows


def _figure(rows: list[dict[str, Any]]) -> Any:
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(r["data"] for r in rows))
    figure = Figure(figsize=(3.6 * len(names), 3.2), layout="constrained")
    styles = (("#0f766e", ".."), ("#c2570c", "//"))
    for ax, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for k, row in enumerate(r for r in rows if r["data"] == name):
            places = [i + 0.36 * (k - 0.5) for i in range(len(UNITS))]
            colour, hatch = styles[k]
            ax.bar(places, [row[u] for u in UNITS], 0.36, color=colour, hatch=hatch,
                   edgecolor="white", label=row["costs"])  # fmt: skip
        ax.set_xticks(range(len(UNITS)), UNITS)
        ax.set_title(name, fontsize="medium")
        ax.set_ylabel("share of all units [%]")
        ax.margins(y=0.25)
        ax.legend(frameon=False, loc="upper left")
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def section(store: Store) -> str:
    """The figure, and the shares beside the paper's."""
    rows = summary(store)
    paper = {
        ("engine, generated", "plain"): FREQUENCIES["engine"]["plain"],
        ("engine, generated", "motor"): FREQUENCIES["engine"]["motor"],
        ("S5", "plain"): FREQUENCIES["S5"]["plain"],
        ("S5", "c_cos=5"): FREQUENCIES["S5"]["c_cos=5"],
    }
    lines = []
    for row in rows:
        cells = [f"{row[u]:.1f}" for u in UNITS]
        lines.append([f"{row['data']}, {row['costs']}", str(row["fits"]), *cells])
        data = row["data"].removesuffix(f", {PAPERS}")
        printed = paper.get((data, row["costs"]))
        if printed is not None:
            lines.append(["*paper*", "", *(f"*{v:.1f}*" for v in printed)])
    words = [verdict(rows, data) for data in dict.fromkeys(r["data"] for r in rows)]
    return "\n\n".join(
        [
            "## How often each unit is used",
            '*Figure "Relative frequency of atomic units".* Per cent of each unit. For "ieql, '
            'fast" of all units in all equations kept on the way, mean over the fits; for the '
            "paper's method the mean over all networks of the unit's share in the network, as in "
            "the paper.",
            "![Shares of the units](../experiments/results/unit_frequencies.png)",
            table(["", "fits", *UNITS], lines),
            "\n".join(f"- {w}" for w in words if w),
            DIFFERENCES,
        ]
    )


def verdict(rows: list[dict[str, Any]], data: str) -> str:
    """What the dearer costs did to the units they were meant to change."""
    pair = [r for r in rows if r["data"] == data]
    if len(pair) < 2:
        return ""
    plain, dear = pair
    if data.startswith("S5"):
        word = "falls" if dear["cos"] < plain["cos"] else "does **not** fall"
        return f"{data} with c_cos = 5: cos {word} ({plain['cos']:.1f} to {dear['cos']:.1f} %)."
    down = [u for u in ("cos", "exp", "div") if dear[u] < plain[u]]
    up = [u for u in ("square", "mul") if dear[u] > plain[u]]
    rest = [u for u in ("cos", "exp", "div", "square", "mul") if u not in (*down, *up)]
    text = f"{data}: the motor factors lower {', '.join(down) or 'none'}"
    text += f" and raise {', '.join(up) or 'none'}"
    return text + (f"; against expectation: {', '.join(rest)}." if rest else ", as expected.")


DIFFERENCES = """What differs from the paper, and why:

- The paper counts the units of 5 × 78 equations, one for each regularisation strength; our sweeps
  have fewer strengths, and runs as the table says. "ieql, fast" has no such sweep; counted is every
  equation that entered the front of a training on its way."""
