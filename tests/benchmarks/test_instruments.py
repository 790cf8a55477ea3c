"""The suites of few rows, of measured tables and of pure noise, and what is said beside 'found'."""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ieql.equations.expression import Expression

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import judging
import measured
import recovery
import suites
import textbook
from fits import Equation, Fit
from problems import beyond, points
from reference import contains, n_constants, refitted
from srbench import from_sympy, is_symbolic_solution
from tables import comparison, summary


def problem_of(suite, name, **options):
    return next(p for p in suites.suite(suite, **options) if p.name == name)


def judged(problem, text, seed=0, **errors):
    data = problem.draw(seed)
    equation = Equation.parse(text, problem.names, **errors)
    return judging.judge(problem, data, Fit(1.0, [equation], 0, []))


# --- small ---------------------------------------------------------------------------------------


def test_the_textbook_is_large_and_mixed():
    inputs = Counter(len(law.inputs) for law in textbook.LAWS)
    assert len(textbook.LAWS) >= 100
    assert inputs[1] > inputs[2] > inputs[3] > 10
    assert set(Counter(law.field for law in textbook.LAWS)) == {
        "physics", "chemistry", "biology", "engineering", "economics",
    }  # fmt: skip
    for problem in suites.suite("small"):
        assert 6 <= len(problem.draw(0).y) <= 60, problem.name


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.1])
def test_the_refitted_truth_of_few_rows_is_right(noise):
    for problem in suites.suite("small", noise=noise)[::12]:
        data = problem.draw(1)
        fitted = refitted(problem.truth, data.X.to_numpy(), data.y.to_numpy())
        found = judged(problem, fitted.text(), seed=1)
        assert found["right"], problem.name
        assert found["few_constants"], problem.name
        assert found["same_structure"], problem.name


def test_what_is_right_inside_only_is_not_right():
    problem = problem_of("small", "projectile_height")
    bent = judged(problem, f"{problem.formula} + 0.02*exp(3*(t - 3.4))")
    assert bent["success"]
    assert not bent["success_beyond"]
    assert not bent["right"]
    assert not bent["few_constants"]


def test_another_way_to_write_a_law_has_its_structure():
    problem = problem_of("small", "kleiber")
    assert judged(problem, "exp(0.749*log(m) + 1.2326)")["same_structure"]
    assert not judged(problem, "3.43*m**0.75 + 0.002*m")["same_structure"]
    problem = problem_of("small", "michaelis_menten")
    assert judged(problem, "1/(0.031546 + 0.135962/s)")["same_structure"]


def test_a_structure_contains_the_truth_if_other_constants_make_it_so():
    X = np.linspace(1, 5, 50)[:, None]
    y = 2.3 * np.exp(-0.7 * X[:, 0])
    assert contains(Expression.parse("2.5*exp(-0.6*x)", ("x",)), X, y)
    assert not contains(Expression.parse("2.5/(x + 1)", ("x",)), X, y)


def test_constants_are_counted_alike_however_they_are_written():
    X = np.linspace(1, 5, 50)[:, None]
    for text in ("3*x/(2 + x)", "1.5*x/(1 + 0.5*x)", "3*(2*x)/(2*(2 + x))"):
        assert n_constants(Expression.parse(text, ("x",)), X) == 2


def test_beyond_means_outside_the_range_and_not_across_zero():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": [1.0, 11.0], "b": [0.0, 1.0], "c": [-3.0, -1.0]})
    found, values = beyond(X, lambda rows: rows[:, 0], rng)
    assert len(found) == len(values) > 1000
    low, high = found.min(), found.max()
    assert 0.7 <= low["a"] < 1 < 11 < high["a"] <= 14
    assert 0 <= low["b"] < 1 < high["b"] <= 1.3
    assert low["c"] >= -3.6
    assert high["c"] <= -0.4
    rows = found.to_numpy()
    assert np.any((rows < X.min().to_numpy()) | (rows > X.max().to_numpy()), axis=1).all()


def test_grids_are_even_or_have_equal_ratios():
    rng = np.random.default_rng(0)
    assert points({"x": "G[0,6,4]"}, rng)["x"].tolist() == [0, 2, 4, 6]
    assert points({"x": "L[1,1000,4]"}, rng)["x"].to_numpy() == pytest.approx([1, 10, 100, 1000])
    drawn = points({"x": "V[0.001,1000,2000]"}, rng)["x"]
    assert np.mean(drawn < 1) == pytest.approx(0.5, abs=0.05)


