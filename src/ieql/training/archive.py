"""The archive: what the search remembers beyond the front, so that it does not get stuck.

Candidates are kept in cells by complexity and by the set of unit types at the output; the best few
of a cell stay. Two equations of equal size that are built differently do not push each other out.
Beside them the structures with the shortest descriptions of the data are kept, as rivals for the
choice in the end: with few rows an equation with fewer constants may be the better one although
another has a smaller error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.selection import Candidate, Front, description_length
from ieql.training.task import EXACT
from ieql.units import Unit

__all__ = ["Archive", "knees"]

PER_CELL = 2
MAX_SIZE = 400
SAME = 0.93
"""An equation of equal structure must have an error this much smaller to be another one."""
FAR = 1.5
"""Equations with this many times the error of a simpler one are hardly worth a visit."""
MOST_RIVALS = 40
ROUNDING = 1e-24
"""Mean squared error, of a target with spread one, that stands for none."""
PRICES = (4.0, 6.0, 9.0)
"""Twice the nats that a constant must explain in the rows to be worth it, where accuracy is asked
for: from little more than noise explains to what a shorter description asks for."""
PER_PRICE = 4
SPARE_ROWS = 3
"""Rows beyond its constants that an equation must explain to be called exact."""
Cell = tuple[int, frozenset[str], tuple[int, ...], bool]


def cell(
    expression: Expression, complexity: float, lines: tuple[int, ...] = (), is_step: bool = False
) -> Cell:
    """The cell of an expression: rounded complexity, the units that feed the output, its lines.

    Lines of trainings for accuracy do not push each other out: a mean of equations is the better,
    the less they have to do with each other. Nor do mere steps push out what may be shown.
    """
    types = frozenset(expression.source_name(i) for s in expression.outputs for i in s.sources)
    return round(complexity), types, lines, is_step


def _cell_of(c: Candidate) -> Cell:
    return cell(c.expression, c.complexity, c.lines, c.is_step)


class Archive:
    """Candidates by cell, the Pareto front of all of them, and the rivals for the choice.

    Parameters
    ----------
    candidates : iterable of Candidate
        To start with.
    n_rows : float
        Number of rows of their training errors: what a constant is worth depends on it.
    steered : bool
        Whether errors at points outside count in the search (`Task.steered`).

    Attributes
    ----------
    front : Front
        To choose from: what is better outside stands on it, too.
    inner : Front
        What the search goes by: the same, but without the points outside unless they steer it.
    steps : Front
        The best of what may not be shown, because it lacks an input, but be grown from. The mean of
        the target, if it is one, stands on the front as long as nothing else does.
    """

    def __init__(
        self,
        candidates: Iterable[Candidate] = (),
        n_rows: float = 1000.0,
        steered: bool = False,
    ) -> None:
        self._cells: dict[Cell, list[Candidate]] = {}
        self._rivals: dict[Any, tuple[float, Candidate]] = {}
        self.n_rows = n_rows
        self.front = Front()
        self.inner = self.front if steered else Front(outside=False)
        self.steps = Front(outside=False)
        for c in candidates:
            self.add(c)

    @classmethod
    def restored(
        cls,
        members: Iterable[Candidate],
        front: Iterable[Candidate],
        rivals: Iterable[Candidate] = (),
        n_rows: float = 1000.0,
        steered: bool = False,
    ) -> Archive:
        """An archive with just these members, in the order in which they were listed."""
        archive = cls(n_rows=n_rows, steered=steered)
        for c in rivals:
            archive._keep_rival(c)
        for c in members:
            archive._cells.setdefault(_cell_of(c), []).append(c)
            if c.is_step:
                archive.steps.add(c)
        archive.front.merge(front)
        archive.inner.merge(archive.front)
        return archive

    def to_form(self) -> dict[str, Any]:
        """Members in their order; those of the front by their place, or in full if they have none.

        Plain dictionaries, lists and numbers, with the constants to the last bit.
        """
        members = list(self)
        place = {id(c): k for k, c in enumerate(members)}
        return {
            "members": [c.to_form() for c in members],
            "front": [place[id(c)] if id(c) in place else c.to_form() for c in self.front],
            "rivals": [place[id(c)] if id(c) in place else c.to_form() for c in self.rivals],
            "n_rows": self.n_rows,
            "steered": self.inner is self.front,
        }

    @classmethod
    def from_form(cls, form: Mapping[str, Any], custom: Mapping[str, Unit]) -> Archive:
        """The inverse of `to_form`; `custom` are the user's own units, by name."""
        members = [Candidate.from_form(c, custom) for c in form["members"]]

        def listed(entries: Iterable[Any]) -> list[Candidate]:
            return [
                members[c] if isinstance(c, int) else Candidate.from_form(c, custom)
                for c in entries
            ]

        rivals = listed(form.get("rivals", ()))
        n_rows = float(form.get("n_rows", 1000.0))
        steered = bool(form.get("steered", False))
        return cls.restored(members, listed(form["front"]), rivals, n_rows, steered)

    def __iter__(self) -> Iterator[Candidate]:
        for members in self._cells.values():
            yield from members

    def __len__(self) -> int:
        return sum(len(members) for members in self._cells.values())

    def would_accept(
        self, expression: Expression, complexity: float, rmse_train: float, is_step: bool = False
    ) -> bool:
        """Whether a candidate with this training error would be kept."""
        if rmse_train > FAR * _bound(self.steps if is_step else self.inner, complexity):
            return False
        members = self._cells.get(cell(expression, complexity, (), is_step), [])
        skeleton = expression.skeleton
        if any(
            rmse_train > SAME * c.rmse_train and c.expression.skeleton == skeleton for c in members
        ):
            return False
        return len(members) < PER_CELL or rmse_train < max(c.rmse_train for c in members)

    def add(self, candidate: Candidate) -> bool:
        """Keep a candidate if it is among the best of its cell or on the front; True if kept."""
        if not math.isfinite(candidate.rmse_validation + candidate.rmse_train):
            return False
        on_front = self._add_step(candidate) if candidate.is_step else self._add_shown(candidate)
        members = self._cells.setdefault(_cell_of(candidate), [])
        if any(_alike(candidate, c) for c in members):
            return on_front
        members.append(candidate)
        members.sort(key=lambda c: c.rmse_train)
        dropped = members[PER_CELL:]
        del members[PER_CELL:]
        return on_front or candidate not in dropped

    def searches_with(self, candidate: Candidate) -> bool:
        """Whether a member is kept for the search, not only for its error at points outside."""
        members = self._cells.get(_cell_of(candidate), [])
        return any(c is candidate for c in (*self.inner, *self.steps, *members))

    def _add_shown(self, candidate: Candidate) -> bool:
        for front in (self.front, self.inner):
            if any(c.is_step for c in front):
                front.clear()
        on_front = self.front.add(candidate)
        self.inner.add(candidate)
        self._keep_rival(candidate)
        return on_front

    def _add_step(self, candidate: Candidate) -> bool:
        self.steps.add(candidate)
        if not len(self.front) and not candidate.expression.inputs_used:
            self.front.add(candidate)
            self.inner.add(candidate)
            return True
        return False

    @property
    def rivals(self) -> list[Candidate]:
        """The structures with the shortest descriptions, the shortest first."""
        return [c for _, c in sorted(self._rivals.values(), key=lambda entry: entry[0])]

    def length(self, candidate: Candidate) -> float:
        """The length of the description of the data by a candidate, as the search knows it."""
        length = description_length(
            self.n_rows,
            candidate.rmse_train**2 + ROUNDING,
            candidate.n_constants,
            candidate.complexity,
        )
        return length + candidate.wave_cost

    def _keep_rival(self, candidate: Candidate) -> None:
        # A law with an offset and the same law without it are two rivals.
        skeleton = (candidate.expression.skeleton, candidate.n_constants)
        length = self.length(candidate)
        if skeleton in self._rivals and self._rivals[skeleton][0] <= length:
            return
        if len(self._rivals) >= MOST_RIVALS and skeleton not in self._rivals:
            worst = max(self._rivals, key=lambda key: self._rivals[key][0])
            if self._rivals[worst][0] <= length:
                return
            del self._rivals[worst]
        self._rivals[skeleton] = (length, candidate)

    def known(self) -> list[Candidate]:
        """The members of all cells and of the front, each once."""
        return list({id(c): c for c in (*self.front, *self)}.values())

    def worth(self, candidate: Candidate, price: float) -> float:
        """Twice the nats that rows and constants take at a price per constant; less is better."""
        size = candidate.n_parameters + sum(s.bias != 0.0 for s in candidate.expression.sums)
        return self.n_rows * math.log(candidate.rmse_train**2 + ROUNDING) + price * size

    def worthwhile(
        self, prices: Sequence[float] = PRICES, known: Sequence[Candidate] | None = None
    ) -> list[Candidate]:
        """Those, of some or of all, that are most worth their constants: a few at each price."""
        known = self.known() if known is None else known
        best: dict[int, Candidate] = {}
        for price in prices:
            order = sorted(known, key=lambda c: (self.worth(c, price), c.complexity))
            best |= {id(c): c for c in order[:PER_PRICE]}
        return list(best.values())

    def best(self) -> float:
        """Least training error of all members."""
        return min((c.rmse_train for c in self), default=math.inf)

    @property
    def is_exact(self) -> bool:
        """Whether an equation leaves nothing but rounding, though it has rows to spare.

        With as many constants as rows anything is exact.
        """
        return any(
            c.rmse_train < EXACT and c.n_constants + SPARE_ROWS <= self.n_rows for c in self.inner
        )

    def input_chances(self, n_inputs: int, price: float = 0.03) -> NDArray[np.float64]:
        """How often to draw each input: more often if good equations use it.

        With few inputs it hardly matters; with many most are irrelevant, and this finds them out.
        """
        used = np.zeros(n_inputs)
        for c in knees(self.inner, price):
            share = 1.0 / max(len(c.expression.inputs_used), 1)
            for i, name in enumerate(c.expression.names):
                used[i] += share if name in c.expression.inputs_used else 0.0
        even = np.full(n_inputs, 1.0 / n_inputs)
        return 0.4 * even + 0.6 * used / used.sum() if used.sum() > 0 else even

    def shared(self) -> tuple[Candidate, ...]:
        """What is handed to other islands: the front and the most accurate members."""
        order = sorted(self, key=lambda c: (c.rmse_train, c.complexity))
        chosen = sorted(order, key=lambda c: c.is_step)[:MAX_SIZE]
        known = {id(c) for c in chosen}
        others = {id(c): c for c in (*self.inner, *self.rivals) if id(c) not in known}
        return (*others.values(), *chosen)


def _alike(a: Candidate, b: Candidate) -> bool:
    return a.n_parameters == b.n_parameters and math.isclose(
        a.rmse_train, b.rmse_train, rel_tol=1e-6
    )


def knees(front: Front, price: float = 0.03) -> list[Candidate]:
    """Members of a front that pay for themselves: log(error) falls by `price` per complexity.

    At the noise a front goes on with equations that are hardly better than simpler ones; they are
    no good parents.
    """
    kept: list[Candidate] = []
    for c in sorted(front, key=lambda c: (c.complexity, c.rmse_train)):
        if all(
            c.rmse_train < k.rmse_train * math.exp(-price * max(c.complexity - k.complexity, 1.0))
            for k in kept
        ):
            kept.append(c)
    return kept


def _bound(front: Iterable[Candidate], complexity: float) -> float:
    return min((c.rmse_train for c in front if c.complexity <= complexity), default=math.inf)
