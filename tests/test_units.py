"""One table, many columns: value, derivative, SymPy, LaTeX, C and intervals say the same."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import pickle
import shutil
import subprocess

import numpy as np
import pytest
import sympy

from ieql.errors import IeqlError
from ieql.units import REALS, UNITS, Unit, unit

ROWS = list(UNITS.values())
PLAIN = [-3.0, -1.0, -0.5, 0.3, 1.0, 2.0, 7.5]
EDGES = [0.0, -0.0, 5e-324, -5e-324, 1e-300, -1e-300, 1e300, -1e300, 709.5, 800.0, math.pi]
GRID = PLAIN + EDGES


def name_of(row):
    return row.name


def points(row, grid=GRID):
    """All combinations of the grid's values, one array per argument."""
    return list(np.array(list(itertools.product(grid, repeat=row.arity))).T)


def real(value):
    """A SymPy number as float; NaN where it is not a real number, infinite where too large."""
    value = sympy.sympify(value)
    if value.has(sympy.nan, sympy.zoo, sympy.DiracDelta) or not value.is_real:
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def values_of(form, args):
    """Values of a SymPy form, a function of SymPy numbers, at the exact numbers in `args`."""
    values = []
    for point in zip(*args, strict=True):
        try:
            values.append(real(form(*(sympy.Float(float(z), 30) for z in point))))
        except ZeroDivisionError:  # SymPy's answer to 0.0 in a denominator
            values.append(math.nan)
    return np.array(values)


every_unit = pytest.mark.parametrize("row", ROWS, ids=name_of)


# --- the columns agree -------------------------------------------------------------------------


def test_the_units_and_their_singular_arguments():
    assert {row.name: (row.arity, row.singular) for row in ROWS} == {
        "identity": (1, ()),
        "cos": (1, ()),
        "sin": (1, ()),
        "exp": (1, ()),
        "log": (1, (0,)),
        "sqrt": (1, (0,)),
        "square": (1, ()),
        "mul": (2, ()),
        "div": (2, (1,)),
        "tanh": (1, ()),
        "atan": (1, ()),
        "abs": (1, ()),
        "min": (2, ()),
        "max": (2, ()),
        "logistic": (1, ()),
        "gauss": (1, ()),
        "step": (1, ()),
        "power": (2, (0,)),
        "signed_power": (2, (1,)),
    }
    assert all(row.cost == 1.0 and not row.is_custom for row in ROWS)
    assert sorted(row.code for row in ROWS) == list(range(19))


def test_values_and_derivatives_at_hand():
    assert UNITS["mul"](np.array([2.0]), np.array([3.0])) == 6.0
    assert UNITS["div"](np.array([3.0]), np.array([-2.0])) == -1.5
    assert UNITS["div"].derivative(1, np.array([3.0]), np.array([2.0])) == -0.75
    assert UNITS["sqrt"](np.array([9.0])) == 3.0


@every_unit
def test_undefined_is_nan_and_never_a_warning(row):
    args = points(row, [*GRID, math.inf, -math.inf, math.nan])
    value = row(*args)  # warnings are errors here
    for i in range(row.arity):
        row.derivative(i, *args)
    undefined = np.any(np.isnan(args), axis=0)
    if row.name == "log":
        undefined |= args[0] <= 0
    if row.name == "sqrt":
        undefined |= args[0] < 0
    if row.name == "div":
        undefined |= args[1] == 0
    if row.name == "power":
        undefined |= args[0] <= 0
    if row.name == "signed_power":
        undefined |= args[1] <= 0
    assert np.all(np.isnan(value[undefined]))
    finite = np.all(np.isfinite(args), axis=0)
    assert not np.any(np.isnan(value[finite & ~undefined]))


def is_sharp_at(row, args):
    """Where a unit has a kink, a jump or a vertical tangent: its derivative is a convention."""
    if row.selects:
        return args[0] == args[1]
    return (args[0] == 0) & (row.sharp or row.raises)


@every_unit
def test_value_and_sympy_form_agree(row):
    # SymPy computes 1e300 to the power of 800 to the last digit, which takes a while.
    args = points(row, [*PLAIN, 0.0, 1e-5, -1e-5]) if row.raises else points(row)
    # Where the value is NaN, SymPy must not have a real number either.
    np.testing.assert_allclose(row(*args), values_of(row.to_sympy, args), rtol=1e-14, atol=0)


