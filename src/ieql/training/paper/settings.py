"""The numbers of the paper's training (appendix "Training")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ieql.errors import IeqlError, nearest
from ieql.training.paper.gates import LIMIT, SHUT

__all__ = ["PaperSettings"]

GOLDEN = 0.6180339887498949
"""Multiples of it, without their whole part, never come close to each other."""


@dataclass(frozen=True)
class PaperSettings:
    """Numbers of the paper's training; `published` and `short` are ready-made ones."""

    layers: int = 4
    copies: int = 4
    first_epochs: int = 2000
    """T1: epochs of the first phase; 0 skips it, as the paper does for the ambiguous data."""
    epochs: int = 10_000
    """T2: epochs of the second phase."""
    n_strengths: int = 78
    exponents: tuple[float, float] = (-5.0, 0.0)
    """λ = 10^k with k from the first to the second in equal steps."""
    batch: int = 100
    """The paper does not say; its authors used 20 elsewhere."""
    rate: float = 1e-3
    beta1: float = 0.4
    beta2: float = 0.999
    epsilon: float = 1e-8
    delta: float = 1.0
    """Penalty strength δ."""
    bound: float = 10.0
    """Bound B of the output, in the unit of y. The paper scales tables whose values go beyond it
    (its two machines); for these it is in units of the output's spread."""
    penalty_points: int = 100
    gate_limit: float = LIMIT
    """log α is kept in ± this; the paper has no limit, the authors of the L0 norm have 4.6."""
    open_gates: bool = False
    """Whether all gates stay open in the first phase. The paper says "without regularization"; here
    the gates are drawn from the start and only λ is zero. Trained with open gates, a network falls
    apart at the first step of the second phase, which halves every weight."""
    shared_start: bool = False
    """Whether all networks of a sweep go on from one first phase, which saves time, but leaves them
    with the same merits and the same mistakes; else each has a random start and a first phase of
    its own."""
    restarts: bool = False
    """Whether the time that a limit leaves goes into further sweeps, from other random starts and
    with strengths between those of the first; else one sweep is all."""
    joint: bool = True
    """Whether one network learns all outputs, as in the paper, or each has a network of its own."""

    @classmethod
    def published(cls) -> PaperSettings:
        """As the paper says: about six thousand weights, 12,000 epochs, 78 strengths; hours."""
        return cls()

    @classmethod
    def short(cls) -> PaperSettings:
        """A reduction for a laptop: fewer units, fewer and larger steps, 12 strengths.

        Further strengths follow, from other random starts, as long as there is time.
        """
        return cls(
            copies=2,
            first_epochs=100,
            epochs=400,
            n_strengths=12,
            exponents=(-3.5, -0.5),
            rate=4e-3,
            shared_start=True,
            restarts=True,
        )

    @classmethod
    def of(cls, given: Mapping[str, Any] | PaperSettings) -> PaperSettings:
        """Checked settings, made of a mapping; what it does not name is as published."""
        if isinstance(given, PaperSettings):
            return given.checked()
        names = [f.name for f in fields(cls)]
        for name in given:
            if name not in names:
                raise IeqlError(
                    f"The paper's trainer has no setting {name!r}; the choices are "
                    f"{', '.join(names)}.{nearest(str(name), names)}"
                )
        values = dict(given)
        if isinstance(values.get("exponents"), list):
            values["exponents"] = tuple(values["exponents"])  # as JSON gives it
        return cls(**values).checked()

    @property
    def strengths(self) -> tuple[float, ...]:
        """The regularisation strengths λ of the sweep, from weak to strong."""
        return tuple((10.0 ** np.linspace(*self.exponents, self.n_strengths)).tolist())

    def strength(self, number: int) -> float:
        """The strength of a model: those of further sweeps lie between those of the first."""
        again, place = divmod(number, self.n_strengths)
        if again == 0:
            return self.strengths[place]
        low, high = self.exponents
        between = (place + again * GOLDEN % 1.0) / self.n_strengths
        return float(10.0 ** (low + between * (high - low)))

    @property
    def first_strength(self) -> float | None:
        """The strength of the first phase: none, with gates or without."""
        return None if self.open_gates else 0.0

    def checked(self) -> PaperSettings:
        """These settings, or a sentence that says which of them makes no sense."""
        least = {
            "layers": 1, "copies": 1, "epochs": 1, "n_strengths": 1, "batch": 1,
            "first_epochs": 0, "penalty_points": 0,
        }  # fmt: skip
        for name, smallest in least.items():
            value: Any = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < smallest:
                raise IeqlError(
                    f"{name} must be a whole number of at least {smallest}, not {value!r}."
                )
        for name in ("rate", "beta1", "beta2", "epsilon", "delta", "bound", "gate_limit"):
            value = getattr(self, name)
            if not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
                raise IeqlError(f"{name} must be a number and not negative, not {value!r}.")
        if self.gate_limit < SHUT:
            raise IeqlError(
                f"gate_limit must be at least {SHUT:.3g}, not {self.gate_limit!r}: with less no "
                "gate can shut, and no weight is removed."
            )
        for name in ("open_gates", "shared_start", "restarts", "joint"):
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_):
                raise IeqlError(f"{name} must be True or False, not {value!r}.")
        low_high: Any = self.exponents
        if (
            not isinstance(low_high, tuple)
            or len(low_high) != 2
            or not all(isinstance(k, int | float) and abs(k) < 300 for k in low_high)
        ):
            raise IeqlError(f"exponents must be two numbers, not {low_high!r}.")
        return self
