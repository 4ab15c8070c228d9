"""Charts as plain SVG, of which a study has thousands: small, and made in a moment."""

import math
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import cache, partial
from html import escape
from itertools import cycle, pairwise, product
from typing import Any, NamedTuple

import numpy as np

from dpgrs.reporting.svg import FAINT, INK, MUTED, SIZE, WIDTH, marker_size, text_width

TICK, PAD = 3.5, 3.5
STEPS = (1, 2, 2.5, 5)
# From the middle of a line of text down to its baseline, and from its top; in sizes of the font.
MIDDLE, ASCENT = 0.35, 0.78
# A tenth of a point cannot be seen.
DIGITS = 1
# Fewer bars stand in a page as they are, and need no script.
FEW_BARS = 200
HIGHEST = 2**15 - 1
LEGEND_LINE, LEGEND_STROKE = 14, 24


class Look(NamedTuple):
    """How a series of values looks."""

    color: str
    dash: str = "none"  # lengths of strokes and gaps; ``none`` is a whole line
    width: float = 1.1  # of its line in points; 0 draws none
    marker: str | tuple[int, int, float] = ""  # `o`, a key of `MARKS` or a star; empty draws none
    face: str = ""  # the inside of a marker; empty takes its colour


class Picture:
    """A drawing that is built from elements of SVG, in points from its upper left corner."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._elements = []

    def path(self, d: str, **style: Any) -> None:
        """Add a path; `style` are attributes of SVG, with underscores for their hyphens."""
        if d:
            self._elements.append(f'<path d="{d}"{_attributes(style)}/>')

    def paths(self, path_data: Sequence[str], **style: Any) -> None:
        """Add paths of one style, each drawn over those before it."""
        if len(path_data) == 1:
            self.path(path_data[0], **style)
        elif path_data:
            elements = "".join(f'<path d="{d}"/>' for d in path_data)
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
        x_name: str | None = None,
    ) -> None:
        """Draw vertical bars, (n,) float64, that start on the level `low`; bars without a height are left
        out.

        `x_name` is the name that pages use for x: `variants`, as `packed_places` wrote them, or `stretches`,
        the middles of n equal parts of the scale from 0 to 1. Many bars are then in a page as heights.
        """
        if x_name is None or np.count_nonzero(heights) < FEW_BARS:
            self.uprights(x, low, low + heights, color=color, width=width)
            return
        style = {"stroke": color, "stroke_width": width}
        self.picture.packed(partial(self._bars, x, heights, low, x_name, style))

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

    def levels(self, y: Any, *, color: str, width: float, **style: Any) -> None:
        """Draw horizontal lines over the whole width, one path, at (n,) values."""
        ends = _rounded(self.left, self.down(y), self.right)
        self._stroke(_written("M%g %gH%g", ends), color, width, **style)

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

    def across_bar(
        self, low: float, high: float, y: float, *, color: str, width: float, opacity: float = 1
    ) -> None:
        """Draw a horizontal bar from one value to another, if both are finite."""
        if np.isfinite([low, high]).all():
            d = f"M{self.across(low):.1f} {self.down(y):.1f}H{self.across(high):.1f}"
            self.picture.path(d, stroke=color, stroke_width=width, stroke_opacity=opacity)

    def line(self, x: np.ndarray, y: np.ndarray, look: Look) -> None:
        """Draw a line through (n,) points, except where it lies below the axes."""
        d, last, floor = [], None, self.y[0]
        for (x0, y0), (x1, y1) in pairwise(zip(x.tolist(), y.tolist(), strict=True)):
            if not max(y0, y1) >= floor:
                continue
            cut = x0 + (x1 - x0) * (floor - y0) / (y1 - y0) if min(y0, y1) < floor else None
            start = (cut if y0 < floor else x0, max(y0, floor))
            end = (cut if y1 < floor else x1, max(y1, floor))
            for letter, (a, b) in [("M", start)] * (start != last) + [("L", end)]:
                d.append(f"{letter}{self.across(a):.1f} {self.down(b):.1f}")
            last = end
        style = {"stroke": look.color, "stroke_width": look.width, "stroke_dasharray": look.dash}
        self.picture.path("".join(d), fill="none", **style)

    def band(self, x: np.ndarray, low: np.ndarray, high: np.ndarray, **style: Any) -> None:
        """Fill what lies between two lines, (n,) values each, and within the axes."""
        floor = self.y[0]
        cuts = [
            a + (b - a) * (floor - y0) / (y1 - y0)
            for edge in (low, high)
            for (a, y0), (b, y1) in pairwise(zip(x, edge, strict=True))
            if (y0 < floor) != (y1 < floor)
        ]
        x_of_edges = np.unique([*x, *cuts])
        edges = (np.maximum(np.interp(x_of_edges, x, edge), floor) for edge in (high, low))
        upper, lower = (_rounded(self.across(x_of_edges), self.down(edge)).tolist() for edge in edges)
        corners = "L".join(f"{a:g} {b:g}" for a, b in upper + lower[::-1])
        self.picture.path(f"M{corners}z", **style)

    def rules(self, count: int) -> None:
        """Draw faint horizontal lines at the ticks of `ticks_left`."""
        self.levels([value for value, _ in round_ticks(*self.y, count)], color=FAINT, width=0.5)

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

    def label_left(self, words: str, distance: float) -> None:
        """Write upwards beside the middle of the axes what lies up, at a distance in points."""
        x, middle = self.left - distance, (self.top + self.bottom) / 2
        turned = {"transform": f"rotate(-90 {x:g} {middle:g})", "text_anchor": "middle"}
        self.picture.text(x, middle, words, **turned)

    def _stroke(self, d: str, color: str, width: float, **style: Any) -> None:
        self.picture.path(d, stroke=color, stroke_width=width, **style)


def row_axes(
    labels: Sequence[str],
    *,
    x: tuple[float, float],
    xlabel: str,
    width: float,
    step: float,
    n_ticks: int,
    above: float = 0,
    rule: float = 0,
) -> Axes:
    """Return axes with a row per label, `step` points high, whose values are 0, 1, ... from the top.

    The picture is `width` points wide, with `above` points of room for a legend; `rule` is the width of faint
    lines along the rows.
    """
    picture = Picture(width, step * len(labels) + above + 42)
    rows = (len(labels) - 0.4, -0.6)
    axes = Axes(picture, text_width(labels) + 16, above + 8, width - 10, picture.height - 34, x=x, y=rows)
    if rule:
        axes.levels(np.arange(len(labels)), color=FAINT, width=rule)
    else:
        axes.uprights([value for value, _ in round_ticks(*x, n_ticks)], *rows, color=FAINT, width=0.5)
    if x[0] < 0:
        axes.uprights(0, *rows, color=MUTED, width=0.6)
    axes.names_left(labels)
    axes.ticks_below(n_ticks)
    axes.label_below(xlabel, 24)
    return axes


def steps_figure(
    edges: np.ndarray,  # (n_bins + 1,) float64
    heights: Sequence[np.ndarray],  # (n_bins,) of each entry of the legend
    legend: "Legend",
    *,
    height: float,
    xlabel: str,
    ylabel: str,
) -> Picture:
    """Draw histograms as steps, below their legend."""
    margin, top = (edges[-1] - edges[0]) / 20, legend.height + 8
    picture = Picture(WIDTH, top + height + 38)
    scales = {"x": (edges[0] - margin, edges[-1] + margin), "y": (0, 1.05 * np.max(heights))}
    axes = Axes(picture, 52, top, WIDTH - 12, top + height, **scales)
    axes.rules(4)
    axes.uprights([value for value, _ in round_ticks(*axes.x, 8)], *axes.y, color=FAINT, width=0.5)
    legend.draw(picture)
    for bins, look in zip(heights, legend.looks, strict=True):
        steps = zip(axes.down(bins), axes.across(edges[1:]), strict=True)
        start = f"M{axes.across(edges[0]):.1f} {axes.bottom:g}"
        d = f"{start}{''.join(f'V{y:.1f}H{x:.1f}' for y, x in steps)}V{axes.bottom:g}"
        style = {"stroke": look.color, "stroke_width": look.width, "stroke_dasharray": look.dash}
        picture.path(d, fill="none", **style)
    axes.ticks_left(4)
    axes.ticks_below(8)
    axes.label_below(xlabel, 26)
    axes.label_left(ylabel, 40)
    return picture


class Legend:
    """Samples of looks with their labels, in as many columns as fit into a width in points."""

    def __init__(self, entries: Sequence[tuple[str, Look]], width: float) -> None:
        self._entries, self.looks = entries, [look for _, look in entries]
        self._stroke = LEGEND_STROKE if any(look.width for _, look in entries) else 8
        self._column = self._stroke + 18 + text_width([label for label, _ in entries])
        self._n_columns = max(1, min(int(width // self._column), len(entries)))
        self.height = LEGEND_LINE * -(-len(entries) // self._n_columns)

    def draw(self, picture: Picture, left: float = 8) -> None:
        """Draw it along the upper edge of a picture."""
        n_rows = -(-len(self._entries) // self._n_columns)
        for index, (label, look) in enumerate(self._entries):
            x, y = left + self._column * (index // n_rows), LEGEND_LINE * (index % n_rows + 0.5) + 3
            if look.width:
                style = {"stroke": look.color, "stroke_width": look.width, "stroke_dasharray": look.dash}
                picture.path(f"M{x:.1f} {y:g}h{self._stroke}", fill="none", **style)
            if look.marker:
                face = {"fill": look.face or look.color, "stroke": look.color}
                size = marker_size(look.marker, 5)
                picture.path(mark(look.marker, x + self._stroke / 2, y, size), **face, stroke_width=1)
            picture.text(x + self._stroke + 6, y, label)


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


def mark(marker: str | tuple[int, int, float], x: float, y: float, size: float) -> str:
    """Return the path of a marker around a point, `size` points across."""
    r = size / 2
    if marker == "o":
        return f"M{x - r:g} {y:g}a{r:g} {r:g} 0 1 0 {size:g} 0a{r:g} {r:g} 0 1 0 {-size:g} 0z"
    shape = MARKS[marker] if isinstance(marker, str) else _star(*marker)
    corners = " ".join(f"{x + r * dx:.2f} {y + r * dy:.2f}" for dx, dy in shape)
    return f"M{corners}z"


def _polygon(*radii: float, n_points: int) -> list[tuple[float, float]]:
    """Return the corners of a polygon or a star from the top on, whose radii take turns."""
    n_corners = n_points * len(radii)
    angles = [2 * math.pi * corner / n_corners for corner in range(n_corners)]
    return [(r * math.sin(angle), -r * math.cos(angle)) for r, angle in zip(cycle(radii), angles)]


@cache
def _star(n_points: int, style: int, degrees: float) -> list[tuple[float, float]]:
    """Return the corners of a star, or a polygon for a style of 0, as matplotlib turns it."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    corners = _polygon(*([1, 0.5] if style else [1]), n_points=n_points)
    return [(x * cosine + y * sine, y * cosine - x * sine) for x, y in corners]


