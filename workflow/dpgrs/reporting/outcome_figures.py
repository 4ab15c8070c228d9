"""Figures of one outcome: weights along the genome, R^2 by method, R^2 by population."""

from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd

from dpgrs.reporting.accuracy import Accuracy, mean
from dpgrs.reporting.charts import FEW_BARS, Axes, Legend, Look, Picture, packed_places, row_axes
from dpgrs.reporting.fits import fitting_rows
from dpgrs.reporting.styles import MANY_ROWS, limits, row_height, series_looks
from dpgrs.reporting.svg import MARKERS, MUTED, WIDTH, marker_size, shortened

MAX_BARS = 1000
HALF_WIDTH = 345
STRIP_GAP = 0.42
CHROMOSOME_GAP = 0.012
SMALLEST_CHROMOSOME = 0.015


class WeightsFigure:
    """Weights of outcomes along the genome, a strip per set of weights, with a label and colour each.

    Variants have contig and position, in genome order. `place` is the word for chromosomes or the like; the
    height of a strip is in points.
    """

    def __init__(
        self,
        variants: pd.DataFrame,
        *,
        labels: Sequence[str],
        colors: Sequence[str],
        axis_label: str = "chromosome",
        strip_height: float = 62,
    ) -> None:
        self.x, self._chromosomes = genome_axis(variants["contig"], variants["position"])
        self._labels, self._colors = labels, colors
        self._place, self._strip_height = axis_label, strip_height

    def draw(
        self,
        weights: Iterable[np.ndarray],
        notes: Sequence[str],
        *,
        variant_rows: np.ndarray | slice = slice(None),
    ) -> Picture:
        """Draw the weights of an outcome, (n_strips, n_shown) float64, with a note at the right above each
        strip.

        `variant_rows` are the (n_shown,) int64 rows of the variants of the weights; by default all.
        """
        inner = self._strip_height * len(self._labels) - 4
        # Between strips is room for two labels.
        height = inner / (len(self._labels) + STRIP_GAP * (len(self._labels) - 1))
        picture = Picture(WIDTH, inner + 44)
        for index, (label, color, note, values) in enumerate(
            zip(self._labels, self._colors, notes, weights, strict=True)
        ):
            top = 16 + index * (1 + STRIP_GAP) * height
            x, heights, shared = thin_bars(
                self.x[variant_rows], values, is_all=isinstance(variant_rows, slice)
            )
            reach = 1.08 * (np.abs(heights).max(initial=0.0) or 1.0)
            axes = genome_axes(picture, self._chromosomes, 46, top, top + height, y=(-reach, reach))
            axes.levels(0, color=MUTED, width=0.5)
            axes.bars(x, heights, color=color, width=1.4 if len(x) < FEW_BARS else 0.8, x_name=shared)
            axes.ticks_left(3)
            picture.text(46, top - 8, label)
            picture.text(axes.right, top - 8, note, fill=MUTED, text_anchor="end")
        name_chromosomes(axes, self._chromosomes, self._place)
        return picture


def genome_axes(
    picture: Picture,
    chromosomes: dict[Any, tuple[float, float]],
    left: float,
    top: float,
    bottom: float,
    *,
    y: tuple[float, float],
) -> Axes:
    """Return axes along the genome, from `genome_axis`, on which every other chromosome is shaded.

    Edges are in points; the right one is nearly the edge of the picture. `y` are the values at the bottom and
    at the top edge.
    """
    axes = Axes(picture, left, top, picture.width - 6, bottom, x=(-0.004, 1.004), y=y)
    axes.shade(list(chromosomes.values())[1::2])
    return axes


def name_chromosomes(
    axes: Axes, chromosomes: dict[Any, tuple[float, float]], axis_label: str = "chromosome"
) -> None:
    """Name all chromosomes, from `genome_axis`, under axes, and say that they are chromosomes or the like."""
    middles = {name: (start + end) / 2 for name, (start, end) in chromosomes.items()}
    axes.names_below([(middle, str(name).removeprefix("chr")) for name, middle in middles.items()])
    axes.label_below(axis_label, 18)


