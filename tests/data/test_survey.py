"""What is in a table: columns, gaps, values that look wrong, and the command to run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql.data.reading import Table, read_table
from ieql.data.survey import sentinel_notes, survey, twin_notes

RNG = np.random.default_rng(0)


def said(frame: pd.DataFrame) -> list[str]:
    return [note.text for note in sentinel_notes(frame)]


@pytest.mark.parametrize(
    ("values", "number"),
    [
        ([0.5, 0.7, -9999], "-9999"),
        ([20.0, 25.0, 999.0], "999"),
        ([100.0, 900.0, 9999.0, 9999.0], "9999"),
        ([1.0, 2.0, -999.25], "-999.25"),
        ([500.0, 5000.0, 99999.0], "99999"),
        ([997.0, 998.0, 999.0, 1000.0], None),  # one number among others
        ([0.0, 5000.0, 10000.0, 9999.0], None),
        ([9999.0, 9999.0], None),  # nothing else is there to lie apart from
        ([1.0, 2.0, -9998.0], None),
    ],
)
def test_sentinels_lie_apart(values: list[float], number: str | None) -> None:
    found = said(pd.DataFrame({"x": values}))
    assert len(found) == (number is not None)
    if number is not None:
        assert found[0].startswith(f"{number} stands ")
        assert found[0].endswith(f"say --na {number}")


@given(st.lists(st.floats(-500, 500), min_size=2, max_size=20))
def test_ordinary_values_are_no_sentinels(values: list[float]) -> None:
    assert said(pd.DataFrame({"x": values})) == []


def test_twins_are_named() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1, 2], "c": [1.0, 3.0], "d": [5, 5], "e": [5, 5]})
    (note,) = twin_notes(frame)
    assert note.text == "'b' is the same as 'a' in every row; leave one of them out"


def table(tmp_path: Path, **columns: object) -> Table:
    path = tmp_path / "t.csv"
    n = 40
    frame = pd.DataFrame({"x": RNG.normal(size=n), "y": RNG.normal(size=n), **columns})
    frame.to_csv(path, index=False)
    return read_table(path)


def test_each_column_says_what_a_fit_does_with_it(tmp_path: Path) -> None:
    found = survey(
        table(
            tmp_path,
            c=[7] * 40,
            who=["a", "b"] * 20,
            serial=[f"s{i}" for i in range(40)],
            day=[f"{i % 12 + 1:02d}/01/2024" for i in range(40)],
            gone=[None] * 40,
            bad=[*range(39), "off"],
            gaps=[*range(38), None, None],
        )
    )
    assert {c.name: c.then for c in found.columns} == {
        "x": "input or target",
        "y": "input or target",
        "c": "left out: always the same",
        "who": "left out; may be --categories or --groups",
        "serial": "left out",
        "day": "left out; --dates tells day and month",
        "gone": "left out: empty",
        "bad": "refused: correct it, or --na, or --exclude",
        "gaps": "input or target, without these rows",
    }
    assert [c.n_missing for c in found.columns][-1] == 2


def test_values_far_from_the_others_are_shown(tmp_path: Path) -> None:
    lines = survey(table(tmp_path, z=[*RNG.normal(size=39), 1e6])).lines()
    assert any(
        line.startswith("Warning: a few values are far from the others in 'z' (1e+06)")
        for line in lines
    )


def test_rows_that_are_there_twice_are_counted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n1,2\n1,2\n3,4\n")
    assert "Some rows are there more than once (1); each counts." in str(
        read_table(tmp_path / "t.csv")
    )


def test_the_command_has_the_options_that_were_given(tmp_path: Path) -> None:
    path = tmp_path / "t t.csv"
    path.write_text("title\nx [mm];y;z\n1.500;2;-9999\n3.250;4;5\n")
    found = read_table(path, decimal="comma", na=["-9999"], skip_rows=1)
    assert survey(found).command == (
        f"ieql fit '{path}' --target y --skip-rows 1 --decimal comma --na -9999 --units"
    )
