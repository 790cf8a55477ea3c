"""The registry of export formats."""

from __future__ import annotations

import pytest

from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.export import formats
from ieql.export.formats import Equation, Format, all_formats, find_format, register_format

EQUATIONS = [
    Equation("torque", Expression.parse("1.0000001*speed + 0.123456", ["speed", "load"])),
    Equation("power", Expression.parse("3*load**2", ["speed", "load"])),
]


@pytest.fixture
def registry(monkeypatch):
    """A copy of the registry, so that what a test adds is gone afterwards."""
    monkeypatch.setattr(formats, "_FORMATS", dict(formats._FORMATS))


def count_terms(equations, domain, digits=None):
    return "".join(f"{e.target}: {e.expression.n_parameters}\n" for e in equations)


def test_formats_for_the_reader_have_a_line_per_equation():
    assert find_format("text")(EQUATIONS) == "1.0000001*speed + 0.123456\n3*load**2\n"
    assert find_format("text")(EQUATIONS, digits=3) == "speed + 0.123\n3*load**2\n"
    assert find_format("sympy")(EQUATIONS[1:]) == "3.0*load**2\n"
    assert find_format("latex")(EQUATIONS[1:]) == "3 \\, \\mathrm{load}^{2}\n"


def test_formats_for_programs_hold_all_outputs_and_the_domain():
    code = find_format("c")(EQUATIONS, {"load": (0, 2)}, real="float", name="motor")
    assert "float motor_torque(float speed)" in code
    assert "float motor_power(float load)" in code
    assert "load: column 'load', from 0 to 2" in code
    assert "def torque(speed):" in find_format("python")(EQUATIONS)


def test_every_format_says_what_it_is():
    for name, format in all_formats().items():
        assert format.name == name
        assert format.sentence.endswith(".")
        assert format.suffix.startswith(".")
        assert isinstance(format(EQUATIONS), str | bytes)


def test_a_format_of_ones_own_is_found_like_the_others(registry):
    own = register_format(Format("terms", "Counts.", ".txt", count_terms, ("digits",)))
    assert find_format("terms") is own
    assert list(all_formats())[-1] == "terms"
    assert own(EQUATIONS, digits=2) == "torque: 1\npower: 2\n"
    with pytest.raises(IeqlError, match=r"^There is already a format 'c'; choose another name\.$"):
        register_format(Format("c", "Another.", ".c", count_terms))
    with pytest.raises(IeqlError, match=r"latex and terms\. Did you mean 'terms'\?$"):
        find_format("term")


def test_an_option_that_a_format_does_not_take_is_refused():
    with pytest.raises(IeqlError, match=r"^The format 'latex' takes no 'real'; it is for 'c'\.$"):
        find_format("latex")(EQUATIONS, real="float")
    with pytest.raises(IeqlError, match=r"^The format 'c' takes no 'colour'\.$"):
        find_format("c")(EQUATIONS, colour="red")


@pytest.mark.parametrize("name", ["fortran", 3, None, [1], {}, "x" * 100_000])
def test_what_is_no_format_is_refused_in_a_sentence(name):
    with pytest.raises(IeqlError, match=r"There is no format .*; the choices are text, c") as said:
        find_format(name)
    assert len(str(said.value)) < 300
