"""R^2 against the number of outcomes or against epsilon, with the range over replicates, of the grid."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pandas as pd

from dpgrs.reporting.fits import Fit
from dpgrs.reporting.grid_layout import MAX_LINES, Layout, View, lay_out, panel_title, rows_of
from dpgrs.reporting.styles import LINES, WIDTH, limits, series_styles
from dpgrs.reporting.svg import FAINT, MUTED, few_ticks, new_figure, text_width
from dpgrs.reporting.terms import ACCOUNTING_NAMES, format_r2, protected_in_brief

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOWEST = -0.3
PANEL_HEIGHT, GAP_ABOVE, GAP_BETWEEN = 118, 28, 14
LEFT, RIGHT, BOTTOM = 50, 12, 38
LEGEND_LINE = 15
NOTE_SIZE, NOTE_LINE, NOTE_GAP = 6.5, 9, 4
TICK_ROOM = 28
SINGLE_SPREAD = 1.6


class Scale(NamedTuple):
    """The axes that all panels share."""

    x: np.ndarray  # (n_values,) float64, ascending, along the logarithmic axis
    ends: tuple[float, float]  # of that axis
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
        return cls(x, (x[0] / margin, x[-1] * margin), floor, top, width)

    def place(self, x: float) -> float:
        """Return the position of a value along the axis, in points from the left."""
        low, high = np.log(self.ends)
        return self.width * (np.log(x) - low) / (high - low)


class Line(NamedTuple):
    """A fit's R^2 in one panel: (n_points,) arrays, `x` ascending; low and high over replicates."""

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


def r2_figure(fits: Sequence[Fit], table: pd.DataFrame, view: View) -> "Figure":
    """Draw mean R^2 over outcomes along a view, with the range over replicates as a band; call within
    `styled`.

    Fits and table are as from `curves`. A line ends at the bottom of the axis where R^2 falls below `LOWEST`;
    a note there says how far it falls.
    """
    layout = lay_out(fits, table, view)
    styles = series_styles(fits)
    handles = _legend(fits, styles, layout, view)
    n_columns = len(layout.panels[0])
    width = (WIDTH - LEFT - RIGHT - GAP_BETWEEN * (n_columns - 1)) / n_columns
    scale = Scale.of(table, view, width=width)
    lines = [
        [_lines(rows_of(table, panel, view), fits, scale, view) for panel in row] for row in layout.panels
    ]
    notes = [[_notes(panel_lines, scale) for panel_lines in row] for row in lines]
    n_notes = max(len(panel_lines) for row in notes for panel_lines in row)
    depth = NOTE_LINE * n_notes + NOTE_GAP if n_notes else 0
    figure, axes = _empty_figure(layout, width, depth, legend=handles)
    headed = {None}
    for row, column in np.ndindex(axes.shape):
        panel, axis, panel_lines = layout.panels[row][column], axes[row, column], lines[row][column]
        if table["is_private"].any() and not any(line.fit.is_private for line in panel_lines):
            axis.set_visible(False)
            continue
        # Limits are set once for all; to look for them after every line takes half of the time.
        axis.set_autoscale_on(False)
        _draw(axis, panel_lines, styles, scale)
        _annotate(axis, notes[row][column], styles, scale, depth)
        axis.set_title(panel_title(panel, view))
        if panel.protection not in headed:
            headed.add(panel.protection)
            _head(axis, protected_in_brief(panel.protection, view.named.features))
    _label_axes(axes, view, scale, has_x=table[view.x].notna().any())
    return figure


