"""Refits per second: the compiled kernels against the same algorithm in NumPy, side by side.

A refit is eight Levenberg-Marquardt steps on 512 rows from constants that are some 20 % off. Both
forms are timed in turns on the same equations, data and starts, on one core, and the best of
several rounds counts for each, because other work on the machine only ever makes it slower.

A second table compares built-in units with user-defined ones that compute the same: square and
quotient, where both do the same arithmetic, and cos and exp, which are polynomials in our kernels
and calls of the C library in a user's unit. The ratios are own to built-in, and to own in NumPy.

    python benchmarks/refits.py
"""

from __future__ import annotations

import os
import platform
import time
from dataclasses import replace

import numba
import numpy as np
from threadpoolctl import threadpool_limits

from ieql.equations.expression import Expression
from ieql.equations.program import Program
from ieql.units import COS, DIV, EXP, SQUARE, Unit

ROWS, STEPS, ROUNDS, STARTS = 512, 8, 25, 40
NAMES = ("x1", "x2", "x3", "x4")
EQUATIONS = (
    "1.5*cos(2.2*x1 + 0.7) + 0.8*x2**2 - 1.2*exp(-0.9*x3) + 0.5*x1*x4 + 0.3",
    "0.5*sin(3.1*x1 + 0.3)*cos(1.2*x2) + 0.7*log(x3**2 + 1.4) + 0.4/(x4**2 + 2.2) - 0.3",
    "(0.6*x1 + 0.4*x3 + 0.2)/(0.3*x4**2 + x2**2 + 1.7) + 0.4*sqrt(0.5*x1 + 1.4) + 0.9*x2*x3 - 0.1",
    "1.5*cos(2.2*x1 + 0.7*x2 + 0.4) + 0.8*x2**2 - 1.2*exp(-0.9*x3 + 0.3*x1) + 0.5*x1*x4"
    " + (0.6*x1 + 0.4*x3 + 0.2)/(0.3*x4**2 + x2**2 + 1.7) + 0.45*sin(2.7*x4 + 0.6*x3) + 0.3",
)
OWN = {
    COS: Unit("my_cos", np.cos, lambda z: -np.sin(z)),
    EXP: Unit("my_exp", np.exp, np.exp),
    SQUARE: Unit("my_square", lambda z: z * z, lambda z: 2.0 * z),
    DIV: Unit(
        "my_div",
        lambda a, b: a / b,
        (lambda a, b: 1.0 / b, lambda a, b: -a / (b * b)),
        domains=DIV.domains,
    ),
}
"""Units of the table as a user would define them."""
SIDE_BY_SIDE = (
    "1.5*cos(2.2*x1 + 0.7*x2 + 0.4) + 0.8*x3 + 0.3",
    "1.5*exp(0.9*x1 - 0.7*x2 + 0.4) + 0.8*x3 + 0.3",
    "1.5*(2.2*x1 + 0.7*x2 + 0.4)**2 + 0.8*x3 + 0.3",
    "(1.3*x1 + 0.7*x2 + 0.4)/(0.3*x3 + 0.2*x4 + 1.7) + 0.8*x3 + 0.3",
)


def machine() -> str:
    return (
        f"{platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}; "
        f"Python {platform.python_version()}, numba {numba.__version__}, NumPy {np.__version__}"
    )


def problem(text: str) -> tuple[Program, np.ndarray, np.ndarray, list[np.ndarray]]:
    """An equation's program, inputs, noisy targets and perturbed constants to start from."""
    rng = np.random.default_rng(0)
    program = Program.of(Expression.parse(text, NAMES))
    XT = rng.uniform(-1, 1, (len(NAMES), ROWS))
    y = program.evaluate(XT) + 0.01 * rng.normal(size=ROWS)
    starts = []
    for _ in range(STARTS):
        theta = program.theta.copy()
        theta[program.free] *= 1 + 0.2 * rng.normal(size=len(program.free))
        starts.append(theta)
    return program, XT, y, starts


def with_own_units(expression: Expression) -> Program:
    """The same equation, unit by unit and constant by constant, in a user's units."""
    nodes = tuple(node._replace(unit=OWN[node.unit]) for node in expression.nodes)
    return Program.of(Expression(expression.names, nodes, expression.outputs))


def refits(program: Program, XT: np.ndarray, y: np.ndarray, starts: list[np.ndarray]) -> float:
    """Seconds for one refit from each of the starts; a negative tolerance never stops early."""
    begin = time.perf_counter()
    steps = [program.fit(XT, y, theta=theta, max_steps=STEPS, tol=-1.0).steps for theta in starts]
    seconds = time.perf_counter() - begin
    assert steps == [STEPS] * len(starts), "a refit stopped early"
    return seconds


def main() -> None:
    print(machine())
    begin = time.perf_counter()
    Program.of(Expression.parse("x1", NAMES)).evaluate(np.zeros((4, 1)))
    print(f"kernels ready after {time.perf_counter() - begin:.1f} s (compiled, or from the cache)")
    print(f"\n{ROWS} rows, {STEPS} steps, one core\n")
    print(f"{'constants':>9} {'units':>6} {'compiled /s':>12} {'NumPy /s':>9} {'ratio':>6}")
    for text in EQUATIONS:
        program, XT, y, starts = problem(text)
        plain = replace(program, is_compiled=False)
        compiled = numpy = np.inf
        for _ in range(ROUNDS):
            compiled = min(compiled, refits(program, XT, y, starts))
            numpy = min(numpy, refits(plain, XT, y, starts))
        fast, slow = STARTS / compiled, STARTS / numpy
        print(
            f"{len(program.free):>9} {len(program.units):>6} {fast:>12,.0f} {slow:>9,.0f} "
            f"{fast / slow:>6.1f}"
        )
    compare_own_units()


def compare_own_units() -> None:
    print(f"\n{'unit':>9} {'built-in /s':>12} {'own /s':>8} {'NumPy /s':>9} {'ratios':>12}")
    for text in SIDE_BY_SIDE:
        theirs, XT, y, starts = problem(text)
        own = with_own_units(Expression.parse(text, NAMES))
        assert own.is_compiled
        programs = theirs, own, replace(own, is_compiled=False)
        best = [np.inf] * len(programs)
        for _ in range(ROUNDS):
            best = [min(b, refits(q, XT, y, starts)) for b, q in zip(best, programs, strict=True)]
        rates = [STARTS / seconds for seconds in best]
        print(
            f"{theirs.units[0].name:>9} {rates[0]:>12,.0f} {rates[1]:>8,.0f} {rates[2]:>9,.0f} "
            f"{rates[1] / rates[0]:>5.2f} {rates[1] / rates[2]:>6.1f}"
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
