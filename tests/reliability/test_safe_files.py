"""What strangers send: it cannot run code, write elsewhere, fill the memory or take for ever.

The same files at full size, in a process with little memory: ``python -m soak safe-files``.
"""

from __future__ import annotations

import ast
import ctypes
import json
import re
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import fitted
from ieql.cli import app
from ieql.console import visible
from ieql.equations.expression import Expression, Node, Sum
from ieql.errors import IeqlError, nearest
from ieql.export.c import c_code
from ieql.export.latex import latex, latex_name
from ieql.export.mathml import mathml
from ieql.export.python import python_code
from ieql.export.sympy import sympy_text
from ieql.files import read_json
from ieql.prior import Prior
from ieql.regressor import IEQLRegressor
from ieql.run.folder import RunFolder
from ieql.units import UNITS
from soak import fuzz
from soak.safe_files import BOMBS, laid, opened

NAMES = [
    "<script>alert(1)</script>",
    "int",
    'x; system("")',
    "π_rad",
    "1st",
    "*/ int main(void) { return 1; } /*",
    "two\nlines",
    '"""\nraise SystemExit\n"""',
    r"\end{document}\input{/etc/passwd}",
    "$(rm -rf)",
    "`rm -rf`",
    "'; DROP TABLE x; --",
    '"><img src=x onerror=alert(1)>',
    "</math></svg><script>",
    "{{ 7*7 }}",
    "\x1b]0;title\x07\x1b[2J",
    "\\",
    "%s%n",
    "__import__('os').system('')",
]


def ieql(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return fuzz.good_run(tmp_path_factory.mktemp("good"))


@pytest.fixture
def run(good, tmp_path):
    return shutil.copytree(good, tmp_path / "run")


# --- too large, too deep, too many ---------------------------------------------------------------


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused(name, tmp_path, monkeypatch):
    """The smallest of its kind, in this process; the limits do not depend on the size."""
    path = laid(name, 0.0, tmp_path)
    monkeypatch.setattr(sys, "argv", ["-", str(path)])
    monkeypatch.chdir(tmp_path)
    if name in ("a number of a thousand million digits", "a run whose front never ends"):
        monkeypatch.setattr("ieql.files.MAX_BYTES", 1_000)
        path.write_bytes(path.read_bytes() or b"1" * 2_000)
    with pytest.raises(IeqlError) as caught:
        exec(BOMBS[name][1], {"sys": sys})
    assert len(str(caught.value)) < 1_000
    assert not (tmp_path / "harmed").exists()


def test_a_bomb_goes_off_elsewhere(tmp_path):
    """In a process of its own, with limits that would kill it."""
    assert opened("a hundred million brackets", 0.0, tmp_path) == ""


def test_what_is_no_file_has_no_end():
    """A device tells the size 0 and never ends."""
    with pytest.raises(ValueError, match="not a regular file"):
        read_json("/dev/zero")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("costs: {cos: 1" + ":1" * 6_000 + "}", "longer than 10,000 characters"),
        ("units: [" + "x" * 20_000 + "]", "longer than 10,000 characters"),
        ("costs: {<<: {cos: 3}}", "'<<' is not supported"),
        ("# " + "x" * 300_000, "longer than 200,000 characters"),
    ],
)
def test_yaml_within_limits(text, message):
    """PyYAML made of "1:1:1:…" an integer of a million bits, and of nested merges 9**9 entries."""
    with pytest.raises(IeqlError, match=message):
        Prior.from_yaml(text)


def test_anchors_are_fine():
    prior = Prior.from_yaml("units: &all [cos, exp]\ninputs: {a: {not_in: *all}}")
    assert prior.inputs["a"]["not_in"] == ("cos", "exp")


def test_a_domain_file_is_read_with_the_same_care(tmp_path):
    """A date that does not exist ended in a traceback."""
    (tmp_path / "d.csv").write_text(fuzz.EXAMPLE)
    (tmp_path / "domain.yaml").write_text("a: [0, 2020-99-99]")
    arguments = ("fit", tmp_path / "d.csv", "--target", "y", "--out", tmp_path / "r")
    result = ieql(*arguments, "--domain", tmp_path / "domain.yaml", code=2)
    assert "is not a YAML file" in result.stderr


def shared(n, unit="mul", names=("x",)):
    """Each unit takes the one before, the first the last input, as often as it has arguments."""
    first = len(names) - 1
    sums = [[[0.5, [first + k], [1.0]]] * UNITS[unit].arity for k in range(n)]
    return {
        "names": list(names),
        "nodes": [[unit, args] for args in sums],
        "outputs": [[0.0, [first + n], [1.0]]],
    }


