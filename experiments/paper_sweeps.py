"""The paper's own method: sweeps over the strength λ on all its data, as trained and finished."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from experiments import pareto_figure, rare_networks
from experiments.ambiguity import RATIOS
from experiments.ambiguity import prior as cost_ratio
from experiments.budget import BUDGETS, Budget
from experiments.compare import chosen, table_row
from experiments.paper_values import COMPLEX, PROBLEMS
from experiments.store import Store
from experiments.sweeping import Sweep, networks_of, reports, sweep
from experiments.unit_frequencies import DEAR_COS
from experiments.words import number, paper_number, ranged, table
from tables import median

__all__ = ["FINISHED", "RAW", "network_rows", "planned", "run", "section", "sweeps_of"]

RAW, FINISHED = "paper_raw", "paper_finished"
"""The two ways in which a sweep is reported, as methods of the tables."""
QUICK = ("S1", "S3", "A1")
"""Problems that are swept with the budget quick, ..."""
PUBLISHED = ("S0", "S5", "A2")
"""... and as published, which takes hours each."""
WITHOUT_PENALTY, NO_PENALTY = ("S0", "A2"), "no penalty epochs"
"""Problems with divisions and logarithms that are swept once more without penalty epochs."""
ENGINE_EPOCHS = 8.0
"""Times as many epochs for the engine, which has fewer rows (appendix "iEQL Training")."""
AMBIGUITY_EPOCHS = 0.5
"""Of the other epochs for the 19 cost ratios of the ambiguous data, one run each."""
PARETO = "motor, 78 strengths"
"""One sweep of the engine has as many networks as the paper's, for its Pareto plot."""


def run(store: Store, budget: Budget) -> None:
    """Sweep all data of the budget."""
    for what, seed in planned(budget):
        sweep(store, budget, what, seed)
        # It takes days: what there is can be looked at.
        write_tables(store)


def write_tables(store: Store) -> None:
    """Write all networks of the store as a table, and the Pareto plot once it is complete."""
    store.csv(store.name, network_rows(store))
    if fronts := _pareto(store):
        store.figure("engine_pareto", pareto_figure.draw(fronts))


def planned(budget: Budget) -> list[tuple[Sweep, int]]:
    """All sweeps of a budget with their runs, in order.

    Run by run: each has one sweep before any has a second. The engine's, which take three times as
    long as the others, come after all of these, and the one of its Pareto plot last.
    """
    found = [
        (what, seed)
        for seed in range(budget.paper_runs)
        for what in sweeps_of(budget)
        if what.runs is None or seed < what.runs
    ]
    return sorted(found, key=lambda job: (job[0].label == PARETO, job[0].problem == "engine"))


def _pareto(store: Store) -> dict[str, dict[str, Any]]:
    """The sweep of the Pareto plot, as trained and finished; nothing while it is not complete."""
    found = {k: reports(store, "full", f"engine, {PARETO}", k) for k in ("raw", "finished")}
    return {kind: runs[0] for kind, runs in found.items() if runs}


def sweeps_of(budget: Budget) -> list[Sweep]:
    """What a budget has the time to sweep."""
    if budget.name != "full":
        names = PUBLISHED if budget.name == "published" else QUICK
        return [Sweep(name) for name in budget.first(list(names))]
    return [
        *(Sweep(name) for name in PROBLEMS),
        Sweep("power_loss"),
        Sweep("power_loss", "motor", "motor"),
        Sweep("engine", epochs=ENGINE_EPOCHS),
        Sweep("engine", "motor", "motor", epochs=ENGINE_EPOCHS),
        Sweep(
            "engine",
            PARETO,
            "motor",
            {"n_strengths": 78, "exponents": (-5.0, 0.0)},
            ENGINE_EPOCHS,
            runs=1,
        ),
        Sweep("S5", "c_cos=5", DEAR_COS),
        *(
            Sweep(name, NO_PENALTY, changes={"penalty_points": 0}, runs=1)
            for name in WITHOUT_PENALTY
        ),
        *(ambiguous(ratio) for ratio in RATIOS),
    ]


