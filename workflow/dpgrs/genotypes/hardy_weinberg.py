"""The exact test of Hardy-Weinberg equilibrium (Wigginton, Cutler and Abecasis 2005), as a mid-p value."""

import math

import numpy as np

# Rounding must not tell apart what is equally likely.
TIE = 1e-9
# Of many numbers of heterozygotes so many are tried first: numbers too far from the likeliest have no weight
# in float64, as its exp is 0 below -746.
TRIED, WEIGHTLESS = 512, 746.0


def hardy_weinberg_p(counts: np.ndarray) -> np.ndarray:
    """Return the p-value of the number of heterozygotes if alleles pair at random, (n_variants,) float64.

    `counts` are the people with no, one and two ALT alleles, (n_variants, 3). The p-value counts the observed
    number, and all that are as likely, by one half (mid-p): without, the test is too mild, the more so the
    rarer the allele (Graffelman and Moreno 2013). It is 0.5 if only one result is possible.

    Examples
    --------
    >>> hardy_weinberg_p(np.array([[25, 50, 25], [50, 0, 50]])).round(3).tolist()
    [0.921, 0.0]
    """
    counts = np.asarray(counts, dtype=np.int64)
    n_het = counts[:, 1]
    totals = np.stack([counts.sum(axis=1), n_het + 2 * np.minimum(counts[:, 0], counts[:, 2])], axis=1)
    # Without missing alleles there are at most as many distributions as people, however many variants.
    designs, design_of = np.unique(totals, axis=0, return_inverse=True)
    by_design = np.argsort(design_of, kind="stable")
    p = np.empty(len(counts))
    for (n_people, n_rare), rows in zip(
        designs.tolist(), np.split(by_design, np.cumsum(np.bincount(design_of))[:-1]), strict=True
    ):
        p[rows] = _mid_p(n_people, n_rare)[n_het[rows] // 2]
    return p


def _mid_p(n_people: int, n_rare: int) -> np.ndarray:
    """Return the mid-p values of all numbers of heterozygotes, which are as even or odd as `n_rare`."""
    from scipy.special import gammaln  # takes 0.14 s, which most steps do without

    def log_weights(n_het: np.ndarray) -> np.ndarray:
        n_twice = (n_rare - n_het) // 2
        return (
            n_het * math.log(2)
            - gammaln(n_het + 1)
            - gammaln(n_twice + 1)
            - gammaln(n_people - n_het - n_twice + 1)
        )

    n_het = np.arange(n_rare % 2, n_rare + 1, 2)
    step = 1 + len(n_het) // TRIED
    tried = log_weights(n_het[::step])
    near = np.flatnonzero(tried > tried.max() - WEIGHTLESS)
    # Weights rise up to one number and fall from there on.
    heavy = slice(max(near[0] - 1, 0) * step, (near[-1] + 1) * step)
    logs = log_weights(n_het[heavy])
    weights = np.exp(logs - logs.max())
    in_order = np.sort(weights)
    below = np.concatenate([[0.0], np.cumsum(in_order)])
    rarer = below[np.searchsorted(in_order, weights * (1 - TIE), side="left")]
    as_rare = below[np.searchsorted(in_order, weights * (1 + TIE), side="right")]
    p = np.zeros(len(n_het))
    p[heavy] = (rarer + as_rare) / (2 * below[-1])
    return p
