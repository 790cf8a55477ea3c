"""What a method found, compared with the truth: right or not, inside the data and beyond."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fits import Equation, Fit
from ieql.equations.expression import Expression
from ieql.prior import Prior
from problems import EXTRA_CONSTANTS, Data, Problem
from reference import Reachable, contains, n_constants, reachable
from srbench import is_symbolic_solution
from structure import same_structure, skeleton
from ugliness import ugliness

__all__ = ["failed", "judge", "short_waves"]

Array = NDArray[np.float64]
RIVAL_NATS = 5.0
"""An equation whose description is at most so many nats longer is a rival of the selected one."""
DEFAULT_PRIOR = Prior()
"""What our own fits are told: no benchmark has a prior of its own."""
N_ROWS_OF_STRUCTURE = 500
"""Exact rows inside the data, and as many beyond, on which a structure is compared."""


def judge(problem: Problem, data: Data, fit: Fit) -> dict[str, Any]:
    """Compare what was found with the truth.

    ``success`` is the suite's own criterion, inside the data; ``right`` asks for it beyond them,
    too. ``first_success`` is the second at which an equation that meets the suite's criterion was
    first on the front, before the selection and on the test data, which no method sees; if it came
    about only when the front was finished, the time of the whole fit.
    """
    judged = _Judge(problem, data)
    front = [judged.row(equation) for equation in fit.front]
    selected = front[fit.selected]
    first = next((s for s, e in fit.trail if judged.succeeds(e)), None)
    held = any(row["success"] for row in front)
    if first is None and held:
        first = fit.seconds
    return {
        "rmse": selected["rmse_test"],
        "success": selected["success"],
        "first_success": first,
        "seconds": fit.seconds,
        "equation": selected["equation"],
        "n_parameters": selected["n_parameters"],
        "n_parameters_truth": problem.n_parameters,
        "same_structure": selected["same_structure"],
        "front_success": held,
        "front_same_structure": any(row["same_structure"] for row in front),
        "selected": fit.selected,
        "noise": data.noise,
        "spread": data.spread,
        "truth": problem.formula,
        **judged.more(fit.front[fit.selected], front, fit.selected),
        "front": front,
        "notes": fit.notes,
    }


def failed(problem: Problem, error: Exception) -> dict[str, Any]:
    """The record of a method that broke down: it found nothing."""
    missing = ("rmse", "first_success", "seconds", "n_parameters", "n_constants", "fresh_ratio")
    return dict.fromkeys(missing) | {
        "success": None if problem.criterion == "record" else False,
        "right": None if problem.criterion == "record" else False,
        "same_structure": False,
        "front_success": False,
        "front_same_structure": False,
        "few_constants": None if problem.n_constants is None else False,
        "success_beyond": False if problem.has_truth else None,
        "equation": "",
        "n_parameters_truth": problem.n_parameters,
        "n_constants_truth": problem.n_constants,
        "truth": problem.formula,
        "front": [],
        "error": f"{type(error).__name__}: {error}",
    }


class _Judge:
    """Judges equations by one draw of a problem's data."""

    def __init__(self, problem: Problem, data: Data) -> None:
        self.problem, self.data = problem, data
        self.X = data.X.to_numpy(dtype=float)
        self.inside = data.X_test.to_numpy(dtype=float), data.y_test.to_numpy(dtype=float)
        self.beyond: tuple[Array, Array] | None = None
        if data.X_beyond is not None and data.y_beyond is not None and len(data.y_beyond):
            self.beyond = data.X_beyond.to_numpy(), data.y_beyond.to_numpy()
        self.reachable = self._reachable()

    def _reachable(self) -> Reachable:
        """What the truth reaches that is fitted to the same rows, where that is asked for."""
        if self.problem.criterion == "rss":  # its constants are fitted already
            residuals = self.problem.truth.evaluate(self.inside[0])[:, 0] - self.inside[1]
            return Reachable(float(np.sqrt(np.mean(residuals**2))), math.inf)
        if self.problem.criterion != "law" or self.data.noise == 0.0:
            return Reachable(0.0, 0.0)
        y = self.data.y.to_numpy(dtype=float)
        # Of rows that were made wrong nobody learns anything.
        right = np.ones(len(y), dtype=bool)
        if self.data.y_right is not None:
            right = self.data.y_right.to_numpy(dtype=float) == y
        truth, noise = self.problem.truth, self.data.noise
        return reachable(truth, self.X[right], y[right], noise, self.inside, self.beyond)

    # --- right or not --------------------------------------------------------------------------

    def succeeds(self, equation: Equation) -> bool:
        """Tell whether an equation meets the suite's criterion inside the data."""
        if self.problem.criterion == "record":
            return False
        counted = self.n_constants(equation) if self.problem.criterion == "rss" else None
        return self.problem.succeeds(
            self.data,
            equation.rmse(*self.inside),
            equation.inputs_used,
            n_constants=counted,
            reachable=self.reachable.inside,
        )

    def _succeeds_beyond(self, equation: Equation, rmse: float) -> bool:
        return self.problem.succeeds(
            self.data,
            rmse,
            equation.inputs_used,
            reachable=self.reachable.beyond,
            is_beyond=True,
        )

    def n_constants(self, equation: Equation) -> int | None:
        """Constants of an equation; None if our units cannot write it."""
        return None if equation.expression is None else n_constants(equation.expression, self.X)

    def row(self, equation: Equation) -> dict[str, Any]:
        """All that is said of an equation of the front."""
        success = self.succeeds(equation)
        return {
            "equation": equation.text,
            "n_parameters": equation.n_parameters,
            "n_constants": self.n_constants(equation),
            **equation.errors,
            "rmse_test": equation.rmse(*self.inside),
            "rmse_beyond": None if self.beyond is None else equation.rmse(*self.beyond),
            "success": success,
            "same_structure": self._has_structure(equation, success),
        }

    def _has_structure(self, equation: Equation, success: bool) -> bool:
        found, problem = equation.expression, self.problem
        if problem.criterion == "constant":
            return success
        if found is None or not problem.has_truth:
            return False
        if problem.criterion not in ("law", "rss"):
            return same_structure(
                found,
                problem.truth,
                self.X,
                noise=self.data.noise,
                n_parameters=problem.n_parameters,
            )
        # Numbers that the law gives, like the base of 2ⁿ, have to be fitted by a method.
        if not success or n_constants(found, self.X) > n_constants(problem.truth, self.X):
            return False
        if skeleton(found, self.X) == skeleton(problem.truth, self.X):
            return True
        return contains(found, *self._exact_rows())

    def _exact_rows(self) -> tuple[Array, Array]:
        if self.beyond is None:  # a measured table, and the accepted law
            return self.X, self.problem.truth.evaluate(self.X)[:, 0]
        n = N_ROWS_OF_STRUCTURE
        X, y = zip(self.inside, self.beyond, strict=True)
        return np.concatenate([part[:n] for part in X]), np.concatenate([part[:n] for part in y])

    # --- the selected equation -----------------------------------------------------------------

    def more(self, equation: Equation, front: list[dict[str, Any]], place: int) -> dict[str, Any]:
        """What else is said of the selected equation."""
        own = front[place]
        beyond = None
        if self.beyond is not None:
            beyond = self._succeeds_beyond(equation, own["rmse_beyond"])
        truth, counted = self.problem.n_constants, own["n_constants"]
        few = None if truth is None else counted is not None and counted <= truth + EXTRA_CONSTANTS
        waves = None if equation.expression is None else short_waves(equation.expression, self.X)
        return {
            "rmse_beyond": own["rmse_beyond"],
            "success_beyond": beyond,
            "right": own["success"] and beyond is not False,
            "reachable": self.reachable.inside,
            "reachable_beyond": self.reachable.beyond,
            "n_constants": counted,
            "n_constants_truth": truth,
            "few_constants": few,
            "fresh_ratio": self._fresh_ratio(own),
            "short_waves": waves,
            "short_wave_rival": self._has_rival(front, place) if waves else False,
            **self._ugly(equation),
            "srbench": self._is_symbolic_solution(equation),
            **self._recorded(own),
        }

    def _ugly(self, equation: Equation) -> dict[str, Any]:
        """Number of places that are written strangely, and why; None if our units cannot write it.

        The residuals say how much of a curve the rows can tell, as far as the method knows them.
        """
        e = equation.expression
        if e is None:
            return {"ugly": None, "ugly_reasons": None}
        errors = equation.standard_errors
        if errors is not None and len(errors) != len(e.constants()):
            errors = None  # those of another way to write it
        noise = equation.errors.get("rmse_train", self.data.noise)
        reasons = ugliness(e, self.X, standard_errors=errors, noise=noise, prior=DEFAULT_PRIOR)
        return {"ugly": len(reasons), "ugly_reasons": reasons}

    def _fresh_ratio(self, own: dict[str, Any]) -> float | None:
        """Error on new, noisy rows over the error that was reported."""
        reported = own.get("rmse_validation")
        if not self.data.is_like_train or not reported or not math.isfinite(reported):
            return None
        return math.hypot(own["rmse_test"], self.data.noise) / reported

    def _has_rival(self, front: list[dict[str, Any]], place: int) -> bool | None:
        """Whether an equation without such a wave is hardly worse by its description length.

        None for other tools, of whose equations no description length is known.
        """
        own = front[place].get("mdl")
        if own is None:
            return None
        for row in front:
            if row["mdl"] - own <= 2.0 * RIVAL_NATS:
                rival = Expression.parse(row["equation"], self.problem.names)
                if short_waves(rival, self.X) == 0:
                    return True
        return False

    def _is_symbolic_solution(self, equation: Equation) -> bool | None:
        """SRBench's criterion, in the suite that is theirs."""
        if self.problem.criterion != "r2":
            return None
        if equation.expression is None:
            return False
        return is_symbolic_solution(equation.text, self.problem.formula, self.problem.names)

    def _recorded(self, own: dict[str, Any]) -> dict[str, Any]:
        """For tables without a law: the share of the variance that is explained."""
        if self.problem.criterion != "record":
            return {}
        variance = float(np.var(self.inside[1]))
        return {"success": None, "right": None, "r2_test": 1.0 - own["rmse_test"] ** 2 / variance}


def short_waves(expression: Expression, X: Array) -> int:
    """Number of cosines and sines of which the rows see less than half a turn."""
    count = 0
    for node, (z, *_) in zip(expression.nodes, expression.arguments(X), strict=True):
        if node.unit.name in ("cos", "sin"):
            count += bool(np.ptp(z) < math.pi)
    return count