def ambiguous(ratio: Fraction) -> Sweep:
    """The ambiguous data with one ratio of costs; the paper skips the first phase there."""
    label = f"r={ratio.numerator}:{ratio.denominator}"
    changes = {"first_epochs": 0}
    return Sweep("ambiguity", label, cost_ratio(ratio), changes, AMBIGUITY_EPOCHS, runs=1)


def network_rows(store: Store) -> list[dict[str, Any]]:
    """One row for every network: what it is and how exact, as trained and finished."""
    rows = []
    for key, network in sorted(store.parts.items()):
        if "strength" not in network:
            continue
        budget, problem, seed, _ = key.split("/")
        row = {"budget": budget, "problem": problem, "run": seed, "strength": network["strength"]}
        for kind in ("raw", "finished"):
            known = network[kind] or {}
            row |= {f"{kind}_{column}": known.get(column) for column in COLUMNS}
        row |= {f"apart_{k}": v for k, v in network.get("disagreement", {}).items()}
        rows.append({**dict.fromkeys(APART), **row})
    return rows


COLUMNS = (
    "n_parameters", "complexity", "rmse_train", "rmse_validation", "rmse_extrapolation",
    "rmse_test",
)  # fmt: skip
APART = tuple(
    f"apart_{kind}_{where}"
    for where in ("rows", "domain")
    for kind in ("share", "largest", "undefined")
)


def section(store: Store) -> str:
    """What the paper's own method reaches, budget by budget."""
    pieces = [
        "## The paper's own method",
        "Networks of four layers with four units of each type, hard-concrete gates, Adam at the "
        "rate 0.001, two phases, penalty epochs in the test domain; one network for each strength "
        "λ. Every network is in `paper_sweeps.csv`. *As trained* are the outputs of the network "
        "itself, *finished* is its equation after our simplification and refit. Test RMSE, median "
        "(least–largest) over the runs.",
    ]
    if missing := _missing(store):
        pieces.append(missing)
    for budget in reversed(BUDGETS):
        lines = [line for name in PROBLEMS for line in _lines(store, budget, name)]
        if lines:
            pieces += [_settings(store, budget), table(HEADER, lines), *_words(store, budget)]
            pieces += _inside(store, budget)
    pieces += rare_networks.words(store)
    if fronts := _pareto(store):
        image = "![Pareto plot of the engine](../experiments/results/engine_pareto.png)"
        pieces += [image, pareto_figure.words(fronts)]
    pieces.append(DIFFERENCES)
    return "\n\n".join(pieces)


HEADER = [
    "", "runs", "as trained, V_int&ex", "parameters", "finished, V_int&ex", "parameters",
    "finished, V_int-S", "*paper*",
]  # fmt: skip


def _missing(store: Store) -> str:
    """How many sweeps of the larger budgets there are; nothing if none is missing."""
    words, lacking = [], []
    for name in ("full", "published"):
        budget = BUDGETS[name]
        plan = planned(budget)
        there = sum(
            len(networks_of(store, f"{name}/{what.name}/{seed}"))
            == what.settings(budget).n_strengths
            for what, seed in plan
        )
        words.append(f"{there} of the {len(plan)} sweeps of the budget {name}")
        if there < len(plan):
            lacking.append(name)
    if not lacking:
        return ""
    return (
        f"**Not finished**: there are {' and '.join(words)}. "
        f"`python -m experiments paper_sweeps --budget {lacking[0]}` goes on where it stopped."
    )


def _lines(store: Store, budget: str, name: str) -> list[list[str]]:
    raw, finished = (reports(store, budget, name, kind) for kind in ("raw", "finished"))
    if not raw:
        return []
    trained = table_row(raw, name, RAW, "V_int&ex")
    done = table_row(finished, name, FINISHED, "V_int&ex")
    simple = table_row(finished, name, FINISHED, "V_int-S")
    return [
        [
            name,
            str(len(raw)),
            ranged(trained, "rmse"),
            ranged(trained, "parameters"),
            ranged(done, "rmse"),
            ranged(done, "parameters"),
            ranged(simple, "rmse"),
            f"*{paper_number(COMPLEX['ieql'][name])}*",
        ]
    ]


