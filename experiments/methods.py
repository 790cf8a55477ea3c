"""Everything that learns: our regressor and the baselines, each giving one form of result.

What a method found is a mapping for the result file::

    front     equations from simple to exact, or one row without an equation for a black box, with
              errors on training, validation, extrapolation and test rows, parameters and units
    selected  for each criterion of `ieql.selection` the row it selects
    settings  the numbers that matter
    units     how often each unit occurs in all equations kept on the way (ours only)
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from experiments.budget import Budget
from fits import Settings, warm_up
from ieql import IEQLRegressor
from ieql.equations.expression import Expression, Sum
from ieql.errors import IeqlError
from ieql.problems import Problem
from ieql.selection import Candidate, select
from peers import PEERS, missing
from suites import Data

__all__ = ["METHODS", "Method", "ieql", "of_budget", "rows_of", "selected_rows"]

Array = NDArray[np.float64]
Result = dict[str, Any]
CRITERIA = ("V_int", "V_int-S", "V_int&ex")
OWN = "own"
"""The selection of the genetic algorithm itself."""
VALIDATION = 0.1
"""Part of the rows by which the perceptron's epoch is chosen."""
LONGEST = 150
"""Equations with more parameters are not written out."""
SYMBOLS = "add,sub,mul,div,cos,exp,log,constant,variable"
GA1 = {"allowed_symbols": SYMBOLS, "max_length": 40, "population_size": 3000}
GA2 = {"allowed_symbols": f"{SYMBOLS},square", "max_length": 40, "population_size": 1000}
"""Operon near the paper's two settings of PySR: operators and size as there; as its first has four
times as many iterations and twice as many populations as its second, the first is the larger."""
PYSR1 = {"niterations": 40, "populations": 60, "warmup_maxsize_by": 0.5, "use_frequency": False,
         "unary_operators": ["cos", "exp", "log"]}  # fmt: skip
PYSR2 = {"niterations": 10, "populations": 30, "warmup_maxsize_by": 0.0, "use_frequency": True,
         "unary_operators": ["cos", "square", "exp", "log"]}  # fmt: skip
"""The paper's table "Tuned hyperparameters for the genetic algorithm"."""


@dataclass(frozen=True)
class Method:
    """A way to learn.

    Attributes
    ----------
    label : str
        Its name in tables.
    run : callable or None
        Takes problem, seed and budget; None for what a sweep of networks is reported as
        (`experiments.paper_sweep`).
    is_ours : bool
        Whether it has the runs of our own methods or those of the baselines.
    package : str or None
        What must be installed for it.
    has_one_thread : bool
        Whether several runs of it may share the machine.
    is_fair : callable
        Whether a budget is large enough to judge it by.
    """

    label: str
    run: Callable[[Problem, int, Budget], Result] | None
    is_ours: bool = False
    package: str | None = None
    has_one_thread: bool = False
    is_fair: Callable[[Budget], bool] = lambda budget: True

    def missing(self, budget: Budget) -> str | None:
        """A word on what is not installed, or on a budget that is too small for it; else None."""
        if not self.is_fair(budget):
            return "the budget is too small to judge it by"
        return None if self.package is None else missing(self.package)


def of_budget(problem: Problem, budget: Budget) -> Problem:
    """The problem with as many rows as the budget allows."""
    return problem if budget.rows is None else _fewer(problem, budget.rows)


def _fewer(problem: Problem, n: int) -> Problem:
    """The problem with some of its rows to learn from, at random: a table may be sorted."""
    if len(problem.X) <= n:
        return problem
    rows = np.sort(np.random.default_rng(0).permutation(len(problem.X))[:n])
    return replace(
        problem,
        X=problem.X.iloc[rows].reset_index(drop=True),
        y=problem.y.iloc[rows].reset_index(drop=True),
    )


def _row(text: str | None, test: float, **known: Any) -> Result:
    return {"equation": text, **known, "rmse_test": test}


def _rmse(predicted: Array, y: Any) -> float:
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean((predicted - np.asarray(y)) ** 2)))


