"""What the page of one outcome shows: arrays of the study cut down to that outcome."""

import numpy as np

from dpgrs.reporting.accuracy import Accuracy, largest_design, mean, to_array
from dpgrs.reporting.fits import Fit, best_fits, label_fits, reference, shown_private
from dpgrs.reporting.outcome_figures import (
    MAX_BARS,
    PopulationsFigure,
    TrialsFigure,
    WeightsFigure,
    row_places,
)
from dpgrs.reporting.screening import kept_back
from dpgrs.reporting.styles import MANY_ROWS, fit_colors
from dpgrs.reporting.svg import INK, styled
from dpgrs.reporting.terms import format_r2

TRUTH = "True effects (simulated)"


class OutcomeViews:
    """Figures and table rows of single outcomes; what all outcomes share is worked out once.

    Parameters
    ----------
    data : ReportData

    Attributes
    ----------
    reference : Fit, the non-private fit that others are compared with, or None.
    shown : list of Fit, the reference and the private fits that figures show.
    is_thinned : bool, whether the panel has more variants than the weights figure has bars.
    has_many : bool, whether the figure of all fits takes the full width.
    """

    def __init__(self, data):
        self.accuracy = Accuracy.of(data.metrics, outcomes=data.outcomes, trials=data.study.trials)
        fits = self.accuracy.fits
        self.reference = reference(fits)
        private = shown_private(fits, mean(self.accuracy.r2, axis=(1, 2)))
        self.shown = [fit for fit in [self.reference] if fit] + private
        self.has_many = len(row_places(self.accuracy)) > MANY_ROWS
        self.is_thinned = len(data.variants) > MAX_BARS
        self._colors = fit_colors(self.shown)
        self._effects, self._outcomes = data.effects, data.outcomes
        self._kept_back = kept_back(data.metrics, trial=1)
        by_fit = {Fit.of(fit): fit.weights for fit in data.weights}
        self._weights = {fit: by_fit[fit] for fit in self.shown if fit in by_fit}
        self._weights_figure = self._build_weights_figure(data.variants)
        self._populations, self._population_r2 = _population_r2(data, self.shown)
        with styled():
            self._trials_figure = TrialsFigure(self.accuracy)
            if self._populations:
                self._populations_figure = PopulationsFigure(
                    fits=[fit.label for fit in self.shown],
                    colors=self._colors,
                    populations=self._populations,
                )

    def figures(self, outcome):
        """Draw the figures of an outcome; call within `styled`.

        Parameters
        ----------
        outcome : int, index.

        Returns
        -------
        dict of name to (matplotlib Figure, label for readers who do not see it).
        """
        figures = {
            "weights": (self._draw_weights(outcome), "Weights of all variants along the genome, by method"),
            "trials": (self._trials_figure.draw(outcome), "R² by method, one point per trial"),
        }
        if self._populations:
            figure = self._populations_figure.draw(self._population_r2[:, :, outcome])
            figures["populations"] = (figure, "R² by population and method")
        return figures

    def best(self, outcome):
        """Return the best fit without privacy and under each protection, with their mean R^2 over trials."""
        return best_fits(self.accuracy.fits, mean(self.accuracy.r2[:, outcome], axis=1))

    def fit_rows(self, outcome):
        """Return, per fit, a dict of fit, mean, low and high R^2 over trials, and the ratio of errors."""
        accuracy = self.accuracy
        free = [place for place, fit in enumerate(accuracy.fits) if not fit.is_private]
        # The errors of ridge regression are there whether it is among the methods or not.
        errors = np.concatenate([accuracy.mse[free, outcome], accuracy.mse_nonprivate[:, outcome]])
        best = np.fmin.reduce(mean(errors, axis=1))
        rows = []
        for place, fit in enumerate(accuracy.fits):
            r2 = accuracy.r2[place, outcome]
            finite = r2[np.isfinite(r2)]
            low, high = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
            ratio = mean(accuracy.mse[place, outcome]) / best
            rows.append({"fit": fit, "mean": mean(r2), "low": low, "high": high, "mse_ratio": ratio})
        return rows

    def population_rows(self, outcome):
        """Return, per population, its name and the mean R^2 of every shown fit."""
        return [
            {"name": name, "r2": self._population_r2[:, place, outcome]}
            for place, name in enumerate(self._populations)
        ]

    def _build_weights_figure(self, variants):
        labels = [fit.label for fit in self._weights]
        colors = [self._colors[self.shown.index(fit)] for fit in self._weights]
        if self._effects is not None:
            labels, colors = [TRUTH, *labels], [INK, *colors]
        with styled():
            return WeightsFigure(variants, labels=labels, colors=colors)

    def _draw_weights(self, outcome):
        strips = {fit: weights[outcome] for fit, weights in self._weights.items()}
        compared = {"the non-private fit": strips.get(self.reference)}
        notes = []
        values = list(strips.values())
        if self._effects is not None:
            truth = self._effects[outcome]
            compared["true effects"] = truth
            notes.append(f"{np.count_nonzero(truth):,} of {len(truth):,} variants have an effect")
            values = [truth, *values]
        name = self._outcomes[outcome]
        notes += [
            "no model released" if (fit, name) in self._kept_back else _note(weights, compared)
            for fit, weights in strips.items()
        ]
        return self._weights_figure.draw(np.nan_to_num(values), notes)


def _note(weights, compared):
    parts = [
        f"{format_r2(correlation(weights, other), digits=2)} with {name}"
        for name, other in compared.items()
        if other is not None and other is not weights
    ]
    return f"correlation {', '.join(parts)}" if parts else ""


def correlation(first, second):
    """Pearson correlation of two (n,) arrays; NaN where one does not vary."""
    first, second = first - first.mean(), second - second.mean()
    scale = np.sqrt((first @ first) * (second @ second))
    return float(first @ second / scale) if scale > 0 else np.nan


def _population_r2(data, shown):
    """Return the populations and their mean R^2 over trials, (n_shown, n_populations, n_outcomes)."""
    if data.population_metrics.empty:
        return [], np.empty((len(shown), 0, len(data.outcomes)))
    fits, codes = label_fits(data.population_metrics)
    table = largest_design(data.population_metrics.assign(fit=codes))
    populations = sorted(set(table["population"]))
    axes = {
        "fit": [fits.index(fit) for fit in shown],
        "population": populations,
        "outcome": data.outcomes,
        "trial": range(1, data.study.trials + 1),
    }
    return populations, mean(to_array(table, "r2", axes), axis=3)