@every_unit
def test_derivatives_and_sympy_form_agree(row):
    symbols = sympy.symbols("a b", real=True)[: row.arity]
    small, large = (1e-5, 1e3) if row.raises else (1e-200, 1e200)
    args = points(row, [-3.0, -0.5, 0.0, small, 0.3, 7.5, large])
    for i in range(row.arity):
        slope = sympy.Lambda(symbols, sympy.diff(row.to_sympy(*symbols), symbols[i]))
        expected = values_of(slope, args)
        ours = row.derivative(i, *args)
        inside = ~np.isnan(row(*args)) & np.isfinite(ours) & ~is_sharp_at(row, args)
        np.testing.assert_allclose(ours[inside], expected[inside], rtol=1e-13, atol=0)
        assert not np.any(np.isfinite(expected[np.isinf(ours)]))


@every_unit
def test_derivatives_and_finite_differences_agree(row):
    args = points(row, PLAIN)
    inside = ~np.isnan(row(*args))
    for i in range(row.arity):
        step = 1e-6
        ahead = row(*(a + step * (j == i) for j, a in enumerate(args)))
        behind = row(*(a - step * (j == i) for j, a in enumerate(args)))
        numeric = (ahead - behind) / (2 * step)
        ours = row.derivative(i, *args)
        smooth = inside & ~is_sharp_at(row, args)
        np.testing.assert_allclose(ours[smooth], numeric[smooth], rtol=1e-6, atol=1e-6)


def test_the_derivative_of_a_quotient_survives_small_numbers():
    tiny = np.array([1e-200])
    assert UNITS["div"].derivative(1, np.array([0.0]), tiny) == 0.0
    assert UNITS["div"].derivative(1, np.array([1e-300]), tiny) == pytest.approx(-1e100)


@every_unit
def test_the_python_template_computes_the_same(row):
    args = points(row, [*GRID, math.inf, -math.inf, math.nan])
    with np.errstate(all="ignore"):
        found = eval(
            row.templates["python"].format("a", "b"), {"np": np, "a": args[0], "b": args[-1]}
        )
    np.testing.assert_array_equal(found, row(*args))


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_c_templates_compute_the_same(tmp_path):
    """All templates in one program, run on the grid with edges, infinities and NaN."""
    grid = [*GRID, math.inf, -math.inf, math.nan]
    numbers = [
        {math.inf: "INFINITY", -math.inf: "-INFINITY"}.get(z, "NAN" if z != z else z.hex())
        for z in grid
    ]
    lines = ["#include <math.h>", "#include <stdio.h>"]
    lines.append(f"static const double grid[] = {{{', '.join(numbers)}}};")
    for row in ROWS:
        unused = "(void)b; " if row.arity == 1 else ""
        lines.append(f"static double unit_{row.name}(double a, double b)")
        lines.append(f"{{ {unused}return {row.templates['c'].format('a', 'b')}; }}")
    lines.append("int main(void) {")
    for row in ROWS:
        inner = len(grid) if row.arity == 2 else 1
        lines.append(f"for (int i = 0; i < {len(grid)}; i++) for (int j = 0; j < {inner}; j++)")
        lines.append(f'printf("%a\\n", unit_{row.name}(grid[i], grid[j]));')
    lines.append("return 0; }")
    source, program = tmp_path / "units.c", tmp_path / "units"
    source.write_text("\n".join(lines))
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", program, source, "-lm"]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr
    output = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    results = iter([float.fromhex(line) for line in output.split()])
    for row in ROWS:
        ours = row(*points(row, grid))
        theirs = np.array(list(itertools.islice(results, len(ours))))
        np.testing.assert_allclose(theirs, ours, rtol=1e-14, atol=0, err_msg=row.name)
    assert next(results, None) is None


@every_unit
def test_the_latex_template_holds_all_arguments(row):
    names = ["first", "second"][: row.arity]
    text = row.to_latex(*names)
    assert all(name in text for name in names)
    assert text.count("{") == text.count("}")
    assert text.count(r"\left(") == text.count(r"\right)")


# --- looking up, copying ----------------------------------------------------------------------


def test_a_unit_is_found_by_its_name():
    assert unit("cos") is UNITS["cos"]
    tanh = Unit("tanh", np.tanh, tanh_slope)
    assert unit("tanh", {"tanh": tanh}) is tanh
    with pytest.raises(IeqlError, match=r"There is no unit 'sinus'; .* Did you mean 'sin'\?$"):
        unit("sinus")


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        UNITS["cos"] = UNITS["sin"]
    with pytest.raises(AttributeError):
        UNITS["cos"].cost = 2.0


@every_unit
def test_built_in_units_stay_the_same_object(row):
    assert copy.deepcopy(row) is row
    assert copy.copy(row) is row
    assert pickle.loads(pickle.dumps(row)) is row


# --- user-defined units ------------------------------------------------------------------------


def tanh_slope(z):
    return 1 - np.tanh(z) ** 2


