from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

from ieql.alternatives import Alternative
from ieql.console import (
    alternatives_table,
    constants_table,
    front_table,
    suggestions_table,
    unfinished_text,
)
from ieql.equations.expression import Expression
from ieql.selection import Candidate
from ieql.suggestions import Suggestions

FRONT = pd.DataFrame(
    {
        "complexity": [0.0, 4.0],
        "n_parameters": [0, 2],
        "n_constants": [1, 1],
        "rmse_train": [3.0, 0.1],
        "rmse_validation": [3.123456, 0.0123456],
        "rmse_extrapolation": [np.nan, np.nan],
        "selected": [False, True],
    }
)

NAMES = ["speed", "air temp", "n 1.23456789012"]


def equations(*texts, names=NAMES):
    return [Expression.parse(text, names) for text in texts]


ROWS = equations("4.25", "2.000001234*speed + `air temp`**2")


def test_front_table_marks_the_selected_equation():
    header, first, second = front_table(FRONT, ROWS, None)
    assert header.split()[:3] == ["index", "complexity", "weights"]
    assert header.endswith("  training error  validation error  equation")
    assert first.split() == ["0", "0", "0", "1", "3", "3.123", "4.25"]
    assert second.split()[:7] == ["*", "1", "4", "2", "1", "0.1", "0.01235"]
    assert second.endswith("  2.000001234*speed + `air temp`**2")  # with the digits that it has


def test_front_table_is_cut_to_the_width():
    whole = front_table(FRONT, ROWS, None)
    cut = front_table(FRONT, ROWS, 60)
    assert max(len(line) for line in cut) == 60
    assert cut[2].endswith("...")
    assert "weights  constants" in whole[0]
    assert "constants" not in cut[0]
    assert front_table(FRONT, ROWS, 200) == whole


def test_equations_of_a_search_under_way_are_rounded_and_it_is_said():
    long = equations("4.25", "2.00000123456789*speed + 0.00012345*`n 1.23456789012`")
    header, first, second = front_table(FRONT, long, None, unfinished=True)
    assert header.endswith("equation (unfinished: rounded)")
    assert first.endswith(" 4.25")
    assert second.endswith("  2*speed + 0.00012345*`n 1.23456789012`")
    assert front_table(FRONT, ROWS, None, unfinished=True) == front_table(FRONT, ROWS, None)
    [found] = equations("1.5e-07*x + 12345678901.5", names=["x"])
    assert unfinished_text(found) == "1.5e-07*x + 1.235e+10"


def test_a_coefficient_that_is_rounded_to_one_is_left_out():
    """While a search was under way the front showed 1*x + 1*y."""
    [found] = equations("1.00000000001*x - 0.99999999999*y", names=["x", "y"])
    assert unfinished_text(found) == "x - y"


@pytest.mark.parametrize("name", ["电压", "🔋", "e\u0301", "U"])
def test_columns_are_aligned_whatever_room_their_characters_take(name):
    """Chinese characters and emoji take two columns of a terminal, combining accents none."""
    front = FRONT.assign(output=[name, "current"])
    plain, shown, other = front_table(front, ROWS, None)
    ends = {cell_len(line.partition(text)[0]) for line, text in ((shown, "4.25"), (other, "2.0"))}
    assert ends == {cell_len(plain.partition("equation")[0])}


def test_a_line_is_cut_to_the_columns_of_the_terminal():
    wide = equations(
        "4.25", " + ".join(f"`电压{k}`" for k in range(20)), names=[f"电压{k}" for k in range(20)]
    )
    cut = front_table(FRONT, wide, 60)[2]
    assert cell_len(cut) == 60
    assert cut.endswith("...")


def test_what_a_terminal_would_obey_is_shown_by_its_number():
    front = FRONT.assign(output=["a\x1b[2J", "b"])
    assert "a<U+001B>[2J" in front_table(front, ROWS, None)[1]


