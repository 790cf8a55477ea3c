from __future__ import annotations

import json
import os
import subprocess
import sys
import types
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sympy
from typer.testing import CliRunner

from fitted import changed, evidence, model, with_rivals_at
from ieql.cli import app
from ieql.cli.given import column_names, default_folder, read_domain
from ieql.data.categories import Categories
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.export.formats import all_formats
from ieql.files import save_text
from ieql.run.folder import RunFolder

FRONT = pd.DataFrame(
    {
        "equation": ["4.25", "2*speed"],
        "complexity": [0.0, 4.0],
        "n_parameters": [0, 2],
        "n_constants": [1, 1],
        "rmse_train": [3.0, 0.1],
        "rmse_validation": [3.123456, 0.0123456],
        "rmse_extrapolation": [np.nan, np.nan],
        "selected": [False, True],
    }
)


def ieql(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def failure(*arguments: object) -> str:
    """The one sentence on stderr of a command that must be refused."""
    result = ieql(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


# --- the options ----------------------------------------------------------------------------------


def test_column_names_may_be_repeated_or_have_commas():
    frame = pd.DataFrame(columns=["a", "b", "c,d", " e"])
    assert column_names(["a", "b"], frame, "--target") == ["a", "b"]
    assert column_names(["a, b"], frame, "--target") == ["a", "b"]
    assert column_names(["c,d"], frame, "--target") == ["c,d"]
    assert column_names(["a, e"], frame, "--target") == ["a", " e"]
    with pytest.raises(IeqlError, match="--inputs names no column"):
        column_names([","], frame, "--inputs")


def test_default_folder_is_named_after_file_and_targets():
    assert default_folder(Path("in/pump.csv"), ["torque"]) == Path("runs/pump-torque")
    assert default_folder(Path("a.b.csv"), ["n [1/min]", "T"]) == Path("runs/a.b-n_1_min_-T")


def domain_of(tmp_path: Path, text: str) -> dict[str, tuple[float, float]]:
    path = tmp_path / "domain.yaml"
    path.write_text(text)
    return read_domain(path, ["speed", "load", "1"])


def test_domain_file(tmp_path):
    text = "speed: [0, 6e3]\nload: [-1, 1.5]\n1: [0, 1]"
    assert domain_of(tmp_path, text) == {
        "speed": (0.0, 6000.0),
        "load": (-1.0, 1.5),
        "1": (0.0, 1.0),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sped: [0, 1]", r"'sped', which is not an input. Did you mean 'speed'\?"),
        ("speed: [1, 0]", r"two numbers \[low, high\], low below high, not \[1, 0\]"),
        ("speed: [0, 1, 2]", "two numbers"),
        ("speed: '12'", "two numbers"),
        ("speed: 5", "two numbers"),
        ("speed: [0, .inf]", "two numbers"),
        ("speed: [a, b]", "two numbers"),
        (f"speed: [0, 1{'0' * 400}]", "two numbers"),
        ("[0, 1]", "must hold lines like"),
        ("", "must hold lines like"),
        ("speed: [0, 1", "is not a YAML file"),
    ],
)
def test_a_domain_file_that_is_wrong(tmp_path, text, message):
    with pytest.raises(IeqlError, match=message):
        domain_of(tmp_path, text)


def test_a_domain_file_that_is_not_there(tmp_path):
    with pytest.raises(IeqlError, match=r"Cannot read .*No such file"):
        read_domain(tmp_path / "nowhere.yaml", ["speed"])


# --- the commands, with a stand-in for the regressor ---------------------------------------------


class Exact:
    """A candidate whose constants have more digits than are shown."""

    def __init__(self, text: str, names: list[str]) -> None:
        self.shown, self.names = text, names

    def equation(self, precise):
        text = self.shown.replace("2*", "2.0000001*") if precise else self.shown
        return Expression.parse(text, self.names)


class StandIn:
    """Finds y = 2 * (first input) at once; otherwise as `IEQLRegressor`."""

    interrupted_ = False
    finished_ = True
    stop_reason_ = "what is left looks like noise"
    validation_ = "held-out rows"
    doubts: tuple[str, ...] = ()
    groups_: tuple[str, ...] = ()
    _not_stored = None
    _seconds = 12.3
    asked: dict[str, object]

    def __init__(self, **settings: object) -> None:
        type(self).asked = settings
        self.settings = settings

    def _fit(
        self,
        X,
        y,
        weight=None,
        X_extrapolation=None,
        y_extrapolation=None,
        source=None,
        overwrite=False,
        groups=None,
        ranges=None,
    ):
        type(self).source = source
        type(self).asked |= {"X": X, "y": y, "X_held_out": X_extrapolation}
        self._know(list(X.columns), list(y.columns))
        run = RunFolder.create(self.settings["run_dir"], {}, "abc")
        run.write_model(json.dumps([self.feature_names_, self.target_names_]))
        return self

    @classmethod
    def load(cls, path):
        model = cls()
        model._know(*json.loads(Path(path).read_text()))
        return model

    def constants(self, precise=False):
        return pd.DataFrame({"value": [2.0], "standard_error": [0.1], "of": ["x"], "unit": [""]})

    @property
    def fitted_(self):
        unproved = [f"Nobody has proved {n}." for n in self.target_names_ if n == "power"]
        doubts = [(UserWarning, sentence) for sentence in self.doubts]
        return types.SimpleNamespace(
            cautions=lambda: unproved,
            limits_sentence=lambda: None,
            where=lambda k: [],
            doubts=lambda: doubts,
            why=lambda k: f"Row {k} is best.",
            recalibrated=None,
            groups=(),
            group_column=None,
            categories=Categories(),
        )

    def _know(self, features, targets):
        self.feature_names_, self.target_names_ = features, targets
        fronts = [FRONT.assign(output=name) for name in targets]
        self.equations_ = pd.concat(fronts, ignore_index=True)
        self.equations_["equation"] = ["4.25", f"2*{features[0]}"] * len(targets)
        if len(targets) == 1:
            self.equations_ = self.equations_.drop(columns="output")

    @property
    def fronts_(self):
        equations = self.equations_["equation"].tolist()
        n = len(equations) // len(self.target_names_)
        exact = [Exact(text, self.feature_names_) for text in equations]
        return [exact[at : at + n] for at in range(0, len(exact), n)]

    def predict(self, X, index=None, *, precise=False, groups=None):
        if (X.iloc[:, 0] > 10).any():
            warnings.warn("2 rows lie outside the domain.", UserWarning, stacklevel=2)
        found = np.full(len(X), 4.25) if index == 0 else 2.0 * X.iloc[:, 0].to_numpy()
        found = found + 0.0625 * precise
        return found if len(self.target_names_) == 1 else np.stack([found, found], axis=1)

    def predict_interval(self, X, level=0.9, index=None, *, precise=False, groups=None):
        from ieql.equations.prediction_band import checked_level

        found, half = self.predict(X, index, precise=precise), checked_level(level)
        return np.stack([found - half, found + half], axis=1)

    def export(self, format, index=None, path=None, *, precise=False, **options):
        if index not in (None, 0, 1):
            raise IeqlError(f"There is no equation {index}.")
        content = f"{format} {index} {options}{' precise' * precise}\n"
        return content if path is None else save_text(path, content)

    def report_html(self):
        evidence = getattr(self, "evidence_", None)
        return f"<p>{self.target_names_} {evidence and evidence.sha256}</p>"


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """A stand-in regressor, and a working folder with data.csv (speed, load, torque, power)."""
    model = type("StandIn", (StandIn,), {})
    module = types.ModuleType("ieql.regressor")
    module.IEQLRegressor = model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ieql.regressor", module)
    monkeypatch.chdir(tmp_path)
    rows = np.arange(80.0).reshape(20, 4) / 10
    pd.DataFrame(rows, columns=["speed", "load", "torque", "power"]).to_csv("data.csv", index=False)
    return model


def test_fit_prints_the_front_and_the_selected_equation(stand_in):
    result = ieql("fit", "data.csv", "--target", "torque")
    assert result.exit_code == 0, result.output
    assert "  torque = 2*speed\n" in result.stdout
    assert "Inputs that matter: speed. Not used: load, power." in result.stdout
    assert "ieql predict runs/data-torque new.csv" in result.stdout
    assert RunFolder.exists("runs/data-torque")


def test_reasons_for_caution_stand_below_the_front(stand_in):
    assert "Nobody" not in ieql("fit", "data.csv", "--target", "torque", "--out", "one").stdout
    result = ieql("fit", "data.csv", "--target", "power", "--out", "other")
    assert "\nNobody has proved power.\n" in result.stdout
    assert "\nNobody has proved power.\n" in ieql("show", "other").stdout


def test_rules_about_inputs_join_the_prior(stand_in):
    rules = ("--require", "speed", "--together", "load,power", "--max-units", 3)
    result = ieql("fit", "data.csv", "--target", "torque", "--prior", "motor", *rules)
    assert result.exit_code == 0, result.output
    prior = stand_in.asked["prior"]
    assert (prior.require, prior.together, prior.max_units) == (("speed",), (("load", "power"),), 3)
    assert prior.cost("cos") == 10


def test_rules_that_cannot_be_kept_are_refused(stand_in):
    rules = ("--require", "speed,load", "--apart", "speed,load")
    sentence = failure("fit", "data.csv", "--target", "torque", *rules)
    assert "requires both speed and load" in sentence


def test_fit_says_where_the_report_is(stand_in):
    result = ieql("fit", "data.csv", "--target", "torque", "--out", "run")
    assert f"Report: {Path('run/report.html')}\n" in result.stdout


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        (
            "what is left looks like noise",
            "what is left looks like noise (--at-least SECONDS searches longer)",
        ),
        (
            "nothing better was found for a long time",
            "nothing better was found for a long time (--at-least SECONDS searches longer)",
        ),
        ("the time is up", "the time is up (`ieql resume run` continues it)"),
        (
            "the time is up; all 6 structures were tried",
            "the time is up (`ieql resume run` continues it). All 6 structures were tried",
        ),
        ("the equations are exact", "the equations are exact"),
        (
            "all 9 trainings are done; all 6 structures were tried",
            "all 9 trainings are done (--trainings N allows more). All 6 structures were tried",
        ),
        ("it was interrupted", "it was interrupted"),
        ("all 9 trainings are done", "all 9 trainings are done (--trainings N allows more)"),
        (
            "12 of 40 models of the sweep were trained",
            "12 of 40 models of the sweep were trained (`ieql resume run` continues it)",
        ),
        (
            "all 40 models of the sweep are trained",
            "all 40 models of the sweep are trained (--at-least SECONDS searches longer)",
        ),
    ],
)
def test_fit_says_why_it_stopped_and_what_makes_it_go_on(stand_in, reason, line):
    stand_in.stop_reason_ = reason
    result = ieql("fit", "data.csv", "--target", "torque", "--out", "run")
    assert f"\nStopped after 12 s: {line}.\n" in result.stdout


