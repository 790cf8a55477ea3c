"""The figures of the method: all files, nothing run twice, right counts, numbers from the store."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from ieql import IEQLRegressor
from ieql.equations.expression import Expression

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments import method_figures
from experiments.budget import BUDGETS
from experiments.method_figures import PRINTED, SLICES, analysis, degree
from experiments.store import Store

# Its fits are tiny: what they say of their errors is not what is looked at.
pytestmark = pytest.mark.filterwarnings("ignore::ieql.errors.DisagreementWarning")

NAMES = ("x1", "x2", "x3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    method_figures.run(Store(folder, "method_figures"), BUDGETS["tiny"])
    return folder


@pytest.fixture
def store(folder):
    return Store(folder, "method_figures")


def test_all_files_are_there(folder):
    for name in ("architecture", "slices", "relaxation", "gates", "selection_s0"):
        for kind in ("svg", "png", "csv"):
            assert (folder / f"{name}.{kind}").stat().st_size > 100, (name, kind)
    with (folder / "printed_equations.csv").open(encoding="utf-8") as file:
        assert [row["equation"] for row in csv.DictReader(file)] == [
            p["title"] for p in PRINTED.values()
        ]
    json.loads((folder / "method_figures.json").read_text(encoding="utf-8"))


def test_what_is_finished_is_not_run_again(folder, monkeypatch):
    said, fits = [], []
    monkeypatch.setattr(IEQLRegressor, "fit", lambda *args, **kwargs: fits.append(args))
    # Drawing is tested above; here only the parts count.
    monkeypatch.setattr(Store, "figure", lambda self, name, figure: None)
    before = (folder / "method_figures.json").read_bytes()
    method_figures.run(Store(folder, "method_figures", said.append), BUDGETS["tiny"])
    assert said == []
    assert fits == []
    assert (folder / "method_figures.json").read_bytes() == before


# --- what the parts hold -------------------------------------------------------------------------


def test_the_architecture_is_that_of_two_outputs_learned_together(store):
    part = store.parts["architecture"]
    assert [row["output"] for row in part["outputs"]] == ["y1", "y2"]
    assert part["outputs"][1]["equation"] == "0"
    assert part["complexity"] <= part["complexity_apart"]


def test_slices_show_the_domains_of_the_paper(store):
    panels = {p["problem"]: p for p in store.parts["slices"]["panels"]}
    assert tuple(panels) == SLICES
    ends = ("train_low", "train_high", "test_low", "test_high", "others_at")
    assert [panels["S3"][e] for e in ends] == [-1, 1, -2, 2, 0]
    assert [panels["A4"][e] for e in ends] == [0, 1, 0, 2, 0.5]
    # S0 depends on no other inputs than the two that are shown.
    assert panels["S0"]["share"] == pytest.approx(1.0, abs=0.1)
    assert all(0.3 < p["share"] <= 1.0 for p in panels.values())


def test_the_relaxation_is_that_of_the_paper(store):
    part = store.parts["relaxation"]
    z = np.array(part["z"])
    for unit, function in (("div", np.reciprocal), ("log", np.log)):
        for alpha, values in part["curves"][unit].items():
            shifted = function(np.where(z > 0, z, 1.0) + float(alpha))
            np.testing.assert_allclose(values, np.where(z > 0, shifted, 0.0), rtol=1e-12)
    assert [r["largest_division"] for r in part["limits"]] == pytest.approx([10, 4, 2, 1])


def test_gates_agree_with_the_printed_curve_and_have_all_their_mass(store):
    part = store.parts["gates"]
    assert part["difference_from_printed"] < 1e-9
    density = part["density"]
    between = np.trapezoid(density["hard_concrete"], density["z"])
    assert part["mass_at_0"] + part["mass_at_1"] + between == pytest.approx(1.0, abs=0.01)
    means = part["expectation"]
    middle = means["log_alpha"].index(0.0)
    assert means["hard_concrete"][middle] == pytest.approx(0.5, abs=0.02)
    assert means["hard_concrete_without_noise"][0] == 0.0
    assert means["concrete_without_noise"][0] > 0.0


def test_the_selection_holds_all_that_its_figure_shows(store):
    part = store.parts["selection_s0"]
    shown = part["shown"]
    assert list(shown) == ["too simple", "selected", "too complex"]
    assert shown["selected"] == part["front"][part["selected"]]
    assert shown["too complex"] in part["sweep"]
    assert shown["too simple"]["complexity"] <= shown["selected"]["complexity"]
    for row in (*part["front"], *part["sweep"]):
        expression = Expression.parse(row["equation"], part["names"])
        assert expression.n_parameters == row["n_parameters"]


# --- analysis of equations -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", 0),
        ("2*x1 + x2", 1),
        ("x1*x2*x3 + x1**2", 3),
        ("(x1**2 + x2)**2*x3", 5),
        ("x1 + cos(x1*x2**2)", 3),  # the polynomial inside counts
        ("x1*cos(x2**2)", 2),  # and the value of a cosine is a variable
        ("x1/(x2**2*x3 + 2)", 3),
    ],
)
def test_degrees(text, expected):
    assert degree(Expression.parse(text, NAMES)) == expected


def test_a_small_equation_is_counted():
    found = analysis(Expression.parse("0.5*x1 + 2*cos(3*x2 - 1)*(x3 + 4) - 7", NAMES))
    assert found == {
        "degree": 2,
        "n_parameters": 5,  # 0.5, 2, 3 and the two weights 1 into the product
        "unit_counts": {"cos": 1, "mul": 1},
        "inner_units": ["cos"],
        "depth": 2,
        "complexity_plain": 5.0,
        "complexity_motor": 1 + 2 + 1 + 10 + 1.0,
        "n_numbers": 8,
    }


def test_the_printed_equations_have_the_degrees_of_the_paper(store):
    for name, paper in PRINTED.items():
        part = store.parts[f"printed_equations/{name}"]
        assert part["degree"] == paper["degree"]
        assert part["n_parameters"] <= paper["n_parameters"]
        assert part["n_numbers"] <= paper["numbers"]
    assert store.parts["printed_equations/engine_motor_simple"]["n_parameters"] == 15
    reason = store.parts["printed_equations/engine_motor_median"]["reason"]
    assert "sqrt + sqrt" in reason


# --- the report ----------------------------------------------------------------------------------


def test_the_section_has_the_numbers_of_the_store(store):
    text = method_figures.section(store)
    assert text.startswith("## Figures of the method\n")
    for name in ("architecture", "slices", "relaxation", "gates", "selection_s0"):
        assert f"(../experiments/results/{name}.png)" in text
    median = store.parts["printed_equations/engine"]
    assert f"| plain median | 4 | 4 | {median['n_parameters']} | 79 |" in text
    store.parts["printed_equations/engine"]["n_parameters"] = 12345
    store.parts["gates"]["mass_at_0"] = 0.98765
    store.parts["selection_s0"]["shown"]["too complex"]["rmse_extrapolation"] = None
    text = method_figures.section(store)
    assert "| 12345 | 79 |" in text
    assert "0.988" in text
    assert "not finite" in text


def test_too_simple_is_what_misses_the_noise_not_another_form_of_the_selected():
    # On S0 the front once held the truth below a longer form of it, which was selected.
    front = [
        {"complexity": 0, "rmse_validation": 1.0},
        {"complexity": 4, "rmse_validation": 0.21},
        {"complexity": 5, "rmse_validation": 0.0099},
        {"complexity": 6, "rmse_validation": 0.0098},
    ]
    assert method_figures._too_simple(front, 3) == front[1]
    assert method_figures._too_simple(front, 0) == front[0]
