"""Fractional dosages of ALT on a public grid: whole steps of 2^-12, from 0 to 2 alleles a person."""

import numpy as np

from dpgrs.genotypes.bits import pack

STEPS_PER_ALLELE = 2**12
DOSAGE_STEP = 1 / STEPS_PER_ALLELE
LARGEST_DOSAGE = 2 * STEPS_PER_ALLELE  # in steps
DTYPE = np.uint16


def dosage_steps(values):
    """Round dosages to the nearest step.

    Parameters
    ----------
    values : float array of dosages from 0 to 2, none missing.

    Returns
    -------
    uint16 array of the same shape, in units of `DOSAGE_STEP`.
    """
    return np.rint(np.asarray(values, dtype=np.float64) * STEPS_PER_ALLELE).astype(DTYPE)


def hard_calls(steps):
    """Round dosages to calls: the nearest whole number of ALT alleles, the larger one halfway.

    Parameters
    ----------
    steps : (..., n_people) unsigned, in units of `DOSAGE_STEP`.

    Returns
    -------
    (..., 2 n_people) uint8 alleles; a heterozygote, whose phase nobody knows, has its ALT second.

    Examples
    --------
    >>> hard_calls(np.array([[100, 4096, 8000]], dtype=np.uint16)).tolist()
    [[0, 0, 0, 1, 1, 1]]
    """
    half = STEPS_PER_ALLELE // 2
    alleles = np.stack([steps >= 3 * half, steps >= half], axis=-1)
    return alleles.reshape(*np.shape(steps)[:-1], -1).astype(np.uint8)


def nearest_planes(steps, is_missing):
    """Return the calls nearest to dosages as bits, and where they are missing, as of calls.

    Parameters
    ----------
    steps : (..., n_people) uint16
    is_missing : (..., n_people) bool

    Returns
    -------
    haplotypes, missing : (..., word_count(2 n_people)) uint64, a haplotype is 0 where it is missing.
    """
    is_missing = np.repeat(is_missing, 2, axis=-1)
    return pack(hard_calls(steps) * ~is_missing), pack(is_missing)


def fill_dosages(steps, is_missing, frequency):
    """Fill missing dosages with what a public frequency makes likely: two alleles of the mean.

    Parameters
    ----------
    steps : (n_variants, n_people) uint16
    is_missing : (n_variants, n_people) bool
    frequency : (n_variants,) ALT allele frequencies.

    Returns
    -------
    (n_variants, n_people) uint16
    """
    return np.where(is_missing, dosage_steps(2 * frequency)[:, np.newaxis], steps)


def half_coded(steps):
    """Return dosages in `half` coding, dosage - 1, as int16 in units of `DOSAGE_STEP`."""
    return steps.astype(np.int16) - np.int16(STEPS_PER_ALLELE)
