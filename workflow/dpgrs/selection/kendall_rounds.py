"""The rounds of DPKendall: scores after the choices before, and choices of all outcomes side by side."""

from collections.abc import Generator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dpgrs.selection.dp_kendall import GenotypePairs, TablePairs


class RoundScores:
    """The scores of every round, as a choice of `NoiseSource.choose_in_rounds` requests them."""

    def __init__(self, pairs: "GenotypePairs | TablePairs", *, first_factor: Fraction = Fraction(1)) -> None:
        self._pairs, self._first_factor = pairs, first_factor
        # Takes no room before there is a second round.
        self._sums, self._summed = np.zeros(len(pairs.outcome_scores), np.int64), np.empty(0, np.int64)

    def __call__(self, chosen: np.ndarray) -> tuple[np.ndarray, Fraction]:
        """Score all features after the (n_chosen,) choices so far: (n_features,) int64 and their unit.

        The unit is in units of tau^; it is private.
        """
        pairs = self._pairs
        n_pairs, strengths = max(pairs.n_rows - 1, 1), np.abs(pairs.outcome_scores)
        if not len(chosen):
            return strengths, self._first_factor / (pairs.pair_range * n_pairs)
        if not np.array_equal(chosen[: len(self._summed)], self._summed):
            self._sums[:], self._summed = 0, self._summed[:0]
        for number in chosen[len(self._summed) :]:
            self.add(slice(None), pairs.feature_scores(number))
        self._summed = np.array(chosen)
        factor = pairs.feature_range // pairs.pair_range * len(chosen)
        unit = Fraction(1, pairs.feature_range * len(chosen) * n_pairs)
        return factor * strengths - self._sums, unit

    def add(self, features: slice, scores: np.ndarray) -> None:
        """Take the scores of some features with the next choice, before it is named by `take`."""
        self._sums[features] += np.abs(scores)

    def take(self, chosen: np.ndarray) -> None:
        """Note that the scores of all features with the last of the (n_chosen,) choices were added."""
        self._summed = np.array(chosen)


def side_by_side(
    pairs: "Sequence[GenotypePairs | TablePairs]",
    choices: Sequence[Generator[Any, Any, Any]],
    *,
    first_factor: Fraction = Fraction(1),
) -> list:
    """Run a choice for each outcome round by round: each round takes one look at the features for all.

    The pairs are of the same features; the choices, as of `NoiseSource.choose_in_rounds`, have equally many
    rounds.
    """
    scores = [RoundScores(outcome_pairs, first_factor=first_factor) for outcome_pairs in pairs]
    chosen, results, n_summed = [next(choice) for choice in choices], [], 0
    while not results:
        if len(chosen[0]) > n_summed:
            n_summed = len(chosen[0])
            last = [feature_scores[-1] for feature_scores in chosen]
            for features, compared in pairs[0].parts_of_feature_scores(last, pairs[1:]):
                for score, feature_scores in zip(scores, compared, strict=True):
                    score.add(features, feature_scores)
            for score, feature_scores in zip(scores, chosen, strict=True):
                score.take(feature_scores)
        for number, (choice, score) in enumerate(zip(choices, scores, strict=True)):
            try:
                chosen[number] = choice.send(score(chosen[number]))
            except StopIteration as end:
                results.append(end.value)
    assert len(results) == len(choices)
    return results
