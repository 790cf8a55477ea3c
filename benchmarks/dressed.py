"""How often a plain equation comes back that is handed over in a strange dress.

Seeded plain equations, as engineers meet them, are dressed up by one to three identities that leave
their values as they are. The finishing step gets the dressed one with exact rows. It came back if
the result is what the plain equation itself becomes there, is not longer than the plain text, has
no ugly place (`ugliness.py`) and has the same values.

    python benchmarks/dressed.py --n 200 --seed 0 --show 20
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ieql.data.dataset import Scaling
from ieql.data.sample import Sample
from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Node, Sum
from ieql.equations.finish import finish
from ieql.prior import Prior
from ieql.units import COS, DIV, EXP, IDENTITY, LOG, MUL, SIN, SQRT, SQUARE, Unit
from ugliness import kind_of, ugliness

__all__ = ["IDENTITIES", "Dressed", "Verdict", "dressed_equations", "judged", "main"]

Array = NDArray[np.float64]
EQUAL = 1e-9
"""Part of the largest value by which values may differ."""
SAME_CONSTANT = 1e-6
N_ROWS, N_POINTS = 200, 300
MOST_IDENTITIES = 3
MOST_NODES = 40
TRIALS = 30
BAR = 0.95
"""Part of the equations that should come back."""
PRIOR = {
    "units": ["cos", "sin", "exp", "log", "sqrt", "square", "mul", "div"],
    "prohibit": [],
}
"""All that stands in a plain equation may be written."""

# --- plain equations -----------------------------------------------------------------------------

FAMILIES: dict[str, tuple[str, ...]] = {
    "powers": (
        "C*x*y/z",
        "C*x**2*y",
        "C*x**2/y",
        "C*x*y**2/z",
        "C*x**E*y",
        "C*x**E*y**E",
        "C*x**E + C",
        "C*x**3",
        "C*x**1.5",
        "C*x/(y*z)",
        "C*x*y*z",
    ),
    "exponentials": (
        "C*exp(-K*x)",
        "C*exp(-K*x) + C",
        "C*y*exp(-K*x)",
        "C*x*exp(-K*y) + C",
        "C*x*y*exp(-K*z)",
        "C*exp(-K*x - K*y)",
        "C*exp(-K/x)",
    ),
    "waves": (
        "C*cos(W*x + P)",
        "C*sin(W*x)",
        "C*cos(W*x) + C",
        "C*cos(W*x + P) + C*y",
        "C*y*cos(W*x + P)",
        "C*y*sin(W*x) + C",
        "C*exp(-K*x)*cos(W*x + P)",
        "C*y*exp(-K*x)*cos(W*x)",
        "C*cos(W*x + P)*cos(W*y + P)",
    ),
    "rational": (
        "C*x/(x + S)",
        "C*x/(y + S)",
        "C/(x + S)",
        "C/(x**2 + S)",
        "C*(x + S)/(y + S)",
        "C*x*y/(x + y)",
        "C*x**2/(y*(z + S))",
    ),
    "roots": (
        "C*sqrt(x + S)",
        "C*sqrt(x)",
        "C*y*sqrt(x)",
        "C*sqrt(x/y)",
        "C*sqrt(x**2 + y**2)",
        "C*y/sqrt(x + S)",
        "C*sqrt(x) + C*y + C",
    ),
    "polynomials": (
        "C*x**2 + C*x + C",
        "C*x*y + C*x + C",
        "C*x**2 + C*y**2",
        "C*x + C*y - C*z",
        "C*x**2 - C*y + C",
        "C*x*(y + S)",
        "C*(x - M)**2 + C",
        "C*x**3 - C*x + C",
    ),
    "gaussians": (
        "C*exp(-K*(x - M)**2)",
        "C*y*exp(-K*(x - M)**2)",
        "C*exp(-K*(x - M)**2) + C",
        "C*exp(-K*x**2)/y",
    ),
    "logarithms": (
        "C*log(x)",
        "C*log(x) + C",
        "C*log(x + S)",
        "C*y*log(x)",
        "C*log(x) - C*log(y) + C",
        "C*log(x) + C*y",
        "C*log(x + S)/y",
    ),
}
"""Templates: each capital letter is drawn, small ones are inputs."""


@dataclass(frozen=True)
class Plain:
    """A plain equation with the ranges of its inputs."""

    family: str
    text: str
    ranges: dict[str, tuple[float, float]]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(self.ranges)

    def expression(self) -> Expression:
        """The equation as a graph."""
        return Expression.parse(self.text, self.names)

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        """Rows in the ranges."""
        low, high = np.array(list(self.ranges.values())).T
        return rng.uniform(low, high, (n, len(low)))


def plain_equation(rng: np.random.Generator) -> Plain:
    """Draw a template and its constants, which are not round."""
    family = str(rng.choice(list(FAMILIES)))
    template = str(rng.choice(FAMILIES[family]))
    text = re.sub("[CEKMPSW]", lambda match: _constant(match[0], rng), template)
    text = text.replace("+ -", "- ")
    names = [name for name in "xyz" if re.search(rf"\b{name}\b", text)]
    lows = {name: round(float(rng.uniform(0.4, 1.2)), 2) for name in names}
    ranges = {n: (low, round(low + float(rng.uniform(2.0, 4.0)), 2)) for n, low in lows.items()}
    return Plain(family, text, ranges)


def _constant(letter: str, rng: np.random.Generator) -> str:
    limits = {
        "C": (0.3, 9.0),  # coefficients
        "E": (0.25, 2.8),  # exponents
        "K": (0.3, 0.95),  # rates
        "M": (1.2, 2.8),  # centres
        "P": (-2.8, 2.8),  # phases
        "S": (0.4, 2.6),  # shifts
        "W": (1.6, 4.2),  # frequencies
    }
    low, high = limits[letter]
    while True:
        value = float(f"{rng.uniform(low, high):.4g}")
        # No number that a reader would take for a simpler one.
        simple = [abs(value * k - round(value * k)) / k for k in (1, 2, 3, 4, 5)]
        quarter = abs(value / (math.pi / 2) - round(value / (math.pi / 2)))
        if min(simple) > 0.02 and (letter != "P" or quarter > 0.1):
            return f"{value:.4g}"


# --- identities ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A unit that may be dressed up, in the graph that is being built; a value is an identity."""

    builder: Builder
    node: Node
    rng: np.random.Generator
    X: Array

    def apply(self, unit: Unit, *args: Sum) -> Sum:
        """A unit applied to sums."""
        return self.builder.apply(unit, *args)

    def is_positive(self, s: Sum) -> bool:
        """Whether a sum is clearly positive on the rows."""
        value = self.builder.expression(s).evaluate(self.X)[:, 0]
        return bool(value.min() > 1e-3 * np.abs(value).max())

    def inner(self, s: Sum) -> Node | None:
        """The unit that a sum passes on unchanged."""
        k = s.sources[0] - len(self.builder.names) if s.is_bare else -1
        return self.builder.nodes[k] if k >= 0 else None

    def number(self, low: float = 1.3, high: float = 4.0) -> float:
        """A number that is not round."""
        return round(float(self.rng.uniform(low, high)), 3)

    def one_of(self, *forms: Callable[[], Sum | None]) -> Sum | None:
        """The first of some forms that is possible, in random order."""
        for k in self.rng.permutation(len(forms)):
            found = forms[int(k)]()
            if found is not None:
                return found
        return None


