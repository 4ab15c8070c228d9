"""Figures as SVG: one look, text as text, the same bytes for the same figure."""

import io
import re
from collections.abc import Collection
from contextlib import AbstractContextManager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs.io.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, MUTED, FAINT = "#1f2933", "#5f6c7b", "#d9dee4"
# Okabe and Ito's palette, safe for colour-blind readers, without its yellow and black.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
# No triangles: those mark values beyond the edge.
MARKERS = ("o", "s", "D", "p", "*", "h")
SIZE = 8  # of text, points
# A star has thin arms, and is drawn larger to be seen as well.
STAR = 1.6

STYLE = {
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": SIZE,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": SIZE,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "dpgrs",
    "text.color": INK,
    # Names of populations and outcomes may hold a dollar sign.
    "text.parse_math": False,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
}
# No date, no version: pages hold results, provenance.json holds circumstances.
METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def styled() -> AbstractContextManager[Any]:
    """Return the context in which figures are made and saved."""
    from matplotlib import rc_context  # takes 0.3 s, which pages of outcomes and releases do without

    return rc_context(STYLE)


def new_figure(
    width: float, height: float, *, left: float, right: float, top: float, bottom: float, **grid: Any
) -> "tuple[Figure, Any]":
    """Return a figure and its axes, laid out in points so that margins fit the text.

    `grid` are keywords of `matplotlib.figure.Figure.subplots`.
    """
    from matplotlib.figure import Figure  # as above

    figure = Figure(figsize=(width / 72, height / 72))
    figure.subplots_adjust(left / width, bottom / height, 1 - right / width, 1 - top / height)
    return figure, figure.subplots(squeeze=False, **grid)


def few_ticks(axis: Any, count: int) -> None:
    """Put at most `count` + 1 ticks on an axis, at round numbers."""
    from matplotlib.ticker import MaxNLocator  # as above

    axis.set_major_locator(MaxNLocator(count, steps=(1, 2, 2.5, 5, 10)))


def marker_size(marker: str, size: float) -> float:
    """Return the size in points at which a marker looks as large as a dot of that size."""
    return STAR * size if marker == "*" else size


def text_width(texts: Collection[str], size: float = SIZE) -> float:
    """Return roughly how many points the longest of some labels takes; a layout must not depend on fonts."""
    return 0.58 * size * max((len(text) for text in texts), default=0)


def shortened(text: str, length: int = 30) -> str:
    """Return a label cut to a length that leaves room for the figure."""
    return text if len(text) <= length else text[: length - 1] + "…"


def stamp(figure: Any, words: str) -> None:
    """Print words into the corner of a matplotlib Figure, on its page, too."""
    figure.text(0.995, 0.005, words, ha="right", va="bottom", color=MUTED, fontsize=7)


def draw_svg(figure: Any, *, is_packed: bool = False) -> str:
    """Draw a Picture, or within `styled` a matplotlib Figure, as the text of an <svg> element.

    `is_packed` is as in `dpgrs.reporting.charts.Picture.svg`.
    """
    if hasattr(figure, "svg"):
        return figure.svg(is_packed=is_packed)
    for axes in figure.axes:
        _write_out_powers(axes.xaxis)
        _write_out_powers(axes.yaxis)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata=METADATA)
    svg = buffer.getvalue()
    # A hundredth of a point cannot be seen, and what lies below it may differ between machines.
    svg = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), svg)
    return svg[svg.index("<svg") :].strip()


def _write_out_powers(axis: Any) -> None:
    """Write out the numbers at a logarithmic axis, which matplotlib would set as mathematics."""
    from matplotlib.ticker import FuncFormatter, LogFormatterMathtext, NullFormatter  # as above

    if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    if isinstance(axis.get_minor_formatter(), LogFormatterMathtext):
        axis.set_minor_formatter(NullFormatter())


def inline_svg(svg: str, *, prefix: str, label: str) -> str:
    """Return a drawing of `draw_svg` in a form that fits into a page.

    The prefix keeps the ids of several figures on a page apart; the label says what the figure shows, for
    readers who do not see it.
    """
    if ' id="' in svg:
        svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
        svg = re.sub(r"font-family: [^;\"]*", "font-family: inherit", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)


def save_svg(svg: str, path: Path, *, words: str = "") -> None:
    """Write a drawing to a file, with words in its corner unless it has them."""
    words = escape(words)
    if words and f">{words}<" not in svg:
        width, height = re.search(r'viewBox="0 0 (\S+) (\S+)"', svg).groups()
        position = f'x="{float(width) - 3:g}" y="{float(height) - 3:g}" text-anchor="end"'
        look = f"font: 7px DejaVu Sans, sans-serif; fill: {MUTED}"
        svg = svg.removesuffix("</svg>") + f'<text {position} style="{look}">{words}</text>\n</svg>'
    with replacing(path) as temporary:
        temporary.write_text(svg + "\n", encoding="utf-8")