def test_equations_too_long_to_be_written_are_not_read():
    """Fifteen doublings and nine thousand units beside them took three gigabytes to print."""
    form = shared(15)
    Expression.from_dict(form)
    form["nodes"] += [["cos", [[float(k), [15], [1.0]]]] for k in range(9_000)]
    with pytest.raises(IeqlError, match="too long to be written out"):
        Expression.from_dict(form)
    form = shared(15)
    form["outputs"] = [[0.0, [15] * 9_000, [1.5] * 9_000]]
    with pytest.raises(IeqlError, match="too long to be written out"):
        Expression.from_dict(form)


def test_nor_are_models_of_very_many_of_them(run):
    form = json.loads((run / "model.json").read_text())
    expression = shared(13, names=form["features"])
    form["fronts"][0] = [form["fronts"][0][0] | {"expression": expression}] * 100
    form["selected"], form["differences"] = [0], []
    (run / "model.json").write_text(json.dumps(form))
    assert "too long to be written out" in ieql("show", run, code=2).stderr


def test_what_sympy_cannot_nest_is_said():
    """It ended in a RecursionError."""
    form = shared(300, "cos")
    with pytest.raises(IeqlError, match="too deeply for SymPy"):
        sympy_text(Expression.from_dict(form).to_sympy())


@pytest.mark.parametrize("text", ["q" * 500_000, "q" * 500_000 + "(x)", "x " + "q" * 500_000])
def test_messages_do_not_repeat_a_megabyte(text):
    with pytest.raises(IeqlError) as caught:
        Expression.parse(text, ["x"])
    assert len(str(caught.value)) < 500


def test_the_nearest_of_endless_names_is_not_sought():
    assert nearest("x" * 100_000, ["x" * 99_999]) == ""
    assert nearest("speed", ["x" * 100_000, "sped"]) == " Did you mean 'sped'?"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("features", ["a", "a"]),
        ("largest_complexities", [float("inf")]),
        ("n_trainings", -1),
        ("n_rows", [-1, 5]),
        ("domain", {"a": [0, float("nan")], "b c": [0, 1]}),
        ("targets", ["y" * 20_000]),
        ("format", "x" * 100_000),
        ("criterion", ["x" * 100_000]),
    ],
)
def test_a_model_that_cannot_be_is_refused(run, key, value):
    form = json.loads((run / "model.json").read_text())
    (run / "model.json").write_text(json.dumps(form | {key: value}))
    with pytest.raises(IeqlError) as caught:
        IEQLRegressor.load(run / "model.json")
    assert len(str(caught.value)) < 1_000


def test_a_name_that_could_not_be_read_back_is_refused_at_once():
    import pandas as pd

    X = pd.DataFrame({"x" * 20_000: range(20)})
    with pytest.raises(IeqlError, match="has 20000 characters"):
        IEQLRegressor(max_trainings=1).fit(X, range(20))


# --- run folders ---------------------------------------------------------------------------------


# Without the lock there is no run; what cannot be appended is said, and the model stored.
@pytest.mark.parametrize(("name", "code"), [("front.jsonl", 0), (".lock", 2)])
def test_nothing_is_written_through_a_link(run, tmp_path, name, code):
    """A run folder whose front.jsonl was a link to .bashrc had lines appended to that file."""
    mine = tmp_path / "mine"
    mine.write_text("mine, without a line end")
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(mine)
    (run / "checkpoint.json").unlink()
    ieql("resume", run, *fuzz.TRAINING, code=code)
    assert mine.read_text() == "mine, without a line end"


