"""Figures of one outcome: weights along the genome, R^2 by method, R^2 by population."""

from itertools import cycle

import numpy as np

from dpgrs.reporting.accuracy import mean
from dpgrs.reporting.charts import FEW_BARS, Axes, Picture, mark, packed_places
from dpgrs.reporting.fits import fitting_rows
from dpgrs.reporting.styles import MANY_ROWS, WIDTH, limits, row_height, series_styles
from dpgrs.reporting.svg import FAINT, MARKERS, MUTED, marker_size, shortened, text_width

MAX_BARS = 1000
HALF_WIDTH = 345
LEGEND_LINE = 14
STRIP_GAP = 0.42
CHROMOSOME_GAP = 0.012
SMALLEST_CHROMOSOME = 0.015


class WeightsFigure:
    """Weights of outcomes along the genome, a strip per set of weights.

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
        self._labels, self._colors = labels, colors
        self._place, self._strip_height = place, strip_height

    def draw(self, weights, notes, *, places=slice(None)):
        """Draw the weights of an outcome.

        Parameters
        ----------
        weights : (n_strips, n_shown) float64.
        notes : list of n_strips str, shown at the right above each strip.
        places : (n_shown,) int64, rows of the variants that the weights are of; by default all.

        Returns
        -------
        Picture
        """
        inner = self._strip_height * len(self._labels) - 4
        # Between strips is room for two labels.
        height = inner / (len(self._labels) + STRIP_GAP * (len(self._labels) - 1))
        picture = Picture(WIDTH, inner + 44)
        for place, (label, color, note, values) in enumerate(
            zip(self._labels, self._colors, notes, weights, strict=True)
        ):
            top = 16 + place * (1 + STRIP_GAP) * height
            x, heights, known = thin_bars(self.x[places], values, is_all=isinstance(places, slice))
            reach = 1.08 * (np.abs(heights).max(initial=0.0) or 1.0)
            axes = genome_axes(picture, self._chromosomes, 46, top, top + height, y=(-reach, reach))
            axes.levels(0, color=MUTED, width=0.5)
            axes.bars(x, heights, color=color, width=1.4 if len(x) < FEW_BARS else 0.8, places=known)
            axes.ticks_left(3)
            picture.text(46, top - 8, label)
            picture.text(axes.right, top - 8, note, fill=MUTED, text_anchor="end")
        name_chromosomes(axes, self._chromosomes, self._place)
        return picture


def genome_axes(picture, chromosomes, left, top, bottom, *, y):
    """Return axes along the genome on which every other chromosome is shaded.

    Parameters
    ----------
    picture : Picture
    chromosomes : as from `genome_axis`.
    left, top, bottom : float, edges in points; the right one is that of the picture, nearly.
    y : tuple of 2 float, the values at the bottom and at the top edge.

    Returns
    -------
    Axes
    """
    axes = Axes(picture, left, top, picture.width - 6, bottom, x=(-0.004, 1.004), y=y)
    axes.shade(list(chromosomes.values())[1::2])
    return axes


def name_chromosomes(axes, chromosomes, place="chromosome"):
    """Name all chromosomes, from `genome_axis`, under axes, and say that they are chromosomes or the like."""
    middles = {name: (start + end) / 2 for name, (start, end) in chromosomes.items()}
    axes.names_below([(middle, str(name).removeprefix("chr")) for name, middle in middles.items()])
    axes.label_below(place, 18)


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


def thin_bars(x, heights, *, is_all):
    """Keep, of more than `MAX_BARS` bars, the tallest in each of `MAX_BARS` equal stretches of the axis.

    Parameters
    ----------
    x : (n_bars,) float64 in [0, 1].
    heights : (n_bars,) float64
    is_all : bool, whether x are the places of all variants.

    Returns
    -------
    x, heights : (n_kept,) float64; of thinned bars the middles of all stretches, 0 where one has no bar.
    places : str or None, by what name pages know x, as `Axes.bars` takes it.
    """
    if len(x) <= MAX_BARS:
        return x, heights, "variants" if is_all else None
    stretch = np.minimum((x * MAX_BARS).astype(int), MAX_BARS - 1)
    highest, lowest = np.zeros(MAX_BARS), np.zeros(MAX_BARS)
    np.maximum.at(highest, stretch, heights)
    np.minimum.at(lowest, stretch, heights)
    middles = (np.arange(MAX_BARS) + 0.5) / MAX_BARS
    return middles, np.where(highest >= -lowest, highest, lowest), "stretches"


def shared_places(variants):
    """Return the places of all variants as pages share them; None where no figure needs them.

    Parameters
    ----------
    variants : data frame with contig and position of n_variants variants, in genome order.

    Returns
    -------
    str, as from `packed_places`, or None.
    """
    if not FEW_BARS <= len(variants) <= MAX_BARS:
        return None
    return packed_places(genome_axis(variants["contig"], variants["position"])[0])


class ReplicatesFigure:
    """R^2 of outcomes by fit, replicates as points and their mean as a bar.

    Parameters
    ----------
    accuracy : Accuracy
    """

    def __init__(self, accuracy):
        styles = series_styles(accuracy.fits)
        self._places = row_places(accuracy)
        fits = [accuracy.fits[place] for place in self._places]
        self._labels = [shortened(fit.brief, 45) for fit in fits]
        self._colors = [styles[fit.series]["color"] for fit in fits]
        self._r2 = accuracy.r2

    def draw(self, outcome):
        """Draw an outcome, given by its index, as a Picture."""
        values = self._r2[self._places, outcome]
        width = WIDTH if len(self._labels) > MANY_ROWS else HALF_WIDTH
        axes = _dot_axes(self._labels, values, xlabel="R² on test rows", width=width)
        for y, (replicates, color) in enumerate(zip(values, self._colors, strict=True)):
            _dots(axes, replicates, np.full(len(replicates), y), color=color, fill_opacity=0.6)
            middle = mean(replicates)
            if middle >= axes.x[0]:
                axes.uprights(middle, y - 0.3, y + 0.3, color=color, width=1.8)
        return axes.picture


def row_places(accuracy):
    """Choose the fits that have a row in `replicates_figure`: those with a value, if not too many."""
    has_value = np.isfinite(accuracy.r2).any(axis=(1, 2))
    fits = [fit for fit, is_there in zip(accuracy.fits, has_value, strict=True) if is_there]
    return [accuracy.fits.index(fit) for fit in fitting_rows(fits)]


class PopulationsFigure:
    """R^2 of outcomes by population of the test rows, a marker per fit.

    Parameters
    ----------
    fits : list of str, names of the fits.
    colors : list of str, one per fit.
    populations : list of str.
    """

    def __init__(self, *, fits, colors, populations):
        self._fits, self._colors = fits, colors
        self._labels = [shortened(name) for name in populations]

    def draw(self, r2):
        """Draw an outcome.

        Parameters
        ----------
        r2 : (n_fits, n_populations) float64, mean over replicates.

        Returns
        -------
        Picture
        """
        legend = LEGEND_LINE * len(self._fits)
        axes = _dot_axes(self._labels, r2, xlabel="R², mean over replicates", above=legend)
        # Fits of a population stand a little apart, so that equal values can be told apart.
        shifts = np.linspace(-0.25, 0.25, len(r2)) if len(r2) > 1 else [0.0]
        looks = zip(self._fits, self._colors, cycle(MARKERS), r2, shifts, strict=False)
        for place, (name, color, marker, values, shift) in enumerate(looks):
            size, height = marker_size(marker, 5.5), LEGEND_LINE * (place + 0.5) + 3
            axes.picture.path(mark(marker, 12, height, size), fill=color)
            axes.picture.text(22, height, name)
            _dots(axes, values, np.arange(len(values)) + shift, color=color, marker=marker, size=size)
        return axes.picture


def _dot_axes(labels, values, *, xlabel, width=HALF_WIDTH, above=0):
    """Return axes with a row per label that hold all values, but for those far below zero.

    Parameters
    ----------
    labels : list of str
    values : array of float64
    xlabel : str
    width : float, points, of the picture.
    above : float, points, the room for a legend.

    Returns
    -------
    Axes
    """
    picture = Picture(width, row_height(len(labels)) * len(labels) + above + 42)
    left, bottom = text_width(labels) + 16, picture.height - 34
    rows = (len(labels) - 0.4, -0.6)
    axes = Axes(picture, left, above + 8, width - 10, bottom, x=limits(values), y=rows)
    axes.levels(np.arange(len(labels)), color=FAINT, width=0.5)
    if axes.x[0] < 0:
        axes.uprights(0, *rows, color=MUTED, width=0.6)
    axes.names_left(labels)
    axes.ticks_below(4)
    axes.label_below(xlabel, 24)
    return axes


def _dots(axes, x, y, *, color, marker="o", size=4.5, **style):
    """Draw (n_points,) values; those below the floor of the axes become arrows at the edge."""
    is_below = x < axes.x[0]
    style |= {"fill": color, "stroke": "#fff", "stroke_width": 0.5}
    axes.marks(x[~is_below], y[~is_below], marker=marker, size=size, **style)
    axes.marks(np.full(is_below.sum(), axes.x[0]), y[is_below], marker="<", size=size, **style)
