"""What counts as written strangely: the examples that were seen, and their plain forms."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from ieql.equations.expression import Expression
from ieql.prior import Prior

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from ugliness import kind_of, ugliness, ugly_text, unordered_terms

NAMES = ("w", "x", "y", "z")


def rows(low=0.5, high=3.5, n=300, names=NAMES):
    return np.random.default_rng(0).uniform(low, high, (n, len(names)))


def kinds(text, low=0.5, high=3.5, names=NAMES, **options):
    expression = Expression.parse(text, names)
    return [kind_of(r) for r in ugliness(expression, rows(low, high, names=names), **options)]


def errors_of(text, known):
    """Standard errors of all constants, of which some are known."""
    return [known.get(c, 0.0) for c in Expression.parse(text, NAMES).constants().tolist()]


SEEN = [
    ("exp(3.2*x + 0.5*log(y))", "sqrt(y)*exp(3.2*x)", (0.5, 3.5)),
    ("-cos(4*x + 3.142)/(exp(0.5*x)/y)", "y*exp(-0.5*x)*cos(4*x)", (0.5, 3.5)),
    ("cos(3*x + 98.96)", "cos(3*x - 1.571)", (0, 5)),
    ("2028.3*cos(0.0231*x + 3.1418) + 2028.07", "0.541*x**2", (0, 10)),
    ("-24693*cos(0.00699*x) + 24688 + 0.3*x", "0.603*x**2 + 0.3*x - 5", (0, 30)),
    ("(sqrt(x + 741.7) - 27.23)**2", "0.000337*x**2", (0, 100)),
    ("9.81*x*y/z*w", "9.81*w*x*y/z", (0.5, 3.5)),
    ("3.983*log(sqrt(x))", "1.992*log(x)", (1, 5)),
    ("exp(-16*(x - 0.1)**2 - log(y))", "exp(-16*(x - 0.1)**2)/y", (0.5, 2)),
]


@pytest.mark.parametrize(("text", "plain", "span"), SEEN)
def test_what_was_seen_is_ugly_and_its_plain_form_is_not(text, plain, span):
    assert kinds(text, *span)
    assert kinds(plain, *span) == []


# --- the text ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x/y/z", "nested quotient"),
        ("x/(y/z)", "nested quotient"),
        ("x*(y/z)", "nested quotient"),
        ("x/y*z", "nested quotient"),
        ("cos(x/(y/z))", "nested quotient"),
        ("1/(2 + 3/x)", "nested quotient"),
        ("x*(1/y + 2)", "nested quotient"),
        ("(2*x)*(3*y)", "number inside a product"),
        ("x/(2*y)", "number inside a product"),
        ("x*(-y)", "number inside a product"),
        ("x*(y*z)", "product in a product"),
        ("cos(2*x)*(y*z)", "product in a product"),
        ("x*x", "repeated factor"),
        ("x**2*x", "repeated factor"),
        ("x/x**3", "repeated factor"),
        ("x*sqrt(x)", "repeated factor"),
        ("x*y/(z*x)", "repeated factor"),
        ("(x**2)**2", "repeated factor"),
        ("sqrt(x)**2", "root and square"),
        ("(3*sqrt(x))**2", "root and square"),
        ("sqrt(x**2)", "root and square"),
        ("sqrt(4*x**2)", "root and square"),
        ("log(sqrt(x))", "log of a power"),
        ("log(x**2)", "log of a power"),
        ("log(3*x)", "log of a power"),
        ("log(1/x)", "log of a power"),
        ("log(exp(x))", "log of a power"),
        ("exp(x - 2*log(y))", "exp of a log"),
        ("exp(log(x))", "exp of a log"),
        ("exp(2*x)*exp(y)", "split exponential"),
        ("x/exp(y)", "split exponential"),
        ("exp(y)**2", "split exponential"),
        ("sqrt(3*exp(y))", "split exponential"),
        ("exp(y)*x", "product out of order"),
        ("(x + 1)*y", "product out of order"),
        ("sqrt(x + 1)*y", "product out of order"),
        ("x*(1/sqrt(y))", "nested quotient"),
    ],
)
def test_a_text_is_ugly_for_this_reason_alone(text, kind):
    assert [kind_of(r) for r in ugly_text(text)] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "x**3",
        "2*x*y/z",
        "x/(y*z)",
        "-2.5*x**1.37*y**-0.4*cos(3*x)/(z + 1)",
        "1/(1/x + 1/y)",
        "y/(2/x**2 + 1)",
        "(x/y)**2",
        "sqrt(x/y)",
        "log(x/y)",
        "log(x*y)",
        "log(2*x + 1)",
        "exp(x*log(y))",
        "1/(exp(x) - 1)",
        "2*sqrt(x)*y**0.66/z",
        "2*(x*y)**2*z",
        "exp(-2.1*(x - 0.3)**2)",
        "sqrt(x**2 + y**2)",
        "1e-05*x",
    ],
)
def test_a_plain_text_is_not(text):
    assert ugly_text(text) == []


def test_what_the_prior_prohibits_is_not_the_plain_form():
    """Gompertz's law is exp(-4*exp(-t)); where exp(exp) is prohibited, a square must do."""
    gompertz, power = "exp(-4.1*exp(-0.17*t)**2)", "exp(-0.17*t)**2"
    default, free = Prior(), Prior(prohibit=())
    assert [kind_of(r) for r in ugly_text(gompertz, free)] == ["split exponential"]
    assert ugly_text(gompertz, default) == []
    assert [kind_of(r) for r in ugly_text(power, default)] == ["split exponential"]


