"""How R^2 differs between the outcomes of a whole study."""

import numpy as np

from dpgrs.reporting.accuracy import Accuracy, mean
from dpgrs.reporting.charts import Picture, row_axes
from dpgrs.reporting.fits import fitting_rows
from dpgrs.reporting.styles import limits, row_height, series_looks
from dpgrs.reporting.svg import WIDTH


def spread_figure(accuracy: Accuracy) -> Picture:
    """Draw how R^2 differs between outcomes, one line per fit, at the largest design."""
    per_outcome = dict(zip(accuracy.fits, mean(accuracy.r2, axis=2), strict=True))
    fits = fitting_rows([fit for fit, values in per_outcome.items() if np.isfinite(values).any()])
    quantiles = np.array([_quantiles(per_outcome[fit]) for fit in fits])
    looks = series_looks(accuracy.fits)
    axes = row_axes(
        [fit.brief for fit in fits],
        x=limits(quantiles),
        xlabel="R², mean over replicates, by outcome",
        width=WIDTH,
        step=row_height(len(fits)),
        n_ticks=6,
    )
    for y, (fit, values) in enumerate(zip(fits, quantiles, strict=True)):
        low, q1, median, q3, high = np.maximum(values, axes.x[0])
        color = looks[fit.series].color
        axes.across_bar(low, high, y, color=color, width=0.9)
        axes.across_bar(q1, q3, y, color=color, width=6, opacity=0.45)
        is_below = values[2] < axes.x[0]
        marker, size = ("<", 6) if is_below else ("o", 4.5)
        edge = {} if is_below else {"stroke": "#fff", "stroke_width": 1}
        axes.marks([median], [y], marker=marker, size=size, fill=color, **edge)
    return axes.picture


def _quantiles(values: np.ndarray) -> np.ndarray:
    finite = values[np.isfinite(values)]
    return np.percentile(finite, (5, 25, 50, 75, 95)) if len(finite) else np.full(5, np.nan)