def _selected(
    candidates: Sequence[Candidate], errors: Mapping[str, float], **options: Any
) -> dict[str, int]:
    """What each criterion selects; that with extrapolation points only where there are some."""
    names = CRITERIA if "extrapolation" in errors else CRITERIA[:-1]
    return {
        name: select(
            candidates,
            name,
            mean_error=errors["validation"],
            mean_error_extrapolation=errors.get("extrapolation"),
            **options,
        )
        for name in names
    }


def selected_rows(
    rows: Sequence[Result], errors: Mapping[str, float], **options: Any
) -> dict[str, int]:
    """What each criterion selects of rows whose equations are not at hand."""
    blank = Expression((), (), (Sum(0.0),))
    candidates = [
        Candidate(
            blank,
            _size(r),
            0,
            r["rmse_train"],
            r["rmse_validation"],
            _nan_if_none(r.get("rmse_extrapolation")),
        )
        for r in rows
    ]
    return _selected(candidates, errors, **options)


def _nan_if_none(value: float | None) -> float:
    return math.nan if value is None else value


def _text(expression: Expression) -> str | None:
    """An equation as text; None if it is too long: shared parts are written again and again."""
    if expression.n_parameters > LONGEST:
        return None
    try:
        return expression.text()
    except IeqlError:  # even so it may be
        return None


def rows_of(candidates: Sequence[Candidate], problem: Problem) -> list[Result]:
    """Candidates as rows of a result, with their errors on the test rows."""
    X = problem.X_test.to_numpy()
    return [
        _row(
            _text(c.expression),
            _rmse(c.expression.evaluate(X)[:, 0], problem.y_test),
            complexity=c.complexity,
            n_parameters=c.n_parameters,
            rmse_train=c.rmse_train,
            rmse_validation=c.rmse_validation,
            rmse_extrapolation=c.rmse_extrapolation,
            inputs=list(c.expression.inputs_used),
            units=c.expression.unit_counts(),
        )
        for c in candidates
    ]


# --- ours --------------------------------------------------------------------------------------


def ieql(problem: Problem, seed: int, budget: Budget, **changes: Any) -> Result:
    """Fit our regressor; `changes` are parameters other than the default ones."""
    warm_up(budget.n_jobs)  # compiling belongs to no run
    options = {
        "domain": problem.domain,
        "selection": "V_int-S",
        "max_time": budget.seconds,
        "max_trainings": budget.max_trainings,
        "n_jobs": budget.n_jobs,
        "random_state": seed,
        **changes,
    }
    model = IEQLRegressor(**options)
    extra = {}
    if problem.X_extrapolation is not None:
        extra = {
            "X_extrapolation": problem.X_extrapolation,
            "y_extrapolation": problem.y_extrapolation,
        }
    start = time.perf_counter()
    model.fit(problem.X, problem.y, **extra)
    seconds = round(time.perf_counter() - start, 2)
    if model.interrupted_:
        raise KeyboardInterrupt  # what an interrupted fit found is not the result of a run
    front = model.fronts_[0]
    settings = {k: v for k, v in options.items() if k not in ("domain", "selection", "run_dir")}
    return {
        "front": rows_of(front, problem),
        "selected": _selected(
            front,
            model.fitted_.mean_errors[0],
            largest_complexity=model.fitted_.largest_complexities[0],
        ),
        "settings": {**settings, "n_trainings": model.n_trainings_, "end": model.stop_reason_},
        "units": model.unit_counts_[0],
        "seconds": seconds,
    }


# --- baselines ---------------------------------------------------------------------------------


def _mean(problem: Problem, seed: int, budget: Budget) -> Result:
    values = np.full(len(problem.y_test), problem.y.mean())
    return _black_box(_rmse(values, problem.y_test), 1)


def _black_box(test: float, n_parameters: int, **settings: Any) -> Result:
    return {
        "front": [_row(None, test, n_parameters=n_parameters)],
        "selected": dict.fromkeys(CRITERIA, 0),
        "settings": settings,
    }


