"""The recovery benchmark: its problems, what counts as found, its files and its tables."""

from __future__ import annotations

import importlib
import json
import math
import sys
import time
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ieql.equations.expression import Expression
from ieql.prior import PRESETS

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import peers
import random_equations
import recovery
import suites
from fits import Equation, Fit, Settings, count_processor_time
from judging import _Judge
from problems import points, spoilt
from structure import same_structure
from tables import comparison, median, read_results, summary, table, write_results

NAMES = ("x1", "x2")
X = np.random.default_rng(0).uniform(-1, 1, (400, 2))


def same(found: str, truth: str, **options: float) -> bool:
    return same_structure(
        Expression.parse(found, NAMES), Expression.parse(truth, NAMES), X, **options
    )


# --- structure -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "truth"),
    [
        (f"cos(2*x1 - {math.pi / 2})", "sin(2*x1)"),
        ("x1**2 + 2*x1 + 1", "(x1 + 1)**2"),
        ("x1*x1*x2", "x2*x1**2"),
        ("x2/(2*x1 + 4)", "0.5*x2/(x1 + 2)"),
        ("exp(x1 + x2)", "exp(x1)*exp(x2)"),
        ("1.001*x1*x2 + 0.002", "x1*x2"),
    ],
)
def test_another_way_to_write_the_truth_has_its_structure(found, truth):
    assert same(found, truth)


@pytest.mark.parametrize(
    ("found", "truth"),
    [
        ("x1*x2 + 0.2*x1", "x1*x2"),
        ("1 + 0.3*x1 + 0.0475*x1**2", "exp(0.3*x1)"),  # a good series, but only on the data
        ("x2", "sin(x2)"),
        ("x1*(x2 + 1) - x1 + 0.001*cos(x1) + 0.001*exp(x2)", "x1*x2"),  # too many parameters
        ("x1 + 0.3*x2", "x1 + 0.3*x2**2"),
    ],
)
def test_another_structure_is_told_apart(found, truth):
    assert not same(found, truth)


def test_values_may_differ_by_the_noise():
    assert not same("x1*x2 + 0.03*x1 + 0.03", "x1*x2")
    assert same("x1*x2 + 0.03*x1 + 0.03", "x1*x2", noise=0.05)


def test_the_same_graph_needs_to_agree_on_the_data_only():
    """A frequency that is off by a little leads astray outside the data."""
    truth, found = "cos(20*x1)", "cos(20.02*x1)"
    wide = 3 * X
    assert np.max(np.abs(np.cos(20 * wide[:, 0]) - np.cos(20.02 * wide[:, 0]))) > 0.05
    assert same(found, truth, noise=0.03)


def test_points_at_which_the_truth_is_undefined_do_not_count():
    assert same("log(x1 + 1.001)", "log(x1 + 1.001)")


# --- problems ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", suites.SUITES)
def test_the_truth_is_found_and_has_its_own_structure(name):
    """On some problems of every suite: finite data, and the criteria accept the truth."""
    for problem in suites.suite(name, n=12)[::2]:
        data = problem.draw(0)
        assert np.all(np.isfinite(data.y)), problem.name
        assert np.all(np.isfinite(data.X)), problem.name
        assert data.spread > 0, problem.name
        if not problem.has_truth:
            continue
        truth = Equation.parse(problem.formula, problem.names)
        judged = recovery.judge(problem, data, Fit(1.0, [truth], 0, []))
        assert judged["success"], problem.name
        assert judged["same_structure"], problem.name
        mean = Equation.parse(repr(float(np.mean(data.y))), problem.names)
        judged = recovery.judge(problem, data, Fit(1.0, [mean], 0, []))
        assert not judged["success"], problem.name
        assert not judged["same_structure"], problem.name


def test_suites_have_the_promised_size():
    assert len(suites.suite("paper")) == 11
    assert len(suites.suite("feynman")) >= 60
    assert len(suites.suite("classic")) >= 40
    assert len(suites.suite("wide")) == 20
    assert len(suites.suite("random")) == 100


def test_the_same_seed_gives_the_same_data_and_another_seed_other_data():
    problem = suites.suite("feynman", noise=0.01)[0]
    first, again, other = problem.draw(1), problem.draw(1), problem.draw(2)
    assert first.y.equals(again.y)
    assert not first.y.equals(other.y)
    exact = problem.truth.evaluate(first.X.to_numpy())[:, 0]
    assert np.std(first.y - exact) == pytest.approx(0.01 * np.std(exact), rel=0.05)
    assert np.array_equal(problem.truth.evaluate(first.X_test.to_numpy())[:, 0], first.y_test)


def test_gross_errors_do_not_lower_what_the_truth_must_reach():
    """Once the truth was fitted to the spoilt rows, and anything counted as found."""
    problem = suites.suite("small")[0]
    clean, wrong = problem.draw(0), spoilt(problem.draw, 0.1, 0)
    assert np.sum(clean.y != wrong.y) == round(0.1 * len(clean.y))
    pd.testing.assert_series_equal(wrong.y_right, clean.y)
    limits = [_Judge(problem, data).reachable.inside for data in (clean, wrong)]
    assert limits[0] <= limits[1] < 3 * limits[0]