def test_the_demo_names_no_option_that_it_does_not_have(stand_in):
    assert "\nStopped after 12 s: what is left looks like noise.\n" in ieql("demo").stdout


def test_report_is_written_again_from_the_run_folder(stand_in):
    ieql("fit", "data.csv", "--target", "torque", "--out", "run")
    RunFolder.open("run").write_evidence(evidence())
    result = ieql("report", "run")
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{Path('run/report.html')}\n"
    assert Path("run/report.html").read_text() == f"<p>['torque'] {'ab' * 32}</p>"


def test_report_of_a_damaged_run(stand_in):
    ieql("fit", "data.csv", "--target", "torque", "--out", "run")
    Path("run/evidence.json").write_text("{")
    assert "is damaged" in failure("report", "run")


def test_demo_replaces_its_own_run(stand_in):
    for _ in range(2):
        result = ieql("demo")
        assert result.exit_code == 0, result.output
    assert "24,684 rows" in result.stdout
    assert "reconstruction" in result.stdout
    assert "P_mod = 2*I_D" in result.stdout
    assert stand_in.asked["prior"] == "motor"
    assert RunFolder.exists("runs/demo")


def test_fit_passes_its_options_on(stand_in):
    Path("domain.yaml").write_text("load: [0, 9]")
    result = ieql(
        *("fit", "data.csv", "--target", "torque", "--inputs", "load,speed", "--out", "here"),
        *("--prior", "motor", "--domain", "domain.yaml", "--time", 5, "--trainings", 3),
        *("--select", "V_int", "--extrapolation", "data.csv", "--seed", 4, "--jobs", 2),
        *("--trainer", "paper", "--at-least", 2, "--loss", "squared", "--layers", 3, "--copies", 2),
        *("--output-bound", 80, "--validation-fraction", 0.2, "--max-complexity", 12),
        *("--guess", "a*load", "--guess", "b*speed", "--group-constants", "factor,offset"),
    )
    assert result.exit_code == 0, result.output
    X, y, held_out = (stand_in.asked.pop(name) for name in ("X", "y", "X_held_out"))
    assert (list(X), list(y), list(held_out)) == (["load", "speed"], ["torque"], ["load", "speed"])
    assert stand_in.asked == {
        "prior": "motor",
        "trainer": "paper",
        "layers": 3,
        "copies": 2,
        "domain": {"load": (0.0, 9.0)},
        "output_bound": 80.0,
        "max_complexity": 12.0,
        "guesses": ["a*load", "b*speed"],
        "categories": None,
        "form": None,
        "group_constants": "factor,offset",
        "validation_fraction": 0.2,
        "selection": "V_int",
        "loss": "squared",
        "max_time": 5.0,
        "min_time": 2.0,
        "max_trainings": 3,
        "n_jobs": 2,
        "random_state": 4,
        "run_dir": Path("here"),
        "progress": False,
    }


