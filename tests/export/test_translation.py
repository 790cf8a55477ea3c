"""From a unit's form in C to its form in other languages."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ieql.errors import IeqlError
from ieql.export import differentiable, excel, javascript, matlab, modelica, rust
from ieql.export.translation import holds_together, template
from ieql.units import UNITS, Unit

LANGUAGES = [
    javascript.LANGUAGE,
    rust.LANGUAGE,
    matlab.LANGUAGE,
    modelica.LANGUAGE,
    excel.LANGUAGE,
    differentiable._JAX.language,
    differentiable._TORCH.language,
]


def own(**forms):
    return Unit("own", np.tanh, lambda z: 1 - np.tanh(z) ** 2, **forms)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
@pytest.mark.parametrize("row", UNITS.values(), ids=lambda row: row.name)
def test_every_unit_has_a_form_in_every_language(row, language):
    form = template(row, language).format(*("first", "second")[: row.arity])
    assert {"first", "second"} & set(re.findall(r"\w+", form)) == set(
        ("first", "second")[: row.arity]
    )


def test_conditions_and_brackets():
    unit = own(c="({0} < 0 || {0} >= 1) && !({0} == 0.5) ? -{0} * ({0} - 2) : INFINITY")
    assert template(unit, rust.LANGUAGE) == (
        "(if ((({0}) < 0.0) || (({0}) >= 1.0)) && (!(({0}) == 0.5)) {{ (-({0})) * (({0}) - 2.0) }}"
        " else {{ f64::INFINITY }})"
    )
    assert template(unit, excel.LANGUAGE) == (
        "IF(((({0}) < 0) + (({0}) >= 1)) * (1-(({0}) = 0.5)),(-({0})) * (({0}) - 2),NA())"
    )


def test_operations_keep_their_order():
    assert template(own(c="1 - {0} - 2*{0}/3"), javascript.LANGUAGE) == (
        "((1.0 - ({0})) - ((2.0 * ({0})) / 3.0))"
    )


def test_a_form_of_ones_own_goes_first():
    unit = own(c="tanh({0})", templates={"rust": "fast_tanh({0})"})
    assert template(unit, rust.LANGUAGE) == "fast_tanh({0})"
    assert template(unit, javascript.LANGUAGE) == "Math.tanh({0})"


@pytest.mark.parametrize(
    "code",
    [
        "erfc({0})",  # no such function
        "1/2*{0}",  # in C that is zero
        "(float)({0})",
        "{0} = 2",
        "{0} +",
        "sin({0}, {0}",
        "({0})[0]",
        "tanh + {0}",
        "{0} ? 1",
        "# {0}",
    ],
)
def test_what_cannot_be_translated_is_asked_for(code):
    sentence = r"^The unit 'own' has no form in JavaScript; define it with one, such as Unit\('own'"
    with pytest.raises(IeqlError, match=sentence):
        template(own(c=code), javascript.LANGUAGE)


def test_what_holds_together():
    assert holds_together("f(a)(b)") is False
    assert holds_together("f64::ln(a + (b))")
    assert holds_together("(a) * (b)") is False
    assert holds_together("(a * (b))")
    assert holds_together("a") is False
