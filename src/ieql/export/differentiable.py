"""An equation as a function of JAX or PyTorch, through which they differentiate."""

from __future__ import annotations

import builtins
import keyword
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ieql.export.functions import Dialect, Domain, Equation, Function, functions
from ieql.export.origin import Origin, heading, opening
from ieql.export.translation import Language, spelled, template

__all__ = ["write_jax", "write_torch"]

PYTHON = frozenset([*keyword.kwlist, *keyword.softkwlist, *dir(builtins)])
SAME = """
    acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor hypot log log10 log1p log2 sin
    sinh sqrt tan tanh trunc isnan isfinite copysign
"""
NUMBER = re.compile(r'-?(?:[\d.]+(?:e[+-]?\d+)?|float\("\w+"\))')
JAX_TEXT = """\
Functions of JAX, which computes with 32 bits unless it is told otherwise; for all digits:
jax.config.update("jax_enable_x64", True)
"""
TORCH_TEXT = """\
Functions of PyTorch. Tensors keep their type and place; plain numbers are taken with 64 bits.
"""


@dataclass(frozen=True)
class _Library:
    """What tells the two libraries apart."""

    about: str
    imports: str
    module: str
    convert: Callable[[str], str]
    language: Language


def write_jax(
    equations: Sequence[Equation | tuple[Any, ...]],
    domain: Domain | None = None,
    name: str | None = None,
    origin: Origin | None = None,
) -> str:
    """Text of a Python module with one function of JAX per equation.

    The functions take the inputs that the equation uses, in the order of the columns, and work
    under ``jit``, ``grad`` and ``vmap``. Values are those of `Expression.evaluate`, NaN where a
    unit is undefined, if JAX is told to compute with 64 bits.

    Parameters
    ----------
    equations : sequence of Equation, or tuples (target, expression, output=0)
        What to write.
    domain : mapping, optional
        Declared bounds of the inputs, for the comments.
    name : str, optional
        Name of the function; of several, what goes before the names of the targets. By default
        it is the target's name.
    origin : Origin, optional
        Data, errors and physical units, for the comments.
    """
    return _module(_JAX, [Equation(*e) for e in equations], domain, name, origin)


def write_torch(
    equations: Sequence[Equation | tuple[Any, ...]],
    domain: Domain | None = None,
    name: str | None = None,
    origin: Origin | None = None,
) -> str:
    """Text of a Python module with one function of PyTorch per equation.

    The functions take tensors, or numbers, for the inputs that the equation uses, in the order of
    the columns; gradients flow back through them. Values are those of `Expression.evaluate`, NaN
    where a unit is undefined. Parameters are those of `write_jax`.
    """
    return _module(_TORCH, [Equation(*e) for e in equations], domain, name, origin)


def _module(
    library: _Library,
    equations: Sequence[Equation],
    domain: Domain | None,
    name: str | None,
    origin: Origin | None,
) -> str:
    language = library.language
    dialect = Dialect(
        PYTHON | {"jax", library.module},
        language.number,
        lambda unit: template(unit, language),
        names_constants=True,
    )
    about = "\n".join(map(_quoted, opening(origin)))
    parts = [f'"""{about}\n\n{library.about}"""', "", library.imports, ""]
    for function in functions(equations, dialect, name):
        parts += ["", *_function(function, library, domain, origin)]
    return "\n".join(parts)


def _function(
    function: Function, library: _Library, domain: Domain | None, origin: Origin | None
) -> list[str]:
    words = [word for _, word in function.arguments]
    # An equation without inputs, or without units, is an array all the same.
    result = function.result if words else library.convert(function.result)
    return [
        f"def {function.name}({', '.join(words)}):",
        '    """',
        *(f"    {line}".rstrip() for line in map(_quoted, heading(function, domain, origin))),
        '    """',
        *(f"    {word} = {library.convert(word)}" for word in words),
        *(f"    {word} = {_lifted(code, library)}" for word, code in function.assignments),
        f"    return {result}",
        "",
    ]


def _lifted(code: str, library: _Library) -> str:
    """A constant as an array, since the functions of PyTorch take no plain numbers."""
    return library.convert(code) if NUMBER.fullmatch(code) else code


def _quoted(line: str) -> str:
    return line.replace('"""', r"\"\"\"")


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return 'float("nan")' if math.isnan(value) else f'float("{"-" * (value < 0)}inf")'


def _language(
    dialect: str,
    name: str,
    module: str,
    others: dict[str, str],
    filled: Callable[[str], str] | None = None,
) -> Language:
    where = f"{module}.where"

    def masked(is_yes: bool, condition: str, argument: str) -> str:
        """Keep the branch that does not count finite: zero times infinity would spoil gradients."""
        kept = (argument, "1.0") if is_yes else ("1.0", argument)
        return f"{where}({condition}, {kept[0]}, {kept[1]})"

    return Language(
        dialect=dialect,
        name=name,
        functions={**{word: f"{module}.{word}" for word in SAME.split()}, **others},
        number=_number,
        choice=lambda condition, yes, no: f"{where}({condition}, {yes}, {no})",
        signs={"&&": "&", "||": "|", "!": "~"},
        masked=masked,
        filled=filled,
    )


_JAX = _Library(
    JAX_TEXT,
    "import jax.numpy as jnp",
    "jnp",
    lambda word: f"jnp.asarray({word}, dtype=float)",
    _language(
        "jax",
        "JAX",
        "jnp",
        spelled("fabs = jnp.abs\npow = jnp.power\natan2 = jnp.arctan2\ncbrt = jnp.cbrt"),
    ),
)
_TORCH = _Library(
    TORCH_TEXT,
    "import torch",
    "torch",
    lambda word: (
        f"{word} if torch.is_tensor({word}) else torch.as_tensor({word}, dtype=torch.float64)"
        if word.isidentifier()
        else f"torch.as_tensor({word}, dtype=torch.float64)"
    ),
    _language(
        "torch",
        "PyTorch",
        "torch",
        spelled("fabs = torch.abs\npow = torch.pow\natan2 = torch.atan2"),
        # Plain numbers alone would be taken with 32 bits.
        lambda number: f"torch.full_like({{0}}, {number})",
    ),
)
