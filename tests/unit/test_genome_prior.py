"""The prior of a genome along its LD, shares of the noise, and the map that follows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.covariance import ledoit_wolf

from dpgrs.linalg.genome_map import mapped_rows, short_rows
from dpgrs.linalg.genome_prior import (
    HERITABILITY,
    ReferenceChromosome,
    best_shares,
    equal_shares,
    expected_r2,
    genome_map,
    genome_prior,
    shrunken_covariance,
    steered_noise,
)

MU = 0.2


def panel(rng, n_people, frequencies):
    """People of a chromosome whose neighbouring variants are in LD."""
    alleles = np.zeros((n_people, len(frequencies)), dtype=np.int64)
    for _ in range(2):
        uniform = rng.random((n_people, len(frequencies)))
        for j in range(1, len(frequencies)):
            is_copied = rng.random(n_people) < 0.7
            uniform[is_copied, j] = uniform[is_copied, j - 1]
        alleles += uniform < frequencies
    return alleles


def chromosomes_of(X, cuts):
    """Chromosomes of equal numbers of variants, two blocks each."""
    for number, part in enumerate(np.split(X, cuts, axis=1)):
        size = part.shape[1]
        bounds, pruned = np.array([0, size // 2, size]), np.arange(0, size, 2)
        yield ReferenceChromosome(str(number + 1), part, part.mean(axis=0) / 2, bounds, pruned)


@pytest.fixture(scope="module")
def reference():
    rng = np.random.default_rng(3)
    frequency = rng.uniform(0.1, 0.9, size=48)
    return list(chromosomes_of(panel(rng, 300, frequency), [24]))


@pytest.fixture(scope="module")
def prior(reference):
    return genome_prior(reference, n_axes=0)


def test_shrunken_covariance__is_that_of_ledoit_and_wolf(reference):
    X = reference[0].dosages - reference[0].dosages.mean(axis=0)
    np.testing.assert_allclose(shrunken_covariance(X)[0], ledoit_wolf(X, assume_centered=True)[0])


@pytest.mark.parametrize("tau", [0.0, 0.002, 0.05])
def test_best_shares__are_those_of_numeric_optimisation(tau):
    p, rest = np.array([0.2, 0.1, 0.1, 0.06, 0.03, 0.01]), np.array([0.05, 0.01, 0.05, 0.01, 0.02, 0.01])
    noise = p + rest
    shares, level = best_shares(p, noise, tau)
    np.testing.assert_allclose(shares, np.maximum(level * p - tau, 0) / noise)
    solution = minimize(
        lambda q: -sum(p**2 * q / (noise * q + tau)) if tau else sum((q - level * p / noise) ** 2),
        np.full(6, 1 / 6),
        bounds=[(1e-12, 1)] * 6,
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    np.testing.assert_allclose(shares, solution.x, atol=1e-4)
    if tau:
        assert expected_r2(p, noise, shares, tau) >= -solution.fun - 1e-9


def test_best_shares__behind_much_noise_the_best_direction_has_all():
    shares, _ = best_shares(np.array([0.1, 0.3]), np.array([0.2, 0.4]), 1e30)
    assert shares.tolist() == [0, 1]


@pytest.mark.parametrize("tau", [1e-9, 0.002, 1.0])
def test_equal_shares__are_of_the_best_number_of_directions(tau):
    p = np.array([0.03, 0.2, 0.1, 0.01, 0.1, 0.06, 0.0])
    noise = p + 0.02
    shares, _ = equal_shares(p, noise, tau)
    order = np.argsort(-p)
    explained = []
    for K in range(1, 7):
        others = np.zeros(7)
        others[order[:K]] = 1 / K
        explained.append(expected_r2(p, noise, others, tau))
    assert np.count_nonzero(shares) == 1 + np.argmax(explained)
    assert expected_r2(p, noise, shares, tau) == max(explained)
    assert expected_r2(p, noise, best_shares(p, noise, tau)[0], tau) >= max(explained)


def test_expected_r2__is_what_a_fit_explains_in_the_model():
    rng = np.random.default_rng(4)
    p, tau, n = np.array([0.2, 0.1, 0.05, 0.02]), 0.01, 50
    shares = np.array([0.5, 0.3, 0.2, 0.0])
    used = shares > 0
    b = rng.standard_normal((200_000, 4)) * np.sqrt(p)
    N = 1 / n + tau / shares[used]
    c = b[:, used] + rng.standard_normal((len(b), 3)) * np.sqrt(N)
    explained = np.zeros_like(b)
    explained[:, used] = p[used] / (p[used] + N) * c
    measured = (np.square(b) - np.square(b - explained)).sum(axis=1).mean()
    assert expected_r2(p, p + 1 / n, shares, tau) == pytest.approx(measured, abs=0.002)


def test_steered_noise__takes_the_best_clip(prior):
    best = steered_noise(prior.spectrum, 500, mu=MU)
    for clip in (0.7, 2.0):
        assert steered_noise(prior.spectrum, 500, mu=MU, clip=clip * best.clip).expected_r2 < best.expected_r2
    more = steered_noise(prior.spectrum, 500, mu=MU, n_phenotypes=10)
    twice = steered_noise(prior.spectrum, 500, mu=MU, sensitivity=2)
    assert more.clip > best.clip
    assert max(more.expected_r2, twice.expected_r2) < best.expected_r2
    assert steered_noise(prior.spectrum, 500, mu=MU / 2).clip <= best.clip


def test_genome_prior__explains_the_heritability_and_is_a_decomposition(reference, prior):
    assert prior.spectrum.variances.sum() == pytest.approx(HERITABILITY)
    total = sum(block.variances.sum() for block in prior.blocks)
    sizes = sum(len(chromosome.frequency) for chromosome in reference)
    factor = 1 / sum(chromosome.relative_variances.sum() for chromosome in reference)
    block, chromosome = prior.chromosomes[1].blocks[1], reference[1]
    Q = factor * chromosome.relative_variances[block.first : block.stop]
    x = (chromosome.dosages - 2 * chromosome.frequency)[:, block.first : block.stop] / block.deviations
    sigma, _ = shrunken_covariance(x)
    assert sizes == 48
    assert total == pytest.approx(1, abs=0.05)
    root, vectors = block.matrices().astype(np.float64)
    np.testing.assert_allclose(root @ root, sigma, atol=1e-5)
    np.testing.assert_allclose((vectors * block.variances) @ vectors.T, (root * Q) @ root, atol=1e-7)


def test_population_spectrum__spreads_as_far_as_the_population():
    """A panel of few people has a flatter spectrum, of which the plan is too low."""
    rng, frequency = np.random.default_rng(4), np.full(200, 0.5)
    few, many = (
        genome_prior(list(chromosomes_of(panel(rng, n, frequency), [100])), n_axes=0) for n in (150, 8000)
    )
    truth = steered_noise(many.spectrum, 2000, mu=MU).expected_r2
    planned = steered_noise(few.population_spectrum, 2000, mu=MU).expected_r2
    assert steered_noise(few.spectrum, 2000, mu=MU).expected_r2 < truth - 0.02
    assert planned == pytest.approx(truth, abs=0.007)
    assert few.population_spectrum.variances.sum() == pytest.approx(HERITABILITY)
    assert few.population_spectrum.variances.min() >= 0
    assert not few.population_spectrum.chances.any()


def test_population_spectrum__without_ld_is_that_of_effects():
    """Covariances of independent variants are shrunken wholly, or nearly so."""
    rng = np.random.default_rng(5)
    X = rng.binomial(2, 0.5, size=(100, 40))
    (chromosome,) = chromosomes_of(X, [])
    relative = np.repeat([1.0, 5.0], 20)
    prior = genome_prior([replace(chromosome, effect_variances=relative)], n_axes=0)
    planned = np.sort(prior.population_spectrum.variances)
    np.testing.assert_allclose(planned, HERITABILITY * relative / relative.sum(), rtol=0.4)


def test_genome_map__rows_have_the_mean_square_of_their_shares(reference, prior):
    noise = steered_noise(prior.spectrum, 500, mu=MU)
    genome = genome_map(prior, noise, reference)
    assert noise.shares.sum() == pytest.approx(1)
    assert 0 < genome.n_directions < 48
    first = 0
    for chromosome in genome.chromosomes:
        assert chromosome.row_norm**2 == pytest.approx(sum(block.shares.sum() for block in chromosome.blocks))
        of_chromosome = next(one for one in prior.chromosomes if one.contig == chromosome.contig)
        for block, of_block in zip(chromosome.blocks, of_chromosome.blocks, strict=True):
            np.testing.assert_array_equal(short_rows(block.matrix), block.matrix)
            T = block.matrix * 2.0**-24 * block.deviations
            covariance = T @ block.root @ block.root @ T.T
            np.testing.assert_allclose(covariance, np.diag(block.shares), atol=1e-5)
            root, vectors = of_block.matrices().astype(np.float64)
            is_used = noise.shares[first : first + len(of_block.variances)] > 0
            first += len(is_used)
            np.testing.assert_array_equal(block.root, root)
            # Eigenvectors have no sign.
            expected = np.abs(root @ vectors[:, is_used])
            np.testing.assert_allclose(np.abs(block.loadings), expected, atol=1e-6)


def test_genome_map__clips_few_directions_jointly(reference, prior):
    """The more directions a row has, the less its length varies."""
    genome = genome_map(prior, steered_noise(prior.spectrum, 500, mu=MU), reference)
    assert genome.is_clipped_jointly
    squares = [
        np.square(mapped_rows(own, chromosome.centred(), np.empty((300, 0), np.int64))).sum(axis=1)
        for own, chromosome in zip(genome.chromosomes, reference, strict=True)
    ]
    factors = np.minimum(1, 1 / np.sqrt(sum(squares)))
    np.testing.assert_allclose(genome.attenuations, [factors @ w / w.sum() for w in squares])


def test_genome_prior__finds_axes_of_ancestry():
    rng = np.random.default_rng(5)
    frequency = rng.uniform(0.2, 0.8, size=48)
    shifted = np.clip(frequency + rng.choice([-0.2, 0.2], size=48), 0.05, 0.95)
    X = np.concatenate([panel(rng, 200, frequency), panel(rng, 200, shifted)])
    reference = list(chromosomes_of(X, [24]))
    prior = genome_prior(reference)
    assert len(prior.chromosomes[0].axis_variances) >= 1
    genome = genome_map(prior, steered_noise(prior.spectrum, 500, mu=1), reference)
    assert genome.axis_shares[0] > 0
    assert len(genome.chromosomes[0].axis_gains) == genome.n_axes
    assert len(genome.chromosomes[1].axis_gains) == 0
    first = mapped_rows(
        genome.chromosomes[0],
        np.zeros((1, 24)),
        np.full((1, genome.n_axes), 4096),
    )[0, 0]
    assert first == pytest.approx(np.sqrt(genome.axis_shares[0]), abs=1e-6)


def test_genome_prior__one_block_has_no_axes(reference):
    whole = replace(reference[0], bounds=np.array([0, 24]))
    assert len(genome_prior([whole]).chromosomes[0].axis_variances) == 0


def test_genome_prior__takes_variances_of_effects(reference):
    chosen = replace(reference[0], effect_variances=np.r_[np.ones(12), np.full(12, 1e-9)])
    spectrum = genome_prior([chosen], n_axes=0).spectrum
    assert spectrum.variances[12:].sum() < 1e-6
