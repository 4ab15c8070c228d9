"""Simple charts as plain SVG, for the figures of which a study has thousands: small, and made in a moment."""

import math
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from itertools import cycle, product
from typing import Any

import numpy as np

from dpgrs.reporting.svg import FAINT, INK, MUTED, SIZE

TICK, PAD = 3.5, 3.5
STEPS = (1, 2, 2.5, 5)
# From the middle of a line of text down to its baseline, and from its top; in sizes of the font.
MIDDLE, ASCENT = 0.35, 0.78
# A tenth of a point cannot be seen.
DIGITS = 1
# Fewer bars stand in a page as they are, and need no script.
FEW_BARS = 200
HIGHEST = 2**15 - 1


class Picture:
    """A drawing that is built from elements of SVG, in points from its upper left corner."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._elements = []

    def path(self, d: str, **style: Any) -> None:
        """Add a path; `style` are attributes of SVG, with underscores for their hyphens."""
        if d:
            self._elements.append(f'<path d="{d}"{_attributes(style)}/>')

    def paths(self, found: Sequence[str], **style: Any) -> None:
        """Add paths of one style, each drawn over those before it."""
        if len(found) == 1:
            self.path(found[0], **style)
        elif found:
            elements = "".join(f'<path d="{d}"/>' for d in found)
            self._elements.append(f"<g{_attributes(style)}>{elements}</g>")

    def packed(self, draw: Callable[[bool], str]) -> None:
        """Add an element that a page may hold in short; `draw` takes whether it does, and returns the
        element."""
        self._elements.append(draw)

    def text(self, x: float, y: float, words: str, **style: Any) -> None:
        """Add words, whose middle is at the height `y`; `style` as for `path`."""
        position = {"x": round(x, DIGITS), "y": round(y + MIDDLE * style.get("font_size", SIZE), DIGITS)}
        self._elements.append(f"<text{_attributes(position | style)}>{escape(words)}</text>")

    def svg(self, *, is_packed: bool = False) -> str:
        """Return the drawing as the text of an <svg> element.

        If it is packed, the script of pages draws many bars, from their heights.
        """
        head = {"width": f"{self.width:g}pt", "height": f"{self.height:g}pt"}
        head |= {"viewBox": f"0 0 {self.width:g} {self.height:g}", "style": "background: #fff"}
        head |= {"font_family": "sans-serif", "font_size": SIZE, "fill": INK}
        start = f'<svg xmlns="http://www.w3.org/2000/svg"{_attributes(head)}>'
        elements = [element if isinstance(element, str) else element(is_packed) for element in self._elements]
        return "\n".join([start, *elements, "</svg>"])


class Axes:
    """A box of a picture with a scale across and a scale up, on which values are drawn.

    Edges are in points. `x` are the values at the left and at the right edge, `y` those at the bottom and at
    the top edge.
    """

    def __init__(
        self,
        picture: Picture,
        left: float,
        top: float,
        right: float,
        bottom: float,
        *,
        x: tuple[float, float],
        y: tuple[float, float],
    ) -> None:
        self.picture, self.x, self.y = picture, x, y
        edges = (left, top, right, bottom)
        self.left, self.top, self.right, self.bottom = (round(edge, DIGITS) for edge in edges)

    def across(self, x: Any) -> Any:
        """Return the positions of values, in points from the left of the picture."""
        return self.left + (np.asarray(x) - self.x[0]) * (self.right - self.left) / (self.x[1] - self.x[0])

    def down(self, y: Any) -> Any:
        """Return the positions of values, in points from the top of the picture."""
        return self.bottom - (np.asarray(y) - self.y[0]) * (self.bottom - self.top) / (self.y[1] - self.y[0])

    def uprights(self, x: Any, low: Any, high: Any, *, color: str, width: float) -> None:
        """Draw vertical lines, one path, without those too short to be seen; (n,) arrays or numbers."""
        ends = _rounded(self.across(x), self.down(low), self.down(high))
        ends = ends[np.isfinite(ends).all(axis=1) & (ends[:, 1] != ends[:, 2])]
        self._stroke(_written("M%g %gV%g", ends), color, width)

    def bars(
        self,
        x: np.ndarray,
        heights: np.ndarray,
        *,
        color: str,
        width: float,
        low: float = 0,
        places: str | None = None,
    ) -> None:
        """Draw vertical bars, (n,) float64, that start on the level `low`; bars without a height are left
        out.

        `places` is the name that pages use for x: `variants`, as `packed_places` wrote them, or `stretches`,
        the middles of n equal parts of the scale from 0 to 1. Many bars are then in a page as heights.
        """
        if places is None or np.count_nonzero(heights) < FEW_BARS:
            self.uprights(x, low, low + heights, color=color, width=width)
            return
        style = {"stroke": color, "stroke_width": width}
        self.picture.packed(partial(self._bars, x, heights, low, places, style))

    def _bars(
        self,
        x: np.ndarray,
        heights: np.ndarray,
        low: float,
        x_name: str,
        style: dict[str, Any],
        is_packed: bool,
    ) -> str:
        if not is_packed:
            ends = _rounded(self.across(x), self.down(low), self.down(low + heights))
            return f'<path d="{_written("M%g %gV%g", ends[ends[:, 1] != ends[:, 2]])}"{_attributes(style)}/>'
        tallest = np.abs(heights).max()
        top, bottom = self.down(low + tallest), self.down(low)
        box = [*self.across([0, 1]), bottom, bottom - top]
        data = {"data_bars": _base64(heights / tallest * HIGHEST, "<i2"), "data_places": x_name}
        data["data_box"] = " ".join(f"{value:.2f}" for value in box)
        return f"<path{_attributes(data | style)}/>"

    def levels(self, y: Any, *, color: str, width: float) -> None:
        """Draw horizontal lines over the whole width, one path, at (n,) values."""
        ends = _rounded(self.left, self.down(y), self.right)
        self._stroke(_written("M%g %gH%g", ends), color, width)

    def shade(self, spans: Sequence[tuple[float, float]]) -> None:
        """Shade stretches of the scale across, from start to end."""
        edges = [(self.across(start), self.top, self.across(end), self.bottom) for start, end in spans]
        d = "".join(f"M{a:.1f} {b:g}H{c:.1f}V{d:.1f}H{a:.1f}z" for a, b, c, d in edges)
        self.picture.path(d, fill=FAINT, fill_opacity=0.45)

    def marks(self, x: Any, y: Any, *, marker: str, size: float, **style: Any) -> None:
        """Draw a marker, `o` or a key of `MARKS`, at every point, each a path so that overlapping points
        show.

        x and y are (n,) arrays; points that are not finite are left out. The size is in points, `style` are
        attributes of SVG.
        """
        points = _rounded(self.across(x), self.down(y))
        finite = points[np.isfinite(points).all(axis=1)].tolist()
        self.picture.paths([mark(marker, *point, size) for point in finite], **style)

    def ticks_left(self, count: int) -> None:
        """Put at most `count` + 1 ticks at round numbers along the left edge, which is drawn."""
        d = [f"M{self.left:g} {self.top:g}V{self.bottom:.1f}"]
        for value, label in round_ticks(*self.y, count):
            y = self.down(value)
            d.append(f"M{self.left:g} {y:.1f}h-{TICK}")
            self.picture.text(self.left - TICK - PAD, y, label, text_anchor="end")
        self._stroke("".join(d), MUTED, 0.6)

    def ticks_below(self, count: int) -> None:
        """Put at most `count` + 1 ticks at round numbers along the bottom edge, which is drawn."""
        d = [f"M{self.left:g} {self.bottom:g}H{self.right:g}"]
        for value, label in round_ticks(*self.x, count):
            x = self.across(value)
            d.append(f"M{x:.1f} {self.bottom:g}v{TICK}")
            self.names_below([(value, label)], pad=TICK + PAD)
        self._stroke("".join(d), MUTED, 0.6)

    def names_left(self, names: Sequence[str]) -> None:
        """Name the rows of the axes, whose values are 0, 1, ..."""
        for row, name in enumerate(names):
            self.picture.text(self.left - 2 * PAD, self.down(row), name, text_anchor="end")

    def names_below(self, names: Sequence[tuple[float, str]], *, pad: float = PAD) -> None:
        """Write names under the axes, at their values."""
        for value, name in names:
            y = self.bottom + pad + (ASCENT - MIDDLE) * SIZE
            self.picture.text(self.across(value), y, name, text_anchor="middle")

    def label_below(self, words: str, distance: float) -> None:
        """Write under the middle of the axes what lies across, at a distance in points."""
        middle = (self.left + self.right) / 2
        self.picture.text(middle, self.bottom + distance, words, text_anchor="middle")

    def _stroke(self, d: str, color: str, width: float) -> None:
        self.picture.path(d, stroke=color, stroke_width=width)


def round_ticks(low: float, high: float, count: int) -> list[tuple[float, str]]:
    """Return values and labels of ticks: the smallest round step that gives at most `count` + 1 of them.

    The scale holds 0.

    >>> [label for _, label in round_ticks(-0.3, 0.6, 3)]
    ['−0.25', '0.00', '0.25', '0.50']
    """
    exponent = math.floor(math.log10((high - low) / (count + 2)))
    for power, step in product((exponent, exponent + 1), STEPS):
        size = step * 10.0**power
        # A value that only rounding moved lies on the edge.
        multiples = range(math.ceil(low / size - 1e-9), math.floor(high / size + 1e-9) + 1)
        if len(multiples) <= count + 1:
            break
    digits = max(0, (step == 2.5) - power)
    style = f",.{digits}f" if power < 5 and digits < 5 else ".3g"
    return [(multiple * size, f"{multiple * size:{style}}".replace("-", "−")) for multiple in multiples]


def mark(marker: str, x: float, y: float, size: float) -> str:
    """Return the path of a marker around a point, `size` points across."""
    r = size / 2
    if marker == "o":
        return f"M{x - r:g} {y:g}a{r:g} {r:g} 0 1 0 {size:g} 0a{r:g} {r:g} 0 1 0 {-size:g} 0z"
    corners = " ".join(f"{x + r * dx:.2f} {y + r * dy:.2f}" for dx, dy in MARKS[marker])
    return f"M{corners}z"


def _polygon(*radii: float, n_points: int) -> list[tuple[float, float]]:
    """Return the corners of a polygon or a star from the top on, whose radii take turns."""
    n_corners = n_points * len(radii)
    angles = [2 * math.pi * corner / n_corners for corner in range(n_corners)]
    return [(r * math.sin(angle), -r * math.cos(angle)) for r, angle in zip(cycle(radii), angles)]


# Corners around a point; a dot is a circle, a bar has but two.
MARKS = {
    "s": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
    "D": _polygon(math.sqrt(2), n_points=4),
    "p": _polygon(1, n_points=5),
    "*": _polygon(1, 0.382, n_points=5),
    "h": _polygon(1, n_points=6),
    "<": [(-1, 0), (1, -1), (1, 1)],
    "|": [(0, -1), (0, 1)],
}


def packed_places(x: np.ndarray) -> str:
    """Return (n,) positions from 0 to 1 in the form in which the script of pages reads those of variants.

    >>> packed_places(np.array([0.0, 1.0]))
    'AAD//w=='
    """
    return _base64(x * (2**16 - 1), "<u2")


def _base64(values: np.ndarray, kind: str) -> str:
    return b64encode(np.round(values).astype(kind).tobytes()).decode()


def _rounded(*columns: Any) -> np.ndarray:
    """Return numbers and (n,) arrays side by side as (n, n_columns), rounded to what can be seen."""
    return np.column_stack([np.ravel(column) for column in np.broadcast_arrays(*columns)]).round(DIGITS)


def _written(pattern: str, rows: np.ndarray) -> str:
    # One format for all: a thousand bars take a millisecond.
    return pattern * len(rows) % tuple(rows.ravel().tolist())


def _attributes(style: dict[str, Any]) -> str:
    return "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
