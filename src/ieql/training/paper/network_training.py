"""The paper's own training (appendix "Training"): Adam, two phases, penalty epochs.

A model is trained in two phases. In the first nothing is regularised; in the second the expected
complexity, the probability that gates are open, costs λ. After every epoch a penalty epoch
visits points of the declared domain. A model is a pure function of (task, settings, λ, seed).

Several outputs are learned by one network (section "Architecture", which maps D inputs to D′
outputs): the loss is the sum of their mean squared errors, each in units of its own spread, and a
unit that several outputs use is paid for once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.equations.extract import extract
from ieql.equations.program import addresses
from ieql.network import Network
from ieql.training.paper import gates, objective
from ieql.training.paper.joint_rows import joint_rows
from ieql.training.paper.settings import PaperSettings
from ieql.training.task import Task
from ieql.units import REALS

__all__ = ["Model", "NetworkTraining"]

Array32 = NDArray[np.float32]


@dataclass
class Model:
    """Parameters of a model and the moments of Adam: each array has rows (value, first, second)."""

    w: Array32
    log_alpha: Array32
    relax: Array32
    """α̂, of which the relaxation is the softplus; one for each argument."""
    step: int = 0
    epoch: int = 0
    losses: tuple[float, float, float] = (float("nan"),) * 3
    """Data loss, domain penalty and bound penalty of the last epoch."""

    def copy(self) -> Model:
        """An independent copy: the second phase starts from the same first phase for every λ."""
        return replace(
            self, w=self.w.copy(), log_alpha=self.log_alpha.copy(), relax=self.relax.copy()
        )

    @property
    def is_finite(self) -> bool:
        """Whether no parameter has diverged, nor all values of the last epoch."""
        arrays = (self.w, self.log_alpha, self.relax)
        is_lost = self.step > 0 and np.isnan(self.losses[0])
        return not is_lost and all(bool(np.all(np.isfinite(a))) for a in arrays)


@dataclass(frozen=True, eq=False)
class NetworkTraining:
    """Trains models on one task; everything that is the same for all of them."""

    task: Task
    """Of the first output; inputs, domain and knowledge are the same for all."""
    settings: PaperSettings
    given: tuple[Network, NDArray[np.bool_]] | None = None
    """Another network than the paper's, and which of its weights exist."""
    relaxes: bool = True
    """Whether the relaxations α are learned, or stay as they are."""
    others: tuple[Task, ...] = ()
    """Of the further outputs of the same network."""
    network: Network = field(init=False)
    where: tuple[NDArray[np.intp], NDArray[np.intp]] = field(init=False)
    """Row and column of each weight that exists."""
    cost: Array32 = field(init=False)
    """Complexity factor of each weight; zero for biases, which have no gate."""

    def __post_init__(self) -> None:
        """Build the network (paper, section "Architecture"); prohibited weights do not exist."""
        task, settings = self.task, self.settings
        if self.given is None:
            network = Network.regular(
                task.prior,
                task.names,
                task.layers or settings.layers,
                task.copies or settings.copies,
                len(self.tasks),
            )
            exists = network.allowed
        else:
            network, exists = self.given
        where = np.nonzero(exists & network.allowed)
        object.__setattr__(self, "network", network)
        object.__setattr__(self, "where", where)
        object.__setattr__(self, "cost", network.costs[where[1]].astype(np.float32))

    # --- data ----------------------------------------------------------------------------------

    @property
    def tasks(self) -> tuple[Task, ...]:
        """One per output."""
        return (self.task, *self.others)

    @cached_property
    def rows(self) -> tuple[Array32, Array32, Array32 | None]:
        """Inputs, targets (outputs × rows) and weights, see `joint_rows`."""
        return joint_rows(self.tasks)

    @cached_property
    def bounds(self) -> Array32:
        """For each output the bound B, and the level that the network's output is above or below.

        What the user declares comes first; else B is in the unit of y, as in the paper, but in
        units of its spread where the measured values go beyond it: such tables the paper scales.
        """
        pairs = []
        for task in self.tasks:
            if task.bounds is not None and np.all(np.isfinite(task.bounds)):
                # The paper's B is the same on both sides; what passes one of them is refused later.
                pairs.append((max(map(abs, task.bounds)), task.mean))
            elif np.max(np.abs(task.train.y)) * task.unit <= self.settings.bound:
                pairs.append((self.settings.bound / task.unit, task.mean))
            else:
                pairs.append((self.settings.bound, 0.0))
        return np.ascontiguousarray(np.array(pairs, np.float32).T)

    def _domain(self) -> Array32:
        task = self.task
        scaled = (task.domain - task.centre[:, None]) / task.half[:, None]
        return np.ascontiguousarray(scaled, dtype=np.float32)

    # --- models --------------------------------------------------------------------------------

    def start(self, seed: int) -> Model:
        """A fresh model: weights uniform, denominators and other singular arguments at one."""
        rng = np.random.default_rng([seed, 0])
        network, (rows, columns) = self.network, self.where
        limit = 1.0 / np.sqrt(len(network.names) + len(network.layers))
        w = rng.uniform(-limit, limit, len(rows))
        bias = columns == 0
        w[bias] = np.isin(rows[bias], network.singular_rows)
        n, n_args = len(rows), network.n_args
        model = Model(
            np.zeros((3, n), np.float32),
            np.zeros((3, n), np.float32),
            np.zeros((3, n_args), np.float32),
        )
        model.w[0] = w
        model.log_alpha[0] = 0.01 * rng.normal(size=n)
        model.relax[0] = np.log(np.e - 1.0)  # a relaxation of one
        return model

    def train(
        self,
        model: Model,
        epochs: int,
        strength: float | None,
        seed: int,
        deadline: float,
        l1: float = 0.0,
    ) -> bool:
        """Train on for some epochs; without a strength the gates are open (phase 1).

        `l1` is the strength of an L1 penalty on the weights, which the paper's baseline has.

        Returns False if the deadline passed or the model diverged; `Model.is_finite` tells which.
        """
        run = self._compiled_epoch() or self._numpy_epoch
        for _ in range(epochs):
            if time.monotonic() > deadline:
                return False
            run(model, strength, seed * 1_000_003 + model.epoch, l1)
            model.epoch += 1
            if not model.is_finite:
                return False
        return True

    def _compiled_epoch(self) -> Any:
        """One epoch as a function; None if a user-defined unit cannot be compiled."""
        layout = _layout(self.network, self.where)
        if layout is None:
            return None
        from ieql.training.paper import steps

        XT, target, weight = self.rows
        weight = np.ones_like(target) if weight is None else weight
        layers, blocks, edges, where = layout
        domain, s = self._domain(), self.settings
        n = target.shape[1]

        def run(model: Model, strength: float | None, seed: int, l1: float = 0.0) -> None:
            order, picks = self._draw(n, domain.shape[1], np.random.default_rng(seed))
            left = np.flatnonzero(~self._is_gone(model, strength))
            w, log_alpha = (np.take(a, left, axis=1) for a in (model.w, model.log_alpha))
            model.step, losses = steps.epoch(
                layers, blocks, edges, len(self.network.names), s.rate, s.beta1, s.beta2,
                s.epsilon, strength or 0.0, s.delta, strength is not None, l1, self.relaxes,
                s.gate_limit, XT, target, weight, self.bounds, domain, min(s.batch, n), order,
                picks, where[left], self.cost[left], w, log_alpha, model.relax, model.step,
                seed % 2**62,
            )  # fmt: skip
            model.w[:, left], model.log_alpha[:, left] = w, log_alpha
            model.losses = float(losses[0]), float(losses[1]), float(losses[2])

        return run

    def _is_gone(self, model: Model, strength: float | None) -> NDArray[np.bool_]:
        """Which weights are no longer trained, because their gates have shut for good.

        At the lower limit of log α a gate would open in one of 30,000 steps, too seldom to come
        back: its weight is left out, which makes most of a training several times as fast.
        """
        if strength is None:
            return np.zeros(len(self.cost), bool)
        is_shut: NDArray[np.bool_] = model.log_alpha[0] <= -self.settings.gate_limit
        return is_shut & (self.cost > 0)

    def _draw(
        self, n: int, n_points: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Order of the rows of an epoch, and points of the domain for its penalty epoch."""
        count = self.settings.penalty_points if n_points else 0
        return rng.permutation(n), rng.integers(0, max(n_points, 1), count)

    def _numpy_epoch(
        self, model: Model, strength: float | None, seed: int, l1: float = 0.0
    ) -> None:
        """The work of `steps.epoch` in NumPy, for units that numba cannot compile."""
        rng = np.random.default_rng(seed)
        XT, y, weight = self.rows
        n, points = y.shape[1], self._domain()
        order, picks = self._draw(n, points.shape[1], rng)
        losses = []
        for rows in np.array_split(order, max(1, n // self.settings.batch)):
            part = None if weight is None else weight[:, rows]
            losses.append(self._step(model, XT[:, rows], y[:, rows], part, strength, rng, l1))
        data, domain, bound = np.mean(losses, axis=0)
        if len(picks):
            bound = self._step(model, points[:, picks], None, None, strength, rng)[2]
        model.losses = float(data), float(domain), float(bound)

    def _step(
        self,
        model: Model,
        XT: Array32,
        y: Array32 | None,
        weight: Array32 | None,
        strength: float | None,
        rng: np.random.Generator,
        l1: float = 0.0,
    ) -> tuple[float, float, float]:
        s = self.settings
        w, phi, relax = model.w[0], model.log_alpha[0], model.relax[0]
        gate, slope = np.ones_like(w), np.zeros_like(w)
        if strength is not None:
            u = rng.uniform(1e-6, 1.0 - 1e-6, len(w)).astype(np.float32)
            gated, gone = self.cost > 0, self._is_gone(model, strength)
            gate = np.where(gated, np.where(gone, 0.0, gates.sample(u, phi)), 1.0)
            slope = np.where(gated & ~gone, gates.sample_slope(u, phi), 0.0)
        W = np.zeros((self.network.n_args, self.network.n_sources), np.float32)
        W[self.where] = w * gate
        result = objective.gradient(
            self.network,
            W,
            objective.softplus(relax).astype(np.float32),
            XT,
            y,
            weight,
            delta=s.delta,
            bound=self.bounds[0],
            level=self.bounds[1],
        )
        G = result.W[self.where]
        model.step += 1
        if not (np.all(np.isfinite(G)) and np.all(np.isfinite(result.alpha))):
            return result.data, result.domain, result.bound
        if strength is not None:
            counted = strength if y is not None else 0.0
            d_phi = G * w * slope + counted * objective.complexity(phi, self.cost)[1]
            _adam(model.log_alpha, d_phi, model.step, s)
            np.clip(phi, -s.gate_limit, s.gate_limit, out=phi)
        pull = l1 * np.sign(w) * (self.cost > 0)
        _adam(model.w, G * gate + pull, model.step, s)
        if self.relaxes:
            _adam(model.relax, result.alpha * objective.softplus_slope(relax), model.step, s)
        return result.data, result.domain, result.bound

    def penalise(self, model: Model, seed: int) -> None:
        """A penalty epoch of its own: as many points of the domain as rows, in batches.

        The paper's own training needs one step after every epoch, which `train` does. This is for
        trainings that do it seldom but thoroughly, and is not worth compiling.
        """
        rng = np.random.default_rng(seed)
        points, n = self._domain(), self.rows[1].shape[1]
        picks = rng.integers(0, points.shape[1], n)
        for part in np.array_split(picks, max(1, n // self.settings.batch)):
            self._step(model, points[:, part], None, None, None, rng)

    # --- results -------------------------------------------------------------------------------

    def weights(self, model: Model) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """All weights with gates and relaxations folded in, and which of them are live."""
        gate = np.where(self.cost > 0, gates.deterministic(model.log_alpha[0]), 1.0)
        W = np.zeros((self.network.n_args, self.network.n_sources))
        live = np.zeros(W.shape, dtype=bool)
        W[self.where] = model.w[0] * gate
        live[self.where] = gate > 0
        rows = [
            r
            for blocks in self.network.blocks
            for block in blocks
            for a in block.unit.singular
            if np.isfinite(block.unit.domains[a][0])
            for r in range(block.args[a].start, block.args[a].stop)
        ]
        W[rows, 0] += objective.softplus(model.relax[0][rows].astype(np.float64))
        return W, live

    def equation(self, model: Model) -> Expression:
        """The equations of a model as one graph, in the coordinates of the tasks."""
        dense = extract(self.network, *self.weights(model))
        means = np.array([task.mean for task in self.tasks])
        return dense.rescaled(self.task.centre, self.task.half, means, 1.0).canonical()

    def outputs(self, model: Model, XT: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the network gives at points in the task's coordinates, outputs × points.

        Gates have their deterministic values; singular units are relaxed as in training, zero
        where their argument is not positive (paper, section "Singular Units"). On the data that is
        the equation; at points of the domain where an argument leaves its own, it is not.
        """
        gate = np.where(self.cost > 0, gates.deterministic(model.log_alpha[0]), 1.0)
        W = np.zeros((self.network.n_args, self.network.n_sources))
        W[self.where] = model.w[0] * gate
        alpha = objective.softplus(model.relax[0].astype(np.float64))
        task = self.task
        scaled = (XT - task.centre[:, None]) / task.half[:, None]
        with np.errstate(all="ignore"):
            Z = objective.forward(self.network, W, alpha, scaled)[1]
        means = np.array([t.mean for t in self.tasks])
        values: NDArray[np.float64] = (Z[self.network.layer_rows[-1]] + means[:, None]).astype(
            float
        )
        return values


def _adam(p: Array32, g: NDArray[Any], step: int, settings: PaperSettings) -> None:
    """One step of Adam on (value, first moment, second moment)."""
    p[1] += (1.0 - settings.beta1) * (g - p[1])
    p[2] += (1.0 - settings.beta2) * (g * g - p[2])
    mean = p[1] / (1.0 - settings.beta1**step)
    square = p[2] / (1.0 - settings.beta2**step)
    p[0] -= settings.rate * mean / (np.sqrt(square) + settings.epsilon)


def _layout(
    network: Network, where: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array32, NDArray[np.int64]] | None:
    """Layers, blocks and edges as in `steps.Layout`; the place of each weight in the buffer.

    None if a user-defined unit cannot be compiled.
    """
    layers, place = [], 0
    for rows, count in zip(network.layer_rows, network.visible, strict=True):
        layers.append((rows.start, rows.stop, count, place))
        place += (rows.stop - rows.start) * count
    found = [(k, b) for k, layer in enumerate(network.blocks) for b in layer]
    calls = addresses([b.unit for _, b in found])
    if calls is None:
        return None
    blocks = [
        (k, b.unit.trained.code, call, b.unit.arity, b.args[0].start, b.args[-1].start,
         b.sources.start, b.sources.stop - b.sources.start)
        for (k, b), call in zip(found, calls.tolist(), strict=True)
    ]  # fmt: skip
    # Units of one argument have no second domain to leave.
    edges = [(*b.unit.domains, REALS)[:2] for _, b in found]
    table = np.array(layers, np.int64)
    layer_of = np.searchsorted(table[:, 1], where[0], side="right")
    first, _, count, start = table[layer_of].T
    flat = start + (where[0] - first) * count + where[1]
    return (
        table,
        np.array(blocks, np.int64).reshape(-1, 8),
        np.array(edges, np.float32).reshape(-1, 4),
        flat.astype(np.int64),
    )
