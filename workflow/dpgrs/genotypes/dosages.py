"""Fractional dosages of ALT on a public grid: whole steps of 2^-12, from 0 to 2 alleles a person."""

import numpy as np

from dpgrs.genotypes.bits import pack, unpack

STEPS_PER_ALLELE = 2**12
DOSAGE_STEP = 1 / STEPS_PER_ALLELE
LARGEST_DOSAGE = 2 * STEPS_PER_ALLELE  # in steps
DTYPE = np.uint16


def dosage_steps(values: np.ndarray) -> np.ndarray:
    """Return dosages from 0 to 2, none missing, rounded to uint16 in units of `DOSAGE_STEP`."""
    return np.rint(np.asarray(values, dtype=np.float64) * STEPS_PER_ALLELE).astype(DTYPE)


def hard_calls(steps: np.ndarray) -> np.ndarray:
    """Return the calls nearest to (..., n_people) dosages in steps, (..., 2 n_people) uint8 alleles.

    Halfway, the larger number of ALT alleles is taken. A heterozygote, whose phase nobody knows, has its ALT
    second.

    Examples
    --------
    >>> hard_calls(np.array([[100, 4096, 8000]], dtype=np.uint16)).tolist()
    [[0, 0, 0, 1, 1, 1]]
    """
    half = STEPS_PER_ALLELE // 2
    alleles = np.stack([steps >= 3 * half, steps >= half], axis=-1)
    return alleles.reshape(*np.shape(steps)[:-1], -1).astype(np.uint8)


def nearest_planes(steps: np.ndarray, is_missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest calls and the missing alleles as planes, (..., word_count(2 n_people)) uint64.

    Both arguments are (..., n_people). A haplotype is 0 if it is missing.
    """
    is_missing = np.repeat(is_missing, 2, axis=-1)
    return pack(hard_calls(steps) * ~is_missing), pack(is_missing)


def fill_dosages(steps: np.ndarray, is_missing: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    """Fill missing (n_variants, n_people) dosages by a public (n_variants,) frequency: two mean alleles."""
    return np.where(is_missing, dosage_steps(2 * frequency)[:, np.newaxis], steps)


def half_coded(steps: np.ndarray) -> np.ndarray:
    """Return dosages in `half` coding, dosage - 1, as int16 in units of `DOSAGE_STEP`."""
    return steps.astype(np.int16) - np.int16(STEPS_PER_ALLELE)


def missing_people(missing: np.ndarray, *, n_samples: int) -> np.ndarray:
    """Return whose dosages are missing: (n_variants, n_samples) bool."""
    return unpack(missing, 2 * n_samples)[:, ::2].astype(bool)
