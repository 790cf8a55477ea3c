"""The front as it grows, for those who watch: live in a terminal or notebook, else plain lines."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from ieql.console import front_table, shortened

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, RenderableType

    from ieql.observer import Snapshot

__all__ = ["LiveDisplay"]

REFRESH = 4
"""Times a second that the clock is drawn anew."""
MOST_ROWS = 12
"""Equations shown; of a longer front those around the selected one."""


class LiveDisplay:
    """An observer that shows a fit on the error stream; use it in a ``with`` statement.

    Parameters
    ----------
    start : float
        When the fit began (``time.monotonic()``).
    max_time : float or None
        Its seconds.
    console : rich Console, optional
        Where to show it; default: the error stream.
    """

    def __init__(
        self, start: float, max_time: float | None, console: Console | None = None
    ) -> None:
        from rich.console import Console

        self.start = start
        self.max_time = max_time
        self.console = console or Console(file=sys.stderr)
        self.front: pd.DataFrame | None = None
        self.n_trainings = 0
        self._live: Any = None
        if self.console.is_terminal or self.console.is_jupyter:
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
        self.show(snapshot.model.equations(), snapshot.model.n_trainings)

    def show(self, front: pd.DataFrame, n_trainings: int) -> None:
        """Show a front: the table of `FittedModel.equations`."""
        self.front, self.n_trainings = front, n_trainings
        if self._live is not None:
            self._live.refresh()
            return
        for row in front[front["selected"]].to_dict("records"):
            name = f"{row['output']}: " if "output" in row else ""
            self.console.print(
                f"{self._clock()}, {name}{len(front)} equations, validation error "
                f"{row['rmse_validation']:.4g}: {shortened(str(row['equation']))}",
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

        lines = Text(f"{self._clock()}  (Ctrl-C ends it and keeps all)\n", no_wrap=True)
        if self.front is not None:
            some = _some(self.front)
            header, *rows = front_table(some, self.console.width, unfinished=True)
            lines.append(f"{header}\n")
            for row, selected in zip(rows, some["selected"], strict=True):
                lines.append(f"{row}\n", style="bold" if selected else None)
        return lines


def _some(front: pd.DataFrame) -> pd.DataFrame:
    """At most so many rows as fit on a screen, the selected ones among them."""
    if len(front) <= MOST_ROWS:
        return front
    place = int(front["selected"].to_numpy().argmax())
    first = min(max(place - MOST_ROWS // 2, 0), len(front) - MOST_ROWS)
    return front.iloc[first : first + MOST_ROWS]
