"""Equations in a strange dress: the generator, and what counts as having come back."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import dressed
from dressed import IDENTITIES, dressed_equations, judged, shape
from ugliness import ugliness


@pytest.fixture(scope="module")
def some():
    return list(islice(dressed_equations(3), 3 * len(IDENTITIES)))


def test_a_dress_leaves_the_values_as_they_are(some):
    for d in some:
        plain = d.plain.expression()
        assert d.expression != plain
        X = np.concatenate([d.X, d.points])
        exact = plain.evaluate(X)[:, 0]
        assert d.expression.evaluate(X)[:, 0] == pytest.approx(exact, abs=1e-9 * abs(exact).max())


def test_every_identity_has_its_turn(some):
    assert {d.identities[0] for d in some} == set(IDENTITIES)
    assert {len(d.identities) for d in some} == {1, 2, 3}
    assert {len(d.plain.names) for d in some} == {1, 2, 3}


def test_the_same_seed_gives_the_same_equations(some):
    again = islice(dressed_equations(3), len(some))
    assert [d.expression for d in again] == [d.expression for d in some]
    other = islice(dressed_equations(4), len(some))
    assert [d.expression for d in other] != [d.expression for d in some]


def test_plain_equations_are_not_ugly(some):
    """Apart from third powers, which have no unit of their own."""
    for d in some:
        if "**3" not in d.plain.text:
            assert ugliness(d.plain.expression(), d.X, d.points) == [], d.plain.text


@pytest.mark.parametrize("name", IDENTITIES)
def test_an_identity_is_used_alone_if_asked_for(name):
    for d in islice(dressed_equations(0, [name]), 3):
        assert set(d.identities) == {name}


def test_what_is_finished_as_the_plain_one_came_back(some, monkeypatch):
    monkeypatch.setattr(dressed, "finished", lambda e, X, y, points: some[0].plain.expression())
    assert judged(some[0]).reasons == ()


def test_what_keeps_its_dress_did_not_come_back(some, monkeypatch):
    monkeypatch.setattr(dressed, "finished", lambda e, X, y, points: e)
    for d in some:
        assert judged(d).reasons, d.expression.text()
    monkeypatch.setattr(dressed, "finished", lambda e, X, y, points: None)
    assert judged(some[0]).reasons == ("refused",)


def test_other_values_are_noticed(some, monkeypatch):
    plain = some[0].plain.expression()
    changed = plain.with_constants(1.001 * plain.constants())
    monkeypatch.setattr(dressed, "finished", lambda e, X, y, points: changed)
    assert "other values" in judged(some[0]).reasons


def test_the_shape_of_a_text_has_no_numbers_but_exponents():
    assert shape("-2.5*x**2 + 1e-05*x1**1.37 - 3") == "#*x**2 + #*x1**1.37 - #"


def test_the_report_says_what_came_back(capsys):
    dressed.main(["--n", "3", "--seed", "1", "--show", "3", "--identity", "exp_of_log"])
    out = capsys.readouterr().out
    assert "came back 3 of 3 (100.0 %; the bar is 95 %)" in out
    assert "plain ones that stay plain: 3 of 3" in out