Identity = Callable[[Place], "Sum | None"]


def phase_of_turns(p: Place) -> Sum | None:
    """cos(z) = cos(z + 2πk)."""
    if p.node.unit not in (COS, SIN):
        return None
    turns = int(p.rng.integers(1, 20)) * int(p.rng.choice([-1, 1]))
    return p.apply(p.node.unit, p.node.args[0].plus(Sum(2.0 * math.pi * turns)))


def negative_argument(p: Place) -> Sum | None:
    """cos(z) = cos(-z) and sin(z) = -sin(-z)."""
    if p.node.unit not in (COS, SIN):
        return None
    sign = 1.0 if p.node.unit is COS else -1.0
    return p.apply(p.node.unit, p.node.args[0].scaled(-1.0)).scaled(sign)


def other_wave(p: Place) -> Sum | None:
    """sin(z) = cos(z - π/2) and cos(z) = sin(z + π/2)."""
    if p.node.unit is SIN:
        return p.apply(COS, p.node.args[0].plus(Sum(-math.pi / 2)))
    return p.apply(SIN, p.node.args[0].plus(Sum(math.pi / 2))) if p.node.unit is COS else None


def sign_as_phase(p: Place) -> Sum | None:
    """cos(z) = -cos(z + π)."""
    if p.node.unit not in (COS, SIN):
        return None
    half = math.pi * float(p.rng.choice([-1.0, 1.0]))
    return p.apply(p.node.unit, p.node.args[0].plus(Sum(half))).scaled(-1.0)


