"""Fixed-point C computes what the equation says, within the error that it states, in integers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from compiling import loop, misra, needs_compiler, needs_cppcheck, ran
from exported import drawn
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.export.fixed_c import fixed_c_code
from ieql.export.fixed_point import UNITS
from ieql.export.functions import Equation
from ieql.units import Unit

SANITIZED = ("-fsanitize=undefined,signed-integer-overflow", "-fno-sanitize-recover=all")
WIDE = {"n": (0.01, 6000.0), "load": (0.1, 1.0)}
CASES = {
    "polynomial": ("3*load**2 + 5*load*n - 2.5", {"n": (0.0, 6.0), "load": (0.1, 1.0)}),
    "exponential": ("2.5*exp(-0.3*n) + exp(load)", {"n": (0.0, 90.0), "load": (-3.0, 3.0)}),
    "logarithm": ("log(n)*load - 0.7*log(load)", WIDE),
    "waves": ("cos(3*n + 1)*sin(load) + 0.1*n", {"n": (-100.0, 100.0), "load": (-3.0, 3.0)}),
    "quotients": ("n/(load + 0.5) + 1/(n + 2)", {"n": (-1.0, 6000.0), "load": (0.1, 1.0)}),
    "roots": ("sqrt(n)*load + sqrt(load - 0.1)", {"n": (0.0, 6000.0), "load": (0.1, 1.0)}),
    "power": ("n**1.7 - 0.3*load**-0.2", {"n": (1.0, 60.0), "load": (0.1, 1.0)}),
    "large": ("1e6*n**2 + 1e-6*load", {"n": (0.0, 6000.0), "load": (0.1, 1.0)}),
    "tiny": ("1e-6*n*load - 1e-9", {"n": (0.0, 1e-6), "load": (0.1, 1.0)}),
}
A_MILLION = ("waves", "power", "quotients")
"""The cases that are tried at a million points, the others at fewer."""


def equation(case):
    text, domain = CASES[case]
    return Equation(case, Expression.parse(text, ["n", "load"])), domain


class Stated:
    """What the comment of a file says: places of inputs and output, and the error."""

    def __init__(self, code):
        words = re.sub(r"\n \*\s+", " ", code)
        found = re.findall(r"(\w+): the integer closest to its value times 2\^(-?\d+)", words)
        self.inputs = {name: int(places) for name, places in found}
        self.places = int(re.search(r"the value of \w+ times 2\^(-?\d+)", words)[1])
        self.error = float(re.search(r"from the equation by at most (\S+)", words)[1])

    def integers(self, X, names):
        columns = [names.index(name) for name in self.inputs]
        return np.rint(np.ldexp(X[:, columns], list(self.inputs.values())))


def points(expression, domain, n):
    """Random points of the domain, its corners, and points close to its ends."""
    rng = np.random.default_rng(3)
    low, high = np.array([domain[name] for name in expression.names]).T
    share = rng.random((n, len(low)))
    share[: n // 4] = 10.0 ** rng.uniform(-9, 0, (n // 4, len(low)))
    share[n // 8 : n // 4] = 1.0 - share[n // 8 : n // 4]
    share[:64] = rng.integers(0, 2, (64, len(low)))
    return np.clip(low + (high - low) * share, low, high)


def differences(equation, domain, n, folder, *options):
    """How far the compiled function is from the equation at most, and what it states."""
    code = fixed_c_code([equation], domain=domain)
    stated = Stated(code)
    expression = equation.expression
    name = f"ieql_fixed_{equation.target}"
    function = loop(code, name, len(stated.inputs), "int32_t", folder, *options)
    X = points(expression, domain, n)
    found = np.ldexp(function(stated.integers(X, expression.names)).astype(float), -stated.places)
    return np.abs(found - expression.evaluate(X)[:, 0]).max(), stated.error


@needs_compiler
@pytest.mark.parametrize("case", CASES)
def test_the_error_is_within_its_bound(tmp_path, case):
    one, domain = equation(case)
    n = 1_000_000 if case in A_MILLION else 50_000
    worst, stated = differences(one, domain, n, tmp_path)
    assert worst <= stated
    assert worst > 0.02 * stated  # the bound is no empty promise


@needs_compiler
def test_nothing_overflows_whatever_is_put_in(tmp_path):
    """The sanitizer stops the program at an overflow; all integers are tried, far outside too."""
    rng = np.random.default_rng(0)
    anything = rng.integers(-(2**31), 2**31, (2000, 2))
    anything[:4] = [[-(2**31), 2**31 - 1], [2**31 - 1, -(2**31)], [0, 0], [-1, 1]]
    rows = ",\n".join(f"{{{a}, {b}}}" for a, b in anything.tolist()).replace(
        "-2147483648", "-2147483647 - 1"
    )
    named = [equation(case)[0] for case in CASES]
    codes = [fixed_c_code([e], domain=equation(e.target)[1]) for e in named]
    for k, code in enumerate(codes):  # the small functions have the same names in all files
        codes[k] = re.sub(r"\bieql_(round|clamp|sqrt|log|exp|sin)\b", rf"ieql_\1_{k}", code)
    calls = "".join(
        f"        (void)ieql_fixed_{e.target}(rows[i][0], rows[i][1]);\n" for e in named
    )
    main = (
        f"\nint main(void)\n{{\n    static const int32_t rows[{len(anything)}][2] = {{\n{rows}}};\n"
        f"    for (int i = 0; i < {len(anything)}; i++)\n    {{\n{calls}    }}\n    return 0;\n}}\n"
    )
    assert ran(tmp_path, "\n".join(codes) + main, options=SANITIZED) == 0


@needs_compiler
@pytest.mark.parametrize("n", [(0.3, 0.3), (1e6 + 0.3, 1e6 + 0.3), (1e9, 1e9 + 0.2)])
def test_an_input_that_never_changes(tmp_path, n):
    """Its domain may be narrower than an integer: no integer lies inside then."""
    one = Equation("f", Expression.parse("n*load + 1", ["n", "load"]))
    worst, stated = differences(one, {"n": n, "load": (0.1, 1.0)}, 2000, tmp_path)
    assert worst <= stated


@needs_compiler
def test_random_equations(tmp_path):
    """Whatever is not refused keeps its promise; and not everything is refused."""
    domain = {"x1": (0.5, 2.0), "x2": (-1.0, 1.0), "x3": (3.0, 8.0)}
    refusals = []
    known = [e for e in drawn(2000) if all(node.unit in UNITS for node in e.nodes)][:40]
    for k, expression in enumerate(known):
        try:
            worst, stated = differences(Equation(f"f{k}", expression), domain, 2000, tmp_path)
        except IeqlError as error:
            refusals.append(str(error))
            continue
        assert worst <= stated
    assert all(re.match(r"Fixed-point C (needs|is not|cannot)", said) for said in refusals)
    assert len(known) - len(refusals) >= 5


@needs_compiler
@pytest.mark.parametrize("case", ["waves", "roots"])
def test_the_test_program_passes_and_finds_a_mistake(tmp_path, case):
    one, domain = equation(case)
    code = fixed_c_code([one], domain=domain)
    program = fixed_c_code([one], domain=domain, part="test")
    assert ran(tmp_path, code, program, options=SANITIZED) == 0
    wrong = re.sub(r"(return z\d+);", r"\1 + 60000;", code)
    assert ran(tmp_path, wrong, program) > 0


@needs_compiler
def test_the_header_tells_the_formats(tmp_path):
    one, domain = equation("polynomial")
    stated = Stated(fixed_c_code([one], domain=domain))
    header = fixed_c_code([one], domain=domain, part="header")
    (tmp_path / "own.h").write_text(header, encoding="utf-8")
    user = (
        '#include "own.h"\n#include "own.h"\nint main(void)\n{\n'
        "    return (IEQL_FIXED_POLYNOMIAL_PLACES * 2) + IEQL_FIXED_POLYNOMIAL_N_PLACES;\n}\n"
    )
    assert ran(tmp_path, user) == 2 * stated.places + stated.inputs["n"]


@needs_cppcheck
@pytest.mark.parametrize("part", ["code", "test"])
def test_misra(tmp_path, part):
    every = "cos(n)*exp(-load)/n + sqrt(n)*log(n) + 2*load**2"
    one = Equation("f", Expression.parse(every, ["n", "load"]))
    domain = {"n": (1.0, 6.0), "load": (0.1, 1.0)}
    assert misra(fixed_c_code([one], domain=domain, part=part), tmp_path) == set()


def test_a_constant_and_several_outputs(tmp_path):
    two = [equation("polynomial")[0], Equation("c", Expression.parse("2.5", ["n", "load"]))]
    code = fixed_c_code(two, domain=CASES["polynomial"][1], name="motor")
    assert "int32_t motor_polynomial(int32_t n, int32_t load)\n{" in code
    assert "int32_t motor_c(void)\n{\n    return 671088640;\n}" in code


@pytest.mark.parametrize(
    ("text", "domain", "message"),
    [
        ("1/(n - 3)", {"n": (0, 6)}, "is not safe in the whole domain"),
        ("log(n)", {"n": (1e-9, 1e6)}, "comes so close to zero that rounding reaches it"),
        ("exp(30*cos(1e8*n))", {"n": (0, 1)}, "rounding errors grow beyond its values"),
        ("cos(n)", {"n": (0, 1e12)}, r"cannot compute a sine or cosine of 1e\+12"),
        ("n", {"load": (0, 1)}, r"needs the domain of the input 'n'"),
    ],
)
def test_what_cannot_be_done_is_refused(text, domain, message):
    one = Equation("y", Expression.parse(text, ["n", "load"]))
    with pytest.raises(IeqlError, match=message):
        fixed_c_code([one], domain=domain)


def test_a_unit_of_ones_own_has_no_integers():
    tanh = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2, c="tanh({0})")
    one = Equation("y", Expression.parse("tanh(n)", ["n"], {"tanh": tanh}))
    with pytest.raises(IeqlError, match=r"^Fixed-point C has no integers for the unit 'tanh';"):
        fixed_c_code([one], domain={"n": (0, 1)})