def test_front_table_shows_outputs_and_extrapolation_where_there_are_any():
    front = FRONT.assign(output=["a", "b"], rmse_extrapolation=[1.5, np.nan])
    header, first, _ = front_table(front, ROWS, None)
    assert "output" in header
    assert "extrapolation error" in header
    assert first.split() == ["0", "0", "0", "1", "3", "3.123", "a", "1.5", "4.25"]


def test_alternatives_are_a_table_with_the_equation_last():
    rival, other = (
        Candidate(e, 2.0, 2, 0.1, 0.1, precise=p)
        for e, p in zip(ROWS, equations("4.2512", "3*speed"), strict=True)
    )
    found = [
        Alternative(rival, None, 0.123, 12.3456, {"speed": 3.0, "air temp": 400.0}, 1300.0),
        Alternative(other, 1, -2.0, np.inf, {"speed": 0.5}, np.inf),
    ]
    header, first, second = alternatives_table(found, None, first=5)
    assert header.split("  ")[-1] == "equation"
    assert " ".join(first.split()) == "+0.1 12.3 speed = 3, air temp = 400 1,300 4.25"
    assert second.split()[:4] == ["6", "-2.0", "inf", "speed"]  # by its index among all outputs
    assert alternatives_table(found, None, precise=True)[1].endswith(" 4.2512")
    assert {cell_len(line) for line in alternatives_table(found, 50)} == {50}


def test_constants_are_a_table_with_their_digits():
    frame = pd.DataFrame(
        {
            "value": [0.5, -1e-12, 3.0],
            "standard_error": [0.0123, np.nan, 0.0],
            "of": ["factor of `air temp`", "offset", "factor of x\x1b"],
        }
    )
    header, *lines = constants_table(frame, None)
    assert header == " value  standard error  what it is"
    assert lines == [
        "   0.5           0.012  factor of `air temp`",
        "-1e-12                  offset",
        "   3.0             set  factor of x<U+001B>",
    ]
    assert max(map(cell_len, constants_table(frame, 30))) == 30


def suggestions(points, names=("speed", "selected"), rivals=("2*speed", "-speed"), outputs=()):
    n = len(points)
    return Suggestions(
        names=tuple(names),
        points=np.array(points, dtype=float),
        outputs=outputs,
        selected=np.array([1.23456, 2.0][:n]),
        rival=np.array([np.nan, 20000.0][:n]),
        disagreement=np.array([np.inf, 3.14159][:n]),
        rival_equation=rivals[:n],
        sentence="So it is.",
    )


def test_suggestions_table():
    header, *lines = suggestions_table(suggestions([[3000, 0.5], [1234.5678, 0.25]]), None)
    # An input may have the name of another column.
    assert header.split() == [
        "speed", "selected", "selected", "rival", "disagreement", "rival", "equation",
    ]  # fmt: skip
    assert lines[0].split() == ["3000", "0.5", "1.235", "nan", "inf", "2*speed"]
    assert lines[1].split() == ["1234.57", "0.25", "2", "2e+04", "3.14", "-speed"]
    assert lines[2:] == ["disagreement: between selected and rival, in units of the noise."]


def test_suggestions_table_names_what_is_the_same_in_all_points_once():
    header, *lines = suggestions_table(suggestions([[3000, 0.5], [2000, 0.5]]), None)
    assert header.split()[:2] == ["speed", "selected"]
    assert lines[2] == "In all rows: selected = 0.5."
    assert "In all rows" not in "".join(suggestions_table(suggestions([[3000, 0.5]]), None))


def test_suggestions_table_without_rivals_has_no_columns_for_them():
    found = suggestions([[3000, 1], [2000, 2]], ("a", "b\n"), ("", ""), ("y", "w"))
    header, *lines = suggestions_table(found, None)
    assert header.split() == ["a", "b<U+000A>", "output", "selected"]
    assert [line.split()[2] for line in lines] == ["y", "w"]


def test_suggestions_table_is_cut_to_the_width():
    assert max(map(len, suggestions_table(suggestions([[3000, 0.5]]), 40)[:2])) == 40
