from __future__ import annotations

import numpy as np
import pandas as pd

from ieql.console import front_table, names_in, rounded, shortened

FRONT = pd.DataFrame(
    {
        "equation": ["4.25", "2.000001234*speed + `air temp`**2"],
        "complexity": [0.0, 4.0],
        "n_parameters": [0, 2],
        "rmse_train": [3.0, 0.1],
        "rmse_validation": [3.123456, 0.0123456],
        "rmse_extrapolation": [np.nan, np.nan],
        "selected": [False, True],
    }
)


def test_rounded_touches_numbers_alone():
    assert rounded("2.000001234*x1 + 1234567*`n 1.23456`") == "2*x1 + 1.235e+06*`n 1.23456`"
    assert rounded("-1.5e-07*log(0.3333333*a_123456 + 1)") == "-1.5e-07*log(0.3333*a_123456 + 1)"


def test_names_in_leaves_units_out():
    assert names_in("2*speed + cos(load + 1)/`cos`**2 - `a``b [1/s]`") == {
        "speed",
        "load",
        "cos",
        "a`b [1/s]",
    }
    assert names_in("4.25e3") == set()


def test_front_table_marks_the_selected_equation():
    header, first, second = front_table(FRONT, None)
    assert header.split()[:3] == ["index", "complexity", "parameters"]
    assert header.endswith("  training error  validation error  equation")
    assert first.split() == ["0", "0", "0", "3", "3.123", "4.25"]
    assert second.split()[:6] == ["*", "1", "4", "2", "0.1", "0.01235"]
    assert second.endswith("  2.000001234*speed + `air temp`**2")  # with the digits that it has


def test_front_table_is_cut_to_the_width():
    whole = front_table(FRONT, None)
    cut = front_table(FRONT, 60)
    assert max(len(line) for line in cut) == 60
    assert cut[2].endswith("...")
    assert "parameters" in whole[0]
    assert "parameters" not in cut[0]
    assert front_table(FRONT, 200) == whole


def test_equations_of_a_search_under_way_are_shortened_and_it_is_said():
    long = FRONT.assign(equation=["4.25", "2.00000123456789*speed + 0.00012345*`n 1.23456789012`"])
    header, first, second = front_table(long, None, unfinished=True)
    assert header.endswith("equation (unfinished: rounded)")
    assert first.endswith(" 4.25")
    assert second.endswith("  2*speed + 0.00012345*`n 1.23456789012`")
    assert front_table(FRONT, None, unfinished=True) == front_table(FRONT, None)
    assert shortened("1.5e-07*x + 12345678901.5") == "1.5e-07*x + 1.235e+10"


def test_front_table_shows_outputs_and_extrapolation_where_there_are_any():
    front = FRONT.assign(output=["a", "b"], rmse_extrapolation=[1.5, np.nan])
    header, first, _ = front_table(front, None)
    assert "output" in header
    assert "extrapolation error" in header
    assert first.split() == ["0", "0", "0", "3", "3.123", "a", "1.5", "4.25"]
