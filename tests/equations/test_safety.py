"""What is safe in the declared domain, and what is not."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.equations.expression import Expression
from ieql.equations.program import Program
from ieql.equations.safety import excess, is_safe, positive_denominators, worst_points
from ieql.units import Unit

NAMES = ("x", "y")
POINTS = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 500))
"""Points of the domain [-1, 1]², inputs × points."""


def parse(text, custom=None):
    return Expression.parse(text, NAMES, custom)


@pytest.mark.parametrize(
    "text",
    [
        "3",
        "2*x + y",
        "cos(5*x)*y**2",
        "1/(x + 2)",
        "log(x + 1.5)",
        "sqrt(x + 1)",
        "sqrt(x**2)",  # touches the edge, where a root is still finite
        "log(1/(x**2 + 1))",
        # A denominator from 0.1 to half a billion: far from zero where it is small, too. Once,
        # with the largest value as the measure, no Planck law ever reached the front.
        "1/(exp(10*x + 10.1) - 1)",
        "log(exp(9*x + 9.3) - 1)",
        # Proved positive: safe whatever its range.
        "1/exp(20*x)**2",
        "log(x + 1.0001)",
    ],
)
def test_safe(text):
    assert is_safe(parse(text), POINTS)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1/x", "the denominator changes its sign"),
        ("1/(x - 2)", "the denominator is negative: the paper keeps to the positive branch"),
        ("log(x + 0.5)", "the argument is negative at some points"),
        ("log(x**2)", "the argument comes close to zero"),
        ("1/(x**2)", "the denominator comes close to zero"),
        ("1/(exp(10*x + 9.98) - 1)", "the denominator changes its sign, if only just"),
        ("sqrt(x)", "the argument is negative at some points"),
        ("exp(1000*x)", "the value overflows"),
        ("1/(1 + 0*x) + log(0.001 + exp(-20*x - 20))*0 + 1/(y - 0.9)", "one bad unit is enough"),
    ],
)
def test_unsafe(text, why):
    assert not is_safe(parse(text), POINTS), why


WIDE = np.exp(np.random.default_rng(1).uniform(np.log(1e-9), np.log(1e9), (2, 500)))


@pytest.mark.parametrize(
    "text",
    ["log(x)", "20/x", "log(sqrt(x))", "log(x) - 0.5*log(y)", "1/sqrt(x*y)", "log(x/(x + y))"],
)
def test_an_argument_that_is_proved_positive_is_safe_over_any_number_of_decades(text):
    """Once log(x) over five decades was refused, and 2*log(sqrt(x)) was what came out."""
    assert is_safe(parse(text), WIDE)


@pytest.mark.parametrize(
    "z",
    [
        "x**2 + y**2",  # zero between the points
        "x**4 - 2*x**2*y + y**2",
    ],
)
@pytest.mark.parametrize(
    "text", ["log({z})", "log(sqrt({z}))", "1/sqrt({z})", "log(sqrt(sqrt({z})))", "y/(sqrt({z})*3)"]
)
def test_a_root_is_no_way_around_the_margin(z, text):
    expression = parse(text.format(z=z))
    near = np.concatenate([POINTS, [[1e-4], [2e-4]]], axis=1)
    assert is_safe(expression, near, margins=False)
    assert not is_safe(expression, near)


def test_a_root_alone_needs_no_margin():
    assert is_safe(parse("sqrt(x**2 + y**2)"), POINTS)
    assert is_safe(parse("log(sqrt(x**2) + 1)"), POINTS)


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.0, 4.0, 0.5), (-2.0, 4.0, 1.0), (0.0, 402.0, 100.0)]
)
def test_how_far_an_output_goes_is_counted_in_ranges_of_the_measured_values(low, high, expected):
    assert excess(low, high, np.array([0.0, 1.0, 4.0])) == pytest.approx(expected)


def test_a_target_without_a_range_is_no_reason_to_divide_by_zero():
    assert excess(3.0, 3.0, np.full(5, 3.0)) == 0.0


def test_a_single_bad_point_is_enough():
    expression = parse("log(x + 1.5)")
    bad = np.array([[-1.6], [0.0]])
    assert not is_safe(expression, np.concatenate([POINTS, bad], axis=1))


def test_the_output_must_stay_within_its_bounds():
    expression = parse("2*x + 1")
    assert is_safe(expression, POINTS, bounds=(-1.0, 3.0))
    assert not is_safe(expression, POINTS, bounds=(-0.9, 3.0))
    assert not is_safe(expression, POINTS, bounds=(-1.0, 2.9))


def test_the_compiled_form_may_be_handed_over():
    expression = parse("log(x + 1.5)")
    assert is_safe(expression, POINTS, Program.of(expression))


@pytest.mark.parametrize(
    ("domain", "safe", "unsafe"),
    [
        ((-1.0, 1.0), ["0.9*x", "0.5*x + 0.3"], ["1.2*x", "0.5*x - 0.7", "0.5*x + 0.7"]),
        ((-np.inf, 1.0), ["0.9*x", "9*x - 9"], ["1.2*x", "0.5*x + 0.7"]),
        ((-1.0, np.inf), ["0.9*x", "9*x + 9"], ["1.2*x", "0.5*x - 0.7"]),
        ((-np.inf, np.inf), ["0.9*x", "9*x - 9"], []),
    ],
)
def test_the_domain_of_a_users_own_unit_is_kept_on_both_sides(domain, safe, unsafe):
    """The unit itself is finite everywhere: only its declared domain tells."""
    bump = Unit("bump", np.sin, np.cos, domains=(domain,))
    for argument in safe:
        assert is_safe(parse(f"bump({argument})", {"bump": bump}), POINTS), argument
    for argument in unsafe:
        assert not is_safe(parse(f"bump({argument})", {"bump": bump}), POINTS), argument


def test_a_denominator_that_is_negative_everywhere_changes_sign_with_its_numerator():
    expression = parse("(x + 3)/(y - 2) + 1/(x + 2)")
    turned = positive_denominators(expression, POINTS.T)
    assert not is_safe(expression, POINTS)
    assert is_safe(turned, POINTS)
    np.testing.assert_allclose(turned.evaluate(POINTS.T), expression.evaluate(POINTS.T), rtol=1e-12)


def test_a_denominator_that_is_negative_somewhere_stays():
    expression = parse("1/(x - 0.5)")
    assert positive_denominators(expression, POINTS.T) == expression


def box(expression, points):
    return worst_points(expression, points, np.array([-1.0, -1.0]), np.array([1.0, 1.0]), seed=0)


@pytest.mark.parametrize(
    "text", ["1/((5*x - 1)**2 + 2*y + 1.97)", "log((5*x - 1)**2 + 2*y + 1.97)"]
)
def test_a_hole_between_the_points_is_found_by_looking_closer(text):
    """The argument is negative only in a sliver near the edge, which the points just miss."""
    expression = parse(text)
    z = expression.arguments(POINTS.T)[-1][-1]
    coarse = np.ascontiguousarray(POINTS[:, z > 0.05])
    assert is_safe(expression, coarse)
    assert not is_safe(expression, box(expression, coarse))


def test_an_upper_edge_is_looked_at_closer_too():
    bump = Unit("bump", np.sin, np.cos, domains=((-np.inf, 1.0),))
    expression = parse("bump(1.03 - (5*x - 1)**2 - (5*y - 1)**2)", {"bump": bump})
    z = expression.arguments(POINTS.T)[-1][0]
    coarse = np.ascontiguousarray(POINTS[:, z < 0.97])
    assert is_safe(expression, coarse)
    assert not is_safe(expression, box(expression, coarse))


def test_closer_points_stay_in_the_box_and_are_always_the_same():
    expression = parse("1/(x + y + 2.5)")
    found = box(expression, POINTS)
    assert found.shape[1] > 100
    assert np.all(np.abs(found) <= 1.0)
    np.testing.assert_array_equal(found, box(expression, POINTS))


def test_without_singular_units_there_is_nothing_to_look_at():
    assert box(parse("x**2 + exp(y)"), POINTS).shape == (2, 0)
