"""How R^2 differs between the outcomes of a whole study."""

from typing import TYPE_CHECKING

import numpy as np

from dpgrs.reporting.accuracy import Accuracy, mean
from dpgrs.reporting.fits import fitting_rows
from dpgrs.reporting.styles import WIDTH, limits, row_height, series_styles
from dpgrs.reporting.svg import FAINT, MUTED, few_ticks, new_figure, text_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def spread_figure(accuracy: Accuracy) -> "Figure":
    """Draw how R^2 differs between outcomes, one line per fit, at the largest design; call within
    `styled`."""
    per_outcome = dict(zip(accuracy.fits, mean(accuracy.r2, axis=2), strict=True))
    fits = fitting_rows([fit for fit, values in per_outcome.items() if np.isfinite(values).any()])
    labels = [fit.brief for fit in fits]
    quantiles = [_quantiles(per_outcome[fit]) for fit in fits]
    floor, top = limits(np.array(quantiles))
    styles = series_styles(accuracy.fits)
    figure, [[axes]] = new_figure(
        WIDTH,
        row_height(len(labels)) * len(labels) + 42,
        left=text_width(labels) + 18,
        right=12,
        top=6,
        bottom=36,
    )
    for y, (fit, values) in enumerate(zip(fits, quantiles, strict=True)):
        low, q1, median, q3, high = np.maximum(values, floor)
        color = styles[fit.series]["color"]
        axes.plot([low, high], [y, y], color=color, linewidth=0.9)
        axes.plot([q1, q3], [y, y], color=color, linewidth=6, solid_capstyle="butt", alpha=0.45)
        is_below = values[2] < floor
        point = {"marker": "<", "markersize": 6} if is_below else {"marker": "o", "markeredgecolor": "white"}
        axes.plot(median, y, color=color, clip_on=False, **{"markersize": 4.5} | point)
    if floor < 0:
        axes.axvline(0, color=MUTED, linewidth=0.6, zorder=0)
    axes.set(xlim=(floor, top), ylim=(len(labels) - 0.4, -0.6), xlabel="R², mean over replicates, by outcome")
    axes.set_yticks(range(len(labels)), labels)
    axes.tick_params(axis="y", length=0, pad=7)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    few_ticks(axes.xaxis, 6)
    return figure


def _quantiles(values: np.ndarray) -> np.ndarray:
    finite = values[np.isfinite(values)]
    return np.percentile(finite, (5, 25, 50, 75, 95)) if len(finite) else np.full(5, np.nan)
