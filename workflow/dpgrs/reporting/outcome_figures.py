"""Figures of one outcome: weights along the genome, R^2 by method, R^2 by population."""

from itertools import cycle

import numpy as np

from dpgrs.reporting.accuracy import mean
from dpgrs.reporting.fits import fitting_rows
from dpgrs.reporting.styles import MANY_ROWS, WIDTH, limits, row_height, series_styles
from dpgrs.reporting.svg import (
    FAINT,
    MARKERS,
    MUTED,
    few_ticks,
    marker_size,
    new_figure,
    shortened,
    text_width,
    without_label,
)

MAX_BARS = 1000
HALF_WIDTH = 345
CHROMOSOME_GAP = 0.012
SMALLEST_CHROMOSOME = 0.015


class WeightsFigure:
    """Weights of one outcome along the genome, a strip per set of weights; built once, redrawn per outcome.

    Parameters
    ----------
    variants : data frame with contig and position of n_variants variants, in genome order.
    labels : list of str, one per strip.
    colors : list of str, one per strip.
    place : str, what chromosomes or the like are called.
    strip_height : float, points.
    """

    def __init__(self, variants, *, labels, colors, place="chromosome", strip_height=62):
        self.x, self._chromosomes = genome_axis(variants["contig"], variants["position"])
        self.figure, axes = new_figure(
            WIDTH,
            strip_height * len(labels) + 40,
            left=46,
            right=6,
            top=16,
            bottom=28,
            nrows=len(labels),
            sharex=True,
            gridspec_kw={"hspace": 0.42},
        )
        self._axes = axes[:, 0]
        self._bars = [
            axis.plot([], [], color=color)[0] for axis, color in zip(self._axes, colors, strict=True)
        ]
        self._notes = [_text_above(axis, 1, "", ha="right", color=MUTED) for axis in self._axes]
        for axis, label in zip(self._axes, labels, strict=True):
            _text_above(axis, 0, label)
            self._prepare(axis)
        self._axes[-1].set_xlabel(place, labelpad=2)
        for axis in self._axes:
            without_label(axis.yaxis)
        for axis in self._axes[:-1]:
            without_label(axis.xaxis)

    def draw(self, weights, notes, *, places=slice(None)):
        """Show the weights of another outcome.

        Parameters
        ----------
        weights : (n_strips, n_shown) float64.
        notes : list of n_strips str, shown at the right above each strip.
        places : (n_shown,) int64, rows of the variants that the weights are of; by default all.

        Returns
        -------
        matplotlib Figure, the same object every time.
        """
        for axis, bars, note, values, text in zip(
            self._axes, self._bars, self._notes, weights, notes, strict=True
        ):
            x, heights = thin_bars(self.x[places], values)
            bars.set_data(bar_outline(x, heights))
            bars.set_linewidth(1.4 if len(x) < 200 else 0.8)
            reach = np.abs(heights).max(initial=0.0) or 1.0
            axis.set_ylim(-1.08 * reach, 1.08 * reach)
            note.set_text(text)
        return self.figure

    def _prepare(self, axis):
        axis.axhline(0, color=MUTED, linewidth=0.5)
        show_chromosomes(axis, self._chromosomes)
        axis.spines["bottom"].set_visible(False)
        few_ticks(axis.yaxis, 3)


def show_chromosomes(axis, chromosomes):
    """Shade every other chromosome and name all of them; `chromosomes` as from `genome_axis`."""
    for place, (start, end) in enumerate(chromosomes.values()):
        if place % 2:
            axis.axvspan(start, end, color=FAINT, alpha=0.45, linewidth=0)
    centres = [(start + end) / 2 for start, end in chromosomes.values()]
    axis.set_xticks(centres, [str(name).removeprefix("chr") for name in chromosomes])
    axis.set_xlim(-0.004, 1.004)
    axis.tick_params(axis="x", length=0)


def _text_above(axis, x, text, **style):
    return axis.text(x, 1.07, text, transform=axis.transAxes, **style)


def genome_axis(contigs, positions):
    """Lay chromosomes side by side, each as wide as the span of its variants.

    Parameters
    ----------
    contigs, positions : (n_variants,) in genome order.

    Returns
    -------
    x : (n_variants,) float64 in [0, 1].
    chromosomes : dict of contig to (start, end) on that axis.
    """
    contigs, positions = np.asarray(contigs), np.asarray(positions, dtype=float)
    names = list(dict.fromkeys(contigs.tolist()))
    members = [contigs == name for name in names]
    spans = np.array([np.ptp(positions[member]) for member in members])
    # A chromosome with a single variant must still be seen.
    widths = np.maximum(spans / max(spans.sum(), 1.0), SMALLEST_CHROMOSOME)
    widths *= (1 - CHROMOSOME_GAP * (len(names) - 1)) / widths.sum()
    starts = np.append(0.0, np.cumsum(widths + CHROMOSOME_GAP)[:-1])
    x = np.empty(len(positions))
    for member, start, width, span in zip(members, starts, widths, spans, strict=True):
        offset = positions[member] - positions[member].min()
        x[member] = start + width * (offset / span if span else 0.5)
    return x, {
        name: (float(start), float(start + width))
        for name, start, width in zip(names, starts, widths, strict=True)
    }


def thin_bars(x, heights):
    """Keep, of more than `MAX_BARS` bars, the tallest in each of `MAX_BARS` equal stretches of the axis."""
    if len(x) <= MAX_BARS:
        return x, heights
    stretch = np.minimum((x * MAX_BARS).astype(int), MAX_BARS - 1)
    order = np.lexsort((-np.abs(heights), stretch))
    _, first = np.unique(stretch[order], return_index=True)
    return x[order[first]], heights[order[first]]


