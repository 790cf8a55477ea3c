"""An equation as C99: one function per output, nothing but ``math.h``, no memory to allocate."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ieql.errors import IeqlError, nearest
from ieql.export.functions import Dialect, Domain, Equation, Function, functions
from ieql.export.names import identifiers
from ieql.export.origin import Origin, generated, heading, wrapped
from ieql.export.ranges import domain_ends, single
from ieql.units import Unit

__all__ = ["RESERVED", "c_code", "c_comment", "c_double", "include_guard", "write"]

REALS = ("double", "float")
GUARDS = {
    "none": "",
    "clamp": "An input outside its domain is taken as the end of the domain that it passes.",
    "check": "NaN where an input is outside its domain.",
}
"""What is said of each guard."""
PARTS = ("code", "header", "test")
CONSTANTS_AS = ("written", "named")
FUNCTIONS = """
    acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb
    ldexp log log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma
    tgamma ceil floor nearbyint rint lrint llrint round lround llround trunc fmod remainder
    remquo copysign nan nextafter nexttoward fdim fmax fmin fma
"""
SYSTEMS_FUNCTIONS = """
    j0 j1 jn y0 y1 yn gamma scalb drem significand finite isinf isnan exp10 pow10 sincos
    roundeven nextdown nextup llogb fmaxmag fminmag canonicalize
"""
WORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while asm fortran typeof typeof_unqual alignas alignof bool constexpr
    false true nullptr static_assert thread_local main linux unix i386 near far huge
    and and_eq bitand bitor catch class compl concept const_cast decltype delete dynamic_cast
    explicit export friend module mutable namespace new noexcept not not_eq operator or or_eq
    private protected public reinterpret_cast requires static_cast template this throw try typeid
    typename using virtual wchar_t xor xor_eq char8_t char16_t char32_t consteval constinit
    co_await co_return co_yield import errno NULL EOF
    NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO
    FP_FAST_FMA FP_FAST_FMAF FP_FAST_FMAL FP_ILOGB0 FP_ILOGBNAN MATH_ERRNO MATH_ERREXCEPT
    math_errhandling fpclassify isfinite isnormal signbit isgreater isgreaterequal isless
    islessequal islessgreater isunordered signgam float_t double_t MAXFLOAT HUGE DOMAIN SING
    OVERFLOW UNDERFLOW TLOSS PLOSS X_TLOSS SNAN SNANF SNANL issignaling iszero iscanonical
    issubnormal iseqsig FP_LLOGB0 FP_LLOGBNAN FP_INT_UPWARD FP_INT_DOWNWARD FP_INT_TOWARDZERO
    FP_INT_TONEARESTFROMZERO FP_INT_TONEAREST
"""
TYPES = "16 32 64 128 32x 64x 128x 32X 64X 128X"
CONSTANTS = """
    M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2
    SNAN HUGE_VAL_ FP_FAST_FMA FP_FAST_FSQRT FP_FAST_FADD FP_FAST_FMUL FP_FAST_FDIV FP_FAST_FSUB
"""
# What C, C++ or the <math.h> of some system has taken.
RESERVED = (
    frozenset(WORDS.split())
    | {
        name + ending
        for name in FUNCTIONS.split() + SYSTEMS_FUNCTIONS.split()
        for ending in ("", "f", "l", "_r", "f_r", "l_r")
    }
    | {
        name + ending
        for name in CONSTANTS.split()
        for ending in ("", "f", "l", *(c + n for c in "fF" for n in TYPES.split()))
    }
)
CALL = re.compile(rf"\b({'|'.join(FUNCTIONS.split())})(?=\s*\()")
LITERAL = re.compile(r"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?(?![\w.])")


