"""What is proved of an equation in the whole declared domain, and the certificate of it.

`prove` decides, by interval branch and bound, whether every unit is defined and the output finite,
between which values the output lies, and whether it keeps to every limit of the prior's `shape`.
What is proved can be handed on: `Proof.save` writes a file of boxes, from which the file
`check_certificate.py`, which knows nothing of ieql, finds the proof again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.check_certificate import digest
from ieql.equations.branching import ProofEffort, ProofStep
from ieql.equations.expression import Expression
from ieql.equations.limit_proof import LimitVerdict, decide
from ieql.equations.proof import FINITE, WORK, Verdict
from ieql.equations.proof import prove as prove_safety
from ieql.errors import IeqlError
from ieql.files import save_text
from ieql.shape import AT_LEAST, AT_MOST, Limit

__all__ = ["Proof", "prove"]

Array = NDArray[np.float64]
MARGINS = (1.0, 0.1, 1e-2, 1e-3, 1e-6)
"""Parts of the output's range by which proved bounds may lie beyond it: the last that is shown."""
BOUNDS_WORK = 60_000
"""Work for each of them (`ProofEffort`): where the output is largest along a whole curve, closer
bounds take ever more boxes, which others have to check."""
MOST_TRIES = 30
MOST_OPEN = 1_000
"""Boxes that are listed, where many are left open."""