def _empty_figure(
    layout: Layout, width: float, depth: float, *, legend: Sequence[Any]
) -> "tuple[Figure, Any]":
    """Return a figure with its legend and empty axes of a width; `depth` is the room for notes in each."""
    n_rows, n_columns = len(layout.panels), len(layout.panels[0])
    longest = text_width([handle.get_label() for handle in legend])
    n_legend = max(1, min(len(legend), int((WIDTH - 20) / (longest + 46))))
    head = LEGEND_LINE * -(-len(legend) // n_legend) + 26
    head += 14 if layout.columns == "protection" else 0
    height = PANEL_HEIGHT + depth
    figure, axes = new_figure(
        WIDTH,
        head + height * n_rows + GAP_ABOVE * (n_rows - 1) + BOTTOM,
        left=LEFT,
        right=RIGHT,
        top=head,
        bottom=BOTTOM,
        nrows=n_rows,
        ncols=n_columns,
        sharex=True,
        sharey=True,
        gridspec_kw={"hspace": GAP_ABOVE / height, "wspace": GAP_BETWEEN / width},
    )
    figure.legend(handles=legend, ncols=n_legend, loc="upper left", borderaxespad=0.4, handlelength=3)
    return figure, axes


def _legend(fits: Sequence[Fit], styles: dict[str, dict[str, Any]], layout: Layout, view: View) -> list[Any]:
    """Return a handle per series; if these are many, per method, protection and accounting."""
    from matplotlib.lines import Line2D  # as in `dpgrs.reporting.svg`

    if len(styles) <= MAX_LINES:
        return [Line2D([], [], label=series, **style) for series, style in styles.items()]
    handles = {
        fit.series: Line2D([], [], label=fit.series, **styles[fit.series])
        for fit in fits
        if not fit.is_private
    }
    private = [fit for fit in fits if fit.is_private]
    for fit in private:
        look = {name: styles[fit.series][name] for name in ("color", "linewidth", "marker", "markersize")}
        handles.setdefault(fit.method, Line2D([], [], label=fit.method_name, **look))
    for protection in dict.fromkeys(fit.protection for fit in private if layout.columns != "protection"):
        label = protected_in_brief(protection, view.named.features)
        handles[protection] = Line2D([], [], color=MUTED, linestyle=LINES[protection], label=label)
    accountings = {} if layout.panels[0][0].accounting else dict.fromkeys(fit.accounting for fit in private)
    for accounting in accountings if len(accountings) > 1 else ():
        face = next(styles[fit.series]["markerfacecolor"] for fit in private if fit.accounting == accounting)
        look = {"marker": "o", "linestyle": "none", "color": MUTED}
        look["markerfacecolor"] = "white" if face == "white" else MUTED
        handles[accounting] = Line2D([], [], label=ACCOUNTING_NAMES[accounting], **look)
    return list(handles.values())


def _lines(table: pd.DataFrame, fits: Sequence[Fit], scale: Scale, view: View) -> list[Line]:
    """Return the lines of a panel's rows of the table of curves."""
    series = {name: rows.sort_values(view.x) for name, rows in table.groupby("series", sort=False)}
    private = [name for name, rows in series.items() if rows["is_private"].all()]
    lines = []
    for name, rows in series.items():
        values = rows[[view.x, "mean", "min", "max"]].to_numpy(dtype=float).T
        if name not in private and values.shape[1] == 1:
            values = np.repeat(values, 2, axis=1)
            values[0] = scale.ends
        elif len(scale.x) == 1:
            # Side by side, so that all can be seen.
            values[0] *= SINGLE_SPREAD ** ((2 * private.index(name) + 1) / len(private) - 1)
        lines.append(Line(fits[rows["fit"].iloc[0]], *values))
    return lines


def _draw(axis: Any, lines: Sequence[Line], styles: dict[str, dict[str, Any]], scale: Scale) -> None:
    """Draw the lines of a panel."""
    axis.grid(axis="y", color=FAINT, linewidth=0.5)
    axis.set_axisbelow(True)
    if scale.floor < 0:
        axis.axhline(0, color=MUTED, linewidth=0.6)
    for line in lines:
        style = styles[line.fit.series]
        if len(line.x) > 1:
            axis.fill_between(line.x, line.low, line.high, color=style["color"], alpha=0.13, linewidth=0)
        else:
            axis.vlines(line.x, line.low, line.high, color=style["color"], linewidth=0.9)
        axis.plot(line.x, line.mean, **style | {"marker": None})
        is_inside = line.mean >= scale.floor
        if line.fit.is_private:
            axis.plot(line.x[is_inside], line.mean[is_inside], **style | {"linestyle": "none"})


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
        start = min(max(scale.place(x) - width / 2, 0), scale.width - width)
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


def _annotate(
    axis: Any, notes: Sequence[Sequence[Note]], styles: dict[str, dict[str, Any]], scale: Scale, depth: float
) -> None:
    """Put the notes of a panel into the room under its floor, and a triangle where each line leaves."""
    per_point = (scale.top - scale.floor) / PANEL_HEIGHT
    bottom = scale.floor - depth * per_point
    axis.set_ylim(bottom, scale.top)
    if not depth:
        return
    # What lies under the floor is covered.
    axis.axhspan(bottom, scale.floor, color="#f5f7f9", linewidth=0, zorder=4)
    for index, row in enumerate(notes):
        for note in row:
            color = styles[note.series]["color"]
            axis.plot(note.x, scale.floor, marker="v", color=color, markersize=5, zorder=5, clip_on=False)
            axis.annotate(
                note.text,
                (0, 1 - PANEL_HEIGHT / (PANEL_HEIGHT + depth)),
                (note.start, -NOTE_LINE * (index + 0.5) - NOTE_GAP),
                xycoords="axes fraction",
                textcoords="offset points",
                va="center",
                fontsize=NOTE_SIZE,
                zorder=6,
            )


def _leaves_at(line: Line, floor: float) -> float:
    """Return where a line first crosses the floor; where it is highest, if all of it lies below."""
    is_below = line.mean < floor
    crossings = np.flatnonzero(is_below[:-1] != is_below[1:])
    if not len(crossings):
        return line.x[np.argmax(line.mean)]
    here = slice(crossings[0], crossings[0] + 2)
    order = np.argsort(line.mean[here])
    return np.exp(np.interp(floor, line.mean[here][order], np.log(line.x[here][order])))


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


def _head(axis: Any, words: str) -> None:
    """Write above a column of panels which protection it has."""
    axis.annotate(
        words,
        (0, 1),
        (0, 19),
        xycoords="axes fraction",
        textcoords="offset points",
        fontweight="bold",
    )


def _label_axes(axes: Any, view: View, scale: Scale, *, has_x: bool) -> None:
    """Label the outer axes, and the values along them as far as there is room."""
    labels = [(value, f"{value:,.0f}" if view.x == "n_outcomes" else f"{value:g}") for value in scale.x]
    ticks = []
    for value, label in reversed(labels if has_x else []):
        if not ticks or scale.place(ticks[-1][0]) - scale.place(value) >= TICK_ROOM:
            ticks.append((value, label))
    for column in axes.T:
        shown = [axis for axis in column if axis.get_visible()]
        shown[-1].set_xlabel(view.label if has_x else "no private fit")
        shown[-1].tick_params(labelbottom=True)
    first = axes[0, 0]
    first.set(xscale="log", xlim=scale.ends)
    first.set_xticks([value for value, _ in ticks], [label for _, label in ticks])
    first.minorticks_off()
    few_ticks(first.yaxis, 5)
    first.set_yticks([tick for tick in first.get_yticks() if scale.floor <= tick <= scale.top])
    for axis in axes[:, 0]:
        axis.set_ylabel("mean R²")
