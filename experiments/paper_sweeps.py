"""The paper's own trainer on a problem: a sweep of networks, every one of which is kept.

A network is reported twice: as it was trained, by the outputs of the network itself ("a final
retraining of the pruned network is not necessary", section "Training"), and as our own finishing
leaves its equation: simplified, refitted in double precision and checked in the domain.

Each network is stored as soon as it is trained, and is a pure function of problem, seed, settings
and its number, so that a sweep of hours goes on where it was interrupted; only the first phase,
which all networks of a sweep share, is trained again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.budget import BUDGETS, Budget
from experiments.compare import table_row
from experiments.methods import of_budget, rows_of, selected_rows
from experiments.paper_values import COMPLEX, PROBLEMS
from experiments.store import Store
from experiments.words import number, paper_number, ranged, table
from ieql import load_problem
from ieql.data.dataset import Dataset
from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.learn import finish_candidate, seed_of
from ieql.options import FitOptions
from ieql.problems import Problem
from ieql.selection import Candidate
from ieql.target import Target, prepare
from ieql.training.paper.network_training import Model, NetworkTraining
from ieql.training.paper.settings import PaperSettings
from ieql.training.paper.sweep import one_thread, spread_order
from ieql.training.parallel import in_parallel
from tables import median

__all__ = ["FINISHED", "RAW", "network_of", "networks_of", "reports", "run", "section", "sweep"]

Array = NDArray[np.float64]
RAW, FINISHED = "paper_raw", "paper_finished"
"""The two ways in which a sweep is reported, as methods of the tables."""
QUICK = ("S1", "S3", "A1")
"""Problems that are swept with the budget quick, ..."""
PUBLISHED = ("S0", "S5", "A2")
"""... and as published, which takes hours each."""
WITHOUT_PENALTY, NO_PENALTY = ("S0", "A2"), "-without-penalty-epochs"
"""Problems with divisions and logarithms that are swept once more without penalty epochs."""
FOREVER = float("inf")
DIFFERENT = 1e-3
"""Part of the output's spread from which on network and equation count as different."""


def run(store: Store, budget: Budget) -> None:
    """Sweep the problems of the budget, run by run: each has one sweep before any has a second."""
    for seed in range(budget.paper_runs):
        for name in problems_of(budget):
            sweep(store, budget, name, seed)
    without = replace(budget, paper=replace(budget.paper, penalty_points=0))
    for name in WITHOUT_PENALTY if budget.name == "full" else ():
        sweep(store, without, name, 0, label=NO_PENALTY)
    store.csv(store.name, network_rows(store))


def problems_of(budget: Budget) -> list[str]:
    """The problems that a budget has the time to sweep."""
    names = {"full": PROBLEMS, "published": PUBLISHED}.get(budget.name, QUICK)
    return budget.first(list(names))


def sweep(
    store: Store,
    budget: Budget,
    name: str,
    seed: int,
    draw: Callable[[str, int], Problem] = load_problem,
    prior: Any = "plain",
    label: str = "",
) -> None:
    """Train all networks of a sweep that are not in the store, in an order that covers the range.

    Parameters
    ----------
    store : Store
        Gets every network.
    budget : Budget
        Settings.
    name, seed : str, int
        The problem and the run.
    draw : callable
        Makes the problem of a name and a seed.
    prior : Prior or what makes one
        What the expert knows.
    label : str
        Added to the name of the problem, to tell priors apart.
    """
    settings = budget.paper
    key = f"{budget.name}/{name}{label}/{seed}"
    names = [f"{key}/{number:02d}" for number in range(settings.n_strengths)]
    left = [i for i in spread_order(len(names)) if names[i] not in store.parts]
    if not left:
        return
    problem = of_budget(draw(name, seed), budget)
    target = target_of(problem, seed, prior)
    about = {"mean_errors": target.mean_errors, "settings": asdict(settings)}
    store.part(f"{key}/about", budget, lambda: about)
    start = _first_phase(target, settings, seed)
    jobs = ((i, _second_phase, (target, problem, settings, start, i, seed)) for i in left)
    for place, network in in_parallel(jobs, budget.n_jobs):
        store.part(names[place], budget, lambda network=network: network)


