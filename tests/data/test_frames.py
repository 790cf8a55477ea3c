"""Frames of other libraries are known by the protocols for exchanging tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ieql
from ieql.data.frames import as_pandas
from ieql.errors import IeqlError


class Series:
    """As much of a series of polars as is used here."""

    def __init__(self, values: list[float], name: str) -> None:
        self.values, self.name = values, name

    def __arrow_c_stream__(self) -> None:
        raise AssertionError("nothing asks for it")

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.array(self.values)


class Frame:
    """As much of a frame of polars as is used here."""

    def __init__(self, columns: dict[str, list[float]]) -> None:
        self._columns, self.columns = columns, list(columns)

    def __dataframe__(self) -> None:
        raise AssertionError("nothing asks for it")

    def __getitem__(self, name: str) -> Series:
        return Series(self._columns[name], name)


def test_frames_and_series() -> None:
    frame = as_pandas(Frame({"a": [1, 2], "b": [0.5, np.nan]}))
    pd.testing.assert_frame_equal(frame, pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan]}))
    series = as_pandas(Series([1.0, 2.0], "y"))
    pd.testing.assert_series_equal(series, pd.Series([1.0, 2.0], name="y"))


@pytest.mark.parametrize("thing", [np.ones((2, 2)), [1, 2], pd.DataFrame({"a": [1]}), None, 3])
def test_anything_else_is_left_as_it_is(thing: object) -> None:
    assert as_pandas(thing) is thing


def test_a_lazy_frame_is_refused() -> None:
    class Lazy:
        def collect(self) -> None: ...

    with pytest.raises(IeqlError, match=r"call its collect\(\) first"):
        ieql.fit_formula("a*t", Lazy(), [1.0, 2.0])


def test_a_formula_is_fitted_to_such_a_frame() -> None:
    t = np.linspace(0, 5, 20)
    X = Frame({"t": t.tolist(), "other": (t * 0).tolist()})
    found = ieql.fit_formula("a*t + b", X, Series((3 * t + 1).tolist(), "y"))
    assert found.constants["value"].to_dict() == pytest.approx({"a": 3, "b": 1})


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_libraries_that_are_there(library: str) -> None:
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    columns = {"a": [1, 2, None], "b": ["x", "y", None]}
    table = module.DataFrame(columns) if library == "polars" else module.table(columns)
    frame = as_pandas(table)
    assert frame["a"].tolist()[:2] == [1.0, 2.0]
    assert frame["a"].isna().tolist() == frame["b"].isna().tolist() == [False, False, True]
