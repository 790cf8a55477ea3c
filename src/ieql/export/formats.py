"""The registry of export formats: what ``ieql export`` and `IEQLRegressor.export` can write.

A format of one's own is one file that calls `register_format`; see the guide, "Exporting and
saving".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, cast

from ieql.errors import IeqlError, nearest, shown
from ieql.export.functions import Domain, Equation
from ieql.export.origin import Origin
from ieql.plugins import load_plugins

__all__ = [
    *("Domain", "Equation", "Format", "Origin", "all_formats", "find_format", "register_format"),
]


@dataclass(frozen=True)
class Format:
    """A way to write equations into a file.

    Attributes
    ----------
    name : str
        How it is asked for: ``ieql export RUN --format NAME``.
    sentence : str
        What it is, in one sentence.
    suffix : str
        How the names of its files end, such as ``".c"``.
    write : callable
        Takes a sequence of `Equation` (target, expression, output), the domain (a mapping from
        inputs to bounds, or None) and the options below by name; returns text, or bytes.
    options : tuple of str
        The options that it takes: ``model.export("c", real="float")``, and on the command line
        ``--option real=float``. One that has several files to write takes the option ``part``,
        which says which of them.
    all_outputs : bool
        Whether a file holds the equations of all outputs, also if a row of the front is chosen:
        then the others keep their selected one. Otherwise the chosen equation stands alone.
    takes_origin : bool
        Whether `write` also takes ``origin``, an `Origin` or None: the data, the errors and the
        physical units, for the heading of the file.

    Examples
    --------
    >>> from ieql.equations.expression import Expression
    >>> from ieql.export.formats import Format
    >>> from ieql.export.functions import Equation
    >>> def write(equations, domain):
    ...     return "".join(f"{e.target} = {e.expression.text()};" for e in equations)
    >>> format = Format("line", "All equations on one line.", ".txt", write)
    >>> format([Equation("y", Expression.parse("2*x", ["x"]))])
    'y = 2*x;'
    """

    name: str
    sentence: str
    suffix: str
    write: Callable[..., str | bytes]
    options: tuple[str, ...] = ()
    all_outputs: bool = True
    takes_origin: bool = False

    def __call__(
        self,
        equations: Sequence[Equation],
        domain: Domain | None = None,
        *,
        origin: Origin | None = None,
        **options: Any,
    ) -> str | bytes:
        """Write equations; an option that the format does not take is refused."""
        self.check(options)
        if self.takes_origin:
            return self.write(equations, domain, origin=origin, **options)
        return self.write(equations, domain, **options)

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse an option that the format does not take."""
        for option in options:
            if option not in self.options:
                takers = [repr(f.name) for f in _FORMATS.values() if option in f.options]
                others = f"; it is for {_listed(takers)}" if takers else ""
                raise IeqlError(f"The format {self.name!r} takes no {option!r}{others}.")


_FORMATS: dict[str, Format] = {}


def register_format(format: Format) -> Format:
    """Add a format; a name that is taken is refused, unless it is by the same format."""
    if _FORMATS.get(format.name, format) != format:
        raise IeqlError(f"There is already a format {format.name!r}; choose another name.")
    _FORMATS[format.name] = format
    return format


def all_formats() -> Mapping[str, Format]:
    """All formats by name, those of plugins among them."""
    load_plugins()
    return MappingProxyType(_FORMATS)


def find_format(name: str) -> Format:
    """The format of this name."""
    if isinstance(name, str) and name in _FORMATS:
        return _FORMATS[name]
    formats = all_formats()
    if not isinstance(name, str) or name not in formats:
        raise IeqlError(
            f"There is no format {shown(name)}; the choices are {_listed(formats)}."
            f"{nearest(str(name), formats)}"
        )
    return formats[name]


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


# --- the formats that are built in ---------------------------------------------------------------
# What they need is imported when they write: SymPy takes a second.


def _late(module: str, name: str) -> Callable[..., str | bytes]:
    """A function of another file of this folder, which is imported when it is called."""

    def write(*args: Any, **options: Any) -> str | bytes:
        function = getattr(import_module(f"ieql.export.{module}"), name)
        return cast("str | bytes", function(*args, **options))

    return write


def _text(
    equations: Sequence[Equation], domain: Domain | None = None, digits: int | None = None
) -> str:
    return _lines(e.expression.text(e.output, digits) for e in equations)


