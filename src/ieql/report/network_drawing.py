"""The network diagram as SVG."""

from __future__ import annotations

import itertools

from ieql.report.diagram import Connection, Diagram, Place
from ieql.report.svg import clean
from ieql.report.words import number

__all__ = ["network_drawing"]

BETWEEN = 118
"""Distance of two columns."""
ROW = 33
"""Distance of two rows."""
HEIGHT = 24
"""Height of a place."""
LONGEST = 15
"""Characters of a label, at most."""


def network_drawing(network: Diagram) -> str:
    """Inputs on the left, a column per layer, outputs on the right; live connections in colour."""
    return _Drawing(network).svg()


class _Drawing:
    def __init__(self, network: Diagram) -> None:
        self.network = network
        self.widths = [_width(p) for p in network.places]
        ends = [
            max((w for w, p in zip(self.widths, network.places, strict=True) if p.kind == kind))
            for kind in ("input", "output")
        ]
        self.left = ends[0] / 2 + 4
        self.width = self.left + BETWEEN * (network.n_columns - 1) + ends[1] / 2 + 4
        self.height = ROW * network.n_rows + 38

    def at(self, place: Place) -> tuple[float, float]:
        return self.left + BETWEEN * place.column, 26 + ROW * (place.row + self.network.n_rows / 2)

    def svg(self) -> str:
        parts = [self._headings()]
        parts += [self._prohibited(*pair) for pair in self.network.prohibited]
        # Strong connections are drawn last, so that they are not hidden.
        ordered = sorted(self.network.connections, key=lambda c: c.strength)
        parts += [self._connection(c) for c in ordered]
        parts += [self._place(k, p) for k, p in enumerate(self.network.places)]
        parts += self._copies()
        return (
            f'<svg class="network" viewBox="0 0 {self.width:.0f} {self.height:.0f}" '
            f'style="width:{self.width:.0f}px" role="img" '
            f'aria-label="{clean(self.network.spoken())}">{"".join(parts)}</svg>'
        )

    def _headings(self) -> str:
        n = self.network.n_columns
        words = ["inputs", *(f"layer {k}" for k in range(1, n - 1)), "output"]
        return "".join(
            f'<text class="heading" x="{self.left + BETWEEN * k:.0f}" y="12" '
            f'text-anchor="middle">{word}</text>'
            for k, word in enumerate(words)
        )

    def _sides(self, k: int) -> tuple[float, float, float]:
        """Left and right edge of a place, and its height in the picture."""
        x, y = self.at(self.network.places[k])
        return x - self.widths[k] / 2, x + self.widths[k] / 2, y

    def _curve(self, a: int, b: int) -> str:
        _, start, y0 = self._sides(a)
        end, _, y1 = self._sides(b)
        middle = (start + end) / 2
        return (
            f"M{start:.1f} {y0:.1f}C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {end:.1f} {y1:.1f}"
        )

    def _connection(self, c: Connection) -> str:
        path = "".join(self._curve(a, b) for a, b in itertools.pairwise(c.path))
        for k in c.path[1:-1]:  # straight through the copy places
            left, right, y = self._sides(k)
            path += f"M{left:.1f} {y:.1f}H{right:.1f}"
        return (
            f'<path class="live" style="stroke-width:{1.0 + 2.6 * c.strength:.1f}" d="{path}">'
            f"<title>weight {number(c.weight, None)}</title></path>"
        )

    def _prohibited(self, a: int, b: int) -> str:
        words = "prohibited by the prior"
        return f'<path class="prohibited" d="{self._curve(a, b)}"><title>{words}</title></path>'

    def _copies(self) -> list[str]:
        """The word "copy" below the last copy place of each column."""
        last = {p.column: p for p in self.network.places if p.kind == "copy"}
        return [
            f'<text class="heading" x="{self.at(p)[0]:.1f}" y="{self.at(p)[1] + 22:.1f}" '
            'text-anchor="middle">copy</text>'
            for p in last.values()
        ]

    def _place(self, k: int, place: Place) -> str:
        left, right, y = self._sides(k)
        kind = (
            f"place {place.kind}{'' if place.live else ' dead'}{' shared' if place.shared else ''}"
        )
        if place.kind == "copy":  # the value that passes is seen in it; its name stands below all
            return (
                f'<rect class="{kind}" x="{left:.1f}" y="{y - HEIGHT / 2:.1f}" '
                f'width="{right - left:.1f}" height="{HEIGHT}" rx="5"/>'
            )
        label = place.label if len(place.label) <= LONGEST else place.label[: LONGEST - 1] + "…"
        radius = HEIGHT / 2 if place.kind in ("input", "output") else 5
        hint = f"<title>{clean(place.label)}</title>" if label != place.label else ""
        return (
            f'<g class="{kind}">{hint}<rect x="{left:.1f}" y="{y - HEIGHT / 2:.1f}" '
            f'width="{right - left:.1f}" height="{HEIGHT}" rx="{radius:g}"/>'
            f'<text x="{(left + right) / 2:.1f}" y="{y + 4:.1f}" text-anchor="middle">'
            f"{clean(label)}</text></g>"
        )


def _width(place: Place) -> float:
    if place.kind == "copy":
        return 40.0
    return max(40.0, 7.0 * min(len(place.label), LONGEST) + 16.0)
