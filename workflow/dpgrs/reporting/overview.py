"""Accuracy of a whole study, and the table of its outcomes, on the overview."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.reporting.accuracy import Accuracy, mean, summary
from dpgrs.reporting.chance_level import at_chance_level, chance_r2, remedy
from dpgrs.reporting.charts import Picture, row_axes
from dpgrs.reporting.fits import best_fits, fitting_rows, shown_private
from dpgrs.reporting.grid_figures import LOWEST, r2_figure
from dpgrs.reporting.grid_layout import curves, lay_out, left_out_words, views
from dpgrs.reporting.rendering import Drawing, Section, outcome_links
from dpgrs.reporting.styles import limits, row_height, series_looks
from dpgrs.reporting.svg import WIDTH
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.reporting.data import ReportData


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


def _accuracy(data: "ReportData") -> dict[str, Any]:
    words = data.study.words
    least_r2 = chance_r2(data.metrics, test_share=data.study.test_share)
    at_chance, n_cells = at_chance_level(data.metrics, least_r2=least_r2, words=words)
    points, shown = curves(data.metrics), views(data.metrics, words)
    figures = {
        view.name: Drawing(r2_figure(*points, view), f"Mean R² of every method against {view.words}")
        for view in shown
    }
    figures["spread"] = Drawing(spread_figure(data.accuracy), "R² of single outcomes by method")
    return {
        "best": best_fits(data.accuracy.fits, mean(data.accuracy.r2, axis=(1, 2))),
        "at_chance_level": at_chance,
        "n_at_chance_level": sum(chance_terms.n_designs for chance_terms in at_chance),
        "n_cells": n_cells,
        "least_r2": least_r2,
        "remedy": remedy(data.study.bounds, words=words),
        # With the values that a figure has no room for, in words.
        "grid": [(view, left_out_words(lay_out(*points, view), view)) for view in shown],
        "lowest": LOWEST,
        "is_of_both_haplotypes": data.effects is None and data.study.rows == Rows.HAPLOTYPES,
        "has_exact": any(not fit.is_private for fit in data.accuracy.fits),
        # A study without sums of X'X has none to compare with.
        "has_reference": bool(data.metrics["mse_nonprivate"].notna().any()),
        "summary": summary(data.metrics),
        "figures": figures,
    }


def _outcomes(data: "ReportData") -> dict[str, Any]:
    fits, links = data.accuracy.fits, outcome_links(len(data.outcomes), "outcomes/")
    means = mean(data.accuracy.r2, axis=2)
    # The table has room for all fits without privacy and a few private ones.
    shown = shown_private(fits, mean(data.accuracy.r2, axis=(1, 2)))
    return {
        "columns": [(index, fit) for index, fit in enumerate(fits) if not fit.is_private or fit in shown],
        "n_fits": len(fits),
        "binary": data.binary,
        "clipping": data.clipping,
        "outcomes": [
            {"number": number, "name": name, "link": links[number], "r2": means[:, number - 1]}
            for number, name in enumerate(data.outcomes, start=1)
        ],
    }


ACCURACY = Section("Accuracy", "accuracy.html", _accuracy, anchor="accuracy")
OUTCOMES = Section("Outcomes", "outcomes.html", _outcomes, anchor="outcomes")
