"""What the benchmark per change says of two results; nothing is timed here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import bench
from suites import suite


def timed(seconds: float, reference: float = 0.1) -> dict:
    return {"seconds": seconds, "reference": reference}


def fitted(**changes) -> dict:
    result = {"error": 0.01, "complexity": 5.0, "right": True, "equation": "x", "trainings": 16}
    return {**timed(10.0), **result, **changes}


@pytest.mark.parametrize(
    ("new", "words"), [(1.0, []), (1.2, []), (1.3, ["slower"]), (0.7, ["faster"])]
)
def test_times_are_compared_as_ratios(new, words):
    assert bench.compared(timed(new), timed(1.0), True) == (pytest.approx(new), words)


def test_another_machine_is_told_by_the_reference():
    slow_machine, old = timed(3.0, reference=0.3), timed(1.0, reference=0.1)
    assert bench.compared(slow_machine, old, False) == (pytest.approx(1.0), [])
    assert bench.compared(slow_machine, old, True)[1] == ["slower"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, []),
        ({"right": False}, ["WORSE: no longer right"]),
        ({"error": 0.02}, ["WORSE: error 0.01 -> 0.02"]),
        ({"error": 0.0105}, []),
        ({"complexity": 6.0, "equation": "y"}, ["WORSE: complexity 5 -> 6"]),
        ({"complexity": 4.0, "equation": "y"}, ["another equation"]),
        ({"trainings": 9}, ["16 -> 9 trainings"]),
    ],
)
def test_fits_are_judged_by_what_they_found(changes, words):
    assert bench.compared(fitted(**changes), fitted(), True)[1] == words


def test_rounding_is_no_error():
    assert bench.compared(fitted(error=3e-16), fitted(error=1e-16), True)[1] == []


def test_what_got_worse_is_listed_below_the_table(capsys):
    old = {"kernel fit": timed(1.0), "fit paper S0": fitted()}
    bench.show({"kernel fit": timed(2.0), "fit paper S0": fitted(right=False)}, old, True)
    shown = capsys.readouterr().out
    assert "kernel fit: slower" in shown
    assert "fit paper S0: WORSE: no longer right" in shown
    assert "Right equations: 0 of 1, before 1." in shown
    bench.show(old, old, True)
    assert "Nothing got slower or worse." in capsys.readouterr().out


def test_every_fit_names_a_problem():
    known = {
        f"{name} {p.name}"
        for name in ("paper", "random", "feynman", "classic", "wide")
        for p in suite(name)
    }
    assert set(bench.FITS) <= known


def test_the_parts_are_listed_and_chosen_by_a_pattern(capsys):
    assert bench.main(["--list", "--only", "kernel *"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(bench.KERNELS)
    assert bench.main(["--only", "coffee"]) == 2


def test_a_kernel_is_timed_beside_the_reference(monkeypatch, capsys):
    monkeypatch.setattr(bench, "ROUNDS", 1)
    assert bench.main(["--part", "kernel jacobian"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"seconds", "reference"}


def test_every_fit_is_a_problem_of_its_suite():
    known = {
        f"{family} {problem.name}"
        for family in {name.partition(" ")[0] for name in bench.FITS}
        for problem in suite(family, noise=0.01 if family == "random" else None)
    }
    assert set(bench.FITS) <= known
