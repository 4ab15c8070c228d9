"""The rounds of DPKendall: scores after the choices before, and choices of all outcomes side by side."""

from fractions import Fraction

import numpy as np


class RoundScores:
    """The scores of every round, as a choice of `NoiseSource.choose_in_rounds` asks for them.

    Parameters
    ----------
    pairs : GenotypePairs or TablePairs
    first_factor : Fraction, of `KendallRequest`.
    """

    def __init__(self, pairs, *, first_factor=Fraction(1)):
        self._pairs, self._first_factor = pairs, first_factor
        # Takes no room before there is a second round.
        self._sums, self._summed = np.zeros(len(pairs.outcome_scores), np.int64), np.empty(0, np.int64)

    def __call__(self, chosen):
        """Score all features after the (n_chosen,) choices so far.

        Returns
        -------
        scores : (n_features,) int64
        unit : Fraction, in units of tau^; private.
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

    def add(self, features, scores):
        """Take the scores of some features with the next choice, before it is named by `take`."""
        self._sums[features] += np.abs(scores)

    def take(self, chosen):
        """Say that the scores of all features with the last of the (n_chosen,) choices were added."""
        self._summed = np.array(chosen)


def side_by_side(pairs, choices, *, first_factor=Fraction(1)):
    """Run a choice for each outcome round by round: each round takes one look at the features for all.

    Parameters
    ----------
    pairs : list of GenotypePairs, or of TablePairs, of the outcomes, all of the same features.
    choices : list of generators as of `NoiseSource.choose_in_rounds`, one for each outcome, of equally many
        rounds.
    first_factor : Fraction, of `KendallRequest`.

    Returns
    -------
    list of what the choices return.
    """
    scores = [RoundScores(one, first_factor=first_factor) for one in pairs]
    chosen, found, n_summed = [next(choice) for choice in choices], [], 0
    while not found:
        if len(chosen[0]) > n_summed:
            n_summed = len(chosen[0])
            last = [own[-1] for own in chosen]
            for features, compared in pairs[0].parts_of_feature_scores(last, pairs[1:]):
                for score, own in zip(scores, compared, strict=True):
                    score.add(features, own)
            for score, own in zip(scores, chosen, strict=True):
                score.take(own)
        for number, (choice, score) in enumerate(zip(choices, scores, strict=True)):
            try:
                chosen[number] = choice.send(score(chosen[number]))
            except StopIteration as end:
                found.append(end.value)
    assert len(found) == len(choices)
    return found
