"""Proved, refuted with a point, or open: whether an equation is safe in a whole box."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql.equations.expression import Expression
from ieql.equations.proof import LITTLE_WORK, prove, violated
from ieql.units import Unit
from tests.strategies import boxes, expressions


def names(d):
    return tuple(f"x{i}" for i in range(d))


def proof_of(text, *ends, custom=None, **options):
    """The proof for a box given by pairs of ends, one for each input."""
    box = np.array(ends, dtype=float)
    expression = Expression.parse(text, names(len(box)), custom)
    proof = prove(expression, box[:, 0], box[:, 1], **options)
    if proof.proved is False:
        assert np.all((box[:, 0] <= proof.point) & (proof.point <= box[:, 1]))
    else:
        assert proof.point is None
    return proof


def is_confirmed(text, proof):
    expression = Expression.parse(text, names(len(proof.point)))
    return bool(violated(expression, proof.point[None, :])[0])


BELL = " + ".join(f"(x{i} - 0.5)**2" for i in range(6))
COMB = " ".join(f"{'+-'[i % 2]} x{i}" for i in range(12))
# From a front in which it had been selected, with a wide declared domain.
FOUND = (
    "0.02367/(cos(3*x0 - 0.0004)*((cos(0.2415*x3 + 0.2415*x2) - 0.79768)**2 - 0.01725)*cos(2*x1)"
    " + {offset}) + 0.0009"
)


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("3", [(0, 1)]),
        ("2*x0 + cos(9*x0)", [(-1, 1)]),
        ("log(x0)", [(1e-5, 1)]),
        ("log(x0) - 0.5*log(x1)", [(1e-9, 1e9)] * 2),
        ("20/x0", [(1e-9, 1e9)]),
        ("log(sqrt(x0))", [(1e-5, 1)]),
        ("1/(exp(x0) - x0 - 0.9)", [(-3, 3)]),
        ("1/(1 + x0**2 - x0)", [(-2, 2)]),
        ("1/(x0**2 - 2*x0*x1 + x1**2 + 0.01)", [(-1, 1)] * 2),
        ("log(log(x0 + 1.1))", [(0, 10)]),
        ("log(x0/(x0 + x1))*exp(x0)", [(0.1, 10)] * 2),
        (f"1/({BELL} + 0.01)", [(-1, 2)] * 6),
        (f"1/(8.5 {COMB})", [(-0.2, 1.2)] * 12),
        (FOUND.format(offset=0.05487), [(-2, 2)] * 4),
    ],
)  # fmt: skip
def test_proved(text, box):
    assert proof_of(text, *box).proved is True


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("log(x0)", [(0, 1)]),
        ("1/(x0 - 0.3)", [(-1, 1)]),
        ("1/(x0 - 2)", [(-1, 1)]),  # the paper keeps to positive denominators
        ("1/(1 - cos(x0))", [(-1, 1.3)]),
        ("sqrt(x0 - 0.001)", [(0, 1)]),
        ("exp(100*x0)", [(0, 10)]),
        ("log(log(x0 + 1))", [(0, 10)]),
        (f"1/({BELL} - 0.01)", [(-1, 2)] * 6),
        (f"1/(8 {COMB})", [(-0.2, 1.2)] * 12),
        (FOUND.format(offset=0.02487), [(-2, 2)] * 4),
    ],
)  # fmt: skip
def test_refuted_with_a_point(text, box):
    proof = proof_of(text, *box)
    assert proof.proved is False
    assert is_confirmed(text, proof)


@pytest.mark.parametrize("d", [1, 2, 4, 6])
def test_a_narrow_hole_is_found(d):
    """Negative in a ball that holds a thousandth of each side, and no random point."""
    rng = np.random.default_rng(d)
    place, scale = rng.uniform(-0.9, 0.9, d), rng.uniform(0.5, 2, d)
    squares = " + ".join(
        f"{s}*(x{i} - {p})**2" for i, (p, s) in enumerate(zip(place, scale, strict=True))
    )
    hole = proof_of(f"log({squares} - 1e-6)", *[(-1, 1)] * d)
    assert hole.proved is False
    assert np.abs(hole.point - place).max() < 0.01
    assert proof_of(f"log({squares} + 1e-6)", *[(-1, 1)] * d).proved is True


def test_a_hole_far_from_where_descents_begin_is_found_by_splitting():
    """Only a thousandth of the box leads to it; everywhere else the way down leads elsewhere."""
    well = "1/(1.03 - exp(-(400*x0 - 123)**2) + 0.01*x0 {sign} 0.035)"
    assert proof_of(well.format(sign="-"), (-1, 1)).proved is False
    assert proof_of(well.format(sign="+"), (-1, 1)).proved is True


@pytest.mark.parametrize("text", ["1/x0**2", "1/(3.1*x0 - 0.77)**2", "log(x0**2 + (x1 - 0.1)**2)"])
def test_a_double_zero_is_a_pole_though_the_sign_never_changes(text):
    assert proof_of(text, (-1, 1.3), (-1, 1)).proved is False


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("sqrt(x0)", [(0, 1)]),
        ("sqrt(x0 - 0.3)", [(0.3, 1)]),
        ("sqrt(1 - cos(x0))", [(-1, 1.3)]),
        ("sqrt(x0*x1)", [(0, 1)] * 2),
        ("sqrt(x0**2)", [(-1, 1)]),
        ("sqrt(0.1*x0 - 0.1*x1)", [(2, 3), (1, 2)]),
    ],
)  # fmt: skip
def test_a_root_may_touch_its_edge(text, box):
    assert proof_of(text, *box).proved is True


def test_the_output_keeps_its_bounds():
    assert proof_of("2*x0 + 1", (-1, 1), bounds=(-1, 3)).proved is True
    assert proof_of("2*x0 + 1", (-1, 1), bounds=(-0.9, 3)).proved is False
    assert proof_of("2*x0 + 1", (-1, 1), bounds=(-1, 2.9)).proved is False
    assert proof_of("x0*x1 - x0 + x1", *[(-1, 1)] * 2, bounds=(-3.01, 1.01)).proved is True


def test_a_box_may_be_a_single_value():
    assert proof_of("log(x0) + 1/x1", (0.5, 0.5), (1, 2)).proved is True
    assert proof_of("log(x0) + 1/x1", (0.0, 0.0), (1, 2)).proved is False


def test_an_input_that_is_not_used_does_not_matter():
    assert proof_of("log(x0 + 2)", (-1, 1), (-np.inf, np.inf)).proved is not False


def test_how_far_the_output_goes_is_found():
    """A spike a hundredth wide: 768 points in four dimensions miss it by far."""
    bell = " + ".join(f"(x{i} - 0.3)**2" for i in range(4))
    proof = proof_of(f"1/({bell} + 0.0001)", *[(-1, 1)] * 4)
    assert proof.proved is True
    assert proof.high == pytest.approx(1e4, rel=1e-3)
    assert proof.low < 0.2


TANH = {"name": "tanh", "value": np.tanh, "derivatives": lambda z: 1 - np.tanh(z) ** 2}


def test_a_users_unit_with_an_interval_rule_can_be_part_of_a_proof():
    tanh = Unit(**TANH, interval=lambda x: (float(np.tanh(x[0])), float(np.tanh(x[1]))))
    custom = {"tanh": tanh}
    assert proof_of("log(tanh(x0) + 1.1)", (-2, 2), custom=custom).proved is True
    assert proof_of("log(tanh(x0) + 0.5)", (-2, 2), custom=custom).proved is False


def test_what_depends_on_a_users_unit_without_a_rule_stays_open():
    custom = {"tanh": Unit(**TANH)}
    start = time.perf_counter()
    assert proof_of("log(tanh(x0) + 1.1)", (-2, 2), custom=custom).proved is None
    assert proof_of("tanh(x0)", (-2, 2), custom=custom).proved is None
    assert proof_of("log(tanh(x0) + 0.5)", (-2, 2), custom=custom).proved is False
    assert time.perf_counter() - start < 1.0


def test_the_domain_of_a_users_unit_is_kept_on_both_sides():
    bump = Unit("bump", np.sin, np.cos, domains=((-1.0, 1.0),), interval=lambda x: (-1.0, 1.0))
    custom = {"bump": bump}
    assert proof_of("bump(0.9*x0)", (-1, 1), custom=custom).proved is True
    assert proof_of("bump(0.5*x0 + 0.6)", (-1, 1), custom=custom).proved is False
    assert proof_of("bump(0.5*x0 - 0.6)", (-1, 1), custom=custom).proved is False


HARD = (
    "1/(" + " + ".join(f"x{i}**2 - 2*x{i}*x{i + 1} + x{i + 1}**2" for i in (0, 2, 4)) + " + 1e-4)"
)


def test_what_is_too_hard_stays_open_and_ends_in_time():
    start = time.thread_time()
    proof = proof_of(HARD, *[(-1, 1)] * 6)
    assert proof.proved is None
    assert proof.boxes > 1000
    assert time.thread_time() - start < 1.5


def test_the_outcome_does_not_depend_on_the_clock():
    first, second = (proof_of(HARD, *[(-1, 1)] * 6, work=200_000, seconds=s) for s in (30, 60))
    assert first == second


def test_little_work_and_being_late_end_a_proof_early():
    assert proof_of(HARD, *[(-1, 1)] * 6, work=LITTLE_WORK).boxes < 500
    assert proof_of(HARD, *[(-1, 1)] * 6, is_late=lambda: True).boxes < 10
    assert proof_of("log(x0)", (1e-5, 1), work=LITTLE_WORK).proved is True


@given(expressions(max_units=5, constants=st.floats(-3, 3)), boxes())
def test_nothing_that_is_proved_is_violated_anywhere(expression, ends):
    box = np.array(ends).T
    proof = prove(expression, *box, work=LITTLE_WORK)
    X = np.random.default_rng(5).uniform(*box, (500, 3))
    X[:8] = np.where(np.random.default_rng(6).random((8, 3)) < 0.5, *box)
    if proof.proved:
        assert not violated(expression, X).any()
        assert proof.low <= proof.high


def test_a_domain_as_wide_as_the_floats_does_no_harm():
    box = [(-1e308, 1e308)] * 2
    assert proof_of("cos(x0) + 1e-9*x1", *box).proved is True
    assert proof_of("1/(cos(x0) + 1.5)", *box).proved is True
    assert proof_of("log(x0 - x1)", *box).proved is False


def test_a_constant_argument_is_no_reason_for_doubt():
    assert proof_of("x0/2 + 1/3 + log(2)", (-1, 1)).proved is True
