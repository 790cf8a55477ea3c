"""An equation as MathML, which browsers typeset by themselves; the twin of `latex`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from ieql.equations.expression import Expression
from ieql.equations.notation import FormulaWriter, Rank, Term
from ieql.export.latex import GREEK, SYMBOL
from ieql.export.numbers import decimal_text
from ieql.units import COS, SIN, Unit

__all__ = ["mathml", "mathml_name", "mathml_number", "mathml_pieces", "mathml_source"]

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
GREEK_LETTERS = dict(
    zip(
        GREEK.pattern.split("|"),
        "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ",
        strict=True,
    )
)
TIMES = '<mo lspace="0.12em" rspace="0.12em">⁢</mo>'
"""The invisible times, with a thin space: ``2 x``."""
WRITTEN_OUT = 999_999.5
"""Numbers below this are written without a power of ten."""
SHORT_SUM = 4
"""Terms of a sum that is written in one piece if they have a factor in common."""
APPLY = "<mo>⁡</mo>"
UNPRINTABLE = dict.fromkeys([*range(32), 127, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)], " ")
"""Characters that XML does not know."""


def mathml(
    expression: Expression,
    output: int = 0,
    precision: int | None = None,
    target: str | None = None,
) -> str:
    """MathML of one output of an expression: a whole ``<math>`` element.

    Parameters
    ----------
    expression : Expression
        The equation's right-hand side.
    output : int, default 0
        Which output to write.
    precision : int, optional
        Significant digits of the numbers; default: those that the equation has.
    target : str, optional
        Name of the left-hand side, written before an equals sign.

    Examples
    --------
    >>> mathml(Expression.parse("x**2", ["x"])).partition(">")[2]
    '<mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>'
    """
    writer = _Writer(expression, _names(expression.names), precision)
    left = "" if target is None else f"{mathml_name(target)}<mo>=</mo>"
    body = f"<mrow>{left}{_line(writer.whole(expression.outputs[output]))}</mrow>"
    spoken = _spoken(expression, output, precision, target)
    return f'<math xmlns="{NAMESPACE}" alttext="{spoken}">{body}</math>'


def mathml_pieces(
    expression: Expression,
    output: int = 0,
    precision: int | None = None,
    target: str | None = None,
) -> str:
    """The same for a place of any width: HTML with the left-hand side and each term on its own.

    Browsers do not break the lines of a ``<math>`` element, but between two of them they do. The
    whole is one formula with its text for those who do not see it. Parameters are those of
    `mathml`.
    """
    writer = _Writer(expression, _names(expression.names), precision)
    s = expression.outputs[output]
    # A bracket is not broken, so that a long sum goes without.
    terms = writer.whole(s) if len(s.sources) <= SHORT_SUM else writer.terms(s)
    pieces = [] if target is None else [f"{mathml_name(target)}<mo>=</mo>"]
    pieces += [_line([term], k == 0) for k, term in enumerate(terms)]
    forms = [f'<math displaystyle="true"><mrow>{piece}</mrow></math>' for piece in pieces]
    spoken = _spoken(expression, output, precision, target)
    whole = "<wbr/>".join(forms)
    return f'<span class="equation" role="math" aria-label="{spoken}">{whole}</span>'


def _spoken(expression: Expression, output: int, precision: int | None, target: str | None) -> str:
    text = expression.text(output, precision)
    return _clean(text if target is None else f"{target} = {text}")


def mathml_source(expression: Expression, source: int, precision: int | None = None) -> str:
    """One input or unit of an expression, by its source number, as a ``<math>`` element."""
    form = _Writer(expression, _names(expression.names), precision).forms[source].text
    return f'<math xmlns="{NAMESPACE}"><mrow>{form}</mrow></math>'


def mathml_name(name: str) -> str:
    """A column's name: a letter or Greek word with its index as a symbol, all others upright.

    >>> mathml_name("x1")
    '<msub><mi>x</mi><mn>1</mn></msub>'
    """
    match = SYMBOL.fullmatch(name)
    if not match:
        return _upright(name)
    letter, number, word = match.groups()
    symbol = f"<mi>{GREEK_LETTERS.get(letter, letter)}</mi>"
    if number:
        return f"<msub>{symbol}<mn>{number}</mn></msub>"
    if word:
        return f"<msub>{symbol}{_upright(word) if len(word) > 1 else f'<mi>{word}</mi>'}</msub>"
    return symbol


def mathml_number(value: float, precision: int | None = None) -> str:
    """A number without its sign, powers of ten as such; with all its digits or `precision`."""
    text = decimal_text(abs(value), precision)
    if text == "inf":
        return "<mi>∞</mi>"
    if "e+" in text and abs(value) < WRITTEN_OUT:
        text = f"{float(text):.0f}"  # 1100 rather than 1.1·10³
    digits, _, exponent = text.partition("e")
    if not exponent:
        return f"<mn>{digits}</mn>"
    size = int(exponent)
    power = f"<msup><mn>10</mn>{_signed(Term(size < 0, f'<mn>{abs(size)}</mn>'))}</msup>"
    return power if digits == "1" else f"<mn>{digits}</mn><mo>·</mo>{power}"


def _signed(number: Term) -> str:
    return f"<mrow><mo>−</mo>{number.text}</mrow>" if number.is_negative else number.text


def _clean(text: str) -> str:
    return escape(text.translate(UNPRINTABLE))


def _upright(name: str) -> str:
    return f'<mi mathvariant="normal">{_clean(name)}</mi>'


def _names(names: tuple[str, ...]) -> list[str]:
    """Names of all inputs; two that would look the same (x1, x_1) are written out."""
    symbols = [mathml_name(name) for name in names]
    counts = Counter(symbols)
    return [s if counts[s] == 1 else _upright(n) for s, n in zip(symbols, names, strict=True)]


def _line(terms: Sequence[Term], first: bool = True) -> str:
    text = ""
    for is_negative, form in terms:
        if not text and first:
            text = f'<mo form="prefix">−</mo>{form}' if is_negative else form
        else:
            text += f'<mo form="infix">{"−" if is_negative else "+"}</mo>{form}'
    return text


class _Writer(FormulaWriter):
    base, right = Rank.NAME, Rank.PRODUCT
    has_bars = True
    shows_identity = False
    raised_by_name = (COS, SIN)

    def number(self, value: float) -> str:
        exact = self.exact(value)
        if exact is not None:
            above = f"<mn>{exact.above}</mn>"
            if exact.has_pi:
                above = (
                    "<mi>π</mi>" if exact.above == 1 else f"<mrow>{above}{TIMES}<mi>π</mi></mrow>"
                )
            return above if exact.below == 1 else f"<mfrac>{above}<mn>{exact.below}</mn></mfrac>"
        return mathml_number(value, self.precision)

    def multiple(self, number: str, form: str) -> str:
        return f"{number}{TIMES}{form}"

    def joined(self, terms: Sequence[Term]) -> str:
        return f"<mrow>{_line(terms)}</mrow>"

    def brackets(self, form: str) -> str:
        return f"<mrow><mo>(</mo>{form}<mo>)</mo></mrow>"

    def product(self, left: str, right: str) -> str:
        return f"<mrow>{left}{TIMES}{right}</mrow>"

    def quotient(self, above: str, below: str) -> str:
        return f"<mfrac>{above}{below}</mfrac>"

    def power(self, base: str, exponent: Term) -> str:
        return f"<msup>{base}{_signed(exponent)}</msup>"

    def absolute(self, form: str) -> str:
        return f"<mrow><mo>|</mo>{form}<mo>|</mo></mrow>"

    def call(self, unit: Unit, args: Sequence[str], exponent: str | None = None) -> str:
        if "mathml" in unit.templates:
            return unit.templates["mathml"].format(*args)
        name = f"<mi>{_clean(unit.name)}</mi>"
        if exponent is not None:
            name = f"<msup>{name}{exponent}</msup>"
        return f"<mrow>{name}{APPLY}{self.brackets('<mo>,</mo>'.join(args))}</mrow>"
