"""The front as it grows, for those who watch: live in a terminal or notebook, else plain lines."""

from __future__ import annotations

import html
import importlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ieql.console import front_table, unfinished_text, visible

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, RenderableType

    from ieql.equations.expression import Expression
    from ieql.observer import Snapshot

__all__ = ["LiveDisplay", "notebook_display"]

REFRESH = 4
"""Times a second that the clock is drawn anew."""
MOST_ROWS = 12
"""Equations shown; of a longer front those around the selected one."""
NOTEBOOK_WIDTH = 160
"""Characters of a line in a notebook, where longer ones scroll."""


class LiveDisplay:
    """An observer that shows a fit on the error stream; use it in a ``with`` statement.

    Parameters
    ----------
    start : float
        When the fit began (``time.monotonic()``).
    max_time : float or None
        Its seconds.
    console : rich Console, optional
        Where to show it; default: the notebook that this runs in, or the error stream.
    """

    def __init__(
        self, start: float, max_time: float | None, console: Console | None = None
    ) -> None:
        from rich.console import Console

        self.start = start
        self.max_time = max_time
        show = notebook_display() if console is None else None
        self.console = console or Console(
            file=sys.stderr,
            force_jupyter=False,  # there rich needs widgets that may not be installed
            width=None if show is None else NOTEBOOK_WIDTH,
        )
        self.front: pd.DataFrame | None = None
        self.expressions: Sequence[Expression] = ()
        self.n_trainings = 0
        self._live: Any = None
        if show is not None:
            self._live = _NotebookTable(show, self._lines)
        elif self.console.is_terminal:
            from rich.live import Live

            self._live = Live(
                console=self.console,
                get_renderable=self.render,
                refresh_per_second=REFRESH,
                transient=True,
            )

    def __enter__(self) -> LiveDisplay:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def on_round(self, snapshot: Snapshot) -> None:
        """Show what has been found so far."""
        model = snapshot.model
        found = [c.expression for front in model.fronts for c in front]
        self.show(model.equations(), found, model.n_trainings)

    def show(
        self, front: pd.DataFrame, expressions: Sequence[Expression], n_trainings: int
    ) -> None:
        """Show a front: the table of `FittedModel.equations` and the equations of its rows."""
        self.front, self.expressions, self.n_trainings = front, expressions, n_trainings
        if self._live is not None:
            self._live.refresh()
            return
        for row, expression in zip(front.to_dict("records"), expressions, strict=True):
            if not row["selected"]:
                continue
            name = f"{row['output']}: " if "output" in row else ""
            self.console.print(
                f"{self._clock()}, {name}{len(front)} equations, validation error "
                f"{row['rmse_validation']:.4g}: {visible(unfinished_text(expression))}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )

    def _clock(self) -> str:
        seconds = time.monotonic() - self.start
        left = "" if self.max_time is None else f" of at most {self.max_time:.0f} s"
        return f"{seconds:5.1f} s{left}, {self.n_trainings} trainings"

    def render(self) -> RenderableType:
        """The clock and the front as they are now."""
        from rich.text import Text

        text = Text(no_wrap=True)
        for line, selected in self._lines("Ctrl-C stops it and keeps everything"):
            text.append(f"{line}\n", style="bold" if selected else None)
        return text

    def _lines(self, hint: str) -> list[tuple[str, bool]]:
        """The clock and the front line by line, and whether a line is a selected equation."""
        lines = [(f"{self._clock()}  ({hint})", False)]
        if self.front is not None:
            shown = _shown(self.front)
            some = self.front.iloc[shown]
            equations = self.expressions[shown]
            header, *rows = front_table(some, equations, self.console.width, unfinished=True)
            lines += [(header, False), *zip(rows, map(bool, some["selected"]), strict=True)]
        return lines


class _NotebookTable:
    """A table in a notebook's output that is replaced by a newer one, and taken away at the end.

    It is drawn anew after every round, and not by a clock of its own: what another thread shows
    may end up in another cell.
    """

    def __init__(
        self, show: Callable[..., Any], lines: Callable[[str], list[tuple[str, bool]]]
    ) -> None:
        self.show, self.lines = show, lines
        self.shown: Any = None

    def start(self) -> None:
        self.shown = self.show(self._content(), raw=True, display_id=True)

    def refresh(self) -> None:
        self._replace(self._content())

    def stop(self) -> None:
        self._replace({"text/plain": "", "text/html": ""})

    def _replace(self, content: dict[str, str]) -> None:
        if self.shown is not None:  # a shell that is not ready shows nothing
            self.shown.update(content, raw=True)

    def _content(self) -> dict[str, str]:
        lines = self.lines("interrupt the kernel to stop it and keep everything")
        marked = [
            f"<b>{html.escape(line)}</b>" if selected else html.escape(line)
            for line, selected in lines
        ]
        style = "white-space:pre; overflow-x:auto; line-height:normal"
        return {
            "text/plain": "\n".join(line for line, _ in lines),
            "text/html": f'<pre style="{style}">{"<br>".join(marked)}</pre>',
        }


def notebook_display() -> Callable[..., Any] | None:
    """IPython's ``display`` if this runs in the kernel of a notebook, else None.

    IPython is not loaded for the question: who runs in a kernel has loaded it.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return None  # a plain interpreter, or IPython in a terminal
    show: Callable[..., Any] = importlib.import_module("IPython.display").display
    return show


def _shown(front: pd.DataFrame) -> slice:
    """At most so many rows as fit on a screen, the selected ones among them."""
    place = int(front["selected"].to_numpy().argmax())
    first = max(0, min(place - MOST_ROWS // 2, len(front) - MOST_ROWS))
    return slice(first, first + MOST_ROWS)