@dataclass(frozen=True)
class Proof:
    """What is known of an equation in the whole declared domain.

    Attributes
    ----------
    equation : str
        The equation, as text.
    safe : bool or None
        True if it is proved that every unit is defined and the output finite in the whole domain,
        False if `counterexample` shows that it is not so, None if neither could be shown.
    bounds : (low, high) or None
        Values between which the output is proved to lie; None if it is not proved to be safe.
    limits : mapping of str to bool or None
        The same for each limit of the prior's shape: ``{"increasing in load": True}``.
    counterexample : mapping of str to float, or None
        A point where the equation is not safe or, if it is, where the first limit that does not
        hold is broken.
    open_boxes : tuple of mappings of str to (low, high)
        Boxes of the domain for which something is left open.
    domain : mapping of str to (low, high)
        The domain.
    """

    equation: str
    safe: bool | None
    bounds: tuple[float, float] | None
    limits: Mapping[str, bool | None]
    counterexample: Mapping[str, float] | None
    open_boxes: tuple[Mapping[str, tuple[float, float]], ...]
    domain: Mapping[str, tuple[float, float]]
    expression: Expression = field(repr=False)
    steps: tuple[ProofStep, ...] = field(default=(), repr=False)

    @property
    def proved(self) -> bool:
        """Whether it is proved to be safe and to keep to all limits."""
        return self.safe is True and all(found is True for found in self.limits.values())

    def sentences(self) -> list[str]:
        """What is known, in sentences."""
        where = _in_words(self.counterexample)
        if self.safe is False:
            return [f"It is not safe: a unit is undefined, or the output not finite, at {where}."]
        if self.safe is None:
            return [
                "It is safe at all points that were tried; a proof for the whole domain was not "
                "found."
            ]
        assert self.bounds is not None
        low, high = self.bounds
        found = [
            "Every unit is defined in the whole domain: proved.",
            f"The output lies between {low:.6g} and {high:.6g}: proved.",
        ]
        refuted = [text for text, holds in self.limits.items() if holds is False]
        for text, holds in self.limits.items():
            said = {True: "proved", False: "it is NOT so", None: "open"}[holds]
            at = f", see {where}" if refuted and text == refuted[0] else ""
            found.append(f"It is {text}: {said}{at}.")
        return found

    def certificate(self) -> dict[str, Any]:
        """The proof as plain lists, mappings and numbers: all that is proved, with its boxes."""
        if self.safe is not True:
            raise IeqlError(
                "There is no certificate: the equation is not proved to be safe in the whole "
                "domain; `sentences()` says what is known."
            )
        own = {node.unit.name for node in self.expression.nodes if node.unit.is_custom}
        if own:
            raise IeqlError(
                "There is no certificate: the checker does not know units of your own "
                f"({', '.join(sorted(own))})."
            )
        names = self.expression.names
        form: dict[str, Any] = {
            "kind": "ieql certificate",
            "format": 1,
            "equation": self.equation,
            "expression": self.expression.to_dict(),
            "domain": {name: list(self.domain[name]) for name in names},
            "not_proved": [text for text, holds in self.limits.items() if holds is not True],
            "claims": [
                {
                    **step.claim,
                    "inputs": [names[i] for i in step.inputs],
                    "boxes": [box for part in step.leaves.decided for box in _boxes(*part)],
                }
                for step in self.steps
            ],
        }
        return {**form, "sha256": digest(form)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate, which ``check_certificate.py`` checks."""
        save_text(path, json.dumps(self.certificate(), allow_nan=False) + "\n")


def _boxes(lower: Array, upper: Array) -> Iterator[list[list[float]]]:
    """Boxes as lists of pairs."""
    for k in range(lower.shape[1]):
        yield [[float(a), float(b)] for a, b in zip(lower[:, k], upper[:, k], strict=True)]


def _in_words(point: Mapping[str, float] | None) -> str:
    return "" if point is None else ", ".join(f"{name} = {x:.6g}" for name, x in point.items())


def prove(
    expression: Expression,
    domain: Mapping[str, tuple[float, float]],
    limits: Sequence[Limit] = (),
    seconds: float = 2.0,
    work: float = WORK,
) -> Proof:
    """Prove what can be proved of an equation in a domain.

    Parameters
    ----------
    expression : Expression
        With one output.
    domain : mapping of str to (low, high)
        The ends of every input.
    limits : sequence of Limit
        What it is to keep to.
    seconds, work
        What may be spent on it, see `ieql.equations.proof.prove`.
    """
    lower, upper = np.array([domain[name] for name in expression.names], dtype=float).T
    verdict = prove_safety(expression, lower, upper, seconds=0.5 * seconds, work=work, record=True)
    steps, bounds = list(verdict.steps), None
    found: list[LimitVerdict] = []
    if verdict.proved:
        deadline = ProofEffort.of(work, 0.2 * seconds).deadline
        bounds, shown = _proved_bounds(expression, lower, upper, verdict, deadline)
        steps = [step for step in steps if step.claim["kind"] not in (AT_LEAST, AT_MOST)] + shown
        budget = ProofEffort.of(work, 0.3 * seconds)
        for limit in limits:
            found.append(decide(expression, lower, upper, limit, budget, verdict.known))
            steps += found[-1].steps
    known = {limit.text: None for limit in limits} | {v.limit.text: v.proved for v in found}
    points = [verdict.point, *(v.point for v in found)]
    point = next((p for p in points if p is not None), None)
    left = (*verdict.undecided, *(part for v in found for part in v.undecided))
    return Proof(
        expression.text(),
        verdict.proved,
        bounds,
        known,
        None if point is None else dict(zip(expression.names, point.tolist(), strict=True)),
        tuple(_open_boxes(expression.names, left)),
        {name: (float(low), float(high)) for name, (low, high) in domain.items()},
        expression,
        tuple(steps),
    )


def _proved_bounds(
    expression: Expression, lower: Array, upper: Array, verdict: Verdict, deadline: float
) -> tuple[tuple[float, float], list[ProofStep]]:
    """Bounds of the output a little beyond the values that were met, as close as is proved."""
    met = {AT_LEAST: verdict.low, AT_MOST: verdict.high}
    ends: list[float] = []
    steps: list[ProofStep] = []
    for kind, sign in ((AT_LEAST, -1.0), (AT_MOST, 1.0)):
        # To be finite was shown along with safety.
        value = sign * FINITE
        own = tuple(step for step in verdict.steps if step.claim["kind"] == kind)
        margins = list(MARGINS)
        for _ in range(MOST_TRIES):
            largest = max(abs(end) for end in met.values())
            width = max(met[AT_MOST] - met[AT_LEAST], 1e-9 * largest, 1e-300)
            trial = Limit(kind, value=met[kind] + sign * margins[0] * width)
            budget = ProofEffort(BOUNDS_WORK, deadline)
            shown = decide(expression, lower, upper, trial, budget, verdict.known)
            if shown.point is not None:  # the output goes further than was known
                met[kind] = float(expression.evaluate(shown.point[None, :])[0, 0])
            elif shown.proved:
                value, own = trial.value, shown.steps
                margins.pop(0)
            if not margins or (shown.point is None and not shown.proved):
                break
        ends.append(value)
        steps += own
    return (ends[0], ends[1]), steps


def _open_boxes(
    names: Sequence[str], parts: Sequence[tuple[tuple[int, ...], Array, Array]]
) -> Iterator[dict[str, tuple[float, float]]]:
    n = 0
    for inputs, lower, upper in parts:
        for box in _boxes(lower, upper):
            if n == MOST_OPEN:
                return
            n += 1
            yield {names[i]: (low, high) for i, (low, high) in zip(inputs, box, strict=True)}
