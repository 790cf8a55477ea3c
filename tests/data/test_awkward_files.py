"""Files as people have them, each with its story: read and said, or refused in one sentence.

Every story is told in Python and on the command line, and stands in the table of
docs/guide/files.md with what is said about it; ``python tests/data/test_awkward_files.py`` prints
that table.
"""

from __future__ import annotations

import gzip
import os
import re
import sys
import tempfile
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import ieql
from ieql.cli import app
from ieql.errors import IeqlError

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "files.md"
N = 12
TRUTH = pd.DataFrame(
    {
        "speed": 1000.5 + 250 * np.arange(N),
        "load": (np.arange(N) * 7 % N) / 10 + 0.25,
        "torque": 30.125 + 1.5 * (np.arange(N) * 5 % N),
    }
)


def lines(
    row: Callable[[Any], str] | None = None,
    header: str = "speed,load,torque",
    sep: str = ",",
    decimal: str = ".",
) -> str:
    """The true table as text; `row` writes each row of it its own way."""

    def plain(values: Any) -> str:
        cells = (values.speed, values.load, values.torque)
        return sep.join(repr(float(cell)).replace(".", decimal) for cell in cells)

    rows = [(row or plain)(values) for values in TRUTH.itertuples()]
    return "\n".join([header, *rows]) + "\n"


def german(header: str = "speed;load;torque") -> str:
    return lines(header=header, sep=";", decimal=",")


def spoiled(cells: Mapping[int, str]) -> str:
    """The plain table with other cells for the load in some rows."""
    return lines(
        lambda r: f"{r.speed!r},{cells.get(r.Index, repr(float(r.load)))},{float(r.torque)!r}"
    )


def grouped(value: float, mark: str, decimal: str) -> str:
    """A number with a mark between thousands."""
    return f"{value:,.1f}".replace(".", "d").replace(",", mark).replace("d", decimal)


def workbook(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> Callable[[Path], None]:
    """A writer of an Excel file with these sheets."""

    def write(path: Path) -> None:
        import openpyxl

        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(list(row))
        book.save(path)

    return write


ROWS = TRUTH.to_numpy().tolist()
NAMES = ["speed", "load", "torque"]


@dataclass(frozen=True)
class Story:
    """A file, how it is read, and what must come of it.

    `content` is its text or bytes, or writes it; `more` are further files. `options` are those of
    `read_table`, `fit` those of `split` as well. `dropped` are the rows that must be left out, and
    `changed` columns that differ from the true table. A story with `refused` ends there.
    """

    title: str
    content: Any
    file: str = "bench.csv"
    more: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] | None = None
    missing: str = "drop"
    target: str = "torque"
    names: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[int, ...] = ()
    changed: Mapping[str, Sequence[float]] = field(default_factory=dict)
    refused: str = ""
    said: tuple[str, ...] = ()

    def write(self) -> None:
        content = self.content
        if callable(content):
            content(Path(self.file))
        else:
            Path(self.file).write_bytes(content if isinstance(content, bytes) else content.encode())
        for name, text in self.more.items():
            Path(name).write_text(text, encoding="utf-8")

    @property
    def files(self) -> list[str]:
        return [self.file, *self.more]

    def flags(self) -> list[str]:
        """The options as the command line has them."""
        found: list[str] = []
        for name, value in self.options.items():
            flag = "--" + name.replace("_", "-")
            for part in value if isinstance(value, tuple) else (value,):
                found += [flag] if part is True else [flag, str(part)]
        if self.missing != "drop":
            found += ["--missing", self.missing]
        return found

    def expected(self) -> pd.DataFrame:
        """The rows that must be read, inputs first."""
        table = TRUTH.assign(**{name: list(v) for name, v in self.changed.items()})
        table = table.drop(index=list(self.dropped)).rename(columns=self.names)
        inputs = list(self.inputs or [name for name in table.columns if name != self.target])
        return table[[*inputs, self.target]].reset_index(drop=True)


