"""Many structures one after the other in flat arrays, and their fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.program import addresses
from ieql.training.fast import styles
from ieql.training.fast.structures import Grammar, Structure
from ieql.units import DIV, EXP, LOG, MUL, REALS, SQUARE, Unit

__all__ = ["Batch", "Effort", "Fits"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
RANKING_ROWS = 64
"""Rows on which drawn starts are ranked."""
FITTING_ROWS = 128
"""Rows on which the best of them are fitted."""
CHECKED = 64
"""Points of the domain where singular units must be defined; the corners come first."""


@dataclass(frozen=True)
class Effort:
    """How hard a structure is tried: starts that are drawn and ranked, those fitted, and steps."""

    starts: int = 32
    kept: int = 2
    steps: int = 20


@dataclass(frozen=True, eq=False)
class Fits:
    """The best fit of each structure of a batch."""

    batch: Batch
    thetas: Array
    errors: Array
    """Mean squared errors."""
    n_free: Indices
    """Numbers of fitted constants."""

    def expression(self, i: int) -> Expression:
        """The i-th structure with its constants."""
        theta = self.thetas[self.batch.at[i, 4] : self.batch.at[i + 1, 4]]
        return self.batch.grammar.expression(self.batch.structures[i], theta.tolist())


class Batch:
    """Structures of one grammar, laid out for the kernel.

    Parameters
    ----------
    grammar : Grammar
        Made them.
    structures : sequence of Structure
        Those of the batch.
    """

    def __init__(self, grammar: Grammar, structures: Sequence[Structure]) -> None:
        self.grammar = grammar
        self.structures = list(structures)
        op: list[int] = []
        units: list[Unit] = []
        first: list[int] = []
        ptr: list[int] = []
        src: list[int] = []
        style: list[int] = []
        edges: list[tuple[float, float]] = []
        at = [(0, 0, 0, 0, 0)]
        d = grammar.n_inputs
        for structure in self.structures:
            nodes, output = grammar.flat(structure)
            n_sums = n_src = 0
            kinds = [unit for unit, _ in nodes]
            for unit, args in nodes:
                units.append(unit)
                op.append(unit.code)
                first.append(n_sums)
                for a, sources in enumerate(args):
                    ptr.append(n_src)
                    src += sources
                    style.append(_style(unit, a, sources, kinds, d))
                    edges.append(unit.domains[a])
                    n_sums += 1
                    n_src += len(sources)
            first.append(n_sums)
            ptr += [n_src, n_src + len(output)]
            src += output
            style.append(styles.OUTPUT)
            edges.append(REALS)
            before = at[-1]
            at.append(
                (
                    len(op),
                    len(first),
                    len(ptr),
                    len(src),
                    before[4] + n_sums + 1 + n_src + len(output),
                )
            )
        found = addresses(units)
        assert found is not None, "a grammar has no units that cannot be compiled"
        self.op = np.array(op, np.int64)
        self.calls = found
        self.first = np.array(first, np.int64)
        self.ptr = np.array(ptr, np.int64)
        self.src = np.array(src, np.int64)
        self.style = np.array(style, np.int64)
        self.edges = np.array(edges, np.float64).reshape(-1, 2).T.copy()
        self.at = np.array(at, np.int64)

    def __len__(self) -> int:
        return len(self.structures)

    def fit(
        self, sample: Sample, domain: Array, seeds: NDArray[np.uint64], offsets: int, effort: Effort
    ) -> Fits:
        """Fit every structure from scratch.

        Parameters
        ----------
        sample : Sample
            The rows, in random order; the first of them are used.
        domain : array (inputs, points)
            Where singular units must be defined, too.
        seeds : uint64 array
            One per structure: what is drawn depends on nothing else.
        offsets : int
            Which offsets are fitted beside that of the output and those of waves: `NO_OFFSETS`,
            `ALL_OFFSETS`, or that of one sum, by its number; then structures that have no such
            offset are left out.
        effort : Effort
            How hard each is tried.
        """
        from ieql.training.fast.structure_kernel import fit_structures  # compiled when imported

        few, some = sample.head(RANKING_ROWS), sample.head(FITTING_ROWS)
        thetas, errors, n_free = fit_structures(
            self.op, self.calls, self.first, self.ptr, self.src, self.style, self.edges, self.at,
            seeds, few.XT, few.y, _root(few), some.XT, some.y, _root(some),
            np.ascontiguousarray(domain[:, :CHECKED]), offsets, effort.starts, effort.kept,
            effort.steps,
        )  # fmt: skip
        return Fits(self, thetas, errors, n_free)


def _root(sample: Sample) -> Array:
    root: Array = np.sqrt(sample.weight / sample.weight.sum())
    return root


def _style(unit: Unit, argument: int, sources: Sequence[int], kinds: Sequence[Unit], d: int) -> int:
    """What a sum is for, as the kernel calls it."""
    inner = [kinds[i - d] for i in sources if i >= d]
    if unit is MUL:
        # A product of more than two factors is built of products of two.
        return styles.FIXED if inner == [MUL] and len(sources) == 1 else styles.FACTOR
    if unit is DIV and argument == 0:
        return styles.FACTOR if sources else styles.FIXED
    if unit is EXP:
        only_logs = len(inner) == len(sources) and all(u is LOG for u in inner)
        return styles.POWER if only_logs else styles.EXPONENT
    if unit.takes_number(argument):
        return styles.RAISED_TO
    if unit.selects:
        return styles.LEADING if argument == 0 else styles.LEVEL
    if unit.period is not None:
        return styles.WAVE
    if unit is SQUARE or unit.sharp or (unit.raises and unit.domains[argument] == REALS):
        return styles.SQUARED
    if unit is DIV and inner == [EXP] and len(sources) == 1:
        return styles.SHIFTED
    return styles.EDGE if unit.domains[argument] != REALS else styles.PLAIN
