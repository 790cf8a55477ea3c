"""Where a table stands in a text: most of it is told in test_awkward_files.py."""

from __future__ import annotations

import io

import pytest

from ieql.data.layout import Layout, find_layout
from ieql.data.notes import sentences
from ieql.data.text_content import TextContent
from ieql.errors import IeqlError

ROWS = "1.5,2,3\n2.5,4,5\n3.5,6,7\n4.5,8,9\n"


def layout(text: str, **told: object) -> Layout:
    return find_layout(TextContent("'f.csv'", lambda: io.StringIO(text, newline="")), **told)


@pytest.mark.parametrize(
    ("above", "names", "first"),
    [
        ("a,b,y\n", "aby", 2),
        ("\n\na,b,y\n\n", "aby", 5),
        ("Run,5\na,b,y\n", "aby", 3),
        ("Bench,3,x\nDate,2024-01-01,\n,,\na,b,y\n", "aby", 5),
        ("a,b,y\n-,-,-\n", "aby", 2),  # a row of gaps is data
        ("m,s,K\n", "msK", 2),  # names that look like units
        ("a,b,y\nm,s,K\n", "aby", 3),
        ("2019,2020,2021\n", ("2019", "2020", "2021"), 2),
        ("", ("column1", "column2", "column3"), 1),
        ("0,1,0\n", ("column1", "column2", "column3"), 1),
    ],
)
def test_names_and_first_row_of_data(above: str, names: tuple[str, ...], first: int) -> None:
    found = layout(above + ROWS)
    assert (found.names, found.first_line) == (tuple(names), first)


def test_whole_numbers_as_names_are_doubtful_unless_they_count() -> None:
    assert sentences(layout("0,1,2\n" + ROWS).notes) == []
    (said,) = sentences(layout("3,7,12\n" + ROWS).notes)
    assert said == (
        "Warning: the numbers 3, 7, 12 in line 1 are taken for the names of the columns; say "
        "--no-header if they are data."
    )
    assert layout("3,7,12\n" + ROWS, no_header=True).first_line == 1


def test_two_lines_of_names_are_one_too_many() -> None:
    with pytest.raises(IeqlError, match="lines 2 and 3 may both name the columns"):
        layout("Bench 3\na,b,y\nc,d,z\n" + ROWS)
    assert layout("a,b,y\nc,d,z\n" + ROWS, units_row=True).names == ("a", "b", "y")
    assert layout("a,b,y\nc,d,z\n" + ROWS, skip_rows=1).names == ("c", "d", "z")


def test_a_separator_that_only_the_names_have_is_none() -> None:
    found = layout("a;b;y\n" + ROWS)  # refused by whoever reads the rows
    assert (found.separator, found.names) == (";", ("a", "b", "y"))


def test_a_row_of_words_is_no_row_of_units() -> None:
    with pytest.raises(IeqlError, match="may both name"):
        layout("a,b,y\nmin,max,mean\n" + ROWS)
    assert layout("a,b,y\n[rpm],(%),N*m\n" + ROWS).units == {"a": "rpm", "b": "%", "y": "N*m"}
