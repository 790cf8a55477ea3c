"""The command that runs many fits as one queue, and their page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from ieql.cli.app import app, examples, plain_speech
from ieql.cli.jobs import PAGE, read_jobs
from ieql.console import visible
from ieql.errors import IeqlError, counted

if TYPE_CHECKING:
    from ieql.model import FittedModel
    from ieql.report.batch_page import RunEntry
    from ieql.run.fit_batch import Batch

__all__ = ["fit_many"]


@app.command(
    "fit-many", epilog=examples("ieql fit-many jobs.yaml", "ieql fit-many jobs.csv --at-once 2")
)
@plain_speech()
def fit_many(
    jobs: Annotated[
        Path,
        typer.Argument(
            metavar="JOBS",
            help="YAML file with a list of 'jobs', each with data, target and options of `ieql "
            "fit`, and 'defaults' for all; or a CSV file with one job in each row.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder for the runs and their page.  [default: runs/<file>]"
        ),
    ] = None,
    at_once: Annotated[
        int, typer.Option(metavar="N", min=1, help="Fits side by side, which share the cores.")
    ] = 1,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Do all jobs anew, also those that are done.")
    ] = False,
) -> None:
    """Run many fits as one queue, with a page that compares them; the same again continues."""
    from ieql.run.fit_batch import DONE, FAILED, FIT, Batch

    # In front of a job's own options, which so come last and hold.
    command = (*FIT, *_share_of_cores(at_once))
    folder, place = out or Path("runs") / jobs.stem, jobs.resolve().parent
    batch = Batch(folder, read_jobs(jobs), place, command)
    done = 0 if overwrite else sum(p.status == DONE for p in batch.progress.values())
    before = f", {done} of them done before" if done else ""
    typer.echo(visible(f"{counted(len(batch.jobs), 'job')}{before}; {batch.folder / PAGE}"))
    page = _Page(batch, jobs.stem)
    page.write()
    try:
        batch.run(at_once, page.tell, overwrite=overwrite)
    finally:
        page.write()
    failed = [name for name, p in batch.progress.items() if p.status == FAILED]
    typer.echo(visible(f"All runs in one table: {batch.folder / PAGE}"))
    if failed:
        raise IeqlError(
            f"{counted(len(failed), 'job')} of {len(batch.jobs)} failed: {', '.join(failed)}. "
            "Mend what is said above and run the same command again; the others stay as they are."
        )


def _share_of_cores(at_once: int) -> list[str]:
    """The processes of each of several fits, as an option of ``ieql fit``."""
    if at_once == 1:
        return []
    from joblib import cpu_count

    return [f"--jobs={max(1, cpu_count() // at_once)}"]


class _Page:
    """The page of a batch, written anew whenever something has changed."""

    def __init__(self, batch: Batch, title: str) -> None:
        self.batch, self.title = batch, title
        self.models: dict[str, FittedModel | None] = {}

    def tell(self, name: str) -> None:
        """Say that a job has begun, or how it ended."""
        from ieql.run.fit_batch import DONE, FAILED, RUNNING

        progress, names = self.batch.progress[name], [job.name for job in self.batch.jobs]
        place = f"[{names.index(name) + 1}/{len(names)}] {name}"
        self.models.pop(name, None)
        if progress.status == RUNNING:
            typer.echo(visible(f"{place}: searching"), err=True)
        elif progress.status == FAILED:
            typer.echo(visible(f"{place}: failed. {progress.message}"))
        else:
            for line in self._equations(name):
                typer.echo(visible(f"{place}: {line}"))
            if progress.status != DONE:
                typer.echo(visible(f"{place}: {progress.status}"))
        self.write()

    def write(self) -> None:
        """Write the page; where there is no folder yet, nothing has begun."""
        from ieql.files import save_text
        from ieql.report.batch_page import batch_page

        if self.batch.folder.is_dir():
            entries = [self._entry(job.name) for job in self.batch.jobs]
            save_text(self.batch.folder / PAGE, batch_page(self.title, entries), "the page ")

    def _entry(self, name: str) -> RunEntry:
        from ieql.report.batch_page import RunEntry

        progress, run = self.batch.progress[name], self.batch.run_folder(name)
        log = self.batch.log(name)
        return RunEntry(
            name,
            progress.status,
            progress.seconds,
            progress.message,
            self._model(name),
            f"{quote(name)}/report.html" if (run / "report.html").is_file() else None,
            f"{quote(log.parent.name)}/{quote(log.name)}" if log.is_file() else None,
        )

    def _model(self, name: str) -> FittedModel | None:
        """What a job has found; None where it has nothing that can be read."""
        from ieql.model import read_model
        from ieql.run.folder import RunFolder

        if name not in self.models:
            try:
                run = RunFolder.open(self.batch.run_folder(name))
                self.models[name] = read_model(run.model_path()) if run.has_model() else None
            except (IeqlError, OSError):
                self.models[name] = None
        return self.models[name]

    def _equations(self, name: str) -> list[str]:
        model = self._model(name)
        if model is None:
            return []
        chosen = [model.candidate(output=k) for k in range(len(model.targets))]
        return [
            f"{target} = {c.equation(False).text()} (error {c.rmse_validation:.4g})"
            for target, c in zip(model.targets, chosen, strict=True)
        ]
