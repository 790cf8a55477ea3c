"""Proofs before a second judge: Arb, by python-flint, with balls and power series of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flint", reason="python-flint, the second judge, is not installed")
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from hypothesis import given, settings
from hypothesis import strategies as st

from flint_judge import _unit, judge
from ieql.equations.expression import Expression
from ieql.equations.intervals import Enclosure
from ieql.proofs import prove
from ieql.shape import Limit
from proofs import planted_break, planted_pole
from tests.strategies import expressions

DOMAIN = {"x": (0.1, 1.0), "y": (0.5, 2.0)}
WORDS = ("increasing", "decreasing", "convex", "concave")
LIMITS = [Limit(word, "x") for word in WORDS]


@settings(deadline=None, max_examples=40)
@given(expressions(n_inputs=2, max_units=5, names=("x", "y"), constants=st.floats(-3, 3)))
def test_no_proof_is_contradicted(e):
    found = prove(e, DOMAIN, LIMITS, work=2e5)
    if found.safe:
        assert judge(e, DOMAIN, boxes=300).wrong == 0
    for limit in LIMITS:
        if found.limits[limit.text]:
            assert judge(e, DOMAIN, limit, boxes=300).wrong == 0


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("x**2*y + 3", "increasing"),
        ("exp(-x*y)", "decreasing"),
        ("x/(x + y + 0.1)", "concave"),
        ("1/(x + 0.1) + sqrt(y)", "convex"),
        ("log(x + 0.01)/(y - 0.4*x)", "increasing"),
        ("tanh(2*x - y) + atan(x)", "increasing"),
        ("logistic(3*x - 1) - gauss(x + y)", "increasing"),
        ("gauss(x + 1)", "convex"),
        ("power(x + y, 1.7)", "convex"),
    ],
)
def test_what_is_proved_is_confirmed_on_a_fine_grid(text, word):
    e = Expression.parse(text, ("x", "y"))
    assert prove(e, DOMAIN, [Limit(word, "x")]).proved
    assert judge(e, DOMAIN).is_confirmed
    assert judge(e, DOMAIN, Limit(word, "x")).is_confirmed


@settings(deadline=None, max_examples=100)
@given(
    expressions(n_inputs=2, max_units=6, names=("x", "y"), constants=st.floats(-3, 3)),
    st.integers(0, 2**32 - 1),
)
def test_enclosures_hold_the_exact_value_at_every_point(e, seed):
    from flint import arb, ctx

    ctx.prec = 200
    low, high = np.array([0.1, 0.5]), np.array([1.0, 2.0])
    point = np.random.default_rng(seed).uniform(low, high)
    values = [arb(float(x)) for x in point]
    for node in e.nodes:
        z = [sum((values[i] * arb(w) for i, w in zip(a.sources, a.weights, strict=True)),
                 arb(a.bias)) for a in node.args]  # fmt: skip
        if any(not z[a] > 0 for a in node.unit.singular):
            return
        one = {"square": lambda v: v**2, "identity": lambda v: v}
        two = {"mul": lambda a, b: a * b, "div": lambda a, b: a / b}
        known = {**one, **two}.get(node.unit.name)
        try:
            values.append(known(*z) if known else _unit(node.unit.name, z, 0))
        except ValueError:  # on a kink, or too close to it
            return
    (s,) = e.outputs
    exact = sum(
        (values[i] * arb(w) for i, w in zip(s.sources, s.weights, strict=True)), arb(s.bias)
    )
    f = Enclosure(e, s)
    used = list(f.inputs)
    bounds = f.bounds(low[used, None], high[used, None])
    if exact.is_finite() and np.all(np.isfinite(bounds)):
        assert not exact < arb(float(bounds[0][0]))
        assert not exact > arb(float(bounds[1][0]))


@pytest.mark.parametrize("seed", range(20))
def test_a_planted_pole_is_never_proved(seed):
    text, domain = planted_pole(np.random.default_rng(seed))
    assert prove(Expression.parse(text, tuple(domain)), domain).safe is not True


@pytest.mark.parametrize("seed", range(20))
def test_a_planted_break_is_never_proved(seed):
    text, domain, limit = planted_break(np.random.default_rng(seed))
    e = Expression.parse(text, tuple(domain))
    assert prove(e, domain, [limit]).limits[limit.text] is not True
