import numpy as np
import pytest

from dpgrs.genotypes.diversity import (
    as_calls,
    heterozygosity,
    linkage_decay,
    pairwise_fst,
    person_heterozygosity,
    principal_components,
)
from random_cohorts import random_alleles

N_PEOPLE = 40


def calls_of(alleles, missing=None):
    return as_calls(alleles, np.zeros_like(alleles) if missing is None else missing)


def counts_of(alleles):
    return alleles.reshape(len(alleles), -1, 2).sum(axis=2, dtype=np.int8)


@pytest.fixture
def two_populations():
    """Alleles of twice 40 people whose frequencies differ."""
    return np.hstack([random_alleles(200, 2 * N_PEOPLE, seed=seed) for seed in (1, 2)])


def test_person_heterozygosity__over_known_calls():
    alleles = np.array([[0, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 1], [1, 0, 0, 1, 1, 1]])
    missing = np.zeros_like(alleles)
    missing[2, 2], missing[:, 4] = 1, 1
    found = person_heterozygosity(calls_of(alleles, missing))
    np.testing.assert_array_equal(found, [2 / 3, 0, np.nan])


def test_heterozygosity__observed_and_expected():
    alleles = np.array([[0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0]])
    missing = np.zeros_like(alleles)
    missing[2] = 1
    # The third variant is not known at all.
    assert heterozygosity(calls_of(alleles, missing)) == (0.5, 0.5)


def test_pairwise_fst__tells_populations_apart(two_populations):
    members = [np.arange(20), np.arange(20, 40), np.arange(40, 80)]
    fst = pairwise_fst(calls_of(two_populations), members)
    assert np.isnan(np.diag(fst)).all()
    np.testing.assert_array_equal(fst, fst.T)
    assert abs(fst[0, 1]) < 0.02
    assert fst[0, 2] > 0.1


def test_pairwise_fst__nan_where_nothing_varies():
    fst = pairwise_fst(calls_of(np.zeros((3, 8), dtype=int)), [np.arange(2), np.arange(2, 4)])
    assert np.isnan(fst).all()


def test_principal_components__split_populations_and_have_a_sign(two_populations):
    counts = counts_of(two_populations)
    places, explained = principal_components(counts)
    first = places[:, 0] > 0
    assert first[:N_PEOPLE].all() != first[N_PEOPLE:].all()
    assert first[:N_PEOPLE].any() != first[N_PEOPLE:].any()
    assert explained[0] > explained[1] > 0
    assert (places.max(axis=0) >= -places.min(axis=0)).all()
    # Alleles counted the other way round are the same people.
    np.testing.assert_allclose(
        np.abs(principal_components(2 - counts)[0]), np.abs(places), rtol=1e-2, atol=1e-2
    )


def test_principal_components__nan_without_variation():
    places, explained = principal_components(np.ones((5, 7), dtype=np.int8))
    assert places.shape == (7, 2)
    assert np.isnan(places).all()
    assert np.isnan(explained).all()


def test_linkage_decay__averages_pairs_by_distance(two_populations):
    counts = counts_of(two_populations)[:6]
    counts[5] = 1  # does not vary
    position = np.array([100, 150, 300, 320, 2000, 2001])
    sums, n_pairs = linkage_decay(counts, position, edges=np.array([0, 100, 500]))
    r2 = np.corrcoef(counts[:5]) ** 2
    assert n_pairs.tolist() == [2, 4]
    np.testing.assert_allclose(
        sums, [r2[0, 1] + r2[2, 3], r2[0, 2] + r2[0, 3] + r2[1, 2] + r2[1, 3]], rtol=1e-4
    )
    assert linkage_decay(counts[:1], position[:1], edges=np.array([0, 100]))[1].tolist() == [0]


def test_linkage_decay__of_a_single_pair():
    counts = np.array([[0, 1, 2, 0], [0, 1, 2, 0]], dtype=np.int8)
    sums, n_pairs = linkage_decay(counts, np.array([5, 9]), edges=np.array([0, 10, 20]))
    np.testing.assert_allclose(sums, [1, 0], rtol=1e-6)
    assert n_pairs.tolist() == [1, 0]
