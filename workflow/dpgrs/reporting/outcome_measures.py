"""Measures of one outcome with intervals: of a 0/1 outcome those that readers of risk scores ask for."""

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from dpgrs.evaluation.binary_metrics import CALIBRATION
from dpgrs.io.tables.outcome_loadings import carried_shares
from dpgrs.reporting.charts import Axes, Legend, Look, Picture
from dpgrs.reporting.fits import Fit
from dpgrs.reporting.outcome_figures import HALF_WIDTH
from dpgrs.reporting.outcomes import shown_fits
from dpgrs.reporting.rendering import Drawing, Section
from dpgrs.reporting.styles import fit_colors
from dpgrs.reporting.svg import FAINT, MARKERS, MUTED, PALETTE, marker_size

if TYPE_CHECKING:
    from dpgrs.reporting.data import ReportData
    from dpgrs.reporting.release_data import ReleaseData

REPLICATE = 1  # whose people pages show
# The columns of a table: the measure, its name, and its digits after the point.
# R² is 1 - RSS/TSS on all pages; squared correlations are named as such.
OF_ALL = [("r2_added", "Squared correlation (r²)", 3)]
OF_BINARY = [
    ("auc", "AUC", 3),
    ("r2_added", "Squared correlation (r²)", 3),
    ("r2_liability", "r², liability", 3),
    ("nagelkerke_added", "Nagelkerke’s R²", 3),
    ("or_per_sd", "Odds ratio per SD", 2),
    ("or_top_tenth", "Odds ratio, top tenth", 2),
]
FIGURE_HEIGHT = 300


class Interval(NamedTuple):
    """A cell of a table: a value with its interval, NaN where there is none, and the digits shown."""

    value: float
    low: float
    high: float
    digits: int


class Released(NamedTuple):
    """The label that takes the place of a fit in a release."""

    brief: str = "Released weights"


class OutcomeMeasures:
    """Measures of single outcomes; what all outcomes share is computed once."""

    def __init__(self, data: "ReportData") -> None:
        self._outcomes, self._shown = data.outcomes, shown_fits(data.accuracy)
        self._has_covariates = bool(data.study.covariates)
        # Simulated outcomes are those of single rows.
        self._units = "people" if data.effects is None else data.study.rows
        of_replicate = data.measures[data.measures["replicate"] == REPLICATE]
        self._by_outcome = {
            name: measures_by_fit(rows, self._shown)
            for name, rows in of_replicate.groupby("outcome", sort=False)
        }

    def __call__(self, outcome: int) -> dict[str, Any]:
        """Return the context of an outcome, by its index from 0."""
        by_fit = self._by_outcome.get(self._outcomes[outcome], {})
        context = measures_context(by_fit, has_covariates=self._has_covariates, colors=fit_colors([*by_fit]))
        return context | {"units": self._units}


def released_measures(data: "ReleaseData") -> Callable[[int], dict[str, Any]] | None:
    """Return a function from an outcome's index to the context of its measures in a release; None without
    any."""
    if data.measures is None:
        return None
    by_outcome = {
        name: {Released(): {row.measure: row for row in rows.itertuples(index=False)}}
        for name, rows in data.measures.groupby("outcome", sort=False)
    }
    inputs = {public_input["name"]: public_input["value"] for public_input in data.statement["public_inputs"]}
    is_simulated = inputs.get("people measured on, with their outcomes") == "simulated"
    units = data.statement["guarantee"]["rows"] if is_simulated else "people"
    return lambda outcome: (
        measures_context(
            by_outcome[data.outcomes[outcome]], has_covariates=data.covariates is not None, colors=PALETTE[:1]
        )
        | {"units": units}
    )


def measures_by_fit(rows: pd.DataFrame, fits: Sequence[Fit]) -> dict[Fit, dict[str, Any]]:
    """Return the rows of each fit by measure, for those of `fits` that have any, in their order.

    The rows have the terms of fits and the columns of a Measure.
    """
    by_fit = {}
    for row in rows.itertuples(index=False):
        by_fit.setdefault(Fit.of(row), {})[row.measure] = row
    return {fit: by_fit[fit] for fit in fits if fit in by_fit}


