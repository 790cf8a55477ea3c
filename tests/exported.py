"""What the tests of exported code share: names that bite, points at the edges, rounding errors."""

from __future__ import annotations

import itertools

import numpy as np

from ieql.equations.builder import Builder
from ieql.equations.expression import Expression, Node, Sum
from ieql.export.functions import Equation
from ieql.units import UNITS, Unit

__all__ = [
    "EXACT",
    "FORMULAS",
    "HOSTILE",
    "agreement",
    "drawn",
    "edges",
    "hostile_equations",
    "own_units",
    "parsed",
    "random_points",
    "rounding",
    "various",
]

HOSTILE = [
    "int",
    "double",
    "lambda",
    "match",
    "np",
    "print",
    'x; system("")',
    "π_rad",
    "1st",
    "<script>",
    "n [1/min]",
    "*/",
    "/*",
    "/*/ int main(void) { return 1; } /*",
    "??/",
    "????/",
    "ends with \\",
    "two\nlines",
    "line\u2028end",
    "\u202ereversed",
    "nul\0",
    "",
    " ",
    "_",
    "__x",
    "a b",
    "a-b",
    "exp",
    "y0",
    "j1",
    "NAN",
    "M_PI",
    "linux",
    "u1",
    "z1",
    "torque",
    "ieql_torque",
    '"""',
    '""""""',
    "'\"\"\"'); raise SystemExit; ('",
    '%s {0} {{}} \\"\\"\\"',
    "# comment",
    "`tick`",
    "Größe",
    "\ud800",
    "x" * 300,
    "x" * 300 + "y",
]
FORMULAS = [
    "0",
    "2.5",
    "x",
    "-x",
    "x + y - 1",
    "log(x)",
    "log(y)/y",
    "sqrt(x)",
    "1/x",
    "x/y",
    "(x - y)/(x - y)",
    "x**1.7 - 0.3*y**-0.2",
    "exp(x) - exp(y)",
    "cos(x)*sin(y)",
    "(x*y + 1)**2/(1 + (x*y + 1)**2)",
    "identity(x + 1)*identity(y)",
    "1e-300*x + 1e300*y",
    "0.1*x + 0.2*y + 0.3",
    "x**5/(y**3 + 1)",
    "-(x**2) - (y - x)**2",
    *(f"{name}(2*x + y)" for name, unit in UNITS.items() if unit.arity == 1),
    *(f"{name}(x, y - 2)" for name, unit in UNITS.items() if unit.arity == 2),
]
"""What tends to go wrong, and every unit."""
EXACT = ("identity", "sqrt", "square", "mul", "div", "abs", "min", "max", "step")
"""Units that computers agree on to the last digit."""
GRID = [0.0, -0.0, -1.0, 1.0, 0.3, -2.5, 1e300, -1e300, 1e-300, -1e-300, 5e-324, 800.0]


def edges(n_inputs: int) -> np.ndarray:
    """Zeros of both signs, negative, huge and tiny numbers, in all pairings."""
    rows = itertools.islice(itertools.product(GRID, repeat=n_inputs), 2000)
    return np.array(list(rows)).reshape(-1, n_inputs)


def random_points(n_inputs: int, n: int = 200) -> np.ndarray:
    rng = np.random.default_rng(0)
    size = 10.0 ** rng.integers(-3, 3, (n, n_inputs))
    return rng.normal(size=(n, n_inputs)) * size


def drawn(n: int, n_inputs: int = 3) -> list[Expression]:
    """Random expressions in which every unit matters, with 3 to 10 units, some of them shared.

    Those of `strategies.expressions` are mostly short, as Hypothesis likes them; and here a
    compiler is started once for all of them.
    """
    rng = np.random.default_rng(1)
    found: list[Expression] = []
    while len(found) < n:
        builder = Builder(tuple(f"x{i + 1}" for i in range(n_inputs)))
        pool = [builder.input(i) for i in range(n_inputs)]
        for name in rng.choice(list(UNITS), rng.integers(3, 11)):
            args = [_random_sum(rng, pool) for _ in range(UNITS[name].arity)]
            pool.append(builder.apply(UNITS[name], *args))
        outputs = [part.scaled(_constant(rng)) for part in pool[n_inputs:]]
        expression = builder.expression(Sum.total([Sum(_constant(rng)), *outputs]))
        if len(expression.nodes) >= 3 and np.all(np.isfinite(expression.constants())):
            found.append(expression)
    return found


def _random_sum(rng: np.random.Generator, pool: list[Sum]) -> Sum:
    chosen = rng.choice(len(pool), rng.integers(1, 3), replace=False)
    parts = [pool[i].scaled(_constant(rng)) for i in chosen]
    return Sum.total([Sum(rng.choice([0.0, _constant(rng)])), *parts])


def _constant(rng: np.random.Generator) -> float:
    """Often 1 or another small whole number, seldom very large or small."""
    special = rng.choice([1.0, -1.0, 2.0, 1e-5, 1e5])
    return float(special if rng.random() < 0.5 else rng.normal())