STORIES = (
    Story("a logger writes a plain CSV file", lines()),
    Story("a German spreadsheet: semicolons and decimal commas", german(), said=("decimal comma",)),
    Story("tabs between columns", lines(header="speed\tload\ttorque", sep="\t"), file="bench.tsv"),
    Story(
        "columns lined up with blanks, as simulation programs print them",
        lines(lambda r: f"  {r.speed:9.1f} {r.load:8.2f}  {r.torque:9.3f}", " speed load torque"),
        file="bench.txt",
    ),
    Story(
        "names of two words, and more than one blank between columns",
        lines(
            lambda r: f"{r.speed:11.1f}  {r.load:8.2f}  {r.torque:9.3f}",
            "shaft speed      load     torque",
        ),
        names={"speed": "shaft speed"},
    ),
    Story("the first line says sep=; for the spreadsheet", "sep=;\n" + german()),
    Story(
        "the test bench writes a preamble of its own",
        "Bench 3\nOperator: Miller\nDate;01.02.2024\n\n" + german(),
        said=("line 5 names the columns; above it 3 lines left out",),
    ),
    Story(
        "a spreadsheet has padded the preamble with semicolons",
        "Bench 3;;\nDate;01.02.2024;\n;;\n" + german(),
        said=("line 4 names the columns",),
    ),
    Story(
        "a row of units below the names",
        lines(header="speed,load,torque\n1/min,-,Nm"),
        said=("line 2 holds units (speed in 1/min, torque in Nm)",),
    ),
    Story(
        "preamble, units in brackets, decimal comma and a column of remarks, all at once",
        "Run 7\n"
        + lines(
            lambda r: f"{r.speed};{r.load};{r.torque};warm".replace(".", ","),
            "speed;load;torque;remark\n[1/min];[%];[Nm];[-]",
        ),
        said=("holds units", "decimal comma", "text in 'remark'"),
    ),
    Story(
        "comment lines at the top and between the rows",
        "# made by rig 4\n"
        + lines(
            lambda r: f"{'# pause' + chr(10) if r.Index == 5 else ''}{r.speed},{r.load},{r.torque}"
        ),
        said=("lines that begin with '#' are comments (2)",),
    ),
    Story(
        "NumPy has put the names into a comment",
        lines(header="# speed load torque", sep=" "),
        said=("stand in the comment of line 1",),
    ),
    Story(
        "every line ends in two semicolons more",
        "".join(line + ";;\n" for line in german().splitlines()),
        said=("2 empty columns without a name",),
    ),
    Story(
        "pandas has written its row numbers, too",
        lines(lambda r: f"{r.Index},{r.speed},{r.load},{r.torque}", ",speed,load,torque"),
        said=("has no name and counts the rows",),
    ),
    Story(
        "R has written its row names, but no name for them",
        lines(
            lambda r: f'"{r.Index + 1}" {r.speed} {r.load} {r.torque}', '"speed" "load" "torque"'
        ),
        file="bench.txt",
        said=("the first column, which has no name and counts the rows",),
    ),
    Story(
        "a blank behind every comma, in the header, too",
        lines(header="speed, load, torque", sep=", "),
    ),
    Story(
        "years for names",
        lines(header="2019,2020,torque"),
        names={"speed": "2019", "load": "2020"},
        said=("the numbers 2019, 2020 in line 1 are taken for the names of the columns",),
    ),
    Story(
        "no names at all",
        "\n".join(lines().splitlines()[1:]) + "\n",
        target="column3",
        names={"speed": "column1", "load": "column2", "torque": "column3"},
        said=("no header line: the columns are called 'column1' to 'column3'",),
    ),
    Story(
        "thousands with points: 1.234,5",
        lines(
            lambda r: f"{grouped(r.speed, '.', ',')};{r.load};{r.torque}".replace(".", ",").replace(
                grouped(r.speed, ",", ","), grouped(r.speed, ".", ",")
            ),
            "speed;load;torque",
        ),
        said=("thousands separators, such as '1.000,5'",),
    ),
    Story(
        'thousands with commas, in quotation marks: "1,234.5"',
        lines(lambda r: f'"{grouped(r.speed, ",", ".")}",{r.load},{r.torque}'),
        said=("thousands separators, such as '1,000.5'",),
    ),
    Story(
        "thousands with apostrophes, from Switzerland: 1'234.5",
        lines(
            lambda r: f"{grouped(r.speed, chr(39), '.')};{r.load};{r.torque}", "speed;load;torque"
        ),
        said=("thousands separators",),
    ),
    Story(
        "thousands with narrow blanks, from France: 1 234,5",
        lines(
            lambda r: f"{grouped(r.speed, chr(0x202F), ',')};{r.load};{r.torque}".replace(".", ","),
            "speed;load;torque",
        ),
        said=("thousands separators",),
    ),
    Story(
        "1.250 in every row: a thousand and more, or a bit more than one?",
        "speed;torque\n" + "".join(f"{i + 1}.250;{i * i}\n" for i in range(N)),
        refused="column 'speed' holds '1.250', in which the point may stand before decimals or "
        "between thousands",
    ),
    Story(
        "the same, and the user says which",
        "speed;torque\n" + "".join(f"{i + 1}.250;{i * i}\n" for i in range(N)),
        options={"decimal": "comma"},
        inputs=("speed",),
        changed={
            "speed": [1000.0 * (i + 1) + 250 for i in range(N)],
            "torque": [float(i * i) for i in range(N)],
        },
        said=("thousands separators, such as '1.250'",),
    ),
    Story(
        "the load is written with a percent sign",
        lines(lambda r: f"{r.speed},{100 * r.load:.0f} %,{r.torque}"),
        changed={"load": [float(f"{100 * x:.0f}") for x in TRUTH["load"]]},
        said=("'%' stands behind every number of 'load', which is used as written",),
    ),
    Story(
        "the unit is written into every cell: 1000.5 rpm",
        lines(lambda r: f"{r.speed} rpm,{r.load},{r.torque}"),
        said=("'rpm' stands behind every number of 'speed'",),
    ),
    Story(
        "a minus sign from a word processor",
        lines(lambda r: f"\u2212{r.speed},{r.load},{r.torque}"),
        changed={"speed": [-x for x in TRUTH["speed"]]},
    ),
    Story(
        "a formula has failed in two cells: #DIV/0!",
        spoiled({2: "#DIV/0!", 7: "#DIV/0!"}),
        dropped=(2, 7),
        said=("'#DIV/0!' (2)", "2 of 12 rows, which have gaps ('load' 2)"),
    ),
    Story(
        "cells are empty, or hold NA, n/a or a dash",
        spoiled({1: "", 3: "NA", 4: "n/a", 9: "-"}),
        dropped=(1, 3, 4, 9),
        said=("4 of 12 rows, which have gaps",),
    ),
    Story(
        "an empty cell, and the user wants none left out",
        spoiled({1: ""}),
        missing="error",
        refused="column 'load': 1 of 12 values are missing (NaN), the first in data row 2",
    ),
    Story(
        "a sensor that was off says -9999",
        spoiled({4: "-9999"}),
        changed={"load": [-9999.0 if i == 4 else x for i, x in enumerate(TRUTH["load"])]},
        said=("-9999 stands 1 time in 'load', apart from all other values",),
    ),
    Story(
        "the same, and the user says that -9999 is a missing cell",
        spoiled({4: "-9999"}),
        options={"na": ("-9999",)},
        dropped=(4,),
        said=("-9999 means a missing cell, as told", "1 of 12 rows"),
    ),
    Story(
        "columns of text beside the numbers",
        lines(lambda r: f"{r.speed},Miller,{r.load},{r.torque},ok", "speed,who,load,torque,remark"),
        said=("text in 'who', 'remark'",),
    ),
    Story(
        "a column with the date and time of each row",
        lines(
            lambda r: f"2024-01-31T08:{r.Index:02d}:00Z,{r.speed},{r.load},{r.torque}",
            "time,speed,load,torque",
        ),
        said=("dates or times in 'time'",),
    ),
    Story(
        "the time is an input: seconds since the first row",
        lines(
            lambda r: f"31.01.2024 08:{r.Index:02d}:00,{r.speed},{r.load},{r.torque}",
            "time,speed,load,torque",
        ),
        inputs=("time", "load"),
        changed={"time": [60.0 * i for i in range(N)]},
        said=("'time' is in seconds since the first row (2024-01-31 08:00:00)",),
    ),
    Story(
        "01/02/2024 is an input: the first of February, or the second of January?",
        lines(lambda r: f"{r.Index + 1:02d}/02/2024,{r.load},{r.torque}", "day,load,torque"),
        inputs=("day", "load"),
        refused="column 'day' holds '01/02/2024' and the like, which may have the day or the month "
        "first; say --dates day-first or --dates month-first",
    ),
    Story(
        "the same, and the user says which",
        lines(lambda r: f"{r.Index + 1:02d}/02/2024,{r.load},{r.torque}", "day,load,torque"),
        options={"dates": "day-first"},
        inputs=("day", "load"),
        changed={"day": [86400.0 * i for i in range(N)]},
        said=("seconds since the first row (2024-02-01 00:00:00)",),
    ),
    Story(
        "somebody has typed a word among the numbers",
        spoiled({6: "about 0.4"}),
        refused="column 'load' holds 'about 0.4' in data row 7, which is not a number",
    ),
    Story(
        "the logger was started again and wrote its header once more",
        lines(
            lambda r: (
                ("speed,load,torque\n" if r.Index == 6 else "") + f"{r.speed},{r.load},{r.torque}"
            )
        ),
        said=("1 row with the header once more",),
    ),
    Story(
        "two lines of names",
        lines(header="n_act,tau,M_act\nspeed,load,torque"),
        refused="lines 1 and 2 may both name the columns; say --units-row for the first, "
        "or --skip-rows 1 for the second",
    ),
    Story(
        "the same, and the user says that one line is to be skipped",
        lines(header="n_act,tau,M_act\nspeed,load,torque"),
        options={"skip_rows": 1},
        said=("skipped 1 line at the top, as told",),
    ),
    Story(
        "a line of descriptions below the names, which the user names as such",
        lines(header="speed,load,torque\nDrehzahl,Last,Moment"),
        options={"units_row": True},
        said=("line 2 is left out",),
    ),
    Story("packed with gzip", gzip.compress(lines().encode()), file="bench.csv.gz"),
    Story(
        "an oscilloscope writes UTF-16",
        lines(header="speed;load;torque", sep=";").encode("utf-16"),
        file="scope.csv",
    ),
    Story(
        "an old program writes Latin-1: T_°C",
        lines(header="T_°C,load,torque").encode("latin-1"),
        names={"speed": "T_°C"},
    ),
    Story(
        "Excel, with a title, units below the names and an empty row",
        workbook({"Run": [["Bench 3"], [], NAMES, ["rpm", "-", "Nm"], *ROWS, []]}),
        file="bench.xlsx",
        said=("line 3 names the columns", "line 4 holds units"),
    ),
    Story(
        "Excel, several sheets with data",
        workbook({"cold": [NAMES, *ROWS], "warm": [NAMES, *ROWS]}),
        file="bench.xlsx",
        refused="has several sheets with data: 'cold', 'warm'; name one with --sheet",
    ),
    Story(
        "the same, and the user names one",
        workbook({"cold": [NAMES, *ROWS], "warm": [NAMES, [1, 2, 3]]}),
        file="bench.xlsx",
        options={"sheet": "cold"},
    ),
    Story(
        "Excel, numbers that are stored as text",
        workbook({"Run": [NAMES, *([a, str(b).replace(".", ","), c] for a, b, c in ROWS)]}),
        file="bench.xlsx",
        refused="the cell in row 2, column 2 holds '0,25' as a text, not as a number",
    ),
    Story("Parquet", lambda path: TRUTH.to_parquet(path), file="bench.parquet"),
    Story("Feather", lambda path: TRUTH.to_feather(path), file="bench.feather"),
    Story(
        "two files of the same bench",
        "\n".join(lines().splitlines()[:6]) + "\n",
        file="monday.csv",
        more={
            "tuesday.csv": "\n".join([lines().splitlines()[0], *lines().splitlines()[6:]]) + "\n"
        },
        said=("2 files with 5, 7 rows; the column 'file' tells which",),
    ),
    Story(
        "two files, of which one lacks a column",
        lines(),
        file="monday.csv",
        more={"tuesday.csv": "speed,torque\n1,2\n3,4\n"},
        refused="'tuesday.csv' lacks the column 'load', which 'monday.csv' has; --exclude 'load'",
    ),
    Story(
        "the same channel is there twice",
        lines(lambda r: f"{r.speed},{r.speed},{r.load},{r.torque}", "speed,n,load,torque"),
        inputs=("speed", "n", "load"),
        changed={"n": list(TRUTH["speed"])},
        said=("'n' is the same as 'speed' in every row; leave one of them out",),
    ),
    Story(
        "a name is there twice",
        lines(header="speed,speed,torque"),
        refused="The column name 'speed' appears 2 times in the header of",
    ),
    Story(
        "the disk was full: the last line is cut short",
        lines()[:-12] + "\n",
        refused="line 13 has 2 fields but the header has 3; complete or delete that line",
    ),
    Story(
        "a line of text at the end of the file",
        lines() + "End of measurement\n",
        refused="line 14 has 1 field but the header has 3; complete or delete that line",
    ),
    Story(
        "a decimal comma in one column and a decimal point in another",
        lines(
            lambda r: f"{r.speed!s:.6};{r.load};{r.torque}".replace(".", ",", 1),
            "speed;load;torque",
        ),
        refused="column 'speed' is written with a decimal comma and column 'load' with a decimal "
        "point; use the same mark in the whole file",
    ),
    Story(
        "decimal commas, and commas between the columns",
        lines(sep=",", decimal=","),
        refused="the header has 3 fields between ',' but every row has 6",
    ),
)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


