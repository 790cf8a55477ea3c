"""The experiments of the paper, each at a tiny budget, and the page made of their results."""

from __future__ import annotations

import json
import re
import sys
import types
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments import (
    ambiguity,
    complex_equations,
    electric_machine,
    engine_torque,
    unit_frequencies,
)
from experiments.__main__ import EXPERIMENTS, main
from experiments.budget import BUDGETS
from experiments.compare import compare, spread
from experiments.methods import METHODS, of_budget, own_choice
from experiments.paper_values import AMBIGUITY_SHARES, COMPLEX, PROBLEMS
from experiments.reproduction import write_page
from experiments.store import Store
from experiments.words import number, paper_number, ranged
from ieql import load_problem
from ieql.errors import IeqlError

ROOT = Path(__file__).parents[2]
TINY = BUDGETS["tiny"]


@pytest.fixture
def engine_file(tmp_path, monkeypatch):
    """Measurements like those of the real engine; tests do not have them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    table = pd.DataFrame(X, columns=list(engine_torque.INPUTS))
    for k, name in enumerate(engine_torque.REAL):
        table[name] = X[:, 0] * X[:, 1] + k + 0.01 * rng.normal(size=len(X))
    path = tmp_path / "engine.csv"
    table.to_csv(path, index=False)
    monkeypatch.setenv("ENGINE_DATA", str(path))


# --- each experiment -------------------------------------------------------------------------


LONG = ("complex_equations", "engine_torque", "unit_frequencies")
"""Experiments with many fits; the others go the same ways."""


# The figures of the method have a file of tests of their own.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in LONG))
        for name in EXPERIMENTS
        if name != "method_figures"
    ],
)
def test_each_experiment_runs_once_and_its_section_holds_its_numbers(
    name, tmp_path, engine_file, capsys
):
    arguments = [name, "--budget", "tiny", "--results", str(tmp_path / "results")]
    assert main(arguments) == 0
    assert capsys.readouterr().out.count("s)") >= 1
    for kind in ("json", "csv"):
        assert list((tmp_path / "results").glob(f"*.{kind}"))

    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert " s)" not in said  # nothing was run again

    page = tmp_path / "page.md"
    write_page(tmp_path / "results", page)
    text = page.read_text(encoding="utf-8")
    assert text.count("Not finished yet") < len(EXPERIMENTS)
    assert not re.search(r"\bnan\b", text)
    assert "None" not in text


def test_an_interrupted_experiment_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    done = []

    def learn(problem, seed, budget):
        if len(done) == 2:
            done.append("interrupted")
            raise KeyboardInterrupt
        done.append((problem.name, seed))
        return METHODS["mean"].run(problem, seed, budget)

    fake = {"mean": replace(METHODS["mean"], run=learn)}
    monkeypatch.setattr("experiments.compare.METHODS", fake)
    three = replace(TINY, baseline_runs=3)
    store = Store(tmp_path, "trial")
    with pytest.raises(KeyboardInterrupt):
        compare(store, three, ["S0"], ["mean"])

    compare(Store(tmp_path, "trial"), three, ["S0"], ["mean"])

    assert done == [("S0", 0), ("S0", 1), "interrupted", ("S0", 2)]


def test_ctrl_c_on_the_command_line_says_that_finished_parts_are_kept(monkeypatch, capsys):
    def stop(store, budget):
        raise KeyboardInterrupt

    monkeypatch.setattr(ambiguity, "run", stop)
    assert main(["ambiguity", "--budget", "tiny"]) == 130
    assert "finished parts are kept" in capsys.readouterr().err


# --- results ---------------------------------------------------------------------------------


def test_a_larger_budget_need_not_be_repeated_for_a_smaller_one(tmp_path):
    store = Store(tmp_path, "trial")
    store.part("a/b/0", BUDGETS["full"], lambda: {"value": 1})
    assert store.part("a/b/0", BUDGETS["quick"], lambda: {"value": 2})["value"] == 1
    store.part("c/b/0", BUDGETS["quick"], lambda: {"value": 3})
    assert store.part("c/b/0", BUDGETS["full"], lambda: {"value": 4})["value"] == 4
    assert Store(tmp_path, "trial").parts == store.parts


def test_a_prefix_names_whole_words_of_a_key(tmp_path):
    store = Store(tmp_path, "trial")
    for key in ("S1/ieql/0", "S1/ieql_paper/0"):
        store.part(key, TINY, lambda key=key: {"key": key})
    assert [p["key"] for p in store.group("S1/ieql")] == ["S1/ieql/0"]


def test_infinite_errors_are_missing_in_the_file_and_infinite_in_the_table(tmp_path):
    store = Store(tmp_path, "trial")
    store.part("a/b/0", TINY, lambda: {"rmse": float("inf")})
    assert json.loads(store.path.read_text())["parts"]["a/b/0"]["rmse"] is None
    assert spread([None, 1.0, 2.0]) == {"median": 2.0, "min": 1.0, "max": None}
    assert number(None) == "∞"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.00996, "0.0100"), (0.0201, "0.0201"), (1.234, "1.23"), (30.86, "30.9"), (1042.7, "1043"),
     (6, "6"), (0.0, "0"), (2.3e9, "2.3e+09")],
)  # fmt: skip
def test_numbers_have_three_figures(value, text):
    assert number(value) == text


def test_ranges_are_shown_only_for_several_runs():
    row = {"runs": 1, "rmse_median": 0.5, "rmse_min": 0.1, "rmse_max": 0.9}
    assert ranged(row, "rmse") == "0.500"
    assert ranged({**row, "runs": 3}, "rmse") == "0.500 (0.100–0.900)"
    assert paper_number((0.02, 0.01, 0.06)) == "0.02 (0.01–0.06)"
    assert paper_number((1.57, 1.57, 1.57)) == "1.57"


# --- what is concluded from them -------------------------------------------------------------


def test_at_or_below_compares_at_the_two_decimals_of_the_paper(tmp_path):
    store = Store(tmp_path, "complex_equations")

    def found(error):
        return {"front": [{"rmse_test": error, "n_parameters": 4}], "selected": {"V_int&ex": 0}}

    store.part("S0/ieql/0", TINY, lambda: found(0.0149))
    store.part("S1/ieql/0", TINY, lambda: found(0.0151))
    store.part("S2/ieql/0", TINY, lambda: found(None))
    assert complex_equations.at_or_below(store) == {"S0": True, "S1": False, "S2": False}


@pytest.mark.parametrize(
    ("ratio", "cos", "square", "good"),
    [("1/2", 1, 0, True), ("1/2", 0, 1, False), ("3", 0, 1, True), ("3", 0.2, 1, False),
     ("3", 0, 0.8, False)],
)  # fmt: skip
def test_the_prior_is_followed_if_every_run_has_only_the_cheaper_unit(ratio, cos, square, good):
    row = {"ratio": ratio, "cos_with_factors": cos, "square_with_factors": square}
    assert ambiguity.follows(row) is good


def test_without_factors_the_number_of_parameters_counts_and_then_the_error():
    texts = {"3.7": 0.3, "4 - x1**2": 0.0103, "8*cos(0.5*x1) - 4": 0.01, "x1 + cos(x1**2)": 0.01}
    found = ambiguity.without_factors(
        [{"equation": t, "rmse_train": e, "rmse_validation": e} for t, e in texts.items()]
    )
    assert found == {"equation": "8*cos(0.5*x1) - 4", "units": {"cos": 1}, "among": 4}


def test_the_ratios_are_the_nineteen_of_the_paper():
    assert len(ambiguity.RATIOS) == 19
    assert {str(r) for r in ambiguity.RATIOS} == set(AMBIGUITY_SHARES)
    prior = ambiguity.prior(Fraction(1, 4))
    assert prior["costs"] == {"cos": 0.25, "square": 1.0}
    assert ambiguity.prior(Fraction(4))["costs"] == {"cos": 1.0, "square": 0.25}


def test_shares_are_means_over_fits():
    parts = [{"units": {"cos": 1, "mul": 3}}, {"units": {"cos": 1}}]
    found = unit_frequencies.shares(parts)
    assert found["cos"] == pytest.approx(62.5)
    assert found["mul"] == pytest.approx(37.5)


def test_the_verdict_names_what_went_against_expectation():
    plain = {"data": "engine", "cos": 10, "exp": 10, "div": 10, "square": 10, "mul": 10}
    motor = {**plain, "cos": 5, "exp": 5, "div": 12, "square": 20, "mul": 20}
    text = unit_frequencies.verdict([plain, motor], "engine")
    assert text == (
        "engine: the motor factors lower cos, exp and raise square, mul; against expectation: div."
    )


# --- methods ---------------------------------------------------------------------------------


def test_the_mean_predictor_of_the_paper_is_ours():
    # To within what another random draw of the data changes.
    for name in PROBLEMS:
        error = METHODS["mean"].run(load_problem(name), 0, TINY)["front"][0]["rmse_test"]
        assert error == pytest.approx(COMPLEX["mean"][name][0], rel=0.15)


def test_a_black_box_learns_something():
    rows = replace(TINY, rows=400, mlp_epochs=60, gp_rows=200)
    problem = of_budget(load_problem("S3"), rows)
    problem = replace(problem, X_test=problem.X, y_test=problem.y)
    spread = float(problem.y.std())
    for name in ("mlp", "gp"):
        assert METHODS[name].run(problem, 0, rows)["front"][0]["rmse_test"] < 0.5 * spread


def test_fewer_rows_are_taken_from_the_whole_table():
    # The machine's table is sorted: its first rows have one current only.
    few = of_budget(load_problem("power_loss"), replace(TINY, rows=50))
    assert len(few.X) == len(few.y) == 50
    assert few.X["I_D"].nunique() > 5


def test_pysr_is_asked_as_the_paper_does_and_its_front_is_selected_from(monkeypatch):
    # It is not installed where the tests run; this stands in for what it is called with.
    asked = {}
    problem = of_budget(load_problem("S1"), TINY)
    truth = problem.truth.text()

    class PySRRegressor:
        def __init__(self, **options):
            asked.update(options)

        def fit(self, X, y, variable_names):
            asked["inputs"] = variable_names
            forms = ["x1", "x1*zoo", truth]
            self.equations_ = pd.DataFrame({"sympy_format": forms})

    monkeypatch.setitem(sys.modules, "pysr", types.SimpleNamespace(PySRRegressor=PySRRegressor))
    found = METHODS["pysr1"].run(problem, 3, TINY)
    assert asked["niterations"] == 40
    assert asked["unary_operators"] == ["cos", "exp", "log"]
    assert asked["maxsize"] == 40
    assert asked["inputs"] == ["x1", "x2", "x3", "x4"]
    texts = [row["equation"] for row in found["front"]]
    assert truth in texts
    assert not any("zoo" in text for text in texts)
    assert set(found["selected"]) == {"V_int", "V_int-S", "V_int&ex", "own"}


def test_other_columns_in_the_file_of_the_engine_are_named(tmp_path, monkeypatch, capsys):
    path = tmp_path / "engine.csv"
    path.write_text("speed,NOx\n" + "1,2\n3,4\n" * 10)
    monkeypatch.setenv("ENGINE_DATA", str(path))
    with pytest.raises(IeqlError, match=r"engine\.csv.*'engine_speed' is not a column"):
        engine_torque.measured("NOx", 0)


def test_what_is_no_result_file_or_no_folder_is_said_in_a_sentence(tmp_path, capsys):
    (tmp_path / "ambiguity.json").write_text("{}")
    assert main(["ambiguity", "--budget", "tiny", "--results", str(tmp_path)]) == 2
    assert "is not a result file" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert main(["ambiguity", "--budget", "tiny", "--results", str(tmp_path / "file" / "x")]) == 2
    assert "choose another folder by --results" in capsys.readouterr().err


def test_an_unfinished_experiment_is_not_on_the_page(tmp_path):
    # Its section would miss parts: the page ended in a traceback.
    Store(tmp_path, "engine_torque").part("engine/mean/0", TINY, lambda: {"front": []})
    write_page(tmp_path, tmp_path / "page.md")
    assert "Not finished yet: `python -m experiments engine_torque`" in (
        tmp_path / "page.md"
    ).read_text(encoding="utf-8")


def test_some_of_the_methods_may_be_run_alone(tmp_path, capsys):
    asked = ["complex_equations", "--budget", "tiny", "--results", str(tmp_path)]
    assert main([*asked, "--methods", "mean"]) == 0
    store = Store(tmp_path, "complex_equations")
    assert {key.split("/")[1] for key in store.parts} == {"mean"}
    assert store.finished is None  # the others are still to come
    assert main([*asked, "--methods", "meen"]) == 2
    assert "no method 'meen'. Did you mean 'mean'?" in capsys.readouterr().err


def test_what_is_not_installed_is_skipped_with_a_word(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gplearn", None)
    said = []
    compare(Store(tmp_path, "trial", said.append), TINY, ["S0"], ["gplearn"])
    assert said == ["trial: skipped gplearn (gplearn: not installed (pip install 'ieql[paper]'))"]


def test_the_page_in_the_docs_is_made_of_the_stored_results(tmp_path):
    page = tmp_path / "reproduction.md"
    write_page(ROOT / "experiments" / "results", page)
    assert (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8") == page.read_text(
        encoding="utf-8"
    ), "run: python -m experiments report"


def test_the_law_of_the_machine_has_the_papers_scaled_coefficients():
    """y = 0.4 I_D² - 1.12 I_D + 0.41 I_Q² + 1.13 I_Q - 0.31, with a negative direct current."""
    text = electric_machine.scaled_form("0.0082685*(I_D**2 + I_Q**2)")
    assert text == "0.40 I_D² +1.13 I_D +0.40 I_Q² +1.13 I_Q -0.31"
    assert electric_machine.properties().count("*95–3364*") == 1


def test_the_genetic_algorithm_selects_where_the_error_falls_most():
    """PySR's rule: largest fall of the log error per complexity, among nearly the most exact."""
    rows = [(1, 1.0), (3, 0.1), (5, 0.0111), (6, 0.0101), (12, 0.0100)]
    front = [{"complexity": c, "rmse_train": e, "equation": "x"} for c, e in rows]
    assert own_choice(front) == 2
    assert own_choice(front[:2]) == 1
    assert own_choice(front[::-1]) == 2  # whatever the order


def test_a_unit_counts_by_its_share_in_each_equation():
    """Not pooled: an equation of a hundred cosines counts no more than one of a single square."""
    networks = [{"raw": {"units": units}} for units in ({"cos": 100}, {"square": 1}, {})]
    found = unit_frequencies.shares_per_equation([*networks, {"raw": None}])
    assert (found["cos"], found["square"]) == (50.0, 50.0)
