"""Exact integer statistics of the training rows."""

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.io.covariates import Covariates
from dpgrs.io.panel import Panel, check_same_people
from dpgrs.io.trials import ClipCounts, ClippedStatistics, Outcomes, Statistics
from dpgrs.regression.clipped_statistics import (
    CLIPPED_CROSS_STEP,
    CLIPPED_GRAM_STEP,
    clipped_statistics,
    count_long_rows,
    grid_frequency,
    tight_outcome_norm,
    tight_row_norm,
)
from dpgrs.regression.covariates import entry_scale, fractional_statistics, with_covariates
from dpgrs.regression.requests import budget_groups
from dpgrs.regression.statistics import (
    OUTCOME_STEP,
    column_moments,
    count_known,
    cross_product,
    gram,
    grid_outcomes,
    is_fractional,
    long_rows,
)
from dpgrs.types import Bounds

# The norm of fewer standardised outcomes is often far above its root mean square, so a clip would bias.
FEWEST_CLIPPED_OUTCOMES = 10


def compute_statistics(
    panel,
    outcomes,
    *,
    output,
    outcome_bound,
    counts=(),
    bounds=Bounds.WORST_CASE,
    genotype_clip=1.0,
    outcome_clip=1.0,
    outcome_budget="joint",
    count_clips=False,
    covariates=None,
):
    """Sum X'X and X'Y over the training rows, once for all methods and budgets.

    Parameters
    ----------
    panel, outcomes : paths.
    output : path of the statistics file.
    outcome_bound : float, the public bound at which every outcome is clipped.
    counts : list of int, numbers of outcomes; empty means all.
    bounds : Bounds. Under `tight` rows are clipped besides, by the frequencies of the panel: public ones in a
        release, in a benchmark the cohort's own as a stand-in.
    genotype_clip, outcome_clip : float, of `tight` bounds, times the root mean square of a row.
    outcome_budget : ``joint`` or ``separate``: which outcomes are clipped together.
    count_clips : bool, whether to count what is clipped: exact numbers about people, for benchmarks alone.
    covariates : path of further columns of X, for `tight` bounds alone; None where there are none.

    Raises
    ------
    UsageError
        With covariates or dosages under other bounds.
    DpgrsError
        If the files are not of the same people. No number is told.
    """
    panel, outcomes, covariates = Panel.open(panel), Outcomes.load(outcomes), Covariates.load(covariates)
    for kind, is_there in (("covariates", covariates is not None), ("dosages", panel.has_dosages)):
        if is_there and Bounds(bounds) != Bounds.TIGHT:
            raise UsageError(f"`privacy.bounds` must be tight with {kind}, got {bounds}. Set it to tight.")
    check_same_people(panel, outcomes, covariates)
    is_training = outcomes.is_training
    options = {"n_haplotypes": panel.n_haplotypes, "rows": outcomes.rows, "is_selected": is_training}
    columns = {size: panel.of_size(size) for size in outcomes.values}
    genotypes, own, clipped, origin = panel.genotypes(), {}, {}, {}
    Y = {size: grid_outcomes(values, bound=outcome_bound) for size, values in outcomes.values.items()}
    sums, cross = _exact_sums(genotypes, Y, columns, covariates, **options)
    if covariates is not None:
        own = {"n_covariates": len(covariates.names), "covariate_bound": covariates.bound}
    if covariates is not None or panel.has_dosages:
        own |= {"gram_step": CLIPPED_GRAM_STEP, "cross_step": CLIPPED_CROSS_STEP}
    if Bounds(bounds) == Bounds.TIGHT:
        for size in columns:
            frequency = panel.frequency[columns[size]]
            zero = column_moments(grid_frequency(frequency), rows=outcomes.rows)[0]
            origin[size] = np.append(zero, np.zeros(own.get("n_covariates", 0)))
            for count in counts or [len(outcomes.names)]:
                clipped[size, count] = _clipped(
                    genotypes[columns[size]],
                    frequency,
                    outcomes.values[size][:count],
                    bound=outcome_bound,
                    clips=(genotype_clip, outcome_clip),
                    n_shared=count if outcome_budget == "joint" else 1,
                    covariates=covariates,
                    **options,
                )
    Statistics(
        gram=sums,
        cross=cross,
        n_rows=int(is_training.sum()),
        n_observed=_observed(outcomes),
        columns=columns,
        rows=outcomes.rows,
        outcome_bound=outcome_bound,
        clipped=clipped,
        origin=origin,
        clips=_clip_counts(panel, outcomes, clipped, covariates, bound=outcome_bound)
        if count_clips
        else None,
        **own,
    ).save(output)


