import allel
import numpy as np
import pytest
from scipy.spatial.distance import squareform

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack, unpack
from dpgrs.genotypes.linkage import ComparedVariants, LinkageLimit, choose_unlinked
from random_cohorts import random_bits

N_VARIANTS, N_HAPLOTYPES = 60, 140


@pytest.fixture
def alleles():
    """Blocks of ten variants that go with each other, more or less."""
    founders = np.repeat(unpack(random_bits(6, N_HAPLOTYPES), N_HAPLOTYPES), 10, axis=0)
    changes = unpack(random_bits(N_VARIANTS, N_HAPLOTYPES, seed=3), N_HAPLOTYPES)
    changes &= unpack(random_bits(N_VARIANTS, N_HAPLOTYPES, seed=4), N_HAPLOTYPES)
    return np.where(np.arange(N_VARIANTS)[:, np.newaxis] % 10 < 5, founders, founders ^ changes)


def all_r2(alleles, rows):
    compared = ComparedVariants(pack(alleles), rows=rows, n_haplotypes=N_HAPLOTYPES)
    return np.array([compared.r2(i, np.arange(len(alleles))) for i in range(len(alleles))])


def naive_choice(X, chromosome, position, order, *, size, limit):
    """Compare every pair of rows of numbers; the plain twin of `choose_unlinked`."""
    r2, taken, linked = np.corrcoef(X) ** 2, [], []
    for i in order:
        if len(taken) == size:
            break
        near = [
            j
            for j in taken
            if chromosome[i] == chromosome[j] and abs(position[i] - position[j]) <= 1000 * limit.window
        ]
        is_free = all(r2[i, j] <= limit.r2 for j in near)
        (taken if is_free else linked).append(int(i))
    return taken, linked


def test_r2__of_people_is_that_of_scikit_allel(alleles):
    counts = alleles.reshape(N_VARIANTS, -1, 2).sum(axis=2).astype("i1")
    expected = squareform(allel.rogers_huff_r(counts).astype(float) ** 2)
    found = all_r2(alleles, "people")
    np.testing.assert_allclose(found - np.diag(np.diag(found)), expected, atol=1e-6)  # theirs is float32


def test_r2__of_haplotypes_is_the_correlation_of_alleles(alleles):
    np.testing.assert_allclose(all_r2(alleles, "haplotypes"), np.corrcoef(alleles) ** 2, atol=1e-12)


def test_r2__is_0_where_nothing_varies():
    alleles = np.stack([np.ones(N_HAPLOTYPES), np.arange(N_HAPLOTYPES) % 2])
    for rows in ("haplotypes", "people"):
        r2 = all_r2(alleles, rows)
        assert r2[0].tolist() == [0, 0]
        assert r2[1, 0] == 0


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize(
    ("size", "r2", "window"), [(60, 0.3, 1000), (5, 0.3, 1000), (60, 0.3, 0.02), (60, 1, 9)]
)
def test_choose_unlinked__is_the_naive_choice(alleles, monkeypatch, rows, size, r2, window):
    monkeypatch.setattr("dpgrs.genotypes.linkage.SMALLEST_BATCH", 7)  # several batches
    chromosome, position = np.arange(N_VARIANTS) // 35, 10 * np.arange(N_VARIANTS)
    order = np.argsort(
        unpack(random_bits(1, 64 * N_VARIANTS), 64 * N_VARIANTS).reshape(N_VARIANTS, 64)
        @ 2.0 ** -np.arange(64)
    )
    limit, words = LinkageLimit(r2, window, rows), pack(alleles)
    X = alleles if rows == "haplotypes" else alleles.reshape(N_VARIANTS, -1, 2).sum(axis=2)
    options = {"order": order, "size": size, "limit": limit, "n_haplotypes": N_HAPLOTYPES}
    taken, is_linked = choose_unlinked(chromosome, position, words.__getitem__, **options)
    expected = naive_choice(X, chromosome, position, order, size=size, limit=limit)
    assert (taken.tolist(), np.flatnonzero(is_linked).tolist()) == (expected[0], sorted(expected[1]))


def test_choose_unlinked__of_fewer_is_the_beginning_of_that_of_more(alleles):
    words, order, zeros = pack(alleles), np.arange(N_VARIANTS)[::-1], np.zeros(N_VARIANTS, dtype=int)
    limit = LinkageLimit(0.2, 1, "haplotypes")
    few, many = (
        choose_unlinked(
            zeros, zeros, words.__getitem__, order=order, size=size, limit=limit, n_haplotypes=N_HAPLOTYPES
        )[0]
        for size in (3, N_VARIANTS)
    )
    assert len(few) == 3 < len(many) < N_VARIANTS
    assert few.tolist() == many[:3].tolist()


@pytest.mark.parametrize(
    ("r2", "window", "name"), [(1.1, 1, "ld_r2"), (-0.1, 1, "ld_r2"), (0.5, 0, "ld_window")]
)
def test_linkage_limit__raise_on_domain(r2, window, name):
    with pytest.raises(UsageError, match=f"`{name}` must be"):
        LinkageLimit(r2, window, "people")
