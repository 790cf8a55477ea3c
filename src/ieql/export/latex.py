r"""An equation as LaTeX, written for the reader: ``0.5 \, x_{1}^{2} + \frac{3}{I_{D}}``.

A long one may be printed as the paper prints its own: parts that come more than once get a name,
``z_{1} = …``, and a line of their own.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from ieql.equations.expression import Expression
from ieql.equations.notation import Form, FormulaWriter, Rank, Term, signed
from ieql.export.names import printable
from ieql.export.numbers import decimal_text
from ieql.units import COS, SIN, Unit

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
    names = _names(expression.names)
    parts = _Parts(expression, output, (*names, left)) if substitutions else None
    writer = _Writer(expression, names, precision, parts)
    right = writer.sum(expression.outputs[output])
    if parts is None or not parts.lines:
        return f"{left} = {right}" if left else right
    lines = [*parts.lines, f"{left} &= {right}" if left else f"& {right}"]
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
            powers = [base for base, _ in expression.powers(node)]
            args = [*powers, expression.beside_powers(node)] if powers else node.args
            counts.update(i for a in args for i in a.sources)
    return {i: n for i, n in counts.items() if i >= d}


class _Parts:
    """Gives names to the parts that deserve one; `lines` define them."""

    def __init__(self, expression: Expression, output: int, taken: Sequence[str]) -> None:
        self.expression = expression
        self.uses = _uses(expression, output)
        self.lines: list[str] = []
        used = {text.partition("_")[0] for text in taken}
        self.letter = next((c for c in LETTERS if c not in used), r"\mathcal{Z}")

    def __call__(self, source: int, form: Form) -> Form:
        """The form, or a name for it: then there is no unit to look into."""
        name = f"{self.letter}_{{{len(self.lines) + 1}}}"
        if not self.deserves_name(source, len(form.text), len(name)):
            return form
        self.lines.append(f"{name} &= {form.text}")
        return Form(name)

    def deserves_name(self, source: int, length: int, name: int) -> bool:
        uses = self.uses.get(source, 0)
        line = length + len(" &=  \\\\\n") + name
        shorter = uses > 1 and line + uses * name < uses * length
        whole = any(s.is_bare and s.sources[0] == source for s in self.expression.outputs)
        return shorter or (uses == 1 and length > LONG_PART and not whole)


class _Writer(FormulaWriter):
    base, right = Rank.NAME, Rank.PRODUCT
    has_bars = True
    shows_identity = False
    raised_by_name = (COS, SIN)

    def number(self, value: float) -> str:
        exact = self.exact(value)
        if exact is not None:
            above = str(exact.above)
            if exact.has_pi:
                above = r"\pi" if exact.above == 1 else rf"{above} \pi"
            return above if exact.below == 1 else rf"\frac{{{above}}}{{{exact.below}}}"
        text = decimal_text(value, self.precision)
        if not math.isfinite(value):
            return r"\mathrm{nan}" if text == "nan" else r"\infty"
        digits, _, exponent = text.partition("e")
        if not exponent:
            return digits
        power = f"10^{{{int(exponent)}}}"
        return power if digits == "1" else rf"{digits} \cdot {power}"

    def multiple(self, number: str, form: str) -> str:
        return number + TIMES + form

    def joined(self, terms: Sequence[Term]) -> str:
        return " ".join(signed(terms))

    def brackets(self, form: str) -> str:
        return rf"\left({form}\right)"

    def product(self, left: str, right: str) -> str:
        return left + TIMES + right

    def quotient(self, above: str, below: str) -> str:
        return rf"\frac{{{above}}}{{{below}}}"

    def power(self, base: str, exponent: Term) -> str:
        return f"{base}^{{{self.joined([exponent])}}}"

    def absolute(self, form: str) -> str:
        return rf"\left|{form}\right|"

    def call(self, unit: Unit, args: Sequence[str], exponent: str | None = None) -> str:
        text, command = unit.to_latex(*args), f"\\{unit.name}"
        if exponent is None:
            return text
        return f"{command}^{{{exponent}}}{text.removeprefix(command)}"
