"""Small cohorts whose outcomes hang on a few variants, for screening."""

from dataclasses import replace

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.selection.screening_data import ScreeningData
from random_cohorts import half_coded, random_alleles

N_VARIANTS, N_PEOPLE, NAMES = 8, 600, ("a", "b", "c")
# Each outcome hangs on two variants, on the first one more.
CAUSAL = ((1, 4), (6, 2), (7, 3))
HUGE = {"epsilon": 1e4, "delta": 1e-6}


def frequencies(*, n_people=N_PEOPLE):
    """Return (n_variants,) ALT frequencies of the cohort, a stand-in for public ones."""
    return random_alleles(N_VARIANTS, 2 * n_people).mean(axis=1)


def cohort(rows="people", *, n_people=N_PEOPLE, missing=0.0, noise=0.3):
    """Return the ScreeningData of three outcomes: four fifths of the people train, some have no outcome.

    Both haplotypes of a person are on the same side of the split.
    """
    alleles = random_alleles(N_VARIANTS, 2 * n_people)
    X = half_coded(alleles, rows=rows)[:, :-1]
    rng = np.random.default_rng(3)
    Y = np.array([[1.0, -0.6] @ X[:, list(pair)].T for pair in CAUSAL])
    Y = (Y - Y.mean(axis=1, keepdims=True)) / Y.std(axis=1, keepdims=True)
    Y = (Y + noise * rng.standard_normal(Y.shape)) / np.hypot(1, noise)
    per_person = len(X) // n_people
    is_training = np.repeat(rng.random(n_people) < 0.8, per_person)
    Y[:, ~is_training] = np.nan
    Y[rng.random(Y.shape) < missing] = np.nan
    return ScreeningData(pack(alleles), Y, is_training, 2 * n_people, rows)


def voting_cohort(rows):
    """Return 60 people of whom 36 train, with a name each and no outcome twice."""
    data = cohort(rows, n_people=60)
    per_person = len(data.is_training) // 60
    is_training = np.repeat(np.arange(60) % 5 < 3, per_person)
    Y = np.random.default_rng(4).standard_normal(data.Y.shape)
    return replace(data, Y=Y, is_training=is_training, sample_id=[f"P{i}" for i in range(60)])