def waves_added(p: Place) -> Sum | None:
    """cos(a)·cos(b) = cos(a + b)/2 + cos(a - b)/2."""
    if p.node.unit is not MUL:
        return None
    one, two = (p.inner(a) for a in p.node.args)
    if one is None or two is None or one.unit is not COS or two.unit is not COS:
        return None
    a, b = one.args[0], two.args[0]
    return p.apply(COS, a.plus(b)).plus(p.apply(COS, a.plus(b.scaled(-1.0)))).scaled(0.5)


def exp_of_logs(p: Place) -> Sum | None:
    """x·y = exp(log x + log y), also for quotients, squares, roots and exponentials among them."""
    exponents = {MUL: (1.0, 1.0), DIV: (1.0, -1.0), SQUARE: (2.0,), SQRT: (0.5,)}
    if p.node.unit not in exponents:
        return None
    total = Sum()
    for s, q in zip(p.node.args, exponents[p.node.unit], strict=True):
        inner = p.inner(s)
        if inner is not None and inner.unit is EXP:
            total = total.plus(inner.args[0].scaled(q))
        elif s.is_constant or p.is_positive(s):
            total = total.plus(p.apply(LOG, s).scaled(q))
        else:
            return None
    return p.apply(EXP, total)


def number_into_exp(p: Place) -> Sum | None:
    """exp(z) = exp(z + b)·exp(-b)."""
    if p.node.unit is not EXP:
        return None
    b = p.number(0.5, 2.0)
    return p.apply(EXP, p.node.args[0].plus(Sum(b))).scaled(math.exp(-b))


def exp_below(p: Place) -> Sum | None:
    """exp(z) = 1/exp(-z)."""
    if p.node.unit is not EXP:
        return None
    return p.apply(DIV, Sum(1.0), p.apply(EXP, p.node.args[0].scaled(-1.0)))


def exp_in_two(p: Place) -> Sum | None:
    """exp(a + b) = exp(a)·exp(b), and x**p = x·x**(p - 1)."""
    if p.node.unit is not EXP:
        return None
    s = p.node.args[0]
    first = Sum(0.0, s.sources[:1], s.weights[:1])
    if len(s.sources) > 1:
        return p.apply(MUL, p.apply(EXP, first), p.apply(EXP, s.plus(first.scaled(-1.0))))
    inner = p.inner(Sum(0.0, s.sources, (1.0,)))
    if inner is None or inner.unit is not LOG or s.weights[0] in (1.0, 2.0):
        part = s.scaled(p.number(0.2, 0.8))
        return p.apply(MUL, p.apply(EXP, part), p.apply(EXP, s.plus(part.scaled(-1.0))))
    rest = Sum(s.bias, s.sources, (s.weights[0] - 1.0,))
    return p.apply(MUL, inner.args[0], p.apply(EXP, rest))


def log_of_power(p: Place) -> Sum | None:
    """log(z) = log(z²)/2 = 2·log(√z) = log(k·z) - log k."""
    if p.node.unit is not LOG:
        return None
    z = p.node.args[0]

    def multiple() -> Sum:
        k = p.number()
        return p.apply(LOG, z.scaled(k)).plus(Sum(-math.log(k)))

    return p.one_of(
        lambda: p.apply(LOG, p.apply(SQUARE, z)).scaled(0.5),
        lambda: p.apply(LOG, p.apply(SQRT, z)).scaled(2.0),
        multiple,
    )


