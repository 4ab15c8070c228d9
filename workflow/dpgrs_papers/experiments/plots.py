"""Figures of the papers by matplotlib: one look, text as text, the same bytes for the same figure."""

import io
import re
from contextlib import AbstractContextManager
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogFormatterMathtext, NullFormatter

from dpgrs.reporting.svg import INK, MUTED, SIZE

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
    # Names may hold a dollar sign.
    "text.parse_math": False,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
}
# No date, no version: pages hold results, provenance.json holds circumstances.
METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


class Plot(Figure):
    """A figure that pages draw as they draw a `dpgrs.reporting.charts.Picture`."""

    def svg(self, *, is_packed: bool = False) -> str:
        """Return the figure as the text of an <svg> element; call within `styled`."""
        for axes in self.axes:
            _write_out_powers(axes.xaxis)
            _write_out_powers(axes.yaxis)
        buffer = io.StringIO()
        self.savefig(buffer, format="svg", metadata=METADATA)
        svg = buffer.getvalue()
        # A hundredth of a point cannot be seen, and what lies below it may differ between machines.
        svg = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), svg)
        return svg[svg.index("<svg") :].strip()


def styled() -> AbstractContextManager[Any]:
    """Return the context in which figures are made and saved."""
    return rc_context(STYLE)


def new_figure(
    width: float, height: float, *, left: float, right: float, top: float, bottom: float, **grid: Any
) -> tuple[Plot, Any]:
    """Return a figure and its axes, laid out in points so that margins fit the text.

    `grid` are keywords of `matplotlib.figure.Figure.subplots`.
    """
    figure = Plot(figsize=(width / 72, height / 72))
    figure.subplots_adjust(left / width, bottom / height, 1 - right / width, 1 - top / height)
    return figure, figure.subplots(squeeze=False, **grid)


def _write_out_powers(axis: Any) -> None:
    """Write out the numbers at a logarithmic axis, which matplotlib would set as mathematics."""
    if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    if isinstance(axis.get_minor_formatter(), LogFormatterMathtext):
        axis.set_minor_formatter(NullFormatter())
