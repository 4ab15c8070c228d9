"""R^2 against the number of outcomes or against epsilon, with the range over replicates, of the grid."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import pandas as pd

from dpgrs.reporting.charts import PAD, TICK, Axes, Legend, Look, Picture, mark
from dpgrs.reporting.fits import Fit
from dpgrs.reporting.grid_layout import MAX_LINES, Layout, View, lay_out, panel_title, rows_of
from dpgrs.reporting.styles import DASHES, limits, series_looks
from dpgrs.reporting.svg import MUTED, WIDTH, text_width
from dpgrs.reporting.terms import ACCOUNTING_NAMES, format_r2, protected_in_brief

LOWEST = -0.3
PANEL_HEIGHT, GAP_ABOVE, GAP_BETWEEN = 118, 28, 14
LEFT, RIGHT, BOTTOM = 50, 12, 38
NOTE_SIZE, NOTE_LINE, NOTE_GAP = 6.5, 9, 4
TICK_ROOM = 28
SINGLE_SPREAD = 1.6
UNDER = "#f5f7f9"  # of the room for notes


class Scale(NamedTuple):
    """The axes that all panels share."""

    x: np.ndarray  # (n_values,) float64, ascending, along the logarithmic axis
    ends: tuple[float, float]  # logarithms, of that axis
    floor: float  # lowest R^2 that is drawn
    top: float  # highest R^2 that is drawn
    width: float  # of a panel in points

    @classmethod
    def of(cls, table: pd.DataFrame, view: View, *, width: float) -> Self:
        """Let the axes hold all values of a table of curves, but no R^2 below `LOWEST`."""
        x = np.sort(table[view.x].dropna().unique()).astype(float)
        # Without private fits there is no epsilon, but level lines still need an axis.
        x = x if len(x) else np.ones(1)
        margin = (x[-1] / x[0]) ** 0.04 if len(x) > 1 else 2.0
        floor, top = limits(table[["mean", "min", "max"]].to_numpy(dtype=float), lowest=LOWEST)
        return cls(x, (np.log(x[0] / margin), np.log(x[-1] * margin)), floor, top, width)

    def x_of(self, x: float) -> float:
        """Return the position of the logarithm of a value along the axis, in points from the left."""
        return self.width * (x - self.ends[0]) / (self.ends[1] - self.ends[0])


class Line(NamedTuple):
    """A fit's R^2 in a panel: (n_points,) arrays, logarithms `x` ascending; low and high over replicates."""

    fit: Fit
    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Note(NamedTuple):
    """How far a line falls that leaves the axes at `x`; `start` and `end` are points from the left."""

    x: float
    text: str
    start: float
    end: float
    series: str


def r2_figure(fits: Sequence[Fit], table: pd.DataFrame, view: View) -> Picture:
    """Draw mean R^2 over outcomes along a view, with the range over replicates as a band.

    Fits and table are as from `curves`. A line ends at the bottom of the axis where R^2 falls below `LOWEST`;
    a note there says how far it falls.
    """
    layout, looks = lay_out(fits, table, view), series_looks(fits)
    n_rows, n_columns = len(layout.panels), len(layout.panels[0])
    width = (WIDTH - LEFT - RIGHT - GAP_BETWEEN * (n_columns - 1)) / n_columns
    scale = Scale.of(table, view, width=width)
    lines = {
        panel: _lines(rows_of(table, panel, view), fits, scale, view)
        for row in layout.panels
        for panel in row
    }
    notes = {panel: _notes(panel_lines, scale) for panel, panel_lines in lines.items()}
    n_notes = max(map(len, notes.values()))
    depth = NOTE_LINE * n_notes + NOTE_GAP if n_notes else 0
    legend = Legend(_entries(fits, looks, layout, view), WIDTH - LEFT)
    head = legend.height + (40 if layout.columns == "protection" else 26)
    step = PANEL_HEIGHT + depth + GAP_ABOVE
    picture = Picture(WIDTH, head + step * n_rows - GAP_ABOVE + BOTTOM)
    legend.draw(picture)
    headed = {None}
    for column, panels in enumerate(zip(*layout.panels, strict=True)):
        left, shown = LEFT + column * (width + GAP_BETWEEN), []
        for row, panel in enumerate(panels):
            if table["is_private"].any() and not any(line.fit.is_private for line in lines[panel]):
                continue
            top = head + row * step
            box = (left, top, left + width, top + PANEL_HEIGHT)
            axes = Axes(picture, *box, x=scale.ends, y=(scale.floor, scale.top))
            shown.append(axes)
            _draw(axes, lines[panel], looks)
            _annotate(axes, notes[panel], looks, depth)
            _frame(axes, depth, scale, is_first=column == 0)
            picture.text(left, top - 8, panel_title(panel, view))
            if panel.protection not in headed:
                headed.add(panel.protection)
                words = protected_in_brief(panel.protection, view.named.features)
                picture.text(left, top - 22, words, font_weight="bold")
        _label(shown[-1], depth, view, scale, has_x=table[view.x].notna().any())
    return picture


