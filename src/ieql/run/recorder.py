"""What a fit writes down as it goes: into the run folder, and to whoever watches."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ieql.data.dataset import Dataset, Scaling
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.model_file import candidate_form, read_candidate
from ieql.prior import Prior
from ieql.run.checkpoint import checkpoint_form, read_checkpoint
from ieql.run.folder import NotWritableError, RunFolder, sha256_of
from ieql.run.lock import locked
from ieql.selection import Candidate, Front, thinned
from ieql.training.fast.search import Result
from ieql.training.paper.trainer import PaperSettings
from ieql.training.task import Task

if TYPE_CHECKING:
    from ieql.regressor import IEQLRegressor

__all__ = ["Recorder", "Run"]

Array = NDArray[np.float64]
EARLIER = "earlier"
"""What a checkpoint holds besides the search: the finished equations it started from."""
DAMAGED = (IeqlError, KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)


class Run:
    """The run folder of a fit, a new one or one that is gone on with, locked while it is written.

    Whether there is a run to go on with is looked at under the lock: before, another process might
    still finish the one that is there.

    Parameters
    ----------
    model : IEQLRegressor
        Its parameters are the settings of the run, ``run_dir`` the folder.
    data, prior, extra
        What is learned from; other data or settings than the folder's are refused on entering.
    sha256 : str
        Of the data.
    source : mapping, optional
        Files and columns that the data came from.
    replaces : bool
        Whether a run that is there is replaced; it stays until all input has been found in order.
    """

    def __init__(
        self,
        model: IEQLRegressor,
        data: Dataset,
        prior: Prior,
        extra: tuple[Array, Array] | None,
        sha256: str,
        source: Mapping[str, Any] | None,
        replaces: bool = False,
    ) -> None:
        assert model.run_dir is not None
        self.settings = _settings(model, data, prior, extra)
        self.sha256 = sha256
        self.source = source
        self.prior = prior
        self.folder = RunFolder(model.run_dir)
        self.replaces = replaces
        self.goes_on = False
        self.earlier: list[list[Candidate]] = []
        """Per output the finished equations of the earlier parts of the run, in the user's
        coordinates; empty if there are none. Their errors are on the same rows as those to come."""
        self.seed: int | None = None
        """What an earlier part of the run drew its random numbers from."""
        self.seconds_before = 0.0
        """What the earlier parts of the run took."""
        self.fault: str | None = None
        """Why the model, as it is now, could not be written; None if it was."""
        self._is_warned = False
        self._records: list[Mapping[str, Any]] = []
        self._is_evident = False
        self._checkpoint: Any = None
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Run:
        with contextlib.ExitStack() as stack:  # what was opened is closed if the run is refused
            made = self.folder.make()
            stack.callback(self.folder.unmake, made)  # should nothing have come into it
            stack.enter_context(locked(self.folder.path))
            self.goes_on = RunFolder.exists(self.folder.path) and not self.replaces
            if self.goes_on:
                self._look_back()
            self._open = stack.pop_all()
        return self

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
        from ieql.regressor import IEQLRegressor

        if not self.folder.has_model():
            return []
        with contextlib.suppress(IeqlError):  # a damaged model is written anew
            model = IEQLRegressor.load(self.folder.model_path(), self.prior)
            if model.finished_:
                return self._fitting(model.fronts_)
        custom = {u.name: u for u in self.prior.custom}
        with contextlib.suppress(*DAMAGED):
            fronts = self._checkpoint[EARLIER]
            return self._fitting([[read_candidate(c, custom) for c in front] for front in fronts])
        return []

    def _fitting(self, fronts: list[list[Candidate]]) -> list[list[Candidate]]:
        """The fronts, if they are of these inputs and outputs."""
        names = tuple(self.settings["inputs"])
        found = {c.expression.names for front in fronts for c in front}
        return fronts if len(fronts) == len(self.settings["targets"]) and found <= {names} else []

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def begin(self, tasks: Sequence[Task], prior: Prior, seed: int) -> Result | None:
        """Write ``run.json``, or read where the earlier search stood."""
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
            return read_checkpoint(self._checkpoint, tasks, prior)
        except IeqlError as error:
            raise IeqlError(
                f"The run in {str(self.folder.path)!r} cannot be gone on with: {error} "
                "Delete its checkpoint.json to start the search anew."
            ) from None

    def append(self, record: Mapping[str, Any]) -> None:
        """Add an equation to ``front.jsonl``, behind those that had no space before."""
        self._records.append(record)
        with self._going_on():
            while self._records:
                self.folder.append(self._records[0])
                del self._records[0]

    def write_checkpoint(self, result: Result) -> None:
        """Write where the search stands."""
        form = checkpoint_form(result)
        if self.earlier:  # until the model is finished again, it is nowhere else
            form[EARLIER] = [[candidate_form(c) for c in front] for front in self.earlier]
        with self._going_on():
            self.folder.write_checkpoint(form)

    def write(self, model: IEQLRegressor) -> None:
        """Write what the model holds by now."""
        self.fault = None
        with self._going_on():
            self.folder.write_equations(model.equations_)
            self.folder.write_model(model._to_json())
            if not self._is_evident:
                # The sample of the data stays the same; the counts are written at the end.
                self.folder.write_evidence(model.evidence_)
                self._is_evident = True

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
                warnings.warn(f"{error} The fit goes on in memory.", stacklevel=2)

    def conclude(self, model: IEQLRegressor) -> None:
        """Write the report; what goes wrong here must not cost the user the fit."""
        if self.fault is not None:
            return
        try:
            self.folder.write_evidence(model.evidence_)
            self.folder.write_report(model.report_html())
        except Exception as error:
            reason = str(error) if isinstance(error, IeqlError) else repr(error)
            warnings.warn(f"The report could not be written: {reason}", stacklevel=2)


def _settings(
    model: IEQLRegressor, data: Dataset, prior: Prior, extra: tuple[Array, Array] | None
) -> dict[str, Any]:
    """What fixes a run, in plain words and numbers."""
    settings: dict[str, Any] = model.get_params()
    settings["prior"] = None if prior.custom else prior.to_dict()
    settings["run_dir"] = None
    if model.trainer != "fast":
        settings["trainer"] = asdict(PaperSettings.of(model.trainer))
    if not isinstance(model.random_state, int | np.integer):
        settings["random_state"] = None
    settings["domain"] = data.domain.to_dict()
    settings["domain_is_declared"] = model.domain is not None
    settings["inputs"] = list(data.feature_names)
    settings["targets"] = list(data.target_names)
    settings["extrapolation_sha256"] = None if extra is None else sha256_of(*extra)
    return settings


class Recorder:
    """Called after each round: appends what is new to the run folder, and publishes what there is.

    First what the search goes on from, then the model, then the eye: what was shown is never lost.
    """

    def __init__(
        self,
        names: Sequence[str],
        inputs: Scaling,
        outputs: Sequence[Scaling],
        publish: Callable[[list[list[Candidate]], Result], None],
        run: Run | None,
        start: float,
    ) -> None:
        self.names = names
        self.inputs = inputs
        self.outputs = outputs
        self.publish = publish
        self.run = run
        self.start = start
        self._known: list[dict[Expression, Candidate]] = [{} for _ in outputs]

    def __call__(self, result: Result) -> None:
        """Take in the result of a search so far."""
        fronts = [self._front(k, front) for k, front in enumerate(result.fronts)]
        if self.run is not None:
            self.run.write_checkpoint(result)
        self.publish(fronts, result)

    def _front(self, k: int, front: Front) -> list[Candidate]:
        """A front in the user's coordinates, not finished yet."""
        known = self._known[k]
        for c in front:
            if c.expression not in known:
                known[c.expression] = self._in_users_coordinates(k, c)
                if self.run is not None:
                    self.run.append(self._record(k, known[c.expression]))
        return thinned(Front([known[c.expression] for c in front]))

    def _in_users_coordinates(self, k: int, c: Candidate) -> Candidate:
        scaling = self.outputs[k]
        scale = float(scaling.scale.item())
        expression = c.expression.rescaled(
            self.inputs.offset, self.inputs.scale, scaling.offset.item(), scale
        ).canonical()
        return replace(
            c,
            expression=expression,
            rmse_train=c.rmse_train * scale,
            rmse_validation=c.rmse_validation * scale,
            rmse_extrapolation=c.rmse_extrapolation * scale,
        )

    def _record(self, k: int, c: Candidate) -> dict[str, Any]:
        before = 0.0 if self.run is None else self.run.seconds_before
        return {
            "output": self.names[k],
            "seconds": round(before + time.time() - self.start, 3),
            "equation": c.expression.text(),
            "complexity": c.complexity,
            "n_parameters": c.n_parameters,
            "rmse_train": c.rmse_train,
            "rmse_validation": c.rmse_validation,
            "rmse_extrapolation": c.rmse_extrapolation,
        }
