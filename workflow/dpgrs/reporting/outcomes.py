"""What the page of one outcome shows: arrays of the study cut down to that outcome."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpgrs.reporting.accuracy import Accuracy, largest_design, mean, to_array
from dpgrs.reporting.fits import Fit, best_fits, label_fits, reference, shown_private
from dpgrs.reporting.outcome_figures import (
    MAX_BARS,
    PopulationsFigure,
    ReplicatesFigure,
    WeightsFigure,
    row_places,
)
from dpgrs.reporting.rendering import Drawing, Section
from dpgrs.reporting.screening import kept_back, kept_back_words
from dpgrs.reporting.styles import MANY_ROWS, fit_colors
from dpgrs.reporting.svg import INK
from dpgrs.reporting.terms import format_r2

if TYPE_CHECKING:
    from dpgrs.reporting.charts import Picture
    from dpgrs.reporting.data import ReportData

TRUTH = "True effects (simulated)"


class OutcomeWeights:
    """Weights of single outcomes along the genome; what all outcomes share is computed once."""

    def __init__(self, data: "ReportData") -> None:
        self._shown = shown_fits(data.accuracy)
        self._reference = reference(self._shown)
        self._effects, self._outcomes = data.effects, data.outcomes
        self._kept_back = kept_back(data.metrics, replicate=1)
        by_fit = {Fit.of(fit): fit.weights for fit in data.weights}
        self._weights = {fit: by_fit[fit] for fit in self._shown if fit in by_fit}
        self._words = data.study.words
        self._figure = self._build_figure(data.variants)
        self._context = {
            "reference": self._reference,
            "is_thinned": len(data.variants) > MAX_BARS,
            "has_more": any(fit.is_private and fit not in self._shown for fit in data.accuracy.fits),
        }

    def __call__(self, outcome: int) -> dict[str, Any]:
        """Return the context of an outcome, by its index from 0."""
        figure = Drawing(self._draw(outcome), f"Weights of all {self._words.variants}, by method")
        return self._context | {"figures": {"weights": figure}}

    def _build_figure(self, variants: pd.DataFrame) -> WeightsFigure:
        labels = [fit.label for fit in self._weights]
        by_fit = dict(zip(self._shown, fit_colors(self._shown), strict=True))
        colors = [by_fit[fit] for fit in self._weights]
        if self._effects is not None:
            labels, colors = [TRUTH, *labels], [INK, *colors]
        return WeightsFigure(variants, labels=labels, colors=colors, axis_label=self._words.axis)

    def _draw(self, outcome: int) -> "Picture":
        strips = {fit: weights[outcome] for fit, weights in self._weights.items()}
        compared = {"the non-private fit": strips.get(self._reference)}
        notes = []
        values = list(strips.values())
        if self._effects is not None:
            truth = self._effects[outcome]
            compared["true effects"] = truth
            notes.append(
                f"{np.count_nonzero(truth):,} of {len(truth):,} {self._words.variants} have an effect"
            )
            values = [truth, *values]
        name = self._outcomes[outcome]
        notes += [
            "no model released" if (fit, name) in self._kept_back else _note(weights, compared)
            for fit, weights in strips.items()
        ]
        return self._figure.draw(np.nan_to_num(values), notes)


class OutcomeFits:
    """R^2 of all fits on single outcomes; what all outcomes share is computed once."""

    def __init__(self, data: "ReportData") -> None:
        self._accuracy, self._clipping = data.accuracy, data.clipping
        self._outcomes = data.outcomes
        self._no_model = kept_back_words(data.metrics, data.study.replicates)
        self._shown = shown_fits(data.accuracy)
        self._replicates_figure = ReplicatesFigure(data.accuracy)
        self._populations, self._population_r2 = _population_r2(data, self._shown)
        if self._populations:
            self._populations_figure = PopulationsFigure(
                fits=[fit.label for fit in self._shown],
                colors=fit_colors(self._shown),
                populations=self._populations,
            )

    def __call__(self, outcome: int) -> dict[str, Any]:
        """Return the context of an outcome, by its index from 0."""
        r2, clipping = self._population_r2[:, :, outcome], self._clipping
        figures = {
            "replicates": Drawing(
                self._replicates_figure.draw(outcome), "R² by method, one point per replicate"
            )
        }
        if self._populations:
            figure = self._populations_figure.draw(r2)
            figures["populations"] = Drawing(figure, "R² by population and method")
        return {
            "best": best_fits(self._accuracy.fits, mean(self._accuracy.r2[:, outcome], axis=1)),
            "fits": self._rows(outcome),
            "shown": self._shown,
            # Then the figure of all fits takes the full width.
            "has_many": len(row_places(self._accuracy)) > MANY_ROWS,
            "populations": [
                {"name": name, "r2": r2[:, index]} for index, name in enumerate(self._populations)
            ],
            "no_model": self._no_model.get(self._outcomes[outcome], {}),
            "n_clipped": None if clipping is None else clipping.values[outcome],
            "n_known": None if clipping is None else clipping.n_known[outcome],
            "figures": figures,
        }

    def _rows(self, outcome: int) -> list[dict[str, Any]]:
        """Return, per fit, its mean, low and high R^2 over replicates, and the ratio of errors."""
        accuracy = self._accuracy
        free = [index for index, fit in enumerate(accuracy.fits) if not fit.is_private]
        # The errors of GBLUP are there in a study of sums, whether it is among the methods or not.
        errors = np.concatenate([accuracy.mse[free, outcome], accuracy.mse_nonprivate[:, outcome]])
        best = np.fmin.reduce(mean(errors, axis=1))
        rows = []
        for index, fit in enumerate(accuracy.fits):
            r2 = accuracy.r2[index, outcome]
            finite = r2[np.isfinite(r2)]
            low, high = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
            ratio = mean(accuracy.mse[index, outcome]) / best
            rows.append({"fit": fit, "mean": mean(r2), "low": low, "high": high, "mse_ratio": ratio})
        return rows


def _note(weights: np.ndarray, compared: Mapping[str, np.ndarray | None]) -> str:
    phrases = [
        f"{format_r2(correlation(weights, other), digits=2)} with {name}"
        for name, other in compared.items()
        if other is not None and other is not weights
    ]
    return f"correlation {', '.join(phrases)}" if phrases else ""


def correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Return Pearson's correlation of two (n,) arrays; NaN where one does not vary."""
    first, second = first - first.mean(), second - second.mean()
    scale = np.sqrt((first @ first) * (second @ second))
    return float(first @ second / scale) if scale > 0 else np.nan


def _population_r2(data: "ReportData", shown: Sequence[Fit]) -> tuple[list[str], np.ndarray]:
    """Return the populations and their mean R^2 over replicates, (n_shown, n_populations, n_outcomes)."""
    if data.population_metrics.empty:
        return [], np.empty((len(shown), 0, len(data.outcomes)))
    fits, codes = label_fits(data.population_metrics)
    table = largest_design(data.population_metrics.assign(fit=codes))
    populations = sorted(set(table["population"]))
    axes = {
        "fit": [fits.index(fit) for fit in shown],
        "population": populations,
        "outcome": data.outcomes,
        "replicate": range(1, data.study.replicates + 1),
    }
    return populations, mean(to_array(table, "r2", axes), axis=3)


def shown_fits(accuracy: Accuracy) -> list[Fit]:
    """Return the fit that others are compared with, not private, and the private ones that figures show."""
    fits = accuracy.fits
    free = reference(fits)
    return [free] * (free is not None) + shown_private(fits, mean(accuracy.r2, axis=(1, 2)))


WEIGHTS = Section("Weights along the genome", "weights.html", OutcomeWeights, category="Outcomes")
FITS = Section("Accuracy", "fits.html", OutcomeFits, category="Outcomes")
