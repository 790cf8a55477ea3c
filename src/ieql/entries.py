"""What stands under a key of a prior, checked: lists of names, mappings and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from ieql.errors import IeqlError, shown

__all__ = ["as_count", "as_finite", "as_mapping", "as_strings", "refuse_duplicates"]


def as_strings(value: object, where: str) -> tuple[str, ...]:
    """A list of names."""
    if not isinstance(value, list | tuple):
        raise IeqlError(f"{where}: give a list of names, not {shown(value)}.")
    for name in value:
        if not isinstance(name, str):
            raise IeqlError(f"{where}: {shown(name)} is not a name.")
    return tuple(value)


def as_mapping(value: object, where: str) -> Mapping[Any, Any]:
    """A mapping."""
    if not isinstance(value, Mapping):
        raise IeqlError(f"{where}: give a mapping of names, not {shown(value)}.")
    return value


def as_count(value: object, where: str) -> int | None:
    """A whole number of at least one, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise IeqlError(f"{where}: give a whole number of at least 1, not {shown(value)}.")
    return int(value)


def as_finite(value: object) -> float | None:
    """A finite number; None if it is not one."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def refuse_duplicates(names: Sequence[str], where: str) -> None:
    """Refuse a name that is given twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise IeqlError(f"{where}: {shown(name)} is given twice; remove one of them.")
        seen.add(name)
