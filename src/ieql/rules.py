"""Rules about an equation as a whole: which inputs it needs, and how many units it may have.

The paper's expert inputs are about single connections (section "Architecture", equation
"prohibited_components"); these are about what stands in an equation at all.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ieql.errors import IeqlError, shown

__all__ = ["WHOLE_KEYS", "Rules"]

WHOLE_KEYS = ("require", "together", "apart", "max_units")
Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Rules:
    """What holds for every equation as a whole.

    Attributes
    ----------
    require : tuple of str
        Inputs that every equation has.
    together : tuple of tuples of str
        Of each of these lists an equation has all inputs or none.
    apart : tuple of tuples of str
        Of each of these lists an equation has one input at most.
    max_units : int or None
        Units that an equation has at most.
    """

    require: tuple[str, ...] = ()
    together: Groups = ()
    apart: Groups = ()
    max_units: int | None = None

    @classmethod
    def checked(
        cls,
        require: object,
        together: object,
        apart: object,
        max_units: int | None,
        excluded: Collection[str] = (),
    ) -> Rules:
        """The rules, if they are well-formed and an equation can keep all of them.

        `excluded` are the inputs that no equation may have.
        """
        rules = cls(
            _names(require, "require"),
            _groups(together, "together"),
            _groups(apart, "apart"),
            max_units,
        )
        rules._refuse_contradictions(excluded)
        return rules

    def __bool__(self) -> bool:
        return bool(self.require or self.together or self.apart or self.max_units is not None)

    @property
    def names(self) -> Iterator[tuple[str, str]]:
        """Every input that a rule names, with the key under which it stands."""
        for name in self.require:
            yield "require", name
        for key, groups in (("together", self.together), ("apart", self.apart)):
            for group in groups:
                yield from ((key, name) for name in group)

    def are_kept_by(self, inputs: Collection[str], n_units: int) -> bool:
        """Whether an equation with these inputs and so many units keeps all rules."""
        if self.max_units is not None and n_units > self.max_units:
            return False
        used = set(inputs)
        return (
            used.issuperset(self.require)
            and all(used.isdisjoint(g) or used.issuperset(g) for g in self.together)
            and all(len(used.intersection(g)) <= 1 for g in self.apart)
        )

    def missing(self, inputs: Collection[str]) -> list[str]:
        """The inputs that an equation with these lacks: required, or together with one it has."""
        used = set(inputs)
        groups = [group for group in self.together if used.intersection(group)]
        wanted = dict.fromkeys((*self.require, *(name for group in groups for name in group)))
        return [name for name in wanted if name not in used]

    def choices(self, most: int) -> list[frozenset[str]]:
        """Which inputs may be left out so that no two of the others must stay apart.

        One set for each way to choose an input of every list under `apart`; at most so many.
        """
        found: dict[frozenset[str], None] = {}
        for kept in itertools.islice(itertools.product(*self.apart), most * most):
            left_out = {n for group in self.apart for n in group} - set(kept)
            # Of a group that stands together the others are of no use then.
            left_out |= {
                n for group in self.together if left_out.intersection(group) for n in group
            }
            if left_out.isdisjoint(self.require):
                found.setdefault(frozenset(left_out))
        return list(found)[:most]

    def words(self) -> list[str]:
        """The rules in plain sentences."""
        lines = [f"every equation has {name}" for name in self.require]
        lines += [f"{_listed(group)} appear together or not at all" for group in self.together]
        lines += [f"at most one of {_listed(group)} appears" for group in self.apart]
        if self.max_units is not None:
            units = "one unit" if self.max_units == 1 else f"{self.max_units} units"
            lines.append(f"every equation has at most {units}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Those that are set, as plain lists and numbers."""
        found: dict[str, Any] = {"require": list(self.require)} if self.require else {}
        for key, groups in (("together", self.together), ("apart", self.apart)):
            if groups:
                found[key] = [list(group) for group in groups]
        if self.max_units is not None:
            found["max_units"] = self.max_units
        return found

    def _refuse_contradictions(self, excluded: Collection[str]) -> None:
        for group in self.together:
            for other in self.apart:
                both = [name for name in group if name in other]
                if len(both) > 1:
                    raise IeqlError(
                        f"The prior says that {_listed(both)} appear together and that they "
                        "stay apart; remove one of the two rules."
                    )
        needed = self._needed()
        for name, reason in needed.items():
            if name in excluded:
                raise IeqlError(
                    f"The prior requires input {shown(name)}{reason}, but excludes it under "
                    "'inputs'; remove one of the two rules."
                )
        for group in self.apart:
            both = [name for name in group if name in needed]
            if len(both) > 1:
                raise IeqlError(
                    f"The prior requires both {_listed(both)}, but under 'apart' an "
                    "equation may have only one of them; remove one of the two rules."
                )

    def _needed(self) -> Mapping[str, str]:
        """The inputs that every equation has, those that stand together with one included.

        With each comes why, for a message.
        """
        needed = dict.fromkeys(self.require, "")
        for _ in self.together:  # a group may bring another with it
            for group in self.together:
                first = next((name for name in group if name in needed), None)
                if first is not None:
                    for name in group:
                        needed.setdefault(name, f" (together with {shown(first)})")
        return needed


def _names(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise IeqlError(f"{where}: give a list of inputs, not {shown(value)}.")
    for name in value:
        if not isinstance(name, str):
            raise IeqlError(f"{where}: {shown(name)} is not the name of an input.")
    for place, name in enumerate(value):
        if name in value[:place]:
            raise IeqlError(f"{where}: {shown(name)} is given twice; remove one of them.")
    return tuple(value)


def _groups(value: object, where: str) -> Groups:
    """Lists of inputs; a single list may stand alone."""
    if not isinstance(value, list | tuple):
        raise IeqlError(f"{where}: give lists of inputs, not {shown(value)}.")
    if value and all(isinstance(name, str) for name in value):
        value = [value]
    groups = tuple(_names(group, where) for group in value)
    for group in groups:
        if len(group) < 2:
            raise IeqlError(f"{where}: {shown(list(group))} must name at least two inputs.")
    return groups


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
