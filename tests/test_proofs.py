"""What is proved of an equation, and the certificate that shows it to others."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ieql import IeqlError, check_certificate
from ieql.check_certificate import NotProvedError, check, digest
from ieql.equations.expression import Expression
from ieql.proofs import prove
from ieql.shape import Shape
from ieql.units import Unit
from tests.strategies import expressions

DOMAIN = {"x": (0.0, 1.0), "y": (0.5, 2.0)}


def proof(text, domain=DOMAIN, custom=None, **shape):
    e = Expression.parse(text, tuple(domain), custom)
    return prove(e, domain, Shape.of(shape).limits)


@pytest.fixture(scope="module")
def certificate():
    found = proof("log(x + 0.1)/(y - 0.4*x) + x**2*y", increasing=["x"], bounds=[-20, 20])
    assert found.proved
    return found.certificate()


def resealed(certificate):
    """A forger would not forget the checksum."""
    return {**certificate, "sha256": digest(certificate)}


# --- proofs --------------------------------------------------------------------------------------


def test_all_that_is_asked_is_proved():
    found = proof("x**2*y + 3", increasing=["x", "y"], convex=["x"], bounds=[0, 6])
    assert found.safe is True
    assert found.bounds == pytest.approx((3.0, 5.0), abs=1e-4)
    assert set(found.limits.values()) == {True}
    assert found.proved
    assert found.counterexample is None
    assert found.open_boxes == ()


def test_proved_bounds_hold_all_values_and_are_close():
    found = proof("x/(x + y + 0.1) + cos(3*x*y)")
    X = np.random.default_rng(0).uniform(0, 1, (20_000, 2)) * [1.0, 1.5] + [0.0, 0.5]
    values = found.expression.evaluate(X)[:, 0]
    low, high = found.bounds
    assert low <= values.min() < low + 0.03
    assert high - 0.03 < values.max() <= high


def test_what_is_not_safe_has_a_point():
    found = proof("log(x - 0.5)", increasing=["x"])
    assert found.safe is False
    assert found.bounds is None
    assert found.limits == {"increasing in x": None}
    assert found.counterexample["x"] <= 0.5
    assert found.sentences() == [
        "It is not safe: a unit is undefined, or the output not finite, at "
        f"x = {found.counterexample['x']:.6g}, y = {found.counterexample['y']:.6g}."
    ]


def test_a_broken_limit_has_a_point_and_does_not_hide_the_others():
    found = proof("x*(y - 0.6)", increasing=["x", "y"])
    assert found.safe is True
    assert found.limits == {"increasing in x": False, "increasing in y": True}
    assert found.counterexample["y"] < 0.6
    assert not found.proved
    assert any("increasing in x: it is NOT so, see" in line for line in found.sentences())


def test_what_is_open_has_boxes():
    """Nothing is proved about a kink."""
    found = proof("sqrt((x - 0.5)**2)", convex=["x"])
    assert found.limits == {"convex in x": None}
    assert any(box["x"][0] <= 0.5 <= box["x"][1] for box in found.open_boxes)


# --- certificates --------------------------------------------------------------------------------

CLAIMS = [
    ("3", {}),
    ("x**2*y + 3", {"increasing": ["x", "y"], "convex": ["x", "y"], "bounds": [0, 6]}),
    ("sqrt(x)*y", {"increasing": ["x", "y"], "concave": ["x"], "at": {"x": {0: 0}}}),
    ("sqrt(1 - x)", {"decreasing": ["x"], "concave": ["x"]}),
    ("1/(exp(3*x) - 3*x - 0.9)", {"decreasing": ["x"]}),
    ("x/(x + y + 0.1) + cos(3*x*y)", {"bounds": [-1, 2]}),
    ("x**2 - x*y + y**2", {"sign": "positive", "convex": ["x"]}),
    ("log(x + 0.01)*sin(y)", {"increasing": ["x"]}),
    ("x*exp(-x)", {"increasing": ["x"], "concave": ["x"]}),
    ("tanh(2*x)*y", {"increasing": ["x", "y"], "concave": ["x"], "bounds": [0, 2]}),
    ("logistic(4*x - 2) + atan(y)", {"increasing": ["x", "y"], "bounds": [0, 3]}),
    ("gauss(x) - gauss(y)", {"decreasing": ["x"], "increasing": ["y"]}),
    ("max(x, 0.5) + min(y, 1)", {"increasing": ["x", "y"], "bounds": [1, 2]}),
    ("max(3*x, x + y)", {"increasing": ["x", "y"]}),
    ("step(x - 0.3)*y", {"bounds": [0, 2], "increasing": ["y"]}),
    ("power(x + y, 1.5) - signed_power(y - 1, 3)", {"increasing": ["x"], "convex": ["x"]}),
    ("signed_power(x - 0.5, 0.5)", {"increasing": ["x"], "bounds": [-1, 1]}),
]


@pytest.mark.parametrize(("text", "shape"), CLAIMS)
def test_the_checker_finds_every_proof_again(text, shape):
    found = proof(text, **shape)
    assert found.proved
    said = check(json.loads(json.dumps(found.certificate())))
    for limit in Shape.of(shape).limits:
        words = limit.text.split(" at x")[0].split()[:2]
        assert any(all(word in line for word in words) for line in said)


def test_even_and_odd_are_checked_by_their_form():
    domain = {"x": (-1.0, 1.0), "y": (0.5, 2.0)}
    assert "the output is even in x" in check(proof("cos(x)*y", domain, even=["x"]).certificate())
    assert "the output is odd in x" in check(proof("x**3*y", domain, odd=["x"]).certificate())


def test_a_kink_and_a_jump_are_not_taken_for_smooth():
    """The second derivative of -max(x, 0.5) is zero wherever there is one; it is not convex."""
    for text in ("max(x, 0.5)", "-max(x, 0.5)"):
        assert proof(text, convex=["x"]).limits == {"convex in x": None}
    assert proof("-step(x - 0.5)", increasing=["x"]).limits["increasing in x"] is not True


@pytest.mark.parametrize(
    ("text", "kind", "holds"),
    [
        ("max(x, 0.5)", "convex", True),
        ("-1*max(x, 0.5)", "convex", False),
        ("min(x, 0.5)", "concave", True),
        ("step(x - 0.5)", "increasing", True),
        ("-1*step(x - 0.5)", "increasing", False),
        ("step(x - 0.5)", "convex", False),
    ],
)
def test_the_checker_knows_what_a_kink_and_a_jump_do_to_a_slope(text, kind, holds):
    """Whoever claims it: the checker does not rely on what was proved elsewhere."""
    form = proof(text).certificate()
    form["claims"].append({"kind": kind, "input": "x", "inputs": ["x"], "boxes": [[[0.0, 1.0]]]})
    if holds:
        assert f"the output is {kind} in x" in check(resealed(form))
    else:
        with pytest.raises(NotProvedError):
            check(resealed(form))


def test_a_removed_box_leaves_a_gap(certificate):
    forged = copy.deepcopy(certificate)
    claim = max(forged["claims"], key=lambda c: len(c["boxes"]))
    assert len(claim["boxes"]) > 1
    del claim["boxes"][len(claim["boxes"]) // 2]
    with pytest.raises(NotProvedError, match="do not cover the domain"):
        check(resealed(forged))


def test_a_wider_domain_is_not_covered(certificate):
    forged = copy.deepcopy(certificate)
    forged["domain"]["x"][1] = 1.01
    with pytest.raises(NotProvedError, match="do not cover the domain"):
        check(resealed(forged))


def test_a_changed_constant_is_another_equation(certificate):
    forged = copy.deepcopy(certificate)
    forged["expression"]["outputs"][0][2][0] *= 1 + 1e-12
    with pytest.raises(NotProvedError, match="changed after it was written"):
        check(forged)


def test_a_constant_that_breaks_a_claim_is_found_out(certificate):
    forged = copy.deepcopy(certificate)
    forged["expression"]["outputs"][0][2] = [-w for w in forged["expression"]["outputs"][0][2]]
    with pytest.raises(NotProvedError, match="is not shown in the box"):
        check(resealed(forged))


def test_a_removed_claim_about_a_unit_is_missed(certificate):
    forged = copy.deepcopy(certificate)
    forged["claims"] = [c for c in forged["claims"] if c["kind"] != "argument"]
    with pytest.raises(NotProvedError, match="nothing shows that 'log' in node 0 is defined"):
        check(resealed(forged))


def test_claims_rest_only_on_earlier_ones(certificate):
    """The distance from a pole must not be taken for granted by the claim that shows it."""
    forged = copy.deepcopy(certificate)
    forged["claims"].reverse()
    with pytest.raises(NotProvedError, match="nothing shows"):
        check(resealed(forged))


def test_an_invented_distance_is_found_out(certificate):
    forged = copy.deepcopy(certificate)
    forged["claims"][0]["distance"] = 5.0
    with pytest.raises(NotProvedError, match="'argument' is not shown"):
        check(resealed(forged))


def test_boxes_must_have_all_inputs_that_matter(certificate):
    forged = copy.deepcopy(certificate)
    claim = next(c for c in forged["claims"] if len(c["inputs"]) == 2)
    claim["inputs"] = claim["inputs"][:1]
    claim["boxes"] = [[list(forged["domain"]["x"])]]
    with pytest.raises(NotProvedError, match="leave out an input that matters"):
        check(resealed(forged))


def test_a_kink_needs_to_be_spoken_of():
    forged = proof("sqrt(x)*y", concave=["x"]).certificate()
    forged["claims"] = [c for c in forged["claims"] if not c["kind"].endswith("argument")
                        or c["kind"] == "argument"]  # fmt: skip
    with pytest.raises(NotProvedError, match="may have a kink"):
        check(resealed(forged))


@pytest.mark.parametrize("key", ["expression", "domain", "claims", "sha256", "kind"])
def test_what_is_no_certificate_is_refused_without_a_traceback(certificate, key):
    forged = {k: v for k, v in certificate.items() if k != key}
    with pytest.raises(NotProvedError):
        check(resealed(forged) if key != "sha256" else forged)


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_whatever_is_changed_nothing_untrue_is_proved(certificate, data):
    """One entry, anywhere, becomes something else; the checksum is made anew."""
    forged = copy.deepcopy(certificate)
    place = forged
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict)
                                        else range(len(place))))  # fmt: skip
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    strange = st.sampled_from([None, [], {}, "x", -1, 0, 10**400, 1e308, [[0, 1]], True])
    place[key] = data.draw(st.one_of(strange, st.floats(allow_nan=False, allow_infinity=False)))
    try:
        check(resealed(forged))
    except NotProvedError:
        return
    # What is proved nevertheless is true, of the equation and the domain that are there now.
    e = Expression.from_dict(forged["expression"])
    lower, upper = np.array([forged["domain"][name] for name in e.names], dtype=float).T
    share = np.random.default_rng(0).random((200, len(lower)))
    assert np.isfinite(e.evaluate(lower * (1 - share) + upper * share)).all()


# Of smaller numbers the checker's own bounds are too coarse to show what is true.
NOT_TINY = st.floats(-3, 3).filter(lambda c: c == 0.0 or abs(c) > 1e-100)


@settings(deadline=None, max_examples=40)
@given(
    expressions(n_inputs=2, max_units=5, names=("x", "y"), constants=NOT_TINY),
    st.sampled_from(["increasing", "decreasing", "convex", "concave"]),
)
def test_whatever_is_proved_is_checked(e, word):
    # What a fit finds has numbers as exponents; the checker knows no others.
    exponents = [a for n in e.nodes for k, a in enumerate(n.args) if n.unit.takes_number(k)]
    assume(all(a.is_constant for a in exponents))
    found = prove(e, DOMAIN, Shape.of({word: ["x"]}).limits, work=1e5)
    if found.safe and len(found.certificate()["claims"]) < 20:
        check(found.certificate())


def test_a_slope_too_small_for_a_float_is_not_taken_for_none():
    """The cosine falls, if only by 1e-617; it was proved to increase."""
    found = proof("cos(2e-309*x)", increasing=["x"])
    assert found.limits["increasing in x"] is not True


def test_of_a_unit_of_ones_own_there_is_no_certificate():
    cube = Unit(
        "cube", lambda z: z**3, lambda z: 3 * z**2, interval=lambda z: (z[0] ** 3, z[1] ** 3)
    )
    found = proof("cube(x) + y", custom={"cube": cube})
    assert found.safe is True
    with pytest.raises(IeqlError, match="does not know units of your own"):
        found.certificate()


def test_without_a_proof_there_is_no_certificate(tmp_path):
    with pytest.raises(IeqlError, match="not proved to be safe"):
        proof("log(x - 0.5)").save(tmp_path / "certificate.json")
    assert not list(tmp_path.iterdir())


def test_the_checker_needs_nothing_but_python(tmp_path):
    """It is run by path, without the packages of this one, on what `save` has written."""
    path, forged = tmp_path / "certificate.json", tmp_path / "forged.json"
    proof("log(x + 0.1)", increasing=["x"]).save(path)
    forged.write_text(path.read_text().replace("0.1", "0.2"))
    checker = Path(check_certificate.__file__)
    command = [sys.executable, "-I", "-S", str(checker)]
    result = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[1:] == [
        "  equation: u0 = log(0.1 + 1.0*x); output = 1.0*u0",
        "  domain: x from 0.0 to 1.0, y from 0.5 to 2.0",
        "  - every unit is defined, and the output finite, in the whole domain",
        *result.stdout.splitlines()[4:6],
        "  - the output is increasing in x",
    ]
    result = subprocess.run([*command, str(forged)], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "NOT proved: it was changed after it was written." in result.stdout
    result = subprocess.run([*command, "nowhere"], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "cannot be read" in result.stdout


def test_a_point_that_a_claim_leaves_out_is_found():
    """Boxes that meet at their corners alone cover nothing between them."""
    squares = [[(0.0, 1.0), (0.0, 1.0)], [(1.0, 2.0), (1.0, 2.0)]]
    assert not check_certificate.covers([(0.0, 2.0), (0.0, 2.0)], squares)
    rest = [[(0.0, 1.0), (1.0, 2.0)], [(1.0, 2.0), (0.0, 1.0)]]
    assert check_certificate.covers([(0.0, 2.0), (0.0, 2.0)], squares + rest)


def test_a_pinwheel_covers_though_no_line_parts_it():
    pinwheel = [
        [(0.0, 2.0), (0.0, 1.0)], [(2.0, 3.0), (0.0, 2.0)], [(1.0, 3.0), (2.0, 3.0)],
        [(0.0, 1.0), (1.0, 3.0)], [(1.0, 2.0), (1.0, 2.0)],
    ]  # fmt: skip
    assert check_certificate.covers([(0.0, 3.0)] * 2, pinwheel)
    assert not check_certificate.covers([(0.0, 3.0)] * 2, pinwheel[:-1])
