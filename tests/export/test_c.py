"""Exported C compiles without a warning and computes what `Expression.evaluate` does."""

from __future__ import annotations

import contextlib
import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

from exported import HOSTILE, drawn, edges, random_points, rounding
from ieql.equations.expression import Expression, Node, Sum
from ieql.errors import IeqlError
from ieql.export.c import RESERVED, c_code
from ieql.export.origin import generated
from ieql.units import UNITS, Unit
from strategies import endless

COMPILER = shutil.which("gcc") or shutil.which("cc")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow"]
STRICT += ["-Wmissing-prototypes", "-Wstrict-prototypes"]
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler (gcc or cc)")

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
]


def parsed(*formulas, names=("x", "y")):
    return [(f"f{k}", Expression.parse(f, names)) for k, f in enumerate(formulas)]


def compiled(source, folder, *options):
    """The shared library of a C source, which must give no warning."""
    # Another name each time: what is loaded under a name stays loaded.
    number = len(list(folder.iterdir()))
    code, library = folder / f"equation{number}.c", folder / f"equation{number}.so"
    code.write_text(source, encoding="utf-8")
    command = [COMPILER, *STRICT, "-O1", "-shared", "-fPIC", *options]
    result = subprocess.run(
        [*command, str(code), "-o", str(library), "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not result.stderr, result.stderr[:2000]
    return ctypes.CDLL(str(library))


def values(library, name, expression, X, real=ctypes.c_double):
    """The exported function at all points; its arguments are the inputs that are used."""
    columns = [i for i, n in enumerate(expression.names) if n in expression.inputs_used]
    function = getattr(library, name)
    function.restype, function.argtypes = real, [real] * len(columns)
    return np.array([function(*row) for row in X[:, columns].tolist()])


# --- what it looks like --------------------------------------------------------------------------


def test_a_function_to_read():
    expression = Expression.parse("0.5*`n [1/min]`*cos(2*load + 1) - 3/load", ["n [1/min]", "load"])
    domain = {"n [1/min]": (0.0, 6000.0), "load": (0.1, 1.0)}
    assert c_code([("torque", expression)], domain=domain) == (
        f"/*\n * {generated()}"
        """
 * Do not compile with -ffast-math: it takes away the NaN of an undefined value.
 */
#include <math.h>

/*
 * torque = 0.5*`n [1/min]`*cos(2*load + 1) - 3/load
 *
 * ieql_torque: torque
 * n_1_min: column 'n [1/min]', from 0 to 6000
 * load: column 'load', from 0.1 to 1
 *
 * NaN where the equation is undefined.
 */
double ieql_torque(double n_1_min, double load);

double ieql_torque(double n_1_min, double load)
{
    const double u1 = cos(1.0 + 2.0 * load);
    const double u2 = (n_1_min * u1);
    const double u3 = (load != 0.0 ? 1.0 / load : NAN);
    return 0.5 * u2 - 3.0 * u3;
}
"""
    )


def test_a_unit_used_twice_is_computed_once():
    code = c_code(parsed("exp(x)/(1 + exp(x)) + exp(x)**2"))
    assert code.count("exp(x);") == 1


def test_only_the_inputs_that_are_used_are_arguments():
    expression = Expression.parse("c - 2*a", ["a", "b", "c"])
    assert "double ieql_f(double a, double c)" in c_code([("f", expression)])
    assert "double ieql_f(void)" in c_code([("f", Expression.parse("2", ["a"]))])


def test_every_output_is_a_function_of_what_it_needs():
    x, y = Sum(0.0, (0,), (1.0,)), Sum(0.0, (1,), (1.0,))
    nodes = (Node(UNITS["exp"], (x,)), Node(UNITS["cos"], (y,)))
    both = Expression(("x", "y"), nodes, (Sum(0.0, (2,), (1.0,)), Sum(0.0, (3,), (2.0,))))
    code = c_code([("a", both, 0), ("b", both, 1)])
    assert "double ieql_a(double x)\n{\n    const double u1 = exp(x);\n    return u1;" in code
    assert "double ieql_b(double y)\n{\n    const double u1 = cos(y);\n    return 2.0 * u1;" in code


def test_names_of_functions():
    equations = parsed("x", "y")
    assert re.findall(r"(\w+)\(double", c_code(equations[:1], name="torque"))[0] == "torque"
    assert set(re.findall(r"(\w+)\(double", c_code(equations, name="m"))) == {"m_f0", "m_f1"}
    twice = [("a b", equations[0][1]), ("a-b", equations[0][1])]
    assert set(re.findall(r"(\w+)\(double", c_code(twice))) == {"ieql_a_b", "ieql_a_b_2"}
    for name in ("", "int", "exp", "1st", "_x", "a__b", "größe", "f(void);", "x\n"):
        with pytest.raises(IeqlError, match="A function cannot be called"):
            c_code(equations[:1], name=name)


def test_a_sum_of_many_terms_is_broken_into_lines():
    names = [f"quantity_{i}" for i in range(20)]
    code = c_code([("f", Expression.parse(" - 0.5*".join(names), names))])
    assert "\n            - 0.5 * quantity_19);" in code
    assert max(map(len, code.partition("\n{")[2].splitlines())) < 100


def test_an_equation_too_long_for_one_formula_is_still_code():
    code = c_code([("f", endless())])
    assert "(too long to be written as one formula)" in code
    assert len(code) < 20_000


# --- refusals ------------------------------------------------------------------------------------


def test_wrong_kind_of_number():
    message = r"^real must be 'double' or 'float', not 'flaot'. Did you mean 'float'\?$"
    with pytest.raises(IeqlError, match=message):
        c_code(parsed("x"), real="flaot")


@pytest.mark.parametrize("formula", ["1e300*x", "x + 1e-60", "x**2 - 1e39"])
def test_a_constant_that_is_no_float(formula):
    c_code(parsed(formula))
    with pytest.raises(IeqlError, match=r"does not fit into a float; write it with real='double'"):
        c_code(parsed(formula), real="float")


def test_a_unit_of_ones_own_without_c():
    tanh = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    expression = Expression.parse("tanh(x)", ["x"], {"tanh": tanh})
    with pytest.raises(IeqlError, match=r"^The unit 'tanh' has no form in C; define it with one"):
        c_code([("f", expression)])


# --- what it computes ----------------------------------------------------------------------------


def agreement(expression, found, X):
    """NaN and infinities at the same points, and values to 1e-12 where rounding allows it."""
    expected = expression.evaluate(X)[:, 0]
    # Sums and products are the same digit by digit; libm and NumPy differ in the last one.
    error, safe = rounding(expression, X, 1e-15, ("cos", "sin", "exp", "log"))
    safe &= (error <= 1e-12 * np.abs(expected)) | ~np.isfinite(expected)
    np.testing.assert_allclose(found[safe], expected[safe], rtol=1e-12, atol=0)
    return int(safe.sum())


@needs_compiler
def test_formulas_at_edges_and_random_points(tmp_path):
    equations = parsed(*FORMULAS)
    library = compiled(c_code(equations), tmp_path)
    X = np.vstack([edges(2), random_points(2)])
    checked = sum(agreement(e, values(library, f"ieql_{name}", e, X), X) for name, e in equations)
    assert checked > 0.95 * len(X) * len(equations)


@needs_compiler
def test_undefined_is_nan_in_c_too(tmp_path):
    equations = parsed("log(x)", "sqrt(x)", "1/x", "x**1.7")
    library = compiled(c_code(equations), tmp_path)
    X = np.array([[0.0, 0], [-0.0, 0], [-1.0, 0]])
    found = [values(library, f"ieql_{name}", e, X) for name, e in equations]
    undefined = [[1, 1, 1], [0, 0, 1], [1, 1, 0], [1, 1, 1]]
    np.testing.assert_array_equal(np.isnan(found), np.array(undefined, dtype=bool))


@needs_compiler
def test_random_expressions(tmp_path):
    found = drawn(300)
    equations = [(f"f{k}", e) for k, e in enumerate(found)]
    library = compiled(c_code(equations), tmp_path)
    X = np.vstack([edges(3)[::20], random_points(3, 60)])
    checked = sum(agreement(e, values(library, f"ieql_{name}", e, X), X) for name, e in equations)
    assert checked > 0.8 * len(X) * len(found)


@needs_compiler
def test_floats(tmp_path):
    """To 1e-4, wherever the equation itself does not blow the rounding of its floats up to that."""
    X = np.vstack([edges(3), random_points(3)])
    X = X[np.all((X == 0) | ((np.abs(X) > 1e-30) & (np.abs(X) < 1e30)), axis=1)]
    X = X[:: len(X) // 150].astype(np.float32)
    equations = []
    for k, expression in enumerate(drawn(300)):
        with contextlib.suppress(IeqlError):  # a constant does not fit into a float
            c_code([("f", expression)], real="float")
            equations.append((f"f{k}", expression))
    library = compiled(c_code(equations, real="float"), tmp_path, "-Wdouble-promotion")
    checked = 0
    for name, e in equations:
        got = values(library, f"ieql_{name}", e, X, ctypes.c_float)
        exact = X.astype(np.float64)
        expected = e.evaluate(exact)[:, 0]
        error, safe = rounding(e, exact, 2.0**-23)
        safe &= within_float(e, exact) & (error <= 1e-4 * np.abs(expected))
        np.testing.assert_allclose(got[safe], expected[safe], rtol=1e-4, atol=0)
        checked += int(safe.sum())
    assert len(equations) > 200
    assert checked > 0.3 * len(equations) * len(X)


def within_float(expression, X):
    """Where no input, argument or value on the way overflows or underflows a float."""
    args = expression.arguments(X)
    parts = [z for a in args for z in a] + list(X.T) + [expression.evaluate(X)[:, 0]]
    parts += [n.unit(*a) for n, a in zip(expression.nodes, args, strict=True)]
    sources = [*X.T, *(n.unit(*a) for n, a in zip(expression.nodes, args, strict=True))]
    with np.errstate(all="ignore"):
        parts += [
            w * sources[i]
            for s in expression.sums
            for i, w in zip(s.sources, s.weights, strict=True)
        ]
        size = np.abs(parts)
        return np.all((size == 0) | ((size > 1e-30) & (size < 1e30)), axis=0)


@needs_compiler
def test_units_of_ones_own(tmp_path):
    softplus = Unit(
        "softplus",
        lambda z: np.log1p(np.exp(z)) * 1.5e0,
        lambda z: 1.5 / (1 + np.exp(-z)),
        c="(log1p(exp({0})) * 1.5e0)",
    )
    hypot = Unit(
        "length",
        np.hypot,
        (lambda a, b: a / np.hypot(a, b), lambda a, b: b / np.hypot(a, b)),
        domains=((0.1, 9), (0.1, 9)),
        c="hypot({0}, {1})",
    )
    custom = {"softplus": softplus, "length": hypot}
    # A column with the name of a function that the template calls does not hide it.
    e = Expression.parse("softplus(log1p) - length(log1p, 2*hypot)", ["log1p", "hypot"], custom)
    X = random_points(2)
    expected = e.evaluate(X)[:, 0]
    for real, rtol in (("double", 1e-12), ("float", 1e-4)):
        library = compiled(c_code([(real, e)], real=real), tmp_path)
        found = values(library, f"ieql_{real}", e, X, getattr(ctypes, f"c_{real}"))
        easy = (np.abs(expected) > 0.1) & (np.abs(X) < 80).all(axis=1)
        np.testing.assert_allclose(found[easy], expected[easy], rtol=rtol)


@needs_compiler
def test_constants_of_no_number(tmp_path):
    """What was never a fitted equation still compiles: constants that overflow, 1/0, log(-1)."""
    builder = [
        Node(UNITS["div"], (Sum(1.0), Sum(0.0))),
        Node(UNITS["log"], (Sum(-1.0),)),
        Node(UNITS["square"], (Sum(1e300),)),
        Node(UNITS["mul"], (Sum(1e300), Sum(-1e300))),
    ]
    outputs = [Sum(0.0, (k,), (1.0,)) for k in range(4)]
    outputs += [Sum(np.inf), Sum(-np.inf), Sum(np.nan)]
    expression = Expression((), tuple(builder), tuple(outputs))
    library = compiled(c_code([(f"f{k}", expression, k) for k in range(7)]), tmp_path)
    for k, expected in enumerate(expression.evaluate(np.empty((1, 0)))[0]):
        function = getattr(library, f"ieql_f{k}")
        function.restype = ctypes.c_double
        np.testing.assert_equal(function(), expected)


# --- names that bite -----------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("standard", ["-std=c99", "-std=gnu17"])
def test_hostile_names(tmp_path, standard):
    """Each as the only column, as the target, and all of them together, in one file."""
    each = [
        (name, Expression((name, "other"), (), (Sum(0, (0, 1), (2.0, 1)),))) for name in HOSTILE
    ]
    n = len(HOSTILE)
    weights = tuple(float(k + 1) for k in range(n))
    shared = (Node(UNITS["exp"], (Sum(0.0, (0,), (2.0,)),)),)
    together = Expression(tuple(HOSTILE), shared, (Sum(0.5, tuple(range(n + 1)), (*weights, 1.0)),))
    source = c_code([("torque", together), *each])
    library = compiled(source, tmp_path, standard)
    assert source.count("\ndouble ") == 2 * (n + 1)  # a declaration and a function each, no more

    functions = re.findall(r"^double (\w+)\((.*)\)$", source, re.MULTILINE)
    words = re.findall(r"double (\w+)", functions[0][1])
    assert len(set(words)) == n
    assert not RESERVED & {*words, *(name for name, _ in functions)}
    assert all(len(name) <= 31 for name, _ in functions)
    X = random_points(n, 5) / 1000
    function = getattr(library, functions[0][0])
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * n
    found = [function(*row) for row in X.tolist()]
    np.testing.assert_allclose(found, together.evaluate(X)[:, 0], rtol=1e-12)
    for name, _ in functions[1:]:
        function = getattr(library, name)
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * 2
        assert function(2.0, 0.5) == 4.5


@needs_compiler
def test_everything_in_math_h_may_be_a_column(tmp_path):
    """Whatever this system's header declares or defines, in its most generous mode."""
    header = [COMPILER, "-E", "-include", "math.h", "-x", "c", "-D_GNU_SOURCE", "/dev/null"]
    run = {"capture_output": True, "text": True, "check": True}
    macros = re.findall(r"#define (\w+)", subprocess.run([*header, "-dM"], **run).stdout)
    words = re.findall(r"[A-Za-z_]\w*", subprocess.run(header, **run).stdout)
    names = sorted({w for w in [*macros, *words] if not w.startswith("_")})
    assert {"exp", "isnan", "M_PI", "int"} <= set(names)
    expression = Expression(
        tuple(names), (), (Sum(0.0, tuple(range(len(names))), (1.0,) * len(names)),)
    )
    calls = parsed(*(f"{u}(x)" for u in ("cos", "sin", "exp", "log", "sqrt")))
    code = c_code([("f", expression), *calls])
    compiled(code, tmp_path, "-std=gnu17", "-D_GNU_SOURCE")


def test_a_comment_cannot_be_left():
    for name in HOSTILE:
        code = c_code([(name, Expression((name,), (), (Sum(0.0, (0,), (2.0,)),)))])
        comments = re.findall(r"/\*(.*?)\*/", code, re.DOTALL)
        assert len(comments) == 2
        assert "\\" not in code
        assert "??" not in code
        rest = re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)
        assert re.fullmatch(
            r"\s*#include <math.h>\s*double (\w+)\(double (\w+)\);\s*"
            r"double \1\(double \2\)\s*\{\s*return 2.0 \* \2;\s*\}\s*",
            rest,
            re.ASCII,
        )
