"""A fitted model as a notebook shows it: the equations typeset, and the front as a small table."""

from __future__ import annotations

from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.export.latex import latex, latex_name
from ieql.model import FittedModel
from ieql.report.equation_part import typeset
from ieql.report.svg import clean
from ieql.report.words import number

__all__ = ["notebook_html", "notebook_latex"]

MOST_ROWS = 15
"""Equations of a front that are shown; of a longer one those around the selected one."""
MOST_TEXT = 20_000
"""Characters of an equation's text, at most."""
# Notebooks may strip style sheets, so every style stands where it is needed; colours are the
# notebook's own, light or dark.
CELL = "text-align:{}; padding:0.15em 0.6em; vertical-align:middle; white-space:{}"
FONT = "font-family:'STIX Two Math','Latin Modern Math','Cambria Math','DejaVu Math TeX Gyre',math"
SELECTED = "background:rgba(64,150,140,0.18); font-weight:600"


def notebook_html(model: FittedModel) -> str:
    """The selected equations and their fronts as HTML; names of the user's are escaped."""
    parts = [_output(model, k) for k in range(len(model.targets))]
    if len(model.targets) > 1:
        parts.append(f'<p style="margin:0.4em 0">{clean(model.whole().sentence())}</p>')
    if not model.finished:
        parts.append(
            "<p>The run was cut short or is still running: these equations passed fewer checks and "
            "their constants are not rounded.</p>"
        )
    # Dollar signs in names are not the beginning of a formula.
    return f'<div class="tex2jax_ignore mathjax_ignore">{"".join(parts)}</div>'


def notebook_latex(model: FittedModel) -> str | None:
    """The selected equations as a displayed formula; None if one is too long for that."""
    try:
        right = [latex(e) for e in model.expressions()]
    except IeqlError:
        return None
    left = [latex_name(name) for name in model.targets]
    if len(right) == 1:
        return f"$${left[0]} = {right[0]}$$"
    lines = " \\\\\n".join(f"{a} &= {b}" for a, b in zip(left, right, strict=True))
    return f"$$\\begin{{aligned}}\n{lines}\n\\end{{aligned}}$$"


def _output(model: FittedModel, output: int) -> str:
    e, name = model.candidate(None, output).expression, model.targets[output]
    text = f"{name} = {e.text()}"
    text = text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + " …"
    return (
        f'<div style="overflow-x:auto; padding:0.4em 0; font-size:1.25em">{_formula(e, name)}</div>'
        f"{_table(model, output)}"
        f'<p style="margin:0.4em 0">{clean(model.why(output))}</p>'
        f"<details><summary>As text</summary>"
        f'<pre style="overflow-x:auto">{clean(text)}</pre></details>'
    )


def _formula(e: Expression, name: str | None) -> str:
    # Without a font that is made for formulas, brackets and roots look odd.
    return typeset(e, name).replace("<math ", f'<math style="{FONT}" ')


def _table(model: FittedModel, output: int) -> str:
    front, selected = model.fronts[output], model.selected[output]
    start = max(0, min(selected - MOST_ROWS // 2, len(front) - MOST_ROWS))
    before = sum(map(len, model.fronts[:output]))  # rows are counted as in `equations_`
    headings = ("", "complexity", "training error", "validation error", "equation")
    rows = []
    for i, c in list(enumerate(front))[start : start + MOST_ROWS]:
        mark = "★ " if i == selected else ""
        numbers = [number(v) for v in (c.complexity, c.rmse_train, c.rmse_validation)]
        cells = [f"{mark}{before + i}", *numbers, _formula(c.expression, None)]
        style = f' style="{SELECTED}" aria-current="true"' if i == selected else ""
        rows.append(f"<tr{style}>{_cells('td', cells)}</tr>")
    left_out = len(front) - len(rows)
    more = f"<p>{left_out} more are in <code>equations_</code>.</p>" if left_out else ""
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse">'
        f"<thead><tr>{_cells('th', headings)}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"</div>{more}"
    )


def _cells(tag: str, contents: tuple[str, ...] | list[str]) -> str:
    ways = [("right", "nowrap" if tag == "td" else "normal")] * (len(contents) - 1)
    return "".join(
        f'<{tag} style="{CELL.format(*way)}">{content}</{tag}>'
        for way, content in zip([*ways, ("left", "normal")], contents, strict=True)
    )