def c_code(
    equations: Sequence[Equation | tuple[Any, ...]],
    *,
    real: str = "double",
    name: str | None = None,
    domain: Domain | None = None,
    origin: Origin | None = None,
    guard: str = "none",
    part: str = "code",
    constants: str = "written",
) -> str:
    """C99 source with one function per equation.

    The functions take the inputs that the equation uses, in the order of the columns, and give
    the value of `Expression.evaluate`: NaN where a unit is undefined. Names of columns become
    identifiers; a comment says which is which.

    Parameters
    ----------
    equations : sequence of Equation, or tuples (target, expression, output=0)
        What to write.
    real : {"double", "float"}, default "double"
        Type of all numbers.
    name : str, optional
        Name of the function; of several, what goes before the names of the targets. By default
        it is ``ieql_`` and the target's name.
    domain : mapping, optional
        Declared bounds of the inputs, for the comment and the guards.
    origin : Origin, optional
        Data, errors and physical units, for the comments.
    guard : {"none", "clamp", "check"}, default "none"
        What to do with inputs outside the domain: compute with them, take the end of the domain
        that they pass, or give NaN. With a guard the comment states the proved bounds.
    part : {"code", "header", "test"}, default "code"
        Which file: the functions, their declarations, or a program that is linked with the
        functions and gives 0 if they compute what they should.
    constants : {"written", "named"}, default "written"
        Whether the constants are written as numbers, or are ``const volatile`` parameters with
        names, which the formats dcm and a2l describe.

    Examples
    --------
    >>> from ieql.equations.expression import Expression
    >>> print(c_code([("T", Expression.parse("2*cos(n) - 1", ["n"]))]))  # doctest: +ELLIPSIS
    /*
     * Generated by ieql...
    double ieql_T(double n)
    {
        const double u1 = cos(n);
        return -1.0 + (2.0 * u1);
    }
    <BLANKLINE>
    """
    check_choice("real", real, REALS)
    check_choice("guard", guard, GUARDS)
    check_choice("part", part, PARTS)
    check_choice("constants", constants, CONSTANTS_AS)
    wanted = [Equation(*e) for e in equations]
    found = functions(wanted, c_dialect(real, constants == "named"), name)
    guarded = [_guarded(f, guard, domain, real) for f in found]
    said = [generated(), origin.data_text() if origin else ""]
    said += ["Do not compile with -ffast-math: it takes away the NaN of an undefined value."]
    top = ["/*", *c_comment(wrapped(list(filter(None, said)))), " */"]
    if part == "test":
        from ieql.export.c_test_program import test_program

        return "\n".join([*top, *test_program(wanted, guarded, real, guard, domain), ""])
    parts = ["#include <math.h>", ""] if part == "code" else []
    for equation, function in zip(wanted, guarded, strict=True):
        last = ["NaN where the equation is undefined."]
        if guard != "none":
            last = [GUARDS[guard], *last, *_proved(equation, domain)]
        parts += ["/*", *c_comment(heading(function, domain, origin, last)), " */"]
        parts += [f"extern const volatile {real} {c.word};" for c in function.constants]
        parts += [f"{declaration(function, real)};", ""]  # first, as -Wmissing-prototypes wants it
        parts += _definition(function, real, guard, domain) if part == "code" else []
    if part == "header":
        parts = [*include_guard(guarded[0].name if guarded else "ieql", parts), ""]
    return "\n".join([*top, *parts])


def write(
    equations: Sequence[Equation],
    domain: Domain | None = None,
    origin: Origin | None = None,
    **options: Any,
) -> str:
    """The format 'c': `c_code` as the registry calls it."""
    return c_code(equations, domain=domain, origin=origin, **options)


def check_choice(option: str, value: Any, choices: Collection[str]) -> None:
    """Refuse a value of an option that is none of its choices."""
    if not isinstance(value, str) or value not in choices:
        *most, last = map(repr, choices)
        raise IeqlError(
            f"{option} must be {', '.join(most)} or {last}, not {value!r}."
            f"{nearest(str(value), choices)}"
        )


def c_dialect(real: str, named: bool = False) -> Dialect:
    """How C writes numbers of a type, with the constants as numbers or with names."""
    return Dialect(
        RESERVED,
        c_double if real == "double" else _float,
        _template if real == "double" else _float_template,
        "ieql_",
        brackets=True,
        named=named,
    )


def declaration(function: Function, real: str) -> str:
    """The head of a function."""
    arguments = ", ".join(f"{real} {word}" for _, word in function.arguments) or "void"
    return f"{real} {function.name}({arguments})"


def _guarded(function: Function, guard: str, domain: Domain | None, real: str) -> Function:
    """A function whose inputs are guarded: what is clamped needs a local beside the argument."""
    if guard == "none":
        return function
    for column, _ in function.arguments:
        if (domain or {}).get(column) is None:
            raise IeqlError(
                f"guard={guard!r} needs the domain of the input {column!r}; fit with "
                f"domain={{{column!r}: (low, high)}}, or leave the guard out."
            )
    if guard == "check":
        return function
    taken = {w for _, w in function.arguments} | {w for w, _ in function.assignments}
    given = identifiers([f"{w}_in" for _, w in function.arguments], RESERVED, taken)
    arguments, inside = [], []
    for (column, word), argument in zip(function.arguments, given, strict=True):
        low, high = (_bound(x, real, k) for k, x in enumerate((domain or {})[column]))
        # Not fmin and fmax, which would make a number of NaN.
        code = f"({argument} < {low}) ? {low} : (({argument} > {high}) ? {high} : {argument})"
        arguments.append((column, argument))
        inside.append((word, code))
    assignments = (*inside, *function.assignments)
    return replace(function, arguments=tuple(arguments), assignments=assignments)


