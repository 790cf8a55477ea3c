from __future__ import annotations

import numpy as np
import pandas as pd

from ieql.console import front_table, names_in, rounded

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
    assert first.split() == ["0", "0", "0", "3.123", "4.25"]
    assert second.split()[:5] == ["*", "1", "4", "2", "0.01235"]
    assert second.endswith("  2*speed + `air temp`**2")


def test_front_table_is_cut_to_the_width():
    whole = front_table(FRONT, None)
    cut = front_table(FRONT, 60)
    assert [len(line) for line in cut] == [min(60, len(line)) for line in whole]
    assert cut[2].endswith("...")


def test_front_table_shows_outputs_and_extrapolation_where_there_are_any():
    front = FRONT.assign(output=["a", "b"], rmse_extrapolation=[1.5, np.nan])
    header, first, _ = front_table(front, None)
    assert "output" in header
    assert "extrapolation error" in header
    assert first.split() == ["0", "0", "0", "3.123", "a", "1.5", "4.25"]
