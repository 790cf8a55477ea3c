"""Write docs/api.md from the docstrings: ``make docs``, or ``python docs/build_api.py``."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ieql import IeqlError, IEQLRegressor, Prior, Unit, fit_formula, load_problem, read_table
from ieql.data.reading import Table
from ieql.equations.expression import Expression
from ieql.export.formats import Format, register_format
from ieql.fitted_formula import FittedFormula
from ieql.problems import Problem
from ieql.proofs import Proof
from ieql.report.architecture import architecture
from ieql.shape import Shape
from ieql.training.paper import PaperSettings
from ieql.whole import Whole

TARGET = Path(__file__).with_name("api.md")
INTRODUCTION = """# API reference

Written from the docstrings by `make docs`; do not edit it by hand. Everything in `ieql.__all__` is
here, and the objects that it takes or gives. For a start, read the [user guide](README.md).
"""
WIDTH = 100
EXPRESSION = (
    "parse", "text", "evaluate", "complexity", "n_parameters", "depth", "inputs_used",
    "unit_counts", "constants", "to_sympy",
)  # fmt: skip
PROBLEM = ("truth",)
HIDDEN = ("self", "limit", "cross", "code")  # what is for the table's own units alone
# What is described: the object, where it is imported from, and its members (None: all public ones).
ENTRIES: list[tuple[Any, str, tuple[str, ...] | None]] = [
    (IEQLRegressor, "ieql", None),
    (Prior, "ieql", None),
    (Shape, "ieql.shape", ()),
    (Proof, "ieql.proofs", ("save", "sentences")),
    (Unit, "ieql", None),
    (fit_formula, "ieql", ()),
    (FittedFormula, "ieql.fitted_formula", None),
    (Format, "ieql.export.formats", ()),
    (register_format, "ieql.export.formats", ()),
    (read_table, "ieql", ()),
    (Table, "ieql.data.reading", ("split", "said")),
    (load_problem, "ieql", ()),
    (Problem, "ieql.problems", PROBLEM),
    (PaperSettings, "ieql.training.paper", None),
    (Expression, "ieql.equations.expression", EXPRESSION),
    (Whole, "ieql.whole", ("sentence",)),
    (architecture, "ieql.report.architecture", ()),
    (IeqlError, "ieql", ()),
]


def build() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    parts.append("\n".join(f"- [{o.__name__}](#{o.__name__.lower()})" for o, _, _ in ENTRIES))
    for thing, home, names in ENTRIES:
        parts.append(f"## {thing.__name__}")
        call = "" if thing is IeqlError else f"\n{_call(thing)}"  # an exception has no signature
        parts.append(f"```text\nfrom {home} import {thing.__name__}{call}\n```")
        parts.append(_markdown(inspect.getdoc(thing) or ""))
        parts.extend(_field_list(thing))
        for name in _members(thing) if names is None else names:
            parts.append(_member(thing, name))
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


# --- members ---------------------------------------------------------------------------------


def _members(cls: type) -> list[str]:
    """Public methods and properties that ieql itself defines, in the order of the source."""
    found: dict[str, None] = {}
    for base in cls.__mro__:
        if not base.__module__.startswith("ieql."):
            continue
        for name, value in vars(base).items():
            kind = isinstance(value, property | classmethod | staticmethod)
            if (kind or inspect.isfunction(value)) and not name.startswith(("_", "set_")):
                found[name] = None
    return list(found)


def _member(cls: type, name: str) -> str:
    raw = inspect.getattr_static(cls, name)
    is_value = isinstance(raw, property) or hasattr(raw, "attrname")  # a cached property, too
    thing = raw if is_value else getattr(cls, name)
    shown = f"{cls.__name__}.{name}"
    call = "" if is_value else f"```text\n{_call(thing, name)}\n```\n\n"
    return f"### {shown}\n\n{call}{_markdown(inspect.getdoc(thing) or '')}"


def _field_list(cls: Any) -> Iterator[str]:
    """The settings of a class that documents each by a string below it, as `PaperSettings` does."""
    if cls is not PaperSettings:
        return
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(body, ast.ClassDef)
    lines = []
    for node, after in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            line = f"- **{ast.unparse(node.target)}** = `{ast.unparse(node.value)}`"
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                line += f": {' '.join(str(after.value.value).split())}"
            lines.append(line)
    yield "**Settings**"
    yield "\n".join(lines)


def _call(thing: Any, name: str | None = None) -> str:
    """``name(a, b=1)``: names and defaults; the types stand in the text."""
    words = []
    parameters = [p for p in inspect.signature(thing).parameters.values() if p.name not in HIDDEN]
    for position, p in enumerate(parameters):
        first_keyword = p.kind is p.KEYWORD_ONLY and (
            position == 0 or parameters[position - 1].kind is not p.KEYWORD_ONLY
        )
        if first_keyword:
            words.append("*")
        star = "*" if p.kind is p.VAR_POSITIONAL else ""
        default = "" if p.default is p.empty else f"={_default(p.default)}"
        words.append(f"{star}{p.name}{default}")
    name = name or thing.__name__
    line = f"{name}({', '.join(words)})"
    if len(line) <= WIDTH:
        return line
    return textwrap.fill(line, WIDTH, subsequent_indent=" " * (len(name) + 1))


def _default(value: Any) -> str:
    text = repr(value)
    return "…" if text.startswith("<") else text


# --- numpydoc as Markdown ------------------------------------------------------------------------


def _markdown(doc: str) -> str:
    """A docstring with its sections as bold headings and lists."""
    doc = re.sub(r":math:`([^`]*)`", r"$\1$", doc)
    # A heading is a line with a line of dashes below it.
    head, *rest = re.split(r"^(\w[\w ]*)\n-{3,}\n", doc, flags=re.MULTILINE)
    parts = [head.strip()]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        parts.append(f"**{title}**")
        if title == "Examples":
            parts.append(f"```pycon\n{body.strip()}\n```")
        else:
            parts.append("\n".join(_items(title, body)))
    return "\n\n".join(parts)


def _items(title: str, body: str) -> Iterator[str]:
    """``name : type`` with its indented text, as one line of a list each."""
    for item in re.split(r"\n(?=\S)", body.strip("\n")):
        first, _, text = item.partition("\n")
        text = " ".join(text.split())
        name, colon, kind = first.partition(" : ")
        if title in ("Returns", "Raises"):
            line = f"- *{first}*"
        else:
            line = f"- **{name}**" + (f" (*{kind}*)" if colon else "")
        yield f"{line}: {text}" if text else line


if __name__ == "__main__":
    TARGET.write_text(build(), encoding="utf-8")
    print(f"Wrote {TARGET}")