class StandIn:
    """Takes the table of a fit and goes no further."""

    taken: tuple[Any, Any]

    def __init__(self, **settings: Any) -> None: ...

    def _fit(self, X: Any, y: Any, *others: Any) -> None:
        type(self).taken = X, y
        raise IeqlError("This is as far as it goes.")


def in_python(story: Story) -> tuple[pd.DataFrame, list[str]]:
    """What is read, and what is said."""
    table = ieql.read_table(*story.files, **story.options)
    from ieql.data.roles import Roles, take

    X, y = table.split(story.target, story.inputs, missing=story.missing)
    taken = take(table, Roles((story.target,), story.inputs, missing=story.missing))
    from ieql.data.notes import sentences

    return X.assign(**{story.target: y}), sentences([*table.notes, *taken.notes])


def on_the_command_line(story: Story) -> tuple[Any, list[str]]:
    """What the command hands to the fit, or None, and the lines on stderr."""
    module = types.ModuleType("ieql.regressor")
    model = type("StandIn", (StandIn,), {"taken": None})
    module.IEQLRegressor = model  # type: ignore[attr-defined]
    saved = sys.modules.get("ieql.regressor")
    sys.modules["ieql.regressor"] = module
    try:
        inputs = ["--inputs", ",".join(story.inputs)] if story.inputs else []
        command = ["fit", *story.files, "--target", story.target, *inputs, *story.flags()]
        result = CliRunner().invoke(app, command)
    finally:
        del sys.modules["ieql.regressor"]
        if saved is not None:
            sys.modules["ieql.regressor"] = saved
    assert result.exit_code == 2, result.output  # the stand-in refuses what it is given
    found = None
    if model.taken is not None:
        X, y = model.taken
        found = X.join(y)
    return found, result.stderr.splitlines()


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.title)
def test_in_python(story: Story) -> None:
    story.write()
    if story.refused:
        with pytest.raises(IeqlError) as caught:
            in_python(story)
        assert story.refused in str(caught.value)
        assert "\n" not in str(caught.value)
        return
    found, said = in_python(story)
    pd.testing.assert_frame_equal(found, story.expected(), check_dtype=False)
    for words in story.said:
        assert any(words in line for line in said), said
    assert bool(said) >= bool(story.said)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.title)
