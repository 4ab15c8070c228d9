"""Effects along directions with equal shares: their noise, and what other tools make of them."""

import numpy as np
import pytest

from dpgrs.io.files import load_arrays
from dpgrs.linalg.truncated_ld import truncated_ld
from dpgrs.release.marginal_effects import genome_effects
from genome_simulation import H2, N_PEOPLE, N_PHENOTYPES, N_VARIANTS, Simulation
from refused import refused


def ldpred_inf(arrays, ld, n_effective, deviations, *, h2):
    """LDpred-inf: (Sigma_K + M/(n h2) I)^-1 r, block by block, per allele."""
    weights = np.zeros_like(arrays["effects"])
    for block in dict.fromkeys(name.rpartition("/")[0] for name in ld):
        rows, U, e = (ld[f"{block}/{name}"] for name in ("rows", "eigenvectors", "eigenvalues"))
        prior = len(arrays["frequency"]) / (n_effective[rows[0]] * h2)
        weights[:, rows] = arrays["effects"][:, rows] @ U / (e + prior) @ U.T
    return weights / deviations


@pytest.fixture(scope="module", params=[1, 2, 3])
def simulation(request, tmp_path_factory):
    return Simulation(tmp_path_factory.mktemp("map") / "ld.npz", seed=request.param)


def test_genome_effects__ldpred_inf_is_as_good_as_the_fit(simulation, tmp_path):
    arrays, effects = simulation.effects(tmp_path / "ld.npz")
    ld = load_arrays(tmp_path / "ld.npz")
    n_effective = effects.n_effective[0]
    weights = ldpred_inf(arrays, ld, n_effective, simulation.deviations, h2=H2)
    ours = simulation.r2_of_fit()
    assert ours > 0.1
    assert simulation.r2(weights) == pytest.approx(ours, abs=0.005)


def test_genome_effects__ld_score_regression_finds_the_heritability(simulation, tmp_path):
    arrays, effects = simulation.effects(tmp_path / "ld.npz")
    squares = np.square(effects.beta / effects.standard_error)
    x = effects.n_effective * arrays["ld_score"] / arrays["noise_scale"] / N_VARIANTS
    estimates = ((squares - 1) * x).sum(axis=1) / np.square(x).sum(axis=1)
    # Six standard errors, and what the panel's LD differs from the cohort's.
    most = 6 * estimates.std() / np.sqrt(N_PHENOTYPES) + 0.03
    assert most < H2 / 3
    assert estimates.mean() == pytest.approx(H2, abs=most)


@pytest.mark.parametrize("seed", [4, 5, 6])
def test_genome_effects__without_signal_have_squares_of_1_by_their_noise_scale(seed, tmp_path):
    simulation = Simulation(tmp_path / "map.npz", seed=seed, h2=0.0)
    arrays, effects = simulation.effects(tmp_path / "ld.npz")
    squares, total = np.square(effects.beta / effects.standard_error), 0.0
    ld = load_arrays(tmp_path / "ld.npz")
    for block in dict.fromkeys(name.rpartition("/")[0] for name in ld):
        U, e = (ld[f"{block}/{name}"] for name in ("eigenvectors", "eigenvalues"))
        sigma = (U * e) @ U.T
        total += (sigma**2 / np.outer(sigma.diagonal(), sigma.diagonal())).sum()
    # Squares of normal numbers of correlations rho: their sum has the variance 2 sum rho^2. Six standard
    # errors, and what the panel's LD differs from the cohort's.
    most = 6 * np.sqrt(2 * total / N_PHENOTYPES) / N_VARIANTS + 0.02
    assert most < 0.2
    assert squares.mean() == pytest.approx(1, abs=most)
    # Without the scale of each they would be too small.
    assert (squares * arrays["noise_scale"]).mean() < 0.9


def test_write_truncated_ld__is_the_ld_of_the_directions(simulation, tmp_path):
    arrays, effects = simulation.effects(tmp_path / "ld.npz")
    ld = load_arrays(tmp_path / "ld.npz")
    blocks = [block for chromosome in simulation.genome.chromosomes for block in chromosome.blocks]
    assert len(ld) == 3 * len(blocks)
    for name, block in zip(dict.fromkeys(name.rpartition("/")[0] for name in ld), blocks, strict=True):
        rows, U, e = (ld[f"{name}/{part}"] for part in ("rows", "eigenvectors", "eigenvalues"))
        sigma = block.loadings @ block.loadings.T
        np.testing.assert_allclose((U * e) @ U.T, sigma, atol=1e-5)
        np.testing.assert_allclose(arrays["noise_scale"][rows], sigma.diagonal(), atol=1e-5)
        np.testing.assert_allclose(arrays["ld_score"][rows], np.square(sigma).sum(axis=1), atol=1e-4)
    assert np.isfinite(effects.beta).all()


def test_write_truncated_ld__variants_that_no_direction_shows_have_no_error(simulation, tmp_path):
    nothing = truncated_ld(np.empty((3, 0)))
    assert nothing.eigenvectors.shape == (3, 0)
    assert nothing.noise_scale.tolist() == nothing.ld_score.tolist() == [0, 0, 0]
    arrays, _ = simulation.effects(tmp_path / "ld.npz")
    arrays["noise_scale"][3] = 0
    effects = genome_effects(arrays, n=N_PEOPLE, noise_sd=np.full(N_PHENOTYPES, simulation.noise_sd))
    assert np.flatnonzero(np.isnan(effects.standard_error[0])).tolist() == [3]


def test_write_truncated_ld__steered_shares_are_refused(tmp_path):
    steered = Simulation(tmp_path / "map.npz", seed=1, is_equal=False)
    with refused("unequal-shares"):
        steered.effects(tmp_path / "ld.npz")
