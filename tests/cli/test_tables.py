"""Tables on the command line: from an awkward file to a run, to predictions, and back again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ieql.cli import app
from ieql.run.resume import data_files, read_asked

N = 30
QUICK = ("--trainings", 1, "--jobs", 1, "--time", 20, "--seed", 0)


def ieql(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def failure(*arguments: object) -> str:
    """The one sentence on stderr of a command that must be refused."""
    result = ieql(*arguments)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    return line.removeprefix("Error: ")


def bench(clock: str = "08") -> str:
    """A German file: units below the names, gaps, a sentinel, weights and rows to be held out."""
    rows = ["Zeit;n;Last;M;Gewicht;Test", "-;1/min;%;Nm;-;-"]
    for i in range(N):
        time = f"01.02.2024 {clock}:{i:02d}:00"
        load = "" if i == 4 else f"{10 + 3 * (i * 7 % N)}"
        torque = "-9999" if i == 9 else f"{0.5 * (10 + 3 * (i * 7 % N)) + 2 * i + 1}"
        flag = "ja" if i % 10 == 3 else "nein"
        rows.append(f"{time};{1000.5 + i};{load};{torque};{1 + i % 2};{flag}".replace(".", ","))
    return "\n".join(rows).replace("01,02,2024", "01.02.2024") + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with bench.csv and a run on it, with the time among the inputs."""
    path = tmp_path_factory.mktemp("tables")
    (path / "bench.csv").write_text(bench(), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        result = ieql(
            *("fit", "bench.csv", "--target", "M", "--inputs", "Zeit,Last", "--na", -9999),
            *("--weights", "Gewicht", "--held-out", "Test", "--out", "run", *QUICK),
        )
    assert result.exit_code == 0, result.output
    (path / "said").write_text(result.stderr, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _in_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def test_a_fit_says_what_it_read_and_left_out() -> None:
    assert Path("said").read_text(encoding="utf-8").splitlines() == [
        "Read: line 2 holds units (n in 1/min, Last in %, M in Nm).",
        "Read: numbers have a decimal comma.",
        "Read: -9999 means a missing cell, as told.",
        "Read: 'Zeit' is in seconds since the first row (2024-02-01 08:00:00).",
        "Left out: 2 of 30 rows, which have gaps ('Last' 1, 'M' 1); rows are counted without them.",
        "Read: 3 rows held out, by 'Test'.",
    ]


def test_a_run_remembers_how_its_file_was_read() -> None:
    source = json.loads(Path("run/run.json").read_text(encoding="utf-8"))["source"]
    assert source["reading"] == {"na": ["-9999"]}
    assert source["origins"] == {"Zeit": "2024-02-01T08:00:00.000000000"}
    assert (source["weights"], source["held_out"]) == ("Gewicht", "Test")
    assert source["said"] == Path("said").read_text(encoding="utf-8").splitlines()
    asked = read_asked("run")
    assert data_files("run") == [Path("bench.csv").resolve()]
    assert len(asked.X) == N - 2 - 3
    assert asked.X["Zeit"].tolist()[:4] == [0.0, 60.0, 120.0, 300.0]
    np.testing.assert_array_equal(asked.weight[:4], [1, 2, 1, 2])
    assert asked.outside is not None
    assert asked.outside[1]["M"].tolist() == [
        0.5 * (10 + 3 * (i * 7 % N)) + 2 * i + 1 for i in (3, 13, 23)
    ]


def test_a_run_goes_on_with_the_same_rows() -> None:
    result = ieql("resume", "run", "--trainings", 1, "--jobs", 1, "--time", 20)
    assert result.exit_code == 0, result.output


def test_predictions_keep_rows_ids_decimal_commas_and_gaps() -> None:
    Path("new.csv").write_text(
        "Nr;Zeit;Last\n007;01.02.2024 08:02:00;10,5\n008;01.02.2024 08:04:00;\n"
        "009;01.02.2024 08:06:00;20,5\n",
        encoding="utf-8",
    )
    result = ieql("predict", "run", "new.csv", "--id", "Nr")
    assert result.exit_code == 0, result.output
    header, first, gap, last = result.stdout.splitlines()
    assert header == "Nr;M"
    assert gap == "008;"
    assert "Left out: 1 of 3 rows have gaps in the inputs; their predictions are left empty." in (
        result.stderr
    )
    # Counted from the first moment of the fit, not of this file: i = 2 and i = 6.
    for line, expected in ((first, 0.5 * 10.5 + 2 * 2 + 1), (last, 0.5 * 20.5 + 2 * 6 + 1)):
        number, _, value = line.partition(";")
        assert number in ("007", "009")
        assert float(value.replace(",", ".")) == pytest.approx(expected, rel=1e-3)


def test_a_file_of_gaps_alone_gets_gaps_alone() -> None:
    Path("gaps.csv").write_text("Zeit;Last\n;1\n;2\n", encoding="utf-8")
    result = ieql("predict", "run", "gaps.csv")
    assert (result.exit_code, result.stdout.splitlines()) == (0, ["M", '""', '""'])


def test_an_id_may_not_be_the_prediction() -> None:
    assert "'M' is the name of the prediction" in failure(
        "predict", "run", "bench.csv", "--id", "M"
    )


def test_predict_refuses_what_it_cannot_read() -> None:
    Path("odd.csv").write_text("Zeit;Last\n12;1\n13;2\n", encoding="utf-8")
    assert "'Zeit' holds numbers, but it held dates or times in the fit" in failure(
        "predict", "run", "odd.csv"
    )
    Path("odd.csv").write_text("Zeit;Last\n01.02.2024 08:00:00;1\n02.02.2024 08:00:00;hot\n")
    assert "'hot' in data row 2" in failure("predict", "run", "odd.csv")
    assert "Did you mean" in failure("predict", "run", "bench.csv", "--id", "Zeitt")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--weights", "Gewict"), "--weights: there is no column 'Gewict'. Did you mean 'Gewicht'"),
        (("--weights", "M"), "--weights: 'M' is an input or a target as well"),
        (("--weights", "Gewicht", "--sigma", "n"), "--sigma and --weights both say how much a row"),
        (("--held-out", "Last"), "column 'Last' holds '10', not only 0 and 1 (or yes and no)"),
        (("--held-out", "Testt"), "--held-out: there is no column 'Testt'"),
        (("--held-out", "Test=vielleicht"), "holds out no row; there must be some of both"),
        (("--held-out", "Test", "--extrapolation", "bench.csv"), "use one of them"),
        (("--missing", "fill"), "missing must be 'drop' or 'error', not 'fill'"),
        (("--missing", "error"), "column 'Last': 1 of 30 values are missing (NaN)"),
        (("--exclude", "Lst"), "has no column 'Lst' to be left out. Did you mean 'Last'?"),
        (("--decimal", "point"), "column 'n' holds '1000,5' in data row 1, with a comma in it"),
        (("--decimal", "dot"), "decimal must be '.' or ',', not 'dot'"),
        (("--dates", "year-first"), "dates must be 'day-first' or 'month-first'"),
        (("--sheet", "one"), "is not an Excel file: it has no sheets"),
    ],
)
def test_options_that_do_not_fit_the_file_are_refused(
    options: tuple[str, ...], sentence: str
) -> None:
    assert sentence in failure("fit", "bench.csv", "--target", "M", *options)


