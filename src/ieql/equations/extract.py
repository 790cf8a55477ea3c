"""From the weights of a network to an expression: only live connections, dead units dropped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder
from ieql.equations.expression import Expression, Sum
from ieql.network import Network

__all__ = ["extract"]


def extract(network: Network, W: NDArray[np.floating], live: NDArray[np.bool_]) -> Expression:
    """Read the equation off a trained network (paper, figure "Exemplary setup of the iEQL").

    The expression is in the network's own (scaled) coordinates and evaluates to the network's
    outputs within rounding; `Expression.rescaled` brings it to the user's.
    """
    live = network.reachable(live)
    weights = np.where(live, W, 0.0).astype(np.float64)
    builder = Builder(network.names)
    values = [Sum(1.0), *(builder.input(i) for i in range(len(network.names)))]

    def affine(row: int) -> Sum:
        total = Sum()
        for column in np.flatnonzero(live[row]):
            total = total.plus(values[column].scaled(float(weights[row, column])))
        return total

    needed = np.asarray(live.any(axis=0))
    for blocks in network.blocks:
        outputs = []
        for block in blocks:
            for k in range(block.sources.stop - block.sources.start):
                if needed[block.sources.start + k]:
                    args = [affine(rows.start + k) for rows in block.args]
                    outputs.append(builder.apply(block.unit, *args))
                else:
                    outputs.append(Sum())
        values += outputs
    rows = network.layer_rows[-1]
    return builder.expression(*(affine(row) for row in range(rows.start, rows.stop)))
