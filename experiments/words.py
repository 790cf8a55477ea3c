"""Numbers and tables in Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["number", "paper_number", "ranged", "table"]


def number(value: float | None) -> str:
    """Three figures, at most four decimals; what is missing or not finite is infinite."""
    if value is None or not math.isfinite(value):
        return "∞"
    if value >= 1e5:
        return f"{value:.1e}"
    if value >= 100 or value == round(value):
        return f"{value:.0f}"
    decimals = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.{min(4, max(0, decimals))}f}"


def ranged(row: Mapping[str, Any], key: str) -> str:
    """Median with least and largest in brackets, where there is more than one run."""
    middle = number(row[f"{key}_median"])
    if row["runs"] == 1:
        return middle
    return f"{middle} ({number(row[f'{key}_min'])}–{number(row[f'{key}_max'])})"


def paper_number(value: tuple[float, float, float] | None) -> str:
    """A number of the paper as it is printed there."""
    if value is None:
        return "–"
    middle, low, high = (f"{v:g}" if math.isfinite(v) else "∞" for v in value)
    return middle if low == middle == high else f"{middle} ({low}–{high})"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
