"""What all programming languages share: an equation as a function, one assignment per unit.

Sums are written the same in all of them and in the order in which `Expression.evaluate` adds,
the constant first, so that all digits agree. A unit that several others use is computed once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ieql.equations.expression import Expression, Sum
from ieql.equations.notation import Form, SumWriter, Term, signed
from ieql.errors import IeqlError
from ieql.export.names import identifiers
from ieql.units import Unit

__all__ = [
    *("Dialect", "Domain", "Equation", "Function", "equation_text", "functions", "live_sources"),
]

Domain = Mapping[str, Sequence[float]]
"""Lower and upper bound of inputs, by name."""
PLAIN_WORD = re.compile("[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")
LONG_SUM = 80


class Equation(NamedTuple):
    """One output of an expression and how it is called."""

    target: str
    expression: Expression
    output: int = 0


@dataclass(frozen=True)
class Dialect:
    """How a language writes numbers and units, and which words it keeps for itself."""

    reserved: Collection[str]
    number: Callable[[float], str]
    template: Callable[[Unit], str]
    prefix: str = ""
    line_end: str = ""
    """What goes before the end of a line inside of brackets."""
    names_constants: bool = False
    """Whether a constant argument of a unit gets a name, since functions take no plain numbers."""
    parameter: Callable[[float], str] | None = None
    """Writes a constant, its sign included, as a parameter; those of size 0 and 1 stay numbers."""


@dataclass(frozen=True)
class Function:
    """A function of the target language, but for its punctuation.

    Attributes
    ----------
    name : str
        Its identifier.
    target : str
        The output's own name.
    equation : str
        The equation as text.
    arguments : tuple of (str, str)
        Column and identifier of the inputs that the equation uses, in the order of the columns.
    assignments : tuple of (str, str)
        Local name and the code of its value, in order.
    result : str
        The code of the function's value.
    """

    name: str
    target: str
    equation: str
    arguments: tuple[tuple[str, str], ...]
    assignments: tuple[tuple[str, str], ...]
    result: str


def functions(
    equations: Sequence[Equation], dialect: Dialect, name: str | None
) -> tuple[Function, ...]:
    """One function per equation; `name` is that of the only one, or goes before all of them."""
    if name is not None and (not PLAIN_WORD.fullmatch(name) or name in dialect.reserved):
        raise IeqlError(
            f"A function cannot be called {name!r}: give a word of ASCII letters, digits and "
            "single underscores that the language does not use itself."
        )
    taken: set[str] = set()
    if name is not None and len(equations) == 1:
        names = [name]
        taken.add(name)
    else:
        prefix = dialect.prefix if name is None else f"{name}_"
        reserved = {w.removeprefix(prefix) for w in dialect.reserved if w.startswith(prefix)}
        words = identifiers([e.target for e in equations], reserved, set())
        names = [prefix + word for word in words]
        taken.update(names)
    return tuple(
        _Writer(equation, dialect, set(taken)).function(name)
        for equation, name in zip(equations, names, strict=True)
    )


class _Writer(SumWriter):
    as_computed = True

    def __init__(self, equation: Equation, dialect: Dialect, taken: set[str]) -> None:
        super().__init__()
        self.equation = equation
        self.dialect = dialect
        self.taken = taken
        self.assignments: list[tuple[str, str]] = []

    def function(self, name: str) -> Function:
        target, expression, output = self.equation
        live = live_sources(expression, output)
        for source in live.intersection(range(len(expression.names), _n_sources(expression))):
            self.taken |= self.words_of(expression.nodes[source - len(expression.names)].unit)
        used = [i for i in range(len(expression.names)) if i in live]
        columns = [expression.names[i] for i in used]
        arguments = identifiers(columns, self.dialect.reserved, self.taken)
        self.forms = {i: Form(word) for i, word in zip(used, arguments, strict=True)}
        for source, node in enumerate(expression.nodes, start=len(expression.names)):
            if source in live:
                code = self.application(node.unit, node.args)
                self.forms[source] = Form(self.assign("u", code))
        return Function(
            name,
            target,
            equation_text(self.equation),
            tuple(zip(columns, arguments, strict=True)),
            tuple(self.assignments),
            self.sum(expression.outputs[output]),
        )

    def words_of(self, unit: Unit) -> set[str]:
        """What a user-defined unit calls; those of the table are among the reserved words."""
        return set(re.findall(r"\w+", self.dialect.template(unit))) if unit.is_custom else set()

    def assign(self, letter: str, code: str) -> str:
        """A new local: u for the value of a unit, z for what goes into it."""
        name = f"{letter}{len(self.assignments) + 1}"
        [word] = identifiers([name], self.dialect.reserved, self.taken)
        self.assignments.append((word, code))
        return word

    def application(self, unit: Unit, args: tuple[Sum, ...]) -> str:
        template = self.dialect.template(unit)
        places = template.format(*(f"{{{i}}}" for i in range(unit.arity)))
        constant = all(a.is_constant for a in args)
        words = []
        for i, argument in enumerate(args):
            code = self.sum(argument)
            # A local of its own for what is written twice, and for constants: a compiler that
            # computes with literals warns where the result is no number.
            once = argument.is_bare or argument.is_constant or places.count(f"{{{i}}}") == 1
            once = once and not (argument.is_constant and self.dialect.names_constants)
            words.append(code if once and not constant else self.assign("z", code))
        code = template.format(*words)
        if unit.is_custom:
            return code
        # The brackets of the table's templates are for sums; a single word or number needs none.
        return re.sub(r"(?<!\w)\(([\w.]+)\)", r"\1", code)

    def number(self, value: float) -> str:
        return self.dialect.number(value)

    def constant(self, value: float) -> Term:
        if self.dialect.parameter is None or abs(value) in (0.0, 1.0):
            return super().constant(value)
        return Term(False, self.dialect.parameter(value))

    def multiple(self, number: str, form: str) -> str:
        return f"{number} * {form}"

    def joined(self, terms: Sequence[Term]) -> str:
        parts = signed(terms)
        code = " ".join(parts)
        if len(code) <= LONG_SUM:
            return code
        return "(" + f"{self.dialect.line_end}\n            ".join(parts) + ")"


def live_sources(expression: Expression, output: int) -> set[int]:
    """The sources that an output needs."""
    live = set(expression.outputs[output].sources)
    for source in reversed(range(len(expression.names), _n_sources(expression))):
        if source in live:
            node = expression.nodes[source - len(expression.names)]
            live.update(i for a in node.args for i in a.sources)
    return live


def _n_sources(expression: Expression) -> int:
    return len(expression.names) + len(expression.nodes)


def equation_text(equation: Equation) -> str:
    """The right-hand side, or a remark where it is longer than anyone reads."""
    try:
        return equation.expression.text(equation.output)
    except IeqlError:  # longer than anyone reads; the code still holds it
        return "(too long to be written as one formula)"