# --- waves and reported errors -------------------------------------------------------------------


def test_waves_are_counted_of_which_the_rows_see_less_than_half_a_turn():
    X = np.linspace(0, 10, 30)[:, None]
    text = "cos(0.3*x) + cos(x) + sin(0.2*x + 1)"
    assert judging.short_waves(Expression.parse(text, ("x",)), X) == 2


def test_a_rival_without_a_short_wave_is_said():
    problem = problem_of("small", "calibration_line")
    data = problem.draw(0)
    wave = Equation.parse("7 + 4*cos(0.01*x + 4)", problem.names, mdl=-20.0)
    for mdl, is_rival in ((-11.0, True), (-9.0, False)):
        line = Equation.parse(problem.formula, problem.names, mdl=mdl)
        found = judging.judge(problem, data, Fit(1.0, [line, wave], 1, []))
        assert found["short_waves"] == 1
        assert found["short_wave_rival"] is is_rival


def test_the_error_on_new_rows_is_compared_with_the_reported_one():
    problem = problem_of("small", "decay")
    noise = problem.draw(0).noise
    found = judged(problem, problem.formula, rmse_validation=noise / 2)
    assert found["fresh_ratio"] == pytest.approx(2.0)


# --- ugly places ---------------------------------------------------------------------------------


def test_ugly_places_of_the_selected_equation_are_stored_and_summed_up():
    problem = problem_of("small", "hooke")
    (name,) = problem.names
    texts = problem.formula, f"cos(80*{name} + 98.96)", f"sqrt({name})**2 + cos(80*{name} - 7)"
    runs = [
        {"method": "ieql", "problem": "hooke", "seed": k, **judged(problem, text)}
        for k, text in enumerate(texts)
    ]
    assert [r["ugly"] for r in runs] == [0, 1, 2]
    assert runs[1]["ugly_reasons"] == [f"phase beyond half a turn: cos(80*{name} + 98.96)"]
    line = "ugly: 2 of 3 (phase beyond half a turn 2, root and square 1)"
    assert line in summary(runs)


def test_standard_errors_say_what_a_constant_means():
    problem = problem_of("small", "kleiber")
    text = "3.4*m**0.995"
    plain = Equation.parse(text, problem.names)
    for error, n in ((0.004, 1), (0.0001, 0), (None, 0)):
        known = None
        if error is not None:
            known = tuple(error if c == 0.995 else 0.0 for c in plain.expression.constants())
        equation = replace(plain, standard_errors=known)
        found = judging.judge(problem, problem.draw(0), Fit(1.0, [equation], 0, []))
        assert found["ugly"] == n


def test_results_without_ugly_places_can_be_read():
    problem = problem_of("small", "hooke")
    new = {"method": "ieql", "problem": "hooke", "seed": 0, **judged(problem, problem.formula)}
    old = {k: v for k, v in new.items() if not k.startswith("ugly")}
    assert "ugly" not in summary([old])
    line = next(r for r in comparison([old], [new]).splitlines() if r.startswith("ugly"))
    assert line.split()[1:] == ["-", "0", "of", "1"]


# --- noise ---------------------------------------------------------------------------------------


def test_of_pure_noise_a_constant_is_right():
    problems = suites.suite("noise")
    assert len(problems) >= 60
    sizes = [len(p.draw(0).y) for p in problems]
    assert (min(sizes), max(sizes)) == (6, 200)
    assert judged(problems[0], "37.4")["right"]
    assert not judged(problems[0], "37.4 + 0.01*t")["right"]
    assert not problems[0].draw(0).y.equals(problems[0].draw(1).y)


# --- measured ------------------------------------------------------------------------------------


@pytest.fixture
def tables(tmp_path):
    a = np.array([0.389, 0.724, 1.0, 1.524, 5.2, 9.51])
    period = np.round(365.3 * a**1.5) + np.array([1, -1, 0, 2, -3, 1])
    pd.DataFrame({"a": a, "P": period}).to_csv(tmp_path / "eb_kepler.csv", index=False)
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (50, 2))
    lv = pd.DataFrame(X, columns=["x", "y"])
    lv.assign(label=3 * lv.x - 2 * lv.x * lv.y - lv.x**2).to_csv(
        tmp_path / "strogatz_lv1.csv", index=False
    )
    lv.assign(Rr=lv.x).to_csv(tmp_path / "eng_yacht.csv", index=False)
    return tmp_path


