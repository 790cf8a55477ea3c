"""Other tools on the same data with the same time: Operon, gplearn (extra ``paper``), and PySR.

Each keeps a tenth of the rows back, as we do, and selects from its front by the error there, and by
that on the extrapolation points too where the suite has them. All are imported when they are run.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from fits import Equation, Fit, Settings
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.selection import Candidate, Front, select
from suites import Data, Problem

__all__ = ["PEERS", "missing"]

Array = NDArray[np.float64]
VALIDATION = 0.1
LOOK_EVERY = 0.25
"""Seconds between two looks at the front of a running Operon."""
OPERON = {
    "allowed_symbols": "add,sub,mul,div,square,sqrt,exp,log,sin,cos,constant,variable",
    "objectives": ["r2", "length"],
    "optimizer_iterations": 5,
    "population_size": 1000,
    "max_length": 50,
    "max_depth": 10,
    "generations": 1_000_000,
    "max_evaluations": 1_000_000_000,
    "epsilon": 1e-6,
}
PYSR = {
    "population_size": 1000,
    "maxsize": 40,
    "parsimony": 0.0,
    "binary_operators": ["+", "-", "*", "/"],
    "annealing": False,
    "optimizer_iterations": 100,
}
GPLEARN = {"population_size": 1000, "tournament_size": 20, "const_range": (-5.0, 5.0)}


def missing(name: str) -> str | None:
    """A line saying that the tool is not installed; None if it is."""
    if name == "pysr":  # to import it starts Julia
        found = importlib.util.find_spec(name) is not None
        return None if found else "pysr: not installed (pip install pysr; it needs Julia)"
    module = {"operon": "pyoperon"}.get(name, name)
    try:
        importlib.import_module(module)
    except ImportError:
        return f"{name}: not installed (pip install 'ieql[paper]')"
    return None


class _Rows:
    """The rows as the tools want them: arrays, a tenth kept back."""

    def __init__(self, data: Data, seed: int) -> None:
        X, y = data.X.to_numpy(), data.y.to_numpy()
        order = np.random.default_rng(seed).permutation(len(X))
        n = max(1, round(VALIDATION * len(X)))
        self.X, self.y = X[order[n:]], y[order[n:]]
        self.samples = {"validation": (X[order[:n]], y[order[:n]])}
        if data.fit_options:
            outside, labels = (
                data.fit_options[k].to_numpy() for k in ("X_extrapolation", "y_extrapolation")
            )
            self.samples["extrapolation"] = (outside, labels)

    def errors(self, equation: Equation) -> dict[str, float]:
        errors = {f"rmse_{k}": equation.rmse(X, y) for k, (X, y) in self.samples.items()}
        return {"rmse_train": equation.rmse(self.X, self.y), **errors}

    def front(self, equations: Iterable[Equation]) -> tuple[list[Equation], int]:
        """The best of some equations, the shortest first, and which of them is selected."""
        candidates = []
        for equation in equations:
            errors = self.errors(equation)
            full = Equation(equation.text, equation.values, equation.expression, errors)
            size = equation.n_parameters
            candidates.append(
                Candidate(
                    full,  # type: ignore[arg-type]  # the front never looks into it
                    len(equation.text) if size is None else size,
                    size or 0,
                    errors["rmse_train"],
                    errors["rmse_validation"],
                    errors.get("rmse_extrapolation", float("nan")),
                )
            )
        kept = Front(candidates).candidates
        limits = {
            k: float(np.sqrt(np.mean((y - self.y.mean()) ** 2)))
            for k, (_, y) in self.samples.items()
        }
        selected = select(
            kept,
            "V_int&ex" if "extrapolation" in limits else "V_int",
            mean_error=limits["validation"],
            mean_error_extrapolation=limits.get("extrapolation"),
        )
        return [c.expression for c in kept], selected  # type: ignore[misc]

    def mean(self, names: tuple[str, ...]) -> Equation:
        """The mean of the rows: something to select where a tool has found nothing."""
        return Equation.parse(repr(float(self.y.mean())), names)


# --- Operon ------------------------------------------------------------------------------------


def _fit_operon(problem: Problem, data: Data, seed: int, settings: Settings, **changes: Any) -> Fit:
    """Fit with the settings above, some of them changed."""
    import pyoperon
    import pyoperon.sklearn as door

    rows = _Rows(data, seed)
    looks: list[tuple[float, list[Any]]] = []
    model = door.SymbolicRegressor(
        **{**OPERON, **changes},
        n_threads=settings.n_jobs,
        max_time=max(1, round(settings.max_time or 60)),
        random_state=seed,
    )
    start = time.perf_counter()
    with patch.object(door, "op", _Watched(pyoperon, looks, start)):
        model.fit(rows.X, rows.y)
    seconds = time.perf_counter() - start

    def equation(tree: Any) -> Equation | None:
        return _operon_equation(tree, model, problem.names, rows)

    trail = _operon_trail(looks, equation, model.variables_)
    last = [equation(row["tree"]) for row in model.pareto_front_]
    front, selected = rows.front([*(e for e in last if e), rows.mean(problem.names)])
    notes = {"generations": int(model.stats_["generations"])}
    return Fit(seconds, front, selected, trail, notes)


class _Watched:
    """The module pyoperon, whose multi-objective algorithm is looked at while it runs."""

    def __init__(self, module: Any, looks: list[tuple[float, list[Any]]], start: float) -> None:
        self._module = module
        self._looks = looks
        self._start = start

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def NSGA2Algorithm(self, *args: Any) -> Any:  # noqa: N802
        return _WatchedAlgorithm(self._module.NSGA2Algorithm(*args), self._look)

    def _look(self, front: list[Any]) -> None:
        seconds = time.perf_counter() - self._start
        if not self._looks or seconds - self._looks[-1][0] > LOOK_EVERY:
            self._looks.append((seconds, [self._module.Tree(m.Genotype.Nodes) for m in front]))


class _WatchedAlgorithm:
    def __init__(self, algorithm: Any, look: Callable[[list[Any]], None]) -> None:
        self._algorithm = algorithm
        self._look = look

    def __getattr__(self, name: str) -> Any:
        return getattr(self._algorithm, name)

    def Run(self, rng: Any, callback: None, threads: int, warm_start: bool) -> None:  # noqa: N802
        self._algorithm.Run(rng, lambda: self._look(self._algorithm.BestFront), threads, warm_start)


def _operon_trail(
    looks: list[tuple[float, list[Any]]],
    equation: Callable[[Any], Equation | None],
    variables: Mapping[int, str],
) -> list[tuple[float, Equation]]:
    import pyoperon

    trail, seen = [], set()
    for seconds, trees in looks:
        for tree in trees:
            key = pyoperon.InfixFormatter.Format(tree, variables, 6)
            if key not in seen:
                seen.add(key)
                found = equation(tree)
                if found is not None:
                    trail.append((seconds, found))
    return trail


def _operon_equation(tree: Any, model: Any, names: tuple[str, ...], rows: _Rows) -> Equation | None:
    """A tree in our grammar, scaled to the rows in double precision as Operon does in single."""
    import pyoperon

    text = pyoperon.InfixFormatter.Format(tree, model.variables_, 17)
    text = re.sub(r"\bX(\d+)\b", lambda m: names[int(m[1]) - 1], text)
    try:
        inner = Expression.parse(text, names).evaluate(rows.X)[:, 0]
        slope, offset = _line(inner, rows.y)
        scaled = Expression.parse(f"{offset!r} + {slope!r}*({text})", names)
        return Equation.parse(scaled.text(), names)
    except IeqlError:  # a constant is not finite, or a denominator is zero
        return None


def _line(x: Array, y: Array) -> tuple[float, float]:
    """Slope and offset of the least-squares line; the bare values where there is none."""
    with np.errstate(all="ignore"):
        centred = x - x.mean()
        slope = float(centred @ y / (centred @ centred))
        offset = float(y.mean() - slope * x.mean())
    return (slope, offset) if np.isfinite([slope, offset]).all() else (1.0, 0.0)


# --- gplearn -----------------------------------------------------------------------------------


def _bounded_exp(x: Array) -> Array:
    return np.exp(np.minimum(x, 50.0))


def _fit_gplearn(problem: Problem, data: Data, seed: int, settings: Settings) -> Fit:
    from gplearn.functions import make_function
    from gplearn.genetic import SymbolicRegressor

    rows = _Rows(data, seed)
    exp = make_function(function=_bounded_exp, name="exp", arity=1)
    model = SymbolicRegressor(
        **GPLEARN,
        function_set=("add", "sub", "mul", "div", "sqrt", "log", "sin", "cos", exp),
        metric="rmse",
        stopping_criteria=0.0,
        generations=0,
        warm_start=True,
        low_memory=True,
        n_jobs=settings.n_jobs,
        random_state=seed,
    )
    limit = settings.max_time or 60.0
    trail: list[tuple[float, Equation]] = []
    start = time.perf_counter()
    seconds = last = 0.0
    while not trail or seconds + last < limit:
        model.set_params(generations=model.generations + 1)
        with np.errstate(all="ignore"):
            model.fit(rows.X, rows.y)
        last = time.perf_counter() - start - seconds
        seconds += last
        for program in _best_programs(model):
            trail.append((seconds, _gplearn_equation(program, problem.names)))
    front, selected = rows.front([*(e for _, e in trail), rows.mean(problem.names)])
    return Fit(seconds, front, selected, trail, {"generations": model.generations})


def _best_programs(model: Any) -> list[Any]:
    """The programs of the last generation that no shorter one beats."""
    found: list[Any] = []
    for program in sorted(model._programs[-1], key=lambda p: (p.length_, p.raw_fitness_)):
        if not found or program.raw_fitness_ < found[-1].raw_fitness_:
            found.append(program)
    return found


def _gplearn_equation(program: Any, names: tuple[str, ...]) -> Equation:
    """The values are gplearn's own, with its protected functions; the text is what it prints."""
    items = iter(program.program)
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/"}

    def read() -> str:
        item = next(items)
        if isinstance(item, int | np.integer):
            return names[int(item)]
        if isinstance(item, float):
            return f"({item!r})" if item < 0 else repr(float(item))
        args = [read() for _ in range(item.arity)]
        if item.name in signs:
            return f"({args[0]} {signs[item.name]} {args[1]})"
        return f"{item.name}({args[0]})"

    text = read()
    try:
        expression = Expression.parse(text, names)
    except IeqlError:  # it divides by zero, which gplearn defines as one
        expression = None
    return Equation(text, partial(_execute, program), expression)