def _exact_sums(genotypes, Y, columns, covariates, **options):
    """Sum X'X, and X'Y of every panel size, without a clip of rows."""
    units = None if covariates is None else covariates.units
    if is_fractional(genotypes):
        terms = {"Y": Y, "columns": columns, "is_selected": options["is_selected"]}
        return fractional_statistics(genotypes, covariates=units, **terms)
    cross = {size: cross_product(genotypes[columns[size]], values, **options) for size, values in Y.items()}
    sums = gram(genotypes, **options)
    if covariates is None:
        return sums, cross
    return with_covariates(sums, cross, bits=genotypes, covariates=units, Y=Y, **options)


def row_norm_of(frequency, *, rows, factor, n_covariates=0, covariate_bound=None):
    """Return the norm at which `tight` bounds clip rows of genotypes and covariates.

    Parameters
    ----------
    frequency : (n_variants,) ALT allele frequencies of a public panel.
    rows : Rows
    factor : float, times their root mean square.
    n_covariates : int
    covariate_bound : float, at which they are clipped, in standard deviations; None without covariates.
    """
    square = n_covariates * entry_scale(bound=covariate_bound, rows=rows) ** 2 if n_covariates else 0.0
    return tight_row_norm(frequency, rows=rows, factor=factor, covariate_square=square)


def _clipped(genotypes, frequency, values, *, bound, clips, n_shared, rows, covariates, **options):
    """Sum one panel and one set of outcomes within tight bounds."""
    genotype_clip, outcome_clip = clips
    own, units = {}, None
    if covariates is not None:
        own = {"n_covariates": len(covariates.names), "covariate_bound": covariates.bound}
        units = covariates.units
    row_norm = row_norm_of(frequency, rows=rows, factor=genotype_clip, **own)
    norm = outcome_norm(n_shared, factor=outcome_clip, bound=bound)
    Y = clipped_outcomes(values, bound=bound, norm=norm, n_shared=n_shared)
    options |= {"rows": rows, "covariates": units}
    X_sums, Y_sums = clipped_statistics(genotypes, frequency, Y, row_norm=row_norm, **options)
    return ClippedStatistics(X_sums, Y_sums, row_norm, norm)


def _clip_counts(panel, outcomes, clipped, covariates, *, bound):
    """Count the training values beyond the bound, and the training rows that tight bounds shrink."""
    is_training = outcomes.is_training
    values = {
        size: np.count_nonzero(np.abs(Y[:, is_training]) > bound, axis=1)
        for size, Y in outcomes.values.items()
    }
    rows, genotypes = {}, panel.genotypes() if clipped else None
    options = {"n_haplotypes": panel.n_haplotypes, "rows": outcomes.rows, "is_selected": is_training}
    options |= {"covariates": None if covariates is None else covariates.units}
    for (size, count), part in clipped.items():
        columns = panel.of_size(size)
        n_genotypes = count_long_rows(
            genotypes[columns], panel.frequency[columns], row_norm=part.row_norm, **options
        )
        n_outcomes = 0
        if part.outcome_norm is not None:
            Y = grid_outcomes(outcomes.values[size][:count, is_training], bound=bound)
            n_outcomes = int(long_rows(Y, norm=part.outcome_norm, step=OUTCOME_STEP)[0].sum())
        rows[size, count] = np.array([n_genotypes, n_outcomes])
    return ClipCounts(values, rows)


def outcome_norm(n_shared, *, factor, bound):
    """Return the norm at which `tight` bounds clip rows of outcomes that share a budget; None if they do not.

    Parameters
    ----------
    n_shared : int
    factor : float, times the root of their number.
    bound : float, of every outcome.
    """
    if n_shared < FEWEST_CLIPPED_OUTCOMES:
        return None
    return tight_outcome_norm(n_shared, factor=factor, bound=bound)


def clipped_outcomes(values, *, bound, norm, n_shared):
    """Clip outcomes and round them to their grid, those of each budget by themselves.

    Parameters
    ----------
    values : (n_outcomes, n_rows) float64, NaN where missing.
    bound : float, of every outcome.
    norm : float or None, of a row of the outcomes of one budget.
    n_shared : int, outcomes that share a budget.

    Returns
    -------
    (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`.
    """
    groups = budget_groups(len(values), n_shared=n_shared)
    return np.vstack([grid_outcomes(values[group], bound=bound, row_norm=norm) for group in groups])


def _observed(outcomes):
    """Count, per outcome, the training rows with a value; missing values do not depend on the panel size."""
    values = next(iter(outcomes.values.values()))
    return count_known(values[:, outcomes.is_training])