def nested_quotient(p: Place) -> Sum | None:
    """a/b = 1/(b/a), a·b = a/(1/b), (a·b)/c = a·(b/c), a/(b·c) = (a/b)/c."""
    if p.node.unit not in (MUL, DIV):
        return None
    a, b = p.node.args

    def turned() -> Sum | None:
        if p.node.unit is MUL:
            return p.apply(DIV, a, p.apply(DIV, Sum(1.0), b)) if p.is_positive(b) else None
        if a.is_constant or not p.is_positive(a):
            return None
        return p.apply(DIV, Sum(1.0), p.apply(DIV, b, a))

    def moved() -> Sum | None:
        above, below = p.inner(a), p.inner(b)
        if p.node.unit is not DIV:
            return None
        if above is not None and above.unit is MUL:
            return p.apply(MUL, above.args[0], p.apply(DIV, above.args[1], b))
        if below is not None and below.unit is MUL:
            return p.apply(DIV, p.apply(DIV, a, below.args[0]), below.args[1])
        return None

    return p.one_of(turned, moved)


def quotient_amid_product(p: Place) -> Sum | None:
    """(a·b)/c = (a/c)·b."""
    above = p.inner(p.node.args[0]) if p.node.unit is DIV else None
    if above is None or above.unit is not MUL:
        return None
    return p.apply(MUL, p.apply(DIV, above.args[0], p.node.args[1]), above.args[1])


def repeated_factor(p: Place) -> Sum | None:
    """z² = z·z, and a³ with it."""
    if p.node.unit is not SQUARE:
        return None
    return p.apply(MUL, p.node.args[0], p.node.args[0])


def swapped_factors(p: Place) -> Sum | None:
    """a·b = b·a."""
    if p.node.unit is not MUL:
        return None
    return p.apply(MUL, *p.node.args[::-1])


def numbers_among_factors(p: Place) -> Sum | None:
    """a·b = (k·a)·(l·b)/(k·l), and a/b = (k·a)/(k·b)."""
    a, b = p.node.args if len(p.node.args) == 2 else (Sum(), Sum())
    if p.node.unit is MUL:
        k, m = p.number() * float(p.rng.choice([-1.0, 1.0])), p.number()
        return p.apply(MUL, a.scaled(k), b.scaled(m)).scaled(1.0 / (k * m))
    if p.node.unit is DIV and not a.is_constant:
        k, m = p.number(), p.number()
        return p.apply(DIV, a.scaled(k), b.scaled(m)).scaled(m / k)
    return None


def number_into_power(p: Place) -> Sum | None:
    """z² = (k·z)²/k², √z = √(k·z)/√k."""
    k = p.number()
    if p.node.unit is SQUARE:
        return p.apply(SQUARE, p.node.args[0].scaled(k)).scaled(1.0 / k**2)
    if p.node.unit is SQRT:
        return p.apply(SQRT, p.node.args[0].scaled(k)).scaled(1.0 / math.sqrt(k))
    return None


def multiplied_out(p: Place) -> Sum | None:
    """a·(b + c) = a·b + a·c, (b + c)/a = b/a + c/a, (b + c)² = b² + 2·b·c + c²."""
    unit, args = p.node.unit, p.node.args
    if unit not in (MUL, DIV, SQUARE):
        return None
    for place, s in enumerate(args[:1] if unit is DIV else args):
        if len(s.sources) + (s.bias != 0.0) < 2:
            continue
        parts = [Sum(0.0, (i,), (w,)) for i, w in zip(s.sources, s.weights, strict=True)]
        parts += [Sum(s.bias)] if s.bias else []
        if unit is SQUARE:
            whole = [p.apply(SQUARE, part) for part in parts]
            pairs = itertools.combinations(parts, 2)
            return Sum.total([*whole, *(p.apply(MUL, a, b).scaled(2.0) for a, b in pairs)])
        other = args[1 - place]
        if unit is DIV:
            return Sum.total([p.apply(DIV, part, other) for part in parts])
        return Sum.total([p.apply(MUL, part, other) for part in parts])
    return None


def square_of_root(p: Place) -> Sum | None:
    """The square of the root, z = (√z)², where z is positive."""
    z = p.node.args[0]
    return p.apply(SQUARE, p.apply(SQRT, z)) if p.is_positive(z) else None


def root_of_square(p: Place) -> Sum | None:
    """The root of the square, z = √(z²), where z is positive."""
    z = p.node.args[0]
    return p.apply(SQRT, p.apply(SQUARE, z)) if p.is_positive(z) else None


def exp_of_log(p: Place) -> Sum | None:
    """The exponential of the logarithm, z = exp(log z), where z is positive."""
    z = p.node.args[0]
    return p.apply(EXP, p.apply(LOG, z)) if p.is_positive(z) else None


