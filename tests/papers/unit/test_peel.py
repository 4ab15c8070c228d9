"""Peel: its law is that of k choices, and no neighbours lose more than epsilon."""

import itertools
import math
from collections import Counter
from functools import partial

import numpy as np
import pytest
from scipy.stats import chisquare

from dpgrs.errors import UsageError
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs_papers.selection.peel import private_peel
from dpgrs_papers.selection.sensitivity import votes_sensitivity
from refused import refused

ONE = votes_sensitivity(neighbours="add-remove", unit="person")
EPSILON = 2.0
LAWS = ["permute-and-flip", "gumbel"]


def flip_chances(scores, rate):
    """Return the law of one choice by permute-and-flip: all orders, the first to show heads."""
    heads = np.exp(rate * (scores - scores.max()))
    chances = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        tails_before = np.cumprod([1.0, *(1 - heads[list(order)])])[:-1]
        chances[list(order)] += tails_before * heads[list(order)]
    return chances / math.factorial(len(scores))


def exponential_chances(scores, rate):
    weights = np.exp(rate * (scores - scores.max()))
    return weights / weights.sum()


CHANCES = dict(zip(LAWS, [flip_chances, exponential_chances], strict=True))


def law_of_peel(counts, k, law):
    """Return the probability of every ordered choice at `EPSILON` and sensitivity 1."""
    one_choice = partial(CHANCES[law], rate=EPSILON / k / 2)
    total = {}
    for chosen in itertools.permutations(range(len(counts)), k):
        left, chance = list(range(len(counts))), 1.0
        for feature in chosen:
            chance *= one_choice(np.array([counts[i] for i in left]))[left.index(feature)]
            left.remove(feature)
        total[chosen] = chance
    return total


@pytest.mark.parametrize("law", LAWS)
def test_private_peel__has_the_law_of_k_choices(law):
    """3,000 draws under fixed keys; under others it would fail with a probability of 1e-6."""
    counts = np.array([5, 3, 4, 0])
    expected = law_of_peel(counts, 2, law)
    assert sum(expected.values()) == pytest.approx(1)
    options = {"k": 2, "sensitivity": ONE, "epsilon": EPSILON, "law": law}
    seen = Counter(
        tuple(private_peel(counts, noise=BenchmarkNoise(1, i), **options)[0].tolist()) for i in range(3000)
    )
    observed = [seen[chosen] for chosen in expected]
    assert chisquare(observed, 3000 * np.array(list(expected.values()))).pvalue > 1e-6


@pytest.mark.parametrize(("law", "k"), [*itertools.product(LAWS, [1, 2])])
def test_private_peel__neighbours_lose_no_more_than_epsilon(law, k):
    laws = {counts: law_of_peel(counts, k, law) for counts in itertools.product(range(4), repeat=3)}
    losses = [
        math.log(one[chosen] / other[chosen])
        for (counts, one), (others, other) in itertools.product(laws.items(), repeat=2)
        if max(abs(np.subtract(counts, others))) <= 1
        for chosen in one
    ]
    assert max(losses) <= EPSILON * (1 + 1e-12)
    # Half would be lost if counts moved in one direction only.
    assert max(losses) > 0.6 * EPSILON


def test_private_peel__event_and_refusal():
    options = {"sensitivity": ONE, "epsilon": EPSILON, "noise": BenchmarkNoise(1)}
    _, event = private_peel(np.arange(9), k=3, **options)
    assert (event.epsilon, event.n_choices, event.entries) == (EPSILON, 3, 9)
    with refused("too-few-scores", "got 2", error=UsageError):
        private_peel(np.arange(2), k=3, **options)
