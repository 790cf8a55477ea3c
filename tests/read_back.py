"""Printed equations as values again: LaTeX and MathML turned into the text that ieql parses."""

from __future__ import annotations

import re
from xml.etree import ElementTree

__all__ = ["from_latex", "from_mathml"]

SIGNS = {"−": "-", "\u2061": "", "\u2062": "*"}


def from_latex(text: str) -> str:
    """The text of an equation of inputs x1, x2, … from its LaTeX."""
    text = text.replace(r"\left", "").replace(r"\right", "").replace(r" \, ", "*")
    text = re.sub(r"x_\{(\d)\}", r"x\1", text)
    text = re.sub(r" \\cdot 10\^\{(-?\d+)\}", r"e\1", text)
    return _groups(re.sub(r"\b10\^\{(-?\d+)\}", r"1e\1", text))


def _groups(text: str) -> str:
    found, at = "", 0
    while at < len(text):
        if text.startswith(r"\frac{", at):
            upper, at = _group(text, at + 5)
            lower, at = _group(text, at)
            found += f"(({upper})/({lower}))"
        elif text.startswith(r"\sqrt{", at):
            inner, at = _group(text, at + 5)
            found += f"sqrt({inner})"
        elif text.startswith("^{", at):
            inner, at = _group(text, at + 1)
            found += f"**({inner})"
        else:
            found += text[at].replace("\\", "")
            at += 1
    return found


def _group(text: str, at: int) -> tuple[str, int]:
    """What stands between the brace at a place and its partner, and where that ends."""
    depth, end = 0, at
    while True:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
        if depth == 0:
            return _groups(text[at + 1 : end - 1]), end


def from_mathml(form: str) -> str:
    """The text of an equation of inputs x1, x2, … from its MathML, without a left-hand side."""
    text = _element(ElementTree.fromstring(form)).rpartition("=")[2]
    return text.replace("·1e", "e")


def _element(e: ElementTree.Element) -> str:
    kind = e.tag.rpartition("}")[2]
    parts = [_element(child) for child in e]
    if kind == "mfrac":
        return "(({})/({}))".format(*parts)
    if kind == "msup":
        return f"1e{parts[1]}" if parts[0] == "10" else "{}**({})".format(*parts)
    if kind == "msqrt":
        return f"sqrt({''.join(parts)})"
    if parts:
        return "".join(parts)
    return SIGNS.get(e.text or "", e.text or "")
