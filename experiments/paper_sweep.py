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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.budget import Budget
from experiments.methods import of_budget, rows_of, selected_rows
from experiments.store import Store
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

__all__ = ["FINISHED", "RAW", "network_of", "sweep_problems"]

Array = NDArray[np.float64]
RAW, FINISHED = "paper_raw", "paper_finished"
"""The two ways in which a sweep is reported, as methods of the tables."""
FOREVER = float("inf")
DIFFERENT = 1e-3
"""Part of the output's spread from which on network and equation count as different."""


def sweep_problems(
    store: Store,
    sweeps: Store,
    budget: Budget,
    problems: Iterable[str],
    draw: Callable[[str, int], Problem] = load_problem,
    prior: Any = "plain",
    label: str = "",
) -> None:
    """Sweep problems in all runs of the budget, run by run: each problem has one before the second.

    Parameters
    ----------
    store, sweeps : Store
        What gets the two reports of every sweep, and what gets every network.
    budget : Budget
        Runs and settings.
    problems : iterable of str
        Their names.
    draw : callable
        Makes the problem of a name and a seed.
    prior : Prior or what makes one
        What the expert knows.
    label : str
        Added to the keys of the parts, to tell priors apart.
    """
    problems = list(problems)
    for seed in range(budget.paper_runs):
        for name in problems:
            keys = [f"{name}/{method}{label}/{seed}" for method in (RAW, FINISHED)]
            if all(store.has(key, budget) for key in keys):
                continue
            problem = of_budget(draw(name, seed), budget)
            target = target_of(problem, seed, prior)
            networks = _networks(sweeps, f"{name}{label}/{seed}", budget, target, problem, seed)
            for key, kind in zip(keys, ("raw", "finished"), strict=True):
                store.part(key, budget, _report, networks, kind, target, budget)


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


def _networks(
    sweeps: Store, key: str, budget: Budget, target: Target, problem: Problem, seed: int
) -> list[dict[str, Any]]:
    """All networks of a sweep: from the file, or trained now in an order that covers the range."""
    settings = budget.paper
    numbers = list(range(settings.n_strengths))
    names = [f"{key}/{number:02d}" for number in numbers]
    left = [i for i in spread_order(len(numbers)) if not sweeps.has(names[i], budget)]
    if left:
        start = _first_phase(target, settings, seed)
        jobs = ((i, _second_phase, (target, problem, settings, start, i, seed)) for i in left)
        for number, network in in_parallel(jobs, budget.n_jobs):
            sweeps.part(names[number], budget, lambda network=network: network)
    return [sweeps.parts[name] for name in names]


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


def _report(
    networks: Sequence[dict[str, Any]], kind: str, target: Target, budget: Budget
) -> dict[str, Any]:
    """The networks of a sweep as a front, and what each criterion selects of it."""
    rows = [n[kind] for n in networks if n[kind] is not None and _is_measured(n[kind])]
    mean_errors = target.mean_errors
    if not rows:
        rows = [{"equation": repr(mean_errors["mean"]), "complexity": 0.0, "n_parameters": 0,
                 "rmse_train": mean_errors["validation"],
                 "rmse_validation": mean_errors["validation"],
                 "rmse_extrapolation": mean_errors.get("extrapolation"), "rmse_test": None,
                 "inputs": [], "units": {}}]  # fmt: skip
    return {
        "front": rows,
        "selected": selected_rows(rows, mean_errors),
        "settings": {**asdict(budget.paper), "networks": len(networks),
                     "diverged": sum(n["raw"] is None for n in networks)},
        "training_seconds": sum(n["seconds"] for n in networks),
    }  # fmt: skip


def _is_measured(row: dict[str, Any]) -> bool:
    errors = [row["rmse_train"], row["rmse_validation"]]
    return all(e is not None and math.isfinite(e) for e in errors)