def _entries(
    fits: Sequence[Fit], looks: dict[str, Look], layout: Layout, view: View
) -> list[tuple[str, Look]]:
    """Return labels and looks of the series; if these are many, of method, protection and accounting."""
    if len(looks) <= MAX_LINES:
        return list(looks.items())
    private = [fit for fit in fits if fit.is_private]
    entries = {fit.series: (fit.series, looks[fit.series]) for fit in fits if not fit.is_private}
    for fit in private:
        entries.setdefault(fit.method, (fit.method_name, looks[fit.series]._replace(dash="none", face="")))
    for protection in dict.fromkeys(fit.protection for fit in private if layout.columns != "protection"):
        label = protected_in_brief(protection, view.named.features)
        entries[protection] = (label, Look(MUTED, DASHES[protection]))
    accountings = {} if layout.panels[0][0].accounting else dict.fromkeys(fit.accounting for fit in private)
    for accounting in accountings if len(accountings) > 1 else ():
        face = next(looks[fit.series].face for fit in private if fit.accounting == accounting)
        entries[accounting] = (ACCOUNTING_NAMES[accounting], Look(MUTED, width=0, marker="o", face=face))
    return list(entries.values())


def _lines(table: pd.DataFrame, fits: Sequence[Fit], scale: Scale, view: View) -> list[Line]:
    """Return the lines of a panel's rows of the table of curves."""
    series = {name: rows.sort_values(view.x) for name, rows in table.groupby("series", sort=False)}
    private = [name for name, rows in series.items() if rows["is_private"].all()]
    lines = []
    for name, rows in series.items():
        values = rows[[view.x, "mean", "min", "max"]].to_numpy(dtype=float).T
        values[0] = np.log(values[0])
        if name not in private and values.shape[1] == 1:
            values = np.repeat(values, 2, axis=1)
            values[0] = scale.ends
        elif len(scale.x) == 1:
            # Side by side, so that all can be seen.
            values[0] += np.log(SINGLE_SPREAD) * ((2 * private.index(name) + 1) / len(private) - 1)
        lines.append(Line(fits[rows["fit"].iloc[0]], *values))
    return lines


def _draw(axes: Axes, lines: Sequence[Line], looks: dict[str, Look]) -> None:
    """Draw the lines of a panel."""
    axes.rules(5)
    if axes.y[0] < 0:
        axes.levels(0, color=MUTED, width=0.6)
    for line in lines:
        look = looks[line.fit.series]
        if len(line.x) > 1:
            axes.band(line.x, line.low, line.high, fill=look.color, fill_opacity=0.13)
        else:
            low = np.maximum(line.low, axes.y[0])
            axes.uprights(line.x, low, np.maximum(line.high, low), color=look.color, width=0.9)
        axes.line(line.x, line.mean, look)
        if line.fit.is_private:
            is_inside = line.mean >= axes.y[0]
            face = {"fill": look.face or look.color, "stroke": look.color, "stroke_width": 1}
            axes.marks(line.x[is_inside], line.mean[is_inside], marker=look.marker, size=4.5, **face)