def test_links_in_place_of_results_are_replaced(run, tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (run / "report.html").unlink()
    (run / "report.html").symlink_to(mine)
    ieql("report", run)
    assert mine.read_text() == "mine"
    assert not (run / "report.html").is_symlink()


def test_a_link_that_lies_in_wait_for_a_temporary_file_is_not_followed(run, tmp_path, monkeypatch):
    mine = tmp_path / "mine"
    mine.write_text("mine")
    monkeypatch.setattr("os.getpid", lambda: 7)
    (run / ".report.html.7.tmp").symlink_to(mine)
    RunFolder(run).write_report("<p>")
    assert mine.read_text() == "mine"


def changed(run, **source):
    form = json.loads((run / "run.json").read_text())
    form["source"] |= source
    (run / "run.json").write_text(json.dumps(form))


def test_resume_says_which_file_it_reads_and_refuses_another(run, tmp_path):
    """The folder names the file: a stranger's may name any of the user's own."""
    secret = tmp_path / "secret.csv"
    secret.write_text(fuzz.EXAMPLE.replace("1;1;", "1;2;"))
    changed(run, data=str(secret))
    result = ieql("resume", run, *fuzz.TRAINING, code=2)
    assert f"Reading {str(secret)!r}" in result.stderr
    assert "a run on other data" in result.stderr


@pytest.mark.parametrize("data", ["/dev/zero", "/dev/stdin", "/", ["a.csv"], None, ""])
def test_resume_reads_files_only(run, data):
    changed(run, data=data)
    ieql("resume", run, *fuzz.TRAINING, code=2)


def test_resume_reads_no_prior_from_a_path(run, tmp_path):
    form = json.loads((run / "run.json").read_text())
    form["settings"]["prior"] = str(tmp_path / "prior.yaml")
    (run / "run.json").write_text(json.dumps(form))
    assert "damaged" in ieql("resume", run, code=2).stderr


# --- names ---------------------------------------------------------------------------------------


def law(name):
    return Expression((name, "z"), (Node(UNITS["exp"], (Sum(0.5, (0,), (2.0,)),)),), (
        Sum(1.0, (0, 1, 2), (2.0, 3.0, 1.0)),
    ))  # fmt: skip


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_names_in_c(tmp_path):
    """All compile without a warning, define the functions that they should, and do nothing else."""
    source = c_code([(name, law(name)) for name in NAMES])
    (tmp_path / "f.c").write_text(source, encoding="utf-8")
    library = tmp_path / "f.so"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["gcc", *strict, str(tmp_path / "f.c"), "-o", str(library), "-lm"], check=True)
    functions = re.findall(r"^double (\w+)\(double \w+, double \w+\)$", source, re.MULTILINE)
    assert len(set(functions)) == len(NAMES)
    code = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
    assert set(re.findall(r"\b(\w+)\(", code)) == {*functions, "exp"}
    loaded = ctypes.CDLL(str(library))
    for name in functions:
        function = getattr(loaded, name)
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * 2
        assert function(-0.25, 1.0) == 1.0 - 0.5 + 3.0 + 1.0


def test_names_in_python():
    for name in NAMES:
        docstring, imported, function = ast.parse(python_code([(name, law(name))])).body
        assert isinstance(docstring, ast.Expr)
        assert [alias.name for alias in imported.names] == ["numpy"]
        assert isinstance(function, ast.FunctionDef)
        calls = [n for n in ast.walk(function) if isinstance(n, ast.Call)]
        assert {ast.unparse(c.func) for c in calls} == {"np.asarray", "np.errstate", "np.exp"}


@pytest.mark.parametrize("name", NAMES)
def test_names_in_latex_mathml_and_text(name):
    from xml.etree import ElementTree

    text = latex(law(name), target=name)
    assert set(re.findall(r"\\[a-z]+", text.replace(latex_name(name), ""))) <= {
        r"\exp",
        r"\left",
        r"\right",
    }
    assert not re.search(r"\\(?:end|input)\b", text)
    root = ElementTree.fromstring(mathml(law(name), target=name))
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"math", "mrow", "mi", "mo", "mn", "msub", "msup", "mfrac"}
    assert Expression.parse(law(name).text(), (name, "z")) == law(name).canonical()


def test_names_in_the_report():
    evil = NAMES[0] + NAMES[12] + NAMES[15] + "\ud800"
    model = fitted.model(("3", f"2*`{evil}` + cos(z)"), names=(evil, "z"), targets=(evil,))
    page = model.report_html()
    assert page.count("<script") == 1
    assert "<img" not in page
    assert not re.search("[\x00-\x08\x0e-\x1f]", page)
    assert page.encode()  # a name may hold half a character


def test_a_terminal_obeys_no_name(run):
    """`ieql show` of a stranger's run sent the terminal what stood in the names of its columns."""
    path = run / "model.json"
    path.write_text(path.read_text().replace('"b c"', json.dumps(NAMES[15])))
    shown = ieql("show", run)
    assert "\x1b" not in shown.output
    assert "<U+001B>]0;title" in shown.output
    path.write_text(path.read_text().replace('"MDL"', '"\\u001b[2J"'))
    assert "\x1b" not in ieql("show", run, code=2).output


def test_what_a_terminal_would_obey_is_written_by_its_number():
    assert visible("a\x1b[2J\nb\u202ec") == "a<U+001B>[2J<U+000A>b<U+202E>c"
    assert visible("Größe [m·s⁻¹] 温度") == "Größe [m·s⁻¹] 温度"