def _dress_unit(
    identity: Identity, e: Expression, rng: np.random.Generator, X: Array
) -> Expression | None:
    """Rewrite one unit, the first in random order to which the identity applies."""
    for k in rng.permutation(len(e.nodes)).tolist():
        builder = Builder(e.names)
        values = builder.copy(e, stop=k)
        node = e.nodes[k]._replace(args=tuple(translate(a, values) for a in e.nodes[k].args))
        result = identity(Place(builder, node, rng, X))
        if result is not None:
            return builder.rebuild(e, [*values, result])
    return None


def _dress_value(
    identity: Identity, e: Expression, rng: np.random.Generator, X: Array
) -> Expression | None:
    """Rewrite an input, or the value of a unit, wherever it is used."""
    for source in rng.permutation(len(e.names) + len(e.nodes)).tolist():
        builder = Builder(e.names)
        stop = max(source - len(e.names) + 1, 0)
        values = builder.copy(e, stop=stop)
        result = identity(Place(builder, Node(IDENTITY, (values[source],)), rng, X))
        if result is not None:
            values[source] = result
            return builder.rebuild(e, values)
    return None


def terms_turned(e: Expression, rng: np.random.Generator, X: Array) -> Expression | None:
    """Terms the other way round, a + b = b + a."""
    long = [k for k, s in enumerate(e.sums) if len(s.sources) > 1]
    if not long:
        return None
    chosen, place = int(rng.choice(long)), itertools.count()

    def turned(s: Sum) -> Sum:
        is_chosen = next(place) == chosen
        return Sum(s.bias, s.sources[::-1], s.weights[::-1]) if is_chosen else s

    return e.map_sums(turned).canonical()


Dressing = Callable[[Expression, np.random.Generator, Array], "Expression | None"]
UNIT_IDENTITIES: tuple[Identity, ...] = (
    phase_of_turns,
    negative_argument,
    other_wave,
    sign_as_phase,
    waves_added,
    exp_of_logs,
    number_into_exp,
    exp_below,
    exp_in_two,
    log_of_power,
    nested_quotient,
    quotient_amid_product,
    repeated_factor,
    swapped_factors,
    numbers_among_factors,
    number_into_power,
    multiplied_out,
)
VALUE_IDENTITIES: tuple[Identity, ...] = (square_of_root, root_of_square, exp_of_log)
IDENTITIES: dict[str, Dressing] = {
    **{f.__name__: partial(_dress_unit, f) for f in UNIT_IDENTITIES},
    **{f.__name__: partial(_dress_value, f) for f in VALUE_IDENTITIES},
    "terms_turned": terms_turned,
}
"""Every identity by its name."""


# --- dressed equations ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Dressed:
    """A plain equation, its dressed form, and which identities made it."""

    plain: Plain
    expression: Expression
    identities: tuple[str, ...]
    X: Array
    """The rows."""
    points: Array
    """Points of the domain, (points, inputs)."""


def dressed_equations(seed: int, only: Sequence[str] = ()) -> Iterator[Dressed]:
    """Dressed equations without end; the same for the same seed.

    Parameters
    ----------
    seed : int
        The seed.
    only : sequence of str
        Names of the identities that are used; default: all.
    """
    for index in itertools.count():
        rng = np.random.default_rng([seed, index])
        names = tuple(only) or tuple(IDENTITIES)
        found = None
        while found is None:
            # Each identity has its turn; by chance, those of few equations would be rare.
            found = _dressed(plain_equation(rng), rng, names[index % len(names)], names)
        yield found


def _dressed(
    plain: Plain, rng: np.random.Generator, first: str, names: tuple[str, ...]
) -> Dressed | None:
    X = plain.draw(rng, N_ROWS)
    corners = np.array(list(itertools.product(*plain.ranges.values())))
    points = np.concatenate([corners, plain.draw(rng, N_POINTS)])
    start = plain.expression()
    if not _is_worth_it(start, X):
        return None
    expression, used = start, list[str]()
    wanted = int(rng.integers(1, MOST_IDENTITIES + 1))
    for _ in range(TRIALS):
        name = str(rng.choice(names)) if used else first
        other = IDENTITIES[name](expression, rng, X)
        if other is None or not _is_dress(other, expression, start, np.concatenate([X, points])):
            if not used:
                return None
            continue
        expression, used = other, [*used, name]
        if len(used) == wanted:
            break
    return Dressed(plain, expression, tuple(used), X, points) if used else None


