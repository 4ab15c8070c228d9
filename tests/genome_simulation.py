"""A simulated cohort and panel of one population, and noisy sums along the panel's map."""

import numpy as np
import pandas as pd

from dpgrs.io.replicates import save_labelled
from dpgrs.linalg.genome_map import mapped_rows
from dpgrs.linalg.genome_prior import ReferenceChromosome, genome_map, genome_prior, steered_noise
from dpgrs.methods.genome_fit import blup_effects, fit_variances, genome_entries, variant_weights
from dpgrs.release.marginal_effects import genome_effects, write_truncated_ld
from dpgrs.study.genome_maps import stored_maps
from genome_studies import items_of_map

N_PANEL, N_PEOPLE, N_TEST = 1000, 2000, 1000
N_PHENOTYPES, N_BLOCKS, BLOCK, H2, MU = 40, 6, 40, 0.5, 0.3
N_VARIANTS = 2 * N_BLOCKS * BLOCK


class Simulation:
    """A cohort and a panel of one population, phenotypes, and sums along the panel's map."""

    def __init__(self, path, *, seed, is_equal=True, h2=H2):
        rng = np.random.default_rng(seed)
        self.population = frequency = rng.uniform(0.1, 0.9, size=N_VARIANTS)
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
        self.weights = weights = theta / self.deviations
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

    def gwas(self, n_people, *, seed, correlation=1.0):
        """Return effects of single variants per allele in other people, (n_phenotypes, n_variants).

        Their joint effects have the genetic correlation with those of the phenotypes.
        """
        rng = np.random.default_rng([seed, 1])
        other = rng.standard_normal(self.weights.shape) / np.sqrt(N_VARIANTS) / self.deviations
        weights = correlation * self.weights + np.sqrt(1 - correlation**2) * other
        X = _dosages(rng, n_people, self.population)
        X = X - X.mean(axis=0)
        values = weights @ X.T
        values *= np.sqrt(H2) / values.std(axis=1, keepdims=True)
        Y = values + np.sqrt(1 - H2) * rng.standard_normal(values.shape)
        return Y @ X / np.square(X).sum(axis=0)

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

    @property
    def entries(self):
        """The entries of all phenotypes."""
        public = {"slope": self.noise.slope, "residual": self.noise.residual}
        return genome_entries(self.genome, self.sums, N_PEOPLE, noise_sd=self.noise_sd, **public)

    def r2_of_fit(self):
        """Return that of the program's BLUP."""
        effects = blup_effects(self.entries, fit_variances(self.entries, heritability=H2))
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
