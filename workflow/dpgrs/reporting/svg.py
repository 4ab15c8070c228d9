"""Figures as SVG: one look, text as text, the same bytes for the same figure."""

import re
from collections.abc import Collection
from html import escape
from pathlib import Path

from dpgrs.io.files import replacing

INK, MUTED, FAINT = "#1f2933", "#5f6c7b", "#d9dee4"
# Okabe and Ito's palette, safe for colour-blind readers, without its yellow and black.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
# No triangles: those mark values beyond the edge.
MARKERS = ("o", "s", "D", "p", "*", "h")
SIZE = 8  # of text, points
WIDTH = 700  # of figures over the whole page
# A star has thin arms, and is drawn larger to be seen as well.
STAR = 1.6


def marker_size(marker: str, size: float) -> float:
    """Return the size in points at which a marker looks as large as a dot of that size."""
    return STAR * size if marker == "*" else size


def text_width(texts: Collection[str], size: float = SIZE) -> float:
    """Return roughly how many points the longest of some labels takes; a layout must not depend on fonts."""
    return 0.58 * size * max((len(text) for text in texts), default=0)


def shortened(text: str, length: int = 30) -> str:
    """Return a label cut to a length that leaves room for the figure."""
    return text if len(text) <= length else text[: length - 1] + "…"


def inline_svg(svg: str, *, prefix: str, label: str) -> str:
    """Return a drawing in a form that fits into a page.

    The prefix keeps ids of several figures on a page apart, which figures of other packages may have; the
    label says what the figure shows, for readers who do not see it.
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
