"""Fits measured one by one, with intervals, on the people who were not trained on."""

import numpy as np

from dpgrs.evaluation.binary_metrics import binary_measures, quantitative_measures, two_values
from dpgrs.evaluation.rows import joined_rows, selected_variants
from dpgrs.io.variant_set_parts import held_parts, people_at_a_time, rows_of_people
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.types import Rows

# Scores that are in memory at a time, at most, if there are not more people.
MOST_SCORES = 2**23


def n_read(variant_set, columns):
    """Return the entries of a row that are in memory, where fits have these columns each.

    Parameters
    ----------
    variant_set : VariantSet
    columns : list of (n_columns,) int64, or None where fits have all.
    """
    if any(one is None for one in columns):
        return variant_set.n_variants
    # Beside them rows have outcomes and predictions, which are few where variants are many.
    return min(4 * max(map(len, columns)), variant_set.n_variants)


def rows_of_unit(outcomes):
    """Return how many rows have one outcome: both haplotypes of a person, if it was measured on people."""
    return 2 if Rows(outcomes.rows) == Rows.HAPLOTYPES and not outcomes.effects else 1


class MeasuredPeople:
    """People whose outcomes are predicted and known.

    Intervals take people as independent. A row is one by itself where its outcome is simulated for it alone.
    Where both haplotypes of a person have the measured outcome of that person, their scores are added, and so
    are their predictions, but for covariates of a table, which count once.

    Parameters
    ----------
    variant_set : VariantSet
    outcomes : Outcomes
    covariates : Covariates, or None.
    is_measured : (n_rows,) bool
    n_components : int, covariates that are principal components of genotypes, the last of all.
    size : int, of the variant set.
    columns : (n_columns,) int64, those of its variants that fits have; None where they have all.
    """

    def __init__(self, variant_set, outcomes, covariates, *, is_measured, n_components, size, columns=None):
        self._variant_set, self._outcomes, self._covariates = variant_set, outcomes, covariates
        self._variants = {"size": size, "columns": columns}
        self._size = size if columns is None else len(columns)
        self._is_measured, self._values = is_measured, outcomes.values[size]
        self._rows_of_unit = rows_of_unit(outcomes)
        n_covariates = 0 if covariates is None else len(covariates.names)
        self._of_table = slice(self._size, self._size + n_covariates - n_components)
        self._most = people_at_a_time(max(n_read(variant_set, [columns]), len(outcomes.names)))
        self.n_units = int(np.count_nonzero(is_measured)) // self._rows_of_unit

    def measures(self, fits, *, n_outcomes):
        """Yield (number of the fit, number of the outcome, list of Measure), the first outcomes of each.

        Genotypes are read once for as many outcomes of fits as may be in memory.

        Parameters
        ----------
        fits : iterable of LinearFit; taken one at a time.
        n_outcomes : int
        """
        at_a_time = max(MOST_SCORES // max(self.n_units, self._size, 1), 1)
        for batch in _batches(fits, n_outcomes, at_a_time):
            yield from self._together(batch)

    def _together(self, batch):
        """Yield as `measures`, of what is in memory together, and no longer than it is measured."""
        Y, scores, covariates = self._read(batch)
        own = zip(Y, scores, strict=True)
        for number, outcomes, fit in batch:
            constants, slopes = self._of_covariates(fit)
            for outcome, constant, slope in zip(outcomes, constants, slopes, strict=True):
                y, score = next(own)
                prediction = score + constant + covariates @ slope
                yield number, outcome, self._measure(outcome, y, score, prediction, covariates)

    def _read(self, batch):
        """Return outcomes and scores, (n_outcomes, n_units), and covariates, (n_units, n_covariates)."""
        weights = np.vstack([fit.weights[:, : self._size] for *_, fit in batch])
        Y, scores = np.empty((2, len(weights), self.n_units))
        start, columns = 0, []
        first = min(outcomes.start for _, outcomes, _ in batch)
        last = max(outcomes.stop for _, outcomes, _ in batch)
        variants = selected_variants(self._variant_set, **self._variants)
        for variant_set in held_parts(self._variant_set, variants, n_most=self._most):
            rows = rows_of_people(variant_set.people, rows=self._outcomes.rows)
            X, is_measured = self._rows(variant_set, rows), self._is_measured[rows]
            units = slice(start, start + len(X) // self._rows_of_unit)
            start = units.stop
            y = self._values[first:last, rows][:, is_measured][:, :: self._rows_of_unit]
            own = [y[outcomes.start - first : outcomes.stop - first] for _, outcomes, _ in batch]
            Y[:, units] = np.concatenate(own)
            scores[:, units] = self._units(weights @ X[:, : self._size].T)
            columns.append(self._units(X[:, self._size :].T))
        return Y, scores, np.hstack(columns).T

    def _of_covariates(self, fit):
        """Return what predictions have beside scores: (n_outcomes,), and by covariates of units."""
        k, slopes = self._rows_of_unit, fit.weights[:, self._size :].copy()
        constants = k * (fit.intercept - (fit.weights * fit.means).sum(axis=1))
        if k > 1:
            weights = fit.weights[:, self._of_table]
            constants += (weights * fit.means[..., self._of_table]).sum(axis=1)
            slopes[:, : weights.shape[1]] /= k
        return constants, slopes

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

    def _rows(self, variant_set, rows):
        covariates = None if self._covariates is None else self._covariates.of_rows(rows)
        return joined_rows(
            variant_set,
            **self._variants,
            rows=self._outcomes.rows,
            covariates=covariates,
            is_selected=self._is_measured[rows],
        )

    def _units(self, rows):
        """Add up the rows, the last axis, of each unit."""
        n_units = rows.shape[-1] // self._rows_of_unit
        return rows.reshape(*rows.shape[:-1], n_units, self._rows_of_unit).sum(axis=-1)


def _batches(fits, n_outcomes, at_a_time):
    """Yield lists of (number of a fit, range of outcomes, LinearFit of these), of so many at most."""
    batch, room = [], at_a_time
    for number, fit in enumerate(fits):
        stop = 0
        while stop < n_outcomes:
            outcomes = range(stop, min(stop + room, n_outcomes))
            batch.append((number, outcomes, _of(fit, slice(outcomes.start, outcomes.stop))))
            stop, room = outcomes.stop, room - len(outcomes)
            if not room:
                yield batch
                batch, room = [], at_a_time
    if batch:
        yield batch


def _of(fit, outcomes):
    """Return the fit of a slice of the outcomes."""
    means = fit.means if fit.means.ndim == 1 else fit.means[outcomes]
    return LinearFit(fit.weights[outcomes], means, fit.intercept[outcomes])
