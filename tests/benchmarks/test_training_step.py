"""The benchmark of the paper's training step runs, with or without PyTorch."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import training_step


def test_it_prints_steps_per_second_and_writes_them(monkeypatch, capsys, tmp_path):
    out = tmp_path / "steps.json"
    monkeypatch.setattr(sys, "argv", ["training_step.py", "--rounds", "1", "--out", str(out)])
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    training_step.main()
    printed = capsys.readouterr().out
    assert "6405 weights" in printed
    assert "PyTorch is not installed" in printed
    figures = json.loads(out.read_text())["steps"]
    assert [f["batch"] for f in figures] == [100, 1000]
    assert all(f["ours"] > 0 for f in figures)


def test_both_compute_the_same_loss():
    torch = pytest.importorskip("torch")
    trainer = training_step.make_trainer(100)
    _, theirs = training_step.theirs(trainer, torch)
    model = trainer.start(0)
    everything = trainer.settings.__class__(batch=100_000, rate=1e-12, penalty_points=0)
    same = training_step.NetworkTraining(trainer.task, everything)
    same.train(model, 1, None, 0, float("inf"))
    assert model.losses[0] == pytest.approx(theirs, rel=1e-3)
