"""What is known of the shape of the output: bounds, slopes, curvature and symmetry.

All of it holds on the whole declared domain. The search leaves out what breaks a limit at sampled
points, and every limit is proved before an equation is shown (`ieql.equations.limit_proof`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from ieql.entries import as_finite, as_mapping, as_strings, refuse_duplicates
from ieql.errors import IeqlError, nearest, shown

__all__ = ["AT_LEAST", "AT_MOST", "Limit", "Shape"]

AT_LEAST, AT_MOST = "at least", "at most"
SIGNS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"positive": (0.0, math.inf), "negative": (-math.inf, 0.0)}
)
OPPOSITES = (
    ("increasing", "decreasing", "in both directions the output does not change at all"),
    ("convex", "concave", "both at once is a straight line"),
    ("even", "odd", "both at once is zero"),
    ("even", "increasing", "an even output falls on one side"),
    ("even", "decreasing", "an even output rises on one side"),
)
"""Words that one input cannot have together, and why."""
SLOPES = ("increasing", "decreasing", "convex", "concave", "even", "odd")
KEYS = ("bounds", "sign", *SLOPES, "at")


@dataclass(frozen=True)
class Limit:
    """One thing that an equation must keep to in the whole domain.

    Attributes
    ----------
    kind : str
        ``"at least"`` or ``"at most"`` a value, or one of the words of `SLOPES`.
    column : str or None
        The input it is about; None for a bound everywhere.
    value : float
        The bound.
    place : float or None
        The value of the input where the bound holds; None: everywhere.
    """

    kind: str
    column: str | None = None
    value: float = 0.0
    place: float | None = None

    def scaled(self, inputs: Mapping[str, float], output: float) -> Limit:
        """The same limit where inputs and output are divided by positive numbers."""
        place = self.place
        if self.column is not None and place is not None:
            place /= inputs[self.column]
        return replace(self, value=self.value / output, place=place)

    @property
    def text(self) -> str:
        """The limit in a few words, such as ``increasing in load``."""
        if self.kind not in (AT_LEAST, AT_MOST):
            return f"{self.kind} in {self.column}"
        bound = f"{self.kind} {self.value:.12g}"
        return bound if self.place is None else f"{bound} at {self.column} = {self.place:.12g}"


@dataclass(frozen=True)
class Shape:
    """Limits of the output on the declared domain, as in the prior's ``shape``.

    Parameters
    ----------
    bounds : (low, high)
        Between which values the output lies, both included; infinite where there is no bound.
    increasing, decreasing, convex, concave, even, odd : tuple of str
        Inputs in which the output is so, whatever the others are. A constant is both increasing and
        decreasing, a straight line both convex and concave.
    at : mapping of str to mapping of float to (low, high)
        Bounds where an input has one value: ``{"speed": {0.0: (0.0, 0.0)}}`` says that the output
        is zero at standstill.
    """

    bounds: tuple[float, float] = (-math.inf, math.inf)
    increasing: tuple[str, ...] = ()
    decreasing: tuple[str, ...] = ()
    convex: tuple[str, ...] = ()
    concave: tuple[str, ...] = ()
    even: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()
    at: Mapping[str, Mapping[float, tuple[float, float]]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: object) -> Shape:
        """Read and check the mapping under ``shape``; a shape stays as it is."""
        if isinstance(given, Shape):
            return given
        mapping = as_mapping({} if given is None else given, "shape")
        for key in mapping:
            if key not in KEYS:
                hint = nearest(str(key), KEYS) or f" Valid keys: {', '.join(KEYS)}."
                raise IeqlError(f"shape: unknown key {shown(key)}.{hint}")
        words = {}
        for word in SLOPES:
            names = as_strings(mapping.get(word) or (), f"shape, {word}")
            refuse_duplicates(names, f"shape, {word}")
            words[word] = names
        for one, other, why in OPPOSITES:
            for name in words[one]:
                if name in words[other]:
                    raise IeqlError(
                        f"shape: {shown(name)} stands under both {one!r} and {other!r}, and {why}; "
                        "remove one of them."
                    )
        bounds = _bounds_of(mapping)
        at = {
            _name(column): {
                _place(place, column): _pair(pair, f"shape, at {column} = {place}", bounds)
                for place, pair in as_mapping(places, f"shape, at, {shown(column)}").items()
            }
            for column, places in as_mapping(mapping.get("at") or {}, "shape, at").items()
        }
        for word, sign in (("increasing", 1.0), ("decreasing", -1.0)):
            for name in words[word]:
                _refuse_wrong_way(word, sign, name, at.get(name, {}))
        frozen = {c: MappingProxyType(places) for c, places in at.items() if places}
        return cls(bounds, at=MappingProxyType(frozen), **words)

    def __bool__(self) -> bool:
        return bool(self.limits)

    def __hash__(self) -> int:
        return hash(self.limits)

    def __reduce__(self) -> tuple[Any, ...]:
        return Shape.of, (self.to_dict(),)  # mapping proxies do not pickle

    @property
    def limits(self) -> tuple[Limit, ...]:
        """All limits, one by one."""
        found = list(_bound_limits(self.bounds))
        found += [Limit(word, name) for word in SLOPES for name in getattr(self, word)]
        for column, places in self.at.items():
            for place, pair in places.items():
                found += _bound_limits(pair, column, place)
        return tuple(found)

    @property
    def columns(self) -> tuple[str, ...]:
        """The inputs that limits are about."""
        names = [limit.column for limit in self.limits if limit.column is not None]
        return tuple(dict.fromkeys(names))

    def check_columns(self, names: Iterable[str]) -> None:
        """Refuse limits about inputs that are not among the data's `names`."""
        names = list(names)
        for column in self.columns:
            if column not in names:
                raise IeqlError(
                    f"The prior's shape names the input {shown(column)}, which is not a column of "
                    f"the data.{nearest(column, names)}"
                )

    def within(self, bound: float | None) -> tuple[float, float] | None:
        """The bounds, narrowed by the paper's bound B; None if there are none."""
        low, high = self.bounds
        if bound is not None:
            low, high = max(low, -bound), min(high, bound)
        return None if (low, high) == (-math.inf, math.inf) else (low, high)

    def check_domain(self, domain: Mapping[str, tuple[float, float]]) -> None:
        """Refuse limits that say nothing on the declared domain."""
        for word in ("even", "odd"):
            for name in getattr(self, word):
                low, high = domain[name]
                if not low < 0.0 < high:
                    raise IeqlError(
                        f"shape, {word}: the domain of {shown(name)}, {low:g} to {high:g}, does "
                        "not reach to both sides of zero; declare a domain that does, or leave "
                        "the limit out."
                    )
        for name, places in self.at.items():
            low, high = domain[name]
            for place in places:
                if not low <= place <= high:
                    raise IeqlError(
                        f"shape, at: {shown(name)} = {place:g} lies outside its domain, {low:g} to "
                        f"{high:g}; declare a domain that holds it."
                    )

    def words(self) -> list[str]:
        """The limits in plain sentences."""
        return [f"the output is {limit.text}" for limit in self.limits]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, mappings and numbers from which `of` makes an equal shape."""
        form: dict[str, Any] = {}
        if self.bounds != (-math.inf, math.inf):
            form["bounds"] = _plain(self.bounds)
        form |= {word: list(getattr(self, word)) for word in SLOPES if getattr(self, word)}
        if self.at:
            form["at"] = {
                column: {_short(place): _plain(pair) for place, pair in places.items()}
                for column, places in self.at.items()
            }
        return form


def _bound_limits(
    pair: tuple[float, float], column: str | None = None, place: float | None = None
) -> list[Limit]:
    return [
        Limit(kind, column, value, place)
        for kind, value in zip((AT_LEAST, AT_MOST), pair, strict=True)
        if math.isfinite(value)
    ]


def _refuse_wrong_way(
    word: str, sign: float, name: str, at: Mapping[float, tuple[float, float]]
) -> None:
    """Refuse values at two places between which the output would have to go the other way."""
    places = sorted(at)
    for one, other in itertools.combinations(places, 2):
        first, last = (one, other) if sign > 0 else (other, one)
        if at[first][0] > at[last][1]:
            raise IeqlError(
                f"shape: the output is to be {word} in {shown(name)}, but at least "
                f"{at[first][0]:g} at {first:g} and at most {at[last][1]:g} at {last:g}; change "
                "one of them."
            )


def _bounds_of(mapping: Mapping[Any, Any]) -> tuple[float, float]:
    """The bounds, which a sign may narrow."""
    low, high = -math.inf, math.inf
    if mapping.get("bounds") is not None:
        low, high = _pair(mapping["bounds"], "shape, bounds")
        if low == high:
            raise IeqlError(f"shape, bounds: both are {low:g}, so there is nothing to learn.")
    sign = mapping.get("sign")
    if sign is not None:
        if sign not in SIGNS:
            raise IeqlError(f"shape, sign: give 'positive' or 'negative', not {shown(sign)}.")
        low, high = max(low, SIGNS[sign][0]), min(high, SIGNS[sign][1])
        if not low < high:
            raise IeqlError(
                f"shape: no value within the bounds is {sign}; change 'bounds' or 'sign'."
            )
    return low, high


def _pair(
    value: object, where: str, within: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[float, float]:
    """Two ends of which one may be missing, or one number for both."""
    alone = as_finite(value)
    given = [alone, alone] if alone is not None else value
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise IeqlError(f"{where}: give [low, high], with null for no bound, not {shown(value)}.")
    ends = []
    for end, unbounded in zip(given, (-math.inf, math.inf), strict=True):
        number = unbounded if end is None or end == unbounded else as_finite(end)
        if number is None:
            raise IeqlError(f"{where}: {shown(end)} is not a number.")
        ends.append(number)
    low, high = ends
    if low > high:
        raise IeqlError(f"{where}: {low:g} is above {high:g}; give the lower end first.")
    if low > within[1] or high < within[0]:
        raise IeqlError(
            f"{where}: {low:g} to {high:g} lies outside the bounds {within[0]:g} to {within[1]:g}."
        )
    return low, high


def _name(column: object) -> str:
    if not isinstance(column, str):
        raise IeqlError(f"shape, at: put the column name {shown(column)} in quotes.")
    return column


def _place(place: object, column: object) -> float:
    number = as_finite(place)
    if number is None and isinstance(place, str):  # keys of JSON are texts
        try:
            number = as_finite(float(place))
        except ValueError:
            number = None
    if number is None:
        raise IeqlError(f"shape, at, {shown(column)}: {shown(place)} is not a number.")
    return number


def _plain(pair: tuple[float, float]) -> list[float | None]:
    return [_short(end) if math.isfinite(end) else None for end in pair]


def _short(value: float) -> float:
    """Whole numbers as int, so that they are written as ``2`` and not ``2.0``."""
    return int(value) if value.is_integer() and abs(value) < 1e15 else value