def target_of(problem: Problem, seed: int, prior: Any = "plain") -> Target:
    """The problem as our own method gets it: same split, same scales, same points."""
    extra: tuple[Any, Any] | None = None
    if problem.X_extrapolation is not None and problem.y_extrapolation is not None:
        y_extra = problem.y_extrapolation.to_numpy(np.float64)[:, None]
        extra = problem.X_extrapolation.to_numpy(np.float64), y_extra
    data = Dataset.of(
        problem.X.to_numpy(np.float64),
        problem.y.to_numpy(np.float64),
        domain=problem.domain,
        feature_names=problem.feature_names,
        X_extra=None if extra is None else extra[0],
    )
    options = FitOptions(prior=prior, loss="squared")  # the paper knows no outliers
    (target,) = prepare(options, data, extra, seed_of(seed))
    return target


def _first_phase(target: Target, settings: PaperSettings, seed: int) -> Model:
    training = NetworkTraining(target.task, settings)
    model = training.start(seed)
    with one_thread(), np.errstate(all="ignore"):
        training.train(model, settings.first_epochs, settings.first_strength, seed, FOREVER)
    return model


def _second_phase(
    target: Target,
    problem: Problem,
    settings: PaperSettings,
    start: Model,
    number: int,
    seed: int,
) -> dict[str, Any]:
    """Train the network of one strength and measure it, as trained and finished."""
    began = time.monotonic()
    training, model = NetworkTraining(target.task, settings), start.copy()
    strength = settings.strengths[number]
    with one_thread(), np.errstate(all="ignore"):
        training.train(model, settings.epochs, strength, seed + 1 + number, FOREVER)
        found: dict[str, Any] = {"strength": strength, "seconds": time.monotonic() - began}
        if not model.is_finite:
            return {**found, "raw": None, "finished": None}
        return {**found, **measured(training, model, target, problem)}


def measured(
    training: NetworkTraining, model: Model, target: Target, problem: Problem
) -> dict[str, Any]:
    """A trained network: its own errors, what its finished equation reaches, where they differ."""
    equation = training.equation(model)
    outputs = network_of(training, model, target)
    X_test, y_test = problem.X_test.to_numpy(float), problem.y_test.to_numpy(float)
    plain = equation.rescaled(
        target.inputs.offset,
        target.inputs.scale,
        target.scaling.offset.item(),
        target.scaling.scale.item(),
    )
    train, validation, outside = (
        math.nan if s is None else s.rmse(outputs(s.XT)) for s in _samples(target)
    )
    size = equation.complexity(target.task.prior)
    as_trained = Candidate(plain, size, equation.n_parameters, train, validation, outside)
    (raw,) = rows_of([as_trained], problem)
    raw["rmse_test"] = float(np.sqrt(np.mean((outputs(X_test.T) - y_test) ** 2)))
    raw["rmse_test_equation"] = _rmse(plain, X_test, y_test)
    candidate = target.task.candidate(equation)
    done = None if candidate is None else finish_candidate(candidate, target)
    return {
        "raw": raw,
        "finished": None if done is None else rows_of([done], problem)[0],
        "losses": list(model.losses),
        "disagreement": _disagreement(outputs, plain, target),
    }


def network_of(training: NetworkTraining, model: Model, target: Target) -> Callable[[Array], Array]:
    """The network as a function of points (inputs × points) in the user's coordinates."""

    def outputs(XT: Array) -> Array:
        scaled = target.inputs.transform(XT.T).T
        value: Array = training.outputs(model, scaled)[0]
        scale, offset = float(target.scaling.scale.item()), float(target.scaling.offset.item())
        return value * scale + offset

    return outputs


def _samples(target: Target) -> tuple[Sample, Sample, Sample | None]:
    return target.train, target.validation, target.extrapolation


def _rmse(equation: Expression, X: Any, y: Any) -> float:
    return float(np.sqrt(np.mean((equation.evaluate(X)[:, 0] - y) ** 2)))


