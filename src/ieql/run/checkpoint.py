"""Where a search stands, as plain JSON, and back: what a run needs to go on after any end.

Equations stand in the scaled coordinates of the search, constants to the last bit, so that a run
that was cut short between two rounds goes on as if it had not been.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ieql.errors import IeqlError
from ieql.model_file import candidate_form, read_candidate
from ieql.prior import Prior
from ieql.training.archive import Archive
from ieql.training.fast.search import Progress, Result
from ieql.training.paper.sweep import Find
from ieql.training.task import Task
from ieql.units import Unit

__all__ = ["checkpoint_form", "read_checkpoint"]

FORMAT = 1


def checkpoint_form(result: Result) -> dict[str, Any]:
    """Plain dictionaries, lists and numbers."""
    return {
        "format": FORMAT,
        "number": result.number,
        "n_trainings": result.n_trainings,
        "reason": result.reason,
        "targets": [
            {
                **_archive_form(archive),
                "progress": vars(progress),
                "largest": largest,
                "units": dict(units),
            }
            for archive, progress, largest, units in zip(
                result.archives, result.progress, result.largest, result.units, strict=True
            )
        ],
        "finds": [
            {
                "place": list(place),
                "candidate": None if f.candidate is None else candidate_form(f.candidate),
                "complexity": f.complexity,
                "diverged": f.diverged,
            }
            for place, f in sorted(result.finds.items())
        ],
    }


def read_checkpoint(form: Any, tasks: Sequence[Task], prior: Prior) -> Result:
    """The search as it stood; one that had ended gets new patience, and all of it.

    Who goes on with a search that had ended wants it to go on: what is left may look like noise as
    it did before, so that alone does not end it again. One that was killed goes on as if it had
    not been.
    """
    custom = {u.name: u for u in prior.custom}
    try:
        if form["format"] != FORMAT or len(form["targets"]) != len(tasks):
            raise IeqlError("it is of another version.")
        archives = [_archive(target, custom) for target in form["targets"]]
        for archive, task in zip(archives, tasks, strict=True):
            if any(c.expression.names != task.names for c in archive):
                raise IeqlError("its inputs are others.")
        result = Result(
            archives,
            n_trainings=int(form["n_trainings"]),
            number=int(form["number"]),
            largest=[float(t["largest"]) for t in form["targets"]],
            progress=[_progress(t["progress"]) for t in form["targets"]],
            units=[
                Counter({str(k): int(n) for k, n in t["units"].items()}) for t in form["targets"]
            ],
            finds={
                (int(f["place"][0]), int(f["place"][1])): Find(
                    None if f["candidate"] is None else read_candidate(f["candidate"], custom),
                    float(f["complexity"]),
                    bool(f["diverged"]),
                )
                for f in form["finds"]
            },
        )
    except IeqlError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise IeqlError(f"it is damaged ({error!r}).") from error
    if form.get("reason"):
        for progress in result.progress:
            progress.since = progress.n_trainings
            progress.patient = True
    return result


def _archive_form(archive: Archive) -> dict[str, Any]:
    """Members in their order; those of the front by their place, or in full if they have none."""
    members = list(archive)
    place = {id(c): k for k, c in enumerate(members)}
    return {
        "members": [candidate_form(c) for c in members],
        "front": [place[id(c)] if id(c) in place else candidate_form(c) for c in archive.front],
    }


def _archive(form: Mapping[str, Any], custom: Mapping[str, Unit]) -> Archive:
    members = [read_candidate(c, custom) for c in form["members"]]
    front = [members[c] if isinstance(c, int) else read_candidate(c, custom) for c in form["front"]]
    return Archive.restored(members, front)


def _progress(form: Mapping[str, Any]) -> Progress:
    return Progress(
        score=float(form["score"]) if form["score"] is not None else float("inf"),
        since=int(form["since"]),
        done=_counts(form["done"]),
        hits=_counts(form["hits"]),
        at_noise=bool(form["at_noise"]),
        exact=bool(form["exact"]),
        patient=bool(form.get("patient")),
    )


def _counts(form: Mapping[str, Any]) -> Counter[str]:
    return Counter({str(key): int(n) for key, n in form.items()})
