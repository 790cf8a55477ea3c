"""An equation as MathML, which browsers typeset by themselves; the twin of `latex`."""

from __future__ import annotations

from collections import Counter
from html import escape

from ieql.equations.expression import Expression, Node, Sum
from ieql.equations.text import MAX_CHARACTERS
from ieql.errors import IeqlError
from ieql.export.latex import GREEK, SYMBOL
from ieql.export.numbers import decimal_text

__all__ = ["mathml", "mathml_name", "mathml_number", "mathml_source"]

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
APPLY = "<mo>⁡</mo>"
UNPRINTABLE = dict.fromkeys([*range(32), 127, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)], " ")
"""Characters that XML does not know."""


def mathml(
    expression: Expression,
    output: int = 0,
    precision: int | None = None,
    target: str | None = None,
    width: int | None = None,
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
    width : int, optional
        Break the sum into lines of about so many characters; browsers do not do it by themselves.

    Examples
    --------
    >>> mathml(Expression.parse("x**2", ["x"])).partition(">")[2]
    '<mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>'
    """
    writer = _Writer(expression, precision)
    terms = writer.terms(expression.outputs[output])
    left = "" if target is None else f"{mathml_name(target)}<mo>=</mo>"
    lines = _lines(terms, width)
    if len(lines) == 1:
        body = f"<mrow>{left}{_joined(lines[0])}</mrow>"
    else:
        rows = [
            f"<mtr><mtd>{left if k == 0 else ''}</mtd><mtd>{_joined(line, k == 0)}</mtd></mtr>"
            for k, line in enumerate(lines)
        ]
        body = f'<mtable displaystyle="true">{"".join(rows)}</mtable>'
    text = expression.text(output, precision)
    spoken = _clean(text if target is None else f"{target} = {text}")
    return f'<math xmlns="{NAMESPACE}" alttext="{spoken}">{body}</math>'


def mathml_source(expression: Expression, source: int, precision: int | None = None) -> str:
    """One input or unit of an expression, by its source number, as a ``<math>`` element."""
    writer = _Writer(expression, precision)
    return f'<math xmlns="{NAMESPACE}"><mrow>{writer.forms[source]}</mrow></math>'


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
    power = f"<msup><mn>10</mn>{_signed(int(exponent))}</msup>"
    return power if digits == "1" else f"<mn>{digits}</mn><mo>·</mo>{power}"


def _signed(exponent: float, precision: int | None = None) -> str:
    number = mathml_number(exponent, precision)
    return number if exponent >= 0 else f"<mrow><mo>−</mo>{number}</mrow>"


def _clean(text: str) -> str:
    return escape(text.translate(UNPRINTABLE))


def _upright(name: str) -> str:
    return f'<mi mathvariant="normal">{_clean(name)}</mi>'


def _names(names: tuple[str, ...]) -> list[str]:
    """Names of all inputs; two that would look the same (x1, x_1) are written out."""
    symbols = [mathml_name(name) for name in names]
    counts = Counter(symbols)
    return [s if counts[s] == 1 else _upright(n) for s, n in zip(symbols, names, strict=True)]


Term = tuple[bool, str, int]
"""Whether it is subtracted, its MathML, and about how many characters wide it is."""


def _lines(terms: list[Term], width: int | None) -> list[list[Term]]:
    lines: list[list[Term]] = [[]]
    used = 0
    for term in terms:
        if width is not None and lines[-1] and used + term[2] > width:
            lines.append([])
            used = 0
        lines[-1].append(term)
        used += term[2] + 3
    return lines


def _joined(terms: list[Term], first: bool = True) -> str:
    text = ""
    for negative, form, _ in terms:
        if not text and first:
            text = f'<mo form="prefix">−</mo>{form}' if negative else form
        else:
            text += f'<mo form="infix">{"−" if negative else "+"}</mo>{form}'
    return text


def _brackets(form: str) -> str:
    return f"<mrow><mo>(</mo>{form}<mo>)</mo></mrow>"


class _Writer:
    def __init__(self, expression: Expression, precision: int | None) -> None:
        self.precision = precision
        self.expression = expression
        self.forms = _names(expression.names)
        self.widths = [max(1, len(name)) for name in expression.names]
        self.nodes: list[Node | None] = [None] * len(expression.names)
        for node in expression.nodes:
            self.forms.append(self.application(node))
            self.widths.append(self.width(node))
            self.nodes.append(node)
            if len(self.forms[-1]) > MAX_CHARACTERS:
                raise IeqlError(f"The equation is longer than {MAX_CHARACTERS} characters.")

    def number(self, value: float) -> str:
        return mathml_number(value, self.precision)

    def room(self, value: float) -> int:
        return 1 + len(decimal_text(abs(value), self.precision))

    def width(self, node: Node) -> int:
        parts = [sum(t[2] + 3 for t in self.terms(a)) for a in node.args]
        return max(parts) if node.unit.name == "div" else sum(parts) + 4

    def sum(self, s: Sum) -> str:
        return f"<mrow>{_joined(self.terms(s))}</mrow>"

    def terms(self, s: Sum) -> list[Term]:
        terms = [self.term(i, w) for i, w in zip(s.sources, s.weights, strict=True) if w != 0.0]
        if s.bias != 0.0 or not terms:
            terms.append((s.bias < 0.0, self.number(s.bias), self.room(s.bias)))
        return terms

    def term(self, source: int, weight: float) -> Term:
        node = self.nodes[source]
        wide = self.widths[source] + self.room(weight)
        if node is not None and node.unit.name == "div" and node.args[0].is_constant:
            # c · 1/z is written as one fraction, with the sign in front of it.
            value = weight * node.args[0].bias
            fraction = f"<mfrac><mrow>{self.number(value)}</mrow>{self.sum(node.args[1])}</mfrac>"
            return value < 0.0, fraction, wide
        number = self.number(weight)
        if number == "<mn>1</mn>":
            return weight < 0.0, self.forms[source], self.widths[source] + 1
        return weight < 0.0, f"{number}{TIMES}{self.forms[source]}", wide

    def application(self, node: Node) -> str:
        name, args = node.unit.name, node.args
        if name == "square":
            return self.square(args[0])
        if name == "mul":
            return f"<mrow>{self.factor(args[0])}{TIMES}{self.factor(args[1])}</mrow>"
        if name == "identity":
            return self.factor(args[0])
        if name == "div":
            return f"<mfrac>{self.sum(args[0])}{self.sum(args[1])}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self.sum(args[0])}</msqrt>"
        power = self.expression.power(node)
        if power is not None:
            base, exponent = power
            return f"<msup>{self.base(base)}{_signed(exponent, self.precision)}</msup>"
        inner = "<mo>,</mo>".join(self.sum(a) for a in args)
        return f"<mrow><mi>{_clean(name)}</mi>{APPLY}{_brackets(inner)}</mrow>"

    def factor(self, s: Sum) -> str:
        """An argument of a product: in brackets, unless it is a single source."""
        return self.forms[s.sources[0]] if s.is_bare else _brackets(self.sum(s))

    def base(self, s: Sum) -> str:
        """What is raised to a power: in brackets, unless it is an input."""
        is_input = s.is_bare and self.nodes[s.sources[0]] is None
        return self.forms[s.sources[0]] if is_input else _brackets(self.sum(s))

    def square(self, s: Sum) -> str:
        node = self.nodes[s.sources[0]] if s.is_bare else None
        if node is not None and node.unit.name in ("cos", "sin"):
            function = f"<msup><mi>{node.unit.name}</mi><mn>2</mn></msup>"
            return f"<mrow>{function}{APPLY}{_brackets(self.sum(node.args[0]))}</mrow>"
        return f"<msup>{self.base(s)}<mn>2</mn></msup>"