def test_check_looks_at_a_file_and_writes_nothing() -> None:
    before = sorted(Path().iterdir())
    result = ieql("check", "bench.csv", "--exclude", "Gewicht,Test")
    assert (result.exit_code, result.stderr) == (0, "")
    assert sorted(Path().iterdir()) == before
    lines = result.stdout.splitlines()
    assert lines[0] == "'bench.csv': 30 rows, 4 columns"
    warning = "Warning: -9999 stands 1 time in 'M', apart from all other values"
    assert any(line.startswith(warning) for line in lines)
    command = "  ieql fit bench.csv --target M --exclude Gewicht,Test --units"
    assert lines[-1] == command
    assert "lacks" not in failure("check", "nowhere.csv")


def test_units_below_the_names_are_physical_units() -> None:
    fit = ("fit", "bench.csv", "--target", "M", "--inputs", "Last", "--na", -9999, "--units")
    result = ieql(*fit, "--out", "units", *QUICK)
    assert result.exit_code == 0, result.output
    assert "Units: Last in %, M in Nm.\n" in result.stderr
    Path("odd.csv").write_text("n [1/min],y\n1/s,Nm\n1,2\n3,4\n5,6\n7,9\n")
    result = ieql("fit", "odd.csv", "--target", "y", "--units")
    assert result.exit_code == 2
    assert "the name of the column 'n [1/min]' says 1/min, its cells or the line below say 1/s" in (
        result.stderr
    )


def test_several_files_are_one_table() -> None:
    Path("late.csv").write_text(bench("09"), encoding="utf-8")
    result = ieql("check", "bench.csv", "late.csv")
    assert result.exit_code == 0
    assert "Read: 2 files with 30, 30 rows; the column 'file' tells which." in result.stdout
    frame = pd.DataFrame({"x": range(8), "y": range(1, 9)})
    frame.to_csv("a.csv", index=False)
    frame.to_csv("b.csv", index=False)
    result = ieql(
        *("fit", "a.csv", "b.csv", "--target", "y", "--held-out", "file=b", "--out", "both"), *QUICK
    )
    assert result.exit_code == 0, result.output
    assert "Read: 8 rows held out, by 'file=b'." in result.stderr
    source = json.loads(Path("both/run.json").read_text(encoding="utf-8"))["source"]
    assert source["data"] == [str(Path(name).resolve()) for name in ("a.csv", "b.csv")]
    assert len(read_asked("both").X) == 8
