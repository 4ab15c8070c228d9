"""Differences of people and populations, by scikit-allel: heterozygosity, F_ST, components, linkage decay."""

import itertools
from collections.abc import Sequence

import allel
import numpy as np

N_COMPONENTS = 2


def as_calls(alleles: np.ndarray, missing: np.ndarray) -> allel.GenotypeArray:
    """Return calls as scikit-allel takes them, (n_variants, n_people, 2), -1 if an allele is unknown.

    Both planes are (n_variants, 2 n_people) of 0 and 1, unpacked.
    """
    calls = np.where(missing == 1, np.int8(-1), alleles.astype(np.int8))
    return allel.GenotypeArray(calls.reshape(len(calls), calls.shape[1] // 2, 2))


def person_heterozygosity(calls: allel.GenotypeArray) -> np.ndarray:
    """Return the (n_people,) shares of a person's known calls that are heterozygous; NaN without any."""
    n_known = calls.count_called(axis=0)
    return np.divide(calls.count_het(axis=0), n_known, out=np.full(len(n_known), np.nan), where=n_known > 0)


def heterozygosity(calls: allel.GenotypeArray) -> tuple[float, float]:
    """Return the observed heterozygosity and the one expected by allele frequencies, means over variants."""
    calls = calls.compress(calls.count_called(axis=1) > 0, axis=0)
    frequencies = calls.count_alleles(max_allele=1).to_frequencies()
    observed = allel.heterozygosity_observed(calls)
    return float(observed.mean()), float(allel.heterozygosity_expected(frequencies, ploidy=2).mean())


def pairwise_fst(calls: allel.GenotypeArray, members: Sequence[np.ndarray]) -> np.ndarray:
    """Return F_ST of every pair of populations (Weir and Cockerham 1984), as a ratio of sums over variants.

    `members` are the (n_members,) int people of every population. The result is (n_populations,
    n_populations) float64, symmetric, NaN on the diagonal and if nothing varies.
    """
    fst = np.full((len(members), len(members)), np.nan)
    for i, j in itertools.combinations(range(len(members)), 2):
        with np.errstate(divide="ignore", invalid="ignore"):  # variants that only one of both has calls of
            components = allel.weir_cockerham_fst(calls, [members[i], members[j]])
        a, b, c = (np.nansum(component) for component in components)
        fst[i, j] = fst[j, i] = a / (a + b + c) if a + b + c else np.nan
    return fst


def principal_components(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (n_people, 2) principal components and their (2,) shares of the variance (Patterson 2006).

    Variants are scaled by their expected spread. `counts` are the ALT alleles, (n_variants, n_people) int8,
    all known. The largest value of a component is positive, as its sign is arbitrary. Both results are NaN
    with fewer than two people, or variants that vary.
    """
    varying = counts[counts.min(axis=1) != counts.max(axis=1)]
    if min(varying.shape) < N_COMPONENTS:
        return np.full((counts.shape[1], N_COMPONENTS), np.nan), np.full(N_COMPONENTS, np.nan)
    # Of whole numbers allel takes half precision, which SciPy is to refuse.
    scores, model = allel.pca(varying.astype(np.float32), n_components=N_COMPONENTS, scaler="patterson")
    largest = np.take_along_axis(scores, np.abs(scores).argmax(axis=0)[np.newaxis], axis=0)
    scores = scores * np.where(largest < 0, -1, 1)
    assert scores.shape == (counts.shape[1], N_COMPONENTS)
    return scores.astype(float), model.explained_variance_ratio_.astype(float)


def linkage_decay(
    counts: np.ndarray, position: np.ndarray, *, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of r^2 (Rogers and Huff 2008) and the numbers of pairs, (n_bins,) each, by distance.

    `counts` are the ALT alleles, (n_variants, n_people) int8, all known; positions are on one chromosome, and
    `edges`, (n_bins + 1,) ascending, are distances in bases. Pairs beyond them are left out.
    """
    is_varying = counts.min(axis=1) != counts.max(axis=1)
    counts, position = counts[is_varying], position[is_varying]
    first, second = np.triu_indices(len(position), k=1)
    if not len(first):
        return np.zeros(len(edges) - 1), np.zeros(len(edges) - 1, dtype=np.int64)
    # One pair comes as a number.
    r2 = np.atleast_1d(allel.rogers_huff_r(counts)).astype(float) ** 2
    distance = np.abs(position[second] - position[first])
    n_pairs, _ = np.histogram(distance, edges)
    sums, _ = np.histogram(distance, edges, weights=r2)
    return sums, n_pairs