class TrialsFigure:
    """R^2 of one outcome by fit, trials as points and their mean as a bar; built once, redrawn per outcome.

    Parameters
    ----------
    accuracy : Accuracy
    """

    def __init__(self, accuracy):
        styles = series_styles(accuracy.fits)
        self._places = row_places(accuracy)
        fits = [accuracy.fits[place] for place in self._places]
        labels = [shortened(fit.brief, 45) for fit in fits]
        self._r2 = accuracy.r2
        self._plot = _DotPlot(labels, xlabel="R² on test rows", is_wide=len(labels) > MANY_ROWS)
        self._rows = []
        for fit in fits:
            color = styles[fit.series]["color"]
            dots = self._plot.dots(marker="o", color=color, alpha=0.6, markersize=4.5)
            (bar,) = self._plot.axes.plot([], [], color=color, linewidth=1.8)
            self._rows.append((dots, bar))

    def draw(self, outcome):
        """Show another outcome.

        Parameters
        ----------
        outcome : int, index.

        Returns
        -------
        matplotlib Figure, the same object every time.
        """
        values = self._r2[self._places, outcome]
        self._plot.fit_to(values)
        for y, (trials, (dots, bar)) in enumerate(zip(values, self._rows, strict=True)):
            self._plot.place(dots, trials, np.full(len(trials), y))
            # Cut at the edge like any line: a mean further down has no bar.
            bar.set_data([mean(trials)] * 2, [y - 0.3, y + 0.3])
        return self._plot.figure


def row_places(accuracy):
    """Choose the fits that have a row in `trials_figure`: those with any value, if they are not too many."""
    has_value = np.isfinite(accuracy.r2).any(axis=(1, 2))
    fits = [fit for fit, is_there in zip(accuracy.fits, has_value, strict=True) if is_there]
    return [accuracy.fits.index(fit) for fit in fitting_rows(fits)]


class PopulationsFigure:
    """R^2 of one outcome by population of the test rows, a marker per fit; built once, redrawn per outcome.

    Parameters
    ----------
    fits : list of str, names of the fits.
    colors : list of str, one per fit.
    populations : list of str.
    """

    def __init__(self, *, fits, colors, populations):
        labels = [shortened(name) for name in populations]
        self._plot = _DotPlot(labels, xlabel="R², mean over trials", legend=fits)
        self._dots = [
            self._plot.dots(marker=marker, color=color, label=label, markersize=marker_size(marker, 5.5))
            for label, color, marker in zip(fits, colors, cycle(MARKERS), strict=False)
        ]
        self._plot.figure.legend(loc="upper left", borderaxespad=0.3, handletextpad=0.2, labelspacing=0.35)

    def draw(self, r2):
        """Show another outcome.

        Parameters
        ----------
        r2 : (n_fits, n_populations) float64, mean over trials.

        Returns
        -------
        matplotlib Figure, the same object every time.
        """
        self._plot.fit_to(r2)
        # Fits of a population stand a little apart, so that equal values can be told apart.
        shifts = np.linspace(-0.25, 0.25, len(r2)) if len(r2) > 1 else [0.0]
        for dots, values, shift in zip(self._dots, r2, shifts, strict=True):
            self._plot.place(dots, values, np.arange(len(values)) + shift)
        return self._plot.figure


class _DotPlot:
    """A figure with rows of points; those below its floor become arrows at the edge."""

    def __init__(self, labels, *, xlabel, legend=(), is_wide=False):
        self.figure, [[self.axes]] = new_figure(
            WIDTH if is_wide else HALF_WIDTH,
            row_height(len(labels)) * len(labels) + 14 * len(legend) + 42,
            left=text_width(labels) + 16,
            right=10,
            top=14 * len(legend) + 8,
            bottom=34,
        )
        axes = self.axes
        axes.set(xlim=(0, 1), ylim=(len(labels) - 0.4, -0.6), xlabel=xlabel)
        axes.set_yticks(range(len(labels)), labels)
        axes.tick_params(axis="y", length=0, pad=7)
        axes.spines["left"].set_visible(False)
        self._rules = axes.hlines(range(len(labels)), 0, 1, color=FAINT, linewidth=0.5, zorder=0)
        self._zero = axes.axvline(0, color=MUTED, linewidth=0.6, zorder=0)
        few_ticks(axes.xaxis, 4)
        without_label(axes.yaxis)

    def fit_to(self, values):
        """Let the axis hold all values, but for those far below zero."""
        self._floor, top = limits(values)
        self.axes.set_xlim(self._floor, top)
        rows = range(len(self._rules.get_segments()))
        self._rules.set_segments([[(self._floor, y), (top, y)] for y in rows])
        self._zero.set_visible(self._floor < 0)

    def dots(self, *, marker, label=None, **style):
        """Return what `place` moves: points, and arrows for those of them that lie too far down."""
        style |= {"linestyle": "none", "markeredgecolor": "white", "markeredgewidth": 0.5, "clip_on": False}
        (points,) = self.axes.plot([], [], marker=marker, label=label, **style)
        (arrows,) = self.axes.plot([], [], marker="<", **style)
        return points, arrows

    def place(self, dots, x, y):
        """Put points at (n_points,) `x` and `y`."""
        points, arrows = dots
        is_below = x < self._floor
        points.set_data(x[~is_below], y[~is_below])
        arrows.set_data(np.full(is_below.sum(), self._floor), y[is_below])


def bar_outline(x, heights):
    """Return one broken line that draws a bar from zero to each height: a single path, small as SVG."""
    nothing = np.full(len(x), np.nan)
    return (
        np.column_stack([x, x, nothing]).ravel(),
        np.column_stack([np.zeros(len(x)), heights, nothing]).ravel(),
    )