@pytest.mark.parametrize("how", [["torque,power"], ["torque", "--target", "power"]])
def test_several_targets(stand_in, how):
    result = ieql("fit", "data.csv", "--target", *how, "--out", "run")
    assert result.exit_code == 0, result.output
    assert "  torque = 2*speed\n  power = 2*speed\n" in result.stdout
    assert ieql("predict", "run", "data.csv").stdout.startswith("torque,power\n0.0,0.0\n")


def test_fit_goes_on_with_a_run_unless_asked_to_replace_it(stand_in):
    fit = ("fit", "data.csv", "--target", "torque", "--out", "run")
    assert ieql(*fit).stderr == ""
    assert "There is a run in run; it continues" in ieql(*fit).stderr
    Path("run/front.jsonl").write_text("{}\n")
    again = ieql(*fit, "--overwrite")
    assert (again.exit_code, again.stderr) == (0, "")
    assert not Path("run/front.jsonl").exists()


def test_a_run_knows_the_files_it_came_from(stand_in):
    ieql("fit", "data.csv", "--target", "torque", "--out", "run")
    assert stand_in.source == {
        "data": str(Path("data.csv").resolve()),
        "targets": ["torque"],
        "inputs": ["speed", "load", "power"],
        "extrapolation": None,
        "groups": None,
    }


