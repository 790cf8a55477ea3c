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
from ieql.equations.text import source_texts
from ieql.errors import IeqlError
from ieql.export.names import identifiers
from ieql.units import DIV, MUL, SQUARE, Unit

__all__ = [
    "Constant",
    "Dialect",
    "Domain",
    "Equation",
    "Function",
    "equation_text",
    "functions",
    "live_sources",
]

Domain = Mapping[str, Sequence[float]]
"""Lower and upper bound of inputs, by name."""
PLAIN_WORD = re.compile("[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")
LONG_SUM = 80
PLACES = {DIV: "a quotient", MUL: "a product", SQUARE: "a square"}
"""Units that are called otherwise in words."""
LONGEST_READ = 10_000
"""Characters of an equation whose parts are named in words."""
LONGEST_WORD = 31
"""C99 tells outer names apart by so many letters."""


class Equation(NamedTuple):
    """One output of an expression and how it is called."""

    target: str
    expression: Expression
    output: int = 0


@dataclass(frozen=True)
class Dialect:
    """How a language writes numbers and units, and which words it keeps for itself.

    Attributes
    ----------
    reserved : collection of str
        Words that no name may be.
    number, template : callable
        What is written for a number that is not negative, and for a unit.
    prefix : str
        What goes before the name of a target in that of its function.
    brackets : bool
        Whether the products of a sum stand in brackets, as MISRA C wants it.
    named : bool
        Whether constants are not written but named: they are parameters that can be changed.
    line_end : str
        What goes before the end of a line inside of brackets.
    names_constants : bool
        Whether a constant argument of a unit gets a name, since functions take no plain numbers.
    parameter : callable, optional
        Writes a constant, its sign included, as a parameter; those of size 0 and 1 stay numbers.
    """

    reserved: Collection[str]
    number: Callable[[float], str]
    template: Callable[[Unit], str]
    prefix: str = ""
    brackets: bool = False
    named: bool = False
    line_end: str = ""
    names_constants: bool = False
    parameter: Callable[[float], str] | None = None


class Constant(NamedTuple):
    """A constant with a name: its value, and in words where it stands."""

    word: str
    value: float
    of: str


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
    constants : tuple of Constant
        The constants that have a name, if that was asked for.
    """

    name: str
    target: str
    equation: str
    arguments: tuple[tuple[str, str], ...]
    assignments: tuple[tuple[str, str], ...]
    result: str
    constants: tuple[Constant, ...] = ()


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
    found: list[Function] = []
    for equation, own in zip(equations, names, strict=True):
        n_before = sum(len(f.constants) for f in found)
        found.append(_Writer(equation, dialect, set(taken), n_before).function(own))
    return tuple(found)


class _Writer(SumWriter):
    as_computed = True

    def __init__(
        self, equation: Equation, dialect: Dialect, taken: set[str], n_constants: int = 0
    ) -> None:
        super().__init__()
        self.equation = equation
        self.dialect = dialect
        self.taken = taken
        self.assignments: list[tuple[str, str]] = []
        self.name = ""
        self.place = ""
        is_short = equation.expression.written_size < LONGEST_READ
        self.texts = source_texts(equation.expression) if dialect.named and is_short else []
        self.n_constants = n_constants
        self.constants: list[Constant] = []

    def function(self, name: str) -> Function:
        target, expression, output = self.equation
        self.name = name
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
        self.place = ""
        result = self.sum(expression.outputs[output])
        return Function(
            name,
            target,
            equation_text(self.equation),
            tuple(zip(columns, arguments, strict=True)),
            tuple(self.assignments),
            result,
            tuple(self.constants),
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
        self.place = f" inside {PLACES.get(unit, unit.name)}"
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

    def terms(self, s: Sum) -> list[Term]:
        if not self.dialect.named:
            return super().terms(s)
        pairs = zip(s.sources, s.weights, strict=True)
        found = [self.named_term(i, w) for i, w in pairs]
        if not found and s.bias in (0.0, 1.0):  # the 1 above a fraction bar is no parameter
            return [Term(False, self.number(s.bias))]
        if s.bias != 0.0:
            found.insert(0, Term(False, self.constant_word(s.bias, "offset")))
        return found

    def named_term(self, source: int, weight: float) -> Term:
        """A source with the name of its coefficient; one of 1 or -1 is not to be changed."""
        form = self.forms[source].text
        if abs(weight) == 1.0:
            return Term(weight < 0.0, form)
        of = self.texts[source] if self.texts else form
        word = self.constant_word(weight, f"factor of {of}")
        return Term(False, self.multiple(word, form))

    def constant_word(self, value: float, of: str) -> str:
        """A new name for a constant: words of all functions differ in their first 31 letters."""
        number = self.n_constants + len(self.constants) + 1
        ending = f"_c{number}"
        word = f"{self.name[: LONGEST_WORD - len(ending)]}{ending}"
        self.constants.append(Constant(word, value, f"{of}{self.place}"))
        return word

    def joined(self, terms: Sequence[Term]) -> str:
        if self.dialect.brackets and len(terms) > 1:
            terms = [
                Term(t.is_negative, f"({t.text})" if " * " in t.text else t.text) for t in terms
            ]
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