def test_points_are_drawn_as_written():
    rng = np.random.default_rng(0)
    grid = points({"x": "E[0,1,0.5]", "y": "E[1,2,1]"}, rng)
    assert grid.to_numpy().tolist() == [[0, 1], [0, 2], [0.5, 1], [0.5, 2], [1, 1], [1, 2]]
    mixed = points({"x": "U[-2,-1,7]", "y": "U[3,4,7]"}, rng)
    assert mixed.shape == (7, 2)
    assert mixed["x"].between(-2, -1).all()
    assert mixed["y"].between(3, 4).all()


def test_what_counts_as_found_follows_the_suite():
    noisy = suites.suite("random", noise=0.1, n=1)[0]
    data = noisy.draw(0)
    limit = data.noise * math.sqrt(1.1**2 - 1)
    assert noisy.succeeds(data, 0.99 * limit, ())
    assert not noisy.succeeds(data, 1.01 * limit, ())
    assert not noisy.succeeds(data, float("inf"), ())

    exact = suites.suite("random", noise=0.0, n=1)[0]
    data = exact.draw(0)
    assert exact.succeeds(data, 0.9e-3 * data.spread, ())
    assert not exact.succeeds(data, 1.1e-3 * data.spread, ())

    wide = suites.suite("wide", n=1)[0]
    data = wide.draw(0)
    used = wide.truth.inputs_used
    assert len(used) == 3
    assert data.X.shape == (1000, 50)
    assert wide.succeeds(data, 1.0, used)
    assert not wide.succeeds(data, 0.0, used[:2])
    assert not wide.succeeds(data, 0.0, (*used, next(n for n in wide.names if n not in used)))


# --- random equations ----------------------------------------------------------------------------


def test_random_equations_are_what_they_promise():
    seen = set()
    for e in islice(random_equations.equations(family=3), 40):
        text = e.formula.replace("sin(", "cos(")
        assert Expression.parse(text, tuple(e.ranges)).is_allowed(PRESETS["plain"])
        expression = Expression.parse(e.formula, tuple(e.ranges))
        assert expression.inputs_used == e.relevant
        assert random_equations.depth(expression) <= 4
        assert 1 <= len(e.relevant) <= 6
        assert len(e.ranges) - len(e.relevant) <= 4
        assert 0 <= e.noise <= 0.1
        seen.add(e.formula)
    assert len(seen) == 40


def test_a_number_of_a_family_is_always_the_same_equation():
    some = suites.suite("random", relevant_max=2, n=15)
    whole = {p.name: p.formula for p in suites.suite("random")}
    assert all(len(p.truth.inputs_used) <= 2 for p in some)
    assert all(whole[p.name] == p.formula for p in some)
    assert suites.suite("random", family=1, n=1)[0].formula != whole["R0-000"]


def test_depth_counts_units_on_the_longest_way():
    assert random_equations.depth(Expression.parse("2*x1 + 1", NAMES)) == 0
    assert random_equations.depth(Expression.parse("cos(x1*exp(x2)) + x1", NAMES)) == 3


# --- judging and running -------------------------------------------------------------------------


def test_the_first_success_is_when_it_was_first_on_the_front():
    problem = suites.suite("random", noise=0.01, n=1)[0]
    data = problem.draw(0)
    truth = Equation.parse(problem.formula, problem.names)
    poor = Equation.parse("1", problem.names)
    trail = [(0.5, poor), (2.0, truth), (3.0, truth)]

    found = recovery.judge(problem, data, Fit(9.0, [poor, truth], 0, trail))
    assert found["first_success"] == 2.0
    assert not found["success"]
    assert found["front_success"]
    assert found["front_same_structure"]
    assert not found["same_structure"]

    only_at_the_end = recovery.judge(problem, data, Fit(9.0, [truth], 0, trail[:1]))
    assert only_at_the_end["first_success"] == 9.0
    never = recovery.judge(problem, data, Fit(9.0, [poor], 0, trail[:1]))
    assert never["first_success"] is None


def test_a_method_that_fails_does_not_end_the_benchmark(capsys):
    def broken(*arguments):
        raise RuntimeError("no such luck")

    problems = suites.suite("random", n=1)
    runs = recovery.run_suite(problems, {"broken": broken}, range(2), Settings(1.0, 1))
    assert [r["success"] for r in runs] == [False, False]
    assert "no such luck" in capsys.readouterr().out
    assert "0 of 2" in summary(runs)
    assert "R0-000" in table(runs)


