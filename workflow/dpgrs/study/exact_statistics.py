"""Exact integer statistics of the training rows of a replicate, from open variants and outcomes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.io.replicates import ClipCounts, ClippedStatistics, Statistics
from dpgrs.io.variant_set import VariantSet, check_same_people
from dpgrs.io.variant_set_parts import VariantSetPart, people_parts, rows_of_people
from dpgrs.linalg.clipped_statistics import LARGEST_CLIPPED_ROWS, clipped_statistics, count_long_rows
from dpgrs.linalg.coding import (
    CLIPPED_CROSS_STEP,
    CLIPPED_GRAM_STEP,
    OUTCOME_STEP,
    column_moments,
    count_known,
    grid_frequency,
)
from dpgrs.linalg.components import components_of
from dpgrs.linalg.covariates import fractional_statistics, with_covariates
from dpgrs.linalg.norms import budget_groups, outcome_norm, row_norm_of
from dpgrs.linalg.outcome_grid import clipped_outcomes, grid_outcomes, long_rows
from dpgrs.linalg.row_centred import row_centred_statistics
from dpgrs.linalg.statistics import LARGEST_ROWS, cross_product, gram, is_fractional
from dpgrs.types import Bounds, Rows

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.io.covariates import Covariates
    from dpgrs.io.outcomes import Outcomes

# The people in memory at a time have so many values of outcomes. They are whole blocks of rows, and no more
# than a store has in a chunk.
PART_VALUES, LEAST_PART, MOST_OF_PART = 2**22, 2**11, 2**16


def exact_statistics(
    settings: "StudyConfig",
    variant_set: VariantSet,
    outcomes: "Outcomes",
    covariates: "Covariates | None" = None,
    *,
    without_gram: bool = False,
    people: slice | None = None,
) -> Statistics:
    """Sum X'X and X'Y over the training rows, a part of the people at a time.

    The arguments `settings` and `without_gram`, and the errors, are as in `dpgrs.steps.compute_statistics`.
    The sum is over `people`, from a whole word of haplotypes on; None takes all.
    """
    kinds = {"covariates": covariates is not None, "dosages": variant_set.has_dosages}
    for kind, is_there in (kinds | {"loadings of outcomes": outcomes.loadings is not None}).items():
        bounds = settings.privacy.bounds
        if is_there and bounds != Bounds.TIGHT:
            raise UsageError(
                "bounds-not-tight",
                f"`privacy.bounds` must be tight with {kind}, got {bounds}. Set it to tight.",
            )
    check_same_people(variant_set, outcomes, covariates)
    people = slice(0, variant_set.n_samples) if people is None else people

    def summed(people_slice: slice) -> Statistics:
        rows = rows_of_people(people_slice, rows=outcomes.rows)
        slice_covariates = None if covariates is None else covariates.of_rows(rows)
        options = {"without_gram": without_gram}
        return _of_part(
            settings,
            VariantSetPart(variant_set, people_slice),
            outcomes.of_rows(rows),
            slice_covariates,
            **options,
        )

    return added(map(summed, people_parts(people, people_of_part(len(outcomes.names)))))


def people_of_part(n_outcomes: int) -> int:
    """Return how many people are in memory at a time, at most."""
    return min(max(PART_VALUES // max(n_outcomes, 1), LEAST_PART), MOST_OF_PART)


def added(addends: Iterable[Statistics]) -> Statistics:
    """Add one or more statistics of parts of the rows.

    Statistics whose columns or terms differ from the first are refused; more training rows than can be summed
    exactly are a UsageError.
    """
    addends = iter(addends)
    total = next(addends)
    for addend in addends:
        total = total.plus(addend)
        most = LARGEST_CLIPPED_ROWS if total.clipped else LARGEST_ROWS
        if total.n_rows > most:
            raise UsageError(
                "too-many-rows", f"Sums are exact for at most {most} rows, got more. Take fewer people."
            )
    return total


def _of_part(
    settings: "StudyConfig",
    people_part: VariantSetPart,
    outcomes: "Outcomes",
    covariates: "Covariates | None",
    *,
    without_gram: bool,
) -> Statistics:
    """Sum over the training rows of a VariantSetPart."""
    variant_set, genotypes = people_part.variant_set, people_part.genotypes()
    privacy, outcome_bound = settings.privacy, settings.outcomes.bound
    is_training = outcomes.is_training
    options = {"n_haplotypes": people_part.n_haplotypes, "rows": outcomes.rows, "is_selected": is_training}
    columns = {size: variant_set.of_size(size) for size in outcomes.values}
    optional_fields, clipped, origin = {}, {}, {}
    Y = {size: grid_outcomes(values, bound=outcome_bound) for size, values in outcomes.values.items()}
    sums, cross = None, {}
    # A release draws only from rows within its bounds; a benchmark also fits other rows.
    is_unread = settings.mode == "release" and privacy.bounds == Bounds.TIGHT
    if not (without_gram or is_unread):
        sums, cross = _exact_sums(genotypes, Y, columns, covariates, **options)
    if covariates is not None:
        optional_fields = {"n_covariates": len(covariates.names), "covariate_bound": covariates.bound}
    if covariates is not None or variant_set.has_dosages:
        optional_fields |= {"gram_step": CLIPPED_GRAM_STEP, "cross_step": CLIPPED_CROSS_STEP}

    def shared(count: int) -> int:
        return count if privacy.outcome_budget == "joint" else 1

    drawn_outcomes = outcomes.values
    if outcomes.loadings is not None:
        drawn_outcomes = {
            size: components_of(Y, outcomes.loadings, bound=outcome_bound)
            for size, Y in drawn_outcomes.items()
        }
    if privacy.bounds == Bounds.PAPER:
        for size in columns:
            centred = row_centred_statistics(genotypes[columns[size]], Y[size], **options)
            for count in outcomes.drawn_counts(settings.outcomes.count):
                clipped[size, count] = ClippedStatistics(centred[0], centred[1][:count], None, None, None)
    if privacy.bounds == Bounds.TIGHT:
        for size in columns:
            frequency = variant_set.frequency[columns[size]]
            zero = column_moments(grid_frequency(frequency), rows=outcomes.rows)[0]
            origin[size] = np.append(zero, np.zeros(optional_fields.get("n_covariates", 0)))
            shared_gram = None
            for count in outcomes.drawn_counts(settings.outcomes.count):
                clipped[size, count] = _clipped(
                    genotypes[columns[size]],
                    frequency,
                    drawn_outcomes[size][:count],
                    bound=outcome_bound,
                    clips=(privacy.genotype_clip, privacy.outcome_clip),
                    n_shared=shared(count),
                    covariates=covariates,
                    has_gram=not without_gram and shared_gram is None,
                    **options,
                )
                # The clip of genotypes does not depend on outcomes.
                if shared_gram is not None:
                    clipped[size, count] = replace(clipped[size, count], gram=shared_gram)
                shared_gram = clipped[size, count].gram
    clips = None
    if settings.mode == "benchmark":
        clip_options = {"bound": outcome_bound, "shared": shared}
        clips = _clip_counts(
            people_part, genotypes, outcomes, drawn_outcomes, clipped, covariates, **clip_options
        )
    return Statistics(
        gram=sums,
        cross=cross,
        n_rows=int(is_training.sum()),
        n_observed=_observed(outcomes),
        columns=columns,
        rows=outcomes.rows,
        outcome_bound=outcome_bound,
        clipped=clipped,
        origin=origin,
        clips=clips,
        **optional_fields,
    )


def _exact_sums(
    genotypes: np.ndarray,
    Y: dict[int, np.ndarray],
    columns: dict[int, Any],
    covariates: "Covariates | None",
    **options: Any,
) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Sum X'X, and X'Y of every number of variants, without a clip of rows."""
    units = None if covariates is None else covariates.units
    if is_fractional(genotypes):
        fractional_options = {"Y": Y, "columns": columns, "is_selected": options["is_selected"]}
        return fractional_statistics(genotypes, covariates=units, **fractional_options)
    cross = {size: cross_product(genotypes[columns[size]], values, **options) for size, values in Y.items()}
    sums = gram(genotypes, **options)
    if covariates is None:
        return sums, cross
    return with_covariates(sums, cross, bits=genotypes, covariates=units, Y=Y, **options)