def _mlp(problem: Problem, seed: int, budget: Budget) -> Result:
    """The paper's perceptron (appendix "Baselines"); the best model on validation rows is kept."""
    from experiments.perceptron import Perceptron

    X, y = problem.X.to_numpy(float), problem.y.to_numpy(float)
    low, high, mean, spread = X.min(axis=0), X.max(axis=0), y.mean(), y.std()

    def inputs(X: Array) -> NDArray[np.float32]:
        scaled: Array = 2.0 * (X - low) / (high - low) - 1.0  # as for our networks
        return scaled.astype(np.float32)

    order = np.random.default_rng(seed).permutation(len(X))
    n = max(1, round(VALIDATION * len(X)))
    scaled = inputs(X), ((y - mean) / spread).astype(np.float32)
    validation, rows = ((scaled[0][some], scaled[1][some]) for some in (order[:n], order[n:]))
    settings: dict[str, Any] = {"epochs": budget.mlp_epochs, "batch": 100, "rate": 1e-3}
    with threadpool_limits(1):  # more threads only wait for each other
        model = Perceptron(X.shape[1], (50,) * 5, seed)
        model.fit(rows, validation, **settings)
    values = model.predict(inputs(problem.X_test.to_numpy(float))) * spread + mean
    return _black_box(_rmse(values, problem.y_test), model.n_weights, **settings)


def _scaled(regressor: Any) -> Any:
    """Inputs to [-1, 1], target to mean 0 and spread 1, as for our networks."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    pipeline = make_pipeline(MinMaxScaler((-1, 1)), regressor)
    return TransformedTargetRegressor(pipeline, transformer=StandardScaler())


def _gp(problem: Problem, seed: int, budget: Budget) -> Result:
    """A Gaussian process with a length for each input, on a random subset of the rows."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    n, d = problem.X.shape
    rows = np.random.default_rng(seed).permutation(n)[: budget.gp_rows]
    kernel = ConstantKernel(1.0, (1e-3, 1e6)) * RBF(np.ones(d), (0.01, 1e3))
    kernel += WhiteKernel(0.1, (1e-10, 1.0))
    regressor = GaussianProcessRegressor(kernel, n_restarts_optimizer=1, random_state=seed)
    model = _scaled(regressor)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)  # an input without influence
        model.fit(problem.X.iloc[rows], problem.y.iloc[rows])
    test = _rmse(model.predict(problem.X_test), problem.y_test)
    found = str(model.regressor_[-1].kernel_)
    return _black_box(test, len(rows), rows=len(rows), kernel=str(kernel), fitted_kernel=found)


def _genetic(
    name: str, options: Mapping[str, Any], problem: Problem, seed: int, budget: Budget
) -> Result:
    """Another tool by the code of the benchmarks, on as many rows as in the paper."""
    extra = {}
    if problem.X_extrapolation is not None:
        extra = {
            "X_extrapolation": problem.X_extrapolation,
            "y_extrapolation": problem.y_extrapolation,
        }
    if budget.genetic_rows is not None:
        problem = _fewer(problem, budget.genetic_rows)
    X, y = problem.X, problem.y
    data = Data(X, y, problem.X_test, problem.y_test, problem.noise, float(y.std()), extra, {})
    names = SimpleNamespace(names=problem.feature_names)
    limits = Settings(budget.baseline_seconds, n_jobs=1)  # two runs share the machine
    fit = PEERS[name](names, data, seed, limits, **options)
    X_test, y_test = (np.asarray(part, float) for part in (problem.X_test, problem.y_test))
    front = [
        _row(
            e.text,
            e.rmse(X_test, y_test),
            complexity=e.n_parameters,
            n_parameters=e.n_parameters,
            **e.errors,
            inputs=list(e.inputs_used),
        )
        for e in fit.front
    ]
    mean = float(y.mean())
    errors = {"validation": _rmse(np.full(len(y), mean), y)}
    outside = problem.y_extrapolation
    if outside is not None:
        errors["extrapolation"] = _rmse(np.full(len(outside), mean), outside)
    settings = {**options, "seconds": budget.baseline_seconds, "rows": len(X), **fit.notes}
    return {
        "front": front,
        "selected": {**selected_rows(front, errors), OWN: own_choice(front)},
        "settings": settings,
    }


