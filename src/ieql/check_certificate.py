"""Check a certificate that `ieql prove` has written, with nothing but Python's standard library.

``python check_certificate.py certificate.json`` says what is proved, or why the proof does not
hold; the exit code is 0 or 1. This file shares no code with ieql: it reads the equation as plain
JSON, checks that the boxes of every claim cover the whole domain, and bounds the equation, or its
derivative, over every box by interval arithmetic of its own, rounded outwards.

What the certificate says is only where to look; whether a claim holds is found out here. A claim
about the output ("at least 0") or a derivative allows for the rounding of a computed value, which
is 1e-14 of the size of the terms that are added.

The equation is a list of nodes. Node k applies a unit to sums ``[bias, sources, weights]``; source
i is an input, or node i minus the number of inputs.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["check", "main"]

Interval = tuple[float, float]
Box = list[Interval]
ALL: Interval = (-math.inf, math.inf)
ROUNDING = 1e-14
MORE_SPLITS = 1_000
"""A box of the certificate is split up to so often if its bounds are not close enough here."""
FAR = 1e6
"""Beyond it a float is too coarse to tell on which side of a crest of a wave it lies."""
OPEN_ARGUMENTS = {"log": [0], "div": [1], "power": [0], "signed_power": [1]}
"""Arguments that must be positive."""
CLOSED_ARGUMENTS = {"sqrt": [0]}
"""Arguments that must not be negative."""
ARITY = {
    "identity": 1, "cos": 1, "sin": 1, "exp": 1, "log": 1, "sqrt": 1, "square": 1, "mul": 2,
    "div": 2, "tanh": 1, "atan": 1, "abs": 1, "min": 2, "max": 2, "logistic": 1, "gauss": 1,
    "step": 1, "power": 2, "signed_power": 2,
}  # fmt: skip
EVEN = ("cos", "square", "abs", "gauss")
"""Units whose value does not change with the sign of the argument."""
ODD = ("sin", "identity", "tanh", "atan", "signed_power")
"""Units out of which the sign of the first argument can be taken."""


class NotProvedError(Exception):
    """The certificate does not prove what it says."""


# --- interval arithmetic -------------------------------------------------------------------------


def down(x: float, ulps: int = 1) -> float:
    """A number that is certainly below a result that was rounded."""
    for _ in range(ulps):
        x = math.nextafter(x, -math.inf)
    return x


def up(x: float, ulps: int = 1) -> float:
    """A number that is certainly above it."""
    for _ in range(ulps):
        x = math.nextafter(x, math.inf)
    return x


def add(x: Interval, y: Interval) -> Interval:
    """Bounds of a sum; exact where one of both is zero."""
    if x == (0.0, 0.0):
        return y
    if y == (0.0, 0.0):
        return x
    low, high = x[0] + y[0], x[1] + y[1]
    return (-math.inf if math.isnan(low) else down(low), math.inf if high != high else up(high))


def mul(x: Interval, y: Interval) -> Interval:
    """Bounds of a product; zero times anything is exactly zero."""
    corners = []
    for a in x:
        for b in y:
            exact = a == 0.0 or b == 0.0
            corners.append((0.0, 0.0) if exact else (down(a * b), up(a * b)))
    return min(c[0] for c in corners), max(c[1] for c in corners)


def scale(w: float, x: Interval) -> Interval:
    """Bounds of a number times an interval."""
    if w == 1.0:
        return x
    if w == -1.0:
        return -x[1], -x[0]
    return mul((w, w), x)


def inverse(x: Interval) -> Interval:
    """Bounds of 1/x on the positive part of x."""
    low, high = max(x[0], 0.0), max(x[1], 0.0)
    least = 0.0 if high == math.inf else down(1.0 / high) if high > 0.0 else 0.0
    return max(least, 0.0), up(1.0 / low) if low > 0.0 else math.inf


def square(x: Interval) -> Interval:
    """Bounds of x²."""
    a, b = abs(x[0]), abs(x[1])
    small, large = min(a, b), max(a, b)
    least = 0.0 if x[0] <= 0.0 <= x[1] or small == 0.0 else max(down(small * small), 0.0)
    return least, 0.0 if large == 0.0 else up(large * large)


def exp(x: Interval) -> Interval:
    """Bounds of exp(x)."""

    def at(z: float) -> float:
        try:
            return math.exp(z)
        except OverflowError:
            return math.inf

    return max(down(min(at(x[0]), sys.float_info.max), 4), 0.0), up(at(x[1]), 4)


def log(x: Interval) -> Interval:
    """Bounds of log(x) on the positive part of x."""
    low, high = max(x[0], 0.0), max(x[1], 0.0)
    least = down(math.log(low), 4) if low > 0.0 else -math.inf
    return least, up(math.log(high), 4) if high > 0.0 else -math.inf


def sqrt(x: Interval) -> Interval:
    """Bounds of the root of the part of x that is not negative."""
    low, high = max(x[0], 0.0), max(x[1], 0.0)
    least = max(down(math.sqrt(low)), 0.0) if low > 0.0 else 0.0
    return least, up(math.sqrt(high)) if high > 0.0 else 0.0


def cos(x: Interval, crest: float = 0.0) -> Interval:
    """Bounds of cos(x - crest), whose maxima lie at `crest` plus multiples of 2 pi."""
    low, high = x
    if not (low > -FAR and high < FAR):
        return -1.0, 1.0
    function = math.cos if crest == 0.0 else math.sin
    slack, period = 1e-9, 2.0 * math.pi  # a crest so close to an end counts as inside

    def holds(place: float) -> bool:
        last = math.floor((high - place + slack) / period)
        return last >= math.ceil((low - place - slack) / period)

    ends = function(low), function(high)
    least = -1.0 if holds(crest + math.pi) else max(min(ends) - 1e-15, -1.0)
    most = 1.0 if holds(crest) else min(max(ends) + 1e-15, 1.0)
    return least, most


def sin(x: Interval) -> Interval:
    """Bounds of sin(x)."""
    return cos(x, math.pi / 2)


def tanh(x: Interval) -> Interval:
    """Bounds of tanh(x)."""
    return max(down(math.tanh(x[0]), 4), -1.0), min(up(math.tanh(x[1]), 4), 1.0)


def atan(x: Interval) -> Interval:
    """Bounds of atan(x)."""
    return down(math.atan(x[0]), 4), up(math.atan(x[1]), 4)


def logistic(x: Interval) -> Interval:
    """Bounds of 1/(1 + exp(-x))."""
    above = add((1.0, 1.0), exp((-x[1], -x[0])))
    low, high = inverse(above)
    return low, min(high, 1.0)


def gauss(x: Interval) -> Interval:
    """Bounds of exp(-x²)."""
    low, high = square(x)
    return exp((-high, -low))


def absolute(x: Interval) -> Interval:
    """Bounds of |x|."""
    ends = abs(x[0]), abs(x[1])
    return 0.0 if x[0] <= 0.0 <= x[1] else min(ends), max(ends)


def step(x: Interval) -> Interval:
    """Bounds of the step, 1 from zero on."""
    return float(x[0] >= 0.0), float(x[1] >= 0.0)


def jump(x: Interval) -> Interval:
    """Bounds of the slope of the step: any rise where it may jump, else none."""
    return 0.0, math.inf if x[0] < 0.0 <= x[1] else 0.0


def anything(x: Interval) -> Interval:
    """Bounds of the slope of that: anything where it may jump."""
    return ALL if x[0] < 0.0 <= x[1] else (0.0, 0.0)


def power(x: Interval, p: Interval) -> Interval:
    """Bounds of sign(x)·|x|^p: as it rises or falls all the way, they are in the corners."""

    def at(z: float, q: float) -> float:
        try:
            size = math.pow(abs(z), q)
        except OverflowError:
            size = math.inf
        except ValueError:  # zero to a negative power
            size = math.inf
        return math.copysign(size, z)

    corners = [at(z, q) for z in x for q in p]
    low, high = min(corners), max(corners)
    return (0.0 if low == 0.0 else down(low, 4)), (0.0 if high == 0.0 else up(high, 4))


def apply(unit: str, z: list[Interval]) -> Interval:
    """Bounds of a unit."""
    if unit == "mul":
        return mul(z[0], z[1])
    if unit == "div":
        return mul(z[0], inverse(z[1]))
    if unit == "min":
        return min(z[0][0], z[1][0]), min(z[0][1], z[1][1])
    if unit == "max":
        return max(z[0][0], z[1][0]), max(z[0][1], z[1][1])
    if unit == "power":
        return power((max(z[0][0], 0.0), max(z[0][1], 0.0)), z[1])
    if unit == "signed_power":
        return power(z[0], (max(z[1][0], 0.0), max(z[1][1], 0.0)))
    return z[0] if unit == "identity" else UNARY[unit](z[0])


UNARY: dict[str, Callable[[Interval], Interval]] = {
    "cos": cos, "sin": sin, "exp": exp, "log": log, "sqrt": sqrt, "square": square, "tanh": tanh,
    "atan": atan, "abs": absolute, "logistic": logistic, "gauss": gauss, "step": step,
    "jump": jump, "anything": anything,
}  # fmt: skip


# --- equations -----------------------------------------------------------------------------------

Sum = tuple[float, tuple[tuple[int, float], ...]]
"""The bias, and pairs of source and weight."""
ZERO: Sum = (0.0, ())


def times(s: Sum, factor: float) -> Sum:
    """A sum times a number."""
    return (s[0] * factor, tuple((i, w * factor) for i, w in s[1])) if factor != 0.0 else ZERO


def total(*parts: Sum) -> Sum:
    """The sum of sums."""
    merged: dict[int, float] = {}
    for _, terms in parts:
        for i, w in terms:
            merged[i] = merged.get(i, 0.0) + w
    return sum(p[0] for p in parts), tuple((i, w) for i, w in merged.items() if w != 0.0)


class Equation:
    """Nodes of an equation and of its derivatives, which are appended to them."""

    def __init__(self, form: dict[str, Any]) -> None:
        self.names: list[str] = [str(name) for name in form["names"]]
        if len(set(self.names)) != len(self.names):
            raise NotProvedError("two inputs have the same name")
        self.nodes: list[tuple[str, tuple[Sum, ...]]] = []
        for k, (unit, args) in enumerate(form["nodes"]):
            if ARITY.get(unit) != len(args):
                raise NotProvedError(f"node {k} applies {unit!r}, which is not known here")
            self.nodes.append((unit, tuple(self.read(a) for a in args)))
        (output,) = form["outputs"]
        self.output = self.read(output)
        self.own = len(self.nodes)
        self.known: dict[tuple[int, int], Interval] = {}
        self.orders: dict[Sum, list[int]] = {}
        self.places = {node: k for k, node in enumerate(self.nodes)}

    def read(self, form: Any) -> Sum:
        """Read a sum whose sources come before."""
        bias, sources, weights = form
        numbers = [float(bias), *map(float, weights)]
        if not all(map(math.isfinite, numbers)) or len(sources) != len(weights):
            raise NotProvedError("a constant is not a finite number")
        if any(not 0 <= int(i) < len(self.names) + len(self.nodes) for i in sources):
            raise NotProvedError("a node refers to one that does not come before it")
        return total((numbers[0], tuple(zip(map(int, sources), numbers[1:], strict=True))))

    def text(self) -> str:
        """The equation as it is read here, every unit once."""
        names = [*self.names, *(f"u{k}" for k in range(self.own))]

        def line(s: Sum) -> str:
            terms = [f"{w!r}*{names[i]}" for i, w in s[1]]
            return " + ".join([*([repr(s[0])] if s[0] != 0.0 or not terms else []), *terms])

        units = [
            f"u{k} = {unit}({', '.join(map(line, args))})"
            for k, (unit, args) in enumerate(self.nodes[: self.own])
        ]
        return "; ".join([*units, f"output = {line(self.output)}"])

    def inputs_of(self, s: Sum) -> set[int]:
        """The inputs that a sum depends on."""
        d = len(self.names)
        direct = {i for i, _ in s[1] if i < d}
        args = [a for k in self.needed(s) for a in self.nodes[k][1]]
        return direct | {i for a in args for i, _ in a[1] if i < d}

    # Derivatives as nodes, by the rules of the textbook.

    def node(self, unit: str, *args: Sum) -> Sum:
        """The value of a unit."""
        key = (unit, args)
        if key not in self.places:
            self.places[key] = len(self.nodes)
            self.nodes.append(key)
            for (k, a), bounds in list(self.known.items()):
                for b, s in enumerate(args):
                    if self.nodes[k][1][a] == s:  # what is shown of it holds here, too
                        self.known[len(self.nodes) - 1, b] = bounds
        return 0.0, ((len(self.names) + self.places[key], 1.0),)

    def product(self, a: Sum, b: Sum) -> Sum:
        """The product of two sums."""
        if not a[1]:
            return times(b, a[0])
        if not b[1]:
            return times(a, b[0])
        return self.node("square", a) if a == b else self.node("mul", a, b)

    def quotient(self, a: Sum, b: Sum) -> Sum:
        """The quotient of two sums."""
        if a == ZERO:
            return ZERO
        return self.node("div", a, b) if b[1] else times(a, 1.0 / b[0])

    def derivative(self, s: Sum, column: int) -> Sum:
        """The derivative of a sum by an input."""
        slopes: dict[int, Sum] = dict.fromkeys(range(len(self.names)), ZERO)
        slopes[column] = (1.0, ())

        def of(z: Sum) -> Sum:
            return total(*(times(slopes[i], w) for i, w in z[1]))

        for k in self.needed(s):
            unit, z = self.nodes[k]
            value: Sum = (0.0, ((len(self.names) + k, 1.0),))
            d = [of(a) for a in z]
            if all(x == ZERO for x in d):
                found = ZERO
            elif unit == "identity":
                found = d[0]
            elif unit == "cos":
                found = times(self.product(self.node("sin", z[0]), d[0]), -1.0)
            elif unit == "sin":
                found = self.product(self.node("cos", z[0]), d[0])
            elif unit == "exp":
                found = self.product(value, d[0])
            elif unit == "log":
                found = self.quotient(d[0], z[0])
            elif unit == "sqrt":
                found = self.quotient(times(d[0], 0.5), value)
            elif unit == "square":
                found = self.product(times(z[0], 2.0), d[0])
            elif unit == "mul":
                found = total(self.product(z[0], d[1]), self.product(z[1], d[0]))
            elif unit == "div":
                above = total(d[0], times(self.product(value, d[1]), -1.0))
                found = self.quotient(above, z[1])
            else:
                found = self.machine_slope(unit, value, z, d)
            slopes[len(self.names) + k] = found
        return of(s)

    def machine_slope(self, unit: str, value: Sum, z: tuple[Sum, ...], d: list[Sum]) -> Sum:
        """The derivative of a unit with a bend, a kink or a jump, by those of its arguments.

        A kink has the slopes of both sides, a jump any slope of its sign. So a sign of the first or
        second derivative is one that also holds across it.
        """
        one: Sum = (1.0, ())
        if unit == "tanh":
            return self.product(total(one, times(self.node("square", value), -1.0)), d[0])
        if unit == "atan":
            return self.quotient(d[0], total(one, self.node("square", z[0])))
        if unit == "logistic":
            return self.product(self.product(value, total(one, times(value, -1.0))), d[0])
        if unit == "gauss":
            return self.product(self.product(times(z[0], -2.0), value), d[0])
        if unit == "abs":
            sign = total(times(self.node("step", z[0]), 2.0), (-1.0, ()))
            return self.product(sign, d[0])
        if unit in ("min", "max"):
            turn = 1.0 if unit == "max" else -1.0
            ahead = times(total(z[0], times(z[1], -1.0)), turn)
            change = total(d[0], times(d[1], -1.0))
            return total(d[1], self.product(self.node("step", ahead), change))
        if unit == "step":
            return self.product(self.node("jump", z[0]), d[0])
        if unit in ("jump", "anything"):
            return self.product(self.node("anything", z[0]), d[0])
        if z[1][1]:
            raise NotProvedError("an exponent is not a number")
        p = z[1][0]
        base = self.node("abs", z[0]) if unit == "signed_power" else z[0]
        return self.product(times(self.node("power", base, (p - 1.0, ())), p), d[0])

    # Bounds of a sum over a box.

    def needed(self, s: Sum) -> list[int]:
        """Nodes that a sum depends on, in their order."""
        if s in self.orders:
            return self.orders[s]
        found: set[int] = set()
        stack = [i - len(self.names) for i, _ in s[1] if i >= len(self.names)]
        while stack:
            k = stack.pop()
            if k not in found:
                found.add(k)
                inner = [i - len(self.names) for a in self.nodes[k][1] for i, _ in a[1]]
                stack += [j for j in inner if j >= 0]
        self.orders[s] = sorted(found)
        return self.orders[s]

    def values(self, s: Sum, box: Box) -> dict[int, Interval]:
        """Bounds of all sources that a sum depends on."""
        found = dict(enumerate(box))
        for k in self.needed(s):
            unit, args = self.nodes[k]
            z = []
            for a, argument in enumerate(args):
                low, high = affine(argument, found)
                least, most = self.known.get((k, a), ALL)
                z.append((min(max(low, least), most), max(min(high, most), least)))
            found[len(self.names) + k] = apply(unit, z)
        return found


def affine(s: Sum, values: dict[int, Interval]) -> Interval:
    """Bounds of a sum."""
    found: Interval = (s[0], s[0])
    for i, w in s[1]:
        found = add(found, scale(w, values[i]))
    return found


def size(s: Sum, values: dict[int, Interval]) -> float:
    """The amounts of all terms, at most: what rounding goes by."""
    found = abs(s[0]) + sum(abs(w) * max(map(abs, values[i])) for i, w in s[1])
    return found if math.isfinite(found) else 0.0


# --- claims --------------------------------------------------------------------------------------


class Claim:
    """A sum that is to be at least a number (or above it) all over a box."""

    def __init__(
        self, equation: Equation, s: Sum, least: float, is_open: bool, domain: Box
    ) -> None:
        self.equation, self.sum, self.is_open = equation, s, is_open
        values = equation.values(s, domain)
        slack = ROUNDING * (size(s, values) + abs(least))
        self.least = least if is_open else least - slack
        self.axes = sorted(equation.inputs_of(s))
        self.slopes = {i: equation.derivative(s, i) for i in self.axes}

    def low(self, s: Sum, box: Box) -> Interval:
        """Bounds of a sum over a box."""
        return affine(s, self.equation.values(s, box))

    def holds(self, box: Box) -> bool:
        """Whether it is shown for a box, or for the parts of it."""
        stack, splits = [box], 0
        while stack:
            part = stack.pop()
            for _ in self.axes:  # where the sum rises or falls, its least value is on one side
                slopes = {i: self.low(self.slopes[i], part) for i in self.axes}
                flat = list(part)
                for i, (low, high) in slopes.items():
                    if low >= 0.0:
                        flat[i] = (part[i][0], part[i][0])
                    elif high <= 0.0:
                        flat[i] = (part[i][1], part[i][1])
                if flat == part:
                    break
                part = flat
            if self.is_reached(self.low(self.sum, part)[0]):
                continue
            slopes = {i: self.low(self.slopes[i], part) for i in self.axes}
            if self.is_reached(self.mean_value_bound(part, slopes)):
                continue
            axis, middle = self.widest(part, slopes)
            splits += 1
            if axis is None or splits > MORE_SPLITS:
                return False
            low, high = part[axis]
            for half in ((low, middle), (middle, high)):
                stack.append([*part[:axis], half, *part[axis + 1 :]])
        return True

    def is_reached(self, low: float) -> bool:
        """Whether a lower bound is high enough."""
        return low > self.least if self.is_open else low >= self.least

    def mean_value_bound(self, box: Box, slopes: dict[int, Interval]) -> float:
        """A lower bound from the middle of a box and the slopes in it."""
        middle = [(m, m) for m in (0.5 * a + 0.5 * b for a, b in box)]
        bound: Interval = self.low(self.sum, middle)
        for i in self.axes:
            if box[i][0] < box[i][1]:
                away = add(box[i], (-middle[i][0], -middle[i][0]))
                bound = add(bound, mul(slopes[i], away))
        return bound[0]

    def widest(self, box: Box, slopes: dict[int, Interval]) -> tuple[int | None, float]:
        """The input along which the sum may vary most, and where to split it."""
        best, most = None, -1.0
        for i in self.axes:
            low, high = box[i]
            vary = (high - low) * max(map(abs, slopes[i]))
            vary = vary if math.isfinite(vary) else 1e300 * min(high - low, 1.0)
            if low < 0.5 * low + 0.5 * high < high and vary > most:
                best, most = i, vary
        return best, math.nan if best is None else 0.5 * box[best][0] + 0.5 * box[best][1]


def covers(region: Box, boxes: list[Box]) -> bool:
    """Whether boxes cover a region: cut along their sides until one box holds each part."""
    stack = [(region, boxes)]
    while stack:
        part, near = stack.pop()
        if any(all(b[0] <= p[0] and p[1] <= b[1] for p, b in zip(part, x, strict=True))
               for x in near):  # fmt: skip
            continue
        cut = _cut(part, near)
        if cut is None:
            return False
        axis, at = cut
        low, high = part[axis]
        below = [x for x in near if x[axis][0] < at]
        above = [x for x in near if x[axis][1] > at]
        stack.append(([*part[:axis], (low, at), *part[axis + 1 :]], below))
        stack.append(([*part[:axis], (at, high), *part[axis + 1 :]], above))
    return True


def _cut(part: Box, boxes: list[Box]) -> tuple[int, float] | None:
    """A side of a box inside a region: that which cuts fewest boxes, and parts them most evenly."""
    best, least = None, math.inf
    for axis, (low, high) in enumerate(part):
        sides = sorted({end for x in boxes for end in x[axis] if low < end < high})
        if not sides:
            continue
        lows, highs = sorted(x[axis][0] for x in boxes), sorted(x[axis][1] for x in boxes)
        begun = ended = 0
        for at in sides:
            while begun < len(lows) and lows[begun] < at:
                begun += 1
            while ended < len(highs) and highs[ended] <= at:
                ended += 1
            larger = max(begun, len(boxes) - ended)
            price = len(boxes) * (begun - ended) + larger
            if price < least:
                best, least = (axis, at), price
    return best


def parity_holds(equation: Equation, column: int, odd: bool) -> bool:
    """Whether turning the sign of an input leaves the form as it is, but for the sign if odd."""
    numbers: dict[Any, int] = {}

    def form(turn: float) -> tuple[float, Any]:
        signs = [turn if i == column else 1.0 for i in range(len(equation.names))]
        names = list(range(len(equation.names)))

        def read(s: Sum) -> tuple[float, Any]:
            found: dict[int, float] = {}
            for i, w in s[1]:
                found[names[i]] = found.get(names[i], 0.0) + w * signs[i]
            return s[0], tuple(sorted((i, w) for i, w in found.items() if w != 0.0))

        for k in range(equation.own):
            unit, args = equation.nodes[k]
            z, sign = [read(a) for a in args], 1.0
            if unit in (*EVEN, *ODD, "mul", "div"):
                for a, (bias, terms) in enumerate(z if unit in ("mul", "div") else z[:1]):
                    first = next((w for w in (*(w for _, w in terms), bias) if w != 0.0), 1.0)
                    if first < 0.0:
                        z[a] = -bias, tuple((i, -w) for i, w in terms)
                        sign = sign if unit in EVEN else -sign
            key = (unit, *(sorted(z) if unit == "mul" else z))
            names.append(numbers.setdefault(key, len(equation.names) + len(numbers)))
            signs.append(sign)
        return read(equation.output)

    own, (bias, terms) = form(1.0), form(-1.0)
    return own == ((-bias, tuple((i, -w) for i, w in terms)) if odd else (bias, terms))


# --- certificates --------------------------------------------------------------------------------


def digest(certificate: dict[str, Any]) -> str:
    """SHA-256 of everything but the digest itself."""
    content = {key: value for key, value in certificate.items() if key != "sha256"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check(certificate: dict[str, Any]) -> list[str]:
    """Check a certificate; return what it proves, or raise `NotProvedError`."""
    try:
        return _check(certificate)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise NotProvedError(f"it is not a certificate ({type(error).__name__}: {error})") from None


def _check(certificate: dict[str, Any]) -> list[str]:
    if certificate.get("kind") != "ieql certificate" or certificate.get("format") != 1:
        raise NotProvedError("it is not a certificate of a form that is known here")
    if certificate.get("sha256") != digest(certificate):
        raise NotProvedError("it was changed after it was written")
    equation = Equation(certificate["expression"])
    domain = [(float(a), float(b)) for a, b in (certificate["domain"][n] for n in equation.names)]
    if not all(-math.inf < a <= b < math.inf for a, b in domain):
        raise NotProvedError("the domain is not a box")
    proof = _Proof(equation, domain)
    for claim in certificate["claims"]:
        proof.take(claim)
    return proof.conclusion()


class _Proof:
    """The claims of a certificate, one after the other: a later one may rest on earlier ones."""

    def __init__(self, equation: Equation, domain: Box) -> None:
        self.equation, self.domain = equation, domain
        self.safe: set[tuple[int, int]] = set()
        self.smooth: set[tuple[int, int]] = set()
        self.is_bounded: set[str] = set()
        self.proved: list[str] = []

    def conclusion(self) -> list[str]:
        """What is proved."""
        self.refuse_unsafe()
        if self.is_bounded != {"at least", "at most"}:
            raise NotProvedError("nothing shows that the output is finite")
        return [
            f"{self.equation.text()}",
            "every unit is defined, and the output finite, in the whole domain",
            *self.proved,
        ]

    def take(self, claim: dict[str, Any]) -> None:
        """Check one claim."""
        kind = claim["kind"]
        if kind == "argument":
            self.argument(claim)
            return
        self.refuse_unsafe()
        if kind in ("at least", "at most"):
            self.bound(claim, kind)
        elif kind in ("positive argument", "rising argument", "falling argument"):
            self.smoothness(claim, kind)
        elif kind in ("increasing", "decreasing", "convex", "concave"):
            self.slope(claim, kind)
        elif kind in ("even", "odd"):
            if not parity_holds(self.equation, self.column(claim), kind == "odd"):
                raise NotProvedError(f"the form does not show that it is {kind}")
            self.proved.append(f"the output is {kind} in {claim['input']}")
        else:
            raise NotProvedError(f"a claim {kind!r} is not known here")

    def column(self, claim: dict[str, Any]) -> int:
        """The input that a claim is about."""
        return self.equation.names.index(claim["input"])

    def argument(self, claim: dict[str, Any]) -> None:
        """The argument of a unit is positive, at least by some distance."""
        k, a, distance = int(claim["node"]), int(claim["argument"]), float(claim["distance"])
        edge = float(claim["edge"]), float(claim["sign"])
        if not (0 <= k < self.equation.own and edge == (0.0, 1.0) and 0.0 <= distance < math.inf):
            raise NotProvedError("a claim about an argument is not of a known form")
        unit, args = self.equation.nodes[k]
        if a not in (*OPEN_ARGUMENTS.get(unit, []), *CLOSED_ARGUMENTS.get(unit, [])):
            raise NotProvedError(f"argument {a} of {unit!r} may be anything")
        for earlier in self.equation.needed(args[a]):
            self.refuse_unsafe(earlier)  # bounds hold where all arguments are inside
        is_open = distance > 0.0 or unit in OPEN_ARGUMENTS
        self.boxes(Claim(self.equation, args[a], distance, is_open, self.domain), claim)
        self.equation.known[k, a] = (distance, math.inf)
        self.safe.add((k, a))

    def bound(self, claim: dict[str, Any], kind: str) -> None:
        """The output keeps to a bound, everywhere or where an input has one value."""
        value, sign = float(claim["value"]), 1.0 if kind == "at least" else -1.0
        box, text = self.domain, f"the output is {kind} {value!r}"
        if not math.isfinite(value):
            raise NotProvedError("a bound is not a finite number")
        if "place" in claim:
            column, place = self.column(claim), float(claim["place"])
            if not box[column][0] <= place <= box[column][1]:
                raise NotProvedError("a claim is about a place outside the domain")
            box = [*box[:column], (place, place), *box[column + 1 :]]
            text += f" where {claim['input']} is {place!r}"
        else:
            self.is_bounded.add(kind)
        output = times(self.equation.output, sign)
        self.boxes(Claim(self.equation, output, sign * value, False, box), claim, box)
        self.proved.append(text)

    def smoothness(self, claim: dict[str, Any], kind: str) -> None:
        """A root has no zero along an input, but at the edge of the domain: no kink."""
        k, a, column = int(claim["node"]), int(claim["argument"]), self.column(claim)
        unit, args = self.equation.nodes[k] if 0 <= k < self.equation.own else ("", ())
        if a not in CLOSED_ARGUMENTS.get(unit, []):
            raise NotProvedError("a claim about a root is about something else")
        s = args[a]
        if kind != "positive argument":
            slope = self.equation.derivative(s, column)
            s = times(slope, 1.0 if kind == "rising argument" else -1.0)
        self.boxes(Claim(self.equation, s, 0.0, True, self.domain), claim)
        self.smooth.add((k, column))

    def slope(self, claim: dict[str, Any], kind: str) -> None:
        """The first or second derivative has one sign."""
        column = self.column(claim)
        s = self.equation.derivative(self.equation.output, column)
        if kind in ("convex", "concave"):
            s = self.equation.derivative(s, column)
            for k in range(self.equation.own):
                root = (0.0, ((len(self.equation.names) + k, 1.0),))
                matters = column in self.equation.inputs_of(root)
                is_root = self.equation.nodes[k][0] in CLOSED_ARGUMENTS
                if is_root and matters and (k, column) not in self.smooth:
                    raise NotProvedError(f"the root in node {k} may have a kink")
        s = times(s, 1.0 if kind in ("increasing", "convex") else -1.0)
        self.boxes(Claim(self.equation, s, 0.0, False, self.domain), claim)
        self.proved.append(f"the output is {kind} in {claim['input']}")

    def refuse_unsafe(self, node: int | None = None) -> None:
        """Refuse what rests on units of which nothing shows that they are defined."""
        for k in range(self.equation.own) if node is None else [node]:
            unit, args = self.equation.nodes[k]
            for a in (*OPEN_ARGUMENTS.get(unit, []), *CLOSED_ARGUMENTS.get(unit, [])):
                bias, terms = args[a]
                inside = not terms and (bias > 0.0 or (bias == 0.0 and unit in CLOSED_ARGUMENTS))
                if not inside and (k, a) not in self.safe:
                    raise NotProvedError(f"nothing shows that {unit!r} in node {k} is defined")

    def boxes(self, claim: Claim, form: dict[str, Any], domain: Box | None = None) -> None:
        """The boxes of a claim cover the domain, and show it."""
        domain = self.domain if domain is None else domain
        axes = [self.equation.names.index(name) for name in form["inputs"]]
        if not set(claim.axes) <= set(axes):
            raise NotProvedError(f"the boxes of {form['kind']!r} leave out an input that matters")
        boxes = [[(float(a), float(b)) for a, b in box] for box in form["boxes"]]
        if any(len(box) != len(axes) for box in boxes):
            raise NotProvedError("a box has too few or too many sides")
        if not covers([domain[i] for i in axes], boxes):
            raise NotProvedError(f"the boxes of {form['kind']!r} do not cover the domain")
        for box in boxes:
            whole = list(domain)
            for i, side in zip(axes, box, strict=True):
                # Beyond the domain nothing is claimed.
                whole[i] = max(side[0], domain[i][0]), min(side[1], domain[i][1])
            if all(a <= b for a, b in whole) and not claim.holds(whole):
                raise NotProvedError(f"{form['kind']!r} is not shown in the box {box}")


def main(arguments: list[str]) -> int:
    """Check the certificates in some files."""
    if not arguments:
        print("Give the certificate: python check_certificate.py certificate.json")
        return 2
    failed = False
    for path in arguments:
        try:
            with open(path, encoding="utf-8") as file:
                certificate = json.load(file)
            proved = check(certificate)
        except (OSError, ValueError, RecursionError) as error:
            print(f"{path}: cannot be read ({error}).")
            failed = True
        except NotProvedError as error:
            print(f"{path}: NOT proved: {error}.")
            failed = True
        else:
            domain = certificate["domain"].items()
            box = ", ".join(f"{name} from {low!r} to {high!r}" for name, (low, high) in domain)
            print(f"{path}: proved.\n  equation: {proved[0]}\n  domain: {box}")
            for sentence in proved[1:]:
                print(f"  - {sentence}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
