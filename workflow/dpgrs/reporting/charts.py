"""Simple charts as plain SVG, for the figures of which a study has thousands: small, and made in a moment."""

import math
from base64 import b64encode
from functools import partial
from html import escape
from itertools import cycle, product

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
    """A drawing that is built from elements of SVG, in points from its upper left corner.

    Parameters
    ----------
    width, height : float, points.
    """

    def __init__(self, width, height):
        self.width, self.height = width, height
        self._elements = []

    def path(self, d, **style):
        """Add a path; `style` are attributes of SVG, with underscores for their hyphens."""
        if d:
            self._elements.append(f'<path d="{d}"{_attributes(style)}/>')

    def paths(self, found, **style):
        """Add paths of one style, each drawn over those before it."""
        if len(found) == 1:
            self.path(found[0], **style)
        elif found:
            drawn = "".join(f'<path d="{d}"/>' for d in found)
            self._elements.append(f"<g{_attributes(style)}>{drawn}</g>")

    def packed(self, draw):
        """Add what a page may hold in short; `draw` takes whether it does, and returns the element."""
        self._elements.append(draw)

    def text(self, x, y, words, **style):
        """Add words, whose middle is at the height `y`; `style` as for `path`."""
        place = {"x": round(x, DIGITS), "y": round(y + MIDDLE * style.get("font_size", SIZE), DIGITS)}
        self._elements.append(f"<text{_attributes(place | style)}>{escape(words)}</text>")

    def svg(self, *, is_packed=False):
        """Return the drawing as the text of an <svg> element.

        Parameters
        ----------
        is_packed : bool, whether the script of pages draws many bars, from their heights alone.
        """
        head = {"width": f"{self.width:g}pt", "height": f"{self.height:g}pt"}
        head |= {"viewBox": f"0 0 {self.width:g} {self.height:g}", "style": "background: #fff"}
        head |= {"font_family": "sans-serif", "font_size": SIZE, "fill": INK}
        start = f'<svg xmlns="http://www.w3.org/2000/svg"{_attributes(head)}>'
        elements = [one if isinstance(one, str) else one(is_packed) for one in self._elements]
        return "\n".join([start, *elements, "</svg>"])


class Axes:
    """A box of a picture with a scale across and a scale up, on which values are drawn.

    Parameters
    ----------
    picture : Picture
    left, top, right, bottom : float, its edges in points.
    x : tuple of 2 float, the values at the left and at the right edge.
    y : tuple of 2 float, the values at the bottom and at the top edge.
    """

    def __init__(self, picture, left, top, right, bottom, *, x, y):
        self.picture, self.x, self.y = picture, x, y
        edges = (left, top, right, bottom)
        self.left, self.top, self.right, self.bottom = (round(edge, DIGITS) for edge in edges)

    def across(self, x):
        """Return where values lie, in points from the left of the picture."""
        return self.left + (np.asarray(x) - self.x[0]) * (self.right - self.left) / (self.x[1] - self.x[0])

    def down(self, y):
        """Return where values lie, in points from the top of the picture."""
        return self.bottom - (np.asarray(y) - self.y[0]) * (self.bottom - self.top) / (self.y[1] - self.y[0])

    def uprights(self, x, low, high, *, color, width):
        """Draw vertical lines, one path, without those too short to be seen; (n,) arrays or numbers."""
        ends = _rounded(self.across(x), self.down(low), self.down(high))
        ends = ends[np.isfinite(ends).all(axis=1) & (ends[:, 1] != ends[:, 2])]
        self._stroke(_written("M%g %gV%g", ends), color, width)

    def bars(self, x, heights, *, color, width, low=0, places=None):
        """Draw vertical bars that start on one level.

        Parameters
        ----------
        x, heights : (n,) float64; bars without a height are left out.
        color : str
        width : float, points.
        low : float, where the bars start.
        places : str, by what name pages know x: `variants`, as `packed_places` wrote them, or `stretches`,
            the middles of n equal parts of the scale from 0 to 1. Many bars are then in a page as heights.
        """
        if places is None or np.count_nonzero(heights) < FEW_BARS:
            self.uprights(x, low, low + heights, color=color, width=width)
            return
        style = {"stroke": color, "stroke_width": width}
        self.picture.packed(partial(self._bars, x, heights, low, places, style))

    def _bars(self, x, heights, low, places, style, is_packed):
        if not is_packed:
            ends = _rounded(self.across(x), self.down(low), self.down(low + heights))
            return f'<path d="{_written("M%g %gV%g", ends[ends[:, 1] != ends[:, 2]])}"{_attributes(style)}/>'
        tallest = np.abs(heights).max()
        top, bottom = self.down(low + tallest), self.down(low)
        box = [*self.across([0, 1]), bottom, bottom - top]
        data = {"data_bars": _base64(heights / tallest * HIGHEST, "<i2"), "data_places": places}
        data["data_box"] = " ".join(f"{value:.2f}" for value in box)
        return f"<path{_attributes(data | style)}/>"

    def levels(self, y, *, color, width):
        """Draw horizontal lines over the whole width, one path, at (n,) values."""
        ends = _rounded(self.left, self.down(y), self.right)
        self._stroke(_written("M%g %gH%g", ends), color, width)

    def shade(self, spans):
        """Shade stretches of the scale across, a list of (start, end)."""
        edges = [(self.across(start), self.top, self.across(end), self.bottom) for start, end in spans]
        d = "".join(f"M{a:.1f} {b:g}H{c:.1f}V{d:.1f}H{a:.1f}z" for a, b, c, d in edges)
        self.picture.path(d, fill=FAINT, fill_opacity=0.45)

    def marks(self, x, y, *, marker, size, **style):
        """Draw a marker at every point, each a path of its own so that points that overlap are told apart.

        Parameters
        ----------
        x, y : (n,) arrays; points that are not finite are left out.
        marker : str, `o` or a key of `MARKS`.
        size : float, points.
        **style : attributes of SVG.
        """
        points = _rounded(self.across(x), self.down(y))
        found = points[np.isfinite(points).all(axis=1)].tolist()
        self.picture.paths([mark(marker, *point, size) for point in found], **style)

    def ticks_left(self, count):
        """Put at most `count` + 1 ticks at round numbers along the left edge, which is drawn."""
        d = [f"M{self.left:g} {self.top:g}V{self.bottom:.1f}"]
        for value, label in round_ticks(*self.y, count):
            y = self.down(value)
            d.append(f"M{self.left:g} {y:.1f}h-{TICK}")
            self.picture.text(self.left - TICK - PAD, y, label, text_anchor="end")
        self._stroke("".join(d), MUTED, 0.6)

    def ticks_below(self, count):
        """Put at most `count` + 1 ticks at round numbers along the bottom edge, which is drawn."""
        d = [f"M{self.left:g} {self.bottom:g}H{self.right:g}"]
        for value, label in round_ticks(*self.x, count):
            x = self.across(value)
            d.append(f"M{x:.1f} {self.bottom:g}v{TICK}")
            self.names_below([(value, label)], pad=TICK + PAD)
        self._stroke("".join(d), MUTED, 0.6)

    def names_left(self, names):
        """Name the rows of the axes, whose values are 0, 1, ..."""
        for row, name in enumerate(names):
            self.picture.text(self.left - 2 * PAD, self.down(row), name, text_anchor="end")

    def names_below(self, names, *, pad=PAD):
        """Write names under the axes, a list of (value, name)."""
        for value, name in names:
            y = self.bottom + pad + (ASCENT - MIDDLE) * SIZE
            self.picture.text(self.across(value), y, name, text_anchor="middle")

    def label_below(self, words, distance):
        """Say under the middle of the axes what lies across, at a distance in points."""
        middle = (self.left + self.right) / 2
        self.picture.text(middle, self.bottom + distance, words, text_anchor="middle")

    def _stroke(self, d, color, width):
        self.picture.path(d, stroke=color, stroke_width=width)