def test_what_is_ugly_in_brackets_is_counted_once():
    found = [kind_of(r) for r in ugly_text("x*(y**2*y)/z")]
    assert found == ["product in a product", "repeated factor"]


def test_names_that_python_does_not_know_are_read_and_shown():
    (reason,) = ugly_text("lambda*lambda/`n [1/min]`")
    assert reason == "repeated factor: lambda*lambda/`n [1/min]`"


def test_a_long_place_is_cut_after_its_names_are_written():
    name = "`temperature of the oil`"
    (reason,) = ugly_text(f"{name}*{name}/(2.5 + `pressure of the oil before the filter`)")
    assert reason.startswith(f"repeated factor: {name}*{name}")
    assert len(reason) == 90


def test_the_order_of_terms_is_told_apart():
    ordered = "x**2 + x*y + x + y + exp(x) + 3"
    assert unordered_terms(Expression.parse(ordered, NAMES)) == []
    for text in ("x + x**2", "y + x", "exp(x) + x", "cos(y + x)"):
        assert len(unordered_terms(Expression.parse(text, NAMES))) == 1


# --- the constants -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"cos(2*x + {math.pi})", "phase that is a sign"),
        (f"sin(2*x - {math.pi})", "phase that is a sign"),
        (f"cos(2*x - {math.pi / 2})", "phase that is a quarter turn"),
        (f"sin(2*x + {math.pi / 2})", "phase that is a quarter turn"),
        ("cos(2*x + 3.3)", "phase beyond half a turn"),
        ("cos(-2*x + 1)", "negative argument of a wave"),
        ("sin(-2*x - y)", "negative argument of a wave"),
    ],
)
def test_a_wave_is_ugly_for_this_reason_alone(text, kind):
    assert kinds(text) == [kind]


def test_waves_with_a_phase_of_their_own_are_plain():
    assert kinds("1.3*cos(2*x - 1.2) + sin(-2*x + 3*y)") == []


def test_a_phase_means_what_it_is_within_its_error():
    text = "cos(2*x + 3.13)"
    assert kinds(text, standard_errors=errors_of(text, {3.13: 0.001})) == []
    assert kinds(text, standard_errors=errors_of(text, {3.13: 0.01})) == ["phase that is a sign"]
    assert kinds(text, standard_errors=errors_of(text, {3.13: 0.5})) == []  # it may be anything


def test_an_exponent_means_a_simple_one_if_its_error_is_small():
    nearly = ["exponent 0.995 that is nearly simple"]
    text = "x**0.995*y"
    assert kinds(text, standard_errors=errors_of(text, {0.995: 0.004})) == nearly
    assert kinds(text, standard_errors=errors_of(text, {0.995: 0.001})) == []
    assert kinds(text, standard_errors=errors_of(text, {0.995: 0.2})) == []
    assert kinds("x**0.75*y", standard_errors=errors_of("x**0.75*y", {0.75: 0.004})) == []
    text = "x**0.334"
    assert kinds(text, standard_errors=errors_of(text, {0.334: 0.002})) == [
        "exponent 0.334 that is nearly simple"
    ]


# --- the rows ------------------------------------------------------------------------------------


def test_terms_cancel_if_a_unit_is_large_against_what_is_left():
    assert "large terms that cancel" in kinds("900*exp(0.01*x) - 899")
    assert kinds("9.81*x - 2680", 270, 275) == []  # a line far from zero
    assert kinds("3*cos(2*x) + 1000") == []  # nothing cancels


def test_a_curve_of_which_nothing_is_seen_is_a_line_or_a_parabola():
    assert kinds("3*cos(0.05*x + 1) + y") == ["cos that is a parabola on the rows"]
    assert kinds("3*exp(0.001*x)") == ["exp that is a line on the rows"]
    assert kinds("y/(x + 900)") == ["div that is a line on the rows"]
    # A parabola in the place of the quotient would have three constants, all times (2 - y).
    assert kinds("5 + (2 - y)/(x + 15)") == []
    assert kinds("3*exp(-0.7*x) + 2") == []
    assert kinds("3*cos(2*x + 1)") == []


def test_noise_hides_a_bend():
    text = "3*exp(-0.4*x) + 2"
    assert kinds(text) == []
    assert kinds(text, noise=0.5) == ["exp that is a parabola on the rows"]
    far = rows(0, 30)
    assert kinds(text, noise=0.5, domain=far) == []  # but not where it is to hold


def test_a_unit_with_as_few_constants_as_a_line_stays():
    assert kinds("3*log(x)", 10, 10.2) == []
    assert kinds("3*sqrt(x)", 10, 10.2) == []
    assert kinds("3*y/x", 10, 10.2) == []


@pytest.mark.parametrize("text", ["2*x**(2/3)", "x**(-7/3) + y/3", "2*pi*x*cos(pi*y/2)"])
def test_fractions_and_multiples_of_pi_are_numbers(text):
    """An exponent of 7/3 ended the measurement of a whole problem."""
    assert ugly_text(text) == []