def _clipped(
    genotypes: np.ndarray,
    frequency: np.ndarray,
    values: np.ndarray,
    *,
    bound: float,
    clips: tuple[float, float],
    n_shared: int,
    rows: Rows,
    covariates: "Covariates | None",
    **options: Any,
) -> ClippedStatistics:
    """Sum one variant set and one set of outcomes within tight bounds."""
    genotype_clip, outcome_clip = clips
    covariate_options, units = {}, None
    if covariates is not None:
        covariate_options = {"n_covariates": len(covariates.names), "covariate_bound": covariates.bound}
        units = covariates.units
    row_norm = row_norm_of(frequency, rows=rows, factor=genotype_clip, **covariate_options)
    norm = outcome_norm(n_shared, factor=outcome_clip, bound=bound)
    Y = clipped_outcomes(values, bound=bound, norm=norm, n_shared=n_shared)
    options |= {"rows": rows, "covariates": units}
    X_sums, Y_sums = clipped_statistics(genotypes, frequency, Y, row_norm=row_norm, **options)
    return ClippedStatistics(X_sums, Y_sums, row_norm, norm, n_shared)


def _clip_counts(
    people_part: VariantSetPart,
    genotypes: np.ndarray,
    outcomes: "Outcomes",
    drawn_outcomes: Mapping[int, np.ndarray],
    clipped: dict[tuple[int, int], ClippedStatistics],
    covariates: "Covariates | None",
    *,
    bound: float,
    shared: Callable[[int], int],
) -> ClipCounts:
    """Count the training values beyond the bound, and the training rows that tight bounds shrink."""
    is_training = outcomes.is_training
    values = {
        size: np.count_nonzero(np.abs(Y[:, is_training]) > bound, axis=1)
        for size, Y in outcomes.values.items()
    }
    clipped = {key: sums for key, sums in clipped.items() if sums.row_norm is not None}
    rows, n_long, variant_set = {}, {}, people_part.variant_set
    options = {"n_haplotypes": people_part.n_haplotypes, "rows": outcomes.rows, "is_selected": is_training}
    options |= {"covariates": None if covariates is None else covariates.units}
    for (size, count), sums in clipped.items():
        if size not in n_long:
            columns = variant_set.of_size(size)
            n_long[size] = count_long_rows(
                genotypes[columns], variant_set.frequency[columns], row_norm=sums.row_norm, **options
            )
        Y = grid_outcomes(drawn_outcomes[size][:count, is_training], bound=bound)
        groups = [Y[group] for group in budget_groups(count, n_shared=shared(count))]
        is_long = [long_rows(group, norm=sums.outcome_norm, step=OUTCOME_STEP)[0] for group in groups]
        n_outcomes = int(np.any(is_long, axis=0).sum())
        rows[size, count] = np.array([n_long[size], n_outcomes])
    return ClipCounts(values, rows)


def _observed(outcomes: "Outcomes") -> np.ndarray:
    """Count, per outcome, the training rows with a value; missing values do not depend on the variants."""
    values = next(iter(outcomes.values.values()))
    return count_known(values[:, outcomes.is_training])