def test_a_measured_table_is_compared_with_its_accepted_law(tables):
    problem = problem_of("measured", "eb_kepler", tables=tables)
    assert problem.n_constants == 1
    assert judged(problem, problem.formula)["right"]
    assert judged(problem, problem.formula)["same_structure"]
    assert not judged(problem, "300*a**1.5")["right"]
    more = f"{problem.formula} + 0.001*a + 0.001*cos(2*a)"
    assert not judged(problem, more)["right"]  # as good, but with too many constants


def test_a_generated_table_is_judged_beyond_its_rows(tables):
    problem = problem_of("measured", "strogatz_lv1", tables=tables)
    assert judged(problem, problem.formula)["right"]
    assert judged(problem, problem.formula)["success_beyond"]


def test_a_table_without_a_law_has_an_error_but_no_verdict(tables):
    problem = problem_of("measured", "eng_yacht", tables=tables)
    found = judged(problem, "x")
    assert found["right"] is None
    assert found["r2_test"] == pytest.approx(1.0)
    run = {"method": "ieql", "problem": problem.name, "seed": 0, **found}
    assert "test R², median: 1" in summary([run])


def test_without_tables_the_suite_is_skipped_in_one_line(tmp_path, capsys):
    assert recovery.main(["--suite", "measured", "--tables", str(tmp_path / "none")]) == 0
    assert capsys.readouterr().out.startswith("measured: skipped")
    assert measured.problems(tmp_path) == []


# --- feynman -------------------------------------------------------------------------------------


def test_all_equations_of_the_set_are_there():
    names = [p.name for p in suites.suite("feynman")]
    assert len(names) == len(set(names)) == 120
    assert len(suites.suite("feynman", present=True)) == 97


def test_an_equation_that_our_units_cannot_write_has_exact_values():
    problem = problem_of("feynman", "I.26.2")
    data = problem.draw(0)
    n, theta = data.X["n"], data.X["theta2"]
    assert data.y.to_numpy() == pytest.approx(np.arcsin(n * np.sin(theta)))
    assert problem.n_parameters is None
    assert not judged(problem, "0.5*n")["same_structure"]
    values = from_sympy("arccos(x)", ("x",))(np.array([[0.0], [2.0]]))
    assert values[0] == pytest.approx(math.pi / 2)
    assert math.isnan(values[1])


@pytest.mark.parametrize(
    ("found", "is_solution"),
    [
        ("3.0001*x*sin(0.5*y) + 7", True),  # but for a constant
        ("1.5*x*sin(y/2)", True),  # but for a factor
        ("3*x*cos(0.5*y - 1.5708)", False),  # not within three decimals
        ("3*x*y", False),
    ],
)
def test_srbench_takes_what_differs_by_a_constant_or_a_factor(found, is_solution):
    assert is_symbolic_solution(found, "3*x*sin(y/2)", ("x", "y")) is is_solution


def test_what_takes_sympy_too_long_is_no_solution():
    assert not is_symbolic_solution("(x + 1)**2", "x**2 + 2*x + 1", ("x",), seconds=1e-6)


# --- tables --------------------------------------------------------------------------------------


def test_two_results_show_the_counts_side_by_side():
    problem = problem_of("small", "hooke")
    runs = {
        name: [{"method": name, "problem": "hooke", "seed": 0, **judged(problem, text)}]
        for name, text in (("ieql", problem.formula), ("operon", "1"))
    }
    text = comparison(runs["ieql"], runs["operon"], ("ieql", "operon"))
    line = next(row for row in text.splitlines() if row.startswith("right inside and beyond"))
    assert line.split("  ")[-1].strip() == "0 of 1 (0 %)"
    assert "1 of 1 (100 %)" in line


def test_the_benchmark_of_proofs_counts_where_equations_are_proved(capsys):
    """It looked for a function that had been given another name, and ended with a traceback."""
    import proofs

    proofs.fronts(n=1, trainings=1, seed=0, names=())
    assert "sampling let through: {}" in capsys.readouterr().out
