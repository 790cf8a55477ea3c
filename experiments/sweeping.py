"""The paper's own trainer on a problem: a sweep of networks, every one of which is kept.

A network is reported twice: as it was trained, by the outputs of the network itself ("a final
retraining of the pruned network is not necessary", section "Sparsity Inducing Method"), and as our
own finishing leaves its equation: simplified, refitted in double precision, safe in the domain.

Each network is stored as soon as it is trained, and is a pure function of problem, run, settings
and its number, so that a sweep of hours goes on where it was interrupted; only a first phase that
all networks of a sweep share (`PaperSettings.shared_start`) is trained again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.budget import BUDGETS, Budget
from experiments.methods import of_budget, rows_of, selected_rows
from experiments.store import Store
from ieql import load_problem
from ieql.data.dataset import Dataset
from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.learn import finish_candidate
from ieql.options import FitOptions, seed_of
from ieql.problems import Problem
from ieql.selection import Candidate
from ieql.target import Target, prepare
from ieql.training.paper.network_training import Model, NetworkTraining
from ieql.training.paper.settings import PaperSettings
from ieql.training.paper.sweep import one_thread, spread_order
from ieql.training.parallel import in_parallel
from tables import plain

__all__ = [
    "Sweep",
    "largest_budget",
    "network_of",
    "networks_of",
    "parts_of",
    "reports",
    "sweep",
    "swept_rows",
]

Array = NDArray[np.float64]
FOREVER = float("inf")
RUN = 1000
"""Between the seeds of two runs: more than a sweep has networks."""
DIFFERENT = 1e-3
"""Part of the output's spread from which on network and equation count as different."""


@dataclass(frozen=True)
class Sweep:
    """What is swept.

    Attributes
    ----------
    problem : str
        Name of the data.
    label : str
        What tells it from other sweeps of the same data; no slashes.
    prior : Prior or what makes one
        What the expert knows.
    changes : mapping
        Settings other than the budget's.
    epochs : float
        How many times the budget's epochs.
    runs : int, optional
        Fewer runs than the budget has.
    """

    problem: str
    label: str = ""
    prior: Any = "plain"
    changes: Mapping[str, Any] = field(default_factory=dict)
    epochs: float = 1.0
    runs: int | None = None

    @property
    def name(self) -> str:
        """Its name in the store."""
        return f"{self.problem}, {self.label}" if self.label else self.problem

    def settings(self, budget: Budget) -> PaperSettings:
        """The numbers of its trainings."""
        base = budget.paper
        longer = replace(
            base,
            first_epochs=round(self.epochs * base.first_epochs),
            epochs=max(1, round(self.epochs * base.epochs)),
        )
        return replace(longer, **self.changes)


def sweep(store: Store, budget: Budget, what: Sweep, seed: int) -> None:
    """Train all networks of a sweep that are not in the store, in an order that covers the range.

    What a store has of a sweep with other settings is in the way of it, and is refused.
    """
    settings = what.settings(budget)
    key = f"{budget.name}/{what.name}/{seed}"
    names = [f"{key}/{number:02d}" for number in range(settings.n_strengths)]
    left = [i for i in spread_order(len(names)) if names[i] not in store.parts]
    if not left:
        return
    problem = of_budget(load_problem(what.problem, seed), budget)
    target = target_of(problem, seed, what.prior)
    about = {"mean_errors": target.mean_errors, "settings": plain(asdict(settings))}
    known = store.part(f"{key}/about", budget, lambda: about)
    if PaperSettings.of(known["settings"]) != settings:
        raise IeqlError(
            f"{store.path.name} has networks of {key!r} with other settings; choose another folder "
            "by --results, or delete them there."
        )
    start = _first_phase(target, settings, seed) if settings.shared_start else None
    jobs = ((i, _trained, (target, problem, settings, start, i, seed)) for i in left)
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