def test_interrupted_fit_keeps_its_results(stand_in):
    stand_in.interrupted_ = True
    result = ieql("fit", "data.csv", "--target", "torque", "--out", "run")
    assert result.exit_code == 130
    assert "torque = 2*speed" in result.stdout
    assert "was kept" in result.stderr
    assert ieql("show", "run").exit_code == 0


def test_interrupted_with_nothing_found(stand_in):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    stand_in._fit = interrupt
    result = ieql("fit", "data.csv", "--target", "torque")
    assert (result.exit_code, result.stderr) == (130, "Interrupted.\n")


@pytest.fixture
def run(stand_in):
    assert ieql("fit", "data.csv", "--target", "torque", "--out", "run").exit_code == 0
    return "run"


def test_show(run):
    result = ieql("show", run)
    assert result.exit_code == 0, result.output
    assert "2*speed" in result.stdout
    assert "4.25" in result.stdout
    assert result.stdout.splitlines()[0].split()[:3] == ["index", "complexity", "weights"]
    assert "training error  validation error  equation\n" in result.stdout
    assert "\nValidation error: on held-out rows" in result.stdout
    assert result.stderr == ""


def test_show_says_why_the_search_ended_and_what_it_tried(run, stand_in):
    stand_in.stop_reason_ = "the time is up; all 6 structures with up to two connections were tried"
    shown = ieql("show", run).stdout
    assert "\nThe search ended because the time is up.\nAll 6 structures with up to " in shown
    stand_in.stop_reason_ = ""  # it still runs
    assert "ended" not in ieql("show", run).stdout


def test_show_says_what_else_it_could_be(tmp_path):
    m = model(
        ("4", "3*x + 1"), ("2", "5", "x*z"), ("x",), targets=("y", "w\x1b", "v"), prior="plain"
    )
    with_rivals_at(m, {"3*exp(x) - 4": 1.0}, {"x + z": 2.0}, {"x**2": 9.0})
    RunFolder.create(tmp_path, {}, "abc").write_model(m.fitted_.to_json())
    plain = ieql("show", tmp_path).stdout
    shown = ieql("show", tmp_path, "--alternatives").stdout.removeprefix(plain)
    first, second, third = shown.strip().split("\n\n")
    assert first.startswith("The rows cannot tell these from the selected equation of y: ")
    assert first.split("\n")[2].endswith("3*exp(x) - 4")
    assert "the selected equation of w<U+001B>: " in second
    assert third.startswith("Of v, no other structure that was tried describes the rows as well")
    assert "\nnats: how much longer" in third
    assert "nats:" not in first


@pytest.fixture
def undecided(tmp_path, monkeypatch):
    """A run whose rows do not tell a line in x from x*z; x and z go from 1 to 2."""
    monkeypatch.chdir(tmp_path)
    m = with_rivals_at(model(("4", "3*x + 1"), prior="plain"), {"-5*x*z": 1.0})
    RunFolder.create("run", {}, "abc").write_model(m.fitted_.to_json())
    return m


def test_suggest_prints_points_and_why(undecided):
    result = ieql("suggest", "run")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    header, *lines = result.stdout.splitlines()
    assert header.split("  ")[-1] == "rival equation"
    assert header.split()[:5] == ["x", "z", "selected", "rival", "disagreement"]
    assert lines[0].split()[:4] == ["2", "2", "7", "-20"]
    assert lines[4].endswith("  -5*x*z")
    assert lines[5:] == [
        "disagreement: between selected and rival, in units of the noise.",
        "",
        "The points are spread where the 2 equations that the rows leave open (within 10 nats) "
        "disagree most.",
    ]


