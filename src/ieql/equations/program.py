"""An expression with one output as flat arrays: evaluation, derivatives, fits of its constants.

A `Program` is what one compiled interpreter (`ieql.equations.kernels`) needs to know of an
equation, so that many different equations run through the same machine code. A user-defined unit
runs there, too, if numba can compile its functions (`ieql.equations.user_units`); otherwise plain
NumPy (`ieql.equations.numpy_engine`) does the same work.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.equations.kernel_cache import compile_kernels
from ieql.errors import IeqlError, counted
from ieql.units import DIV, REALS, Unit

__all__ = ["Fit", "Program", "addresses", "compile_kernels", "free_constants"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_NO_INDICES = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Fit:
    """What `Program.fit` found.

    Attributes
    ----------
    theta : array
        All constants, the fitted ones and the others.
    error : float
        Weighted mean of the squared residuals; infinite if the equation is not finite at the start.
    steps : int
        Number of steps tried, with those that failed.
    converged : bool
        Whether it stopped because nothing could be gained any more.
    """

    theta: Array
    error: float
    steps: int
    converged: bool


def free_constants(expression: Expression) -> Indices:
    """Which of the constants a fit may change, as places in `Expression.constants`.

    A bias that is exactly 0 is absent from the equation. A weight of exactly 1 or -1 in an argument
    is structure or gauge, and so is the numerator 1 of ``1/z``. Weights of the output are free.
    """
    free: list[int] = []
    at = 0
    for node in expression.nodes:
        for a, s in enumerate(node.args):
            if s.bias != 0.0 and not (node.unit is DIV and a == 0 and s.is_constant):
                free.append(at)
            free += [at + 1 + j for j, w in enumerate(s.weights) if abs(w) != 1.0]
            at += 1 + len(s.weights)
    for s in expression.outputs:
        if s.bias != 0.0:
            free.append(at)
        free += range(at + 1, at + 1 + len(s.weights))
        at += 1 + len(s.weights)
    return np.array(free, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Program:
    """Flat form of an expression with one output; made by `Program.of`.

    Sources are numbered as in `Expression`, first the inputs, then the nodes. Sums are numbered in
    the order of `Expression.sums`: the arguments of the nodes, then the output. The bias of sum
    ``s`` is ``theta[ptr[s] + s]`` and the weight of its source ``src[j]`` is ``theta[s + j + 1]``,
    which is the order of `Expression.constants`.

    Attributes
    ----------
    n_inputs : int
        Number of inputs, the rows of ``XT``.
    units : tuple of Unit
        The unit of each node.
    op : int64 array
        The code of each node's unit.
    first : int64 array
        ``first[k]:first[k + 1]`` are the sums that are node k's arguments; the last entry is the
        output's sum.
    ptr, src : int64 arrays
        ``src[ptr[s]:ptr[s + 1]]`` are the sources of sum s.
    guarded : int64 array
        Sums that are arguments with a singularity (section "Atomic Units with Singularities").
    edges : float64 array of shape (2, sums)
        The ends of the domain of each sum; infinite where it has none.
    theta : float64 array
        The constants of the expression.
    free : int64 array
        The constants fitted by default; see `free_constants`.
    is_compiled : bool
        False if a user-defined unit stands in it that numba cannot compile; NumPy runs it then.
    """

    n_inputs: int
    units: tuple[Unit, ...] = field(repr=False)
    op: Indices = field(repr=False)
    first: Indices = field(repr=False)
    ptr: Indices = field(repr=False)
    src: Indices = field(repr=False)
    guarded: Indices = field(repr=False)
    edges: Array = field(repr=False)
    theta: Array
    free: Indices
    is_compiled: bool

    @classmethod
    def of(cls, expression: Expression) -> Program:
        """Flatten an expression; one with several outputs is refused."""
        if len(expression.outputs) != 1:
            raise IeqlError(
                f"A program has one output, but the expression has {len(expression.outputs)}; "
                "take one of them with Expression.output."
            )
        units = tuple(node.unit for node in expression.nodes)
        first = np.cumsum([0, *(u.arity for u in units)])
        ptr = np.cumsum([0, *(len(s.sources) for s in expression.sums)])
        guarded = [int(first[k]) + a for k, u in enumerate(units) for a in u.singular]
        return cls(
            n_inputs=len(expression.names),
            units=units,
            op=np.array([u.code for u in units], np.int64),
            first=first.astype(np.int64),
            ptr=ptr.astype(np.int64),
            src=np.array([i for s in expression.sums for i in s.sources], np.int64),
            guarded=np.array(guarded, np.int64),
            edges=np.array([*(d for u in units for d in u.domains), REALS]).T.copy(),
            theta=expression.constants(),
            free=free_constants(expression),
            is_compiled=addresses(units) is not None,
        )

    # --- values and derivatives ----------------------------------------------------------------

    def evaluate(self, XT: Array, theta: Array | None = None) -> Array:
        """Values on all rows; NaN where a unit is undefined. XT has one row per input."""
        return self._run(XT, theta, _NO_INDICES, False)[0]

    def jacobian(
        self, XT: Array, theta: Array | None = None, free: Indices | None = None
    ) -> tuple[Array, Array]:
        """Values (n,) and their derivatives by the free constants (p, n)."""
        return self._run(XT, theta, self._free(free), False)[:2]

    def argument_ranges(self, XT: Array, theta: Array | None = None) -> tuple[Array, Array]:
        """Least and greatest value of each sum over the rows; NaN where one value is NaN."""
        return self._run(XT, theta, _NO_INDICES, True)[2:]

    def normal_equations(
        self,
        XT: Array,
        y: Array,
        weight: Array | None = None,
        theta: Array | None = None,
        free: Indices | None = None,
        relax: float = 0.0,
    ) -> tuple[float, Array, Array]:
        """Mean squared residual and the normal equations of the free constants.

        Returns
        -------
        error : float
            Σ w r² / Σ w with r = y - f; infinite if f is not finite, A and g mean nothing then.
        A : array of shape (p, p)
            Jᵀ W J / Σ w.
        g : array of shape (p,)
            Jᵀ W r / Σ w.
        """
        XT, y, root = self._rows(XT, y, weight)
        result = self._fit(XT, y, root, theta, free, self._check(None), 0.0, 0, 0.0, 0.0, relax)
        return result[1], result[4], result[5]

    # --- constants -----------------------------------------------------------------------------

    def fit(
        self,
        XT: Array,
        y: Array,
        weight: Array | None = None,
        theta: Array | None = None,
        free: Indices | None = None,
        max_steps: int = 40,
        tol: float = 1e-6,
        damping: float = 1e-2,
        check: Array | None = None,
        margin: float = 0.0,
        relax: float = 0.0,
    ) -> Fit:
        """Fit the free constants by Levenberg-Marquardt.

        A step fails if it does not lower the error, if a value or derivative is not finite, or if a
        singular argument leaves its domain (section "Atomic Units with Singularities"): on a row of
        the data, or at a check point. An argument outside its domain at the start is not watched.

        Parameters
        ----------
        XT : array of shape (inputs, n)
            The data, one row per input, C-contiguous and of 64 bits or copied to be so.
        y, weight : arrays of shape (n,)
            Targets and their weights, default 1. Rows of weight 0 are left out.
        theta : array, optional
            Where to start, all constants; default: those of the expression.
        free : int64 array, optional
            Which constants to fit; default: `free_constants` of the expression.
        max_steps : int
            Steps to try at most, failed ones included.
        tol : float
            Converged when two steps in a row change the error by less than this share.
        damping : float
            Marquardt's lambda of the first step, relative to the diagonal of the normal equations.
        check : array of shape (inputs, m), optional
            Points without targets at which singular arguments must stay inside their domain, too.
        margin : float
            How far inside, at the check points.
        relax : float
            Above 0, singular units go on as straight lines closer than this to their singularity
            (`ieql.units.relaxed_value`), and no step fails for leaving a domain.
        """
        XT, y, root = self._rows(XT, y, weight)
        result = self._fit(
            XT, y, root, theta, free, self._check(check), margin, max_steps, tol, damping, relax
        )
        return Fit(*result[:4])

    # --- to the engine -------------------------------------------------------------------------

    def _engine(self) -> tuple[Any, tuple[Any, ...]]:
        """The module that does the work, and the program in the form that it takes."""
        # Looked up at every call: in another process the machine code stands elsewhere.
        calls = addresses(self.units) if self.is_compiled else None
        if calls is None:
            from ieql.equations import numpy_engine

            return numpy_engine, (self.units, self.first, self.ptr, self.src)
        from ieql.equations import kernels

        return kernels, (self.op, calls, self.first, self.ptr, self.src, self.edges)

    def _run(
        self, XT: Array, theta: Array | None, free: Indices, with_ranges: bool
    ) -> tuple[Array, Array, Array, Array]:
        engine, code = self._engine()
        result: tuple[Array, Array, Array, Array] = engine.run(
            *code, self._theta(theta), self._inputs(XT), free, with_ranges
        )
        return result

    def _fit(
        self, XT: Array, y: Array, root: Array, theta: Array | None, free: Indices | None,
        check: Array, margin: float, max_steps: int, tol: float, damping: float,
        relax: float,
    ) -> tuple[Any, ...]:  # fmt: skip
        engine, code = self._engine()
        result: tuple[Any, ...] = engine.fit(
            *code, self._theta(theta), XT, y, root, self._free(free),
            self.guarded if relax == 0.0 else _NO_INDICES, check, margin, max_steps, tol, damping,
            relax,
        )  # fmt: skip
        return result

    def _inputs(self, XT: Array) -> Array:
        # The kernels do not check bounds: a wrong shape must not reach them.
        XT = np.ascontiguousarray(XT, dtype=np.float64)
        if XT.ndim != 2 or len(XT) != self.n_inputs:
            raise IeqlError(
                f"The program has {counted(self.n_inputs, 'input')} as rows of XT; its shape is "
                f"{XT.shape}."
            )
        return XT

    def _check(self, check: Array | None) -> Array:
        return np.empty((self.n_inputs, 0)) if check is None else self._inputs(check)

    def _theta(self, theta: Array | None) -> Array:
        if theta is None:
            return self.theta
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        if theta.shape != self.theta.shape:
            raise IeqlError(f"The program has {len(self.theta)} constants, not {theta.shape}.")
        return theta

    def _free(self, free: Indices | None) -> Indices:
        if free is None:
            return self.free
        return np.ascontiguousarray(free, dtype=np.int64).reshape(-1)

    def _rows(self, XT: Array, y: Array, weight: Array | None) -> tuple[Array, Array, Array]:
        """Inputs, targets and roots of the weights, which are scaled to sum to 1."""
        XT = self._inputs(XT)
        y = np.ascontiguousarray(y, dtype=np.float64)
        n = XT.shape[1]
        if y.shape != (n,) or n == 0:
            raise IeqlError(f"There are {n} rows of inputs, but targets of shape {y.shape}.")
        if weight is None:
            return XT, y, np.full(n, 1.0 / math.sqrt(n))
        weight = np.asarray(weight, dtype=np.float64)
        if weight.shape != (n,) or not weight.min() >= 0.0 or not 0.0 < weight.sum() < math.inf:
            raise IeqlError(f"The weights must be {n} numbers, none negative and not all zero.")
        if not weight.all():
            keep = weight > 0.0
            XT, y, weight = np.ascontiguousarray(XT[:, keep]), y[keep], weight[keep]
        return XT, y, np.sqrt(weight / weight.sum())


def addresses(units: Sequence[Unit]) -> Indices | None:
    """Where the compiled functions of units stand in this process; None if one runs in NumPy.

    It is 0 for the units of the table, which the kernels know by their code.
    """
    if not any(u.is_custom for u in units):
        return np.zeros(len(units), np.int64)
    from ieql.equations.user_units import address_of  # loads numba, which many have no use for

    found = [address_of(u) if u.is_custom else 0 for u in units]
    if any(u.is_custom and not place for u, place in zip(units, found, strict=True)):
        return None
    return np.array(found, np.int64)
