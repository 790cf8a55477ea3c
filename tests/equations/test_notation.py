"""What is decided once for all notations; how each writes it, is tested where it is defined."""

from __future__ import annotations

import pytest

from ieql.equations.expression import Expression, Node, Sum
from ieql.equations.notation import FormulaWriter, Rank, Term, signed
from ieql.equations.text import write
from ieql.errors import IeqlError
from ieql.export.latex import latex
from ieql.export.mathml import mathml
from ieql.units import DIV


class Lisp(FormulaWriter):
    """A language of one's own is a subclass; this one needs no brackets."""

    base = right = Rank.SUM
    has_bars = True
    shows_identity = False

    def number(self, value):
        return f"{value:g}"

    def multiple(self, number, form):
        return f"(* {number} {form})"

    def joined(self, terms):
        parts = [f"(- {t.text})" if t.is_negative else t.text for t in terms]
        return f"(+ {' '.join(parts)})" if len(parts) > 1 else parts[0]

    def brackets(self, form):
        return form

    def product(self, left, right):
        return f"(* {left} {right})"

    def quotient(self, above, below):
        return f"(/ {above} {below})"

    def power(self, base, exponent):
        return f"(expt {base} {self.joined([exponent])})"

    def absolute(self, form):
        return f"(abs {form})"

    def call(self, unit, args, exponent=None):
        return f"({unit.name} {' '.join(args)})"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2*x - y + 1", "(+ (* 2 x) (- y) 1)"),
        ("-3/(x + 1)", "(- (/ 3 (+ x 1)))"),
        ("cos(x)**2*identity(y)", "(* (expt (cos x) 2) y)"),
        ("x**-0.3", "(expt x (- 0.3))"),
        ("2*sqrt((x - y)**2)", "(* 2 (abs (+ x (- y))))"),
        ("sqrt(x**4)", "(sqrt (expt x 4))"),
    ],
)
def test_a_language_says_only_how_it_writes_the_pieces(text, expected):
    expression = Expression.parse(text, ["x", "y"])
    assert Lisp(expression, expression.names).sum(expression.outputs[0]) == expected


def test_signs_stand_before_the_first_and_between_the_others():
    assert signed([Term(True, "a"), Term(False, "b"), Term(True, "c")]) == ["-a", "+ b", "- c"]


def test_every_notation_leaves_out_what_is_zero_and_a_factor_of_one():
    x = Sum(0.0, (0,), (1.0,))
    twice = Node(DIV, (Sum(-2.0), x))  # as constants that were fitted may leave it
    expression = Expression(("x", "y"), (twice,), (Sum(0.0, (0, 1, 2), (-1.0, 0.0, 3.0)),))
    assert write(expression) == "-x - 6/x"
    assert latex(expression) == r"-x - \frac{6}{x}"
    assert ">y<" not in mathml(expression)


def test_numbers_of_few_digits_may_keep_them_all():
    expression = Expression.parse("123456.5*x + 0.1234567890123*y", ["x", "y"])
    assert write(expression, precision=3, longest=7) == "123456.5*x + 0.123*y"


@pytest.mark.parametrize("digits", ["a", 0, -3, 2.5, True, [1]])
@pytest.mark.parametrize("write", [lambda e, n: e.text(0, n), lambda e, n: latex(e, 0, n)])
def test_digits_are_a_whole_number(write, digits):
    with pytest.raises(IeqlError, match="digits must be a whole number of at least 1, not"):
        write(Expression.parse("2*x", ["x"]), digits)
