"""Fits measured one by one, with intervals, on the people who were not trained on."""

import numpy as np

from dpgrs.evaluation.binary_metrics import binary_measures, quantitative_measures, two_values
from dpgrs.evaluation.rows import joined_rows
from dpgrs.io.panel_parts import PanelPart, people_at_a_time, people_parts, rows_of_people
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.types import Rows

# Scores that are in memory at a time, at most, if there are not more people.
MOST_SCORES = 2**22


class MeasuredPeople:
    """People whose outcomes are predicted and known.

    Intervals take people as independent. A row is one by itself where its outcome is simulated for it alone.
    Where both haplotypes of a person have the measured outcome of that person, their scores are added, and so
    are their predictions, but for covariates of a table, which count once.

    Parameters
    ----------
    panel : Panel
    outcomes : Outcomes
    covariates : Covariates, or None.
    is_measured : (n_rows,) bool
    n_components : int, covariates that are principal components of genotypes, the last of all.
    size : int, of the panel.
    """

    def __init__(self, panel, outcomes, covariates, *, is_measured, n_components, size):
        self._panel, self._outcomes, self._covariates, self._size = panel, outcomes, covariates, size
        self._is_measured, self._values = is_measured, outcomes.values[size]
        is_shared = Rows(outcomes.rows) == Rows.HAPLOTYPES and not outcomes.effects
        self._rows_of_unit = 2 if is_shared else 1
        n_covariates = 0 if covariates is None else len(covariates.names)
        self._of_table = slice(size, size + n_covariates - n_components)
        most = people_at_a_time(max(panel.n_variants, len(outcomes.names)))
        self._people = list(people_parts(slice(0, panel.n_samples), most))
        self.n_units = int(np.count_nonzero(is_measured)) // self._rows_of_unit

    def measures(self, fit):
        """Yield a list of Measure for each outcome of a LinearFit, in their order."""
        at_a_time = max(MOST_SCORES // max(self.n_units, 1), 1)
        for first in range(0, len(fit.weights), at_a_time):
            outcomes = slice(first, min(first + at_a_time, len(fit.weights)))
            Y, scores, predictions, covariates = self._read(fit, outcomes)
            for place, y in enumerate(Y):
                yield self._measure(first + place, y, scores[place], predictions[place], covariates)

    def _read(self, fit, outcomes):
        """Return outcomes, scores and predictions, (n_outcomes, n_units), and (n_units, n_covariates)."""
        means = fit.means if fit.means.ndim == 1 else fit.means[outcomes]
        fit = LinearFit(fit.weights[outcomes], means, fit.intercept[outcomes])
        Y, scores, predictions = np.empty((3, len(fit.weights), self.n_units))
        start, columns = 0, []
        for people in self._people:
            rows = rows_of_people(people, rows=self._outcomes.rows)
            X, is_measured = self._rows(people, rows), self._is_measured[rows]
            units = slice(start, start + len(X) // self._rows_of_unit)
            start = units.stop
            Y[:, units] = self._values[outcomes, rows][:, is_measured][:, :: self._rows_of_unit]
            scores[:, units] = self._units(fit.weights[:, : self._size] @ X[:, : self._size].T)
            predictions[:, units] = self._predict(fit, X)
            columns.append(self._units(X[:, self._size :].T))
        return Y, scores, predictions, np.hstack(columns).T

    def _measure(self, outcome, y, score, prediction, covariates):
        known, prevalence = np.isfinite(y), self._outcomes.prevalence[outcome]
        population = self._outcomes.population_prevalence[outcome]
        y, score, prediction = y[known], score[known], prediction[known]
        covariates = covariates[known] if covariates.shape[1] else None
        values = two_values(y)
        if np.isfinite(prevalence):
            scale = np.sqrt(prevalence * (1 - prevalence))
            values = -prevalence / scale, (1 - prevalence) / scale
        if values is None:
            return quantitative_measures(y, score, covariates=covariates)
        low, high = values
        return binary_measures(
            y > (low + high) / 2,
            score,
            risk=(prediction - low) / (high - low),
            covariates=covariates,
            prevalence=population if np.isfinite(population) else None,
        )

    def _rows(self, people, rows):
        covariates = None if self._covariates is None else self._covariates.of_rows(rows)
        return joined_rows(
            PanelPart(self._panel, people),
            self._size,
            rows=self._outcomes.rows,
            covariates=covariates,
            is_selected=self._is_measured[rows],
        )

    def _predict(self, fit, X):
        predicted = self._units(fit.predict(X))
        if self._rows_of_unit > 1:
            weights = fit.weights[:, self._of_table]
            at_means = (weights * fit.means[..., self._of_table]).sum(axis=1)
            predicted -= weights @ X[::2, self._of_table].T - at_means[:, np.newaxis]
        return predicted

    def _units(self, rows):
        """Add up the rows, the last axis, of each unit."""
        n_units = rows.shape[-1] // self._rows_of_unit
        return rows.reshape(*rows.shape[:-1], n_units, self._rows_of_unit).sum(axis=-1)