def own_choice(front: Sequence[Result]) -> int:
    """What PySR itself would select, which the paper tells beside its own criteria.

    Of the equations whose squared error is at most 1.5 times the least, the one with the largest
    fall of its logarithm per unit of complexity since the next simpler equation.
    """
    order = sorted(range(len(front)), key=lambda i: (_size(front[i]), front[i]["rmse_train"]))
    losses = {i: max(front[i]["rmse_train"], 1e-300) ** 2 for i in order}
    worst = 1.5 * min(losses.values())
    best, score, known = order[-1], -math.inf, math.nan
    before = math.nan
    for i in order:
        if losses[i] < known or math.isnan(known):
            step = max(_size(front[i]) - before, 1e-9)
            gain = 0.0 if math.isnan(known) else math.log(known / losses[i]) / step
            if losses[i] <= worst and gain > score:
                best, score = i, gain
            known, before = losses[i], _size(front[i])
    return best


def _size(row: Result) -> float:
    """Its complexity; what gplearn prints may have no form in our units: then its length."""
    return float(row["complexity"] or len(row["equation"] or "") / 8)


def _eqldiv(problem: Problem, seed: int, budget: Budget) -> Result:
    """EQL÷ on our own network (`experiments.eqldiv`)."""
    from experiments.eqldiv import EqldivSettings, fit_eqldiv

    settings = EqldivSettings(
        epochs=budget.eqldiv_epochs,
        batch=budget.eqldiv_batch,
        rate=budget.eqldiv_rate,
        n_strengths=budget.eqldiv_strengths,
    )
    found = fit_eqldiv(problem, seed, settings, budget.n_jobs)
    return {
        "front": rows_of(found.candidates, problem),
        "selected": _selected(found.candidates, found.mean_errors),
        "settings": {"epochs": settings.epochs, "batch": settings.batch, "rate": settings.rate,
                     "n_strengths": settings.n_strengths, "layers": settings.layers},
    }  # fmt: skip


EQLDIV_EPOCHS = 1000
"""EQL÷ is left out with fewer epochs, a tenth of those it was published with: what it reaches then
says nothing of it."""
METHODS: Mapping[str, Method] = {
    "mean": Method("mean predictor", _mean),
    "mlp": Method("MLP", _mlp, has_one_thread=True),
    "gp": Method("Gaussian process", _gp),
    "operon1": Method(
        "GA1 (Operon)", partial(_genetic, "operon", GA1), package="operon", has_one_thread=True
    ),
    "operon2": Method(
        "GA2 (Operon)", partial(_genetic, "operon", GA2), package="operon", has_one_thread=True
    ),
    "gplearn": Method(
        "gplearn", partial(_genetic, "gplearn", {}), package="gplearn", has_one_thread=True
    ),
    "pysr1": Method("GA1 (PySR)", partial(_genetic, "pysr", PYSR1), package="pysr"),
    "pysr2": Method("GA2 (PySR)", partial(_genetic, "pysr", PYSR2), package="pysr"),
    "eqldiv": Method("EQL÷", _eqldiv, is_fair=lambda b: b.eqldiv_epochs >= EQLDIV_EPOCHS),
    "ieql": Method("ieql, fast", ieql, is_ours=True),
    "ieql_steered": Method(
        "ieql, fast, steered by the points outside",
        partial(ieql, trainer={"name": "fast", "steered": True}),
        is_ours=True,
    ),
    "ieql_motor": Method("ieql, fast, motor", partial(ieql, prior="motor"), is_ours=True),
    "ieql_accurate": Method(
        "ieql, fast, asked for accuracy", partial(ieql, selection="V_int"), is_ours=True
    ),
    "paper_raw": Method("iEQL, the paper's method, as trained", None),
    "paper_finished": Method("iEQL, the paper's method, finished", None),
    "paper_motor_raw": Method("iEQL, the paper's method, motor, as trained", None),
    "paper_motor_finished": Method("iEQL, the paper's method, motor, finished", None),
}