def _is_worth_it(e: Expression, X: Array) -> bool:
    """Whether the output moves, and no unit is too straight to be seen."""
    y = e.evaluate(X)[:, 0]
    is_alive = bool(np.all(np.isfinite(y))) and float(np.std(y)) > 0.02 * float(np.abs(y).max())
    return is_alive and not any("on the rows" in reason for reason in ugliness(e, X))


def _is_dress(e: Expression, before: Expression, plain: Expression, X: Array) -> bool:
    """Whether an expression is another one with the values of the plain one."""
    if e in (before, plain) or len(e.nodes) > MOST_NODES:
        return False
    return values_are_equal(e, plain, X)


def values_are_equal(one: Expression, two: Expression, X: Array, part: float = EQUAL) -> bool:
    """Whether two expressions have the same values, to a part of the largest."""
    with np.errstate(all="ignore"):
        a, b = one.evaluate(X)[:, 0], two.evaluate(X)[:, 0]
    return bool(np.all(np.abs(a - b) <= part * np.abs(b).max()))


# --- finishing and judging -----------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What became of a dressed equation and of its plain form."""

    dressed: Dressed
    returned: Expression | None
    reference: Expression | None
    """The plain equation after the same finishing."""
    reasons: tuple[str, ...]
    """Why it did not come back; none if it did."""
    reference_reasons: tuple[str, ...]
    """Why the plain equation did not stay plain."""


def finished(expression: Expression, X: Array, y: Array, points: Array) -> Expression | None:
    """The finishing step without any scaling; None if it refuses the equation."""
    d = X.shape[1]
    one, none = Scaling(np.zeros(1), np.ones(1)), Scaling(np.zeros(d), np.ones(d))
    sample = Sample(np.ascontiguousarray(X.T), y, np.ones(len(y)))
    domain = np.ascontiguousarray(points.T)
    with np.errstate(all="ignore"):
        found = finish(expression, none, one, sample, domain, Prior.of(PRIOR))
    return None if found is None else found.expression


def judged(dressed: Dressed, noise: float = 0.0) -> Verdict:
    """Finish a dressed equation and its plain form, and compare.

    Parameters
    ----------
    dressed : Dressed
        What is handed over.
    noise : float
        Part of the output's spread that is added to the rows. Values and constants then need to be
        equal to ten times that.
    """
    plain, X = dressed.plain.expression(), dressed.X
    y = plain.evaluate(X)[:, 0]
    rng = np.random.default_rng(0)
    y = y + noise * float(np.std(y)) * rng.normal(size=len(y))
    returned = finished(dressed.expression, X, y, dressed.points)
    reference = finished(plain, X, y, dressed.points)
    judge = partial(_reasons, dressed, noise=noise)
    reasons = judge(returned)
    if returned is not None and reference is not None and not _is_same(returned, reference, noise):
        reasons = (_difference(returned, reference), *reasons)
    return Verdict(dressed, returned, reference, reasons, judge(reference))


def _reasons(dressed: Dressed, found: Expression | None, noise: float) -> tuple[str, ...]:
    """Why what came back is no plain form of the equation."""
    if found is None:
        return ("refused",)
    reasons = []
    plain = dressed.plain
    if not values_are_equal(found, plain.expression(), dressed.X, max(EQUAL, 10.0 * noise)):
        reasons.append("other values")
    if len(shape(found.text(precision=6))) > len(shape(plain.text)):
        reasons.append("longer")
    spread = float(np.std(found.evaluate(dressed.X)))
    return (*reasons, *ugliness(found, dressed.X, dressed.points, noise=noise * spread))


def shape(text: str) -> str:
    """A text with a mark for every number that is not an exponent, and without its first sign."""
    return re.sub(r"(?<![\w.])(?<!\*\*)(?<!\*\*-)\d+\.?\d*(?:e[+-]?\d+)?", "#", text).lstrip("-")


def _difference(returned: Expression, reference: Expression) -> str:
    """What is different from what the plain equation becomes."""
    pieces = [sorted(re.findall(r"\w+|\*\*|[#/(]", shape(e.text()))) for e in (returned, reference)]
    if returned.skeleton == reference.skeleton:
        return "other constants than the plain one"
    return (
        "other order than the plain one" if pieces[0] == pieces[1] else "other than the plain one"
    )


