"""What a cell of text means: numbers with marks, signs and units, and words for nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql.data.cells import ColumnKind, clean, is_missing, marks_in, number_of


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("1.5", ".", 1.5),
        (" -1,5e3 ", ",", -1500.0),
        (".5", ".", 0.5),
        ("5.", ".", 5.0),
        ("1.234.567", ",", 1234567.0),
        ("1'234.5", ".", 1234.5),
        ("12 345", ".", 12345.0),
        ("\u22123", ".", -3.0),
        ("-inf", ".", -np.inf),
        ("1,5", ".", None),
        ("1.23.456", ",", None),
        ("0.123", ",", None),
        ("1,234.567,8", ".", None),
        ("1 234'567", ".", None),
        ("1_000", ".", None),
        ("0x10", ".", None),
        ("१२", ".", None),
        ("nan", ".", None),
        ("", ".", None),
    ],
)
def test_a_text_is_a_number_or_it_is_not(text: str, decimal: str, value: float | None) -> None:
    assert number_of(text, decimal) == value


@given(st.floats(-1e12, 1e12), st.sampled_from([",", "'", " ", "\u202f", "."]))
def test_grouped_numbers_are_read_as_they_were(value: float, mark: str) -> None:
    decimal = "," if mark == "." else "."
    text = f"{value:,.3f}".replace(".", "d").replace(",", mark).replace("d", decimal)
    assert number_of(text, decimal) == float(f"{value:.3f}")


@pytest.mark.parametrize("text", ["", " ", "NA", "n/a", "N.A.", "-", "#DIV/0!", "#WERT!", "NaN"])
def test_words_for_nothing(text: str) -> None:
    assert is_missing(text)
    assert not is_missing("0")
    assert is_missing("off", ["off"])


@pytest.mark.parametrize(
    ("texts", "decimal", "unclear"),
    [
        (["1", "20", "300"], "", ""),
        (["1,5"], ",", ""),
        (["1.234"], "", "."),
        (["1,234", "12,345"], "", ","),
        (["1.234", "0.500"], ".", ""),
        (["1.234", "1500"], ".", ""),
        (["1.234", "2.5"], ".", ""),
        (["1.234e3"], ".", ""),
        (["1.234.567"], ",", ""),
        (["1.234,5"], ",", ""),
        (["1,234.5"], ".", ""),
        (["1 234,5"], ",", ""),
        (["1,5 %"], ",", ""),
        (["1,5", "1.5"], ",.", ""),
        (["left, right", "1,2"], "", ""),
        (["01.02.2024", "02.02.2024"], "", ""),
        (["-", "", "-1.234"], "", "."),
    ],
)
def test_cells_tell_the_decimal_mark_or_leave_it_open(
    texts: list[str], decimal: str, unclear: str
) -> None:
    found = marks_in(texts)
    assert (found.decimal, set(found.unclear)) == (frozenset(decimal), set(unclear))


def test_the_one_clear_cell_among_thousands_is_seen() -> None:
    assert marks_in(["1.234"] * 5000 + ["0,5"]).decimal == frozenset(",")
    assert marks_in(["1.5"] * 5000 + ["0,5"]).decimal == frozenset(".,")


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "NA", "3"], ColumnKind.NUMBER, [1, np.nan, 3]),
        (["1", "\u202f", "3"], ColumnKind.NUMBER, [1, np.nan, 3]),
        (["10 %", "20%"], ColumnKind.NUMBER, [10, 20]),
        (["1.5 kW", "2 kW"], ColumnKind.NUMBER, [1.5, 2]),
        (["true", "False", ""], ColumnKind.NUMBER, [1, 0, np.nan]),
        (["-", "n/a"], ColumnKind.EMPTY, [np.nan, np.nan]),
    ],
)
def test_columns_that_become_numbers(cells: list[str], kind: str, values: list[float]) -> None:
    done = clean(pd.Series(cells), ".")
    assert done.kind == kind
    np.testing.assert_array_equal(done.values.to_numpy(float), values)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["10 %", "20"], ColumnKind.MIXED),  # of 20 nobody knows whether it is in percent
        (["10 kW", "20 W", "5", "6", "7"], ColumnKind.MIXED),
        (["1", "2", "off"], ColumnKind.MIXED),
        (["1,5", "1.5"], ColumnKind.MIXED),
        (["a", "b", "1"], ColumnKind.TEXT),
        (["12a", "13a"], ColumnKind.TEXT),
        (["2024-01-01", "2024-01-02"], ColumnKind.DATE),
        (["08:00:00", ""], ColumnKind.DATE),
    ],
)
def test_columns_that_stay_as_they_are_written(cells: list[str], kind: str) -> None:
    done = clean(pd.Series(cells), ".")
    assert done.kind == kind
    assert [c for c in done.values if c == c] == [c for c in cells if c]


def test_missing_words_are_counted() -> None:
    assert clean(pd.Series(["1", "NA", "NA", "-"]), ".").words == {"NA": 2, "-": 1}
