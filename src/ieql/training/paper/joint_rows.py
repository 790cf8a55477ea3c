"""The rows of several outputs as one table, which one network learns (section "Architecture")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ieql.training.task import Task

__all__ = ["joint_rows"]

Array32 = NDArray[np.float32]


def joint_rows(tasks: Sequence[Task]) -> tuple[Array32, Array32, Array32 | None]:
    """Inputs, targets and weights of all rows that any output is trained by.

    A row that one output has set aside, as a gross outlier or because there are very many, has the
    weight 0 for this output alone: the others are trained by it all the same.

    Returns
    -------
    XT : array (inputs, rows)
        In [-1, 1].
    y : array (outputs, rows)
        Each with mean zero; zero where it does not count.
    weight : array (outputs, rows) or None
        None if all rows count alike for all outputs.
    """
    dense = [task.dense for task in tasks]
    rows = [np.arange(len(t.train)) if t.rows is None else t.rows for t in tasks]
    table = np.unique(np.concatenate(rows))
    is_plain = all(len(own) == len(table) for own in rows)
    if is_plain and all(weight is None for _, _, weight in dense):
        return np.ascontiguousarray(dense[0][0]), np.stack([y for _, y, _ in dense]), None
    XT = np.zeros((len(tasks[0].names), len(table)), np.float32)
    y = np.zeros((len(tasks), len(table)), np.float32)
    weight = np.zeros_like(y)
    for k, (own, (inputs, target, given)) in enumerate(zip(rows, dense, strict=True)):
        places = np.searchsorted(table, own)
        XT[:, places] = inputs
        y[k, places] = target
        weight[k, places] = 1.0 if given is None else given
    return XT, y, weight
