"""What the search has found for one output is offered to the others.

In the paper's network all outputs are fed by the same units (section "Architecture"), so a unit
that one of them needs is at hand for all. Here every output has an archive of its own; what comes
closest is to offer the units of the best equations of one output as grafts when equations of
another are grown. It is offered between rounds, at fixed points of work, so that the outcome does
not depend on the number of processes. With one output nothing is offered.
"""

from __future__ import annotations

from collections.abc import Sequence

from ieql.equations.expression import Expression
from ieql.training.archive import Archive

__all__ = ["offers"]

PER_OUTPUT = 2
"""Equations of each other output whose units are offered."""
MOST = 6
"""Equations that are offered to an output, at most: its own archive has grafts, too."""
MOST_UNITS = 8
"""An equation of more units is a draft: what is in it is not worth to be shared."""


def offers(archives: Sequence[Archive]) -> list[tuple[Expression, ...]]:
    """For each output the equations of the others that tell most in the fewest words."""
    best = [
        [c.expression for c in archive.rivals if 0 < len(c.expression.nodes) <= MOST_UNITS]
        for archive in archives
    ]
    return [
        tuple(
            # The best of every other output come first, if not all have room.
            e
            for place in range(PER_OUTPUT)
            for j, found in enumerate(best)
            if j != k
            for e in found[place : place + 1]
        )[:MOST]
        for k in range(len(archives))
    ]
