"""Linkage disequilibrium of public genotypes: blocks, what goes between them, and the chance of samples."""

import numpy as np
import pytest

from dpgrs.linalg import ld_estimation as module
from dpgrs.linalg.ld_estimation import BLOCK_LENGTH, block_starts, principal_axes, public_ld, wide_axes
from dpgrs.linalg.public_ld import PublicLd
from dpgrs.study.public_files import load_ld, save_ld

N_ROWS = 400


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def places(*lengths):
    """Return contigs and positions of blocks of so many variants, each on a chromosome of its own."""
    contig = np.repeat([str(number) for number in range(1, len(lengths) + 1)], lengths)
    return {"contig": contig, "position": np.arange(len(contig)) * 1000}


def normal_rows(rng, covariance, n):
    return rng.standard_normal((n, len(covariance))) @ np.linalg.cholesky(covariance).T


def of_two_ancestries(rng, n, *, lengths, spread):
    """Return rows whose columns of different blocks go together by ancestry alone, of people of two rows."""
    axis = np.ones(sum(lengths))
    ancestry = np.repeat(rng.choice([-1.0, 1.0], n // 2), 2)
    return rng.standard_normal((n, len(axis))) + spread * np.outer(ancestry, axis)


def test_block_starts__no_block_is_too_long_or_of_two_chromosomes():
    contig = np.array(["1"] * 5 + ["2"] * 2)
    position = np.array([0, BLOCK_LENGTH, BLOCK_LENGTH + 1, 2 * BLOCK_LENGTH, 2 * BLOCK_LENGTH + 2, 0, 9])
    assert block_starts(contig, position).tolist() == [0, 2, 4, 5]


def test_public_ld__one_block_is_the_mean_products(rng):
    X = rng.standard_normal((50, 7))
    ld = public_ld(X, **places(7), rows_per_person=2)
    assert (len(ld.blocks), len(ld.components), ld.n_rows) == (1, 0, 50)
    np.testing.assert_allclose(ld.blocks[0], X.T @ X / 50)


def test_public_ld__between_blocks_are_as_many_components_as_there_are_ancestries(rng):
    lengths = (40, 30, 50)
    X = of_two_ancestries(rng, N_ROWS, lengths=lengths, spread=0.5)
    ld = public_ld(X, **places(*lengths), rows_per_person=2)
    assert len(ld.components) == 1
    G = X.T @ X / N_ROWS
    spectrum = ld.spectrum(1.0)
    found = (spectrum.vectors * spectrum.eigenvalues) @ spectrum.vectors.T
    np.testing.assert_allclose(found[:40, :40], G[:40, :40], atol=1e-9)
    # What goes between blocks is 0.25 everywhere.
    error, plain = (np.sqrt(((matrix[:40, 40:] - 0.25) ** 2).mean()) for matrix in (found, G))
    assert error < 0.75 * plain


def test_public_ld__without_ancestries_nothing_goes_between_blocks(rng):
    X = rng.standard_normal((N_ROWS, 120))
    assert len(public_ld(X, **places(40, 30, 50), rows_per_person=2).components) == 0


def test_public_ld__nobody_predicts_himself(rng):
    """Two rows of a person that are alike tell nothing of other people."""
    X = np.repeat(rng.standard_normal((60, 37)), 2, axis=0)
    assert len(public_ld(X, **places(15, 10, 12), rows_per_person=2).components) == 0
    assert len(public_ld(X, **places(15, 10, 12), rows_per_person=1).components) > 3


@pytest.mark.parametrize("rows_per_person", [1, 2])
def test_best_number__is_that_nearest_to_the_others(rng, monkeypatch, rows_per_person):
    monkeypatch.setattr(module, "MOST_COMPONENTS", 6)
    lengths = (15, 10, 12)
    X = of_two_ancestries(rng, 120, lengths=lengths, spread=0.4)
    ld = public_ld(X, **places(*lengths), rows_per_person=rows_per_person)
    first = np.arange(120) // rows_per_person % 2 == 0
    half, others = X[first], X[~first]
    between = ~np.equal.outer(places(*lengths)["contig"], places(*lengths)["contig"])
    _, values, axes = np.linalg.svd(half, full_matrices=False)
    loss = []
    for k in range(7):
        G = (axes[:k].T * values[:k] ** 2) @ axes[:k] / len(half)
        loss.append((((G - others.T @ others / len(others)) * between) ** 2).sum())
    assert len(ld.components) == np.argmin(loss)


def test_principal_axes__give_the_matrix_again(rng):
    X = rng.standard_normal((30, 8))
    L = principal_axes(X, 7)
    _, values, axes = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(L.T @ L, (axes[:7].T * values[:7] ** 2) @ axes[:7] / 30, atol=1e-12)
    assert principal_axes(X, 0).shape == (0, 8)
    np.testing.assert_array_equal(principal_axes(X, 3), principal_axes(X, 3))


def test_wide_axes__are_the_principal_axes_but_for_signs(rng):
    X = of_two_ancestries(rng, 40, lengths=(60, 1, 80), spread=0.4)
    L = wide_axes(X @ X.T, [X[:, :60], X[:, 60:61], X[:, 61:]], 5)
    expected = principal_axes(X, 5)
    assert (L.max(axis=1) == np.abs(L).max(axis=1)).all()
    np.testing.assert_allclose(L, expected * np.sign((L * expected).sum(axis=1, keepdims=True)), atol=1e-9)


@pytest.mark.parametrize("n_rows", [32, 64, 128])
def test_principal_axes__of_columns_that_sum_to_nothing(rng, n_rows):
    """Frequencies of a power of two of alleles lie on the grid, so that rows of few people are centred."""
    alleles = rng.integers(0, 2, (n_rows, 200)).astype(float)
    X = alleles - alleles.mean(axis=0)
    assert (X.sum(axis=0) == 0).all()
    values = np.linalg.svd(X, compute_uv=False)[:3]
    np.testing.assert_allclose((principal_axes(X, 3) ** 2).sum(axis=1) * n_rows, values**2)


@pytest.mark.parametrize("is_varying", [False, True])
def test_public_ld__of_people_of_whom_half_or_all_are_alike(rng, is_varying):
    X = np.zeros((40, 6))
    if is_varying:
        X[2::4], X[3::4] = rng.standard_normal((2, 10, 6))
    ld = public_ld(X, **places(3, 3), rows_per_person=2)
    assert len(ld.components) == 0
    assert (ld.spectrum(10.0).trace > 0) == is_varying


def test_spectrum__of_nothing_is_not_decomposed(monkeypatch):
    """A plan rehearses draws on zeros: of many variants that takes minutes and gigabytes."""
    monkeypatch.setattr("dpgrs.linalg.public_ld.eigh", None)
    spectrum = PublicLd(np.arange(5), (np.zeros((1, 1)),) * 5, np.empty((0, 5)), 1).spectrum(7)
    np.testing.assert_array_equal(spectrum.vectors, np.eye(5))
    for nothing in (spectrum.eigenvalues, spectrum.first, spectrum.second, spectrum.trace):
        np.testing.assert_array_equal(nothing, 0)


def test_spectrum__has_the_chance_of_other_rows(rng):
    """Of normal rows of a known population u'G^2 u is what `second` says, but for a share of 1/n."""
    d, n = 6, 100
    covariance = 0.5 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    spectrum = PublicLd(np.array([0]), (covariance,), np.empty((0, d)), 10**12).spectrum(n)
    seen = []
    for _ in range(4000):
        own = normal_rows(rng, covariance, n)
        seen.append(((own.T @ own @ spectrum.vectors) ** 2).sum(axis=0))
    np.testing.assert_allclose(spectrum.second * (1 + 1 / n), np.mean(seen, axis=0), rtol=0.03)


def test_spectrum__of_blocks_only_their_own_entries_were_estimated(rng):
    lengths = (5, 4)
    blocks = tuple(np.cov(rng.standard_normal((size, 50))) for size in lengths)
    ld = PublicLd(np.array([0, 5]), blocks, np.empty((0, 9)), 70)
    spectrum, n = ld.spectrum(30.0), 30.0
    G = np.zeros((9, 9))
    G[:5, :5], G[5:, 5:] = blocks
    of_public = np.zeros((9, 9))
    for own in ld.of_blocks:
        of_public[own, own] = G[own, own] * np.trace(G[own, own]) / 70
    U = spectrum.vectors
    np.testing.assert_allclose((G @ U), U * spectrum.eigenvalues / n, atol=1e-9)
    wanted = spectrum.first**2 + spectrum.first * np.trace(G) + n**2 * np.diag(U.T @ of_public @ U)
    np.testing.assert_allclose(spectrum.second, wanted)
    assert spectrum.trace == pytest.approx(n * np.trace(G))


def test_save_ld__is_read_again(tmp_path, rng):
    ld = public_ld(rng.standard_normal((20, 9)), **places(4, 5), rows_per_person=2)
    save_ld(tmp_path / "ld.npz", {9: (ld, "a" * 64)})
    ((size, (found, digest)),) = load_ld(tmp_path / "ld.npz").items()
    assert (size, digest, found.n_rows) == (9, "a" * 64, 20)
    np.testing.assert_array_equal(found.starts, ld.starts)
    np.testing.assert_array_equal(found.components, ld.components)
    for one, other in zip(found.blocks, ld.blocks, strict=True):
        np.testing.assert_array_equal(one, other)