def test_an_equation_cannot_be_tried_on_rows_that_came_from_no_file(undecided):
    """As those of the demo."""
    sentence = "The rows of the run in 'run' came from no file; try the equation in Python"
    assert sentence in failure("try", "run", "a*x")


def test_prove_prints_what_is_proved_and_writes_the_certificate(undecided):
    from ieql.check_certificate import check

    result = ieql("prove", "run", "--out", "certificate.json")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[:3] == [
        "3*x + 1",
        "  Every unit is defined in the whole domain: proved.",
        "  The output lies between 4 and 7: proved.",
    ]
    assert "check it with: python" in result.stdout
    assert check(json.loads(Path("certificate.json").read_text()))
    assert ieql("prove", "run", "--index", 0).stdout.splitlines()[0] == "4"


def test_show_says_which_limits_are_proved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    m = model(("4", "x*z"), prior="plain")
    for known, sentence in (
        (True, "Proved of every equation, in the whole domain: increasing in x."),
        (None, "1 of 2 equations are proved to keep to all limits (increasing in x)"),
    ):
        first, second = m.fronts_[0]
        front = [replace(first, limits={"increasing in x": known})]
        front.append(replace(second, limits={"increasing in x": True}))
        folder = RunFolder.create(f"run{known}", {}, "abc")
        folder.write_model(changed(m, fronts=(tuple(front),)).fitted_.to_json())
        assert sentence in ieql("show", f"run{known}").stdout


def test_a_certificate_is_about_one_equation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    m = model(("x",), ("z",), prior="plain")
    RunFolder.create("run", {}, "abc").write_model(m.fitted_.to_json())
    assert [line for line in ieql("prove", "run").stdout.splitlines() if line[0] != " "] == [
        "x",
        "z",
    ]
    assert "say which one with --index" in failure("prove", "run", "--out", "certificate.json")
    assert ieql("prove", "run", "--index", 1, "--out", "certificate.json").exit_code == 0


def test_suggest_within_limits(undecided):
    Path("limits.yaml").write_text("x: [1.2, 1.4]\nz: '1,2'\n")
    by_file = ieql("suggest", "run", "-n", 3, "--limits", "limits.yaml", "--out", "file.csv")
    limits = ("--limits", "x=1.2:1.4", "--limits", "z=1,2")
    by_text = ieql("suggest", "run", "--points", 3, *limits, "--out", "text.csv")
    assert by_file.exit_code == by_text.exit_code == 0, by_file.output + by_text.output
    assert by_file.stdout == by_text.stdout
    found = pd.read_csv("text.csv")
    assert found["x"].between(1.2, 1.4).all()
    assert set(found["z"]) == {1, 2}
    assert len(found) == 3
    expected = undecided.suggest(3, {"x": (1.2, 1.4), "z": {1, 2}})
    pd.testing.assert_frame_equal(
        found.assign(rival_equation=found["rival_equation"].str.strip()),
        expected,
        check_dtype=False,
    )
    assert ", -5*x*z" in Path("text.csv").read_text()  # no formula of a spreadsheet's
    fixed = ieql("suggest", "run", "--limits", "z=1.5").stdout
    assert "\nIn all rows: z = 1.5.\n" in fixed
    outside = ieql("suggest", "run", "--limits", "x=-1e1:2").stdout
    assert "outside the domain in x, where no equation was checked." in outside


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-n", "0"], "must be a whole number from 1 to 100, not 0"),
        (["--limits", "y=0:1"], "The limits name 'y', which is not an input."),
        (["--limits", "x=2:1"], "must be (low, high) with low below high"),
        (["--limits", "x=1:2:3"], "must be written like 0:3000, 0.5 or 1,2,3, not '1:2:3'"),
        (["--limits", "x="], "must be written like 0:3000, 0.5 or 1,2,3, not ''"),
        (["--limits", "x=1", "--limits", "x=2"], "--limits gives 'x' twice"),
        (["--limits", "nowhere.yaml"], "Cannot read 'nowhere.yaml'"),
        (["--limits", "x=1", "--limits", "z=1"], "only 1 different point"),
        (["--out", "nowhere/next.csv"], "Cannot write"),
    ],
)
def test_suggesting_in_vain_is_one_sentence(undecided, arguments, sentence):
    assert sentence in failure("suggest", "run", *arguments)


def test_limits_from_a_file_name_inputs(undecided):
    wrong = write("limits.yaml", "y: [0, 1]")
    assert "'limits.yaml' gives limits for 'y', which is not" in failure(
        "suggest", "run", "--limits", wrong
    )


