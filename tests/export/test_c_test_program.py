"""Guards of the exported C, its test program, its header, and what MISRA's checker says of it."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from compiling import compiled, misra, needs_compiler, needs_cppcheck, ran
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.export.c import c_code
from ieql.export.origin import Origin

NAMES = ("n", "load")
DOMAIN = {"n": (0.0, 6.0), "load": (0.1, 1.0)}
MIX = "0.5*n*cos(2*load + 1) - 3/load + sqrt(n)*log(load + 1) + exp(-n)"
FORMULAS = (MIX, "2.5", "n - 1e9*load", "n**1.7/(load + 0.5)**2", "-n")


def equations(*formulas):
    return [(f"f{k}", Expression.parse(text, NAMES)) for k, text in enumerate(formulas)]


def call(library, name, real, *arguments):
    function = getattr(library, name)
    function.restype, function.argtypes = real, [real] * len(arguments)
    return function(*arguments)


@needs_compiler
@pytest.mark.parametrize("real", ["double", "float"])
def test_inputs_outside_are_taken_as_the_ends_of_the_domain(tmp_path, real):
    options = {"domain": DOMAIN, "guard": "clamp", "real": real}
    library = compiled(c_code(equations(MIX), **options), tmp_path)
    kind = getattr(ctypes, f"c_{real}")
    expression = equations(MIX)[0][1]
    for given, inside in [((-1, 0.5), (0, 0.5)), ((9, 7), (6, 1)), ((1e30, -np.inf), (6, 0.1))]:
        expected = expression.evaluate(np.array([inside], dtype=float))[0, 0]
        assert call(library, "ieql_f0", kind, *given) == pytest.approx(expected, rel=1e-5)
    assert np.isnan(call(library, "ieql_f0", kind, np.nan, 0.5))


@needs_compiler
def test_a_check_gives_nan_outside_and_the_value_at_the_very_ends(tmp_path):
    code = c_code(equations(MIX), domain=DOMAIN, guard="check")
    library = compiled(code, tmp_path)
    expression = equations(MIX)[0][1]
    for point in [(0.0, 0.1), (6.0, 1.0), (3.0, 0.5)]:
        expected = expression.evaluate(np.array([point]))[0, 0]
        assert call(library, "ieql_f0", ctypes.c_double, *point) == pytest.approx(expected, 1e-12)
    for point in [(-1e-9, 0.5), (6.1, 0.5), (3.0, 1.1), (np.nan, 0.5), (3.0, np.inf)]:
        assert np.isnan(call(library, "ieql_f0", ctypes.c_double, *point))


def test_proved_bounds_stand_in_the_comment():
    code = c_code(equations("load*n + 1"), domain=DOMAIN, guard="clamp")
    assert "value lies between 0.999" in code
    assert "and\n *     7.0000" in code or "and 7.0000" in code
    assert "Proved" not in c_code(equations("load*n + 1"), domain=DOMAIN)
    unsafe = c_code(equations("1/(n - 3)"), domain=DOMAIN, guard="check")
    assert "It is not safe" in unsafe


def test_a_guard_needs_the_domain():
    with pytest.raises(IeqlError, match=r"^guard='clamp' needs the domain of the input 'load'"):
        c_code(equations(MIX), domain={"n": (0, 1)}, guard="clamp")
    with pytest.raises(IeqlError, match=r"^The test program needs the domain of the input 'n'"):
        c_code(equations("n"), part="test")


@needs_compiler
@pytest.mark.parametrize(
    ("real", "guard"), [("double", "none"), ("float", "clamp"), ("double", "check")]
)
def test_the_test_program_passes_and_finds_a_wrong_constant(tmp_path, real, guard):
    options = {"domain": DOMAIN, "real": real, "guard": guard}
    code = c_code(equations(*FORMULAS), **options)
    program = c_code(equations(*FORMULAS), part="test", **options)
    assert ran(tmp_path, code, program) == 0
    number = "0.5f * " if real == "float" else "0.5 * "
    assert number in code
    assert ran(tmp_path, code.replace(number, number.replace("0.5", "0.5001"), 1), program) > 0


@needs_compiler
def test_the_test_program_finds_a_missing_guard(tmp_path):
    for guard in ("clamp", "check"):
        program = c_code(equations(MIX), part="test", guard=guard, domain=DOMAIN)
        assert ran(tmp_path, c_code(equations(MIX), domain=DOMAIN), program) > 0


@needs_compiler
def test_named_constants_are_parameters_that_can_be_changed(tmp_path):
    options = {"domain": DOMAIN, "constants": "named"}
    code = c_code(equations(*FORMULAS), **options)
    assert ran(tmp_path, code, c_code(equations(*FORMULAS), part="test", domain=DOMAIN)) == 0
    assert "const volatile double ieql_f0_c1 = 2.0;" in code
    moved = code.replace("ieql_f0_c1 = 2.0", "ieql_f0_c1 = 2.5")
    library = compiled(moved, tmp_path)
    expected = Expression.parse(MIX.replace("2*load", "2.5*load"), NAMES)
    found = call(library, "ieql_f0", ctypes.c_double, 3.0, 0.5)
    assert found == pytest.approx(expected.evaluate(np.array([[3.0, 0.5]]))[0, 0], 1e-12)


@needs_compiler
def test_the_header_declares_what_the_code_defines(tmp_path):
    options = {"domain": DOMAIN, "guard": "check", "constants": "named"}
    header = c_code(equations(*FORMULAS), part="header", **options)
    (tmp_path / "own.h").write_text(header, encoding="utf-8")
    code = c_code(equations(*FORMULAS), **options)
    user = '#include "own.h"\n#include "own.h"\nint main(void)\n{\n    return (int)ieql_f1();\n}\n'
    assert ran(tmp_path, code, user) == 2


@needs_cppcheck
@pytest.mark.parametrize(
    ("guard", "part"), [("clamp", "code"), ("check", "code"), ("check", "test")]
)
def test_misra(tmp_path, guard, part):
    code = c_code(equations(*FORMULAS), domain=DOMAIN, guard=guard, part=part)
    assert misra(code, tmp_path) == set()


@needs_cppcheck
def test_misra_with_named_constants(tmp_path):
    """The one deviation: parameters are seen from outside (8.7), so that a tool finds them."""
    code = c_code(equations(*FORMULAS), domain=DOMAIN, constants="named")
    assert misra(code, tmp_path) == {"misra-c2012-8.7"}


@needs_cppcheck
def test_the_checker_does_see_what_is_wrong(tmp_path):
    code = c_code(equations(MIX), domain=DOMAIN)
    assert misra(code.replace("(0.5 * u2)", "0.5 * u2"), tmp_path) == {"misra-c2012-12.1"}


def test_units_stand_in_the_comment():
    origin = Origin("", {"f0": 0.25}, {"f0": "N*m", "n": "1/min"})
    code = c_code(equations("2*n"), domain=DOMAIN, origin=origin)
    assert " * error (RMSE): 0.25 N*m\n" in code
    assert " * n: column 'n' in 1/min, from 0 to 6\n" in code
