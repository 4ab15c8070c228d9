"""Exact integer statistics of the training rows."""

import numpy as np

from dpgrs.io.panel import Panel
from dpgrs.io.trials import Outcomes, Statistics
from dpgrs.regression.statistics import cross_product, gram, grid_outcomes


def compute_statistics(panel, outcomes, *, output, outcome_bound):
    """Sum X'X and X'Y over the training rows, once for all methods and budgets.

    Parameters
    ----------
    panel, outcomes : paths.
    output : path of the statistics file.
    outcome_bound : float, the public bound at which every outcome is clipped.
    """
    panel, outcomes = Panel.open(panel), Outcomes.load(outcomes)
    is_training = outcomes.is_training
    options = {"n_haplotypes": panel.n_haplotypes, "rows": outcomes.rows, "is_selected": is_training}
    columns = {size: panel.of_size(size) for size in outcomes.values}
    bits = panel.haplotypes()
    cross = {
        size: cross_product(bits[columns[size]], grid_outcomes(values, bound=outcome_bound), **options)
        for size, values in outcomes.values.items()
    }
    Statistics(
        gram=gram(bits, **options),
        cross=cross,
        n_rows=int(is_training.sum()),
        n_observed=_observed(outcomes),
        columns=columns,
        rows=outcomes.rows,
        outcome_bound=outcome_bound,
    ).save(output)


def _observed(outcomes):
    """Count, per outcome, the training rows with a value; missing values do not depend on the panel size."""
    values = next(iter(outcomes.values.values()))
    return np.isfinite(values[:, outcomes.is_training]).sum(axis=1)