def measures_context(
    by_fit: dict[Any, dict[str, Any]], *, has_covariates: bool, colors: Sequence[str]
) -> dict[str, Any]:
    """Return what the section shows of one outcome, from `measures_by_fit` and a colour for each fit."""
    is_binary = any("cases" in measures for measures in by_fit.values())
    columns = OF_BINARY if is_binary else OF_ALL
    rows = [
        (fit, [_cell(measures, name, digits) for name, _, digits in columns])
        for fit, measures in by_fit.items()
    ]
    labels = {name: label for name, label, _ in [*columns, (CALIBRATION, "Calibration", 0)]}
    notes = {
        f"{labels[row.measure]}: {row.note}"
        for measures in by_fit.values()
        for row in measures.values()
        if row.note and row.measure in labels
    }
    first = next(iter(by_fit.values()), {})
    curves = {fit.brief: _curve(measures) for fit, measures in by_fit.items()}
    figures = {}
    if any(len(curve) for curve in curves.values()):
        figures["calibration"] = Drawing(calibration_figure(curves, colors), "Observed and predicted risk")
    return {
        "is_binary": is_binary,
        "has_covariates": has_covariates,
        "columns": [label for _, label, _ in columns],
        "rows": rows,
        "notes": sorted(notes),
        "n": first["n"].value if "n" in first else 0,
        "n_cases": first["cases"].value if is_binary else None,
        "figures": figures,
    }


def calibration_figure(curves: dict[str, np.ndarray], colors: Sequence[str]) -> Picture:
    """Draw observed shares of cases, with intervals, against predicted ones, a colour and marker a fit.

    Each curve is (n_groups, 4) float64: predicted, observed, and the ends of the interval.
    """
    curves = {label: curve for label, curve in curves.items() if len(curve)}
    top = 1.04 * max(curve.max() for curve in curves.values())
    looks = [
        Look(color, width=0, marker=marker)
        for _, color, marker in zip(curves, colors, cycle(MARKERS), strict=False)
    ]
    legend = Legend([*zip(curves, looks, strict=True)], 0)
    picture = Picture(HALF_WIDTH, FIGURE_HEIGHT + legend.height)
    legend.draw(picture)
    scale = (-0.02 * top, top)
    axes = Axes(picture, 46, legend.height + 8, HALF_WIDTH - 10, picture.height - 38, x=scale, y=scale)
    corner = f"M{axes.across(0.0):.1f} {axes.down(0.0):.1f}L{axes.across(top):.1f} {axes.down(top):.1f}"
    picture.path(corner, stroke=MUTED, stroke_width=0.7, fill="none")
    axes.levels([0.0], color=FAINT, width=0.5)
    for curve, look in zip(curves.values(), looks, strict=True):
        predicted, observed, low, high = curve.T
        axes.uprights(predicted, low, high, color=look.color, width=1.0)
        style = {"fill": look.color, "stroke": "#fff", "stroke_width": 0.5}
        axes.marks(predicted, observed, marker=look.marker, size=marker_size(look.marker, 5.5), **style)
    axes.ticks_left(5)
    axes.ticks_below(5)
    axes.label_below("predicted risk, by tenths; upwards: observed", 28)
    return picture


def _cell(measures: dict[str, Any], name: str, digits: int) -> Interval:
    row = measures.get(name)
    return Interval(row.value, row.low, row.high, digits) if row else Interval(*[np.nan] * 3, digits)


def _curve(measures: dict[str, Any]) -> np.ndarray:
    """Return predicted, observed, low and high of the tenths of a fit, (n_groups, 4) float64."""
    rows = [row for name, row in measures.items() if name.startswith(CALIBRATION) and not row.note]
    return np.array([(row.expected, row.value, row.low, row.high) for row in rows]).reshape(-1, 4)


def _of_benchmark(data: "ReportData") -> OutcomeMeasures | None:
    return None if data.measures is None else OutcomeMeasures(data)


MEASURES = Section("Accuracy with intervals", "measures.html", _of_benchmark, category="Outcomes")
RELEASED_MEASURES = Section(
    "Accuracy with intervals", "released_measures.html", released_measures, category="Outcomes"
)


def _carried(data: "ReportData | ReleaseData") -> Callable[[int], dict[str, Any]] | None:
    if data.loadings is None:
        return None
    shares = carried_shares(data.loadings)
    worst = shares.argmin()
    of_all = {"n_components": data.loadings.shape[1], "least": shares[worst], "worst": data.outcomes[worst]}
    return lambda outcome: of_all | {"share": shares[outcome]}


CARRIED = Section("What the components carry", "carried.html", _carried)
