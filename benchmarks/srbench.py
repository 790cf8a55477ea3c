"""SRBench's own criterion: difference or ratio of found and true equation simplify to a constant.

As there, numbers are rounded to three decimals before and after SymPy simplifies. Simplifying may
take forever; what takes longer than some seconds counts as no solution.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

__all__ = ["from_sympy", "is_symbolic_solution", "to_sympy"]

DECIMALS = 3
SMALLEST = 1e-4
"""A number below this is zero for SRBench."""
SECONDS = 5.0


class _TooLong(BaseException):
    """Raised by the alarm; not an `Exception`, which SymPy may catch on its way."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Interrupt what runs inside after some time, where the system can."""
    can = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not can:
        yield
        return

    def ring(*_: Any) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def to_sympy(text: str, names: Sequence[str]) -> Any:
    """A formula in our grammar or with arcsin, arccos and their like as a SymPy expression."""
    import sympy
    from sympy.parsing.sympy_parser import parse_expr

    known = {"arcsin": sympy.asin, "arccos": sympy.acos, "square": lambda z: z**2}
    symbols = {name: sympy.Symbol(name, real=True) for name in names}
    return parse_expr(text, local_dict={**known, **symbols})


def from_sympy(text: str, names: Sequence[str]) -> Any:
    """A function from an array of rows to the values of such a formula."""
    import sympy

    form = to_sympy(text, names)
    function = sympy.lambdify([sympy.Symbol(name, real=True) for name in names], form, "numpy")

    def values(X: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(function(*X.T), dtype=float), len(X)).copy()

    return values


def _rounded(form: Any) -> Any:
    """Numbers with three decimals; as fractions, so that 0.5 and 1/2 are the same."""
    import sympy

    changes = {}
    for number in form.atoms(sympy.Float, sympy.Rational):
        if not number.is_Integer:
            small = abs(number) < SMALLEST
            scaled = 0 if small else round(float(number) * 10**DECIMALS)
            changes[number] = sympy.Rational(scaled, 10**DECIMALS)
    return form.xreplace(changes)


def is_symbolic_solution(
    found: str, truth: str, names: Sequence[str], seconds: float = SECONDS
) -> bool:
    """Tell whether SRBench would call an equation a solution.

    Parameters
    ----------
    found, truth : str
        Formulas in the same inputs.
    names : sequence of str
        The inputs.
    seconds : float
        For SymPy; what takes longer is no solution.
    """
    try:
        with _at_most(seconds):
            a, b = (_rounded(to_sympy(text, names)) for text in (found, truth))
            return _is_constant(a - b) or (b != 0 and _is_constant(a / b, nonzero=True))
    except _TooLong:
        return False
    except (ArithmeticError, AttributeError, RecursionError, TypeError, ValueError):
        return False  # SymPy gives up on some forms


def _is_constant(form: Any, nonzero: bool = False) -> bool:
    import sympy

    form = _rounded(form)
    if form.free_symbols:
        form = _rounded(sympy.simplify(form))
    is_number = not form.free_symbols and bool(form.is_finite)
    return is_number and not (nonzero and form == 0)