def _sympy(
    equations: Sequence[Equation], domain: Domain | None = None, digits: int | None = None
) -> str:
    from ieql.export.sympy import sympy_text

    return _lines(sympy_text(e.expression.to_sympy(e.output), digits) for e in equations)


def _latex(
    equations: Sequence[Equation],
    domain: Domain | None = None,
    digits: int | None = None,
    substitutions: bool = False,
) -> str:
    from ieql.export.latex import latex

    return _lines(
        latex(e.expression, e.output, digits, substitutions=substitutions) for e in equations
    )


def _lines(texts: Iterable[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


for _format in (
    Format(
        "text",
        "The equation on one line, as the front shows it.",
        ".txt",
        _text,
        ("digits",),
        all_outputs=False,
    ),
    Format(
        "c",
        "C99: a function per target, nothing but math.h.",
        ".c",
        _late("c", "write"),
        ("real", "name", "guard", "part", "constants"),
        takes_origin=True,
    ),
    Format(
        "fixed-c",
        "C99 in integers, with formats from proved ranges and a proved error.",
        ".c",
        _late("fixed_c", "write"),
        ("name", "part"),
        takes_origin=True,
    ),
    Format(
        "table",
        "C99: a lookup table of one to three inputs, with a proved interpolation error.",
        ".c",
        _late("table", "write"),
        ("tolerance", "most_cells", "real", "name"),
        takes_origin=True,
    ),
    Format(
        "dcm",
        "DCM 2.0: the values of the constants, for calibration tools.",
        ".dcm",
        _late("calibration", "dcm_text"),
        ("real", "name"),
        takes_origin=True,
    ),
    Format(
        "a2l",
        "A2L (ASAP2): the constants of the C code as parameters, for calibration tools.",
        ".a2l",
        _late("calibration", "a2l_text"),
        ("real", "name"),
        takes_origin=True,
    ),
    Format(
        "python",
        "A Python module: a function per target, which needs NumPy.",
        ".py",
        _late("python", "write"),
        ("name",),
        takes_origin=True,
    ),
    Format(
        "matlab",
        "A MATLAB function file for arrays, which GNU Octave runs, too.",
        ".m",
        _late("matlab", "write"),
        ("name",),
        takes_origin=True,
    ),
    Format(
        "javascript",
        "A JavaScript module; module=commonjs for require, else for import.",
        ".mjs",
        _late("javascript", "write"),
        ("module", "name"),
        takes_origin=True,
    ),
    Format(
        "rust",
        "Rust: a function per target, nothing but the standard library.",
        ".rs",
        _late("rust", "write"),
        ("name",),
        takes_origin=True,
    ),
    Format(
        "jax",
        "A Python module with functions of JAX, which it differentiates.",
        ".py",
        _late("differentiable", "write_jax"),
        ("name",),
        takes_origin=True,
    ),
    Format(
        "torch",
        "A Python module with functions of PyTorch, which it differentiates.",
        ".py",
        _late("differentiable", "write_torch"),
        ("name",),
        takes_origin=True,
    ),
    Format(
        "fmu",
        "A functional mock-up unit, FMI 2.0 or version=3.0; the constants are parameters.",
        ".fmu",
        _late("fmu", "write"),
        ("version", "name", "binary"),
        takes_origin=True,
    ),
    Format(
        "modelica",
        "Modelica: a function per target.",
        ".mo",
        _late("modelica", "write"),
        ("name",),
        takes_origin=True,
    ),
    Format(
        "excel",
        "A formula per target for Excel or LibreOffice; cells=C5,D5 says where the inputs are.",
        ".txt",
        _late("excel", "write"),
        ("cells",),
        takes_origin=True,
    ),
    Format(
        "workbook",
        "An Excel workbook with the formula beside rows; data=FILE.csv for rows of one's own.",
        ".xlsx",
        _late("excel", "write_workbook"),
        ("data",),
        takes_origin=True,
    ),
    Format(
        "sympy",
        "Text that sympy.sympify reads, for further algebra.",
        ".txt",
        _sympy,
        ("digits",),
        all_outputs=False,
    ),
    Format(
        "latex",
        "LaTeX, for math mode.",
        ".tex",
        _latex,
        ("digits", "substitutions"),
        all_outputs=False,
    ),
):
    register_format(_format)
