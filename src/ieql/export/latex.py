r"""An equation as LaTeX, written for the reader: ``0.5 \, x_{1}^{2} + \frac{3}{I_{D}}``.

A long one may be printed as the paper prints its own: parts that come more than once get a name,
``z_{1} = …``, and a line of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from ieql.equations.expression import Expression, Node, Sum
from ieql.equations.text import MAX_CHARACTERS
from ieql.errors import IeqlError
from ieql.export.names import printable
from ieql.export.numbers import decimal_text

__all__ = ["latex", "latex_name"]

GREEK = re.compile(
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|"
    "upsilon|phi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega"
)
SPECIAL = {c: f"\\{c}" for c in "#$%&_{} "} | {
    "\\": r"\backslash{}",
    "^": r"\wedge{}",
    "~": r"\sim{}",
    "-": "{-}",  # a hyphen, not a minus with its spaces
}
SYMBOL = re.compile(rf"([A-Za-z]|{GREEK.pattern})(?:_?([0-9]+)|_([A-Za-z0-9]+))?")
TIMES = r" \, "
LONG_PART = 160
"""Characters from which on a part has a line of its own, even if it comes once."""
LETTERS = ("z", "u", "v", "w", "s", r"\zeta", r"\xi", r"\eta")


def latex(
    expression: Expression,
    output: int = 0,
    precision: int | None = None,
    target: str | None = None,
    substitutions: bool = False,
) -> str:
    r"""LaTeX of one output of an expression, to stand in math mode.

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
    substitutions : bool, default False
        Give a name to parts that come more than once, if that makes the text shorter, and to very
        long ones; they and the equation are the lines of an ``aligned`` environment.

    Examples
    --------
    >>> print(latex(Expression.parse("2*x1**2 - 1e-5/I_D", ["x1", "I_D"]), target="y"))
    y = 2 \, x_{1}^{2} - \frac{10^{-5}}{I_{D}}
    """
    left = "" if target is None else latex_name(target)
    counts = _uses(expression, output) if substitutions else {}
    writer = _Writer(expression, precision, counts, left)
    right = writer.sum(expression.outputs[output])
    if not writer.lines:
        return f"{left} = {right}" if left else right
    lines = [*writer.lines, f"{left} &= {right}" if left else f"& {right}"]
    return "\n".join([r"\begin{aligned}", " \\\\\n".join(lines), r"\end{aligned}"])


def latex_name(name: str) -> str:
    r"""A column's name: a letter or Greek word with its index as a symbol, all others upright.

    >>> print(latex_name("x1"), latex_name("alpha_max"), latex_name("n [1/min]"))
    x_{1} \alpha_{\mathrm{max}} \mathrm{n\ [1/min]}
    """
    match = SYMBOL.fullmatch(name)
    if not match:
        return _upright(name)
    letter, number, word = match.groups()
    symbol = f"\\{letter}" if GREEK.fullmatch(letter) else letter
    if number:
        return f"{symbol}_{{{number}}}"
    if word:
        return f"{symbol}_{{{word if len(word) == 1 else _upright(word)}}}"
    return symbol


def _upright(name: str) -> str:
    plain = re.sub(r"\s", " ", name)
    return rf"\mathrm{{{''.join(SPECIAL.get(c) or printable(c) for c in plain)}}}"


def _names(names: tuple[str, ...]) -> list[str]:
    """Names of all inputs; two that would look the same (x1, x_1) are written out."""
    symbols = [latex_name(name) for name in names]
    counts = Counter(symbols)
    return [s if counts[s] == 1 else _upright(n) for s, n in zip(symbols, names, strict=True)]


def _uses(expression: Expression, output: int) -> dict[int, int]:
    """How often the text of an output mentions each unit that it needs."""
    d = len(expression.names)
    counts: Counter[int] = Counter(expression.outputs[output].sources)
    for source in reversed(range(d, d + len(expression.nodes))):
        if counts[source]:
            node = expression.nodes[source - d]
            power = expression.power(node)
            args = node.args if power is None else (power[0],)
            counts.update(i for a in args for i in a.sources)
    return {i: n for i, n in counts.items() if i >= d}


class _Writer:
    """Texts of all units; those in `counts`, with their number of uses, may get a name."""

    def __init__(
        self,
        expression: Expression,
        precision: int | None,
        counts: Mapping[int, int] | None = None,
        left: str = "",
    ) -> None:
        self.precision = precision
        self.expression = expression
        self.texts = _names(expression.names)
        self.lines: list[str] = []
        used = {text.partition("_")[0] for text in (*self.texts, left)}
        self.letter = next((c for c in LETTERS if c not in used), r"\mathcal{Z}")
        # A part with a name is like an input: there is no unit to look into.
        self.nodes: list[Node | None] = [None] * len(expression.names)
        for source, node in enumerate(expression.nodes, start=len(expression.names)):
            self.texts.append(self.application(node))
            self.nodes.append(node)
            if len(self.texts[-1]) > MAX_CHARACTERS:
                raise IeqlError(f"The equation is longer than {MAX_CHARACTERS} characters.")
            if counts and self.deserves_name(source, counts.get(source, 0)):
                self.name(source)

    def deserves_name(self, source: int, uses: int) -> bool:
        length, name = len(self.texts[source]), len(self.next_name())
        line = length + len(" &=  \\\\\n") + name
        shorter = uses > 1 and line + uses * name < uses * length
        whole = any(s.is_bare and s.sources[0] == source for s in self.expression.outputs)
        return shorter or (uses == 1 and length > LONG_PART and not whole)

    def next_name(self) -> str:
        return f"{self.letter}_{{{len(self.lines) + 1}}}"

    def name(self, source: int) -> None:
        name = self.next_name()
        self.lines.append(f"{name} &= {self.texts[source]}")
        self.texts[source] = name
        self.nodes[source] = None

    def number(self, value: float) -> str:
        text = decimal_text(value, self.precision)
        if text.endswith("inf"):
            return text.replace("inf", r"\infty")
        if text == "nan":
            return r"\mathrm{nan}"
        digits, _, exponent = text.partition("e")
        if not exponent:
            return digits
        power = f"10^{{{int(exponent)}}}"
        return f"{digits[:-1]}{power}" if digits in ("1", "-1") else rf"{digits} \cdot {power}"

    def sum(self, s: Sum) -> str:
        terms = [self.term(i, w) for i, w in zip(s.sources, s.weights, strict=True) if w != 0.0]
        if s.bias != 0.0 or not terms:
            terms.append(self.number(s.bias))
        text = terms[0]
        for term in terms[1:]:
            text += f" - {term[1:]}" if term.startswith("-") else f" + {term}"
        return text

    def term(self, source: int, weight: float) -> str:
        node = self.nodes[source]
        if node is not None and node.unit.name == "div" and node.args[0].is_constant:
            # c · 1/z is written as one fraction, with the sign in front of it.
            number = self.number(weight * node.args[0].bias)
            sign = "-" if number.startswith("-") else ""
            return rf"{sign}\frac{{{number.removeprefix('-')}}}{{{self.sum(node.args[1])}}}"
        number = self.number(weight)
        if number in ("1", "-1"):
            return number[:-1] + self.texts[source]
        return number + TIMES + self.texts[source]

    def application(self, node: Node) -> str:
        name, args = node.unit.name, node.args
        if name == "square":
            return self.square(args[0])
        if name == "mul":
            return self.factor(args[0]) + TIMES + self.factor(args[1])
        if name == "identity":
            return self.factor(args[0])
        power = self.expression.power(node)
        if power is not None:
            base, exponent = power
            return f"{self.base(base)}^{{{self.number(exponent)}}}"
        return node.unit.to_latex(*(self.sum(a) for a in args))

    def factor(self, s: Sum) -> str:
        """An argument of a product: in brackets, unless it is a single source."""
        return self.texts[s.sources[0]] if s.is_bare else rf"\left({self.sum(s)}\right)"

    def base(self, s: Sum) -> str:
        """What is raised to a power: in brackets, unless it is an input."""
        is_input = s.is_bare and self.nodes[s.sources[0]] is None
        return self.sum(s) if is_input else rf"\left({self.sum(s)}\right)"

    def square(self, s: Sum) -> str:
        node = self.nodes[s.sources[0]] if s.is_bare else None
        if node is not None and node.unit.name in ("cos", "sin"):
            command = f"\\{node.unit.name}"
            return f"{command}^{{2}}{self.sum(s).removeprefix(command)}"
        return self.base(s) + "^{2}"
