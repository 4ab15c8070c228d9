"""Variants chosen for each outcome without privacy, to compare with. For benchmarks alone."""

from pathlib import Path

import numpy as np

from dpgrs.io.replicates import save_labelled
from dpgrs.methods.chosen import exact_choices
from dpgrs.methods.registry import METHODS
from dpgrs.selection.kendall import correlations
from dpgrs.selection.registry import SELECTORS
from dpgrs.study.training_data import TrainingData

READS = ("methods", "screening.size", "outcomes.bound")


def choose_exactly(settings, variant_set: Path, outcomes: Path, *, threads: int = 1, output: Path):
    """Choose variants by every selector of a study, for every number of variants, without noise.

    Parameters
    ----------
    settings : Settings
    variant_set : store of the study's variants.
    outcomes : outcomes and split of the replicate.
    threads : number of threads; the result does not depend on it.
    output : the choices to write, and once the exact Kendall scores of all variants.
    """
    data = TrainingData(outcomes, variant_set=variant_set, n_threads=threads)
    used = {METHODS[name].selector for name in settings.methods}
    terms = {"n_choices": settings.screening.size, "outcome_bound": settings.outcomes.bound}
    chosen = [
        _choices(_rows(data.rows(size), selector), size, selector, has_scores=not place, **terms)
        for place, selector in enumerate(one for one in SELECTORS if one in used)
        for size in data.outcomes.values
    ]
    save_labelled(output, chosen)


def _rows(data, selector):
    """Return the rows with their genotypes as the selector takes them."""
    return data if "exact" in SELECTORS[selector].streams else data.in_memory


def _choices(data, size, selector, *, has_scores, **terms):
    arrays = {"chosen": exact_choices(data, selector, **terms)}
    if has_scores:
        n_rows = np.array([[one.n_rows] for one in data.pairs])
        scores = np.array([one.outcome_scores for one in data.pairs])
        arrays["scores"] = correlations(scores, n_rows, pair_range=data.pairs[0].pair_range)
    return {"n_variants": size, "selector": selector}, arrays
