"""The plain mechanism behind the canonical Lipschitz one: every set by itself, and its exact law."""

from itertools import combinations

import numpy as np

from dpgrs_papers.experiments.errata_choices import printed_classes


def all_sets(n, k):
    return list(combinations(range(n), k))


def utilities(scores, k, *, rate, gamma):
    """Return the utilities of all sets, in the order of `all_sets`; rate is epsilon/(2 sensitivity)."""
    kth = sorted(scores)[-k]
    worst = [min(scores[i] for i in chosen) for chosen in all_sets(len(scores), k)]
    best = [
        max([kth, *(score for i, score in enumerate(scores) if i not in chosen)])
        for chosen in all_sets(len(scores), k)
    ]
    return rate * (gamma * np.array(worst, dtype=float) - (1 - gamma) * np.array(best, dtype=float))


def chances(values):
    """Return the probability of each value to be the largest after exponential noise of scale 1.

    Only those that reach the largest value compete, each with probability p = exp(value - largest), and one
    of them wins at random: p_i times the integral of prod_(j != i) (1 - p_j + p_j z) over z from 0 to 1,
    a polynomial, which Gauss's rule integrates exactly.
    """
    p = np.exp(values - np.max(values))
    nodes, weights = np.polynomial.legendre.leggauss(len(p) // 2 + 2)
    factors = 1 - p[:, np.newaxis] + p[:, np.newaxis] * (nodes + 1) / 2
    with_others = [np.prod(np.delete(factors, i, axis=0), axis=0) for i in range(len(p))]
    return p * (with_others @ weights) / 2


def law(scores, k, *, rate, gamma):
    """Return the probability of every set, in the order of `all_sets`."""
    return chances(utilities(scores, k, rate=rate, gamma=gamma))


def printed_law(scores, k, *, rate, gamma):
    """Return the probability of every set if classes are as large as the paper prints."""
    drawn, values = printed_classes(scores, k, rate=rate, gamma=gamma)
    total = dict.fromkeys(all_sets(len(scores), k), 0.0)
    for chosen, chance in zip(drawn, chances(values), strict=True):
        total[chosen] += chance
    return np.array(list(total.values()))
