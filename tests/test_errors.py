"""Errors a user can cause."""

from __future__ import annotations

import pytest

import ieql
from ieql.errors import IeqlError, nearest, shown


def test_errors_are_value_errors():
    assert issubclass(IeqlError, ValueError)
    assert ieql.IeqlError is IeqlError


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("coss", " Did you mean 'cos'?"),
        ("sqroot", " Did you mean 'sqrt'?"),
        ("zzz", ""),
        ("", ""),
        (3, ""),
    ],
)
def test_the_nearest_valid_name(name, hint):
    assert nearest(name, ["cos", "sin", "sqrt"]) == hint


def test_the_names_may_come_from_anything():
    assert nearest("cosinus", {"cosine": 1, 5: 2}) == " Did you mean 'cosine'?"
    assert nearest("cos", iter(())) == ""


@pytest.mark.parametrize("value", ["x" * 100_000, ["x" * 100_000], {"a": ["y" * 9_999] * 999}])
def test_a_large_value_does_not_fill_the_screen(value):
    assert len(shown(value)) < 600
    assert shown("V_in") == "'V_in'"
