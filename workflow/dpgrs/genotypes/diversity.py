"""How people and populations differ, by scikit-allel: heterozygosity, F_ST, components, decay of linkage."""

import allel
import numpy as np

N_COMPONENTS = 2


def as_calls(alleles, missing):
    """Return genotype calls as scikit-allel takes them.

    Parameters
    ----------
    alleles, missing : (n_variants, 2 n_people) of 0 and 1, unpacked.

    Returns
    -------
    allel.GenotypeArray (n_variants, n_people, 2), -1 where an allele is unknown.
    """
    calls = np.where(missing == 1, np.int8(-1), alleles.astype(np.int8))
    return allel.GenotypeArray(calls.reshape(len(calls), calls.shape[1] // 2, 2))


def person_heterozygosity(calls):
    """Return the (n_people,) shares of a person's known calls that are heterozygous; NaN without any."""
    n_known = calls.count_called(axis=0)
    return np.divide(calls.count_het(axis=0), n_known, out=np.full(len(n_known), np.nan), where=n_known > 0)


def heterozygosity(calls):
    """Compare heterozygotes with what allele frequencies let expect, over all variants.

    Parameters
    ----------
    calls : allel.GenotypeArray

    Returns
    -------
    observed, expected : float, means over variants with a known call.
    """
    calls = calls.compress(calls.count_called(axis=1) > 0, axis=0)
    frequencies = calls.count_alleles(max_allele=1).to_frequencies()
    observed = allel.heterozygosity_observed(calls)
    return float(observed.mean()), float(allel.heterozygosity_expected(frequencies, ploidy=2).mean())


def pairwise_fst(calls, members):
    """Estimate F_ST of every pair of populations (Weir and Cockerham 1984), as a ratio of sums over variants.

    Parameters
    ----------
    calls : allel.GenotypeArray
    members : list with the (n_members,) int people of every population.

    Returns
    -------
    (n_populations, n_populations) float64, symmetric, NaN on the diagonal and where nothing varies.
    """
    fst = np.full((len(members), len(members)), np.nan)
    for i, j in zip(*np.triu_indices(len(members), k=1), strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):  # variants that only one of both has calls of
            parts = allel.weir_cockerham_fst(calls, [members[i], members[j]])
        a, b, c = (np.nansum(part) for part in parts)
        fst[i, j] = fst[j, i] = a / (a + b + c) if a + b + c else np.nan
    return fst


def principal_components(counts):
    """Place people by their principal components, variants scaled by their expected spread (Patterson 2006).

    Parameters
    ----------
    counts : (n_variants, n_people) int8, ALT alleles, all known.

    Returns
    -------
    places : (n_people, 2) float64; the largest value of a component is positive, as its sign is arbitrary.
    explained : (2,) float64, shares of the variance. Both are NaN with less than two people, or variants that
        vary.
    """
    varying = counts[counts.min(axis=1) != counts.max(axis=1)]
    if min(varying.shape) < N_COMPONENTS:
        return np.full((counts.shape[1], N_COMPONENTS), np.nan), np.full(N_COMPONENTS, np.nan)
    places, model = allel.pca(varying, n_components=N_COMPONENTS, scaler="patterson")
    largest = np.take_along_axis(places, np.abs(places).argmax(axis=0)[np.newaxis], axis=0)
    places = places * np.where(largest < 0, -1, 1)
    assert places.shape == (counts.shape[1], N_COMPONENTS)
    return places.astype(float), model.explained_variance_ratio_.astype(float)


def linkage_decay(counts, position, *, edges):
    """Average r^2 of allele counts (Rogers and Huff 2008) by the distance of two variants.

    Parameters
    ----------
    counts : (n_variants, n_people) int8, ALT alleles, all known.
    position : (n_variants,) int, bases, on one chromosome.
    edges : (n_bins + 1,) ascending distances in bases; pairs beyond are left out.

    Returns
    -------
    sums : (n_bins,) float64, of r^2.
    n_pairs : (n_bins,) int64
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
