"""What is shown while a fit goes on."""

from __future__ import annotations

import io
import sys
import time
import types

import pandas as pd
from rich.console import Console

from ieql.equations.expression import Expression
from ieql.progress import MOST_ROWS, LiveDisplay, notebook_display


def front(n: int = 3, selected: int = 1) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "complexity": [float(k) for k in range(n)],
            "n_parameters": list(range(n)),
            "n_constants": list(range(n)),
            "rmse_extrapolation": [float("nan")] * n,
            "rmse_train": [0.9 / (k + 1) for k in range(n)],
            "rmse_validation": [1.0 / (k + 1) for k in range(n)],
            "selected": [k == selected for k in range(n)],
        }
    )


def equations(n: int = 3) -> list[Expression]:
    others = [f"y{j}" for j in range(40)]
    texts = [f"{k}.12345678901*cos(x) + {' + '.join(others)}" for k in range(n)]
    return [Expression.parse(text, ["x", *others]) for text in texts]


def shown(console: Console, table: pd.DataFrame) -> str:
    watch = LiveDisplay(time.monotonic() - 5, 60.0, console)
    with watch:
        watch.show(table, equations(), 7)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_without_a_terminal_there_is_a_plain_line_per_round():
    text = shown(Console(file=io.StringIO(), width=80), front())
    assert text.startswith(
        "  5.0 s of at most 60 s, 7 trainings, 3 equations, validation error 0.5"
    )
    assert "1.123*cos(x)" in text
    assert text.count("\n") == 1
    assert "\x1b" not in text


def test_a_terminal_shows_the_front_cut_to_its_width_with_the_selected_one_marked():
    text = shown(Console(file=io.StringIO(), width=90, force_terminal=True), front())
    assert "complexity" in text
    assert "equation (unf" in text
    marked = {line for line in text.splitlines() if line.startswith("\x1b[1m* ")}
    assert len(marked) == 1
    assert "1.123*cos(x)" in marked.pop()
    assert "..." in text
    assert "Ctrl-C" in text


def test_of_a_long_front_the_part_around_the_selected_one_is_shown():
    watch = LiveDisplay(time.monotonic(), None, Console(file=io.StringIO(), width=200))
    watch.front, watch.expressions = front(40, selected=30), equations(40)
    console = Console(file=io.StringIO(), width=200)
    console.print(watch.render())
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "30.12" in text
    assert "1.123" not in text
    assert text.count("cos(x)") == MOST_ROWS


def test_names_are_no_markup():
    table = front().assign(output="[red]")
    text = shown(Console(file=io.StringIO(), width=120), table)
    assert "[red]: " in text


# --- in a notebook -------------------------------------------------------------------------------


class Shown:
    """What a notebook's output holds, one after the other."""

    def __init__(self) -> None:
        self.contents: list[dict[str, str]] = []

    def display(self, content, *, raw, display_id):
        assert raw
        assert display_id is True
        self.contents.append(content)
        return self

    def update(self, content, *, raw):
        assert raw
        self.contents.append(content)


def in_ipython(monkeypatch, shell) -> Shown:
    """Pretend that IPython with this shell is loaded."""
    shown = Shown()
    ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: shell  # type: ignore[attr-defined]
    display.display = shown.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_a_notebook_shows_one_table_that_is_replaced_and_taken_away(monkeypatch, capsys):
    shown = in_ipython(monkeypatch, types.SimpleNamespace(kernel=object()))
    watch = LiveDisplay(time.monotonic() - 5, 60.0)
    with watch:
        assert "5.0 s of at most 60 s, 0 trainings" in shown.contents[0]["text/html"]
        watch.show(front(), equations(), 7)
        watch.show(front(selected=2), equations(), 8)
    first, second, last = shown.contents[1:]
    assert "7 trainings" in first["text/plain"]
    assert "interrupt the kernel" in first["text/html"]
    (marked,) = [line for line in second["text/html"].split("<br>") if line.startswith("<b>")]
    assert "2.123*cos(x)" in marked
    assert set(last.values()) == {""}
    assert capsys.readouterr().err == ""


def test_names_are_no_markup_in_a_notebook_either(monkeypatch):
    shown = in_ipython(monkeypatch, types.SimpleNamespace(kernel=object()))
    watch = LiveDisplay(time.monotonic(), None)
    with watch:
        watch.show(front().assign(output="<script>"), equations(), 7)
    assert "&lt;script&gt;" in shown.contents[1]["text/html"]
    assert "<script" not in shown.contents[1]["text/html"]


def test_a_terminal_with_ipython_is_no_notebook(monkeypatch):
    assert notebook_display() is None
    for shell in (None, types.SimpleNamespace()):
        shown = in_ipython(monkeypatch, shell)
        assert notebook_display() is None
        with LiveDisplay(time.monotonic(), None) as watch:
            watch.show(front(), equations(), 7)
        assert shown.contents == []


def test_ipython_is_not_loaded_for_the_question(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    notebook_display()
    assert "IPython" not in sys.modules
