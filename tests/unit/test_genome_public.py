"""Public effects as entries of a genome's blocks: what they add, and what useless ones cost."""

from dataclasses import replace

import numpy as np
import pytest

from dpgrs.methods.genome_fit import blup_effects, fit_variances, genome_entries, variant_weights
from dpgrs.methods.genome_public import public_entries, with_public_entries
from genome_simulation import N_PHENOTYPES, N_VARIANTS, Simulation
from genome_studies import map_of_variants

N_OF_GWAS = 1000


@pytest.fixture(scope="module", params=[1, 2])
def simulation(request, tmp_path_factory):
    return Simulation(tmp_path_factory.mktemp("map") / "ld.npz", seed=request.param, is_equal=False)


@pytest.fixture(scope="module")
def private_r2(simulation):
    entries = simulation.entries
    return simulation.r2(np.vstack([weights_of(simulation, rows) for rows in one_by_one(entries)]))


def one_by_one(entries):
    return [entries.of_rows(np.array([row])) for row in range(N_PHENOTYPES)]


def weights_of(simulation, entries):
    effects = blup_effects(entries, fit_variances(entries))
    return np.hstack(variant_weights(simulation.genome, effects))


def fitted(simulation, gwas):
    """Return R^2 with the effects of a file for each phenotype, and correlations."""
    weights, correlations = [], []
    for entries, effects in zip(one_by_one(simulation.entries), gwas, strict=True):
        files = [public_entries(simulation.genome, effects)]
        joined, correlation = with_public_entries(entries, simulation.genome, files)
        weights.append(weights_of(simulation, joined))
        correlations.append(correlation)
    return simulation.r2(np.vstack(weights)), np.array(correlations)


def test_public_entries__of_the_same_trait_add_what_both_show(simulation, private_r2):
    gwas = simulation.gwas(N_OF_GWAS, seed=1)
    r2, correlations = fitted(simulation, gwas)
    assert correlations.mean() == pytest.approx(1, abs=0.08)
    # LDpred-inf of the file only, at the heritability that is there.
    alone = []
    for effects in gwas:
        public = public_entries(simulation.genome, effects)
        parts = [
            block.directions * (p := block.variances) / (p + public.noise / public.signal) @ block.entries
            for block in public.blocks
        ]
        roots = [block.root for c in simulation.genome.chromosomes for block in c.blocks]
        alone.append(np.concatenate([np.linalg.solve(R, x) for R, x in zip(roots, parts, strict=True)]))
    public_r2 = simulation.r2(np.array(alone) / simulation.deviations)
    assert 0.15 < public_r2 < r2 - 0.01
    assert private_r2 < r2 - 0.03


def test_public_entries__of_any_scale_give_the_same(simulation):
    gwas = simulation.gwas(N_OF_GWAS, seed=2)[:2]
    rows = one_by_one(simulation.entries)[:2]
    for entries, effects in zip(rows, gwas, strict=True):
        weights = []
        for scale in (1.0, -40.0):
            files = [public_entries(simulation.genome, scale * effects)]
            joined, correlation = with_public_entries(entries, simulation.genome, files)
            assert np.sign(correlation) == np.sign(scale)
            weights.append(weights_of(simulation, joined))
        np.testing.assert_allclose(weights[1], weights[0], atol=1e-3 * np.abs(weights[0]).max())


def test_public_entries__of_a_related_trait_add_less(simulation, private_r2):
    r2, correlations = fitted(simulation, simulation.gwas(N_OF_GWAS, seed=3, correlation=0.6))
    # Six standard errors of a mean, from the spread over phenotypes.
    most = 6 * correlations.std() / np.sqrt(N_PHENOTYPES)
    assert correlations.mean() == pytest.approx(0.6, abs=0.05 + most)
    assert r2 > private_r2 + 0.005


def test_public_entries__of_an_unrelated_trait_cost_nothing(simulation, private_r2):
    r2, correlations = fitted(simulation, simulation.gwas(N_OF_GWAS, seed=4, correlation=0.0))
    assert np.abs(correlations).mean() < 0.1
    assert r2 > private_r2 - 0.005


def test_public_entries__lacking_variants_are_filled_in_by_their_ld(simulation, private_r2):
    gwas = simulation.gwas(N_OF_GWAS, seed=5)
    whole, _ = fitted(simulation, gwas)
    is_there = np.random.default_rng(1).random(N_VARIANTS) < 0.5
    halves, correlations = fitted(simulation, gwas * is_there)
    assert correlations.mean() == pytest.approx(1, abs=0.1)
    assert private_r2 + 0.01 < halves < whole


def test_with_public_entries__follow_the_file_that_tells_more(simulation):
    gwas = simulation.gwas(N_OF_GWAS, seed=6)
    other = simulation.gwas(N_OF_GWAS, seed=7, correlation=0.0)[0]
    entries = one_by_one(simulation.entries)[1]
    files = [public_entries(simulation.genome, effects) for effects in (other, gwas[1])]
    followed = with_public_entries(entries, simulation.genome, files)
    of_it_alone = with_public_entries(entries, simulation.genome, files[1:])
    assert followed[1] == of_it_alone[1]
    for one, two in zip(followed[0].blocks, of_it_alone[0].blocks, strict=True):
        np.testing.assert_array_equal(one.entries, two.entries)


def test_public_entries__directions_are_an_orthonormal_basis_of_each_block(simulation):
    public = public_entries(simulation.genome, simulation.gwas(200, seed=8)[0])
    blocks = [block for c in simulation.genome.chromosomes for block in c.blocks]
    for block, of_file in zip(blocks, public.blocks, strict=True):
        U, n = of_file.directions, block.loadings.shape[1]
        np.testing.assert_allclose(U.T @ U, np.eye(len(U)), atol=1e-5)
        np.testing.assert_allclose(block.root @ U[:, :n], block.loadings, atol=1e-8)
        np.testing.assert_allclose(of_file.shown, 1, atol=1e-5)
    assert of_file.variances[:n].min() >= of_file.variances[n:].max() * (1 - 1e-5)


def test_public_entries__no_file_is_followed_where_axes_have_all_shares():
    """As under much noise and structure: what was charged must have a fit."""
    genome = map_of_variants([0.1, 0.2, 0.3, 0.4], clip=1.25, n_axes=1)
    (chromosome,) = genome.chromosomes
    none = {"shares": np.empty(0), "variances": np.empty(0)}
    blocks = tuple(
        replace(block, matrix=block.matrix[:0], loadings=block.loadings[:, :0], **none)
        for block in chromosome.blocks
    )
    genome = replace(genome, chromosomes=(replace(chromosome, blocks=blocks),))
    options = {"noise_sd": 1.0, "slope": 1.0, "residual": 1.0}
    entries = genome_entries(genome, [np.ones((1, 1))], 100, **options)
    files = [public_entries(genome, np.array([0.1, 0, -0.2, 0.3]))]
    joined, correlation = with_public_entries(entries, genome, files)
    assert joined is entries
    assert correlation == 0
