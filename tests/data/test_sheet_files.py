"""Excel, Parquet and Feather: values alone are read, within limits, and damage is one sentence."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ieql.data import sheet_files
from ieql.data.cells import ColumnKind
from ieql.data.reading import read_table
from ieql.errors import IeqlError

openpyxl = pytest.importorskip("openpyxl", reason="the extra 'excel' is not installed")


def book(path: Path, rows: Sequence[Sequence[Any]], name: str = "Run") -> Path:
    made = openpyxl.Workbook()
    made.active.title = name
    for row in rows:
        made.active.append(list(row))
    made.save(path)
    return path


def test_what_a_sheet_may_hold(tmp_path: Path) -> None:
    start = datetime.datetime(2024, 1, 31, 8)
    rows = [
        [start + datetime.timedelta(seconds=i), i, i * 1.5, i % 2 == 0, f"p{i}", "#DIV/0!"]
        for i in range(5)
    ]
    path = book(tmp_path / "a.xlsx", [["t", "n", "x", "on", "who", "broken"], *rows])
    table = read_table(path)
    assert table.kinds == {
        "t": ColumnKind.DATE,
        "n": ColumnKind.NUMBER,
        "x": ColumnKind.NUMBER,
        "on": ColumnKind.NUMBER,
        "who": ColumnKind.TEXT,
        "broken": ColumnKind.EMPTY,
    }
    X, y = table.split("x", ["t", "n", "on"])
    assert X["t"].tolist() == [0, 1, 2, 3, 4]
    assert y.tolist() == [0, 1.5, 3, 4.5, 6]


def test_of_a_formula_its_stored_value_is_read(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", [["a", "b"], [1, "=1+1"], [2, "=2+2"], [3, 5]])
    assert read_table(path).frame["b"].isna().sum() == 2  # nobody has computed them


def test_a_sheet_that_is_not_there(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", [["a", "b"], [1, 2]], "Run 1")
    with pytest.raises(IeqlError, match=r"has no sheet 'Run1'\. Did you mean 'Run 1'\?"):
        read_table(path, sheet="Run1")


@pytest.mark.parametrize("name", ["a.xlsx", "a.parquet", "a.feather"])
@pytest.mark.parametrize("content", [b"", b"speed,load\n1,2\n", b"PK\x03\x04" + b"\0" * 50])
def test_files_that_are_something_else(tmp_path: Path, name: str, content: bytes) -> None:
    if name != "a.xlsx":
        pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(IeqlError) as caught:
        read_table(tmp_path / name)
    assert str(caught.value).count("\n") == 0
    assert str(caught.value).endswith(".")


def test_files_that_are_not_there(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    for name in ("a.xlsx", "a.parquet", "a.feather"):
        with pytest.raises(IeqlError, match="there is no such file"):
            read_table(tmp_path / name)


def test_a_workbook_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = book(tmp_path / "a.xlsx", [["a", "b"], *([i, i] for i in range(2000))])
    monkeypatch.setattr(sheet_files, "MOST_UNPACKED", 10_000)
    with pytest.raises(IeqlError, match="holds more than 1 GB once unpacked"):
        read_table(path)


def test_a_workbook_with_entities_is_refused(tmp_path: Path) -> None:
    """A few lines of entities can unpack to gigabytes while they are parsed."""
    path = book(tmp_path / "a.xlsx", [["a", "b"], [1, 2]])
    bad = tmp_path / "b.xlsx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(bad, "w") as new:
        for part in old.infolist():
            text = old.read(part)
            if part.filename.endswith("sheet1.xml"):
                text = b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">]>' + text[22:]
            new.writestr(part, text)
    with pytest.raises(IeqlError, match="a part of it declares a type"):
        read_table(bad)


def test_too_many_cells_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    frame = pd.DataFrame({"a": range(50), "b": range(50)})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_feather(tmp_path / "a.feather")
    book(tmp_path / "a.xlsx", [["a", "b"], *([i, i] for i in range(50))])
    monkeypatch.setattr(sheet_files, "MOST_CELLS", 60)
    for name in ("a.parquet", "a.feather", "a.xlsx"):
        with pytest.raises(IeqlError, match="has more than 60 cells"):
            read_table(tmp_path / name)


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("a.xlsx", "To read Excel files, openpyxl is needed: pip install 'ieql[excel]'"),
        ("a.feather", "To read Parquet and Feather files, pyarrow is needed: pip install"),
    ],
)
def test_who_lacks_a_reader_is_told_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, sentence: str
) -> None:
    def lacking(module: str) -> Any:
        raise ImportError(module)

    monkeypatch.setattr(sheet_files, "import_module", lacking)
    (tmp_path / file).write_bytes(b"")
    with pytest.raises(IeqlError) as caught:
        read_table(tmp_path / file)
    assert sentence in str(caught.value)


def test_types_of_parquet_columns(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None, 3], dtype="Int64"),
            "on": pd.array([True, None, False], dtype="boolean"),
            "who": pd.Categorical(["a", "b", "a"]),
            "t": pd.date_range("2024-01-01", periods=3),
            "x": [0.5, 1.5, 2.5],
        },
        index=[5, 6, 7],
    )
    frame.to_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    assert [table.kinds[c] for c in ("n", "on", "who", "t", "x")] == [
        *(ColumnKind.NUMBER, ColumnKind.NUMBER, ColumnKind.TEXT, ColumnKind.DATE),
        ColumnKind.NUMBER,
    ]
    assert table.frame["n"].isna().tolist() == [False, True, False]
