import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammaln

from dpgrs.genotypes.hardy_weinberg import hardy_weinberg_p


def exact_mid_p(counts):
    """The mid-p in whole numbers: all pairings of the alleles are equally likely."""
    n, n_rare = sum(counts), counts[1] + 2 * min(counts[0], counts[2])
    weights = {}
    for n_het in range(n_rare % 2, n_rare + 1, 2):
        n_twice = (n_rare - n_het) // 2
        ways = math.comb(n, n_het) * math.comb(n - n_het, n_twice)
        weights[n_het] = ways * 2**n_het
    own, total = weights[counts[1]], sum(weights.values())
    rarer = sum(weight for weight in weights.values() if weight < own)
    tied = sum(weight for weight in weights.values() if weight == own)
    return Fraction(2 * rarer + tied, 2 * total)


def test_hardy_weinberg_p__is_that_of_whole_numbers():
    counts = [(a, b, c) for a in range(0, 9) for b in range(0, 9) for c in range(0, 9)]
    counts += [(180, 15, 5), (2, 100, 98), (40, 20, 40), (0, 101, 0), (99, 1, 0)]
    np.testing.assert_allclose(
        hardy_weinberg_p(counts), [float(exact_mid_p(one)) for one in counts], rtol=1e-9
    )


@pytest.mark.parametrize("counts", [(0, 0, 0), (7, 0, 0), (0, 0, 7)])
def test_hardy_weinberg_p__half_where_nothing_else_can_be(counts):
    assert hardy_weinberg_p([counts]).tolist() == [0.5]


def test_hardy_weinberg_p__of_many_is_that_of_all_numbers_of_heterozygotes():
    n, n_rare = 30_000, 9_000
    n_het = np.arange(0, n_rare + 1, 2)
    n_twice = (n_rare - n_het) // 2
    logs = n_het * np.log(2) - gammaln(n_het + 1) - gammaln(n_twice + 1) - gammaln(n - n_het - n_twice + 1)
    weights = np.exp(logs - logs.max())
    found = hardy_weinberg_p(np.column_stack([n - n_het - n_twice, n_het, n_twice]))
    # Weights of which some are equal only up to rounding, so pick those on the side that has more of them.
    places = np.append(np.arange(0, len(n_het), 500), weights.argmax() - np.arange(0, 500, 50))
    expected = [(weights[weights < weights[one]].sum() + weights[one] / 2) / weights.sum() for one in places]
    np.testing.assert_allclose(found[places], expected, rtol=1e-6)
    assert (found == 0).any()
    assert found.max() > 0.9


def test_hardy_weinberg_p__stays_finite_for_a_large_cohort():
    p = hardy_weinberg_p([(50_000, 0, 50_000), (25_000, 50_000, 25_000)])
    assert p[0] == 0
    assert p[1] > 0.9
