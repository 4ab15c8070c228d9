"""Scores of many variants, for files of a bundle."""

import numpy as np
import pandas as pd

from dpgrs.release.pgs_catalog import Constants, Scores
from release_data import make_terms

LENGTH = 240_000_000  # of each of 22 chromosomes


def many_scores(n_variants, n_outcomes=1):
    """Return scores with standard errors and public frequencies, of SNPs with rsIDs."""
    rng = np.random.default_rng(1)
    chromosome = np.arange(n_variants) * 22 // n_variants + 1
    letters, effect = np.array(list("ACGT"), dtype=object), rng.integers(0, 4, n_variants)
    other = (effect + rng.integers(1, 4, n_variants)) % 4
    position = [1 + rng.choice(LENGTH, n, replace=False) for n in np.bincount(chromosome)[1:]]
    sites = {
        "contig": chromosome.astype(str).astype(object),
        "position": np.concatenate(position),
        "ref": letters[other],
        "alt": letters[effect],
        "id": [f"rs{number}" for number in rng.integers(1, 10**9, n_variants)],
    }
    sizes = rng.choice([1.0, 0.1, 0.01], n_variants)
    weights = rng.normal(0, 1e-3, (n_outcomes, n_variants)) * sizes
    return Scores(
        outcomes=tuple(f"trait {number}" for number in range(n_outcomes)),
        sites=pd.DataFrame(sites),
        weights=weights,
        constants=Constants(np.zeros(n_outcomes)),
        genome_build="GRCh38",
        terms=make_terms(),
        source="release",
        standard_errors=np.abs(weights),
        frequency=rng.integers(50, 4950, n_variants) / 5008,
    )
