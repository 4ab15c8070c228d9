"""Fits measured one by one, with intervals, on the people who were not trained on."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.evaluation.binary_metrics import Measure, binary_measures, quantitative_measures, two_values
from dpgrs.evaluation.rows import joined_rows, selected_variants
from dpgrs.io.variant_set_parts import parts_in_memory, people_at_a_time, rows_of_people
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.io.covariates import Covariates
    from dpgrs.io.outcomes import Outcomes
    from dpgrs.io.variant_set import VariantSet

# Scores that are in memory at a time, at most, if there are not more people.
MOST_SCORES = 2**23


def n_read(variant_set: "VariantSet", columns: Sequence[np.ndarray | None]) -> int:
    """Return the entries of a row that are in memory, for fits with these columns, (n_columns,) int64 each.

    None stands for a fit that has all columns.
    """
    if any(fit_columns is None for fit_columns in columns):
        return variant_set.n_variants
    # Beside them rows have outcomes and predictions, which are few where variants are many.
    return min(4 * max(map(len, columns)), variant_set.n_variants)


def rows_of_unit(outcomes: "Outcomes") -> int:
    """Return how many rows have one outcome: both haplotypes of a person if it was measured on people."""
    return 2 if Rows(outcomes.rows) == Rows.HAPLOTYPES and not outcomes.effects else 1


class MeasuredPeople:
    """People whose outcomes are predicted and known.

    Intervals take people as independent. A row is a unit if its outcome is simulated for this row. If both
    haplotypes of a person have the measured outcome of that person, their scores are added, and so are their
    predictions, but for covariates of a table, which count once.
    """

    _variants: dict[str, Any]  # arguments of the readers of rows

    def __init__(
        self,
        variant_set: "VariantSet",
        outcomes: "Outcomes",
        covariates: "Covariates | None",
        *,
        is_measured: np.ndarray,
        n_components: int,
        size: int,
        columns: np.ndarray | None = None,
    ) -> None:
        """Take the people of `is_measured`, (n_rows,) bool, and a variant set of a size.

        The last `n_components` covariates are principal components of genotypes. Fits have the variants of
        `columns`, (n_columns,) int64; None takes all.
        """
        self._variant_set, self._outcomes, self._covariates = variant_set, outcomes, covariates
        self._variants = {"size": size, "columns": columns}
        self._size = size if columns is None else len(columns)
        self._is_measured, self._values = is_measured, outcomes.values[size]
        self._rows_of_unit = rows_of_unit(outcomes)
        n_covariates = 0 if covariates is None else len(covariates.names)
        self._of_table = slice(self._size, self._size + n_covariates - n_components)
        self._most = people_at_a_time(max(n_read(variant_set, [columns]), len(outcomes.names)))
        self.n_units = int(np.count_nonzero(is_measured)) // self._rows_of_unit

    def measures(
        self, fits: Iterable[LinearFit], *, n_outcomes: int
    ) -> Iterator[tuple[int, int, list[Measure]]]:
        """Yield number of the fit, number of the outcome and its measures, for the first outcomes of each
        fit.

        Genotypes are read once for as many outcomes of fits as may be in memory; fits are taken one at a
        time.
        """
        at_a_time = max(MOST_SCORES // max(self.n_units, self._size, 1), 1)
        for batch in _batches(fits, n_outcomes, at_a_time):
            yield from self._together(batch)

    def _together(
        self, batch: Sequence[tuple[int, range, LinearFit]]
    ) -> Iterator[tuple[int, int, list[Measure]]]:
        """Yield as `measures`, for a batch that is in memory together, and no longer than it is measured."""
        Y, scores, covariates = self._read(batch)
        pairs = zip(Y, scores, strict=True)
        for number, outcomes, fit in batch:
            constants, slopes = self._of_covariates(fit)
            for outcome, constant, slope in zip(outcomes, constants, slopes, strict=True):
                y, score = next(pairs)
                prediction = score + constant + covariates @ slope
                yield number, outcome, self._measure(outcome, y, score, prediction, covariates)

    def _read(
        self, batch: Sequence[tuple[int, range, LinearFit]]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return outcomes and scores, (n_outcomes, n_units), and covariates, (n_units, n_covariates)."""
        weights = np.vstack([fit.weights[:, : self._size] for *_, fit in batch])
        Y, scores = np.empty((2, len(weights), self.n_units))
        start, columns = 0, []
        first = min(outcomes.start for _, outcomes, _ in batch)
        last = max(outcomes.stop for _, outcomes, _ in batch)
        variants = selected_variants(self._variant_set, **self._variants)
        for variant_set in parts_in_memory(self._variant_set, variants, n_most=self._most):
            rows = rows_of_people(variant_set.people, rows=self._outcomes.rows)
            X, is_measured = self._rows(variant_set, rows), self._is_measured[rows]
            units = slice(start, start + len(X) // self._rows_of_unit)
            start = units.stop
            y = self._values[first:last, rows][:, is_measured][:, :: self._rows_of_unit]
            batch_outcomes = [y[outcomes.start - first : outcomes.stop - first] for _, outcomes, _ in batch]
            Y[:, units] = np.concatenate(batch_outcomes)
            scores[:, units] = self._units(weights @ X[:, : self._size].T)
            columns.append(self._units(X[:, self._size :].T))
        return Y, scores, np.hstack(columns).T

    def _of_covariates(self, fit: LinearFit) -> tuple[np.ndarray, np.ndarray]:
        """Return the summands of predictions beside scores: (n_outcomes,), and slopes of the covariates of
        units."""
        k, slopes = self._rows_of_unit, fit.weights[:, self._size :].copy()
        constants = k * (fit.intercept - (fit.weights * fit.means).sum(axis=1))
        if k > 1:
            weights = fit.weights[:, self._of_table]
            constants += (weights * fit.means[..., self._of_table]).sum(axis=1)
            slopes[:, : weights.shape[1]] /= k
        return constants, slopes

    def _measure(
        self, outcome: int, y: np.ndarray, score: np.ndarray, prediction: np.ndarray, covariates: np.ndarray
    ) -> list[Measure]:
        is_observed, prevalence = np.isfinite(y), self._outcomes.prevalence[outcome]
        population = self._outcomes.population_prevalence[outcome]
        y, score, prediction = y[is_observed], score[is_observed], prediction[is_observed]
        covariates = covariates[is_observed] if covariates.shape[1] else None
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

    def _rows(self, variant_set: Any, rows: slice) -> np.ndarray:
        covariates = None if self._covariates is None else self._covariates.of_rows(rows)
        return joined_rows(
            variant_set,
            **self._variants,
            rows=self._outcomes.rows,
            covariates=covariates,
            is_selected=self._is_measured[rows],
        )

    def _units(self, rows: np.ndarray) -> np.ndarray:
        """Add up the rows, the last axis, of each unit."""
        n_units = rows.shape[-1] // self._rows_of_unit
        return rows.reshape(*rows.shape[:-1], n_units, self._rows_of_unit).sum(axis=-1)


def _batches(
    fits: Iterable[LinearFit], n_outcomes: int, at_a_time: int
) -> Iterator[list[tuple[int, range, LinearFit]]]:
    """Yield lists of number of a fit, range of outcomes and their LinearFit, with a limited number of
    outcomes."""
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


def _of(fit: LinearFit, outcomes: slice) -> LinearFit:
    """Return the fit of a slice of the outcomes."""
    means = fit.means if fit.means.ndim == 1 else fit.means[outcomes]
    return LinearFit(fit.weights[outcomes], means, fit.intercept[outcomes])
