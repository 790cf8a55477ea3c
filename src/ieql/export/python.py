"""An equation as a Python module that needs NumPy alone."""

from __future__ import annotations

import builtins
import keyword
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ieql.export.functions import Dialect, Domain, Equation, Function, functions
from ieql.export.origin import Origin, generated, heading, wrapped
from ieql.units import Unit

__all__ = ["python_code", "write"]

RESERVED = frozenset([*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "np"])


def python_code(
    equations: Sequence[Equation | tuple[Any, ...]],
    *,
    name: str | None = None,
    domain: Domain | None = None,
    origin: Origin | None = None,
) -> str:
    """Text of a Python module with one function per equation.

    The functions take the inputs that the equation uses, in the order of the columns, as numbers
    or arrays, and give the value of `Expression.evaluate`: NaN where a unit is undefined, never a
    warning. Names of columns become identifiers; the docstring says which is which.

    Parameters
    ----------
    equations : sequence of Equation, or tuples (target, expression, output=0)
        What to write.
    name : str, optional
        Name of the function; of several, what goes before the names of the targets. By default
        it is the target's name.
    domain : mapping, optional
        Declared bounds of the inputs, for the docstring.
    origin : Origin, optional
        Data, errors and physical units, for the docstrings.

    Examples
    --------
    >>> from ieql.equations.expression import Expression
    >>> module = {}
    >>> exec(python_code([("T", Expression.parse("2*log(n) - 1", ["n"]))]), module)
    >>> module["T"]([1.0, -1.0])
    array([-1., nan])
    """
    dialect = Dialect(RESERVED, _number, _template)
    data = origin.data_text() if origin else ""
    parts = [f'"""{generated()}', "", *wrapped([data]), '"""'] if data else [f'"""{generated()}"""']
    parts += ["", "import numpy as np", ""]
    for function in functions([Equation(*e) for e in equations], dialect, name):
        parts += ["", *_function(function, domain, origin)]
    return "\n".join(parts)


def write(
    equations: Sequence[Equation],
    domain: Domain | None = None,
    name: str | None = None,
    origin: Origin | None = None,
) -> str:
    """The format 'python': `python_code` as the registry calls it."""
    return python_code(equations, name=name, domain=domain, origin=origin)


def _function(function: Function, domain: Domain | None, origin: Origin | None) -> list[str]:
    words = [word for _, word in function.arguments]
    # A bare input is returned as a copy: what the caller does to the result is not done to it.
    result = f"+{function.result}" if function.result in words else function.result
    return [
        f"def {function.name}({', '.join(words)}):",
        '    """',
        *(f"    {line}".rstrip() for line in map(_quoted, heading(function, domain, origin))),
        '    """',
        *(f"    {word} = np.asarray({word}, dtype=np.float64)" for word in words),
        '    with np.errstate(all="ignore"):',
        *(f"        {word} = {code}" for word, code in function.assignments),
        f"        return {result}",
        "",
    ]


def _quoted(line: str) -> str:
    return line.replace('"""', r"\"\"\"")


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return "np.nan" if math.isnan(value) else "-np.inf" if value < 0 else "np.inf"


def _template(unit: Unit) -> str:
    name = getattr(unit.value, "__name__", "")
    if (
        "python" not in unit.templates
        and isinstance(unit.value, np.ufunc)
        and getattr(np, name, None) is unit.value
    ):
        return f"np.{name}({', '.join(f'{{{i}}}' for i in range(unit.arity))})"
    return unit.template("python", "Python")
