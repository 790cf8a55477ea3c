"""What is shown while a fit goes on."""

from __future__ import annotations

import io
import time

import pandas as pd
from rich.console import Console

from ieql.equations.expression import Expression
from ieql.progress import MOST_ROWS, LiveDisplay


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
