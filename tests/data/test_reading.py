"""Files in: separator, decimal mark and encoding are detected; every fault is one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ieql.data.reading import read_csv, read_table
from ieql.data.table import check_table
from ieql.errors import IeqlError

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write text or bytes to a file and return its path."""

    def _write(content: str | bytes, encoding: str = "utf-8") -> Path:
        path = tmp_path / "data.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return _write


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1.5,2\n-3,4e1\n",
        "a;b\n1,5;2\n-3;4e1\n",
        "a;b\n1.5;2\n-3;4e1\n",
        "a\tb\n1,5\t2\n-3\t4e1\n",
        "a|b\n1.5|2\n-3|4e1\n",
        "a,b\r\n1.5,2\r\n-3,4e1",
        "\n  \na,b\n\n1.5,2\n\n-3,4e1\n\n",
        'a,b\n"1.5","2"\n-3,4e1\n',
    ],
)
def test_separator_and_decimal_mark_are_detected(write: Write, text: str) -> None:
    frame = read_csv(write(text))
    assert list(frame.columns) == ["a", "b"]
    np.testing.assert_array_equal(frame.to_numpy(float), [[1.5, 2], [-3, 40]])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_names_are_kept_exactly_as_they_are(write: Write, encoding: str) -> None:
    frame = read_csv(write('T [°C]; n/min ;"a, ""b"""\n1,5;2;3\n', encoding))
    assert list(frame.columns) == ["T [°C]", " n/min ", 'a, "b"']
    np.testing.assert_array_equal(frame.to_numpy(float), [[1.5, 2, 3]])


def test_a_comma_in_names_is_not_the_separator(write: Write) -> None:
    frame = read_csv(write("temp, C;speed, rpm\n1,5;2,5\n3,5;4,5\n"))
    assert list(frame.columns) == ["temp, C", "speed, rpm"]


def test_a_name_may_hold_a_line_break(write: Write) -> None:
    frame = read_csv(write('"speed\nrpm",y\n1,2\n'))
    assert list(frame.columns) == ["speed\nrpm", "y"]
    assert frame.to_numpy().tolist() == [[1, 2]]


@pytest.mark.parametrize("text", ["y\n1.5\n2.5\n", "y\n1,5\n2,5\n"])
def test_a_single_column_is_fine(write: Write, text: str) -> None:
    assert read_csv(write(text))["y"].tolist() == [1.5, 2.5]


def test_the_header_of_a_frame_without_names_is_fine(write: Write) -> None:
    assert list(read_csv(write("0,1\n1.5,2.5\n")).columns) == ["0", "1"]


def test_decimal_comma_is_seen_in_the_last_row_and_beside_text(write: Write) -> None:
    rows = "".join(f"{i};word;{i}\n" for i in range(200))
    frame = read_csv(write("a;b;c\n" + rows + "0,25;word;1\n"))
    assert frame["a"].iloc[-1] == 0.25
    assert frame["b"].iloc[0] == "word"


def test_a_comma_in_a_cell_of_text_does_not_spoil_the_decimal_point(write: Write) -> None:
    frame = read_csv(write("a;b\n1.5;left, right\n2.5;1,2\n"))
    assert frame["a"].tolist() == [1.5, 2.5]


