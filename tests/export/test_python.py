"""Exported Python needs NumPy alone and computes what `Expression.evaluate` does."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from hypothesis import given, settings

from exported import HOSTILE, drawn, edges, random_points
from ieql.equations.expression import Expression, Node, Sum
from ieql.errors import IeqlError
from ieql.export.origin import generated
from ieql.export.python import RESERVED, python_code
from ieql.units import UNITS, Unit
from strategies import expressions


def loaded(code):
    """The module that is the text."""
    module = {}
    exec(compile(code, "<exported>", "exec"), module)
    return module


def exported(expression, **options):
    [function] = [
        v for v in loaded(python_code([("f", expression)], **options)).values() if callable(v)
    ]
    return function


def columns(expression, X):
    return [X[:, i] for i, n in enumerate(expression.names) if n in expression.inputs_used]


def test_a_module_to_read():
    expression = Expression.parse("0.5*`n [1/min]`*cos(2*load + 1) - 3/load", ["n [1/min]", "load"])
    domain = {"n [1/min]": (0.0, 6000.0)}
    assert python_code([("torque", expression)], domain=domain) == (
        f'"""{generated()}"""'
        '''

import numpy as np


def torque(n_1_min, load):
    """
    torque = 0.5*`n [1/min]`*cos(2*load + 1) - 3/load

    torque: torque
    n_1_min: column 'n [1/min]', from 0 to 6000
    load: column 'load'

    NaN where the equation is undefined.
    """
    n_1_min = np.asarray(n_1_min, dtype=np.float64)
    load = np.asarray(load, dtype=np.float64)
    with np.errstate(all="ignore"):
        u1 = np.cos(1.0 + 2.0 * load)
        u2 = n_1_min * u1
        u3 = 1.0 / np.where(load == 0, np.nan, load)
        return 0.5 * u2 - 3.0 * u3
'''
    )


def test_numbers_lists_and_arrays():
    f = exported(Expression.parse("log(x)*y + 1", ["x", "y"]))
    assert f(1, 5) == 1.0
    assert isinstance(f(1, 5), float)
    assert np.isnan(f(0, 5))
    np.testing.assert_array_equal(f([1.0, -1.0], 2), [1.0, np.nan])
    assert f(np.ones((3, 1)), np.ones(4)).shape == (3, 4)
    assert exported(Expression.parse("2.5", ["x"]))() == 2.5


def test_the_result_is_not_the_input():
    x = np.ones(3)
    result = exported(Expression.parse("x", ["x"]))(x)
    result[0] = 7.0
    assert x[0] == 1.0
    assert isinstance(exported(Expression.parse("x", ["x"]))(2), float)


def test_undefined_is_nan_and_never_a_warning():
    undefined = {"log(x)": 3, "sqrt(x)": 1, "1/x": 2, "x**1.7": 3}
    for formula, count in undefined.items():
        values = exported(Expression.parse(formula, ["x"]))([0.0, -0.0, -1.0])
        assert np.isnan(values).sum() == count


@settings(max_examples=200)
@given(expressions())
def test_small_expressions_digit_by_digit(expression):
    agreement(expression)


def test_larger_expressions_digit_by_digit():
    for expression in drawn(300):
        agreement(expression)


def agreement(expression):
    X = np.vstack([edges(3)[::20], random_points(3, 50)])
    found = exported(expression)(*columns(expression, X))
    expected = expression.evaluate(X)[:, 0]
    np.testing.assert_array_equal(np.broadcast_to(found, expected.shape), expected)


@settings(max_examples=50)
@given(expressions(n_outputs=2))
def test_several_outputs(expression):
    module = loaded(python_code([("a", expression, 0), ("b", expression, 1)], name="model"))
    X = random_points(3, 50)
    expected = expression.evaluate(X)
    for k, name in enumerate(("model_a", "model_b")):
        function = module[name]
        arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
        found = function(*(X[:, int(a[1:]) - 1] for a in arguments))
        np.testing.assert_array_equal(np.broadcast_to(found, len(X)), expected[:, k])


def test_units_of_ones_own():
    tanh = Unit("my_tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)  # a function of NumPy's
    soft = Unit(
        "soft",
        lambda z: np.log1p(np.exp(z)),
        lambda z: 1 / (1 + np.exp(-z)),
        python="np.log1p(np.exp({0}))",
    )
    other = Unit("other", lambda z: z**3, lambda z: 3 * z**2)
    custom = {u.name: u for u in (tanh, soft, other)}
    expression = Expression.parse("my_tanh(2*x)*soft(log1p)", ["x", "log1p"], custom)
    X = random_points(2)
    np.testing.assert_array_equal(exported(expression)(*X.T), expression.evaluate(X)[:, 0])
    with pytest.raises(IeqlError, match=r"^The unit 'other' has no form in Python; define it with"):
        python_code([("f", Expression.parse("other(x)", ["x"], custom))])


def test_constants_of_no_number():
    nodes = (
        Node(UNITS["div"], (Sum(1.0), Sum(0.0))),
        Node(UNITS["mul"], (Sum(1e300), Sum(-1e300))),
        Node(UNITS["identity"], (Sum(np.inf),)),
    )
    outputs = (*(Sum(0.0, (k,), (1.0,)) for k in range(3)), Sum(-np.inf), Sum(np.nan))
    expression = Expression((), nodes, outputs)
    module = loaded(python_code([(f"f{k}", expression, k) for k in range(5)]))
    found = [module[f"f{k}"]() for k in range(5)]
    np.testing.assert_array_equal(found, expression.evaluate(np.empty((1, 0)))[0])


# --- names that bite -----------------------------------------------------------------------------


def test_hostile_names():
    """Each as column and as target, and all together; the module defines functions, no more."""
    n = len(HOSTILE)
    each = [(name, Expression((name,), (), (Sum(0, (0,), (2.0,)),))) for name in HOSTILE]
    shared = (Node(UNITS["exp"], (Sum(0.0, (0,), (2.0,)),)),)
    weights = (*(float(k + 1) for k in range(n)), 1.0)
    together = Expression(tuple(HOSTILE), shared, (Sum(0.5, tuple(range(n + 1)), weights),))
    code = python_code([("all of them", together), *each])
    docstring, imported, *functions = ast.parse(code).body
    assert isinstance(docstring, ast.Expr)
    assert isinstance(imported, ast.Import)
    assert all(isinstance(f, ast.FunctionDef) for f in functions)
    names = [f.name for f in functions]
    assert len(set(names)) == n + 1
    assert not RESERVED & set(names)
    assert not RESERVED & {a.arg for a in functions[0].args.args}

    module = loaded(code)
    X = random_points(n, 5) / 1000
    np.testing.assert_array_equal(module[names[0]](*X.T), together.evaluate(X)[:, 0])
    assert [module[name](0.25) for name in names[1:]] == [0.5] * n


def test_a_docstring_cannot_be_left():
    for name in HOSTILE:
        code = python_code([("f", Expression((name,), (), (Sum(0.0, (0,), (2.0,)),)))])
        function = ast.parse(code).body[-1]
        docstring, convert, compute = function.body
        assert isinstance(docstring, ast.Expr)
        assert "column" in ast.get_docstring(function)
        assert isinstance(convert, ast.Assign)
        assert isinstance(compute, ast.With)


@pytest.mark.parametrize("name", ["", "class", "print", "np", "a b", "_f", "f\n", "f():pass"])
def test_a_name_that_no_function_can_have(name):
    with pytest.raises(IeqlError, match="A function cannot be called"):
        python_code([("f", Expression.parse("x", ["x"]))], name=name)
