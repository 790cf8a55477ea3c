"""A function put together from equations for its parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ieql.data.sample import Sample
from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.equations.program import Program
from ieql.training.fast.separability import Split
from ieql.units import DIV, EXP, MUL, SQRT, SQUARE, Unit

__all__ = ["INVERSES", "combinations_of", "together"]

INVERSES: dict[float | None, tuple[Unit, ...]] = {
    None: (MUL,),
    1.0: (),
    2.0: (SQRT,),
    -1.0: (DIV,),
    0.5: (SQUARE,),
    -2.0: (SQRT, DIV),
    0.0: (EXP,),
}
"""Units that make the function from the sum of the parts of its power; None is their product."""


def combinations_of(
    choices: Sequence[Sequence[Expression]], most: int
) -> Iterator[list[Expression]]:
    """Ways to choose one of each, the best together first, then with ever worse ones."""
    n = len(choices)
    places = sorted(
        np.ndindex(*(len(c) for c in choices)) if n <= 3 else _near_best([len(c) for c in choices]),
        key=lambda place: (sum(place), place),
    )
    for place in places[:most]:
        yield [c[k] for c, k in zip(choices, place, strict=True)]


def _near_best(lengths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The best of each, and ways in which one or two are others."""
    best = [0] * len(lengths)
    yield tuple(best)
    for i in range(len(lengths)):
        for a in range(1, lengths[i]):
            yield (*best[:i], a, *best[i + 1 :])
            for j in range(i + 1, len(lengths)):
                if lengths[j] > 1:
                    yield (*best[:i], a, *best[i + 1 : j], 1, *best[j + 1 :])


def together(split: Split, chosen: Sequence[Expression], sample: Sample) -> Expression | None:
    """The function made of its parts; None if it is not defined on the rows."""
    builder = Builder(chosen[0].names)
    sums = [translate(e.outputs[0], builder.copy(e)) for e in chosen]
    if split.power is None:
        product = sums[0]
        for other in sums[1:]:
            product = builder.apply(MUL, product, other)
        value = Program.of(builder.expression(product)).evaluate(sample.XT)
        size = float(value @ value)
        if not (math.isfinite(size) and size > 0.0):
            return None
        scale = float(value @ (sample.y - split.constant)) / size
        return builder.expression(product.scaled(scale).plus(Sum(split.constant)))
    total = Sum.total(sums)
    if SQRT in INVERSES[split.power]:
        total = _positive(builder, total, sample)
    for unit in INVERSES[split.power]:
        total = builder.apply(unit, Sum(1.0), total) if unit is DIV else builder.apply(unit, total)
    if split.power != 1.0 and sample.y[0] < 0.0:
        total = total.scaled(-1.0)
    return builder.expression(total)


def _positive(builder: Builder, total: Sum, sample: Sample) -> Sum:
    """What stands below a root, positive on all rows: small errors may have made it negative."""
    value = Program.of(builder.expression(total)).evaluate(sample.XT)
    low, high = float(value.min()), float(value.max())
    if low > 0.0 or not math.isfinite(high - low):
        return total
    if low > total.bias:
        return total._replace(bias=0.0)
    return total.plus(Sum(1e-3 * (high - low) - low))
