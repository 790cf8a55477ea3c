"""The program that runs the checks of reliability and writes their page."""

from __future__ import annotations

import json

import pytest

from soak import __main__ as program
from soak.check import Check, Outcome

RUNS: list[tuple[str, float, int]] = []


def check(name, passed=True, text="all was well", error=None):
    def run(size, seed):
        RUNS.append((name, size, seed))
        if error is not None:
            raise error
        return Outcome(round(10 * size), passed, text)

    return Check(name, f"what {name} tries | here", run)


@pytest.fixture
def checks(monkeypatch):
    RUNS.clear()
    found = {c.name: c for c in (check("one"), check("two"))}
    monkeypatch.setattr(program, "all_checks", lambda: found)
    return found


def results(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_check_of_the_package_is_found_and_has_its_own_name():
    found = program.all_checks()
    assert {"killed-worker", "many-rows", "same-front"} <= set(found)
    for name, c in found.items():
        assert name == c.name == name.lower().replace(" ", "-")
        assert c.what
        assert not c.what.endswith(".")


def test_results_are_written_with_their_circumstances(checks, tmp_path, capsys):
    out = tmp_path / "results.json"
    assert program.main(["--size", "0.5", "--seed", "3", "--out", str(out)]) == 0
    one = results(out)["one"]
    assert (one["cases"], one["passed"], one["text"]) == (5, True, "all was well")
    assert (one["size"], one["seed"]) == (0.5, 3)
    assert {"machine", "versions", "date", "seconds", "what"} <= set(one)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].split()[:5] == ["one", "5", "cases", "passed", "all"]


def test_finished_checks_are_not_run_again_unless_named(checks, tmp_path):
    out = ["--out", str(tmp_path / "results.json")]
    program.main(out)
    program.main(out)
    assert [name for name, _, _ in RUNS] == ["one", "two"]
    program.main(["two", *out])
    assert [name for name, _, _ in RUNS] == ["one", "two", "two"]
    program.main(["--seed", "1", *out])
    assert len(RUNS) == 5


def test_a_failed_check_is_told_by_the_exit_code_also_later(checks, tmp_path, capsys):
    checks["two"] = check("two", passed=False, text="it broke")
    checks["three"] = check("three", error=OSError("no space left"))
    checks["four"] = check("four")
    out = tmp_path / "results.json"
    assert program.main(["--out", str(out)]) == 1
    assert "FAILED  it broke" in capsys.readouterr().out
    assert "no space left" in results(out)["three"]["text"]
    assert results(out)["four"]["passed"]  # the others are run all the same
    assert program.main(["--out", str(out)]) == 1


def test_each_result_is_written_at_once(checks, tmp_path):
    out = tmp_path / "results.json"
    checks["two"] = check("two", error=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        program.main(["--out", str(out)])
    assert list(results(out)) == ["one"]


def test_an_unknown_name_is_refused(checks, capsys):
    with pytest.raises(SystemExit) as end:
        program.main(["twoo"])
    assert end.value.code == 2
    assert "there is no check 'twoo'. Did you mean 'two'?" in capsys.readouterr().err


def test_the_names_can_be_listed(checks, capsys):
    assert program.main(["--list"]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("one ")


def test_the_page_comes_from_the_results_alone(checks, tmp_path, monkeypatch):
    out, target = tmp_path / "results.json", tmp_path / "reliability.md"
    monkeypatch.setattr(program, "PAGE", target)
    checks["two"] = check("two", passed=False, text="it broke")
    program.main(["--size", "0.5", "--out", str(out)])
    n = len(RUNS)
    assert program.main(["--write", "--out", str(out)]) == 0
    assert len(RUNS) == n
    text = target.read_text(encoding="utf-8")
    assert text.startswith("# Reliability\n")
    rows = [line for line in text.splitlines() if line.startswith("| what ")]
    assert rows[0] == "| what was tried | cases | what happened | command |"
    assert rows[1] == (
        r"| what one tries \| here | 5 | all was well | `python -m soak one --size 0.5` |"
    )
    assert "**failed**: it broke" in rows[2]


def test_a_page_without_results_says_so():
    assert "Nothing has been tried yet." in program.page({})
