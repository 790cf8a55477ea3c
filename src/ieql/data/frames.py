"""Frames and series of other libraries (polars, pyarrow) as those of pandas."""

from __future__ import annotations

from typing import Any

import numpy as np

from ieql.errors import IeqlError

__all__ = ["as_pandas"]


def as_pandas(table: Any) -> Any:
    """Return a frame or series of another library as one of pandas; anything else as it is.

    It is known by the protocols for exchanging tables, so that no such library is imported here.
    Gaps become NaN.
    """
    if hasattr(table, "collect") and not hasattr(table, "__len__"):
        raise IeqlError("A lazy frame holds no rows yet; call its collect() first.")
    shares = hasattr(table, "__arrow_c_stream__") or hasattr(table, "__dataframe__")
    if hasattr(table, "iloc") or not shares:
        return table
    import pandas as pd

    # Columns are their names, but for a table of pyarrow, which has them elsewhere.
    names = getattr(table, "column_names", None) or getattr(table, "columns", None)
    if names is None or callable(names):
        return pd.Series(np.asarray(table), name=getattr(table, "name", None))
    return pd.DataFrame({name: np.asarray(table[name]) for name in names})
