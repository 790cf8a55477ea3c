"""A SymPy form as text that SymPy reads back."""

from __future__ import annotations

import builtins
import keyword
import re
from typing import Any

from ieql.equations.notation import check_digits
from ieql.errors import IeqlError

__all__ = ["sympy_text"]


def sympy_text(form: Any, digits: int | None = None) -> str:
    """Text of a SymPy form that ``sympy.sympify`` turns into that form again.

    It reads like the equation where all names are plain words. A name that SymPy would read as
    something else (``n [1/min]``, ``I``, ``print``) is never written bare: then the text is that
    of ``sympy.srepr``, in which names are quoted.

    Parameters
    ----------
    form : sympy.Expr
        As made by `Expression.to_sympy`.
    digits : int, optional
        Significant digits of the numbers; default: all that are needed.

    Examples
    --------
    >>> import sympy
    >>> print(sympy_text(0.1 * sympy.Symbol("x") ** 2))
    0.1*x**2
    """
    check_digits(digits)
    try:
        return _text(form, digits)
    except RecursionError:
        raise IeqlError("The equation is nested too deeply for SymPy.") from None


def _text(form: Any, digits: int | None) -> str:
    import sympy
    from sympy.printing.str import StrPrinter

    class Printer(StrPrinter):  # type: ignore[misc]
        def _print_Float(self, number: Any) -> str:  # noqa: N802  (SymPy's name)
            value = float(number)
            return repr(value) if digits is None else f"{value:.{digits}g}"

    if all(_is_plain(symbol.name) for symbol in form.free_symbols):
        return str(Printer().doprint(form))
    if digits is not None:
        form = form.xreplace(
            {n: sympy.Float(f"{float(n):.{digits}g}") for n in form.atoms(sympy.Float)}
        )
    return str(sympy.srepr(form))


def _is_plain(name: str) -> bool:
    import sympy

    return (
        re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) is not None
        and not keyword.iskeyword(name)
        and not hasattr(sympy, name)
        and not hasattr(builtins, name)
    )
