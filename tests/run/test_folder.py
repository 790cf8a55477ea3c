from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitted import evidence
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.run.folder import RunFolder, sha256_of, without_formulas

SETTINGS = {"prior": "motor", "max_time": 20.0, "random_state": 7}


@pytest.fixture
def run(tmp_path):
    return RunFolder.create(tmp_path / "deep" / "run", SETTINGS, "abc")


def test_run_json_says_what_is_needed_to_repeat_the_run(run):
    description = RunFolder.open(run.path).description()
    assert description["settings"] == SETTINGS
    assert description["seed"] == 7
    assert description["data_sha256"] == "abc"
    assert description["versions"]["python"].startswith("3.")
    assert description["versions"]["numpy"] == np.__version__
    assert description["command"]


def test_settings_may_hold_numpy_values_tuples_and_paths(tmp_path):
    settings = {"domain": {"speed": (np.float64(0), np.int64(6))}, "prior": tmp_path / "p.yaml"}
    run = RunFolder.create(tmp_path / "run", settings, "abc")
    assert run.description()["settings"] == {
        "domain": {"speed": [0.0, 6]},
        "prior": str(tmp_path / "p.yaml"),
    }
    assert run.description()["seed"] is None


def test_front_reads_back_line_by_line(run):
    assert run.records() == []
    run.append({"equation": "2.5*x", "rmse_train": np.float64(0.1)})
    run.append({"equation": "größer\n", "rmse_extrapolation": float("nan")})
    assert run.records() == [
        {"equation": "2.5*x", "rmse_train": 0.1},
        {"equation": "größer\n", "rmse_extrapolation": None},
    ]


numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=5,
)


@settings(max_examples=30, deadline=None)  # each example waits for the disk
@given(st.lists(st.dictionaries(st.text(), json_values), min_size=1, max_size=4), st.data())
def test_a_front_cut_at_any_byte_keeps_its_whole_lines_and_takes_new_ones(
    tmp_path_factory, records, data
):
    run = RunFolder.create(tmp_path_factory.mktemp("run"), {}, "abc")
    for record in records:
        run.append(record)
    front = run.path / "front.jsonl"
    whole = front.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    front.write_bytes(whole[:cut])

    kept = records[: whole[:cut].count(b"\n")]
    assert run.records() == kept
    run.append({"after": 1})
    assert run.records() == [*kept, {"after": 1}]


