"""The canonical Lipschitz mechanism against the plain one, which gives every set its own noise.

Keys are fixed, so a result never changes. Under another key a test would fail with probability 1e-6.
"""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2

from dpgrs.privacy.noise.canonical_lipschitz import certified_set, seeded_set
from dpgrs.privacy.noise.stream import KeyStream
from dpgrs_papers.experiments.errata_choices import printed_classes
from subset_laws import all_sets, law, printed_law

FALSE_FAILURE = 1e-6
SCORES = np.array([3, 9, 5, 5, 0, 7])
EPSILON, SENSITIVITY = Fraction(4, 5), Fraction(2)
RATE = float(EPSILON / (2 * SENSITIVITY))
SOURCES = {
    "secret": (certified_set, lambda: KeyStream(bytes(range(32)), b"sets"), 5000),
    "seeded": (seeded_set, lambda: np.random.default_rng(1), 20_000),
}
every_source = pytest.mark.parametrize("source", SOURCES)


def p_value(counts, probabilities):
    expected = counts.sum() * probabilities
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1)


@cache
def counted(source, k, gamma):
    """Return how often each set was chosen."""
    choose, start, n_draws = SOURCES[source]
    number = {chosen: i for i, chosen in enumerate(all_sets(len(SCORES), k))}
    counts, randomness = np.zeros(len(number)), start()
    for _ in range(n_draws):
        chosen = choose(
            randomness,
            SCORES,
            epsilon=EPSILON,
            sensitivity=SENSITIVITY,
            n_choices=k,
            gamma=Fraction(gamma),
        )
        counts[number[tuple(chosen.tolist())]] += 1
    return counts


@pytest.mark.parametrize(("k", "gamma"), [(1, 0.5), (3, 0.5), (3, 0.75), (5, 0.25)])
@every_source
def test_sets__chi_square(source, k, gamma):
    counts = counted(source, k, gamma)
    assert p_value(counts, law(SCORES, k, rate=RATE, gamma=gamma)) > FALSE_FAILURE
    # The control: half of the noise.
    assert p_value(counts, law(SCORES, k, rate=2 * RATE, gamma=gamma)) < FALSE_FAILURE


def test_plain_mechanism__is_what_is_compared_with():
    """The exact laws of `subset_laws`, of the plain mechanism and of the paper's classes, by their noise."""
    rng, k, n_draws = np.random.default_rng(2), 3, 200_000
    options = {"rate": RATE, "gamma": 0.5}
    drawn, values = printed_classes(SCORES, k, **options)
    number = {chosen: i for i, chosen in enumerate(all_sets(len(SCORES), k))}
    noisy = values + rng.exponential(size=(n_draws, len(values)))
    sets = np.array([number[chosen] for chosen in drawn])[noisy.argmax(axis=1)]
    counts = np.bincount(sets, minlength=len(number))
    assert p_value(counts, printed_law(SCORES, k, **options)) > FALSE_FAILURE
    # The paper's class sizes are another law.
    assert p_value(counts, law(SCORES, k, **options)) < FALSE_FAILURE


@every_source
def test_sets__are_not_drawn_by_the_printed_class_sizes(source):
    counts = counted(source, 3, 0.5)
    assert p_value(counts, printed_law(SCORES, 3, rate=RATE, gamma=0.5)) < FALSE_FAILURE
