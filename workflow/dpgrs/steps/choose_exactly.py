"""Variants chosen for each outcome without privacy, to compare with. Only for benchmarks."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.io.replicates import save_labelled
from dpgrs.methods.chosen import exact_choices
from dpgrs.methods.registry import METHODS
from dpgrs.selection.dp_kendall import pairs_of
from dpgrs.selection.kendall import correlations
from dpgrs.selection.registry import SELECTORS
from dpgrs.study.training_data import TrainingData

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.selection.screening_data import ScreeningData

READS = ("methods", "screening.size", "outcomes.bound")


def choose_exactly(
    settings: "StudyConfig", variant_set: Path, outcomes: Path, *, threads: int = 1, output: Path
) -> None:
    """Choose variants by every selector of a study, for every number of variants, without noise.

    Parameters
    ----------
    variant_set : store of the study's variants.
    outcomes : outcomes and split of the replicate.
    threads : number of threads; the result does not depend on it.
    output : the choices to write, and once the exact Kendall scores of all variants.
    """
    training_data = TrainingData(outcomes, variant_set=variant_set, n_threads=threads)
    used = {METHODS[method].selector for method in settings.methods}
    choice_terms = {"n_choices": settings.screening.size, "outcome_bound": settings.outcomes.bound}
    chosen = [
        _choices(training_data.rows(size), size, selector, has_scores=not number, **choice_terms)
        for number, selector in enumerate(name for name in SELECTORS if name in used)
        for size in training_data.outcomes.values
    ]
    save_labelled(output, chosen)


def _choices(
    rows: "ScreeningData", size: int, selector: str, *, has_scores: bool, **choice_terms: Any
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if "exact" not in SELECTORS[selector].streams:
        rows = rows.in_memory
    arrays = {"chosen": exact_choices(rows, selector, **choice_terms)}
    if has_scores:
        pairs = pairs_of(rows)
        n_rows = np.array([[of_outcome.n_rows] for of_outcome in pairs])
        scores = np.array([of_outcome.outcome_scores for of_outcome in pairs])
        arrays["scores"] = correlations(scores, n_rows, pair_range=pairs[0].pair_range)
    return {"n_variants": size, "selector": selector}, arrays
