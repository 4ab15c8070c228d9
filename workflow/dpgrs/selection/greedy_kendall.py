"""The choices of DPKendall without privacy, of all outcomes round by round."""

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.selection.dp_kendall import require_exact
from dpgrs.selection.kendall_rounds import side_by_side


def greedy_kendall(pairs, *, n_choices):
    """Do as `greedy_choices` for one outcome, by its GenotypePairs or TablePairs: (n_choices,) int64."""
    return greedy_choices([pairs], n_choices=n_choices)[0]


def greedy_choices(pairs, *, n_choices):
    """Choose features for each outcome by the exact scores, without privacy; ties go to the first.

    Each round takes one look at the genotypes, for all outcomes.

    Parameters
    ----------
    pairs : list of GenotypePairs, or of TablePairs, of the outcomes, all of the same features.
    n_choices : int

    Returns
    -------
    (n_outcomes, n_choices) int64, in the order of choice.

    Raises
    ------
    UsageError
        If there are fewer features than choices, or scores could leave int64.
    """
    for one in pairs:
        require_exact(one, n_choices)
    n_features = len(pairs[0].outcome_scores)
    if not 1 <= n_choices <= n_features:
        raise UsageError(
            f"`n_choices` must be from 1 to {n_features}, the features, got {n_choices}. Change it."
        )
    return np.array(side_by_side(pairs, [_best_of_rounds(n_choices) for _ in pairs]))


def _best_of_rounds(n_choices):
    """Choose the highest score in each round: yields and takes as `NoiseSource.choose_in_rounds`."""
    chosen = np.empty(0, dtype=np.int64)
    for _ in range(n_choices):
        chosen = np.append(chosen, _best(chosen, *(yield chosen)))
    return chosen


def _best(chosen, scores, unit):
    """Return the feature of the highest score that is not chosen yet."""
    scores = scores.copy()
    scores[chosen] = np.iinfo(np.int64).min
    return np.argmax(scores)


def choose_exactly(data, number, *, n_choices, outcome_bound):
    """Choose without noise."""
    return data.greedy_choices(n_choices)[number]
