"""The baseline EQL÷ of Sahoo, Lampert and Martius ("Learning equations for … control", ICML 2018).

A network of identities, sines, cosines and products in which each layer sees only the one before
it, with one division at the end; trained by Adam with an L1 penalty in three phases. It runs on the
network and the compiled steps of the package: the threshold θ of its division is the relaxation α
of the paper's singular units, which here follows a schedule and is not learned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from experiments.sweeping import target_of
from ieql.equations.builder import Builder
from ieql.equations.expression import Expression, Sum
from ieql.equations.program import compile_kernels
from ieql.network import Network
from ieql.prior import Prior
from ieql.problems import Problem
from ieql.selection import Candidate
from ieql.target import Target
from ieql.training.paper import gates, objective
from ieql.training.paper.network_training import Model, NetworkTraining
from ieql.training.paper.settings import PaperSettings
from ieql.training.paper.sweep import one_thread
from ieql.training.parallel import in_parallel
from ieql.training.task import Task
from ieql.units import IDENTITY, Unit

__all__ = ["PRIOR", "EqldivFit", "EqldivSettings", "fit_eqldiv", "make_trainer", "threshold"]

PRIOR = Prior(units=("sin", "cos", "mul", "div"), prohibit=())
"""Every weight counts one; identities vanish when the equation is read off the network."""
HIDDEN = ("identity", "sin", "cos", "mul")
FOREVER = float("inf")


@dataclass(frozen=True)
class EqldivSettings:
    """Numbers of EQL÷; the defaults are the published ones (the paper's appendix "Baselines").

    Three things are as in our own trainings and not as in the original: inputs are scaled to
    [-1, 1] and the target to mean 0 and variance 1 before training, so the strengths λ are in
    those units; the points of penalty epochs are drawn from some two thousand of the
    test domain; and where a denominator is not positive the finished equation is not set to zero.
    """

    layers: tuple[int, ...] = (2, 3, 4)
    """L: hidden layers and the layer of the division, as Sahoo et al. count them."""
    copies: int = 10
    """Units of each type in a hidden layer."""
    epochs: int = 10_000
    """Epochs for each hidden layer: T = (L - 1) times this. Reduced in most of our runs."""
    batch: int = 20
    """Larger in our reduced runs, where time counts."""
    rate: float = 1e-3
    """Four times as large in our reduced runs: with few epochs 0.001 does not get to the end."""
    n_strengths: int = 26
    exponents: tuple[float, float] = (-6.0, -3.5)
    """λ = 10^k with k from the first to the second in equal steps."""
    beta1: float = 0.9
    epsilon: float = 1e-4
    penalty: float = 1.0
    """Strength of the penalty on small denominators while learning from the rows."""
    eta: float = 10.0
    """Strength η of the penalties in a penalty epoch."""
    bound: float = 10.0
    """Bound B of the output, in the unit of y as far as its values stay within."""
    penalty_every: int = 50
    """A penalty epoch follows after so many epochs."""
    smallest: float = 1e-3
    """Weights below this are fixed at zero in the third phase."""

    @property
    def strengths(self) -> tuple[float, ...]:
        """The regularisation strengths λ, from weak to strong."""
        return tuple((10.0 ** np.linspace(*self.exponents, self.n_strengths)).tolist())

    def phases(self, layers: int) -> tuple[int, int, int]:
        """Ends of the three phases: T/4 without L1, until 19T/20 with it, then the zeros stay."""
        total = (layers - 1) * self.epochs
        return total // 4, 19 * total // 20, total

    def steps(self) -> PaperSettings:
        """What the compiled steps need to know."""
        return PaperSettings(
            batch=self.batch,
            rate=self.rate,
            beta1=self.beta1,
            epsilon=self.epsilon,
            delta=self.penalty,
            bound=self.bound,
            penalty_points=0,
        )


@dataclass(frozen=True)
class EqldivFit:
    """What was found, in the user's coordinates, and what `ieql.selection.select` needs.

    Attributes
    ----------
    candidates : list of Candidate
        One equation for each number of layers and each strength, but for those that diverged or
        have an error that is not finite; the mean alone if none is left.
    mean_errors : dict
        Errors of the mean predictor: ``"validation"`` and, where there is one, ``"extrapolation"``.
    n_rows : (int, int)
        Number of training and of validation rows.
    """

    candidates: list[Candidate]
    mean_errors: dict[str, float]
    n_rows: tuple[int, int]


def fit_eqldiv(
    problem: Problem, seed: int, settings: EqldivSettings, n_jobs: int | None
) -> EqldivFit:
    """Learn the equations of all numbers of layers and strengths.

    Parameters
    ----------
    problem : Problem
        Rows, domain and, for V_int&ex, labelled points outside.
    seed : int
        Fixes the split, which is that of `IEQLRegressor` with this random state, and the trainings.
    settings : EqldivSettings
        Numbers of the method.
    n_jobs : int or None
        Processes.
    """
    target = target_of(problem, seed, PRIOR)
    compile_kernels("ieql.training.paper.steps")
    # The deepest networks take longest: they come first, so that no process waits at the end.
    depths = sorted(settings.layers, reverse=True)
    firsts = ((d, _first_phase, (target.task, settings, d, seed)) for d in depths)
    starts = dict(in_parallel(firsts, n_jobs))
    jobs = [
        ((d, i), _second_phase, (target, settings, d, starts[d], i, seed))
        for d in depths
        for i in range(settings.n_strengths)
    ]
    found = sorted(in_parallel(jobs, n_jobs), key=lambda item: item[0])
    candidates = [c for _, c in found if c is not None]
    level = float(np.average(target.train.y, weights=target.train.weight))
    mean = _candidate(Expression.parse(repr(level), problem.feature_names), target)
    errors = {"mean": level, "validation": mean.rmse_validation}
    if target.extrapolation is not None:
        errors["extrapolation"] = mean.rmse_extrapolation
    n_rows = len(target.train), len(target.validation)
    return EqldivFit(candidates or [mean], errors, n_rows)


# --- network -----------------------------------------------------------------------------------


def make_trainer(task: Task, settings: EqldivSettings, layers: int) -> NetworkTraining:
    """A trainer of the network of EQL÷: no skips, one division, which alone is the output."""
    hidden = tuple(PRIOR.unit(name) for name in HIDDEN for _ in range(settings.copies))
    division = (PRIOR.unit("div"),)
    network = Network(task.names, (*(hidden,) * (layers - 1), division), task.prior)
    exists = np.zeros((network.n_args, network.n_sources), dtype=bool)
    first = 1
    for rows, count in zip(network.layer_rows, network.visible, strict=True):
        exists[rows, first:count] = True
        first = count
    exists[:, 0] = True
    exists[network.layer_rows[-1], 0] = False
    return NetworkTraining(task, settings.steps(), (network, exists), relaxes=False)


def _start(trainer: NetworkTraining, seed: int) -> Model:
    """A fresh model: normal weights as in the EQL (Martius and Lampert 2016), gates open."""
    model = trainer.start(seed)
    rng = np.random.default_rng([seed, 1])
    rows, columns = trainer.where
    network = trainer.network
    model.log_alpha[0] = gates.LIMIT
    before = 1
    for part, count in zip(network.layer_rows, network.visible, strict=True):
        ours = (rows >= part.start) & (rows < part.stop) & (columns > 0)
        spread = 1.0 / math.sqrt(count - before + part.stop - part.start)
        model.w[0, ours] = rng.normal(0.0, spread, int(ours.sum()))
        before = count
    model.w[0, rows == network.layer_rows[-1].start] = 1.0
    return model


def _rows_of_division(network: Network) -> tuple[int, int]:
    """Rows of numerator and denominator."""
    (block,) = network.blocks[-1]
    return block.args[0].start, block.args[1].start


# --- training ----------------------------------------------------------------------------------


def threshold(epoch: int) -> float:
    """θ(t) = 1 / sqrt(t + 1): what a denominator must exceed in that epoch."""
    return 1.0 / math.sqrt(epoch + 1.0)


def _lower_threshold(trainer: NetworkTraining, model: Model) -> None:
    """Set θ of the model's epoch: α = θ, while the denominator b = z + α itself stays."""
    rows, columns = trainer.where
    _, denominator = _rows_of_division(trainer.network)
    bias = (rows == denominator) & (columns == 0)
    old = objective.softplus(model.relax[0, denominator])
    new = threshold(model.epoch)
    model.w[0, bias] += old - new
    model.relax[0, denominator] = math.log(math.expm1(new))


def _fold_output(trainer: NetworkTraining, model: Model) -> None:
    """Move the factor of the output into the numerator.

    EQL÷ has no such factor. Left alone it would take part of the L1 penalty from the numerator.
    """
    rows, _ = trainer.where
    numerator, _ = _rows_of_division(trainer.network)
    output = rows == trainer.network.layer_rows[-1].start
    model.w[0, rows == numerator] *= model.w[0, output]
    model.w[0, output] = 1.0


def _train(
    trainer: NetworkTraining,
    model: Model,
    until: int,
    l1: float,
    settings: EqldivSettings,
    seed: int,
) -> bool:
    """Train on until an epoch; False if the model diverged."""
    penalties = replace(trainer, settings=replace(trainer.settings, delta=settings.eta))
    while model.epoch < until:
        _lower_threshold(trainer, model)
        if not trainer.train(model, 1, None, seed, FOREVER, l1):
            return False
        _fold_output(trainer, model)
        if model.epoch % settings.penalty_every == 0:
            penalties.penalise(model, seed + model.epoch)
            _fold_output(trainer, model)
    return model.is_finite


def _without_small(
    trainer: NetworkTraining, model: Model, smallest: float
) -> tuple[NetworkTraining, Model]:
    """The same with small weights gone for good; biases stay."""
    rows, columns = trainer.where
    kept = (np.abs(model.w[0]) >= smallest) | (columns == 0)
    exists = np.zeros(trainer.network.allowed.shape, dtype=bool)
    exists[rows[kept], columns[kept]] = True
    fewer = replace(
        model,
        w=np.ascontiguousarray(model.w[:, kept]),
        log_alpha=np.ascontiguousarray(model.log_alpha[:, kept]),
        relax=model.relax.copy(),
    )
    return replace(trainer, given=(trainer.network, exists)), fewer


def _first_phase(task: Task, settings: EqldivSettings, layers: int, seed: int) -> Model | None:
    """The phase without regularisation, which all strengths share; None if it diverged."""
    trainer = make_trainer(task, settings, layers)
    model = _start(trainer, seed)
    with one_thread(), np.errstate(all="ignore"):
        finite = _train(trainer, model, settings.phases(layers)[0], 0.0, settings, seed)
    return model if finite else None


def _second_phase(
    target: Target,
    settings: EqldivSettings,
    layers: int,
    start: Model | None,
    number: int,
    seed: int,
) -> Candidate | None:
    """The phases with one strength and with fixed zeros; None if there is no use in the result."""
    if start is None:
        return None
    _, second, last = settings.phases(layers)
    seed += 1 + number
    trainer, model = make_trainer(target.task, settings, layers), start.copy()
    with one_thread(), np.errstate(all="ignore"):
        if not _train(trainer, model, second, settings.strengths[number], settings, seed):
            return None
        trainer, model = _without_small(trainer, model, settings.smallest)
        if not _train(trainer, model, last, 0.0, settings, seed):
            return None
        equation = trainer.equation(model).rescaled(
            target.inputs.offset,
            target.inputs.scale,
            target.scaling.offset.item(),
            target.scaling.scale.item(),
        )
        candidate = _candidate(_without_identities(equation), target)
    return candidate if _is_measured(candidate, target) else None


# --- results -----------------------------------------------------------------------------------


def _without_identities(equation: Expression) -> Expression:
    """The same equation, sums put in where an identity passes them on; else as it was trained."""
    return _PassingOn(equation.names).rebuild(equation)


class _PassingOn(Builder):
    def apply(self, unit: Unit, *args: Sum) -> Sum:
        return args[0] if unit is IDENTITY else super().apply(unit, *args)


def _candidate(equation: Expression, target: Target) -> Candidate:
    """Its errors on the rows of the split: the networks are validated as they were trained."""
    train, validation, extrapolation = (
        math.nan if sample is None else sample.rmse(equation.evaluate(sample.XT.T)[:, 0])
        for sample in (target.train, target.validation, target.extrapolation)
    )
    return Candidate(
        equation,
        equation.complexity(PRIOR),
        equation.n_parameters,
        train,
        validation,
        extrapolation,
    )


def _is_measured(candidate: Candidate, target: Target) -> bool:
    errors = [candidate.rmse_train, candidate.rmse_validation]
    if target.extrapolation is not None:
        errors.append(candidate.rmse_extrapolation)
    return bool(np.all(np.isfinite(errors)))
