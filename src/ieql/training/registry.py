"""The registry of trainers: their names, what they are, and how they are made.

Nothing of the training is loaded to list them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import TYPE_CHECKING, Any

from ieql.errors import IeqlError, nearest, shown
from ieql.plugins import load_plugins

if TYPE_CHECKING:
    from ieql.training.trainers import Trainer

__all__ = ["TRAINERS", "TrainerEntry", "register_trainer", "trainer_of"]


@dataclass(frozen=True)
class TrainerEntry:
    """A trainer by its name.

    Attributes
    ----------
    name : str
        What the parameter ``trainer`` and the option ``--trainer`` call it.
    sentence : str
        What it is, in a few words, for help and messages.
    make : callable
        Makes it from a mapping of settings, or from None where none were given.
    """

    name: str
    sentence: str
    make: Callable[[Mapping[str, Any] | None], Trainer]


TRAINERS: dict[str, TrainerEntry] = {}
"""All trainers by name, in the order in which messages list them."""
SETTINGS_OF = "paper"
"""The trainer that a mapping of settings without a name is meant for."""


def register_trainer(
    name: str, sentence: str, make: Callable[[Mapping[str, Any] | None], Trainer]
) -> TrainerEntry:
    """Add a trainer to the registry; a name that is taken is refused."""
    if name in TRAINERS:
        raise IeqlError(f"There is already a trainer {name!r}; choose another name.")
    TRAINERS[name] = TrainerEntry(name, sentence, make)
    return TRAINERS[name]


def trainer_of(given: Any) -> Trainer:
    """The trainer meant by a name, by settings (a mapping or a dataclass), or the trainer itself.

    A mapping may have the key ``name``; without, it holds settings of the paper's trainer.
    """
    from ieql.training.trainers import Trainer

    if isinstance(given, Trainer):
        return given
    settings: Mapping[str, Any] | None = None
    if is_dataclass(given) and not isinstance(given, type):
        given = asdict(given)
    if isinstance(given, Mapping):
        settings = {key: value for key, value in given.items() if key != "name"}
        given = given.get("name", SETTINGS_OF)
    if not isinstance(given, str):
        raise IeqlError(f"trainer must be a name or settings, not {shown(given)}.")
    if given not in TRAINERS:
        load_plugins()
    if given not in TRAINERS:
        raise IeqlError(
            f"There is no trainer {shown(given)}; the choices are {', '.join(TRAINERS)}."
            f"{nearest(given, TRAINERS)}"
        )
    return TRAINERS[given].make(settings)


def _fast(settings: Mapping[str, Any] | None) -> Trainer:
    from ieql.training.fast.search import FastTrainer

    given = dict(settings or {})
    steered = given.pop("steered", False)
    if given:
        raise IeqlError(
            f"The trainer 'fast' has no setting {shown(next(iter(given)))}; it has 'steered' alone."
        )
    if not isinstance(steered, bool):
        raise IeqlError(f"steered must be True or False, not {shown(steered)}.")
    return FastTrainer(steered=steered)


def _paper(settings: Mapping[str, Any] | None) -> Trainer:
    from ieql.training.paper.settings import PaperSettings
    from ieql.training.paper.sweep import PaperTrainer

    return PaperTrainer(
        PaperSettings.of(settings) if settings is not None else PaperSettings.short()
    )


def _published(settings: Mapping[str, Any] | None) -> Trainer:
    from ieql.training.paper.settings import PaperSettings
    from ieql.training.paper.sweep import PaperTrainer

    return PaperTrainer(
        PaperSettings.of(settings) if settings is not None else PaperSettings.published()
    )


register_trainer("fast", "searches for seconds", _fast)
register_trainer("paper", "trains as the paper says, reduced for a laptop", _paper)
register_trainer("published", "trains as published, for hours", _published)