@given(hnp.arrays(np.float64, (4, 2), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_survive_the_file(tmp_path_factory: pytest.TempPathFactory, X: np.ndarray) -> None:
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_text("a;b\n" + "".join(f"{a!r};{b!r}\n".replace(".", ",") for a, b in X.tolist()))
    np.testing.assert_allclose(read_csv(path).to_numpy(float), X, rtol=4e-16, atol=0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "'data.csv' is empty: a header line and data rows are needed."),
        ("\n\n", "'data.csv' is empty: a header line and data rows are needed."),
        ("a,b\n", "'data.csv' has a header but no data rows."),
        (
            "a,b,a\n1,2,3\n",
            "The column name 'a' appears 2 times in the header of 'data.csv'; every column needs "
            "its own name.",
        ),
        (
            ",a\n7,2\n5,4\n",
            "'data.csv', line 1: column 1 has no name; name it in the header or delete it (a row "
            "index written by pandas is left out with index=False).",
        ),
        (
            "a,b\n1,2\n\n3,4,5\n",
            "'data.csv', line 4 has 3 fields but the header has 2; complete or delete that line.",
        ),
        (
            "a,b\n1,2,3\n4,5,6\n",
            "'data.csv': the header has 2 fields between ',' but every row has 3; name every "
            "column, use one separator in all lines, and a decimal point where the comma "
            "separates.",
        ),
        (
            "a,b\n1,2\n3\n",
            "'data.csv', line 3 has 1 field but the header has 2; complete or delete that line.",
        ),
        (
            "a;b\n1,5;2.5\n",
            "'data.csv': column 'a' is written with a decimal comma and column 'b' with a decimal "
            "point; use the same mark in the whole file.",
        ),
        (b"PK\x03\x04\0\0", "'data.csv' is not a text file; save the table as CSV first."),
    ],
)
def test_bad_files_are_refused_in_a_sentence(
    write: Write, monkeypatch: pytest.MonkeyPatch, text: str | bytes, sentence: str
) -> None:
    monkeypatch.chdir(write(text).parent)
    with pytest.raises(IeqlError) as caught:
        read_csv("data.csv")
    assert str(caught.value) == sentence


def test_files_that_cannot_be_opened_are_refused(tmp_path: Path) -> None:
    with pytest.raises(IeqlError, match=r"Cannot read '.*none.csv': there is no such file\."):
        read_csv(tmp_path / "none.csv")
    with pytest.raises(IeqlError, match=r"Cannot read .*irectory"):
        read_csv(tmp_path)


def test_missing_cells_are_read_and_left_to_the_check(write: Write) -> None:
    frame = read_csv(write("a,b\n1,\n,2\n" + "3,4\n" * 8))
    with pytest.raises(IeqlError, match=r"column 'a': 1 of 10 values are missing \(NaN\).* row 2;"):
        check_table(frame)


def test_the_odd_cell_of_a_decimal_comma_file_is_named(write: Write) -> None:
    text = "a;b\n1,5;1\n2,5;2\n" + "n.a.?;3\n" + "4,5;4,5\n" * 8
    with pytest.raises(IeqlError) as caught:
        check_table(read_csv(write(text)))
    assert "X, column 'a' holds 'n.a.?' in data row 3" in str(caught.value)


# --- whatever comes in ---------------------------------------------------------------------------

WORDS = [
    "1.5",
    "1,5",
    "1.234",
    "NA",
    "#DIV/0!",
    "[mm]",
    "rpm",
    "2024-01-01",
    "01/02/2024",
    "-9999",
    "%",
    "Nm",
    "−",
    "ä",
    "sep=;",
]
PIECES = st.sampled_from([*"abxy0159.,;|#%-+/: \"'\t\n\r\0\u202f", "\n", "\n", *WORDS])
ROWS = st.lists(PIECES, max_size=60).map("".join)


@given(ROWS, st.sampled_from(["utf-8", "latin-1", "utf-16"]))
@settings(max_examples=100, deadline=None)
def test_any_text_is_read_or_refused_in_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, text: str, encoding: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(text.encode(encoding, "replace"))
    said = ["Read."]
    try:
        table = read_table(path)
        assert str(table)
        for name in table.frame.columns:
            table.split(name)
    except IeqlError as error:
        said = str(error).splitlines()
    assert len(said) == 1
    assert said[0].endswith((".", "?"))


@given(hnp.arrays(np.float64, (6, 2), elements=st.floats(-1e9, 1e9)), st.booleans())
def test_numbers_keep_their_values_with_any_marks(
    tmp_path_factory: pytest.TempPathFactory, X: np.ndarray, is_german: bool
) -> None:
    """Whatever the numbers are, they come back, or the file is refused: never another value."""
    path = tmp_path_factory.getbasetemp() / "marks.csv"
    swap = str.maketrans(",.", ".,") if is_german else {}
    rows = [";".join(f"{x:,.3f}".translate(swap) for x in row) for row in X]
    path.write_text("a;b\n" + "\n".join(rows) + "\n")
    expected = np.array([[float(f"{x:.3f}") for x in row] for row in X])
    refused = ""
    try:
        np.testing.assert_array_equal(read_table(path).frame.to_numpy(float), expected)
    except IeqlError as error:
        refused = str(error)
    assert not refused or "may stand before decimals or between thousands" in refused
