"""Sweeps of the paper's own trainer: every network is kept, as trained and finished."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments import paper_sweeps, sweeping
from experiments.budget import BUDGETS
from experiments.reproduction import write_page
from experiments.store import Store
from experiments.sweeping import Sweep, largest_budget, network_of, networks_of, reports, sweep
from ieql import load_problem
from ieql.errors import IeqlError
from ieql.training.paper.network_training import NetworkTraining

SMALL = replace(BUDGETS["tiny"].paper, first_epochs=3, epochs=4, n_strengths=3)
TINY = replace(BUDGETS["tiny"], paper=SMALL)


def test_an_interrupted_sweep_goes_on_where_it_stopped(tmp_path, monkeypatch):
    whole = Store(tmp_path / "whole", "sweeps")
    sweep(whole, TINY, Sweep("S1"), 0)

    trained = []
    train = sweeping._trained

    def counted(*arguments):
        if len(trained) == 1:
            trained.append("interrupted")
            raise KeyboardInterrupt
        trained.append(arguments[4])
        return train(*arguments)

    monkeypatch.setattr(sweeping, "_trained", counted)
    with pytest.raises(KeyboardInterrupt):
        sweep(Store(tmp_path, "sweeps"), TINY, Sweep("S1"), 0)
    store = Store(tmp_path, "sweeps")
    sweep(store, TINY, Sweep("S1"), 0)

    assert sorted(t for t in trained if t != "interrupted") == [0, 1, 2]
    rows = [[n["raw"] for n in networks_of(s, "tiny/S1/0")] for s in (whole, store)]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 3


def test_a_sweep_is_a_front_for_the_criteria(tmp_path):
    store = Store(tmp_path, "sweeps")
    sweep(store, TINY, Sweep("S1"), 0)
    for kind in ("raw", "finished"):
        (report,) = reports(store, "tiny", "S1", kind)
        assert set(report["selected"]) == {"V_int", "V_int-S", "V_int&ex"}
        best = report["front"][report["selected"]["V_int"]]
        assert best["rmse_validation"] == min(r["rmse_validation"] for r in report["front"])
    assert len(largest_budget(store, "S1", "raw")) == 1
    del store.parts["tiny/S1/0/01"]
    assert reports(store, "tiny", "S1", "raw") == []  # a part of a sweep is none


def test_other_settings_are_other_results(tmp_path):
    store = Store(tmp_path, "sweeps")
    sweep(store, TINY, Sweep("S1"), 0)
    more = replace(TINY, paper=replace(SMALL, n_strengths=4))
    with pytest.raises(IeqlError, match="other settings; choose another folder by --results"):
        sweep(store, more, Sweep("S1"), 0)


def test_the_network_is_measured_as_it_was_trained():
    """Its errors are those of the network, also where the equation is not defined."""
    problem = load_problem("A2", 0)
    target = sweeping.target_of(problem, 0)
    training = NetworkTraining(target.task, SMALL)
    model = training.start(0)
    training.train(model, 2, 0.0, 0, float("inf"))
    outputs = network_of(training, model, target)
    with np.errstate(all="ignore"):
        found = sweeping.measured(training, model, target, problem)
    assert found["raw"]["rmse_train"] == pytest.approx(target.train.rmse(outputs(target.train.XT)))
    assert np.isfinite(found["raw"]["rmse_test"])
    assert 0.0 <= found["disagreement"]["share_domain"] <= 1.0


def test_the_full_budget_sweeps_all_data_of_the_paper():
    names = [what.name for what in paper_sweeps.sweeps_of(BUDGETS["full"])]
    assert len(names) == len(set(names)) == 11 + 4 + 1 + 1 + 2 + 19
    assert not any("/" in name for name in names)
    engine = next(w for w in paper_sweeps.sweeps_of(BUDGETS["full"]) if w.problem == "engine")
    assert engine.settings(BUDGETS["full"]).epochs == 16_000
    assert BUDGETS["published"].paper.n_strengths == 78


@pytest.mark.slow
def test_a_page_of_days_of_work_shows_what_there_is(tmp_path):
    """No sweep was on the page until the last of a hundred was done."""
    full = replace(BUDGETS["full"], paper=SMALL)
    store = Store(tmp_path, "paper_sweeps")
    sweep(store, full, Sweep("S1"), 0)
    write_page(tmp_path, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert (
        "**Not finished**: there are 0 of the 102 sweeps of the budget full and 0 of the 3" in page
    )
    assert "| S1 | 1 |" in page


def test_finished_equations_are_as_complex_as_the_networks_they_come_from_were(tmp_path):
    """V_int-S took an equation of the power loss with 211 W where another had 0.02 W.

    All finished equations were small; measured by each other, the right one was complex.
    """
    store = Store(tmp_path, "paper_sweeps")
    errors = {"mean": 0.0, "validation": 1000.0}
    about = {"mean_errors": errors, "settings": {"n_strengths": 3}}
    store.parts["full/power_loss/0/about"] = about
    for place, (trained, finished, error) in enumerate([(90, 4, 0.02), (20, 3, 211), (5, 2, 333)]):
        row = {
            "equation": "x1", "n_parameters": finished, "rmse_train": error, "inputs": [],
            "rmse_validation": error, "rmse_extrapolation": None, "rmse_test": error,
        }  # fmt: skip
        store.parts[f"full/power_loss/0/{place:02d}"] = {
            "strength": 0.1,
            "seconds": 1.0,
            "raw": {**row, "complexity": trained},
            "finished": {**row, "complexity": finished},
        }
    (report,) = sweeping.reports(store, "full", "power_loss", "finished")
    assert report["front"][report["selected"]["V_int-S"]]["rmse_test"] == 0.02