def _cross(arm: float) -> list[tuple[float, float]]:
    """Return the corners of a cross whose arms are so broad, as a share of its width."""
    return [
        *((-arm, -1), (arm, -1), (arm, -arm), (1, -arm), (1, arm), (arm, arm)),
        *((arm, 1), (-arm, 1), (-arm, arm), (-1, arm), (-1, -arm), (-arm, -arm)),
    ]


def _turned(corners: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return corners turned by an eighth of a circle."""
    return [((x - y) / math.sqrt(2), (x + y) / math.sqrt(2)) for x, y in corners]


# Corners around a point, by the letters of matplotlib; a dot is a circle, a bar has but two.
MARKS = {
    "s": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
    "D": _polygon(math.sqrt(2), n_points=4),
    "d": [(0, -1.4), (0.85, 0), (0, 1.4), (-0.85, 0)],
    "p": _polygon(1, n_points=5),
    "*": _polygon(1, 0.382, n_points=5),
    "h": _polygon(1, n_points=6),
    "H": [(y, x) for x, y in _polygon(1, n_points=6)],
    "8": _polygon(1, n_points=8),
    "P": _cross(0.4),
    "X": _turned(_cross(0.4)),
    "x": _turned(_cross(0.15)),
    "<": [(-1, 0), (1, -1), (1, 1)],
    ">": [(1, 0), (-1, 1), (-1, -1)],
    "v": [(0, 1), (-1, -1), (1, -1)],
    "^": [(0, -1), (1, 1), (-1, 1)],
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