@pytest.mark.slow
def test_one_easy_problem_from_the_command_line(tmp_path, capsys):
    out = tmp_path / "results.json"
    command = ["--suite", "random", "--problems", "R0-050", "--max-trainings", "2", "--jobs", "1"]
    command += ["--time", "30", "--out", str(out)]
    assert recovery.main(command) == 0
    assert "solved at the median" in capsys.readouterr().out
    results = read_results(out)
    assert results["about"]["arguments"]["max_trainings"] == 2
    (run,) = results["runs"]
    assert run["problem"] == "R0-050"
    assert run["notes"]["n_trainings"] == 2
    assert run["front"][run["selected"]]["equation"] == run["equation"]

    assert recovery.main(command) == 2  # it would overwrite what is there
    assert "--resume" in capsys.readouterr().err
    assert recovery.main([*command, "--resume", "--noise", "0.1"]) == 2
    assert recovery.main([*command, "--resume"]) == 0
    assert read_results(out)["runs"] == results["runs"]

    capsys.readouterr()
    assert recovery.main(["--compare", str(out), str(out)]) == 0
    assert "only A succeeded in 0 runs" in capsys.readouterr().out


def test_problems_and_peers_that_do_not_exist_are_said(capsys, monkeypatch):
    assert recovery.main(["--problems", "S9", "--list"]) == 2
    assert recovery.main(["--peers", "oprn", "--list"]) == 2
    assert recovery.main(["--noise", "0.1", "--list"]) == 2
    capsys.readouterr()

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    assert recovery.main(["--peers", "operon", "--limit", "1", "--list"]) == 0
    assert capsys.readouterr().out.startswith("operon: not installed")


# --- tables --------------------------------------------------------------------------------------


def run(problem, seed, success, first, rmse=0.1):
    return {
        "method": "ieql",
        "problem": problem,
        "seed": seed,
        "rmse": rmse,
        "success": success,
        "right": success,
        "first_success": first,
        "seconds": 5.0,
        "n_parameters": 4,
        "n_parameters_truth": 4,
        "n_constants": 3,
        "n_constants_truth": 3,
        "fresh_ratio": 1.0,
        "same_structure": success,
        "front_success": success,
        "front_same_structure": True,
    }


def test_a_failure_counts_as_infinitely_late_in_the_median():
    assert median([1.0, 3.0, None]) == 3.0
    assert median([1.0, None]) == math.inf
    assert median([2.0, 4.0]) == 3.0
    runs = [run("P", 0, True, 1.0), run("P", 1, False, None, None), run("P", 2, True, 2.0)]
    line = table(runs).splitlines()[1].split()
    assert line == [
        "P",
        "0.1",
        "0.1",
        "-",
        "2/3",
        "2/3",
        "2.0",
        "5.0",
        "4",
        "4",
        "3",
        "3",
        "2/3",
        "1",
    ]
    text = summary(runs)
    assert "solved at the median 1 of 1" in text
    assert "runs succeeded 2 of 3" in text
    assert "selection missed it in 1" in text


def test_two_results_are_compared_on_what_both_have():
    a = [run("P", 0, False, None), run("P", 1, True, 4.0), run("Q", 0, True, 1.0)]
    b = [run("P", 0, True, 1.0), run("P", 1, True, 2.0), run("Z", 0, True, 1.0)]
    text = comparison(a, b)
    assert "Q" not in text
    assert "Z" not in text
    assert "only A succeeded in 0 runs, only B in 1" in text
    assert "for B on 1" in text
    assert "no problem" in comparison(a[2:], b[2:])


def test_it_is_counted_how_often_two_results_are_the_same_equation_to_the_letter():
    a = [run("P", 0, True, 1.0) | {"equation": "2*x"}, run("P", 1, True, 1.0) | {"equation": "x"}]
    b = [run("P", 0, True, 1.0) | {"equation": "2*x"}, run("P", 1, True, 1.0) | {"equation": "y"}]
    assert comparison(a, b).endswith("the same equation, to the letter, in 1 of 2 runs")


def test_a_result_file_is_plain_json(tmp_path):
    path = tmp_path / "r.json"
    write_results(path, {"about": {}, "runs": [{"rmse": float("inf"), "n": np.int64(3)}]})
    assert json.loads(path.read_text())["runs"] == [{"rmse": None, "n": 3}]
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]
    path.write_text("[]")
    with pytest.raises(ValueError, match="not a result file"):
        read_results(path)


# --- peers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("peer", "package"), [("operon", "pyoperon"), ("gplearn", "gplearn")])
def test_a_peer_runs_on_the_same_data(peer, package):
    pytest.importorskip(package)
    problem = next(p for p in suites.suite("random", noise=0.01) if p.name == "R0-053")
    data = problem.draw(0)
    fit = peers.PEERS[peer](problem, data, 0, Settings(1.0, 1))
    found = recovery.judge(problem, data, fit)
    assert found["rmse"] < data.spread
    assert found["front"][fit.selected]["rmse_validation"] < data.spread
    assert fit.trail


def test_on_a_busy_machine_the_clocks_are_those_of_the_processor(monkeypatch):
    """What others do meanwhile costs a fit none of its seconds."""
    for clock in ("monotonic", "perf_counter"):
        monkeypatch.setattr(time, clock, getattr(time, clock))  # put back after the test
    monkeypatch.setattr(time, "process_time", lambda: 36.0)
    count_processor_time()
    assert time.monotonic() == time.perf_counter() == pytest.approx(20.0)
