"""Columns and their parts in a fit, and the rows that are left to learn from."""

from __future__ import annotations

from pathlib import Path

import pytest

from ieql.data.notes import sentences
from ieql.data.reading import Table, read_table
from ieql.data.roles import Roles, Taken, inputs_of, take
from ieql.errors import IeqlError

TEXT = """t,x,who,w,s,flag,y
2024-01-01,1,a,1,0.1,0,2
2024-01-02,2,a,2,0.1,0,4
2024-01-03,,b,1,0.1,1,6
2024-01-04,4,b,2,0.2,0,8
2024-01-05,5,b,,0.2,1,10
2024-01-06,6,a,2,0.2,,12
2024-01-07,7,,2,0.2,0,14
"""


@pytest.fixture
def table(tmp_path: Path) -> Table:
    (tmp_path / "t.csv").write_text(TEXT)
    return read_table(tmp_path / "t.csv")


def taken(table: Table, **roles: object) -> Taken:
    return take(table, Roles(("y",), ("x",), **roles))


def test_only_gaps_in_what_is_used_cost_rows(table: Table) -> None:
    assert taken(table).y["y"].tolist() == [2, 4, 8, 10, 12, 14]
    assert taken(table, weights="w").y["y"].tolist() == [2, 4, 8, 12, 14]
    assert taken(table, weights="w").weight.tolist() == [1, 2, 2, 2, 2]
    assert taken(table, groups="who").groups.tolist() == ["a", "a", "b", "b", "a"]


def test_deviations_become_weights(table: Table) -> None:
    weight = taken(table, sigma="s").weight
    assert weight[0] / weight[-1] == pytest.approx(4)


@pytest.mark.parametrize("text", ["flag", "flag=1", "flag = 1.0"])
def test_rows_are_held_out_by_a_column(table: Table, text: str) -> None:
    found = taken(table, held_out=text)
    assert found.y["y"].tolist() == [2, 4, 8, 12, 14]  # where nothing stands, nothing is held out
    assert found.outside[1]["y"].tolist() == [10]  # the other one has a gap
    assert "Read: 1 row held out, by " in sentences(found.notes)[-1]


def test_rows_are_held_out_by_a_word(table: Table) -> None:
    assert taken(table, held_out="who=b").outside[1]["y"].tolist() == [8, 10]


def test_without_inputs_the_columns_of_the_other_parts_are_none(table: Table) -> None:
    roles = Roles(("y",), groups="who", sigma="s", held_out="flag=0")
    inputs, notes = inputs_of(table, roles)
    assert inputs == ("x", "w")
    (line,) = sentences(notes)
    assert line.startswith("Left out: dates or times in 't' (seconds")


def test_faults_are_named_by_the_rows_of_the_file(tmp_path: Path) -> None:
    """Rows with gaps are left out first; the row that is named must not be counted without them."""
    (tmp_path / "t.csv").write_text("x,y\n,1\n,2\n3,inf\n4,5\n5,6\n6,7\n7,8\n")
    with pytest.raises(IeqlError, match=r"column 'y': 1 of 7 values are infinite, .* data row 3"):
        read_table(tmp_path / "t.csv").split("y")


def test_too_few_rows_are_left(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n" + ",1\n" * 9 + "1,2\n")
    with pytest.raises(IeqlError, match=r"has 1 sample\(s\); at least 4 rows are needed"):
        read_table(tmp_path / "t.csv").split("y")


def test_several_targets_are_a_frame(table: Table) -> None:
    X, y = table.split(["y", "s"], ["x"])
    assert (list(X.columns), list(y.columns)) == (["x"], ["y", "s"])


def test_a_date_is_no_target(table: Table) -> None:
    with pytest.raises(IeqlError, match="column 't' holds '2024-01-01' in data row 1, a date or"):
        table.split("t", ["x"])
