"""Effects along directions with equal shares: their noise, and what other tools make of them."""

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.io.files import load_arrays
from dpgrs.io.replicates import save_labelled
from dpgrs.linalg.genome_map import mapped_rows
from dpgrs.linalg.genome_prior import ReferenceChromosome, genome_map, genome_prior, steered_noise
from dpgrs.linalg.truncated_ld import truncated_ld
from dpgrs.methods.genome_fit import blup_effects, fit_variances, genome_entries, variant_weights
from dpgrs.release.genome_effects import genome_effects, write_truncated_ld
from dpgrs.study.genome_maps import items_of_map, stored_maps

N_PANEL, N_PEOPLE, N_TEST = 1000, 2000, 1000
N_PHENOTYPES, N_BLOCKS, BLOCK, H2, MU = 40, 6, 40, 0.5, 0.3
N_VARIANTS = 2 * N_BLOCKS * BLOCK


class Simulation:
    """A cohort and a panel of one population, phenotypes, and sums along the panel's map."""

    def __init__(self, path, *, seed, is_equal=True, h2=H2):
        rng = np.random.default_rng(seed)
        frequency = rng.uniform(0.1, 0.9, size=N_VARIANTS)
        X = _dosages(rng, N_PANEL + N_PEOPLE + N_TEST, frequency)
        panel, cohort, test = np.split(X, [N_PANEL, N_PANEL + N_PEOPLE])
        self.reference = [
            ReferenceChromosome(
                str(number + 1),
                part,
                part.mean(axis=0) / 2,
                np.arange(0, N_VARIANTS // 2 + 1, BLOCK),
                np.arange(0, N_VARIANTS // 2, 8),
            )
            for number, part in enumerate(np.split(panel, 2, axis=1))
        ]
        self.prior = genome_prior(self.reference, n_axes=0)
        self.noise = steered_noise(self.prior.spectrum, N_PEOPLE, mu=MU, is_equal=is_equal)
        self.genome = genome_map(self.prior, self.noise, self.reference)
        self.frequency = np.concatenate([chromosome.frequency for chromosome in self.reference])
        self.deviations = np.sqrt(2 * self.frequency * (1 - self.frequency))
        theta = rng.standard_normal((N_PHENOTYPES, N_VARIANTS)) / np.sqrt(N_VARIANTS)
        weights = theta / self.deviations
        self.test, self.genetic = test, weights @ (test - test.mean(axis=0)).T
        values = weights @ (cohort - test.mean(axis=0)).T
        scale = np.sqrt(h2) / values.std(axis=1, keepdims=True)
        Y = scale * values + np.sqrt(1 - h2) * rng.standard_normal(values.shape)
        Y = np.clip(Y, -self.noise.clip, self.noise.clip)
        self.noise_sd = self.noise.clip / MU
        self.sums = [S + self.noise_sd * rng.standard_normal(S.shape) for S in self._exact_sums(cohort, Y)]
        label = {"n_variants": N_VARIANTS}
        save_labelled(path, items_of_map(self.genome, label, planned_rows=N_PEOPLE, n_summed=N_PHENOTYPES))
        (self.stored,) = stored_maps(path)

    def _exact_sums(self, cohort, Y):
        parts = zip(self.genome.chromosomes, np.split(cohort, 2, axis=1), strict=True)
        rows = [
            mapped_rows(chromosome, x * 4096 - chromosome.centre, np.empty((len(x), 0), np.int64))
            for chromosome, x in parts
        ]
        squares = [np.square(z).sum(axis=1) for z in rows]
        bounds = [chromosome.row_norm**2 for chromosome in self.genome.chromosomes]
        if self.genome.is_clipped_jointly:
            squares, bounds = [sum(squares)] * 2, [sum(bounds)] * 2
        factors = [np.sqrt(np.minimum(1, b / s)) for b, s in zip(bounds, squares, strict=True)]
        return [(Y * factor) @ z for factor, z in zip(factors, rows, strict=True)]

    def effects(self, path):
        """Return the arrays of a bundle, the MarginalEffects, and write the LD."""
        rows = pd.DataFrame({"row": np.arange(N_VARIANTS)})
        slopes, squares = np.full((2, N_PHENOTYPES), self.noise.slope)
        squares = self.noise.residual * slopes**2
        known = {"n_known": np.full(N_PHENOTYPES, float(N_PEOPLE)), "slopes": slopes}
        arrays = write_truncated_ld(path, self.stored, np.hstack(self.sums), rows, **known)
        arrays |= {"slopes": slopes, "squares": squares, "frequency": self.frequency}
        noise_sd = np.full(N_PHENOTYPES, self.noise_sd)
        return arrays, genome_effects(arrays, n=N_PEOPLE, noise_sd=noise_sd)

    def r2(self, weights):
        """Return the mean over phenotypes of R^2 of scores of test people, times h2."""
        scores = weights @ self.test.T
        return H2 * np.mean([np.corrcoef(s, g)[0, 1] ** 2 for s, g in zip(scores, self.genetic, strict=True)])

    def r2_of_fit(self):
        """Return that of the program's BLUP."""
        public = {"slope": self.noise.slope, "residual": self.noise.residual}
        seen = genome_entries(self.genome, self.sums, N_PEOPLE, noise_sd=self.noise_sd, **public)
        effects = blup_effects(seen, fit_variances(seen, heritability=H2))
        return self.r2(np.hstack(variant_weights(self.genome, effects)))


def _dosages(rng, n_people, frequency):
    """People whose neighbouring variants in a block are in LD."""
    alleles = np.zeros((n_people, len(frequency)), dtype=np.int64)
    for _ in range(2):
        uniform = rng.random(alleles.shape)
        for j in range(1, len(frequency)):
            if j % BLOCK:
                is_copied = rng.random(n_people) < 0.9
                uniform[is_copied, j] = uniform[is_copied, j - 1]
        alleles += uniform < frequency
    return alleles


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
    with pytest.raises(DpgrsError, match="must have equal shares for effects of single variants"):
        steered.effects(tmp_path / "ld.npz")
