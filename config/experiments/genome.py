"""R^2 of private scores of a simulated whole genome, as one table.

A twentieth of a genome and of a biobank stand for the whole: accuracy depends on their ratio. Chromosomes are
simulated once, and each release is measured once.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.linalg.genome_prior import genome_map, steered_noise
from dpgrs.privacy.accounting.accountant import gdp_mu
from dpgrs.public_random import generator
from dpgrs_papers.experiments.genome_cohort import LENGTH, simulate_chromosome, write_chromosome
from dpgrs_papers.experiments.genome_study import (
    Architecture,
    GenomeCohort,
    accuracies,
    exact_sums,
    scores_of,
    simulate_phenotypes,
)

FOLDER = Path("results", "genome")
DELTA = 1e-6
# Shares of causal variants, and whether the study has their genotypes.
ARCHITECTURES = [Architecture(share, is_typed) for is_typed in (True, False) for share in (0.01, 0.1, 1.0)]
# Without privacy: neither rows nor phenotypes are clipped, and all directions have a share.
EXACT, NO_NOISE, NO_CLIP = float("inf"), 1e9, 100.0
TERMS = ["epsilon", "n_phenotypes", "causal_share", "is_typed", "replicate"]


def simulated(given):
    """Return the cohort, with fewer training people in proportion where it has fewer chromosomes.

    Chromosomes that are there are not simulated again.
    """
    sizes = {"n_train": given.train, "n_panel": given.panel, "n_test": given.test}
    files = []
    for number in range(1, given.only + 1):
        files.append(given.folder / "cohort" / f"{number}.npz")
        if not files[-1].exists():
            started = time.monotonic()
            chromosome = simulate_chromosome(number, seed=given.seed, length=given.length, **sizes)
            write_chromosome(files[-1], chromosome)
            print(f"chromosome {number}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    n_train = round(given.train * given.only / given.chromosomes)
    sizes["n_simulated"] = sizes.pop("n_train")
    return GenomeCohort(tuple(files), n_train=n_train, **sizes)


def noise_of(cohort, epsilon, n_phenotypes):
    """Return the SteeredNoise of a release, and the standard deviation of its noise."""
    if epsilon == EXACT:
        return steered_noise(cohort.prior.spectrum, cohort.n_train, mu=NO_NOISE, clip=NO_CLIP), 0.0
    mu = gdp_mu(epsilon, DELTA)
    noise = steered_noise(cohort.prior.spectrum, cohort.n_train, mu=mu, n_phenotypes=n_phenotypes)
    return noise, noise.clip / mu


def measured(cohort, phenotypes, *, epsilon, n_phenotypes, seed):
    """Yield a row for each score of the releases at an epsilon."""
    noise, noise_sd = noise_of(cohort, epsilon, n_phenotypes)
    genome = genome_map(cohort.prior, noise, cohort.reference)
    if epsilon == EXACT:
        genome = replace(genome, attenuations=np.ones_like(genome.attenuations))
    releases = [
        (place, range(first, first + n_phenotypes))
        for place in range(len(ARCHITECTURES))
        for first in range(0, len(phenotypes[0]), n_phenotypes)
    ]
    Y = [phenotypes[place][replicate].of_train for place, replicates in releases for replicate in replicates]
    Y = np.stack(Y).reshape(len(releases), n_phenotypes, -1)
    Y = Y * np.minimum(1, noise.clip / np.linalg.norm(Y, axis=1, keepdims=True))
    sums = exact_sums(cohort, genome, Y.reshape(-1, cohort.n_train), is_clipped=epsilon != EXACT)
    for number, (place, replicates) in enumerate(releases):
        architecture, rows = ARCHITECTURES[place], slice(number * n_phenotypes, (number + 1) * n_phenotypes)
        rng = generator(seed, "genome noise", epsilon, n_phenotypes, *architecture, replicates.start)
        noisy = [S[rows] + noise_sd * rng.standard_normal((n_phenotypes, S.shape[1])) for S in sums]
        genetic = np.stack([phenotypes[place][replicate].genetic_of_test for replicate in replicates])
        for scores in scores_of(cohort, genome, noise, noisy, noise_sd=noise_sd):
            weights = [np.stack(parts) for parts in zip(*(score.weights for score in scores), strict=True)]
            results = accuracies(cohort, weights, genetic)
            for replicate, score, accuracy in zip(replicates, scores, results, strict=True):
                yield {
                    **dict(zip(TERMS, (epsilon, n_phenotypes, *architecture, replicate), strict=True)),
                    "fit": score.fit,
                    **accuracy._asdict(),
                    "planned_r2": noise.expected_r2,
                    "heritability": score.heritability,
                    "mixture_share": score.mixture_share,
                    "scale": score.scale,
                }


def in_markdown(table):
    """Return mean R^2 and slopes over replicates, as lines."""
    means = table.groupby(["n_phenotypes", "is_typed", "epsilon", "causal_share", "fit"])
    means = means[["r2", "slope", "planned_r2"]].mean().reset_index()
    lines = ["| phenotypes | typed | epsilon | causal | fit | R^2 | slope | planned |", "|" + " --- |" * 8]
    for row in means.itertuples(index=False):
        lines.append(
            f"| {row.n_phenotypes} | {row.is_typed} | {row.epsilon:g} | {row.causal_share:g} | {row.fit} | "
            f"{row.r2:.3f} | {row.slope:.3f} | {row.planned_r2:.3f} |"
        )
    return lines


def main(arguments=None):
    """Simulate, measure what is not measured yet, and print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 3.0, 10.0, EXACT])
    parser.add_argument("--phenotypes", type=int, nargs="+", default=[1], help="in one release")
    parser.add_argument("--replicates", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chromosomes", type=int, default=15)
    parser.add_argument("--only", type=int, help="measure the first of them, on people in proportion")
    parser.add_argument("--length", type=int, default=LENGTH, help="of a chromosome, in base pairs")
    for name, size in (("train", 20_000), ("panel", 2_000), ("test", 2_800)):
        parser.add_argument(f"--{name}", type=int, default=size, help="people")
    given = parser.parse_args(arguments)
    given.only = given.only or given.chromosomes
    cohort, parts = simulated(given), []
    for n_phenotypes in given.phenotypes:
        n_replicates = n_phenotypes * -(-given.replicates // n_phenotypes)
        phenotypes = None
        for epsilon in given.epsilon:
            path = given.folder / f"chromosomes{given.only}-epsilon{epsilon:g}-phenotypes{n_phenotypes}.tsv"
            if not path.exists():
                if phenotypes is None:
                    sizes = {"seed": given.seed, "n_replicates": n_replicates}
                    phenotypes = simulate_phenotypes(cohort, ARCHITECTURES, **sizes)
                sizes = {"epsilon": epsilon, "n_phenotypes": n_phenotypes, "seed": given.seed}
                pd.DataFrame(measured(cohort, phenotypes, **sizes)).to_csv(path, sep="\t", index=False)
            parts.append(pd.read_csv(path, sep="\t"))
    table = pd.concat(parts, ignore_index=True)
    table.to_csv(given.folder / "table.tsv", sep="\t", index=False)
    print(*in_markdown(table), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