def _disagreement(
    outputs: Callable[[Array], Array], equation: Expression, target: Target
) -> dict[str, float]:
    """Where network and equation differ, which they do where a singular argument is not positive.

    Shares of the training rows and of the points of the domain at which they differ by more than a
    thousandth of the output's spread, and the largest difference there, in units of that spread.
    """
    spread = target.scaling.scale.item()
    found = {}
    for name, XT in (("rows", target.train.XT), ("domain", target.points)):
        apart = np.abs(outputs(XT) - equation.evaluate(XT.T)[:, 0]) / spread
        apart = np.where(np.isfinite(apart), apart, np.inf)
        found[f"share_{name}"] = float(np.mean(apart > DIFFERENT))
        finite = apart[np.isfinite(apart)]
        found[f"largest_{name}"] = float(finite.max()) if len(finite) else math.inf
        found[f"undefined_{name}"] = float(np.mean(np.isinf(apart)))
    return found


def reports(store: Store, budget: str, name: str, kind: str) -> list[dict[str, Any]]:
    """The complete sweeps of a problem, one for each run, as fronts with what criteria select.

    `kind` is ``"raw"`` for the networks as they were trained, ``"finished"`` for their equations.
    """
    found = []
    for key in sorted(k for k in store.parts if k.startswith(f"{budget}/{name}/")):
        if key.endswith("/about"):
            about = store.parts[key]
            networks = networks_of(store, key.removesuffix("/about"))
            if len(networks) == about["settings"]["n_strengths"]:
                found.append(_report(networks, kind, about, budget))
    return found


def largest_budget(store: Store, name: str, kind: str) -> list[dict[str, Any]]:
    """The complete sweeps of a problem with the largest budget that has all runs of it.

    Of `published` there is one run; where there are several of a smaller one, these are shown.
    """
    return max((reports(store, budget, name, kind) for budget in reversed(BUDGETS)), key=len)


def networks_of(store: Store, key: str) -> list[dict[str, Any]]:
    """The networks of one sweep that are in the store, from the weakest strength on."""
    parts = store.group(key)
    return [p for p in parts if "strength" in p]


def _report(
    networks: Sequence[Mapping[str, Any]], kind: str, about: Mapping[str, Any], budget: str
) -> dict[str, Any]:
    rows = [n[kind] for n in networks if n[kind] is not None and _is_measured(n[kind])]
    errors = about["mean_errors"]
    if not rows:  # nothing but the mean is left
        rows = [{"equation": repr(errors["mean"]), "complexity": 0.0, "n_parameters": 0,
                 "rmse_train": errors["validation"], "rmse_validation": errors["validation"],
                 "rmse_extrapolation": errors.get("extrapolation"), "rmse_test": None,
                 "inputs": [], "units": {}}]  # fmt: skip
    return {
        "front": rows,
        "selected": selected_rows(rows, errors),
        "settings": about["settings"],
        "diverged": sum(n["raw"] is None for n in networks),
        "seconds": sum(n["seconds"] for n in networks),
        "budget": budget,
    }


def _is_measured(row: dict[str, Any]) -> bool:
    errors = [row["rmse_train"], row["rmse_validation"]]
    return all(e is not None and math.isfinite(e) for e in errors)


# --- tables --------------------------------------------------------------------------------------


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
    for budget in reversed(BUDGETS):
        lines = [line for name in PROBLEMS for line in _lines(store, budget, name)]
        if lines:
            pieces += [_settings(store, budget), table(HEADER, lines), *_words(store, budget)]
    pieces.append(DIFFERENCES)
    return "\n\n".join(pieces)


HEADER = [
    "", "runs", "as trained, V_int&ex", "parameters", "finished, V_int&ex", "parameters",
    "finished, V_int-S", "*paper*",
]  # fmt: skip


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
- "Without regularization" of the first phase is read as λ = 0: gates are drawn from the start. With
  open gates the second phase begins by halving every weight, and strong λ prune a network before it
  has recovered (`benchmarks/NOTEBOOK.md`).
- A point at which a value overflows single precision takes no part in a step."""
