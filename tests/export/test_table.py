"""Lookup tables in C keep to the error that they state."""

from __future__ import annotations

import re

import numpy as np
import pytest

from compiling import loop, misra, needs_compiler, needs_cppcheck
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.export.functions import Equation
from ieql.export.origin import Origin
from ieql.export.table import table_code

NAMES = ["n", "load", "k"]
DOMAIN = {"n": (-2.0, 6.0), "load": (0.1, 1.0), "k": (0.0, 3.0)}


def equation(text):
    return Equation("f", Expression.parse(text, NAMES))


def stated(code):
    words = re.sub(r"\n \*\s+", " ", code)
    return float(re.search(r"from the equation by at most (\S+)\. ", words)[1])


@needs_compiler
@pytest.mark.parametrize(
    ("text", "tolerance"),
    [
        ("3*load**2 + 5", None),
        ("2.5*exp(-0.3*n) + load*n", 1e-2),
        ("n/(load + 0.5) + cos(k)", 2e-2),
    ],
)
@pytest.mark.parametrize("real", ["double", "float"])
def test_the_error_is_within_its_bound(tmp_path, text, tolerance, real):
    one = equation(text)
    code = table_code([one], domain=DOMAIN, tolerance=tolerance, real=real)
    used = [NAMES.index(name) for name in one.expression.inputs_used]
    function = loop(code, "ieql_f", len(used), real, tmp_path)
    low, high = np.array(list(DOMAIN.values())).T
    rng = np.random.default_rng(0)
    X = low + (high - low) * rng.random((20_000, 3))
    X[:8] = [[DOMAIN[n][b >> i & 1] for i, n in enumerate(NAMES)] for b in range(8)]
    worst = np.abs(function(X[:, used]) - one.expression.evaluate(X)[:, 0]).max()
    bound = stated(code)
    assert tolerance is None or bound <= tolerance
    assert 0.3 * bound < worst <= bound + (1e-5 if real == "float" else 0.0)
    outside = function(np.array([[1e9] * len(used), [-np.inf] * len(used), [np.nan] * len(used)]))
    ends = one.expression.evaluate(np.array([high, low, low]))[:, 0]
    np.testing.assert_allclose(outside, ends, atol=1e-5)


def test_the_error_of_the_equation_decides_how_fine_the_table_is():
    one = equation("3*load**2 + 5")
    by_range = stated(table_code([one], domain=DOMAIN))
    assert by_range <= 1e-3 * 2.97
    rough = table_code([one], domain=DOMAIN, origin=Origin(errors={"f": 1.0}))
    assert by_range < stated(rough) <= 0.1
    straight = table_code([equation("2*n + 3*load")], domain=DOMAIN)
    assert "between 2 x 2 values (32 bytes)" in straight


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "load**2",
            {"tolerance": 1e-12},
            r"^A lookup table of 'f' with an error below 1e-12 needs",
        ),
        ("load**2", {"tolerance": -1}, r"^tolerance must be a positive number, not -1\.$"),
        ("2.5", {}, r"^A lookup table is for one to 3 inputs; the equation of 'f' has 0"),
        ("sqrt(n + 2)", {}, r"the curvature of 'f' in 'n' is not proved to be bounded"),
        ("1/n", {}, r"the curvature of 'f' in 'n' is not proved to be bounded"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(text, options, message):
    with pytest.raises(IeqlError, match=message):
        table_code([equation(text)], domain=DOMAIN, **options)


@needs_cppcheck
def test_misra(tmp_path):
    code = table_code([equation("n/(load + 0.5)")], domain=DOMAIN)
    assert misra(code, tmp_path) == set()
