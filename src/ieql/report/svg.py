"""Small plots as SVG text, coloured by the page's style sheet so that they follow light and dark.

Matplotlib's SVG of the same plots is four to eight times as large, takes some fifty times as long
(60 ms a plot, and a report has a hundred), and has one colour scheme.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.report.words import number

__all__ = ["Plot", "clean", "extent", "legend", "tick_values"]

Array = NDArray[np.float64]
STRAIGHT = 0.15
"""How far from a straight line a point may lie, in about pixels, to be left out of it."""
UNPRINTABLE = dict.fromkeys([*range(32), 127, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)], " ")


def clean(text: object) -> str:
    """Text that may stand anywhere in the page, also in an attribute."""
    return escape(str(text).translate(UNPRINTABLE))


def tick_values(low: float, high: float, log: bool = False, most: int = 6) -> list[float]:
    """Round numbers between two bounds: 1, 2 or 5 times a power of ten."""
    if log:
        return _log_ticks(low, high, most)
    width = high - low
    if not (math.isfinite(width) and width > 0):
        return [low]
    step = 10.0 ** math.floor(math.log10(width / most))
    step *= next((m for m in (1, 2, 5) if width / (m * step) <= most), 10)
    first = math.ceil(low / step - 1e-9)
    ticks = [k * step for k in range(first, first + most + 2)]
    return [0.0 if abs(t) < step / 1e6 else t for t in ticks if t <= high + step * 1e-9]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for mantissas in ((1, 2, 5), (1, 3), (1,)):
        ticks = [m * 10.0**k for k in range(first, last + 1) for m in mantissas]
        ticks = [t for t in ticks if low * 0.999 <= t <= high * 1.001]
        if len(ticks) <= most:
            break
    return ticks[:: -(-len(ticks) // most)] if ticks else [low, high]


class Plot:
    """Axes with a linear or logarithmic scale; what is drawn first lies below.

    Parameters
    ----------
    x_range, y_range : (low, high)
        What the axes show at least.
    x_label, y_label : str
        Plain text, escaped here.
    width, height : int
        In the SVG's own units, about pixels.
    x_log, y_log : bool
        Logarithmic scales; the range must be positive.
    margin : float
        Room around the range, as a part of it.
    letter : float
        Room for letters of so many times the usual size, as on a small screen.
    room : float
        Room on the right of the axes, for a legend.
    """

    def __init__(
        self,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        x_label: str,
        y_label: str,
        *,
        width: int = 340,
        height: int = 250,
        x_log: bool = False,
        y_log: bool = False,
        margin: float = 0.04,
        letter: float = 1.0,
        room: float = 0.0,
    ) -> None:
        self.letter = letter
        self.width, self.height = width, height
        self.logs = (x_log, y_log)
        self.ranges = [
            _widened(r, log, margin) for r, log in zip((x_range, y_range), self.logs, strict=True)
        ]
        self.ticks = [
            tick_values(*r, log=log, most=most)
            for r, log, most in zip(self.ranges, self.logs, (max(2, width // 62), 6), strict=True)
        ]
        longest = max((len(number(t)) for t in self.ticks[1]), default=1)
        self.left, self.right = letter * (26.0 + 6.4 * longest), width - 10.0 - room
        self.top, self.bottom = 10.0, height - letter * 42.0
        self.parts: list[str] = [self._frame(x_label, y_label)]

    # --- coordinates -----------------------------------------------------------------------------

    def x(self, values: Any) -> Any:
        """Data to picture, from left to right."""
        return self.left + self._share(0, values) * (self.right - self.left)

    def y(self, values: Any) -> Any:
        """Data to picture, from bottom to top."""
        return self.bottom - self._share(1, values) * (self.bottom - self.top)

    def _share(self, axis: int, values: Any) -> Any:
        low, high = self.ranges[axis]
        if self.logs[axis]:
            with np.errstate(all="ignore"):
                return (np.log(values) - math.log(low)) / (math.log(high) - math.log(low))
        # Halves: the difference of two large numbers may overflow.
        return (np.asarray(values) / 2 - low / 2) / (high / 2 - low / 2)

    # --- what can be drawn -----------------------------------------------------------------------

    def points(self, x: Array, y: Array, kind: str = "dots") -> None:
        """Dots as one path of strokes without length: a third of the text of as many circles."""
        places = zip(self.x(x).tolist(), self.y(y).tolist(), strict=True)
        path = "".join(f"M{_short(a)} {_short(b)}h0" for a, b in places)
        if path:
            self.parts.append(f'<path class="{kind}" d="{path}"/>')

    def crosses(self, x: Array, y: Array, kind: str) -> None:
        """Crosses as one path."""
        places = zip(self.x(x).tolist(), self.y(y).tolist(), strict=True)
        path = "".join(f"M{_short(a - 3)} {_short(b - 3)}l6 6m0-6l-6 6" for a, b in places)
        if path:
            self.parts.append(f'<path class="{kind}" d="{path}"/>')

    def arrows(self, x: Array, y: Array, sides: Array, kind: str) -> None:
        """Triangles with their tips at the points; `sides` (points, 2) is where they point to."""
        path = ""
        tips = zip(self.x(x).tolist(), self.y(y).tolist(), sides.tolist(), strict=True)
        for a, b, (right, up) in tips:
            length = math.hypot(right, up)
            dx, dy = 8 * right / length, -8 * up / length  # the picture's y goes down
            path += f"M{_short(a)} {_short(b)}"
            path += f"L{_short(a - dx - dy / 2)} {_short(b - dy + dx / 2)}"
            path += f"L{_short(a - dx + dy / 2)} {_short(b - dy - dx / 2)}Z"
        if path:
            self.parts.append(f'<path class="{kind}" d="{path}"/>')

    def line(self, x: Array, y: Array, kind: str = "curve") -> None:
        """A line, broken where a value is not finite."""
        known = np.isfinite(x) & np.isfinite(y)
        path, down = "", False
        for ok, a, b in zip(known.tolist(), self.x(x).tolist(), self.y(y).tolist(), strict=True):
            if ok:
                path += f"{'L' if down else 'M'}{_short(a)} {_short(b)}"
            down = ok
        if path:
            self.parts.append(f'<path class="{kind}" d="{path}"/>')

    def ribbon(self, x: Array, low: Array, high: Array, kind: str) -> None:
        """What lies between two lines, filled, with a gap where one of them is not known."""
        known = np.isfinite(low) & np.isfinite(high)
        path = ""
        for part in np.split(np.arange(len(x)), np.flatnonzero(np.diff(known)) + 1):
            if known[part[0]] and len(part) > 1:
                across = np.concatenate([self.x(x[part]), self.x(x[part[::-1]])])
                along = np.concatenate([self.y(low[part]), self.y(high[part[::-1]])])
                path += _outline(across.tolist(), along.tolist())
        if path:
            self.parts.append(f'<path class="{kind}" d="{path}"/>')

    def shapes(self, outlines: Sequence[tuple[Array, Array]], kind: str) -> None:
        """Closed lines, filled between the outer and the inner ones."""
        path = "".join(_outline(self.x(x).tolist(), self.y(y).tolist()) for x, y in outlines)
        if path:
            self.parts.append(f'<path class="{kind}" fill-rule="evenodd" d="{path}"/>')

    def bars(self, edges: Array, heights: Array, kind: str = "bar") -> None:
        """Bars from zero between neighbouring edges."""
        floor = self.y(0.0)
        ends = self.x(edges).tolist()
        for a, b, top in zip(ends[:-1], ends[1:], self.y(heights).tolist(), strict=True):
            if top < floor:
                self.parts.append(
                    f'<rect class="{kind}" x="{_short(a + 0.5)}" y="{_short(top)}" '
                    f'width="{_short(max(0.5, b - a - 1))}" height="{_short(floor - top)}"/>'
                )

    def band(self, low: float, high: float, kind: str = "band") -> None:
        """A shaded range of x over the whole height."""
        a, b = float(self.x(low)), float(self.x(high))
        self.parts.append(
            f'<rect class="{kind}" x="{_short(a)}" y="{_short(self.top)}" '
            f'width="{_short(max(0.5, b - a))}" height="{_short(self.bottom - self.top)}"/>'
        )

    def upright(self, at: float, kind: str) -> None:
        """A vertical line."""
        x = _short(float(self.x(at)))
        self.parts.append(
            f'<path class="{kind}" d="M{x} {_short(self.top)}V{_short(self.bottom)}"/>'
        )

    def level(self, at: float, kind: str) -> None:
        """A horizontal line."""
        y = _short(float(self.y(at)))
        self.parts.append(
            f'<path class="{kind}" d="M{_short(self.left)} {y}H{_short(self.right)}"/>'
        )

    def raw(self, text: str) -> None:
        """SVG text, already escaped."""
        self.parts.append(text)

    def svg(self, label: str, role: str = "img", kind: str = "plot") -> str:
        """The whole picture; `label` is what a screen reader says of it."""
        return (
            f'<svg class="{kind}" viewBox="0 0 {self.width} {self.height}" role="{role}" '
            f'aria-label="{clean(label)}">{"".join(self.parts)}</svg>'
        )

    def _frame(self, x_label: str, y_label: str) -> str:
        grid, words = "", ""
        for t in self.ticks[0]:
            x = _short(float(self.x(t)))
            grid += f"M{x} {_short(self.top)}V{_short(self.bottom)}"
            words += (
                f'<text x="{x}" y="{_short(self.bottom + 15 * self.letter)}" text-anchor="middle">'
            )
            words += f"{number(t)}</text>"
        for t in self.ticks[1]:
            y = float(self.y(t))
            grid += f"M{_short(self.left)} {_short(y)}H{_short(self.right)}"
            words += f'<text x="{_short(self.left - 6)}" y="{_short(y + 3.5)}" text-anchor="end">'
            words += f"{number(t)}</text>"
        middle = (_short(13 * self.letter), _short((self.top + self.bottom) / 2))
        words += (
            f'<text class="label" x="{_short((self.left + self.right) / 2)}" '
            f'y="{self.height - 8}" text-anchor="middle">{_cut(x_label, self.width / 7.5)}</text>'
            f'<text class="label" transform="translate({" ".join(middle)}) rotate(-90)" '
            f'text-anchor="middle">{_cut(y_label, self.height / 7.5)}</text>'
        )
        axis = f"M{_short(self.left)} {_short(self.bottom)}H{_short(self.right)}"
        return (
            f'<g aria-hidden="true"><path class="grid" d="{grid}"/>'
            f'<path class="axis" d="{axis}"/>{words}</g>'
        )


def extent(*arrays: Array, default: tuple[float, float] = (0.0, 1.0)) -> tuple[float, float]:
    """Least and largest finite value of all arrays."""
    values = np.concatenate([np.ravel(a) for a in arrays]) if arrays else np.empty(0)
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if len(values) else default


def _widened(bounds: tuple[float, float], log: bool, margin: float) -> tuple[float, float]:
    low, high = bounds
    if log:
        factor = max((high / low) ** margin, 1.05)
        return low / factor, high * factor
    if low == high:
        reach = abs(low) * 0.1 or 1.0
        return low - reach, high + reach
    room = margin * (high / 2 - low / 2) * 2
    return low - room, high + room


def _short(value: float) -> str:
    """A coordinate to a tenth, without a superfluous zero; far outside stays just outside."""
    text = f"{min(max(value, -9999.0), 9999.0):.1f}"
    return text[:-2] if text.endswith(".0") else text


def _outline(x: Sequence[float], y: Sequence[float]) -> str:
    """A closed line; of points in a row, as far as the eye can tell, only the ends."""
    points = list(zip(x, y, strict=True))
    kept, passed = points[:1], points[:0]
    for point, after in zip(points[1:], [*points[2:], points[0]], strict=True):
        passed.append(point)
        if not all(_is_between(p, kept[-1], after) for p in passed):
            kept.append(point)
            passed.clear()
    return "M" + "L".join(f"{_short(a)} {_short(b)}" for a, b in kept) + "Z"


def _is_between(p: tuple[float, float], a: tuple[float, float], b: tuple[float, float]) -> bool:
    """Whether a point lies, about, on the straight line between two others."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = math.hypot(dx, dy) or 1.0
    aside = (dx * (p[1] - a[1]) - dy * (p[0] - a[0])) / length
    along = (dx * (p[0] - a[0]) + dy * (p[1] - a[1])) / length
    return abs(aside) <= STRAIGHT and 0.0 <= along <= length


def _cut(text: str, most: float) -> str:
    return clean(text if len(text) <= most else text[: max(1, int(most) - 1)] + "…")


def legend(items: Sequence[tuple[str, str]], x: float, y: float) -> str:
    """Marks with words beside them, one below the other."""
    rows = []
    for k, (kind, words) in enumerate(items):
        at = y + 16 * k
        rows.append(
            f'<path class="{kind}" d="M{_short(x)} {_short(at)}h0"/>'
            f'<text x="{_short(x + 9)}" y="{_short(at + 3.5)}">{clean(words)}</text>'
        )
    return f'<g aria-hidden="true">{"".join(rows)}</g>'