def _bound(value: float, real: str, side: int) -> str:
    """An end of the domain as a number of the type that lies inside it."""
    if real == "double":
        return c_double(value)
    near = np.float32(value)
    if (float(near) > value) if side else (float(near) < value):
        near = np.nextafter(near, np.float32(-np.inf if side else np.inf))
    return _float(float(near))


def _definition(function: Function, real: str, guard: str, domain: Domain | None) -> list[str]:
    lines = [
        f"const volatile {real} {c.word} = {number_text(c.value, real)};"
        for c in function.constants
    ]
    lines += [""] if lines else []
    steps = [f"const {real} {word} = {code};" for word, code in function.assignments]
    if guard != "check" or not function.arguments:
        steps.append(f"return {function.result};")
        return [*lines, declaration(function, real), "{", *(f"    {s}" for s in steps), "}", ""]
    taken = {w for _, w in function.arguments} | {w for w, _ in function.assignments}
    [value] = identifiers(["value"], RESERVED, taken)
    inside = [
        f"({word} {sign} {number_text(float(end), real)})"
        for column, word in function.arguments
        for sign, end in zip((">=", "<="), (domain or {})[column], strict=True)
    ]
    test = "\n        && ".join(inside)
    return [
        *lines,
        declaration(function, real),
        "{",
        f"    {real} {value} = NAN;",
        f"    if ({test})",
        "    {",
        *(f"        {step}" for step in steps),
        f"        {value} = {function.result};",
        "    }",
        f"    return {value};",
        "}",
        "",
    ]


def _proved(equation: Equation, domain: Domain | None) -> list[str]:
    """What is proved of an equation in the domain, as far as it is."""
    from ieql.proofs import prove

    expression = single(equation)
    lower, upper = domain_ends(expression, domain, "A guard")
    ends = zip(expression.names, zip(lower.tolist(), upper.tolist(), strict=True), strict=True)
    proof = prove(expression, dict(ends))
    if proof.bounds is None:
        return proof.sentences()
    low, high = outward(proof.bounds[0], -1), outward(proof.bounds[1], 1)
    return [
        f"Proved: in the domain it is defined everywhere, and its value lies between {low} and "
        f"{high}."
    ]


def outward(value: float, sign: int) -> str:
    """A lower (-1) or upper (1) bound with few digits that is still a bound."""
    step = 10.0 ** (math.floor(math.log10(abs(value))) - 5) if value else 1.0
    nearest_integer = math.ceil if sign > 0 else math.floor
    return f"{nearest_integer(value / step + sign * 1e-9) * step:.6g}"


def c_comment(lines: Sequence[str]) -> list[str]:
    """Lines of a comment, in which nothing ends it, begins another or is a trigraph."""
    inner = [re.sub(r"\*(?=/)|/(?=\*)|\?(?=\?)", r"\g<0> ", line) for line in lines]
    return [f" * {line}".rstrip() for line in inner]


def include_guard(name: str, lines: Sequence[str]) -> list[str]:
    """Lines of a header, which may be included more than once."""
    word = f"{name.upper()}_H"
    return [f"#ifndef {word}", f"#define {word}", "", *lines, "#endif"]


def c_double(value: float) -> str:
    """The shortest literal that reads back exactly."""
    return repr(float(value)) if math.isfinite(value) else _not_finite(value)


def number_text(value: float, real: str) -> str:
    """A number of a type with its sign."""
    text = c_double(abs(value)) if real == "double" else _float(abs(value))
    return f"-{text}" if value < 0.0 else text


def _float(value: float) -> str:
    if not math.isfinite(value):
        return _not_finite(value)
    limits = np.finfo(np.float32)
    if value != 0.0 and not float(limits.tiny) <= abs(value) <= float(limits.max):
        raise IeqlError(
            f"A constant of the equation, of size {value:.6g}, does not fit into a float; "
            "write it with real='double'."
        )
    return f"{np.float32(value)!s}f"


def _not_finite(value: float) -> str:
    return "NAN" if math.isnan(value) else "-INFINITY" if value < 0 else "INFINITY"


def _template(unit: Unit) -> str:
    return unit.template("c", "C")


def _float_template(unit: Unit) -> str:
    """The template with the functions and literals of type float."""
    calls = CALL.sub(r"\1f", _template(unit))
    return LITERAL.sub(lambda literal: _float(float(literal[0])), calls)
