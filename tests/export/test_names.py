"""Any column's name as an identifier, and as harmless text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql.export.names import identifier, identifiers, printable


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("speed", "speed"),
        ("n [1/min]", "n_1_min"),
        ("π_rad", "pi_rad"),
        ("Ω", "Omega"),
        ("λ", "lambda"),
        ("µ", "mu"),
        ("Größe", "Grosse"),
        ("é", "e"),
        ("1st", "x_1st"),
        ("_Bool", "Bool"),
        ("a__b", "a_b"),
        ('x; system("")', "x_system"),
        ("*/", "x"),
        ("", "x"),
        ("速度", "x"),
    ],
)
def test_identifier(name, expected):
    assert identifier(name) == expected


@given(st.lists(st.one_of(st.text(), st.sampled_from(["a", "a_2", "a!", "int", "x"])), max_size=9))
def test_identifiers_are_plain_and_unique(names):
    words = identifiers(names, {"int", "x", "x_2"}, {"a"})
    assert len(set(words)) == len(names)
    assert not {"int", "x", "x_2", "a"} & set(words)
    for word in words:
        assert word.isascii()
        assert word.isidentifier()
        assert "__" not in word
        assert not word.startswith("_")


@given(st.text())
def test_printable_text_is_one_line(text):
    shown = printable(text)
    assert len(shown.splitlines()) <= 1
    assert "\\" not in shown
    shown.encode("utf-8")


def test_printable_keeps_what_can_be_read():
    assert printable("Größe `n [1/min]` */") == "Größe `n [1/min]` */"
    assert printable("a\\\n\u202e") == "a<U+005C><U+000A><U+202E>"