def test_select_chooses_a_row_for_good(tmp_path):
    m = model(("4", "3*x + 1", "2*x**2 + 1"), targets=("y",), prior="plain")
    folder = RunFolder.create(tmp_path, {}, "abc")
    folder.write_model(m.fitted_.to_json())
    result = ieql("select", tmp_path, "1")
    assert result.exit_code == 0, result.output
    assert result.stdout == ("y = 3*x + 1\nRow 1 was chosen by hand; MDL would select row 2.\n")
    assert "\n  y = 3*x + 1\nRow 1 was chosen by hand; " in ieql("show", tmp_path).stdout
    assert ieql("export", tmp_path, "--format", "text").stdout == "3*x + 1\n"
    page = folder.report_path.read_text(encoding="utf-8")
    assert "Row 1 was chosen by hand; MDL would select row 2." in page
    table = pd.read_csv(tmp_path / "equations.csv")
    assert table["selected"].tolist() == [False, True, False]
    table = pd.read_csv(tmp_path / "constants.csv")
    assert table["index"].tolist() == [0, 1, 1, 2, 2]
    assert table["selected"].tolist() == [False, True, True, False, False]
    assert "Row 2 is selected by MDL: " in ieql("select", tmp_path, "MDL").stdout
    assert ieql("export", tmp_path, "--format", "text").stdout == "2*x**2 + 1\n"


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("7", "There is no equation 7; the front has rows 0 to 1.\n"),
        ("-1", "There is no equation -1; the front has rows 0 to 1.\n"),
        ("best", "There is no selection criterion 'best'; the choices are MDL, "),
        ("9" * 5000, "There is no selection criterion '999"),  # Python reads no such number
    ],
)
def test_selecting_in_vain_changes_nothing(tmp_path, row, sentence):
    m = model(("4", "3*x + 1"), targets=("y",), prior="plain")
    RunFolder.create(tmp_path, {}, "abc").write_model(m.fitted_.to_json())
    before = (tmp_path / "model.json").read_bytes()
    result = ieql("select", tmp_path, "--", row)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {sentence}")
    assert (tmp_path / "model.json").read_bytes() == before


def test_show_says_what_is_doubtful(run, stand_in):
    stand_in.doubts = ("2 of 20 rows lie far away.",)
    stand_in.validation_ = "cross-fitting"
    result = ieql("show", run)
    assert (result.exit_code, result.stderr) == (0, "Warning: 2 of 20 rows lie far away.\n")
    assert "\nValidation error: each tenth of the rows" in result.stdout


def test_predict_writes_the_predictions_alone(run):
    Path("new.csv").write_text("other;load;power;speed\nx;1;1;0,5\ny;1;1;1\n")
    result = ieql("predict", run, "new.csv")
    # With the decimal comma of the file, which a spreadsheet of that country reads.
    assert (result.exit_code, result.stdout, result.stderr) == (0, "torque\n1,0\n2,0\n", "")
    assert ieql("predict", run, "new.csv", "--index", 0).stdout == "torque\n4,25\n4,25\n"


def test_predict_into_a_file(run):
    result = ieql("predict", run, "data.csv", "--out", "out.csv")
    assert (result.exit_code, result.output) == (0, "")
    assert list(pd.read_csv("out.csv")) == ["torque"]
    assert "Cannot write" in failure("predict", run, "data.csv", "--out", "no/where.csv")


def test_predict_with_intervals(run):
    Path("new.csv").write_text("speed,load,power\n0.5,1,1\n1,1,1\n")
    result = ieql("predict", run, "new.csv", "--interval", 0.75)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "torque,torque_low,torque_high\n1.0,0.25,1.75\n2.0,1.25,2.75\n"
    result = ieql("predict", run, "new.csv", "--interval", 0.75, "--index", 0)
    assert result.stdout.splitlines()[1] == "4.25,3.5,5.0"
    assert "level must be a number between 0 and 1" in failure(
        "predict", run, "new.csv", "--interval", 90
    )


def test_intervals_of_several_targets_stand_beside_them(stand_in):
    ieql(*("fit", "data.csv", "--target", "torque,power", "--out", "run"))
    header = ieql("predict", "run", "data.csv", "--interval", 0.5).stdout.splitlines()[0]
    assert header == "torque,torque_low,torque_high,power,power_low,power_high"


def test_a_warning_about_rows_with_intervals_is_said_once(run):
    Path("new.csv").write_text("speed,load,power\n50,2,3\n")
    result = ieql("predict", run, "new.csv", "--interval", 0.5)
    assert result.stderr == "Warning: 2 rows lie outside the domain.\n"


