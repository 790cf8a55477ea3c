"""Physical units in the names of columns."""

from __future__ import annotations

import pytest

from ieql.column_units import unit_in_name, units_in_names


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("n [1/min]", "1/min"),
        ("M (Nm)", "Nm"),
        ("M(Nm)", "Nm"),
        ("alpha (W/(m*K))", "W/(m*K)"),
        ("share [-]", "-"),
        ("T_K", "K"),
        ("T_rot_K", "K"),
        ("T_C", "degC"),
        ("temperature_degC", "degC"),
        ("speed_rpm", "rpm"),
        ("p_bar", "bar"),
        ("t_s", "s"),
        ("U_V", "V"),
        ("I_phase_A", "A"),
    ],
)
def test_a_unit_is_found(name, unit):
    assert unit_in_name(name) == unit


@pytest.mark.parametrize(
    "name",
    [
        *("speed", "I_D", "n_mtr", "T_rot", "P_mod", "x_1", "f(x)", "x [mean]", "[m]", "k_B"),
        *("m_e", "p_s", "T_A", "R_s", "_K", ""),
    ],
)
def test_an_index_is_not_taken_for_a_unit(name):
    assert unit_in_name(name) is None


def test_columns_without_a_unit_are_left_out():
    assert units_in_names(["n [1/min]", "load"]) == {"n [1/min]": "1/min"}
