"""Steps per second of the paper's trainer beside a plain PyTorch implementation of the same step.

    python benchmarks/training_step.py [--rounds 5] [--out steps.json]

Both train the paper's network (four inputs, four layers, four copies, preset ``paper``) with gates,
relaxed singular units, penalties and Adam, from the same weights on the same rows. PyTorch runs in
eager mode, with as many threads as it likes; ours is one thread of one process. They take turns, so
that a busy machine slows both; what counts is the ratio. PyTorch comes with the extra ``bench``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ieql import load_problem
from ieql.data.dataset import Scaling
from ieql.data.sample import Sample
from ieql.prior import Prior
from ieql.training.paper import gates
from ieql.training.paper.network_training import NetworkTraining
from ieql.training.paper.settings import PaperSettings
from ieql.training.task import Task
from refits import machine
from tables import write_results

STRENGTH = 1e-3


def make_trainer(batch: int) -> NetworkTraining:
    """The paper's network on the problem S0."""
    problem = load_problem("S0", seed=0)
    X, y = np.asarray(problem.X), np.asarray(problem.y)
    box, spread = Scaling.minmax(X), float(y.std())
    sample = Sample(np.ascontiguousarray(X.T), y / spread, np.ones(len(y)))
    task = Task(
        names=tuple(problem.X.columns),
        prior=Prior.of("paper"),
        train=sample,
        validation=sample,
        centre=box.offset,
        half=box.scale,
        mean=float(y.mean()) / spread,
        domain=np.ascontiguousarray(X.T[:, :2000]),
    )
    return NetworkTraining(task, replace(PaperSettings.published(), batch=batch))


def ours(trainer: NetworkTraining) -> Callable[[int], float]:
    """A function that makes at least n steps and returns steps per second."""
    model, run = trainer.start(0), trainer._compiled_epoch()
    run(model, STRENGTH, 0)

    def steps(n: int) -> float:
        first, began = model.step, time.perf_counter()
        while model.step - first < n:
            run(model, STRENGTH, model.step)
        return (model.step - first) / (time.perf_counter() - began)

    return steps


def theirs(trainer: NetworkTraining, torch: Any) -> tuple[Callable[[int], float], float]:
    """The same in PyTorch, and its data loss at the start with open gates."""
    network, settings, model = trainer.network, trainer.settings, trainer.start(0)
    dense = np.zeros((network.n_args, network.n_sources), np.float32)
    dense[trainer.where] = model.w[0]
    phi = np.zeros_like(dense)
    phi[trainer.where] = model.log_alpha[0]
    pairs = list(zip(network.layer_rows, network.visible, strict=True))
    weights = [torch.nn.Parameter(torch.tensor(dense[r, :c])) for r, c in pairs]
    places = [torch.nn.Parameter(torch.tensor(phi[r, :c])) for r, c in pairs]
    masks = [torch.tensor(network.allowed[r, :c]) for r, c in pairs]
    costs = [torch.tensor(network.costs[:c], dtype=torch.float32) * m
             for (_, c), m in zip(pairs, masks, strict=True)]  # fmt: skip
    relax = torch.nn.Parameter(torch.tensor(model.relax[0]))
    optimizer = torch.optim.Adam(
        [*weights, *places, relax], settings.rate, (settings.beta1, settings.beta2),
        settings.epsilon,
    )  # fmt: skip
    XT, y, _ = trainer.task.dense
    X, target = torch.tensor(np.ascontiguousarray(XT)), torch.tensor(y)
    functions = {
        "cos": torch.cos, "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt,
        "square": torch.square, "mul": torch.mul, "div": torch.div,
    }  # fmt: skip

    def gated(k: int) -> Any:
        u = torch.rand_like(weights[k]).clamp(1e-6, 1 - 1e-6)
        s = torch.sigmoid((torch.log(u) - torch.log1p(-u) + places[k]) / gates.BETA)
        gate = (s * (gates.ZETA - gates.GAMMA) + gates.GAMMA).clamp(0.0, 1.0)
        return weights[k] * torch.where(costs[k] > 0, gate, 1.0) * masks[k]

    def forward(batch: Any, open_gates: bool = False) -> tuple[Any, Any]:
        alpha = torch.nn.functional.softplus(relax)
        Y = torch.cat([torch.ones(1, batch.shape[1]), batch])
        outside = torch.zeros(())
        for k, (rows, _) in enumerate(pairs):
            Z = (weights[k] * masks[k] if open_gates else gated(k)) @ Y
            if k == len(network.blocks):
                return Z[0], outside
            new = []
            for block in network.blocks[k]:
                args = [Z[a.start - rows.start : a.stop - rows.start] for a in block.args]
                if block.unit.singular:
                    inside = args[-1] > 0
                    outside = outside + torch.relu(-args[-1]).sum() / batch.shape[1]
                    shift = alpha[block.args[-1]][:, None]
                    args[-1] = torch.where(inside, args[-1], 1.0) + shift
                    value = functions[block.unit.name](*args)
                    new.append(torch.where(inside, value, 0.0))
                else:
                    new.append(functions[block.unit.name](*args))
            Y = torch.cat([Y, *new])
        raise AssertionError("the outputs are the last layer")

    def step(rows: Any) -> None:
        optimizer.zero_grad()
        output, outside = forward(X[:, rows])
        loss = torch.mean((output - target[rows]) ** 2) + settings.delta * outside
        for place, cost in zip(places, costs, strict=True):
            loss = loss + STRENGTH * torch.sum(cost * torch.sigmoid(place - gates.SHIFT))
        loss.backward()
        optimizer.step()

    with torch.no_grad():
        start = float(torch.mean((forward(X, open_gates=True)[0] - target) ** 2))

    def steps(n: int) -> float:
        order = torch.randperm(len(target))
        step(order[: settings.batch])
        began = time.perf_counter()
        for k in range(n):
            at = k * settings.batch % (len(target) - settings.batch)
            step(order[at : at + settings.batch])
        return n / (time.perf_counter() - began)

    return steps, start


def main() -> None:
    """Print a table of steps per second and their ratio."""
    parser = argparse.ArgumentParser(description="Steps per second of the paper's trainer.")
    parser.add_argument("--rounds", type=int, default=5, help="turns that each side takes")
    parser.add_argument("--out", help="write the figures to this JSON file")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        torch = None
        print("PyTorch is not installed (pip install 'ieql[bench]'): ours alone.")
    print(machine())
    results = []
    for batch, n in ((100, 400), (1000, 100)):
        trainer = make_trainer(batch)
        mine = ours(trainer)
        other, start = theirs(trainer, torch) if torch is not None else (None, float("nan"))
        rates = [(mine(n), other(n) if other else float("nan")) for _ in range(arguments.rounds)]
        ratio = statistics.median(a / b for a, b in rates)
        a, b = (statistics.median(column) for column in zip(*rates, strict=True))
        print(
            f"batch {batch:4d}, {trainer.network.n_weights} weights: {a:7.0f} steps/s, "
            f"PyTorch {b:7.0f} steps/s, ratio {ratio:.1f} (median of {arguments.rounds})"
        )
        results.append({"batch": batch, "ours": a, "torch": b, "ratio": ratio, "start": start})
    if arguments.out:
        write_results(arguments.out, {"machine": machine(), "steps": results})


if __name__ == "__main__":
    main()