def test_constants_with_their_errors_and_places(tmp_path):
    m = model(("4", "3*x + 1.25"), ("2", "x*z + 0.5"), targets=("y", "w\x1b"), prior="plain")
    RunFolder.create(tmp_path, {}, "abc").write_model(m.fitted_.to_json())
    assert ieql("constants", tmp_path).stdout.splitlines() == [
        "y = 3*x + 1.25",
        "w<U+001B> = x*z + 0.5",
        "   output  value  standard error  what it is",
        "        y    3.0            0.03  factor of x",
        "        y   1.25           0.013  offset",
        "w<U+001B>    0.5           0.005  offset",
    ]
    assert ieql("constants", tmp_path, "--index", 0).stdout.splitlines() == [
        "y = 4",
        "output  value  standard error  what it is",
        "     y    4.0            0.04  offset",
    ]
    assert "There is no equation 7" in failure("constants", tmp_path, "--index", 7)


def test_constants_with_all_digits(tmp_path):
    m = model(("2", "3*x + 1.25"), targets=("y",), prior="plain")
    form = m.fitted_.to_form()
    precise = Expression.parse("3.0000001*x + 1.25", ("x", "z"))
    form["fronts"][0][1]["precise"] = precise.to_dict()
    RunFolder.create(tmp_path, {}, "abc").write_model(json.dumps(form))
    assert ieql("constants", tmp_path, "--precise").stdout.splitlines() == [
        "y = 3.0000001*x + 1.25",
        "    value  standard error  what it is",
        "3.0000001            0.03  factor of x",
        "     1.25           0.013  offset",
    ]


def test_an_equation_without_constants(tmp_path):
    m = model(("x",), targets=("y",), prior="plain")
    RunFolder.create(tmp_path, {}, "abc").write_model(m.fitted_.to_json())
    assert ieql("constants", tmp_path).stdout == "y = x\n"


def test_predict_names_the_missing_column(run):
    Path("new.csv").write_text("sped,load,power\n1,2,3\n4,5,6\n")
    message = failure("predict", run, "new.csv")
    assert "'new.csv' lacks the column 'speed'" in message
    assert "Did you mean 'sped'?" in message


def test_a_warning_is_a_plain_line_beside_the_predictions(run):
    Path("new.csv").write_text("speed,load,power\n50,2,3\n60,5,6\n")
    result = ieql("predict", run, "new.csv")
    assert (result.exit_code, result.stdout) == (0, "torque\n100.0\n120.0\n")
    assert result.stderr == "Warning: 2 rows lie outside the domain.\n"


def exported(run, format, *options):
    result = ieql("export", run, "--format", format, *options)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def test_export(run):
    assert ieql("export", run).stdout == "text None {}\n"
    assert exported(run, "text", "--index", 0, "--digits", 2) == "text 0 {'digits': 2}\n"
    assert exported(run, "c", "--real", "float", "--index", 1) == "c 1 {'real': 'float'}\n"
    assert exported(run, "c", "--option", "name=f_1") == "c None {'name': 'f_1'}\n"
    assert "takes NAME=VALUE" in failure("export", run, "--format", "c", "--option", "name")


def test_all_formats_are_listed_without_a_run():
    result = ieql("export", "--list")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "The equation on one line, as the front shows it. (digits)\n" in result.stdout
    assert [line.split()[0] for line in result.stdout.splitlines()] == [*all_formats()]


def test_precise_is_for_all_that_gives_values_or_equations(run):
    assert exported(run, "text", "--precise") == "text None {} precise\n"
    Path("new.csv").write_text("speed,load,power\n0.5,1,1\n")
    assert ieql("predict", run, "new.csv", "--precise").stdout == "torque\n1.0625\n"
    shown = ieql("show", run, "--precise").stdout
    assert "  torque = 2.0000001*speed\n" in shown
    assert shown.count("2.0000001*speed") == 2
    assert "2.0000001" not in ieql("show", run).stdout


def test_export_to_a_file(run):
    assert exported(run, "c", "--out", "equation") == ""
    assert Path("equation").read_text(encoding="utf-8") == exported(run, "c")


def test_wrong_export(run):
    assert "no equation 7" in failure("export", run, "--index", 7)
    assert "no equation 7" in failure("export", run, "--index", 7, "--format", "c")
    assert "'text' takes no 'real'; it is for 'c', " in failure("export", run, "--real", "float")
    for format in ("c", "python"):
        refused = failure("export", run, "--format", format, "--digits", 3)
        assert f"'{format}' takes no 'digits'; it is for 'text', 'sympy' and 'latex'." in refused
    refused = failure("export", run, "--format", "pyton")
    assert "There is no format 'pyton'; the choices are text, c, " in refused
    assert "Did you mean 'python'?" in refused
    assert "RUN is missing" in failure("export", "--format", "c")
    assert "Cannot write 'no/where.c'" in failure("export", run, "--out", "no/where.c")


# --- wrong use -----------------------------------------------------------------------------------


