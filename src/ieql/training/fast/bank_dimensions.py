"""Dimensions of the entries of a bank, where physical units have a say in what is grown.

What is drawn at random would hardly ever be right: so constants are drawn as ever, and then those
that have no right dimension are taken away, the second term of a sum or its offset.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ieql.equations.dimensions import Dimension, rule_of
from ieql.equations.expression import Expression
from ieql.prior import Prior
from ieql.training.fast.monomials import Monomials
from ieql.units import Unit

__all__ = ["BankDimensions"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class BankDimensions:
    """The dimension of every entry, and whether it is right at all.

    Parameters
    ----------
    prior : Prior
        With a rule about dimensions.
    parent : Expression
        Its inputs and nodes are the first entries.
    size : int
        Number of entries, at most.
    """

    def __init__(self, prior: Prior, parent: Expression, size: int) -> None:
        rule = rule_of(prior, parent.names)
        assert rule is not None
        self.rule = rule.relaxed
        self.table = np.zeros((size, len(self.rule.plain)))
        self.right = np.zeros(size, dtype=bool)
        self.take(0, self.rule.dimensions(parent))

    @staticmethod
    def of(prior: Prior, parent: Expression, size: int) -> BankDimensions | None:
        """Those of a bank; None if there is no rule."""
        has_rule = rule_of(prior, parent.names) is not None
        return BankDimensions(prior, parent, size) if has_rule else None

    def take(self, start: int, dimensions: Sequence[Dimension | None]) -> None:
        """Note the dimensions of some entries; None stands for one that is not right."""
        for k, dimension in enumerate(dimensions, start=start):
            self.right[k] = dimension is not None
            if dimension is not None:
                self.table[k] = dimension

    def graft(self, place: int, expression: Expression, node: int) -> None:
        """Note that of a node of another equation."""
        self.take(place, [self.rule.dimensions(expression)[len(expression.names) + node]])

    @property
    def plain(self) -> Mask:
        """Which entries are plain numbers."""
        plain: Mask = self.right & ~np.any(self.table, axis=1)
        return plain

    def may_enter(self, unit: Unit, count: int) -> Mask:
        """Which of the first entries may be in an argument of a unit."""
        return (self.right if unit.powers else self.plain)[:count]

    def mend(self, sources: NDArray[np.int64], weights: Array, biases: Array) -> None:
        """Take away second terms and offsets of another dimension, of one argument per entry."""
        first, second = sources[:, 0], sources[:, 1]
        same = np.all(self.table[first] == self.table[second], axis=1) & self.right[second]
        weights[~same, 1] = 0.0
        biases[(weights[:, 0] != 0.0) & ~self.plain[first]] = 0.0

    def mend_monomials(self, monomials: Monomials) -> None:
        """Take away their offsets where inputs have a dimension, and note what they have then."""
        if not len(monomials):
            return
        monomials.offsets[~self.plain[monomials.sources]] = 0.0
        start, end = monomials.start, monomials.start + len(monomials)
        self.table[start:end] = np.einsum(
            "kf,kfb->kb", monomials.exponents, self.table[monomials.sources]
        )
        self.right[start:end] = True

    def layer(
        self,
        start: int,
        units: Sequence[Unit],
        sources: NDArray[np.int64],
        weights: Array,
        biases: Array,
    ) -> None:
        """Note the dimensions of a layer of units, entries × arguments × 2.

        Its offsets may have been moved to bring arguments into their domain.
        """
        end = start + len(units)
        used = weights[:, :, 0] != 0.0
        inner = np.where(used[:, :, None], self.table[sources[:, :, 0]], 0.0)
        has_dimension = np.any(inner, axis=2)
        wrong = np.any(has_dimension & (biases != 0.0), axis=1)
        exponents = np.array([(*u.powers, 0.0, 0.0)[:2] for u in units])
        self.table[start:end] = np.einsum("ka,kab->kb", exponents, inner)
        self.right[start:end] = ~wrong & np.all(self.right[sources[:, :, 0]] | ~used, axis=1)

    def matching(self, dimension: Dimension | None, count: int) -> Mask:
        """Which of the first entries have this dimension."""
        if dimension is None:
            return self.right[:count]
        same: Mask = self.right[:count] & np.all(self.table[:count] == dimension, axis=1)
        return same
