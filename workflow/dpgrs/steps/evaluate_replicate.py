"""Metrics of a replicate on its test rows."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from dpgrs.evaluation.metrics import MEASURES, METRICS, TERMS, Means, SquaredErrors
from dpgrs.evaluation.rows import joined_rows, selected_variants
from dpgrs.evaluation.split import per_row
from dpgrs.io.covariates import Covariates
from dpgrs.io.files import read_table, write_table
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Labelled, load_labelled
from dpgrs.io.tables.tables import populations_of
from dpgrs.io.variant_set import VariantSet
from dpgrs.io.variant_set_parts import parts_in_memory, people_at_a_time, people_parts, rows_of_people
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.statement.methods import METHODS, REFERENCE_METHOD
from dpgrs.study.score_measures import MeasuredPeople, n_read, rows_of_unit

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.io.variant_set_parts import VariantSetPart

POPULATION_METRICS = [
    "replicate",
    "outcome",
    *TERMS,
    "n_variants",
    "n_outcomes",
    "population",
    "n_rows",
    "r2",
]


class TestErrors(NamedTuple):
    """The errors of a fit on the test rows."""

    all: SquaredErrors  # of all rows
    by_group: dict[
        str, tuple[int, SquaredErrors]
    ]  # number of rows of a population, and errors about its mean


READS = ("outcomes.count", "covariates.pcs")


def evaluate_replicate(
    settings: "StudyConfig",
    variant_set: Path,
    outcomes: Path,
    weights: Path,
    seconds: Path,
    *,
    replicate: int,
    populations: Path | None = None,
    covariates: Path | None = None,
    metrics: Path,
    population_metrics: Path,
    measures: Path,
) -> None:
    """Predict the test rows by every fit, and measure R^2 and error.

    A fit without privacy does not depend on the number of outcomes and stands for each. Where both haplotypes
    of a person have the measured outcome of that person, their predictions are added: R^2 is of people.

    Parameters
    ----------
    variant_set : store of the study's variants.
    outcomes : outcomes and split of the replicate.
    weights : weights of all methods.
    seconds : the time that each fit took.
    replicate : number of the replicate, from 1.
    populations : table of sample and population.
    covariates : covariates of the test rows, if fits have weights of covariates.
    metrics : table by outcome to write.
    population_metrics : table by population to write, for the most variants and all outcomes.
    measures : table to write of further measures with intervals, for the most variants and all
        outcomes.
    """
    variant_set, outcomes, covariates = (
        VariantSet.open(variant_set),
        Outcomes.load(outcomes),
        Covariates.load(covariates),
    )
    groups = None
    if populations is not None:
        groups = per_row(populations_of(populations, variant_set.sample_id), rows=outcomes.rows)
    fitted = load_labelled(weights)
    columns = {size: None if covariates else _columns_of(fitted, size) for size in outcomes.values}
    test_rows = _Parts(
        variant_set, outcomes, covariates, groups, columns, n_components=settings.covariates.pcs
    )
    counts = settings.outcomes.count or [len(outcomes.names)]
    largest = max(outcomes.values), max(counts)
    elapsed = read_table(seconds, required=["seconds"])["seconds"]
    errors = test_rows.errors_of(fitted, has_groups=lambda label: _is_of(label, *largest))
    of_reference = {
        label["n_variants"]: test_errors.all
        for label, test_errors in zip(fitted.labels, errors, strict=True)
        if label["method"] == REFERENCE_METHOD
    }
    tables, population_tables = [], []
    for label, test_errors, fit_seconds in zip(fitted.labels, errors, elapsed, strict=True):
        if not label["reported"]:
            continue
        size = label["n_variants"]
        # Without statistics of the training rows there is no reference.
        reference = of_reference[size].mse if size in of_reference else np.full(len(outcomes.names), np.nan)
        for count in counts if _is_of_all(label) else [label["n_outcomes"]]:
            line_terms = {"replicate": replicate, "outcome": outcomes.names[:count]}
            line_terms |= {"n_variants": size, "n_outcomes": count} | {
                column: label[column] for column in TERMS
            }
            line_measures = {
                "n_rows": test_rows.n_training,
                "r2": test_errors.all.r2[:count],
                "mse": test_errors.all.mse[:count],
            }
            # Where a mechanism's own check failed, `status` says so: there is no model, and weights are 0.
            line_measures |= {"mse_nonprivate": reference[:count], "seconds": fit_seconds}
            tables.append(
                pd.DataFrame(line_terms | line_measures).assign(status=label.get("statuses") or "ok")
            )
            if (size, count) == largest:
                population_tables += [
                    pd.DataFrame(
                        line_terms | {"population": name, "n_rows": n, "r2": population_errors.r2[:count]}
                    )
                    for name, (n, population_errors) in test_errors.by_group.items()
                ]
    _write(metrics, tables, METRICS)
    _write(population_metrics, population_tables, POPULATION_METRICS)
    people = MeasuredPeople(
        variant_set,
        outcomes,
        covariates,
        is_measured=~outcomes.is_training,
        n_components=settings.covariates.pcs,
        size=largest[0],
        columns=columns[largest[0]],
    )
    line_terms = {"replicate": replicate, "n_variants": largest[0], "n_outcomes": largest[1]}

    def is_measured(label: dict[str, Any]) -> bool:
        return label["reported"] and _is_of(label, *largest)

    fit_terms = [{column: label[column] for column in TERMS} for label in fitted.labels if is_measured(label)]
    fits = (LinearFit.of(arrays, columns[largest[0]]) for _, arrays in fitted.of(is_measured))
    lines = [
        {"outcome": outcomes.names[outcome]} | fit_terms[number] | population_errors._asdict()
        for number, outcome, line_measures in people.measures(fits, n_outcomes=largest[1])
        for population_errors in line_measures
    ]
    _write(measures, [pd.DataFrame(lines).assign(**line_terms)] if lines else [], MEASURES)


def _columns_of(fitted: Labelled, size: int) -> np.ndarray | None:
    """Return the variants that fits of a size have, ascending; None where one has all."""
    columns = []
    for label in fitted.labels:
        if label["n_variants"] == size and not METHODS[label["method"]].is_screened:
            return None
    for _, arrays in fitted.of(lambda label: label["n_variants"] == size):
        if "chosen" not in arrays:
            return None
        columns.append(arrays["chosen"].ravel())
    return np.unique(np.concatenate(columns)) if columns else None


class _Parts:
    """The rows of a replicate, some people at a time."""

    def __init__(
        self,
        variant_set: VariantSet,
        outcomes: Outcomes,
        covariates: Covariates | None,
        groups: np.ndarray | None,  # (n_rows,) str, populations
        columns: Mapping[int, np.ndarray | None],  # variants that fits of a size have
        *,
        n_components: int,
    ) -> None:
        self._variant_set, self._outcomes, self._covariates, self._groups = (
            variant_set,
            outcomes,
            covariates,
            groups,
        )
        self._columns = columns
        self._rows_of_unit = rows_of_unit(outcomes)
        self._n_of_table = 0 if covariates is None else len(covariates.names) - n_components
        self._most = people_at_a_time(max(n_read(variant_set, list(columns.values())), len(outcomes.names)))
        size_columns = [
            selected_variants(variant_set, size, columns=columns[size]) for size in outcomes.values
        ]
        self._variants = np.unique(np.concatenate(size_columns))
        self.n_training = int(np.count_nonzero(outcomes.is_training))
        self._measure()

    def _measure(self) -> None:
        """Note the means of outcomes: of the training rows, and of the test rows of each population."""
        n_outcomes, sizes = len(self._outcomes.names), self._outcomes.values
        self._training = {size: Means(n_outcomes) for size in sizes}
        is_test = ~self._outcomes.is_training
        names = [] if self._groups is None else np.unique(self._groups[is_test]).tolist()
        self._by_group = {size: {name: Means(n_outcomes) for name in names} for size in sizes}
        for people in people_parts(slice(0, self._variant_set.n_samples), self._most):
            rows = rows_of_people(people, rows=self._outcomes.rows)
            outcome_part = self._outcomes.of_rows(rows)
            for size, Y in outcome_part.values.items():
                self._training[size].add(Y[:, outcome_part.is_training])
                for name, means in self._by_group[size].items():
                    means.add(Y[:, ~outcome_part.is_training & (self._groups[rows] == name)])

    def errors_of(
        self,
        fitted: Labelled,
        *,
        has_groups: Callable[
            [dict[str, Any]], bool
        ],  # of a label, whether populations have errors of their own
    ) -> list[TestErrors]:
        """Predict the test rows by all fits, and return the errors of each."""
        errors_by_fit = [self._empty_errors(label, has_groups(label)) for label in fitted.labels]
        for variant_set in parts_in_memory(self._variant_set, self._variants, n_most=self._most):
            rows = rows_of_people(variant_set.people, rows=self._outcomes.rows)
            outcome_part = self._outcomes.of_rows(rows)
            groups = None
            if self._groups is not None:
                groups = self._groups[rows][~outcome_part.is_training][:: self._rows_of_unit]
            X = {size: self._test_rows(size, variant_set, outcome_part) for size in outcome_part.values}
            for fit_errors, (label, arrays) in zip(errors_by_fit, fitted, strict=True):
                size = label["n_variants"]
                predicted = self._predict_units(LinearFit.of(arrays, self._columns[size]), X[size])
                Y = outcome_part.values[size][: len(predicted), ~outcome_part.is_training][
                    :, :: self._rows_of_unit
                ]
                fit_errors.all.add(Y, predicted)
                for name, (_, errors) in fit_errors.by_group.items():
                    errors.add(Y[:, groups == name], predicted[:, groups == name])
        return errors_by_fit

    def _predict_units(
        self,
        fit: LinearFit,
        X: np.ndarray,  # (n_rows, n_columns) float64
    ) -> np.ndarray:
        """Predict rows, or people by both haplotypes; then mean and covariates of a table count once."""
        predicted = fit.predict(X)
        if self._rows_of_unit == 1:
            return predicted
        n_covariates = 0 if self._covariates is None else len(self._covariates.names)
        start = X.shape[1] - n_covariates
        table = slice(start, start + self._n_of_table)
        of_table = LinearFit(fit.weights[:, table], fit.means[..., table], fit.intercept)
        return predicted[:, ::2] + predicted[:, 1::2] - of_table.predict(X[::2, table])

    def _empty_errors(self, label: dict[str, Any], has_groups: bool) -> TestErrors:
        size, count = label["n_variants"], label["n_outcomes"]
        by_group = self._by_group[size].items() if has_groups else ()
        return TestErrors(
            # An outcome that is on no training row is compared with 0.
            SquaredErrors(np.nan_to_num(self._training[size].values[:count])),
            {
                name: (means.n_rows // self._rows_of_unit, SquaredErrors(means.values[:count]))
                for name, means in by_group
            },
        )

    def _test_rows(self, size: int, variant_set: "VariantSetPart", outcome_part: Outcomes) -> np.ndarray:
        covariates = self._covariates
        if covariates is not None:
            covariates = covariates.of_rows(rows_of_people(variant_set.people, rows=outcome_part.rows))
        row_options = {"columns": self._columns[size], "is_selected": ~outcome_part.is_training}
        return joined_rows(variant_set, size, rows=outcome_part.rows, covariates=covariates, **row_options)


def _is_of_all(label: dict[str, Any]) -> bool:
    """Tell whether a fit does not depend on the number of outcomes."""
    return label["protection"] == "none" and not label.get("is_of_count")


def _is_of(label: dict[str, Any], size: int, count: int) -> bool:
    """Tell whether a fit is reported for a number of variants and a number of outcomes."""
    return label["n_variants"] == size and (_is_of_all(label) or label["n_outcomes"] == count)


def _write(path: Path, tables: Sequence[pd.DataFrame], columns: Sequence[str]) -> None:
    # Columns without a value have no type for those of other tables to agree with.
    tables = [table.dropna(axis=1, how="all") for table in tables]
    write_table(path, pd.concat(tables).reindex(columns=columns) if tables else pd.DataFrame(columns=columns))