def _inside(store: Store, budget: str) -> list[str]:
    """Errors on training and validation rows of what V_int selects, which the paper speaks of."""
    lines = []
    for name in PROBLEMS:
        cells = [name]
        for kind in ("raw", "finished"):
            picked = [chosen(part, "V_int") for part in reports(store, budget, name, kind)]
            for key in ("rmse_train", "rmse_validation"):
                errors = [row[key] for row in picked]
                cells.append(number(median(errors)) if errors else "–")
        if cells[1] != "–":
            lines.append(cells)
    words = (
        '"Their prediction error on training and validation data is at noise level": errors of '
        "what V_int selects, at the median over the runs; the noise is 0.01."
    )
    header = ["", "as trained, training", "validation", "finished, training", "validation"]
    return [words, table(header, lines)] if lines else []


def _settings(store: Store, budget: str) -> str:
    about = next(p for k, p in sorted(store.parts.items()) if _is_about(k, budget))
    s = about["settings"]
    low, high = s["exponents"]
    return (
        f"**Budget {budget}**: T1 = {s['first_epochs']}, T2 = {s['epochs']} epochs, "
        f"{s['n_strengths']} strengths from 10^{low:g} to 10^{high:g}, batches of {s['batch']}."
    )


def _is_about(key: str, budget: str) -> bool:
    return key.startswith(f"{budget}/") and key.endswith("/about")


def _words(store: Store, budget: str) -> list[str]:
    """Networks that diverged, that differ from their equation, and what finishing brings."""
    found = {
        label: [
            p
            for k, p in store.parts.items()
            if k.startswith(f"{budget}/") and "strength" in p and (NO_PENALTY in k) == label
        ]
        for label in (False, True)
    }
    words = []
    for label, networks in found.items():
        trained = [n for n in networks if n["raw"] is not None]
        if not trained:
            continue
        apart = [n["disagreement"] for n in trained]
        differ = sum(a["share_domain"] > 0.0 for a in apart)
        at_rows = sum(a["share_rows"] > 0.0 for a in apart)
        undefined = sum(a["undefined_domain"] > 0.0 for a in apart)
        unsafe = sum(n["finished"] is None for n in trained)
        words.append(
            f"{'Without penalty epochs' if label else 'Of all'} "
            f"({' and '.join(WITHOUT_PENALTY) + ', ' if label else ''}{len(networks)} networks): "
            f"{len(networks) - len(trained)} diverged. Network and equation differ, because a "
            f"singular argument is not positive there, at training rows in {at_rows}, somewhere in "
            f"the domain in {differ}; in {undefined} of these the equation is undefined at a point "
            f"where the network is zero. {unsafe} are refused by our check of safety."
        )
        small = [
            n["raw"]["rmse_validation"] / n["finished"]["rmse_validation"]
            for n in trained
            if n["finished"] is not None and 0 < n["finished"]["n_parameters"] <= 100
        ]
        if small and not label:
            words.append(
                f'"A final retraining of the pruned network is not necessary": the validation '
                f"error as trained is {number(median(small))} times that of the finished equation "
                f"at the median of {len(small)} networks with at most 100 parameters."
            )
    return words


DIFFERENCES = """What differs from the paper, and why:

- Batches have 100 rows (the paper does not say), y is divided by its spread, which the strengths λ
  are relative to. The number of networks and epochs is as the budget says.
- Each network has a random start and a first phase of its own; the paper does not say whether its
  networks share them.
- A weight whose gate has reached the lower limit of log α (it would open in one of 30,000 steps) is
  no longer trained.
- "Without regularization" of the first phase is read as λ = 0: gates are drawn from the start. With
  open gates the second phase begins by halving every weight, and strong λ prune a network before it
  has recovered (`benchmarks/NOTEBOOK.md`).
- A point at which a value overflows single precision takes no part in a step.
- V_int-S measures the complexity of a finished equation, too, by the most complex network of its
  sweep as trained: finished ones alone may all be small, and then the criterion takes one that is
  far from the noise (power loss, 211 W)."""