def _trained(
    target: Target,
    problem: Problem,
    settings: PaperSettings,
    start: Model | None,
    number: int,
    seed: int,
) -> dict[str, Any]:
    """Train the network of one strength and measure it, as trained and finished."""
    began = time.monotonic()
    training, strength = NetworkTraining(target.task, settings), settings.strengths[number]
    own_seed = seed * RUN + 1 + number
    model = _first_phase(target, settings, own_seed) if start is None else start.copy()
    with one_thread(), np.errstate(all="ignore"):
        training.train(model, settings.epochs, strength, own_seed, FOREVER)
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
    written = equation.rescaled(
        target.inputs.offset,
        target.inputs.scale,
        target.scaling.offset.item(),
        target.scaling.scale.item(),
    )
    train, validation, outside = (
        math.nan if s is None else s.rmse(outputs(s.XT)) for s in _samples(target)
    )
    size = equation.complexity(target.task.prior)
    as_trained = Candidate(written, size, equation.n_parameters, train, validation, outside)
    (raw,) = rows_of([as_trained], problem)
    raw["rmse_test"] = float(np.sqrt(np.mean((outputs(X_test.T) - y_test) ** 2)))
    raw["rmse_test_equation"] = _rmse(written, X_test, y_test)
    candidate = target.task.candidate(equation)
    done = None if candidate is None else finish_candidate(candidate, target)
    return {
        "raw": raw,
        "finished": None if done is None else rows_of([done], problem)[0],
        "losses": list(model.losses),
        "disagreement": _disagreement(outputs, written, target),
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
    keys = sorted(k for k in store.parts if k.startswith(f"{budget}/{name}/"))
    return [
        _report(networks_of(store, key), rows, about, budget)
        for key in (k.removesuffix("/about") for k in keys if k.endswith("/about"))
        for about, rows in swept_rows(store, key, kind)
    ]


def swept_rows(
    store: Store, key: str, kind: str
) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """What is known of the sweep of that key and the rows of its networks; nothing if incomplete.

    Networks that diverged, or whose equation is not safe, have no row.
    """
    about, networks = store.parts.get(f"{key}/about"), networks_of(store, key)
    if about is None or len(networks) < about["settings"]["n_strengths"]:
        return []
    return [(about, [n[kind] for n in networks if n[kind] is not None and _is_measured(n[kind])])]


def largest_budget(store: Store, name: str, kind: str) -> list[dict[str, Any]]:
    """The complete sweeps of a problem with the largest budget that has all runs of it.

    Of `published` there is one run; where there are several of a smaller one, these are shown.
    """
    return max((reports(store, budget, name, kind) for budget in reversed(BUDGETS)), key=len)


SWEPT = {
    "paper_raw": ("", "raw"),
    "paper_finished": ("", "finished"),
    "paper_motor_raw": (", motor", "raw"),
    "paper_motor_finished": (", motor", "finished"),
}
"""Methods of the tables that are sweeps: the end of the sweep's name, and what of it is meant."""


def parts_of(
    store: Store, problem: str, method: str, sweeps: Store | None = None
) -> list[dict[str, Any]]:
    """The runs of a method on a problem; the paper's own come from its sweeps.

    These are read from the folder of the store unless they are given.
    """
    if method not in SWEPT:
        return store.group(f"{problem}/{method}")
    end, kind = SWEPT[method]
    return largest_budget(sweeps or Store(store.folder, "paper_sweeps"), problem + end, kind)


def networks_of(store: Store, key: str) -> list[dict[str, Any]]:
    """The networks of one sweep that are in the store, from the weakest strength on."""
    parts = store.group(key)
    return [p for p in parts if "strength" in p]


def _report(
    networks: Sequence[Mapping[str, Any]],
    rows: list[dict[str, Any]],
    about: Mapping[str, Any],
    budget: str,
) -> dict[str, Any]:
    errors = about["mean_errors"]
    # V_int-S measures complexity by the most complex network of the sweep, finished or not.
    trained = [n["raw"]["complexity"] for n in networks if n["raw"] is not None]
    largest = max([*trained, *(r["complexity"] for r in rows)], default=0.0)
    if not rows:  # nothing but the mean is left
        rows = [{"equation": repr(errors["mean"]), "complexity": 0.0, "n_parameters": 0,
                 "rmse_train": errors["validation"], "rmse_validation": errors["validation"],
                 "rmse_extrapolation": errors.get("extrapolation"), "rmse_test": None,
                 "inputs": [], "units": {}}]  # fmt: skip
    return {
        "front": rows,
        "selected": selected_rows(rows, errors, largest_complexity=largest),
        "settings": about["settings"],
        "diverged": sum(n["raw"] is None for n in networks),
        "seconds": sum(n["seconds"] for n in networks),
        "budget": budget,
    }


def _is_measured(row: dict[str, Any]) -> bool:
    errors = [row["rmse_train"], row["rmse_validation"]]
    return all(e is not None and math.isfinite(e) for e in errors)
