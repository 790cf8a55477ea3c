"""Runs that are stopped and go on, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from ieql import IEQLRegressor, Prior, Unit
from ieql.errors import IeqlError
from ieql.run.folder import RunFolder
from ieql.run.lock import locked
from ieql.training.trainers import train


def table(n: int = 60) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, (n, 2)), columns=["a", "b"])
    y = np.cos(3 * X["a"]) + X["b"] ** 2 + 0.05 * rng.normal(size=n)
    return X, y.rename("out")


def model(folder, **settings):
    few = {"units": ["cos", "square"]}  # the fewer units, the quicker a training
    defaults = {"max_trainings": 4, "n_jobs": 1, "random_state": 0, "prior": few}
    defaults["max_time"] = None
    return IEQLRegressor(run_dir=folder, **{**defaults, **settings})


def texts(model) -> list[str]:
    return list(model.equations_["equation"])


def test_a_run_that_goes_on_ends_where_an_undisturbed_one_does(tmp_path):
    X, y = table()
    once = model(tmp_path / "once", max_trainings=8).fit(X, y)
    model(tmp_path / "twice", max_trainings=4).fit(X, y)
    twice = model(tmp_path / "twice", max_trainings=8).fit(X, y)
    assert twice.n_trainings_ == once.n_trainings_ == 8
    assert texts(twice) == texts(once)


def test_a_sweep_does_not_train_its_models_again(tmp_path):
    X, y = table()
    short = {"layers": 1, "copies": 1, "first_epochs": 2, "epochs": 2, "n_strengths": 4}
    first = model(tmp_path, trainer=short, max_trainings=3).fit(X, y)
    again = model(tmp_path, trainer=short, max_trainings=None, max_time=60).fit(X, y)
    assert (first.n_trainings_, again.n_trainings_) == (3, 4)
    whole = model(None, trainer=short, max_trainings=4).fit(X, y)
    assert texts(again) == texts(whole)


@pytest.mark.slow
def test_a_search_that_had_ended_by_itself_gets_new_patience(tmp_path):
    X, _ = table()
    y = X["a"] + X["b"] + 0.1 * np.random.default_rng(1).normal(size=len(X))
    first = model(tmp_path, max_trainings=200).fit(X, y)
    assert first.stop_reason_.startswith("what is left looks like noise")
    again = model(tmp_path, max_trainings=200).fit(X, y)
    assert again.n_trainings_ > first.n_trainings_


@pytest.mark.slow
def test_noise_alone_does_not_end_a_run_that_goes_on(tmp_path, monkeypatch):
    """One round of `ieql resume`, and it said again that what is left looks like noise."""
    monkeypatch.setattr("ieql.training.fast.search.looks_like_noise", lambda *_: True)
    monkeypatch.setattr("ieql.training.fast.state.PATIENCE_AT_NOISE", 2)
    monkeypatch.setattr("ieql.training.fast.state.PATIENCE", 40)
    X, _ = table()
    y = X["a"] + X["b"] + 0.1 * np.random.default_rng(1).normal(size=len(X))
    first = model(tmp_path, max_trainings=1_000).fit(X, y)
    assert first.stop_reason_.startswith("what is left looks like noise")
    again = model(tmp_path, max_trainings=1_000).fit(X, y)
    assert again.n_trainings_ >= first.n_trainings_ + 40


def test_patience_that_was_given_outlives_a_kill(tmp_path):
    X, y = table()
    model(tmp_path, max_trainings=2).fit(X, y)
    path = tmp_path / "checkpoint.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"reason": "the time is up"}))
    model(tmp_path, max_trainings=3).fit(X, y)
    form = json.loads(path.read_text())
    assert form["targets"][0]["progress"]["patient"] is True


def test_an_exact_run_is_over(tmp_path):
    X, _ = table()
    first = model(tmp_path).fit(X, 3 * X["a"])
    again = model(tmp_path).fit(X, 3 * X["a"])
    assert again.stop_reason_.startswith("the equations are exact")
    assert texts(again) == texts(first)


def test_without_a_seed_the_run_keeps_the_one_it_drew(tmp_path):
    X, y = table()
    model(tmp_path, max_trainings=4, random_state=None).fit(X, y)
    seed = RunFolder.open(tmp_path).description()["search_seed"]
    model(tmp_path, max_trainings=8, random_state=None).fit(X, y)
    assert RunFolder.open(tmp_path).description()["search_seed"] == seed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"random_state": 1}, r"other settings \(random_state\)"),
        ({"prior": "motor", "layers": 2}, r"other settings \(layers, prior\)"),
        ({"domain": {"a": (-3, 3)}}, r"other settings \(domain\)"),
        ({"trainer": "paper"}, r"other settings \(trainer\)"),
        ({"loss": "squared"}, r"other settings \(loss\)"),
    ],
)
def test_other_settings_are_refused_and_nothing_is_lost(tmp_path, change, message):
    X, y = table()
    model(tmp_path, max_trainings=2).fit(X, y)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(IeqlError, match=message):
        model(tmp_path, **change).fit(X, y)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_other_data_is_refused(tmp_path):
    X, y = table()
    model(tmp_path, max_trainings=2).fit(X, y)
    with pytest.raises(IeqlError, match=r"a run on other data; .*--overwrite"):
        model(tmp_path).fit(X, y + 1)
    with pytest.raises(IeqlError, match=r"extrapolation_sha256"):
        model(tmp_path).fit(X, y, X_extrapolation=X + 2, y_extrapolation=y)


def test_limits_processes_and_selection_may_change(tmp_path):
    X, y = table()
    model(tmp_path, max_trainings=2).fit(X, y)
    limits = {"max_trainings": 4, "min_time": 0.1, "max_time": 60.0}
    again = model(tmp_path, **limits, n_jobs=2, selection="V_int").fit(X, y)
    assert again.criterion_ == "V_int"


def test_two_processes_never_write_one_folder(tmp_path):
    X, y = table()
    with locked(tmp_path), pytest.raises(IeqlError, match="Another process is writing"):
        model(tmp_path).fit(X, y)
    model(tmp_path, max_trainings=1).fit(X, y)
    assert not (tmp_path / ".lock").exists()


# --- a run of another process --------------------------------------------------------------------


def before(function, action):
    """The function, with something done before its first call."""
    waiting = [action]

    def late(*args, **options):
        while waiting:
            waiting.pop()()
        return function(*args, **options)

    return late


def test_a_slow_start_does_not_erase_a_run_that_was_finished_meanwhile(tmp_path, monkeypatch):
    """It had looked whether there was one long before it wrote."""
    X, y = table()

    def other():
        model(tmp_path / "run").fit(X, y)

    monkeypatch.setattr("ieql.run.recorder.locked", before(locked, other))
    late = model(tmp_path / "run", max_trainings=6).fit(X, y)
    assert late.n_trainings_ == 6
    monkeypatch.undo()
    whole = model(tmp_path / "whole", max_trainings=6).fit(X, y)
    assert texts(late) == texts(whole)
    found = {r["equation"] for r in RunFolder(tmp_path / "run").records()}
    assert found == {r["equation"] for r in RunFolder(tmp_path / "whole").records()}


def test_what_another_process_has_made_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    X, y = table()

    def other():
        model(tmp_path / "run", max_trainings=1).fit(X, y + 1)

    monkeypatch.setattr("ieql.run.recorder.locked", before(locked, other))
    with pytest.raises(IeqlError, match="a run on other data"):
        model(tmp_path / "run").fit(X, y)
    assert IEQLRegressor.load(tmp_path / "run" / "model.json").n_trainings_ == 1


def test_from_the_look_at_the_folder_on_it_is_locked(tmp_path, monkeypatch):
    from ieql import target

    X, y = table()
    refused = []

    def other():
        with pytest.raises(IeqlError, match="Another process is writing") as error:
            model(tmp_path).fit(X, y)
        refused.append(error)

    monkeypatch.setattr(target, "prepare", before(target.prepare, other))
    model(tmp_path, max_trainings=1).fit(X, y)
    assert len(refused) == 1


def test_what_is_refused_leaves_no_folder_behind(tmp_path):
    X, y = table()
    with pytest.raises(IeqlError, match="output_bound"):
        model(tmp_path / "deep" / "run", output_bound=1e-6).fit(X, y)
    assert list(tmp_path.iterdir()) == []


# --- what a run had found ------------------------------------------------------------------------


def entered(folder, X, y, **settings):
    """The finished equations of a run, as the fit that goes on with it knows them."""
    from ieql import learn

    seen = []

    class Seen(BaseException):
        pass

    def looked(*_, earlier, **__):
        seen.append(list(earlier.fronts))
        raise Seen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learn, "learn", looked)
        with pytest.raises(Seen):
            model(folder, **settings).fit(X, y)
    return seen[0]


def test_a_run_that_goes_on_knows_its_finished_equations(tmp_path):
    X, y = table()
    assert entered(tmp_path, X, y) == []
    first = model(tmp_path).fit(X, y)
    assert first.finished_
    (front,) = entered(tmp_path, X, y)
    assert [c.expression for c in front] == [c.expression for c in first.fronts_[0]]
    assert [c.rmse_train for c in front] == [c.rmse_train for c in first.fronts_[0]]


def test_equations_that_are_damaged_or_not_finished_are_not_among_them(tmp_path):
    X, y = table()
    model(tmp_path).fit(X, y)
    path = tmp_path / "model.json"
    form = json.loads(path.read_text())
    for text in ("{", json.dumps(form | {"finished": False}), json.dumps(form | {"fronts": []})):
        path.write_text(text)
        assert entered(tmp_path, X, y) == []
    path.unlink()
    assert entered(tmp_path, X, y) == []


def test_files_of_old_count_as_finished(tmp_path):
    X, y = table()
    model(tmp_path).fit(X, y)
    path = tmp_path / "model.json"
    form = json.loads(path.read_text())
    assert form.pop("finished") is True
    path.write_text(json.dumps(form))
    assert IEQLRegressor.load(path).finished_
    assert len(entered(tmp_path, X, y)) == 1


def test_a_kill_while_a_run_goes_on_loses_no_finished_equation(tmp_path, monkeypatch):
    """The model is then that of the search; what was finished before is in the checkpoint."""
    from ieql import learn

    class Killed(BaseException):
        pass

    X, y = table()
    first = model(tmp_path).fit(X, y)

    def killed(*_):
        raise Killed

    monkeypatch.setattr(learn, "_finish_all", killed)
    with pytest.raises(Killed):
        model(tmp_path, max_trainings=5).fit(X, y)
    monkeypatch.undo()
    stored = IEQLRegressor.load(tmp_path / "model.json")
    assert not stored.finished_
    assert "cut short" in stored.report_html()
    assert "cut short" not in first.report_html()
    (front,) = entered(tmp_path, X, y)
    assert [c.expression for c in front] == [c.expression for c in first.fronts_[0]]
    again = model(tmp_path, max_trainings=5).fit(X, y)
    assert again.finished_


def test_a_damaged_checkpoint_says_how_to_go_on(tmp_path):
    X, y = table()
    model(tmp_path, max_trainings=2).fit(X, y)
    for text in ("{", "[]", '{"format": 99}', '{"format": 1, "targets": [{}]}'):
        (tmp_path / "checkpoint.json").write_text(text)
        with pytest.raises(IeqlError, match=r"checkpoint\.json"):
            model(tmp_path).fit(X, y)
    (tmp_path / "checkpoint.json").unlink()
    model(tmp_path).fit(X, y)


def test_units_of_ones_own_go_on_too(tmp_path):
    tanh = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    X, _ = table()
    y = np.tanh(3 * X["a"]) + 0.01 * X["b"]
    prior = Prior(units=("square",), custom=(tanh,))
    model(tmp_path, max_trainings=2, prior=prior).fit(X, y)
    again = model(tmp_path, max_trainings=4, prior=prior).fit(X, y)
    assert any("tanh" in text for text in texts(again))


def test_the_folder_is_whole_after_every_round(tmp_path, monkeypatch):
    """What `ieql show`, `predict`, `export` and `report` need is there before the fit is over."""
    from ieql import learn

    seen = []

    def watched(*args, on_round, **options):
        def looked(result):
            on_round(result)
            seen.append(IEQLRegressor.load(tmp_path / "model.json").equations_)
            assert RunFolder.open(tmp_path).evidence() is not None

        return train(*args, on_round=looked, **options)

    monkeypatch.setattr(learn, "train", watched)
    X, y = table()
    model(tmp_path).fit(X, y)
    assert len(seen) >= 3
    assert seen[0]["selected"].sum() == 1
    assert (tmp_path / "report.html").is_file()


KILLED = """
import sys
import pandas as pd
from ieql import IEQLRegressor
X = pd.read_csv("data.csv")
y = X.pop("out")
print("ready", flush=True)
IEQLRegressor(max_time=60, n_jobs=1, random_state=0, run_dir="run").fit(X, y)
"""


def test_a_run_killed_at_any_moment_shows_what_it_had_and_goes_on(tmp_path):
    X, y = table(60)
    X.assign(out=y).to_csv(tmp_path / "data.csv", index=False)
    X = pd.read_csv(tmp_path / "data.csv")
    y = X.pop("out")
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED], cwd=tmp_path, stdout=subprocess.PIPE, env=os.environ
    )
    assert process.stdout is not None
    process.stdout.readline()
    folder = tmp_path / "run"
    while not (folder / "model.json").exists():
        assert process.poll() is None, "the fit ended by itself"
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()

    shown = IEQLRegressor.load(folder / "model.json").equations_
    assert len(shown) >= 1
    done = json.loads((folder / "checkpoint.json").read_text())["n_trainings"]
    again = model(folder, max_trainings=done + 1, prior="plain").fit(X, y)
    # What validates is another thing at the end of so small a run; what trains is not.
    best = again.equations_["rmse_train"].min()
    # Finished equations have lost the constants that so few rows do not ask for.
    assert best <= 1.25 * shown["rmse_train"].min()


def test_what_was_shown_within_a_round_is_not_lost_by_a_kill(tmp_path, monkeypatch):
    """A run killed in its first round once started anew, without what it had shown."""
    from ieql import learn

    class Killed(BaseException):
        pass

    def dies(*args, on_round, **options):
        def once(result):
            on_round(result)
            raise Killed

        return train(*args, on_round=once, **options)

    X, y = table()
    monkeypatch.setattr(learn, "train", dies)
    with pytest.raises(Killed):
        model(tmp_path).fit(X, y)
    shown = IEQLRegressor.load(tmp_path / "model.json").equations_
    assert not (tmp_path / ".lock").exists()

    monkeypatch.setattr(learn, "train", lambda *_, resumed, **__: ended(resumed))
    again = model(tmp_path).fit(X, y).equations_
    for row in shown.itertuples():
        as_simple = again[again["complexity"] <= row.complexity]
        # Finished equations have lost the constants that so few rows do not ask for.
        assert as_simple["rmse_train"].min() <= 1.25 * row.rmse_train


def ended(result):
    """A search that is over at once."""
    result.reason = "the time is up"
    return result