def test_bad_input_is_one_sentence(stand_in):
    Path("empty").mkdir()
    Path("short.csv").write_text("speed,torque\n1,2\n")
    fit = ("fit", "data.csv", "--target")
    assert "'nowhere.csv'" in failure("fit", "nowhere.csv", "--target", "y")
    assert "Did you mean 'torque'?" in failure(*fit, "torqe")
    assert "'lod'" in failure(*fit, "torque", "--inputs", "lod")
    assert "not an input" in failure(*fit, "torque", "--domain", write("d.yaml", "x: [0, 1]"))
    assert "'short.csv': " in failure(*fit, "torque", "--extrapolation", "short.csv")
    assert "no folder 'nowhere'" in failure("show", "nowhere")
    assert "holds no run" in failure("predict", "empty", "data.csv")


def write(path: str, text: str) -> str:
    Path(path).write_text(text)
    return path


@pytest.mark.parametrize(
    "command", [["show"], ["predict", "data.csv"], ["export"], ["report"]], ids=lambda c: c[0]
)
def test_equations_that_are_not_finished_are_called_so(run, stand_in, command):
    """A run that was killed showed its equations like those of any other."""
    name, *rest = command
    whole = ieql(name, run, *rest)
    assert whole.stderr == ""
    stand_in.finished_ = False
    result = ieql(name, run, *rest)
    assert (result.exit_code, result.stdout) == (0, whole.stdout)
    assert result.stderr == (
        "The run was cut short or is still running: these equations passed fewer checks and their "
        "constants are not rounded; `ieql resume run` finishes them.\n"
    )


def test_headers_of_predictions_are_no_formulas(stand_in):
    """A spreadsheet would have run the name of the target."""
    table = pd.read_csv("data.csv").rename(columns={"torque": "=1+2", "power": "-3"})
    table.to_csv("data.csv", index=False)
    ieql("fit", "data.csv", "--target", "=1+2", "--target", "-3", "--out", "run")
    found = ieql("predict", "run", "data.csv").stdout
    assert found.startswith(" =1+2,-3\n0.0,0.0\n")


def test_a_run_cut_short(stand_in):
    RunFolder.create("run", {}, "abc")
    assert "cut short" in failure("show", "run")


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit"],
        ["fit", "data.csv"],
        ["fit", "data.csv", "--target", "y", "--time", "soon"],
        ["export", "run", "--format", "cobol"],
        ["export", "run", "--format", "c", "--real", "half"],
        ["export", "run", "--digits", "0"],
        ["dance"],
    ],
)
def test_wrong_use_is_exit_code_2(arguments):
    result = ieql(*arguments)
    assert result.exit_code == 2
    assert "Error: " in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "command", ["demo", "fit", "show", "constants", "predict", "export", "suggest"]
)
def test_every_command_has_an_example(command):
    result = ieql(command, "--help")
    assert result.exit_code == 0
    assert f"  ieql {command}" in result.stdout.partition("Example")[2]


def test_exit_code_and_message_of_the_real_program(tmp_path):
    result = subprocess.run(
        [sys.executable, "-m", "ieql", "show", "nowhere"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: There is no folder 'nowhere'")


# --- end to end ----------------------------------------------------------------------------------


def test_from_csv_to_predictions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"speed": rng.uniform(1, 5, 80), "load": rng.uniform(0, 1, 80)})
    frame["torque"] = 3 * frame["speed"] + 1
    frame.to_csv("data.csv", index=False)

    fit = ("fit", "data.csv", "--target", "torque", "--trainings", 1, "--jobs", 1, "--out", "run")
    result = ieql(*fit)
    assert result.exit_code == 0, result.output
    assert "torque = " in result.stdout
    for name in ("run.json", "front.jsonl", "equations.csv", "model.json"):
        assert (tmp_path / "run" / name).is_file()
    assert len(RunFolder.open("run").records()) > 0

    assert ieql("show", "run").stdout.splitlines()[0] == result.stdout.splitlines()[0]
    predicted = ieql("predict", "run", "data.csv", "--out", "out.csv")
    assert (predicted.exit_code, predicted.output) == (0, "")
    np.testing.assert_allclose(pd.read_csv("out.csv")["torque"], frame["torque"], rtol=1e-6)
    for format in ("text", "sympy", "latex"):
        assert "speed" in exported("run", format)
    assert "double ieql_torque(double speed)\n{" in exported("run", "c")
    module = {}
    exec(exported("run", "python"), module)
    np.testing.assert_allclose(module["torque"](frame["speed"]), frame["torque"], rtol=1e-6)
    form = sympy.sympify(exported("run", "sympy"))
    assert float(form.subs("speed", 2)) == pytest.approx(7, rel=1e-6)