def _notes(lines: Sequence[Line], scale: Scale) -> list[list[Note]]:
    """Return, in rows that do not overlap, a note on every line that falls below the floor."""
    names = _short_names([line.fit for line in lines])
    rows = []
    for line, name in zip(lines, names, strict=True):
        if line.mean.min() >= scale.floor:
            continue
        x = _leaves_at(line, scale.floor)
        text = f"{name} down to {_brief(line.mean.min())}"
        width = text_width([text], NOTE_SIZE)
        start = min(max(scale.x_of(x) - width / 2, 0), scale.width - width)
        note = Note(x, text, start, start + width, line.fit.series)
        free = (
            row
            for row in rows
            if all(note.end + 12 < other.start or other.end + 12 < note.start for other in row)
        )
        row = next(free, None)
        if row is None:
            rows.append(row := [])
        row.append(note)
    return rows


def _annotate(axes: Axes, notes: Sequence[Sequence[Note]], looks: dict[str, Look], depth: float) -> None:
    """Put the notes of a panel into the room under its floor, and a triangle where each line leaves."""
    right, bottom = axes.right, axes.bottom + depth
    if not depth:
        return
    axes.picture.path(f"M{axes.left:g} {axes.bottom:g}H{right:g}V{bottom:g}H{axes.left:g}z", fill=UNDER)
    for index, row in enumerate(notes):
        for note in row:
            triangle = mark("v", float(axes.across(note.x)), axes.bottom, 6)
            axes.picture.path(triangle, fill=looks[note.series].color)
            y = axes.bottom + NOTE_LINE * (index + 0.5) + NOTE_GAP
            axes.picture.text(axes.left + note.start, y, note.text, font_size=NOTE_SIZE)


def _frame(axes: Axes, depth: float, scale: Scale, *, is_first: bool) -> None:
    """Draw the left and the lower edge with their ticks, with numbers at the left of the first column."""
    bottom = axes.bottom + depth
    if is_first:
        axes.ticks_left(5)
        axes.label_left("mean R²", LEFT - 8)
    d = f"M{axes.left:g} {axes.top:g}V{bottom:g}H{axes.right:g}"
    ticks = "".join(f"M{axes.across(np.log(x)):.1f} {bottom:g}v{TICK}" for x in scale.x)
    axes.picture.path(d + ticks, fill="none", stroke=MUTED, stroke_width=0.6)


def _leaves_at(line: Line, floor: float) -> float:
    """Return where a line first crosses the floor; where it is highest, if all of it lies below."""
    is_below = line.mean < floor
    crossings = np.flatnonzero(is_below[:-1] != is_below[1:])
    if not len(crossings):
        return line.x[np.argmax(line.mean)]
    here = slice(crossings[0], crossings[0] + 2)
    order = np.argsort(line.mean[here])
    return float(np.interp(floor, line.mean[here][order], line.x[here][order]))


def _short_names(fits: Sequence[Fit]) -> list[str]:
    """Name fits by their methods, and by protection and accounting if these differ."""
    private = [fit for fit in fits if fit.is_private]
    told_apart = [
        name for name in ("protection", "accounting") if len({getattr(fit, name) for fit in private}) > 1
    ]
    names = []
    for fit in fits:
        labels = [getattr(fit, name) for name in told_apart if fit.is_private]
        distinctions = ", ".join(
            ACCOUNTING_NAMES.get(label, label).removesuffix(" accounting") for label in labels
        )
        names.append(f"{fit.method_name} ({distinctions})" if distinctions else fit.method_name)
    return names


def _brief(value: float) -> str:
    return format_r2(value, digits=0 if abs(value) >= 1 else 1)


def _label(axes: Axes, depth: float, view: View, scale: Scale, *, has_x: bool) -> None:
    """Label the lowest panel of a column, and the values along it as far as there is room."""
    ticks = []
    for value in reversed(scale.x if has_x else []):
        log_value = np.log(value)
        if not ticks or scale.x_of(ticks[-1][0]) - scale.x_of(log_value) >= TICK_ROOM:
            ticks.append((log_value, f"{value:,.0f}" if view.x == "n_outcomes" else f"{value:g}"))
    axes.names_below(ticks, pad=depth + TICK + PAD)
    axes.label_below(view.label if has_x else "no private fit", depth + 25)
