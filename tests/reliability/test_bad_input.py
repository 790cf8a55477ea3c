"""Bad input at both doors: one clear sentence (what, where, how to mend it), and nothing is lost.

The tables below are the list of what users do wrong. Every row is tried on the command line and in
Python; the sentences are the whole of what a user sees.
"""

from __future__ import annotations

import errno
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner, Result

import ieql.run.folder
from fitted import model as hand_made
from ieql import IeqlError, IEQLRegressor
from ieql.cli import app
from ieql.data.reading import read_csv
from ieql.data.table import split_target, warn_of_rounding
from ieql.errors import OutsideDomainWarning
from ieql.model import from_form

QUICK: dict[str, Any] = {"max_time": 20, "max_trainings": 2, "n_jobs": 1, "random_state": 0}


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def fit_file(*options: object) -> Result:
    limits = ("--time", 20, "--trainings", 2, "--jobs", 1)
    return command("fit", "data.csv", "--target", "y", "--out", "run", *limits, *options)


def fit_frame(X: Any, y: Any, **settings: Any) -> IEQLRegressor:
    return IEQLRegressor(**{**QUICK, **settings}).fit(X, y)


def refusal(result: Result) -> str:
    """The one sentence of a command that must be refused."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("Error: ").rstrip("\n")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def lines(row: Callable[[int], str], n: int = 20, header: str = "a,b,y") -> str:
    return "\n".join([header, *(row(i) for i in range(n))]) + "\n"


def good(i: int) -> str:
    return f"{i},{i * i % 7},{2 * i + 1}"


def spoiled(cell: str) -> str:
    """A good table but for column b in data row 6."""
    return lines(lambda i: f"{i},{cell},{2 * i + 1}" if i == 5 else good(i))


# --- files ------------------------------------------------------------------------------------

NO_NUMBER = (
    "which is not a number; write plain numbers (no units, no thousands separators) or leave the "
    "column out."
)
A_COMMA = (
    "with a comma in it; write all numbers with a decimal point, or all with a decimal comma and a "
    "semicolon between the columns, and no thousands separators."
)
AN_UNDERSCORE = (
    "with an underscore in it; write plain numbers (no thousands separators) or leave the column "
    "out."
)
OPTIONS = "; --na takes such a cell for a missing one, --exclude {!r} leaves the column out."
EXTREME = "holds numbers too large or too close together to compute with"
SEPARATORS = "separate columns by a comma, a semicolon, a tab or a vertical bar."
EVERY_ROW = (
    "name every column, use one separator in all lines, and a decimal point where the comma "
    "separates."
)

# In the sentences, {table} is the file or X, {target} the file or y, {file} the file's name where
# Python has none; {b} and the like say which options help with a column of the file.
BAD_FILES: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "'data.csv' is empty: a header line and data rows are needed."),
    "blank lines": ("\n  \n", "'data.csv' is empty: a header line and data rows are needed."),
    "header only": ("a,b,y\n", "'data.csv' has a header but no data rows."),
    "not text": (b"PK\x03\x04\0", "'data.csv' is not a text file; save the table as CSV first."),
    "no header": (
        lines(lambda i: f"{i}.5,2,{i}", header="0.5,1.5,2.5"),
        "{file}The target 'y' is not a column of the table. The columns are 'column1', 'column2', "
        "'column3'.",
    ),
    "separated by colons": (
        lines(good).replace(",", ":"),
        "{file}The target 'y' is not a column of the table, whose only column is 'a:b:y'; "
        + SEPARATORS,
    ),
    "another separator in the header": (
        lines(good, header="a;b;y"),
        "'data.csv': the header has 3 fields between ';' but every row has 1; " + EVERY_ROW,
    ),
    "decimal comma and comma between columns": (
        lines(lambda i: f"{i},5,{i},5,{i},5"),
        "'data.csv': the header has 3 fields between ',' but every row has 6; " + EVERY_ROW,
    ),
    "two decimal marks in two columns": (
        lines(lambda i: f"{i},5;{i}.5;{i}", header="a;b;y"),
        "'data.csv': column 'a' is written with a decimal comma and column 'b' with a decimal "
        "point; use the same mark in the whole file.",
    ),
    "two decimal marks in one column": (
        lines(lambda i: f"{i}{',' if i % 2 else '.'}5;{i};{i}", header="a;b;y"),
        "{table}, column 'a' holds '1,5' in data row 2, " + A_COMMA[:-1] + "{a}",
    ),
    "a line too short": (
        lines(good) + "1,2\n",
        "'data.csv', line 22 has 2 fields but the header has 3; complete or delete that line.",
    ),
    "a quotation mark left open": (
        lines(lambda i: '1,"2,3' if i == 3 else good(i)),
        "'data.csv', line 5 has 2 fields but the header has 3; complete or delete that line.",
    ),
    "a name twice": (
        lines(good, header="a,a,y"),
        "The column name 'a' appears 2 times in the header of 'data.csv'; every column needs its "
        "own name.",
    ),
    "a name missing": (
        lines(good, header="a,,y"),
        "'data.csv', line 1: column 2 has no name; name it in the header or delete it (a row index "
        "written by pandas is left out with index=False).",
    ),
    "text": (
        spoiled("on"),
        "{table}, column 'b' holds 'on' in data row 6, " + NO_NUMBER[:-1] + "{b}",
    ),
    "underscores": (
        spoiled("2024_01_1"),
        "{table}, column 'b' holds '2024_01_1' in data row 6, " + AN_UNDERSCORE[:-1] + "{b}",
    ),
    "underscores in fractions": (
        spoiled("1_000.5"),
        "{table}, column 'b' holds '1_000.5' in data row 6, " + AN_UNDERSCORE[:-1] + "{b}",
    ),
    "underscores and a decimal comma": (
        lines(lambda i: f"{i},5;{i};{'1_0,5' if i == 5 else i}", header="a;y;b"),
        "{table}, column 'b' holds '1_0,5' in data row 6, " + NO_NUMBER[:-1] + "{b}",
    ),
    "underscores in the target": (
        lines(lambda i: f"{i},{i % 3},{i}_0"),
        "{target}, column 'y' holds '0_0' in data row 1, " + AN_UNDERSCORE,
    ),
    "infinity": (
        spoiled("-inf"),
        "{table}, column 'b': 1 of 20 values are infinite, the first in data row 6; replace these "
        "cells or drop the rows.",
    ),
    "a number beyond all floats": (
        spoiled("1e400"),
        "{table}, column 'b': 1 of 20 values are infinite, the first in data row 6; replace these "
        "cells or drop the rows.",
    ),
    "a constant target": (
        lines(lambda i: f"{i},{i * i},3"),
        "The target 'y' is 3.0 in every row: there is nothing to learn.",
    ),
    "two rows": (lines(good, 2), "{table} has 2 sample(s); at least 4 rows are needed."),
    "huge numbers": (
        lines(lambda i: f"{i}e300,{i % 7},{i}"),
        f"The column 'a' {EXTREME} (up to 1.9e+301); give it in another unit.",
    ),
    "tiny numbers": (
        lines(lambda i: f"{i}e-300,{i % 7},{i}"),
        f"The column 'a' {EXTREME} (up to 1.9e-299); give it in another unit.",
    ),
    "a huge target": (
        lines(lambda i: f"{i},{i % 7},{i}e300"),
        f"The column 'y' {EXTREME} (up to 1.9e+301); give it in another unit.",
    ),
}


def write(content: str | bytes, path: str = "data.csv") -> None:
    Path(path).write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file(case: str) -> None:
    content, sentence = BAD_FILES[case]
    write(content)
    names = {"table": "'data.csv'", "target": "'data.csv'", "file": "'data.csv': "}
    names |= {column: OPTIONS.format(column) for column in "ab"}
    assert refusal(fit_file()) == sentence.format(**names)
    assert not Path("run").exists()
    with pytest.raises(IeqlError) as caught:
        fit_frame(*split_target(read_csv("data.csv"), ["y"]))
    assert str(caught.value) == sentence.format(table="X", target="y", file="", a=".", b=".")


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_does_not_replace_a_run(case: str) -> None:
    Path("run").mkdir()
    for name in ("run.json", "model.json", "front.jsonl"):
        write("{}\n", f"run/{name}")
    write(BAD_FILES[case][0])
    refusal(fit_file("--overwrite"))
    assert sorted(p.name for p in Path("run").iterdir()) == [
        "front.jsonl",
        "model.json",
        "run.json",
    ]


# --- files that are odd, but good --------------------------------------------------------------

ODD_FILES: dict[str, tuple[bytes, str, str]] = {
    "UTF-8 with a byte order mark": (lines(good).encode("utf-8-sig"), "2*a + 1", ""),
    "UTF-16": (lines(good).encode("utf-16"), "2*a + 1", ""),
    "Latin-1": (lines(good, header="Öl,b,y").encode("latin-1"), "2*Öl + 1", ""),
    "names with spaces and units": (
        lines(good, header='"n [1/min]","M, ""net"" [Nm]",y').encode(),
        "2*`n [1/min]` + 1",
        "",
    ),
    "line ends of Windows": (lines(good).replace("\n", "\r\n").encode(), "2*a + 1", ""),
    "a separator at the end of each row": (
        lines(lambda i: good(i) + ",").encode(),
        "2*a + 1",
        "",
    ),
    "a constant column": (
        lines(lambda i: f"{i},7,{2 * i + 1}").encode(),
        "2*a + 1",
        "Warning: The input 'b' has the same value in every row and is left out.\n",
    ),
    "more columns than rows": (
        lines(
            lambda i: ",".join(
                [*(str((i + 1) ** 2 * k % 29) for k in range(1, 25)), f"{i},{2 * i + 1}"]
            ),
            12,
            ",".join([*(f"c{k}" for k in range(1, 25)), "a", "y"]),
        ).encode(),
        "2*a + 1",
        "",
    ),
    "numbers up to 1e99, a target down to 1e-99": (
        lines(lambda i: f"{i}e97,{i % 3},{2 * i + 1}e-99").encode(),
        "2e-196*a + 1e-99",
        "",
    ),
    "whole numbers beyond 2^53": (
        lines(lambda i: f"{i},{2**53 + 1 + 2 * i},{2 * i + 1}").encode(),
        "2*a + 1",
        "Warning: X, column 'b' holds whole numbers beyond 2^53, the first in data row 1, which "
        "are rounded to 16 digits; subtract a constant from the column if the last digits "
        "matter.\n",
    ),
}


@pytest.mark.parametrize("case", ODD_FILES)
def test_an_odd_file(case: str) -> None:
    content, equation, warning = ODD_FILES[case]
    write(content)
    result = fit_file()
    assert result.exit_code == 0, result.output
    assert result.stderr == warning
    assert f"  y = {equation}\n" in result.stdout
    X, y = split_target(read_csv("data.csv"), ["y"])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = fit_frame(X, y["y"])
        assert np.isfinite(model.predict(X)).all()
    assert model.expression().text() == equation
    assert {f"Warning: {w.message}\n" for w in said} == ({warning} if warning else set())


# --- tables that only Python has ---------------------------------------------------------------

RNG = np.random.default_rng(0)
X = pd.DataFrame({"speed": RNG.uniform(1, 2, 20), "load": RNG.uniform(1, 2, 20)})
Y = (2 * X["speed"] + 1).rename("torque")
DATES = pd.date_range("2024-01-01", periods=20)
HUGE = [10**400 + i for i in range(20)]
A_HALF = (
    " a column holds half a character (a lone surrogate), as text read with the wrong encoding "
    "does; rename the column."
)
AS_TEXT = "make all names text, for example with X.columns = X.columns.astype(str)."


@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        (X[[]], Y, "X has no columns; at least one is needed."),
        (X.iloc[:0], Y[:0], "X has 0 sample(s); at least 4 rows are needed."),
        (X.set_axis(["a", None], axis=1), Y, "X: column 2 has no name; name it or leave it out."),
        (X.set_axis(["a", " "], axis=1), Y, "X: column 2 has no name; name it or leave it out."),
        (
            X.set_axis(["a", 1], axis=1),
            Y,
            "X: the name 1 of column 2 is not text like the others; " + AS_TEXT,
        ),
        (
            X.set_axis(["a", "a"], axis=1),
            Y,
            "The column name 'a' appears 2 times in X; every column needs its own name.",
        ),
        ([[1.0, "on"]] * 20, Y, f"X, column 2 holds 'on' in data row 1, {NO_NUMBER}"),
        (
            np.array([[1.0, "on"]] * 20, object),
            Y,
            f"X, column 2 holds 'on' in data row 1, {NO_NUMBER}",
        ),
        (
            [[1.0, float("nan")]] * 20,
            Y,
            "X, column 2: 20 of 20 values are missing (NaN), the first in data row 1; fill these "
            "cells or drop the rows.",
        ),
        (
            X.to_numpy() * 1j,
            Y,
            "Complex data not supported: X, column 1 holds complex numbers; give the real and the "
            "imaginary part as separate columns.",
        ),
        (
            DATES.to_numpy()[:, None],
            Y,
            "X, column 1 holds dates or times; turn it into numbers (for example seconds since the "
            "start) or leave the column out.",
        ),
        (
            X.assign(load=HUGE),
            Y,
            "X, column 'load' holds 100000000000000000...0000000000000000000 in data row 1, which "
            "is too large; give the column in another unit.",
        ),
        (
            X,
            HUGE,
            "y, its column holds 100000000000000000...0000000000000000000 in data row 1, which is "
            "too large; give the column in another unit.",
        ),
        (X, ["on"] * 20, f"y, its column holds 'on' in data row 1, {NO_NUMBER}"),
        (
            X.assign(load=[f"{i}_0" for i in range(20)]).astype({"load": object}),
            Y,
            f"X, column 'load' holds '0_0' in data row 1, {AN_UNDERSCORE}",
        ),
        (
            X.assign(load=pd.Series([f"{i}_0" for i in range(20)], dtype="category")),
            Y,
            f"X, column 'load' holds '0_0' in data row 1, {AN_UNDERSCORE}",
        ),
        (
            np.array([[1.0, "1_0"]] * 20, object),
            Y,
            f"X, column 2 holds '1_0' in data row 1, {AN_UNDERSCORE}",
        ),
        (
            [["1", "1_0"]] * 20,
            Y,
            f"X, column 2 holds '1_0' in data row 1, {AN_UNDERSCORE}",
        ),
        (
            np.array([[b"1", b"1_0"]] * 20),
            Y,
            f"X, column 2 holds b'1_0' in data row 1, {AN_UNDERSCORE}",
        ),
        (X, ["1_0"] * 20, f"y, its column holds '1_0' in data row 1, {AN_UNDERSCORE}"),
        (
            X.set_axis(pd.Index(["a", "b\ud800"], dtype=object), axis=1),
            Y,
            "X: the name 'b\\ud800' of" + A_HALF,
        ),
        (X, Y.rename("\udcff"), "y: the name '\\udcff' of" + A_HALF),
        (
            X,
            Y.to_frame().set_axis(pd.Index(["\udcff"], dtype=object), axis=1),
            "y: the name '\\udcff' of" + A_HALF,
        ),
        (
            X,
            Y.where(Y > 4, np.inf).to_numpy(),
            "y, its column: 8 of 20 values are infinite, the first in data row 2; replace these "
            "cells or drop the rows.",
        ),
        (
            np.ones((20, 2_001)),
            Y,
            "X has 2,001 inputs, but at most 2,000 can be searched; leave out those that cannot "
            "matter (on the command line: --inputs).",
        ),
    ],
)
def test_a_bad_table(X: Any, y: Any, sentence: str) -> None:
    with pytest.raises(IeqlError) as caught:
        fit_frame(X, y)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("column", "row"),
    [
        (np.array([1, 2**53, 2**53 + 1]), 3),
        (np.array([-(2**53), -(2**53) - 1]), 2),
        (np.array([2**64 - 1], dtype=np.uint64), 1),
        (np.array([5, 10**25 + 1], dtype=object), 2),
        (np.array([5, 2**60]), None),
        (np.array([1.5, 1e300]), None),
    ],
)
def test_whole_numbers_are_not_rounded_silently(column: Any, row: int | None) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warn_of_rounding(column, "y")
        warn_of_rounding(pd.DataFrame({"c": column}))
    found = [str(w.message).partition(", which")[0] for w in said]
    end = f"holds whole numbers beyond 2^53, the first in data row {row}"
    assert found == ([] if row is None else [f"y, its column {end}", f"X, column 'c' {end}"])


# --- points outside the data -------------------------------------------------------------------


def test_extrapolation_points_with_other_columns() -> None:
    write(lines(good))
    write(lines(good, header="a,c,y"), "outside.csv")
    assert refusal(fit_file("--extrapolation", "outside.csv")) == (
        "'outside.csv': The input 'b' is not a column of the table. The columns are 'a', 'c', 'y'."
    )
    for outside, sentence in [
        (
            X.rename(columns={"load": "laod"}),
            "X_extrapolation lacks the column 'load', which is an input of the fit. Did you mean "
            "'laod'?",
        ),
        (
            np.ones((20, 3)),
            "X_extrapolation has 3 columns, but the fit has 2 inputs; give the same columns in "
            "the same order.",
        ),
        (
            X.assign(load="on"),
            f"X_extrapolation, column 'load' holds 'on' in data row 1, {NO_NUMBER}",
        ),
    ]:
        with pytest.raises(IeqlError) as caught:
            IEQLRegressor(**QUICK).fit(X, Y, X_extrapolation=outside, y_extrapolation=Y)
        assert str(caught.value) == sentence
    with pytest.raises(IeqlError, match=r"^y_extrapolation, its column: 20 of 20 values are miss"):
        IEQLRegressor(**QUICK).fit(X, Y, X_extrapolation=X, y_extrapolation=[np.nan] * 20)


def test_columns_of_extrapolation_points_are_found_by_name() -> None:
    outside = (X + 1).assign(other="text")[["other", "load", "speed"]]
    model = IEQLRegressor(**QUICK).fit(
        X, Y, X_extrapolation=outside, y_extrapolation=2 * outside["speed"] + 1
    )
    assert model.equations_["rmse_extrapolation"].min() < 1e-9


def test_a_bad_file_of_extrapolation_points_is_named() -> None:
    write(lines(good))
    write(spoiled("on"), "outside.csv")
    sentence = "'outside.csv', column 'b' holds 'on' in data row 6, " + NO_NUMBER[:-1]
    sentence += OPTIONS.format("b")
    assert refusal(fit_file("--extrapolation", "outside.csv")) == sentence


# --- knowledge and domains ---------------------------------------------------------------------

ALLOWS_NOTHING = (
    "The prior allows nothing: by its rules under 'inputs' no input may enter any unit or the "
    "output; allow at least one."
)


@pytest.mark.parametrize(
    ("prior", "sentence"),
    [
        (
            {"units": ["square", "sinh"]},
            "{file}units: there is no unit 'sinh'. Did you mean 'sin'?",
        ),
        (
            {"units": []},
            "{file}The prior allows no unit; list at least one under 'units'.",
        ),
        ({"inputs": {"a": {"only_in": []}, "b": {"only_in": []}}}, ALLOWS_NOTHING),
        (
            {
                "units": ["square", "mul"],
                "inputs": {"a": {"only_in": ["cos"]}, "b": {"not_in": ["square", "mul", "output"]}},
            },
            ALLOWS_NOTHING,
        ),
        (
            {"costs": {"cos": -1}},
            "{file}costs: the cost of 'cos' must be a positive, finite number, not -1.",
        ),
        (
            {"inputs": {"a": {"only_in": ["cos"], "not_in": ["cos"]}}},
            "{file}inputs, 'a': give either 'not_in' or 'only_in', and not both.",
        ),
        (
            {"inputs": {"A": {"not_in": ["cos"]}}},
            "The prior has a rule for input 'A', which is not a column of the data.",
        ),
    ],
)
def test_a_bad_prior(prior: dict[str, Any], sentence: str) -> None:
    write(lines(good))
    write(yaml.safe_dump(prior), "prior.yaml")
    expected = sentence.format(file="Prior file 'prior.yaml': ")
    assert refusal(fit_file("--prior", "prior.yaml")) == expected
    frame = read_csv("data.csv")
    with pytest.raises(IeqlError) as caught:
        fit_frame(frame[["a", "b"]], frame["y"], prior=prior)
    assert str(caught.value) == sentence.format(file="")


@pytest.mark.parametrize(
    ("domain", "sentence"),
    [
        (
            {"a": [5, 100]},
            "The domain of 'a' is 5 to 100 but the data range from 0 to 19; widen the domain, or "
            "drop the rows outside it.",
        ),
    ],
)
def test_a_domain_that_excludes_the_data(domain: dict[str, Any], sentence: str) -> None:
    write(lines(good))
    write(yaml.safe_dump(domain), "domain.yaml")
    assert refusal(fit_file("--domain", "domain.yaml")) == sentence
    frame = read_csv("data.csv")
    with pytest.raises(IeqlError) as caught:
        fit_frame(frame[["a", "b"]], frame["y"], domain=domain)
    assert str(caught.value) == sentence


def test_weights_and_scores_are_no_text_either() -> None:
    text = ["1_0"] * 20
    for weight in (text, np.array(text), np.array(text, object), pd.Series(text)):
        with pytest.raises(
            IeqlError, match=r"^sample_weight, its column holds '1_0' in data row 1"
        ):
            IEQLRegressor(**QUICK).fit(X, Y, sample_weight=weight)
    with pytest.raises(IeqlError, match=r"^y, its column holds '1_0' in data row 1"):
        known("speed").score(X, text)


@pytest.mark.parametrize("number", ["1_000", "1_000.5", "0100", "0x10", "12:30", "1:30.5", "1_0e3"])
def test_numbers_in_yaml_files_are_plain(number: str) -> None:
    """YAML reads 1_000 as 1000, but also 0100 as 64 and 12:30 as 750."""
    write(lines(good))
    write(f"b: [0, 1]\na: [0, {number}]\n", "domain.yaml")
    said = refusal(fit_file("--domain", "domain.yaml"))
    assert said in (
        f"'domain.yaml' is not a YAML file: '{number}' in line 2 is not a plain number; write "
        "decimal digits alone, or quotation marks around it if it is a name.",
        "'domain.yaml': the domain of 'a' must be two numbers [low, high], low below high, not "
        f"[0, '{number}'].",
    )
    write(f"costs: {{cos: {number}}}\n", "prior.yaml")
    assert refusal(fit_file("--prior", "prior.yaml")).startswith("Prior file 'prior.yaml': ")


def test_a_domain_between_no_and_yes() -> None:
    write(lines(good))
    write("a: [no, yes]\n", "domain.yaml")
    assert "two numbers [low, high]" in refusal(fit_file("--domain", "domain.yaml"))


def test_names_that_yaml_takes_for_numbers_are_quoted() -> None:
    write(lines(good, header="1_0,b,y"))
    write("'1_0': [0, 30]\n", "domain.yaml")
    assert fit_file("--domain", "domain.yaml").exit_code == 0


# --- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"min_time": 30, "max_time": 20},
            "min_time (--at-least) is 30 s, but max_time (--time) is 20 s; lower the one or raise "
            "the other.",
        ),
        ({"min_time": -1}, "min_time must be None or a positive number, not -1."),
        (
            {"loss": "squred"},
            "There is no loss 'squred'; the choices are auto, squared, huber, absolute, relative. "
            "Did you mean 'squared'?",
        ),
        (
            {"loss": None},
            "There is no loss None; the choices are auto, squared, huber, absolute, relative.",
        ),
    ],
)
def test_a_bad_setting(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(IeqlError) as caught:
        fit_frame(X, Y, **settings)
    assert str(caught.value) == sentence


# --- names of files that are no text --------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="names of files are text there")
def test_a_file_whose_name_is_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """With --overwrite the old run was deleted, and then came a UnicodeEncodeError."""
    odd, run = os.fsdecode(b"bad\xff.csv"), os.fsdecode(b"run\xff")
    write(lines(good))
    Path("data.csv").rename(odd)
    monkeypatch.setattr("sys.argv", ["ieql", "fit", odd])
    fit = ("fit", odd, "--target", "y", "--out", run, "--trainings", 2, "--jobs", 1)
    assert command(*fit).exit_code == 0
    result = command(*fit, "--overwrite")
    assert result.exit_code == 0, result.output
    assert "Results are in run<U+DCFF>." in result.stdout
    assert json.loads(Path(run, "run.json").read_text())["source"]["data"].endswith(odd)
    result = command("resume", run, "--trainings", 3, "--jobs", 1)
    assert result.exit_code == 0, result.output
    for name in ("show", "export", "report"):
        result = command(name, run)
        assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "run<U+DCFF>/report.html\n"
    assert command("predict", run, odd, "--out", odd + "2").exit_code == 0
    assert "'b\\udcff'" in refusal(command(*fit[:3], "b\udcff"))


# --- places that cannot be written -------------------------------------------------------------


def test_a_folder_that_cannot_be_made() -> None:
    write(lines(good))
    write("", "file")
    sentence = (
        "Cannot write the run folder 'file/run': Not a directory; choose another folder or free "
        "this one."
    )
    assert refusal(fit_file("--out", "file/run")) == sentence
    with pytest.raises(IeqlError) as caught:
        fit_frame(X, Y, run_dir="file/run")
    assert str(caught.value) == sentence


def test_a_model_that_cannot_be_saved_leaves_the_old_one() -> None:
    model = hand_made(with_evidence=False)
    with pytest.raises(IeqlError) as caught:
        model.save("nowhere/model.json")
    assert str(caught.value) == (
        "Cannot write 'nowhere/model.json': No such file or directory; choose another place."
    )
    model.save("model.json")
    before = Path("model.json").read_text()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(IeqlError, match=r"'model.json': No space left on device; choose"):
            model.save("model.json")
    assert Path("model.json").read_text() == before
    assert [p.name for p in Path().iterdir()] == ["model.json"]


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


FULL = (
    "Cannot write the run folder 'run': No space left on device; choose another folder or free "
    "this one."
)


def full_after(patch: pytest.MonkeyPatch, start: int, stop: float = float("inf")) -> None:
    """Let the disk be full from one write on until another."""
    count = 0

    def fsync(_: int) -> None:
        nonlocal count
        count += 1
        if start < count <= stop:
            full_disk()

    patch.setattr(ieql.run.folder.os, "fsync", fsync)


def test_a_disk_full_from_the_start_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    write(lines(good))
    full_after(monkeypatch, 0)
    assert refusal(fit_file()) == FULL


def test_a_disk_that_fills_up_does_not_cost_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    full_after(monkeypatch, 2)
    with pytest.warns(UserWarning, match="space") as said:
        model = fit_frame(X, Y, run_dir="run")
    assert [str(w.message) for w in said] == [FULL + " The fit continues in memory."]
    assert model.expression().text() == "2*speed + 1"


def test_a_disk_that_fills_up_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    write(lines(good))
    full_after(monkeypatch, 2)
    result = fit_file()
    assert result.exit_code == 2
    assert "  y = 2*a + 1\n" in result.stdout
    assert "Results are in" not in result.stdout
    assert result.stderr == (
        f"Warning: {FULL} The fit continues in memory.\n"
        f"Error: {FULL} What is printed above is not stored.\n"
    )


def test_a_disk_with_space_again_holds_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    full_after(monkeypatch, 1, 4)
    with pytest.warns(UserWarning, match="space"):
        model = fit_frame(X, Y, run_dir="run")
    text = IEQLRegressor.load("run/model.json").expression().text()
    assert text == model.expression().text()
    found = [json.loads(line) for line in Path("run/front.jsonl").read_text().splitlines()]
    assert len(found) >= 1
    assert Path("run/report.html").is_file()


def test_standard_output_on_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    write(lines(good))
    assert fit_file().exit_code == 0
    monkeypatch.setattr("typer.echo", echo_unless_full(("   index",)))
    assert refusal(command("show", "run")) == "Cannot write: No space left on device."


def echo_unless_full(starts: tuple[str, ...]) -> Callable[..., None]:
    import typer

    echo = typer.echo

    def limited(message: Any = None, **options: Any) -> None:
        if str(message).startswith(starts):
            full_disk()
        echo(message, **options)

    return limited


def test_kernels_compile_where_nothing_can_be_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import numba
    from numba.core import caching

    from ieql.equations import compiled

    # Even the superuser cannot make a folder inside a file.
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(compiled, "_temporary", None)
    locators = [caching.UserProvidedCacheLocator]
    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", locators)

    def twice(x: float) -> float:
        return 2.0 * x

    with pytest.warns(UserWarning, match="set NUMBA_CACHE_DIR to a folder that is"):
        assert compiled.entry(numba.float64)(twice)(4.0) == 8.0
    assert any(Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbi"))

    monkeypatch.setattr(compiled, "_temporary", None)
    monkeypatch.setattr(compiled.tempfile, "mkdtemp", full_disk)
    assert compiled.entry(numba.float64)(twice)(4.0) == 8.0


# --- predictions outside the domain ------------------------------------------------------------


def known(*front: str, domain: Any = None) -> IEQLRegressor:
    """A model with inputs speed and load, whose data lie between 1 and 2."""
    model = hand_made(front, names=("speed", "load"), domain=domain, with_evidence=False)
    return model


def outside_words(model: IEQLRegressor, rows: Any) -> str:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.predict(np.array(rows, dtype=float))
    assert len(said) <= 1
    assert all(w.category is OutsideDomainWarning for w in said)
    return "".join(str(w.message) for w in said)


REST = (
    "; the equation was not checked there and its values may be wrong: leave these rows out, or "
    "fit again with a domain that holds them."
)
BOTH = {"speed": (1, 3), "load": (1, 3)}


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(
    ("domain", "rows", "words"),
    [
        (BOTH, [[1, 1], [3, 3]], ""),
        (BOTH, [[3 + 1e-10, 1]], ""),
        (
            BOTH,
            [[1, 1], [3.001, 1], [0, 4], [2, 2]],
            "2 of 4 rows lie outside the declared domain in speed (2 rows) and load (1 row)" + REST,
        ),
        (None, [[0.51, 2.49]], ""),
        (
            None,
            [[0.51, 2.51]],
            "1 of 1 rows lie outside the range of the data in load (1 row)" + REST,
        ),
        (
            {"speed": (1, 3)},
            [[2.9, 2.49], [3.1, 1], [2, 5]],
            "2 of 3 rows lie outside the domain in speed (1 row) and load (1 row)" + REST,
        ),
    ],
)
def test_rows_outside_the_domain_are_said(
    domain: Any, rows: list[list[float]], words: str, stored: bool
) -> None:
    model = known("speed + load", domain=domain)
    if stored:
        form = json.loads(json.dumps(model.fitted_.to_form()))
        model = IEQLRegressor._of(from_form(form, "model.json"))
    assert outside_words(model, rows) == words


def test_a_stored_model_of_old_counts_every_input_as_declared() -> None:
    form = known("speed", domain={"speed": (1, 3)}).fitted_.to_form()
    del form["declared_inputs"]
    model = IEQLRegressor._of(from_form(form, "model.json"))
    assert "outside the declared domain in load" in outside_words(model, [[1, 2.05]])


def test_many_inputs_are_not_all_named() -> None:
    names = tuple(f"x{k}" for k in range(9))
    model = hand_made(("x0",), names=names, with_evidence=False)
    words = outside_words(model, np.full((2, 9), 7.0))
    assert "x3 (2 rows), x4 (2 rows) and 4 more inputs;" in words


def test_what_is_undefined_is_nan_and_not_protected() -> None:
    model = known("1/speed", "log(speed)", "sqrt(speed)", domain={"speed": (-3, 3)})
    rows = np.array([[0.0, 1.0], [-1.0, 1.0], [1.0, 1.0]])
    np.testing.assert_array_equal(model.predict(rows, index=0), [np.nan, -1.0, 1.0])
    np.testing.assert_array_equal(model.predict(rows, index=1), [np.nan, np.nan, 0.0])
    np.testing.assert_array_equal(model.predict(rows, index=2), [0.0, np.nan, 1.0])


def test_there_is_no_score_where_the_equation_is_undefined() -> None:
    model = known("log(speed)", domain={"speed": (-3, 3)})
    rows = np.array([[1.0, 1.0], [-1.0, 1.0], [2.0, 1.0]])
    with pytest.raises(IeqlError) as caught:
        model.score(rows, [0.0, 0.0, 1.0])
    assert str(caught.value) == (
        "The equation has no finite value in 1 of 3 rows, first in data row 2, so there is no "
        "score; leave these rows out, or fit again with a domain that holds them."
    )
    assert model.score(rows[[0, 2]], np.log([1.0, 2.0])) == 1.0
    with pytest.warns(OutsideDomainWarning, match="1 of 2 rows"):
        model.score(np.array([[1.0, 1.0], [4.0, 1.0]]), [0.0, 1.0])


def test_predictions_outside_the_domain_on_the_command_line() -> None:
    write(lines(good))
    write("a: [0, 30]\n", "domain.yaml")
    assert fit_file("--domain", "domain.yaml").exit_code == 0
    write("a,b\n29,3\n31,3\n", "new.csv")
    result = command("predict", "run", "new.csv")
    assert result.exit_code == 0
    assert result.stdout == "y\n59.0\n63.0\n"
    expected = "1 of 2 rows lie outside the declared domain in a (1 row)" + REST
    assert result.stderr == f"Warning: {expected}\n"
    write("a,b\n29,on\n", "new.csv")
    assert refusal(command("predict", "run", "new.csv")) == (
        "'new.csv', column 'b' holds 'on' in data row 1, " + NO_NUMBER
    )
