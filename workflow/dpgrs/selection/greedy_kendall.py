"""The choices of DPKendall without privacy, of all outcomes round by round."""

from collections.abc import Generator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.selection.dp_kendall import require_exact
from dpgrs.selection.kendall_rounds import side_by_side

if TYPE_CHECKING:
    from dpgrs.selection.dp_kendall import GenotypePairs, TablePairs


def greedy_kendall(pairs: "GenotypePairs | TablePairs", *, n_choices: int) -> np.ndarray:
    """Do as `greedy_choices` for one outcome: (n_choices,) int64."""
    return greedy_choices([pairs], n_choices=n_choices)[0]


def greedy_choices(pairs: "Sequence[GenotypePairs | TablePairs]", *, n_choices: int) -> np.ndarray:
    """Choose features for each outcome by the exact scores, without privacy; ties go to the first.

    All pairs are of the same features; each round takes one look at the genotypes, for all outcomes. The
    result is (n_outcomes, n_choices) int64, in the order of choice.
    """
    for outcome_pairs in pairs:
        require_exact(outcome_pairs, n_choices)
    n_features = len(pairs[0].outcome_scores)
    if not 1 <= n_choices <= n_features:
        raise UsageError(
            "number-of-choices",
            f"`n_choices` must be from 1 to {n_features}, the features, got {n_choices}. Change it.",
        )
    return np.array(side_by_side(pairs, [_best_of_rounds(n_choices) for _ in pairs]))


def _best_of_rounds(n_choices: int) -> Generator[np.ndarray, Any, np.ndarray]:
    """Choose the highest score in each round: yields and takes as `NoiseSource.choose_in_rounds`."""
    chosen = np.empty(0, dtype=np.int64)
    for _ in range(n_choices):
        chosen = np.append(chosen, _best(chosen, *(yield chosen)))
    return chosen


def _best(chosen: np.ndarray, scores: np.ndarray, unit: Fraction) -> np.intp:
    """Return the feature of the highest score that is not chosen yet."""
    scores = scores.copy()
    scores[chosen] = np.iinfo(np.int64).min
    return np.argmax(scores)