def test_a_user_defined_unit():
    tanh = Unit("tanh", np.tanh, tanh_slope, cost=2)
    assert tanh.is_custom
    assert (tanh.arity, tanh.singular, tanh.domains, tanh.cost) == (1, (), (REALS,), 2)
    assert tanh(np.array([0.5])) == np.tanh(0.5)
    assert tanh.derivative(0, np.array([0.0])) == 1.0
    assert str(tanh.to_sympy(sympy.Symbol("x"))) == "tanh(x)"
    assert tanh.to_latex("x") == r"\operatorname{tanh}\left(x\right)"
    assert tanh.to_interval((0.0, 1.0)) == REALS


def test_a_user_defined_unit_with_every_column():
    hypot = Unit(
        "my_hypot",
        np.hypot,
        (lambda a, b: a / np.hypot(a, b), lambda a, b: b / np.hypot(a, b)),
        domains=((0, 10), (0, math.inf)),
        sympy=lambda a, b: sympy.sqrt(a**2 + b**2),
        latex=r"\sqrt{{{0}^2 + {1}^2}}",
        c="hypot({0}, {1})",
        interval=lambda x, y: (math.hypot(x[0], y[0]), math.hypot(x[1], y[1])),
    )
    assert (hypot.arity, hypot.singular) == (2, (0, 1))
    assert hypot.to_sympy(sympy.Integer(3), sympy.Integer(4)) == 5
    assert hypot.to_latex("x", "y") == r"\sqrt{x^2 + y^2}"
    assert hypot.to_interval((3.0, 6.0), (4.0, 8.0)) == (5.0, 10.0)
    assert hypot.to_interval((3.0, 11.0), (4.0, 8.0)) is None
    # The bound of a domain does not belong to it: log10 has the domain (0, inf), too.
    assert hypot.to_interval((0.0, 6.0), (4.0, 8.0)) is None
    assert hypot.to_interval((3.0, 6.0), (4.0, math.inf)) == (5.0, math.inf)


def test_forms_of_exports_are_a_mapping():
    tanh = Unit(
        "tanh",
        np.tanh,
        tanh_slope,
        c="tanh({0})",
        templates={"matlab": "tanh({0})", "c": "old({0})"},
    )
    assert tanh.templates == {"matlab": "tanh({0})", "c": "tanh({0})"}
    assert tanh.template("matlab") == "tanh({0})"
    with pytest.raises(TypeError):
        tanh.templates["c"] = "other({0})"
    again = dataclasses.replace(tanh, cost=3, python="np.tanh({0})")
    assert again.templates == {**tanh.templates, "python": "np.tanh({0})"}
    assert (again.cost, again.value) == (3, np.tanh)


@pytest.mark.parametrize(
    ("dialect", "language", "sentence"),
    [
        (
            "matlab",
            None,
            "The unit 'mine' has no form in matlab; define it with one, such as "
            "Unit('mine', ..., templates={'matlab': 'mine({0}, {1})'}).",
        ),
        (
            "c",
            "C",
            "The unit 'mine' has no form in C; define it with one, such as "
            "Unit('mine', ..., c='mine({0}, {1})').",
        ),
    ],
)
def test_a_form_that_is_missing_is_asked_for_in_a_sentence(dialect, language, sentence):
    mine = Unit("mine", np.multiply, (lambda a, b: +b, lambda a, b: +a))
    with pytest.raises(IeqlError) as refused:
        mine.template(dialect, language)
    assert str(refused.value) == sentence


def test_traits_of_a_users_unit_are_believed_after_a_look():
    cube = Unit("cube", lambda z: z**3, lambda z: 3 * z**2, powers=(3,))
    wave = Unit("wave", lambda z: np.sin(z) ** 2, lambda z: np.sin(2 * z), period=math.pi)
    root = Unit(
        "root", lambda z: np.sqrt(z) + 1, lambda z: 0.5 / np.sqrt(z), ((0, math.inf),), closed=True
    )
    assert (cube.powers, wave.period, root.closed) == ((3,), math.pi, True)
    assert root.to_interval((0.0, 1.0)) == REALS
    assert root.to_interval((-0.1, 1.0)) is None


def test_a_user_defined_unit_pickles():
    tanh = Unit("tanh", np.tanh, tanh_slope, cost=2)
    again = pickle.loads(pickle.dumps(tanh))
    assert (again.name, again.value, again.cost) == ("tanh", np.tanh, 2)
    assert again.is_custom
    assert again is tanh  # where the unit itself still is, a copy that comes back is the unit


def test_units_that_are_not_copies_stay_apart():
    one, two = (Unit("tanh", np.tanh, tanh_slope) for _ in range(2))
    packed = pickle.dumps(one)
    assert pickle.loads(pickle.dumps(two)) is two
    del one
    assert pickle.loads(packed) is not two
    assert dataclasses.replace(two, cost=5).cost == 5