def test_front_survives_kill_9(run):
    writer = textwrap.dedent("""
        import sys
        from ieql.run.folder import RunFolder
        run = RunFolder.open(sys.argv[1])
        for number in range(1_000_000):
            run.append({"number": number})
            print(number, flush=True)
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", writer, str(run.path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) == 20:
            break
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()

    numbers = [record["number"] for record in run.records()]
    assert len(numbers) > 20
    assert numbers == list(range(len(numbers)))


def test_damage_within_the_front_is_named(run):
    (run.path / "front.jsonl").write_text('{"a": 1}\nxx\n{"b": 2}\n')
    with pytest.raises(IeqlError, match=r"Line 2 of .*front\.jsonl is damaged"):
        run.records()


def test_equations_and_model_are_written_whole(run):
    frame = pd.DataFrame({"equation": ["x", "x*z"], "rmse_train": [0.1, np.nan]})
    run.write_equations(frame)
    run.write_model('{"format": 1}')
    pd.testing.assert_frame_equal(pd.read_csv(run.path / "equations.csv"), frame)
    assert RunFolder.open(run.path).model_path().read_text() == '{"format": 1}'
    assert not list(run.path.glob(".*"))  # no temporary file is left


def test_a_spreadsheet_finds_nothing_to_run_in_the_equations(run):
    """A cell that begins with = + - @ is a formula to it; `-3*x + 1` was one, too."""
    equations = ["-3*x + 1", "x", "-4.25", "-1e-3"]
    outputs = ["=cmd()", "@a", "+b", "\tc"]
    run.write_equations(
        pd.DataFrame({"output": outputs, "equation": equations, "rmse_train": [-1.0, 2, 3, 4]})
    )
    text = (run.path / "equations.csv").read_text()
    assert text.splitlines()[1:] == [
        " =cmd(), -3*x + 1,-1.0",
        " @a,x,2.0",
        " +b,-4.25,3.0",
        " \tc,-1e-3,4.0",
    ]
    found = pd.read_csv(run.path / "equations.csv")
    for written, read in zip(equations, found["equation"], strict=True):
        assert Expression.parse(read, ["x"]) == Expression.parse(written, ["x"])
    assert list(found["rmse_train"]) == [-1.0, 2, 3, 4]


def test_names_of_columns_are_no_formulas_either():
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["=x", " =x", "y"])
    assert without_formulas(frame).to_csv(index=False) == " =x, =x,y\n1.0,2.0,3.0\n"


HALF = os.fsdecode(b"bad\xff.csv")
"""A file's name that is no text: Python puts half a character in place of each odd byte."""


def test_names_of_files_that_are_no_text_are_kept(tmp_path, monkeypatch):
    """The old run was deleted, and then run.json could not be written."""
    monkeypatch.setattr(sys, "argv", ["ieql", "fit", HALF])
    run = RunFolder.create(tmp_path / "run", {"note": HALF}, "abc", source={"data": HALF})
    description = run.description()
    assert description["source"] == {"data": HALF}
    assert description["settings"] == {"note": HALF}
    assert HALF in description["command"]
    run.append({"equation": HALF})
    assert run.records() == [{"equation": HALF}]
    run.write_model(json.dumps(HALF, ensure_ascii=False))
    assert json.loads(run.model_path().read_text()) == HALF
    run.write_report(HALF)


def test_what_cannot_be_described_replaces_nothing(run):
    run.write_model("old")
    with pytest.raises(TypeError):
        RunFolder.create(run.path, {"odd": object()}, "def")
    assert run.model_path().read_text() == "old"


def test_a_failed_write_keeps_the_old_file(run, monkeypatch):
    run.write_model("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(IeqlError, match="No space left on device"):
        run.write_model("new")
    assert run.model_path().read_text() == "old"
    assert not list(run.path.glob(".*"))


def test_a_new_run_replaces_the_old_one(run):
    run.append({"equation": "x"})
    run.write_model("old")
    again = RunFolder.create(run.path, {"random_state": 8}, "def")
    assert again.records() == []
    assert again.description()["seed"] == 8
    with pytest.raises(IeqlError, match="cut short"):
        again.model_path()


def test_files_of_no_run_are_not_overwritten(tmp_path):
    (tmp_path / "model.json").write_text("precious")
    with pytest.raises(IeqlError, match=r"model\.json would be overwritten"):
        RunFolder.create(tmp_path, SETTINGS, "abc")
    assert (tmp_path / "model.json").read_text() == "precious"


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(IeqlError, match=r"There is no folder .*nowhere"):
        RunFolder.open(tmp_path / "nowhere")


def test_a_folder_without_a_run(tmp_path):
    with pytest.raises(IeqlError, match=r"holds no run \(run\.json is missing\)"):
        RunFolder.open(tmp_path)


def test_a_run_cut_short_says_how_to_go_on(run):
    run.append({"equation": "x"})
    with pytest.raises(IeqlError, match=r"cut short before it found .*ieql resume"):
        run.model_path().read_text()


def test_a_damaged_description_is_named(run):
    (run.path / "run.json").write_text("{")
    with pytest.raises(IeqlError, match=r"run\.json is damaged"):
        run.description()


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(IeqlError, match="Cannot write the run folder"):
        RunFolder.create(tmp_path / "file" / "run", SETTINGS, "abc")


def test_sha256_depends_on_the_numbers_alone():
    X, y = np.arange(6.0).reshape(3, 2), np.arange(3.0)
    reference = sha256_of(X, y)
    assert sha256_of(pd.DataFrame(X, columns=["a", "b"]), pd.Series(y)) == reference
    assert sha256_of(np.asfortranarray(X), y.astype(np.float32)) == reference
    assert sha256_of(X.reshape(2, 3), y) != reference
    assert sha256_of(X, y, np.ones(3)) != reference
    assert sha256_of(X, y + 1e-15) != reference


def test_sha256_stays_the_same_between_versions():
    expected = hashlib.sha256()
    expected.update(b"X(1, 1)" + np.array([2.0]).astype("<f8").tobytes())
    expected.update(b"y(1,)" + np.array([3.0]).astype("<f8").tobytes())
    assert sha256_of([[2]], [3]) == expected.hexdigest()


def test_run_json_is_plain_json(run):
    text = (run.path / "run.json").read_text(encoding="utf-8")
    assert json.loads(text) == run.description()


# --- evidence and report --------------------------------------------------------------------------


def test_evidence_and_report_have_files_of_their_own(run):
    assert run.evidence() is None
    run.write_evidence(evidence())
    np.testing.assert_array_equal(run.evidence().X, evidence().X)
    assert run.write_report("<p>ö</p>") == run.path / "report.html"
    assert (run.path / "report.html").read_text(encoding="utf-8") == "<p>ö</p>"


def test_a_new_run_removes_the_evidence_and_report_of_the_old(run):
    run.write_evidence(evidence())
    run.write_report("old")
    again = RunFolder.create(run.path, SETTINGS, "abc")
    assert again.evidence() is None
    assert not (run.path / "report.html").exists()


@pytest.mark.parametrize("text", ["", "[", "[]", "\ud800".encode("utf-8", "surrogatepass").hex()])
def test_damaged_evidence_is_refused(run, text):
    (run.path / "evidence.json").write_text(text)
    with pytest.raises(IeqlError, match=r"evidence\.json.*fit again"):
        run.evidence()


@pytest.mark.parametrize("line", ["[]", "3", "{", "[" * 100_000])
def test_a_line_that_is_no_record_is_named(run, line):
    run.append({"equation": "x"})
    with (run.path / "front.jsonl").open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(IeqlError, match=r"Line 2 of .* is damaged"):
        run.records()


def test_a_description_nested_without_end_is_damaged(run):
    (run.path / "run.json").write_text("[" * 100_000)
    with pytest.raises(IeqlError, match=r"run\.json is damaged"):
        run.description()
