"""The recorder: an observer that writes a fit into its run folder as it goes."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.files import NotWritableError
from ieql.model import read_model
from ieql.observer import Snapshot
from ieql.prior import Prior
from ieql.report.page import page
from ieql.run.folder import RunFolder
from ieql.run.lock import locked
from ieql.selection import Candidate

__all__ = ["Recorder"]

EARLIER = "earlier"
"""What a checkpoint holds besides the trainer's state: the finished equations it started from."""
DAMAGED = (IeqlError, KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)


class Recorder:
    """Writes the run folder of a fit, a new one or one that goes on, locked while it is written.

    Whether there is a run to continue is looked at under the lock: before, another process might
    still finish the one that is there.

    Parameters
    ----------
    path : path
        The run folder.
    settings : mapping
        What fixes the run, see `ieql.run.settings.run_settings`; a folder with other settings, or
        of other data, is refused on entering.
    sha256 : str
        Of the data.
    prior : Prior
        The expert knowledge, with the user's own units.
    source : mapping, optional
        Files and columns that the data came from.
    replaces : bool
        Whether a run that is there is replaced; it stays until all input has been found in order.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: Mapping[str, Any],
        sha256: str,
        prior: Prior,
        source: Mapping[str, Any] | None = None,
        replaces: bool = False,
    ) -> None:
        self.settings = settings
        self.sha256 = sha256
        self.source = source
        self.prior = prior
        self.folder = RunFolder(path)
        self.replaces = replaces
        self.goes_on = False
        self.earlier: list[list[Candidate]] = []
        """Per output the finished equations of the earlier parts of the run, in the user's
        coordinates; empty if there are none. Their errors are on the same rows as those to come."""
        self.seed: int | None = None
        """What an earlier part of the run drew its random numbers from."""
        self.seconds_before = 0.0
        """What the earlier parts of the run took."""
        self.trainings_before = 0
        """Trainings of the earlier parts of the run, once its equations were finished."""
        self.fault: str | None = None
        """Why the model, as it is now, could not be written; None if it was."""
        self._is_warned = False
        self._known: list[set[Expression]] = [set() for _ in settings["targets"]]
        self._records: list[Mapping[str, Any]] = []
        self._has_evidence = False
        self._checkpoint: Any = None
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Recorder:
        with contextlib.ExitStack() as stack:  # what was opened is closed if the run is refused
            made = self.folder.make()
            stack.callback(self.folder.unmake, made)  # should nothing have come into it
            stack.enter_context(locked(self.folder.path))
            self.goes_on = RunFolder.exists(self.folder.path) and not self.replaces
            if self.goes_on:
                self._look_back()
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    # --- what was there before -------------------------------------------------------------------

    def _look_back(self) -> None:
        """Read what the earlier parts of the run left, unless they were on something else."""
        self.folder.check_files()
        self.folder.check_same(self.settings, self.sha256)
        stored = self.folder.description().get("search_seed")
        self.seed = stored if isinstance(stored, int) else None
        self.seconds_before = self.folder.seconds()
        self._checkpoint = self.folder.checkpoint()
        self.earlier = self._earlier()

    def _earlier(self) -> list[list[Candidate]]:
        """From the model or, if it was cut short after it had been finished, the checkpoint."""
        if not self.folder.has_model():
            return []
        with contextlib.suppress(IeqlError):  # a damaged model is written anew
            model = read_model(self.folder.model_path(), self.prior)
            if model.finished:
                self.trainings_before = model.n_trainings
                return self._fitting([list(front) for front in model.fronts])
        custom = {u.name: u for u in self.prior.custom}
        with contextlib.suppress(*DAMAGED):
            fronts = self._checkpoint[EARLIER]
            read = [[Candidate.from_form(c, custom) for c in front] for front in fronts]
            return self._fitting(read)
        return []

    def _fitting(self, fronts: list[list[Candidate]]) -> list[list[Candidate]]:
        """The fronts, if they are of these inputs and outputs."""
        names = tuple(self.settings["inputs"])
        found = {c.expression.names for front in fronts for c in front}
        return fronts if len(fronts) == len(self.settings["targets"]) and found <= {names} else []

    def begin(self, seed: int, restore: Callable[[Any], Any]) -> Any:
        """Write ``run.json`` or, if the run goes on, return where the earlier search stood.

        Parameters
        ----------
        seed : int
            The number behind all random choices.
        restore : callable
            Makes the trainer's state from what it wrote.
        """
        if not self.goes_on:
            RunFolder.create(
                self.folder.path,
                self.settings,
                self.sha256,
                search_seed=seed,
                source=self.source,
            )
            return None
        if self._checkpoint is None:
            return None
        try:
            return restore(self._checkpoint)
        except IeqlError as error:
            raise IeqlError(
                f"The run in {str(self.folder.path)!r} cannot continue: {error} "
                "Delete its checkpoint.json to start the search again."
            ) from None

    # --- what is written -------------------------------------------------------------------------

    def on_round(self, snapshot: Snapshot) -> None:
        """Write what has been found: first what the search goes on from, then the model."""
        self._append_new(snapshot)
        if snapshot.checkpoint is not None:
            self._write_checkpoint(snapshot.checkpoint())
        self.fault = None
        with self._going_on():
            self.folder.write_equations(snapshot.model.equations())
            self.folder.write_constants(snapshot.model.all_constants())
            self.folder.write_model(snapshot.model.to_json())
            if not self._has_evidence:
                # The sample of the data stays the same; the counts are written at the end.
                self.folder.write_evidence(snapshot.evidence)
                self._has_evidence = True
        if snapshot.model.finished and self.fault is None:
            self._conclude(snapshot)

    def _append_new(self, snapshot: Snapshot) -> None:
        """Add equations that were not there before to ``front.jsonl``."""
        if snapshot.model.finished:
            return  # they are in the model
        for name, known, front in zip(
            snapshot.model.targets, self._known, snapshot.found, strict=True
        ):
            for c in front:
                if c.expression not in known:
                    known.add(c.expression)
                    self._records.append(_record(name, c, snapshot.seconds))
        with self._going_on():
            while self._records:  # also those that had no space before
                self.folder.append(self._records[0])
                del self._records[0]

    def _write_checkpoint(self, form: dict[str, Any]) -> None:
        if self.earlier:  # until the model is finished again, it is nowhere else
            form[EARLIER] = [[c.to_form() for c in front] for front in self.earlier]
        with self._going_on():
            self.folder.write_checkpoint(form)

    @contextlib.contextmanager
    def _going_on(self) -> Iterator[None]:
        """A disk that is full by now must not cost the user the fit: a warning says it, once.

        Every later write is tried again, as there may be space by then.
        """
        try:
            yield
        except NotWritableError as error:
            self.fault = str(error)
            if not self._is_warned:
                self._is_warned = True
                warnings.warn(f"{error} The fit continues in memory.", stacklevel=2)

    def _conclude(self, snapshot: Snapshot) -> None:
        """Write the report; what goes wrong here must not cost the user the fit."""
        try:
            self.folder.write_evidence(snapshot.evidence)
            self.folder.write_report(page(snapshot.model, snapshot.evidence))
        except Exception as error:
            reason = str(error) if isinstance(error, IeqlError) else repr(error)
            warnings.warn(f"The report could not be written: {reason}", stacklevel=2)


def _record(name: str, c: Candidate, seconds: float) -> dict[str, Any]:
    return {
        "output": name,
        "seconds": round(seconds, 3),
        "equation": c.expression.text(),
        "complexity": c.complexity,
        "n_parameters": c.n_parameters,
        "rmse_train": c.rmse_train,
        "rmse_validation": c.rmse_validation,
        "rmse_extrapolation": c.rmse_extrapolation,
    }
