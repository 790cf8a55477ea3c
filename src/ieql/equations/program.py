"""An expression with one output as flat arrays: evaluation, derivatives, fits of its constants.

A `Program` is what one compiled interpreter (`ieql.equations.kernels`) needs to know of an equation,
so that many different equations run through the same machine code. An equation with a user-defined
unit has no compiled form; the NumPy functions at the end of this file then do the same work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.units import Unit

__all__ = ["Fit", "Program", "free_constants"]

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
            if s.bias != 0.0 and not (node.unit.name == "div" and a == 0 and s.is_constant):
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
    theta : float64 array
        The constants of the expression.
    free : int64 array
        The constants fitted by default; see `free_constants`.
    is_compiled : bool
        False if a user-defined unit stands in it, which then runs in NumPy.
    """

    n_inputs: int
    units: tuple[Unit, ...] = field(repr=False)
    op: Indices = field(repr=False)
    first: Indices = field(repr=False)
    ptr: Indices = field(repr=False)
    src: Indices = field(repr=False)
    guarded: Indices = field(repr=False)
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
            theta=expression.constants(),
            free=free_constants(expression),
            is_compiled=not any(u.is_custom for u in units),
        )

    def fit(self, XT, y, weight=None, theta=None, free=None, max_steps=40, tol=1e-6, damping=1e-2, check=None, margin=0.0):
        from ieql.equations import kernels
        n = XT.shape[1]
        if theta is None: theta=self.theta
        if free is None: free=self.free
        if check is None: check = np.empty((self.n_inputs,0))
        root = np.full(n, 1/np.sqrt(n))
        r = kernels.fit(self.op,self.first,self.ptr,self.src,theta,XT,y,root,free,self.guarded,check,margin,max_steps,tol,damping)
        return Fit(r[0],r[1],r[2],r[3])