def _is_same(one: Expression, two: Expression, noise: float) -> bool:
    if one.skeleton != two.skeleton:
        return False
    near = max(SAME_CONSTANT, 10.0 * noise)
    return bool(np.allclose(one.constants(), two.constants(), rtol=near, atol=near * 1e-3))


# --- the report ----------------------------------------------------------------------------------


def report(verdicts: Sequence[Verdict], show: int) -> str:
    """What came back, by identity and by reason, with examples of what did not."""
    n = len(verdicts)
    lost = [v for v in verdicts if v.reasons]
    kept = [v for v in verdicts if not v.reference_reasons]
    still = [v for v in kept if not v.reasons]
    lines = [
        f"came back {n - len(lost)} of {n} ({100 * (n - len(lost)) / n:.1f} %; the bar is "
        f"{100 * BAR:.0f} %)",
        f"plain ones that stay plain: {len(kept)} of {n}; of these dresses came back "
        f"{len(still)} of {len(kept)}",
        "",
        *_by_identity(verdicts),
        "",
        *_by_family(verdicts),
        "",
        "reasons: " + _tally(kind_of(r) for v in lost for r in v.reasons),
        "reasons of plain ones that do not stay plain: "
        + _tally(kind_of(r) for v in verdicts for r in v.reference_reasons),
    ]
    for v in lost[:show]:
        lines += ["", *_example(v)]
    return "\n".join(lines)


def _by_identity(verdicts: Sequence[Verdict]) -> list[str]:
    rows = [f"{'identity':24s} {'failed':>6s} {'of':>4s}   {'alone':>5s} {'of':>4s}"]
    counted = []
    for name in IDENTITIES:
        used = [v for v in verdicts if name in v.dressed.identities]
        alone = [v for v in used if set(v.dressed.identities) == {name}]
        counted.append((name, _n_lost(used), len(used), _n_lost(alone), len(alone)))
    for name, *numbers in sorted(counted, key=lambda c: -c[1] / max(c[2], 1)):
        rows.append("{:24s} {:6d} {:4d}   {:5d} {:4d}".format(name, *numbers))
    return rows


def _by_family(verdicts: Sequence[Verdict]) -> list[str]:
    rows = [f"{'family':24s} {'failed':>6s} {'of':>4s}   plain one does not stay plain"]
    for name in FAMILIES:
        own = [v for v in verdicts if v.dressed.plain.family == name]
        unstable = sum(bool(v.reference_reasons) for v in own)
        rows.append(f"{name:24s} {_n_lost(own):6d} {len(own):4d}   {unstable}")
    return rows


def _n_lost(verdicts: Sequence[Verdict]) -> int:
    return sum(bool(v.reasons) for v in verdicts)


def _tally(kinds: Iterator[str]) -> str:
    return ", ".join(f"{kind} {n}" for kind, n in Counter(kinds).most_common()) or "none"


def _example(v: Verdict) -> list[str]:
    def text(e: Expression | None) -> str:
        return "refused" if e is None else e.text(precision=6)

    return [
        f"{v.dressed.plain.family}: {', '.join(v.dressed.identities)}",
        f"  dressed   {text(v.dressed.expression)}",
        f"  returned  {text(v.returned)}",
        f"  plain     {v.dressed.plain.text}",
        f"  finished  {text(v.reference)}",
        f"  because   {'; '.join(v.reasons)}",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print how many came back; 0 if that is enough, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--n", type=int, default=200, help="number of dressed equations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=10, help="failures that are printed")
    parser.add_argument("--noise", type=float, default=0.0, help="part of the output's spread")
    parser.add_argument("--identity", action="append", default=[], choices=list(IDENTITIES),
                        help="only these; may be given several times")  # fmt: skip
    options = parser.parse_args(argv)
    begin = time.perf_counter()
    drawn = itertools.islice(dressed_equations(options.seed, options.identity), options.n)
    with threadpool_limits(limits=1):
        verdicts = [judged(dressed, options.noise) for dressed in drawn]
    print(report(verdicts, options.show))
    print(f"\n{time.perf_counter() - begin:.0f} s")
    return 0 if sum(not v.reasons for v in verdicts) >= BAR * len(verdicts) else 1


if __name__ == "__main__":
    raise SystemExit(main())
