"""User-defined units as compiled code, on the same footing as the units of the table.

The value and the derivatives of a unit become one machine function over a block of rows. Kernels
are told its address and call it there (`call_rows`): they stay the same, and cached, whatever units
a user defines. A unit whose functions numba cannot compile, or whose compiled values are not those
of NumPy, has no address; equations with it run in NumPy.
"""

from __future__ import annotations

import ctypes
import math
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ieql.unit_probes import probe_points
from ieql.units import Unit

__all__ = ["address_of", "call_rows"]

Array = NDArray[np.float64]
SPECIAL = (0.0, -0.0, 1e-300, -1e-300, 1e6, -1e6, 1e300, -1e300, math.inf, -math.inf, math.nan)
"""Values at which a compiled unit must be what it is in NumPy, beside usual ones."""
ROUNDING = 1e-9
"""Compiled values may differ from NumPy's by this share, in last digits."""
_numba: Any = numba  # typed in some versions, and never with all its names
_types: Any = types
carray, cfunc, njit = _numba.carray, _numba.cfunc, _numba.njit
_SIGNATURE = _types.void(*[_types.CPointer(types.float64)] * 5, types.int64)
_ROW = types.Array(types.float64, 1, "C")


@dataclass(frozen=True)
class _Compiled:
    """A machine function over rows; it exists as long as numba's own object does."""

    function: Any

    @property
    def address(self) -> int:
        return int(self.function.address)


_compiled: WeakKeyDictionary[Unit, _Compiled | None] = WeakKeyDictionary()
_latest: deque[Unit] = deque(maxlen=64)
"""Keeps units alive in a worker process between two jobs, each of which brings them again."""


def address_of(unit: Unit) -> int:
    """Where the compiled functions of a user-defined unit stand in this process; 0 if nowhere."""
    if unit not in _compiled:
        _compiled[unit] = _compile(unit)
        _latest.append(unit)
    found = _compiled[unit]
    return 0 if found is None else found.address


def _call_rows(
    typing: Any, address: Any, a: Any, b: Any, y: Any, da: Any, db: Any, m: Any
) -> tuple[Any, Callable[..., Any]]:
    """Call the machine function at an address: value and slopes of m rows of arguments."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows = [context.make_array(_ROW)(context, builder, value).data for value in args[1:6]]
        function = ir.FunctionType(ir.VoidType(), [*(row.type for row in rows), args[6].type])
        builder.call(builder.inttoptr(args[0], function.as_pointer()), [*rows, args[6]])
        return context.get_dummy_value()

    return types.void(types.int64, *[_ROW] * 5, types.int64), generate


call_rows: Any = intrinsic(_call_rows)

# --- compiling ---------------------------------------------------------------------------------


def _compile(unit: Unit) -> _Compiled | None:
    """The first form of the unit that numba compiles and that computes what NumPy does."""
    with warnings.catch_warnings():
        # What numba thinks of a user's function is of no use to the user: NumPy can run it.
        warnings.simplefilter("ignore")
        for rows in _forms(unit):
            try:
                found = _Compiled(cfunc(_SIGNATURE)(_callback(rows)))
                if _is_right(unit, found):
                    return found
            except Exception:  # numba's errors are of many kinds, and any of them means NumPy
                continue
    return None


def _forms(unit: Unit) -> Iterator[Any]:
    """The unit over rows, called with number after number or, if that fails, with arrays."""
    parts = [_jitted(f) for f in (unit.value, *unit.derivatives)]
    if unit.arity == 1:
        value, slope = parts

        def numbers(a: Array, b: Array, y: Array, da: Array, db: Array) -> None:
            for i in range(len(a)):
                y[i] = value(a[i])
                da[i] = slope(a[i])
                db[i] = da[i]

        def arrays(a: Array, b: Array, y: Array, da: Array, db: Array) -> None:
            y[:] = value(a)
            da[:] = slope(a)
            db[:] = da

    else:
        value, first, second = parts

        def numbers(a: Array, b: Array, y: Array, da: Array, db: Array) -> None:
            for i in range(len(a)):
                y[i] = value(a[i], b[i])
                da[i] = first(a[i], b[i])
                db[i] = second(a[i], b[i])

        def arrays(a: Array, b: Array, y: Array, da: Array, db: Array) -> None:
            y[:] = value(a, b)
            da[:] = first(a, b)
            db[:] = second(a, b)

    for form in (numbers, arrays):
        yield njit(error_model="numpy")(form)


def _jitted(function: Any) -> Any:
    """A user's function as numba can call it; functions of NumPy it knows by themselves."""
    return njit(error_model="numpy")(function) if isinstance(function, FunctionType) else function


def _callback(rows: Any) -> Any:
    def callback(a: Any, b: Any, y: Any, da: Any, db: Any, m: int) -> None:
        value, first, second = carray(y, m), carray(da, m), carray(db, m)
        try:
            rows(carray(a, m), carray(b, m), value, first, second)
        except Exception:  # nobody could catch it outside; where a unit fails it is undefined
            value[:] = np.nan
            first[:] = np.nan
            second[:] = np.nan

    return callback


def _is_right(unit: Unit, found: _Compiled) -> bool:
    """Whether compiled values and derivatives are those of NumPy."""
    ends = [end for domain in unit.domains for end in domain]
    usual = probe_points(unit)
    special = np.array([*SPECIAL, *ends])
    grid = [g.ravel() for g in np.meshgrid(*[special] * unit.arity)]
    return all(
        np.allclose(ours, numpys, ROUNDING, ROUNDING * scale, equal_nan=True)
        for args, scale in ((usual, 0.0), (grid, 1.0))
        for ours, numpys in zip(_called(found, args), _in_numpy(unit, args), strict=False)
    )


def _in_numpy(unit: Unit, args: Sequence[Array]) -> list[Array]:
    return [unit(*args), *(unit.derivative(i, *args) for i in range(unit.arity))]


def _called(found: _Compiled, args: Sequence[Array]) -> list[Array]:
    """Value and derivatives from the machine function itself."""
    pointer = ctypes.POINTER(ctypes.c_double)
    n = len(args[0])
    rows = [np.ascontiguousarray(args[0]), np.ascontiguousarray(args[-1]), *np.empty((3, n))]
    found.function.ctypes(*(row.ctypes.data_as(pointer) for row in rows), n)
    return rows[2:]