def test_on_the_command_line(story: Story) -> None:
    story.write()
    found, said = on_the_command_line(story)
    if story.refused:
        (line,) = said
        assert line.startswith("Error: ")
        assert story.refused in line
        return
    pd.testing.assert_frame_equal(found, story.expected(), check_dtype=False)
    *lines_said, end = said
    assert end == "Error: This is as far as it goes."
    assert lines_said == in_python(story)[1]  # the same is said at both doors


def row_of_the_page(story: Story) -> str:
    """A line of the table in the guide: the story, the command, and what is said."""
    story.write()
    _, said = on_the_command_line(story)
    said = [line for line in said if line != "Error: This is as far as it goes."]
    flags = " ".join(story.flags())
    title = story.title + (f" (`{flags}`)" if flags else "")
    words = "<br>".join(said) or "read, with nothing to say"
    return f"| {title} | {words} |".replace("\u202f", " ")


def test_the_page_tells_these_stories() -> None:
    assert len(STORIES) >= 40
    rows = re.findall(r"^\| .* \| .* \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    told = [row for row in rows if row.startswith(tuple(f"| {s.title}" for s in STORIES))]
    assert told == [row_of_the_page(story) for story in STORIES], (
        "python tests/data/test_awkward_files.py prints the table"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        print("\n".join(row_of_the_page(story) for story in STORIES))