def genome_axis(
    contigs: np.ndarray | pd.Series, positions: np.ndarray | pd.Series
) -> tuple[np.ndarray, dict[Any, tuple[float, float]]]:
    """Lay chromosomes side by side, each as wide as the span of its variants, which are in genome order.

    Return (n_variants,) float64 in [0, 1], and the start and end of each contig on that axis.
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


def thin_bars(
    x: np.ndarray, heights: np.ndarray, *, is_all: bool
) -> tuple[np.ndarray, np.ndarray, str | None]:
    """Keep, of more than `MAX_BARS` bars, the tallest in each of `MAX_BARS` equal stretches of the axis.

    x, (n_bars,) float64 in [0, 1], and heights become (n_kept,) arrays; of thinned bars x are the middles of
    all stretches, and a stretch without bars has height 0. The third result is the name that pages use for
    x, as `Axes.bars` takes it; `is_all` says that x are the positions of all variants.
    """
    if len(x) <= MAX_BARS:
        return x, heights, "variants" if is_all else None
    stretch = np.minimum((x * MAX_BARS).astype(int), MAX_BARS - 1)
    highest, lowest = np.zeros(MAX_BARS), np.zeros(MAX_BARS)
    np.maximum.at(highest, stretch, heights)
    np.minimum.at(lowest, stretch, heights)
    middles = (np.arange(MAX_BARS) + 0.5) / MAX_BARS
    return middles, np.where(highest >= -lowest, highest, lowest), "stretches"


def shared_places(variants: pd.DataFrame) -> str | None:
    """Return the positions of all variants as pages share them, from `packed_places`; None if no figure needs
    them."""
    if not FEW_BARS <= len(variants) <= MAX_BARS:
        return None
    return packed_places(genome_axis(variants["contig"], variants["position"])[0])


class ReplicatesFigure:
    """R^2 of outcomes by fit, replicates as points and their mean as a bar."""

    def __init__(self, accuracy: Accuracy) -> None:
        looks = series_looks(accuracy.fits)
        self._places = row_places(accuracy)
        fits = [accuracy.fits[index] for index in self._places]
        self._labels = [shortened(fit.brief, 45) for fit in fits]
        self._colors = [looks[fit.series].color for fit in fits]
        self._r2 = accuracy.r2

    def draw(self, outcome: int) -> Picture:
        """Draw an outcome, by its index from 0."""
        values = self._r2[self._places, outcome]
        width = WIDTH if len(self._labels) > MANY_ROWS else HALF_WIDTH
        axes = _dot_axes(self._labels, values, xlabel="R² on test rows", width=width)
        for y, (replicates, color) in enumerate(zip(values, self._colors, strict=True)):
            _dots(axes, replicates, np.full(len(replicates), y), color=color, fill_opacity=0.6)
            middle = mean(replicates)
            if middle >= axes.x[0]:
                axes.uprights(middle, y - 0.3, y + 0.3, color=color, width=1.8)
        return axes.picture


def row_places(accuracy: Accuracy) -> list[int]:
    """Choose the fits that have a row in `ReplicatesFigure`: those with a value, if not too many."""
    has_value = np.isfinite(accuracy.r2).any(axis=(1, 2))
    fits = [fit for fit, is_there in zip(accuracy.fits, has_value, strict=True) if is_there]
    return [accuracy.fits.index(fit) for fit in fitting_rows(fits)]


class PopulationsFigure:
    """R^2 of outcomes by population of the test rows, a marker and colour per fit."""

    def __init__(self, *, fits: Sequence[str], colors: Sequence[str], populations: Sequence[str]) -> None:
        self._fits, self._colors = fits, colors
        self._labels = [shortened(name) for name in populations]

    def draw(self, r2: np.ndarray) -> Picture:
        """Draw the R^2 of an outcome, (n_fits, n_populations) float64, mean over replicates."""
        looks = [
            Look(color, width=0, marker=marker)
            for color, marker in zip(self._colors, cycle(MARKERS), strict=False)
        ]
        legend = Legend([*zip(self._fits, looks, strict=True)], 0)
        axes = _dot_axes(self._labels, r2, xlabel="R², mean over replicates", above=legend.height)
        legend.draw(axes.picture)
        # Fits of a population stand a little apart, so that equal values can be told apart.
        shifts = np.linspace(-0.25, 0.25, len(r2)) if len(r2) > 1 else [0.0]
        for look, values, shift in zip(looks, r2, shifts, strict=True):
            style = {"color": look.color, "marker": look.marker, "size": marker_size(look.marker, 5.5)}
            _dots(axes, values, np.arange(len(values)) + shift, **style)
        return axes.picture


def _dot_axes(
    labels: Sequence[str], values: np.ndarray, *, xlabel: str, width: float = HALF_WIDTH, above: float = 0
) -> Axes:
    """Return axes with a row per label that hold all values, but for those far below zero."""
    shape = {"width": width, "step": row_height(len(labels)), "above": above, "rule": 0.5, "n_ticks": 4}
    return row_axes(labels, x=limits(values), xlabel=xlabel, **shape)


def _dots(
    axes: Axes,
    x: np.ndarray,
    y: np.ndarray,
    *,
    color: str,
    marker: str = "o",
    size: float = 4.5,
    **style: Any,
) -> None:
    """Draw (n_points,) values; those below the floor of the axes become arrows at the edge."""
    is_below = x < axes.x[0]
    style |= {"fill": color, "stroke": "#fff", "stroke_width": 0.5}
    axes.marks(x[~is_below], y[~is_below], marker=marker, size=size, **style)
    axes.marks(np.full(is_below.sum(), axes.x[0]), y[is_below], marker="<", size=size, **style)