def round_ticks(low, high, count):
    """Choose the smallest round step that gives at most `count` + 1 ticks.

    Parameters
    ----------
    low, high : float, ends of the scale, which holds 0.
    count : int

    Returns
    -------
    list of (value, label)

    Examples
    --------
    >>> [label for _, label in round_ticks(-0.3, 0.6, 3)]
    ['−0.25', '0.00', '0.25', '0.50']
    """
    exponent = math.floor(math.log10((high - low) / (count + 2)))
    for power, step in product((exponent, exponent + 1), STEPS):
        size = step * 10.0**power
        # What is off by rounding alone lies on the edge.
        places = range(math.ceil(low / size - 1e-9), math.floor(high / size + 1e-9) + 1)
        if len(places) <= count + 1:
            break
    digits = max(0, (step == 2.5) - power)
    style = f",.{digits}f" if power < 5 and digits < 5 else ".3g"
    return [(place * size, f"{place * size:{style}}".replace("-", "−")) for place in places]


def mark(marker, x, y, size):
    """Return the path of a marker around a point, `size` points across."""
    r = size / 2
    if marker == "o":
        return f"M{x - r:g} {y:g}a{r:g} {r:g} 0 1 0 {size:g} 0a{r:g} {r:g} 0 1 0 {-size:g} 0z"
    corners = " ".join(f"{x + r * dx:.2f} {y + r * dy:.2f}" for dx, dy in MARKS[marker])
    return f"M{corners}z"


def _polygon(*radii, n_points):
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


def packed_places(x):
    """Return (n,) places from 0 to 1 in the form in which the script of pages reads those of variants.

    Examples
    --------
    >>> packed_places(np.array([0.0, 1.0]))
    'AAD//w=='
    """
    return _base64(x * (2**16 - 1), "<u2")


def _base64(values, kind):
    return b64encode(np.round(values).astype(kind).tobytes()).decode()


def _rounded(*columns):
    """Put numbers and (n,) arrays side by side as (n, n_columns), rounded to what can be seen."""
    return np.column_stack([np.ravel(column) for column in np.broadcast_arrays(*columns)]).round(DIGITS)


def _written(pattern, rows):
    # One format for all: a thousand bars take a millisecond.
    return pattern * len(rows) % tuple(rows.ravel().tolist())


def _attributes(style):
    return "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