def _execute(program: Any, X: Array) -> Array:
    return np.broadcast_to(np.asarray(program.execute(X), dtype=float), len(X))


# --- PySR --------------------------------------------------------------------------------------


def _fit_pysr(problem: Problem, data: Data, seed: int, settings: Settings, **changes: Any) -> Fit:
    """Fit with the settings above, some of them changed; there is no look at a running search."""
    from pysr import PySRRegressor

    rows = _Rows(data, seed)
    model = PySRRegressor(
        **{**PYSR, **changes},
        timeout_in_seconds=settings.max_time,
        random_state=seed,
        procs=settings.n_jobs,
        progress=False,
    )
    start = time.perf_counter()
    model.fit(rows.X, rows.y, variable_names=list(problem.names))
    seconds = time.perf_counter() - start
    found = []
    for form in model.equations_["sympy_format"]:
        with contextlib.suppress(IeqlError):  # a constant is not finite
            found.append(Equation.parse(str(form), problem.names))
    front, selected = rows.front([*found, rows.mean(problem.names)])
    return Fit(seconds, front, selected, [(seconds, e) for e in found])


PEERS: Mapping[str, Callable[..., Fit]] = {
    "operon": _fit_operon,
    "gplearn": _fit_gplearn,
    "pysr": _fit_pysr,
}
