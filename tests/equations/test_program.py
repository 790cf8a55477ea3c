"""Programs: the compiled interpreter against the table of units, NumPy and known constants."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace

import cloudpickle
import numpy as np
import pytest

from ieql.equations import kernels
from ieql.equations.builder import Builder
from ieql.equations.expression import Expression, Node, Sum
from ieql.equations.program import Fit, Program, free_constants
from ieql.errors import IeqlError
from ieql.units import CUSTOM_CODE, UNITS, Unit

NAMES = ("x1", "x2", "x3")
EDGES = np.array([0.0, -0.0, 1e-300, -1e-300, 1e300, -1e300, -1.0, 0.5, 1e5, 1e9, np.inf, np.nan])
EDGES = np.concatenate([EDGES, [-np.inf, 30.0, 709.0, 710.0, -744.0, -750.0, 2.5e-308, 1e307]])


def parse(text, names=NAMES, custom=None):
    return Expression.parse(text, names, custom)


def rows(n, d=3, low=-1.0, high=1.0, seed=0):
    """Inputs as the kernels take them: one row per input."""
    return np.random.default_rng(seed).uniform(low, high, (d, n))


def values(expression, XT):
    return expression.evaluate(XT.T)[:, 0]


def in_numpy(program):
    """The same program without its compiled form."""
    return replace(program, is_compiled=False)


def everything(program):
    """All constants as free ones."""
    return np.arange(len(program.theta))


def alone(unit):
    """A single unit of bare inputs, and the biases in front of it: their derivatives are its own.

    Made by hand, because the builder would fold a constant argument.
    """
    args = tuple(Sum(0.0, (a,), (1.0,)) for a in range(unit.arity))
    output = Sum(0.0, (unit.arity,), (1.0,))
    expression = Expression(NAMES[: unit.arity], (Node(unit, args),), (output,))
    return Program.of(expression), np.arange(0, 2 * unit.arity, 2)


def random_expression(rng, n_units=6):
    """Units of sums of whatever came before, with constants of moderate size."""
    builder = Builder(NAMES)
    pool = [builder.input(i) for i in range(len(NAMES))]

    def draw():
        chosen = rng.choice(len(pool), size=rng.integers(1, 3), replace=False)
        terms = [pool[i].scaled(rng.normal()) for i in chosen]
        bias = Sum(float(rng.choice([0.0, rng.normal()])))
        return bias.plus(terms[0]) if len(terms) == 1 else bias.plus(terms[0]).plus(terms[1])

    for name in rng.choice(list(UNITS), size=n_units):
        unit = UNITS[str(name)]
        pool.append(builder.apply(unit, *(draw() for _ in range(unit.arity))))
    return builder.expression(pool[-1].plus(draw()).plus(Sum(rng.normal())))


def random_program(rng):
    """A random program, and rows on which nothing is so large that rounding would be visible."""
    while True:
        program = Program.of(random_expression(rng))
        XT = rng.uniform(-2, 2, (3, 300))
        parts = np.array([program.argument_ranges(XT[:, [i]])[0] for i in range(300)])
        tame = np.all(np.abs(parts) < 30.0, axis=1)
        if tame.sum() > 50:
            return program, np.ascontiguousarray(XT[:, tame])


# --- the interpreter and the table of units ----------------------------------------------------


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_compiled_units_are_those_of_the_table_at_the_edges(unit):
    XT = np.array(np.meshgrid(*[EDGES] * unit.arity)).reshape(unit.arity, -1)
    program, biases = alone(unit)
    value, slopes = program.jacobian(XT, free=biases)
    args = XT + 0.0  # the sum in front of a unit: it never sees a negative zero
    np.testing.assert_allclose(value, unit(*args), rtol=1e-14, atol=0)
    for a in range(unit.arity):
        np.testing.assert_allclose(slopes[a], unit.derivative(a, *args), rtol=1e-14, atol=0)


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_compiled_units_are_those_of_the_table_everywhere(unit):
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], (unit.arity, 30_000))
    XT = np.concatenate(
        [sign * 10.0 ** rng.uniform(-12, 6, sign.shape), rng.uniform(-20, 20, sign.shape)], axis=1
    )
    program, biases = alone(unit)
    value, slopes = program.jacobian(XT, free=biases)
    # The absolute tolerance is for the zeros of sine, cosine and logarithm.
    np.testing.assert_allclose(value, unit(*XT), rtol=2e-15, atol=5e-16)
    for a in range(unit.arity):
        np.testing.assert_allclose(slopes[a], unit.derivative(a, *XT), rtol=2e-15, atol=5e-16)


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 700])
def test_any_number_of_rows(n):
    expression = parse("2*cos(3*x1 + 1)*x2 - x3/(x1**2 + 1) + 0.5")
    XT = rows(n)
    np.testing.assert_allclose(
        Program.of(expression).evaluate(XT), values(expression, XT), rtol=1e-13
    )


@pytest.mark.parametrize("seed", range(40))
def test_compiled_and_numpy_agree(seed):
    rng = np.random.default_rng(seed)
    program, XT = random_program(rng)
    free = everything(program)
    twin = in_numpy(program)

    value, J = program.jacobian(XT, free=free)
    expected, expected_J = twin.jacobian(XT, free=free)
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-10)
    for row, other in zip(J, expected_J, strict=True):
        np.testing.assert_allclose(row, other, rtol=1e-10, atol=1e-10 * (1 + np.abs(other).max()))
    np.testing.assert_allclose(program.evaluate(XT), value, rtol=0)
    for bounds, others in zip(program.argument_ranges(XT), twin.argument_ranges(XT), strict=True):
        np.testing.assert_allclose(bounds, others, rtol=1e-10, atol=1e-10)

    weight = rng.uniform(0.5, 2, XT.shape[1])
    y = expected + rng.normal(size=len(expected))
    results = [p.normal_equations(XT, y, weight, p.theta, free) for p in (program, twin)]
    for ours, numpys in zip(*results, strict=True):
        scale = 1 + np.max(np.abs(numpys))
        np.testing.assert_allclose(ours, numpys, rtol=1e-10, atol=1e-10 * scale)
    by_hand = expected_J * weight @ expected_J.T / weight.sum()
    np.testing.assert_allclose(results[0][1], by_hand, rtol=1e-8, atol=1e-8 * scale)


@pytest.mark.parametrize("seed", range(40))
def test_derivatives_are_those_of_finite_differences(seed):
    program, XT = random_program(np.random.default_rng(seed))
    _, J = program.jacobian(XT, free=everything(program))
    for j in range(len(program.theta)):

        def slope(step, j=j):
            up, down = program.theta.copy(), program.theta.copy()
            up[j] += step
            down[j] -= step
            return (program.evaluate(XT, up) - program.evaluate(XT, down)) / (2 * step)

        numeric, coarse = slope(1e-6), slope(2e-6)
        # Next to a singularity differences say nothing: two of them disagree there.
        known = np.abs(numeric - coarse) < 1e-5 * (1 + np.abs(numeric))
        assert known.mean() > 0.6
        np.testing.assert_allclose(J[j, known], numeric[known], rtol=1e-4, atol=1e-4)


def test_dead_units_do_no_harm():
    """A unit that the output does not need may be undefined and its constants have no influence."""
    log = Node(UNITS["log"], (Sum(-5.0, (0,), (2.0,)),))
    expression = Expression(("x1",), (log,), (Sum(1.0, (0,), (3.0,)),))
    for program in (Program.of(expression), in_numpy(Program.of(expression))):
        _, J = program.jacobian(rows(5, d=1), free=everything(program))
        assert np.array_equal(J[:2], np.zeros((2, 5)))
        assert np.isfinite(J).all()


def test_ranges_of_the_arguments():
    program = Program.of(parse("log(x1 + 2) + 1/(x2 - 0.5)", NAMES[:2]))
    XT = np.array([[0.0, 1.0, -1.0], [0.0, 2.0, 1.0]])
    lows, highs = program.argument_ranges(XT)
    # The argument of log, numerator and denominator, the output.
    np.testing.assert_allclose(lows[:3], [1.0, 1.0, -0.5])
    np.testing.assert_allclose(highs[:3], [3.0, 1.0, 1.5])
    XT[0, 1] = np.nan
    for bounds in program.argument_ranges(XT):
        assert np.array_equal(np.isnan(bounds), [True, False, False, True])


# --- fits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "start"),
    [
        ("1.5*cos(2.2*x1 + 0.7) + 0.8*x2**2", "cos(1.8*x1 + 0.4) + 0.3*x2**2"),
        ("1.2*exp(-1.5*x1) + 0.4*x2", "0.5*exp(-0.3*x1) + x2"),
        ("0.7*log(1.4*x1 + 2) - x2 + 3", "0.2*log(0.6*x1 + 1.1) + x2 + 1"),
        ("(0.4*x1 + 2)/(x2 + 1.7)", "(0.1*x1 + 1)/(x2 + 3)"),
        ("2.5*sqrt(x1**2 + 0.3) + 0.1", "sqrt(x1**2 + 1) + 1"),
        ("-3*x1*x2 + 0.5*x3 - 2", "x1*x2 + x3 + 1"),
        ("1.3/(exp(1.1*x1 + 1.6) - 0.7)", "0.5/(exp(0.8*x1 + 2) - 0.5)"),
    ],
)
def test_known_constants_are_found(truth, start):
    XT = rows(200)
    y = values(parse(truth), XT)
    expression = parse(start)
    fit = Program.of(expression).fit(XT, y)
    assert fit.converged
    assert fit.error < 1e-12
    fitted = expression.with_constants(fit.theta)
    np.testing.assert_allclose(values(fitted, XT), y, atol=1e-6)
    assert fit.error == pytest.approx(np.mean((values(fitted, XT) - y) ** 2), abs=1e-13)


def test_constants_of_very_different_size():
    XT = rows(300) * np.array([[1e6], [1e-6], [1.0]])
    y = values(parse("3e-7*x1 + 2e5*x2 + 4*cos(2e-6*x1 + 1)"), XT)
    fit = Program.of(parse("1e-7*x1 + 1e4*x2 + 2*cos(1.7e-6*x1 + 0.8)")).fit(XT, y)
    np.testing.assert_allclose(fit.theta[fit.theta != 0], [1, 2e-6, 3e-7, 2e5, 4], rtol=1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_compiled_and_numpy_fits_take_the_same_steps(seed):
    rng = np.random.default_rng(seed)
    program = Program.of(parse("0.8*sin(2.1*x1 + 0.3)*exp(0.5*x2) + 0.4/(x3**2 + 1.5) - 0.2"))
    XT = rows(300, seed=seed)
    y = program.evaluate(XT) + 0.01 * rng.normal(size=300)
    start = program.theta.copy()
    start[program.free] *= 1 + 0.2 * rng.normal(size=len(program.free))
    ours = program.fit(XT, y, theta=start)
    numpys = in_numpy(program).fit(XT, y, theta=start)
    assert (ours.steps, ours.converged) == (numpys.steps, numpys.converged)
    np.testing.assert_allclose(ours.theta, numpys.theta, rtol=1e-6)
    assert ours.error == pytest.approx(numpys.error, rel=1e-9)


@pytest.mark.parametrize("compiled", [True, False])
def test_weights_count_like_repeated_rows(compiled):
    rng = np.random.default_rng(0)
    program = replace(Program.of(parse("cos(2*x1 + 0.5) + 0.3*x2")), is_compiled=compiled)
    XT = rows(60)
    y = program.evaluate(XT) + rng.normal(size=60)
    times = rng.integers(0, 4, 60)
    repeated = program.fit(np.repeat(XT, times, axis=1), np.repeat(y, times), tol=1e-12)
    # Rows of weight 0 are not there, whatever stands in them.
    y[times == 0] = np.nan
    weighted = program.fit(XT, y, weight=times.astype(float), tol=1e-12)
    assert weighted.error == pytest.approx(repeated.error)
    np.testing.assert_allclose(weighted.theta, repeated.theta, rtol=1e-5)


def test_only_the_free_constants_move():
    program = Program.of(parse("2*cos(3*x1 + 1) + 0.5*x2"))
    XT = rows(50)
    y = 3 * program.evaluate(XT)
    free = program.free[-2:]
    fit = program.fit(XT, y, free=free)
    np.testing.assert_allclose(fit.theta[free], 3 * program.theta[free])
    fixed = np.setdiff1d(everything(program), free)
    assert np.array_equal(fit.theta[fixed], program.theta[fixed])


def opaque(function):
    """The same function as something that numba cannot compile."""
    return lambda z, made=[function]: made[0](z)


def tanh_slope(z):
    return 1 - np.tanh(z) ** 2


@pytest.mark.parametrize("compiled", [True, False])
def test_a_user_defined_unit_is_fitted(compiled):
    """Compiled if numba can, in NumPy otherwise."""
    made = (lambda f: f) if compiled else opaque
    tanh = Unit("tanh", made(np.tanh), made(tanh_slope))
    expression = parse("0.5*tanh(x1 + 0.8*x2 + 0.3)", custom={"tanh": tanh})
    program = Program.of(expression)
    assert program.is_compiled == compiled
    XT = rows(100)
    y = 2 * np.tanh(XT[0] + 1.5 * XT[1] - 0.4) + 1e-3 * np.sin(50 * XT[2])
    fit = program.fit(XT, y)
    assert fit.converged
    np.testing.assert_allclose(fit.theta[program.free], [-0.4, 1.5, 2.0], atol=1e-2)


LENGTH = Unit(
    "length",
    np.hypot,
    (lambda a, b: a / np.hypot(a, b), lambda a, b: b / np.hypot(a, b)),
    domains=((0.0, 10.0), (-np.inf, 5.0)),
)


@pytest.mark.parametrize("relax", [0.0, 0.3])
def test_a_compiled_unit_of_the_users_does_what_numpy_does(relax):
    """On more rows than a block has, with both kinds of edges, and relaxed close to them."""
    program = Program.of(
        parse("2*length(x1 + 0.5*x2, 3*x3)*cos(x1) + 0.3", custom={"length": LENGTH})
    )
    assert program.is_compiled
    XT = rows(600, low=-3.0, high=3.0)
    y = np.sin(XT.sum(axis=0))
    for ours, numpys in zip(
        program.normal_equations(XT, y, relax=relax),
        in_numpy(program).normal_equations(XT, y, relax=relax),
        strict=True,
    ):
        np.testing.assert_allclose(ours, numpys, rtol=1e-9, atol=1e-12)
    ours, numpys = program.fit(XT, y, relax=relax), in_numpy(program).fit(XT, y, relax=relax)
    assert ours.steps == numpys.steps
    np.testing.assert_allclose(ours.theta, numpys.theta, rtol=1e-6)


def test_a_program_with_a_users_unit_crosses_to_another_process():
    """Where its machine code stands is another place there, so no address travels with it."""
    program = Program.of(parse("2*length(x1 + 3, x2)", custom={"length": LENGTH}))
    program.evaluate(rows(5))
    code = (
        "import pickle, sys, numpy as np\n"
        "program = pickle.load(sys.stdin.buffer)\n"
        "assert program.is_compiled\n"
        "print(program.evaluate(np.ones((3, 1)))[0])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        input=cloudpickle.dumps(program),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert float(done.stdout) == pytest.approx(2 * np.hypot(4.0, 1.0))


def test_a_code_that_no_unit_has_is_an_error():
    """A new row of the table computed z/z in compiled code until 31 tests failed."""
    program = Program.of(parse("cos(x1)"))
    for op in (len(UNITS), 99, CUSTOM_CODE):  # the last one without an address
        unknown = replace(program, op=np.array([op], np.int64))
        with pytest.raises(ValueError, match="has no kernel"):
            unknown.evaluate(rows(5))
        with pytest.raises(ValueError, match="has no kernel"):
            unknown.fit(rows(5), np.ones(5), relax=0.1)


def test_the_domain_of_a_user_defined_unit_is_kept():
    arcsin = Unit("arcsin", np.arcsin, lambda z: 1 / np.sqrt(1 - z**2), domains=((-1.0, 1.0),))
    program = Program.of(parse("arcsin(0.1*x1)", ("x1",), {"arcsin": arcsin}))
    XT = np.linspace(-1, 1, 50)[None]
    fit = program.fit(XT, 4 * XT[0], check=XT, margin=0.1)
    lows, highs = program.argument_ranges(XT, fit.theta)
    assert -0.9 < lows[0] < -0.1
    assert 0.1 < highs[0] < 0.9


@pytest.mark.parametrize("compiled", [True, False])
def test_check_points_keep_poles_out_of_the_declared_domain(compiled):
    """Rows with x < 1 ask for a pole at 5/3; the domain up to 2 must not have one."""
    program = replace(Program.of(parse("1/(0.1*x1 + 1)", ("x1",))), is_compiled=compiled)
    XT, domain = np.linspace(0, 1, 100)[None], np.linspace(0, 2, 50)[None]
    y = 1 / (1 - 0.6 * XT[0])
    denominator = 1

    def lowest(fit):
        return program.argument_ranges(domain, fit.theta)[0][denominator]

    assert lowest(program.fit(XT, y)) < 0
    checked = program.fit(XT, y, check=domain)
    assert lowest(checked) > 0
    assert checked.error < np.mean((y - program.evaluate(XT)) ** 2)
    assert lowest(program.fit(XT, y, check=domain, margin=0.2)) > 0.2


def test_a_singular_argument_stays_in_its_domain_on_the_data():
    program = Program.of(parse("0.5*log(x1 + 0.5)", ("x1",)))
    XT = np.linspace(0, 1, 100)[None]
    y = np.where(XT[0] == 0, -50.0, np.log(XT[0] + 1e-3))
    fit = program.fit(XT, y)
    assert 0 < program.argument_ranges(XT, fit.theta)[0][0] < 0.5


@pytest.mark.parametrize("compiled", [True, False])
def test_a_denominator_does_not_jump_over_zero(compiled):
    """Between two rows a pole would go unnoticed by the error; the positive branch forbids it."""
    program = replace(Program.of(parse("1/(x1 + 0.05)", ("x1",))), is_compiled=compiled)
    XT = np.linspace(0, 1, 10)[None]
    y = 1 / (XT[0] - 0.05)
    offset = np.array([1])
    unwatched = replace(program, guarded=np.empty(0, np.int64))
    np.testing.assert_allclose(unwatched.fit(XT, y, free=offset).theta[offset], -0.05)
    assert program.fit(XT, y, free=offset).theta[offset] > 0


def test_a_denominator_that_starts_negative_is_fitted_all_the_same():
    XT = np.linspace(0, 1, 100)[None]
    fit = Program.of(parse("2/(x1 - 2.5)", ("x1",))).fit(XT, 3 / (XT[0] - 3.0))
    np.testing.assert_allclose(fit.theta[[1, 4]], [-3.0, 3.0], rtol=1e-6)


@pytest.mark.parametrize("text", ["log(x1 - 2)*3 + 1", "exp(900*x1 + 900) + 1"])
@pytest.mark.parametrize("compiled", [True, False])
def test_an_equation_that_is_undefined_at_the_start_is_left_alone(text, compiled):
    program = replace(Program.of(parse(text)), is_compiled=compiled)
    fit = program.fit(rows(50), np.ones(50))
    assert fit == Fit(fit.theta, np.inf, 0, False)
    assert np.array_equal(fit.theta, program.theta)


@pytest.mark.parametrize("compiled", [True, False])
def test_constants_without_influence_stay(compiled):
    """The product with an input that is always 0 has no derivative."""
    program = replace(Program.of(parse("2*x1 + 3*x2 + 1")), is_compiled=compiled)
    XT = rows(40)
    XT[1] = 0.0
    fit = program.fit(XT, 5 * XT[0] - 2)
    np.testing.assert_allclose(fit.theta, [-2, 5, 3])


@pytest.mark.parametrize("compiled", [True, False])
def test_steps_are_counted_and_limited(compiled):
    program = replace(Program.of(parse("cos(2*x1 + 0.5) + 0.3*x2")), is_compiled=compiled)
    XT = rows(60)
    y = 2 * np.cos(3 * XT[0]) + XT[1]
    one = program.fit(XT, y, max_steps=1)
    assert (one.steps, one.converged) == (1, False)
    none = program.fit(XT, y, max_steps=0)
    assert np.array_equal(none.theta, program.theta)
    assert none.error == pytest.approx(np.mean((y - program.evaluate(XT)) ** 2))
    assert program.fit(XT, y).error < one.error < none.error


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("names", [(), ("x1",)])
def test_a_constant_is_an_equation_too(names, compiled):
    program = replace(Program.of(parse("2.5", names)), is_compiled=compiled)
    XT = np.zeros((len(names), 4))
    assert np.array_equal(program.evaluate(XT), np.full(4, 2.5))
    fit = program.fit(XT, np.array([1.0, 2.0, 3.0, 6.0]))
    np.testing.assert_allclose(fit.theta, [3.0])
    assert fit.error == pytest.approx(3.5)


@pytest.mark.parametrize("compiled", [True, False])
def test_nothing_to_fit(compiled):
    program = replace(Program.of(parse("2*x1")), is_compiled=compiled)
    XT = rows(10)
    fit = program.fit(XT, XT[0], free=np.empty(0, np.int64))
    assert (fit.steps, fit.converged) == (0, True)
    assert np.array_equal(fit.theta, program.theta)
    assert fit.error == pytest.approx(np.mean(XT[0] ** 2))


def test_relaxed_units_are_the_same_in_both_forms():
    """Each singular argument is outside its domain on some rows, and exp beyond its limit."""
    text = "log(x1) + 0.5*sqrt(x2 + 0.3) + (x3 + 2)/(x1 - 0.2) + 1e-12*exp(40*x2 + 5)"
    program = Program.of(parse(text))
    XT = rows(200)
    y = np.ones(200)
    assert program.normal_equations(XT, y)[0] == np.inf
    free = everything(program)
    ours = program.normal_equations(XT, y, free=free, relax=0.1)
    numpys = in_numpy(program).normal_equations(XT, y, free=free, relax=0.1)
    assert np.isfinite(ours[0])
    for mine, other in zip(ours, numpys, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-10)


# --- which constants are free ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("2*x1 + x2", [2.0, 1.0]),  # weights of the output, whatever they are; no bias
        ("x1 + 3", [3.0, 1.0]),
        ("cos(x1)", [1.0]),  # a bare argument is structure
        ("cos(2*x1 - x2 + 0.5)", [0.5, 2.0, 1.0]),  # -x2 sets the gauge
        ("4/(x1 + 2)", [2.0, 4.0]),  # and so does the numerator 1
        ("(x1 + 3)/(x2 + 2)", [3.0, 2.0, 1.0]),
        ("7", [7.0]),
        ("0", []),
    ],
)
def test_free_constants(text, free):
    expression = parse(text)
    assert expression.constants()[free_constants(expression)].tolist() == free
    assert np.array_equal(Program.of(expression).free, free_constants(expression))


# --- what comes in -----------------------------------------------------------------------------


def test_constants_are_in_the_order_of_the_expression():
    expression = parse("2*cos(3*x1 + 1)*x2 + 4")
    program = Program.of(expression)
    assert np.array_equal(program.theta, expression.constants())
    for s, one in enumerate(expression.sums):
        assert program.theta[program.ptr[s] + s] == one.bias
        weights = program.theta[program.ptr[s] + s + 1 : program.ptr[s + 1] + s + 1]
        assert weights.tolist() == list(one.weights)


def test_several_outputs_are_refused():
    expression = Expression(("x1",), (), (Sum(1.0), Sum(2.0)))
    with pytest.raises(ValueError, match="one output"):
        Program.of(expression)


@pytest.mark.parametrize("compiled", [True, False])
def test_wrong_shapes_are_refused(compiled):
    program = replace(Program.of(parse("x1 + 2*x2")), is_compiled=compiled)
    XT = rows(10)
    with pytest.raises(IeqlError, match="3 input"):
        program.evaluate(XT[:2])
    with pytest.raises(IeqlError, match="3 constants"):
        program.evaluate(XT, np.ones(4))
    with pytest.raises(IeqlError, match="10 rows"):
        program.fit(XT, np.ones(9))
    with pytest.raises(IeqlError, match="weights"):
        program.fit(XT, np.ones(10), weight=-np.ones(10))
    with pytest.raises(IndexError, match="constants"):
        program.jacobian(XT, free=np.array([3]))


def test_everything_runs_through_one_compilation():
    """Read-only arrays, as joblib's workers get them, and other types compile nothing new."""
    program = Program.of(parse("2*cos(x1) + x2"))
    XT, y = rows(10), np.ones(10)
    expected = program.fit(XT, y)
    XT.flags.writeable = y.flags.writeable = False
    fit = program.fit(XT, y, theta=program.theta.astype(np.float32), max_steps=np.int32(40))
    np.testing.assert_allclose(fit.theta, expected.theta)
    np.testing.assert_array_equal(
        program.evaluate(np.asfortranarray(XT)), program.evaluate(np.array(XT))
    )
    assert len(kernels.fit.__wrapped__.signatures) == len(kernels.run.__wrapped__.signatures) == 1


def test_programs_can_be_pickled():
    program = Program.of(parse("2*cos(x1) + x2"))
    XT = rows(10)
    again = pickle.loads(pickle.dumps(program))
    assert np.array_equal(again.evaluate(XT), program.evaluate(XT))


def test_the_error_does_not_depend_on_where_the_rows_lie_in_memory():
    """Its last bit did, and with it the last digits of fits: 7 of 4,000 calls differed."""
    program = Program.of(parse("1.0008*x1*x2 - 0.6213*x1 + 0.6514"))
    rng = np.random.default_rng(0)
    XT = rng.uniform(0.2, 2.0, (3, 180))
    y = XT[0] * XT[1] + 0.04 * rng.normal(size=180)
    held = []
    errors = set()
    for _ in range(600):
        held.append(np.empty(int(rng.integers(1, 3000))))
        if len(held) > 40:
            held.pop(int(rng.integers(40)))
        theta, free = program.theta, program.free
        errors.add(program.normal_equations(XT.copy(), y.copy(), np.ones(180), theta, free)[0])
    assert len(errors) == 1