def rounding(
    expression: Expression, X: np.ndarray, eps: float, inexact: tuple[str, ...] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """How far two computations of output 0 may lie apart, to first order, and where that counts.

    `eps` is the relative error of one operation: of every one, or of the units `inexact` alone,
    if both compute sums and products digit by digit the same. The second array says where no
    argument lies closer to the edge of a unit's domain than its own error.
    """
    values = list(X.T)
    errors = [eps * np.abs(x) if inexact is None else np.zeros(len(X)) for x in values]
    safe = np.ones(len(X), dtype=bool)

    def affine(s: Sum) -> tuple[np.ndarray, np.ndarray]:
        terms = [np.full(len(X), s.bias)]
        terms += [w * values[i] for i, w in zip(s.sources, s.weights, strict=True)]
        error = np.zeros(len(X))
        for i, w in zip(s.sources, s.weights, strict=True):
            error = error + abs(w) * errors[i]
        size = np.sum(np.abs(terms), axis=0)
        own = eps * (len(terms) + 2) * size
        return np.sum(terms, axis=0), error + np.where((error > 0) | (inexact is None), own, 0.0)

    with np.errstate(all="ignore"):
        for node in expression.nodes:
            args = [affine(a) for a in node.args]
            value = node.unit(*(z for z, _ in args))
            error = np.zeros(len(X))
            for i, (z, dz) in enumerate(args):
                error = error + np.abs(node.unit.derivative(i, *(z for z, _ in args))) * dz
                if i in node.unit.singular:
                    safe &= (dz == 0) | (np.abs(z) > 1e3 * dz)
            if inexact is None or node.unit.name in inexact:
                error = error + eps * np.abs(value) + 1e-322
            values.append(value)
            errors.append(np.where(np.isfinite(value), error, 0.0))
        return affine(expression.outputs[0])[1], safe


# --- what the languages of programs are tried on -------------------------------------------------


def parsed(*formulas: str, names: tuple[str, ...] = ("x", "y")) -> list[Equation]:
    return [Equation(f"f{k}", Expression.parse(f, names)) for k, f in enumerate(formulas)]


def various(n_drawn: int = 100) -> tuple[list[Equation], np.ndarray]:
    """Equations of x, y and z that use every unit, and points at the edges and at random."""
    names = ("x", "y", "z")
    large = [Expression(names, e.nodes, e.outputs) for e in drawn(n_drawn)]
    equations = parsed(*FORMULAS, names=names)
    equations += [Equation(f"large{k}", e) for k, e in enumerate(large)]
    return equations, np.vstack([edges(3)[::13], random_points(3)])


def agreement(
    equations: list[Equation], found: np.ndarray, X: np.ndarray, eps: float = 1e-15
) -> float:
    """Assert that values (equations, points) are those of `Expression.evaluate`.

    NaN and infinities at the same points, and values to 1e-12 where rounding allows it: `eps` is
    the error of a function like cos. Gives the part of the points where that says anything.
    """
    assert found.shape == (len(equations), len(X))
    inexact = tuple(name for name in UNITS if name not in EXACT)
    checked = 0
    for (target, expression, _), values in zip(equations, found, strict=True):
        expected = expression.evaluate(X)[:, 0]
        error, safe = rounding(expression, X, eps, inexact)
        safe &= (error <= 1e-12 * np.abs(expected)) | ~np.isfinite(expected)
        np.testing.assert_allclose(
            values[safe], expected[safe], rtol=1e-12, atol=0, err_msg=f"{target}: {expression}"
        )
        checked += int(safe.sum())
    return checked / found.size


def hostile_equations() -> tuple[list[Equation], np.ndarray, np.ndarray]:
    """All names that bite: together in one equation, each as column and target; points, values.

    The first equation takes all columns, the others their own alone. Points are rows of all.
    """
    n = len(HOSTILE)
    shared = (Node(UNITS["exp"], (Sum(0.0, (0,), (2.0,)),)),)
    weights = (*(float(k + 1) for k in range(n)), 1.0)
    together = Expression(tuple(HOSTILE), shared, (Sum(0.5, tuple(range(n + 1)), weights),))
    equations = [Equation("all of them", together)]
    for k, name in enumerate(HOSTILE):
        equations.append(Equation(name, Expression(tuple(HOSTILE), (), (Sum(0.5, (k,), (2.0,)),))))
    X = random_points(n, 5) / 1000
    return equations, X, np.array([e.expression.evaluate(X)[:, 0] for e in equations])


def own_units() -> Equation:
    """Units of one's own, with conditions, that say how they are written in C alone.

    The columns have the names of what the units call.
    """
    softplus = Unit(
        "softplus",
        lambda z: np.logaddexp(0.0, z),
        lambda z: 1 / (1 + np.exp(-z)),
        c="(({0}) > 0 ? ({0}) + log1p(exp(-({0}))) : log1p(exp({0})))",
    )
    signed_root = Unit(
        "signed_root",
        lambda z: np.sign(z) * np.sqrt(np.abs(z)),
        lambda z: 0.5 / np.sqrt(np.abs(z)),
        domains=((-9, -0.1),),
        c="(({0}) != 0 && !(fabs({0}) > 1e6) ? copysign(pow(fabs({0}), 0.5), {0}) : NAN)",
    )
    length = Unit(
        "length",
        lambda a, b: np.sqrt(a * a + b * b),
        (lambda a, b: a / np.hypot(a, b), lambda a, b: b / np.hypot(a, b)),
        domains=((0.1, 9), (0.1, 9)),
        c="sqrt({0}*{0} + {1}*{1})",
    )
    custom = {"softplus": softplus, "length": length, "signed_root": signed_root}
    text = "softplus(log1p) - length(log1p, 2*sqrt) + signed_root(log1p)"
    return Equation("f", Expression.parse(text, ["log1p", "sqrt"], custom))
