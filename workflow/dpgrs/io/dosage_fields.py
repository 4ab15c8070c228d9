"""Dosages of ALT from the fields of a record: DS, haplotype dosages (HDS), or probabilities (GP).

A person whose call has one allele, as a man's on X, has a dosage of one allele: it counts twice, as the call.
"""

import numpy as np

from dpgrs.io.chromosomes import everybody_has_two
from dpgrs.io.vcf.records import BadRecordError, sample_place

DS, HDS, GP = "DS", "HDS", "GP"
FIELDS = (DS, HDS, GP)  # of a person the first that is there counts
# By how much rounded probabilities may differ from 1 in sum.
LARGEST_REST = 0.05


def settled_copies(copies, contig, n_alts, counts):
    """Return how many alleles each person's call has: by GT, HDS, GP or the chromosome.

    Parameters
    ----------
    copies : (n_samples,) int, as GT has it, 0 where it does not say.
    contig : str
    n_alts : int
    counts : dict of field to (n_samples,) int, how many numbers HDS and GP have, 0 without any.

    Returns
    -------
    (n_samples,) int, 1 or 2; 0 where nothing says it.
    """
    found = copies.astype(np.int64)
    if HDS in counts:
        found = np.where(found == 0, np.minimum(counts[HDS], 2), found)
    if GP in counts:
        of_gp = np.where(counts[GP] == 0, 0, np.where(counts[GP] == n_alts + 1, 1, 2))
        found = np.where(found == 0, of_gp, found)
    return np.where((found == 0) & everybody_has_two(contig), 2, found)


def dosages_of(fields, counts, copies, contig, n_alts):
    """Return the dosages of one record, of each person by the first field that has any.

    Parameters
    ----------
    fields : dict of DS, HDS and GP, where there, to (n_samples, n_values) float64, NaN where missing.
    counts : dict of HDS and GP to (n_samples,) int, how many values there are.
    copies : (n_samples,) int, from `settled_copies`.
    contig : str
    n_alts : int

    Returns
    -------
    (n_alts, n_samples) float64, NaN where no field has any.

    Raises
    ------
    BadRecordError
    """
    dosages = np.full((n_alts, len(copies)), np.nan)
    if DS in fields:
        dosages = of_copies(fields[DS].T, copies, contig)
    for name, expected in ((HDS, of_haplotypes), (GP, of_probabilities)):
        if name in fields and np.isnan(dosages).any():
            values = expected(fields[name], counts[name], copies, n_alts)
            dosages = np.where(np.isnan(dosages), values, dosages)
    return dosages


def of_copies(values, copies, contig):
    """Return dosages of people, those of one allele doubled.

    Parameters
    ----------
    values : (n_alts, n_samples) float64, field DS, NaN where missing.
    copies : (n_samples,) int, from `settled_copies`.
    contig : str

    Raises
    ------
    BadRecordError
        A dosage beyond the number of copies, or of a person with one copy or two, nobody knows.
    """
    most = np.where(copies == 1, 1, 2)
    _refuse(
        (values < 0) | (values > 2),
        "the dosage of {} must be a number from 0 to 2. Mend the record.",
    )
    _refuse(
        values > most,
        "the dosage of {} must be a number from 0 to 1, as the call has one allele. Mend the record.",
    )
    _refuse(
        (copies == 0) & (values > 0),
        f"nothing says whether {{}} has one copy of chromosome {contig} or two, so how far the dosage goes. "
        "Give GT or HDS beside DS, or leave the chromosome out.",
    )
    return np.where(copies == 1, 2 * values, values)


def of_haplotypes(values, counts, copies, n_alts):
    """Return dosages as sums of haplotype dosages.

    Parameters
    ----------
    values : (n_samples, n_most) float64, field HDS, NaN where missing or left out.
    counts : (n_samples,) int, how many numbers there are.
    copies : (n_samples,) int, from `settled_copies`.
    n_alts : int

    Returns
    -------
    (n_alts, n_samples) float64, NaN where missing.

    Raises
    ------
    BadRecordError
        Another number of values than the call has alleles, one that is none from 0 to 1, or several ALTs.
    """
    if n_alts > 1 and counts.any():
        raise BadRecordError("`HDS` must be of one ALT, got several. Split the record: bcftools norm -m -")
    problem = "`HDS` of {} must have a number from 0 to 1 for each allele. Mend the record."
    _refuse(((values < 0) | (values > 1)).any(axis=1), problem)
    _refuse((counts > 0) & (counts != copies), problem)
    is_whole = (counts > 0) & (np.count_nonzero(~np.isnan(values), axis=1) == counts)
    return np.where(is_whole, np.nansum(values, axis=1) * 2 / np.maximum(counts, 1), np.nan)[np.newaxis]


def of_probabilities(values, counts, copies, n_alts):
    """Return expected copies by the probabilities of calls; for the parameters see `of_haplotypes`.

    Probabilities that are all 0 are missing.

    Raises
    ------
    BadRecordError
        Another number of values than there are calls, or values that do not add up to 1.
    """
    n_alleles = n_alts + 1
    pairs = [(one, two) for two in range(n_alleles) for one in range(two + 1)]
    n_calls = np.where(copies == 1, n_alleles, len(pairs))
    problem = "`GP` of {} must have a probability for each call, which add up to 1. Mend the record."
    _refuse((counts > 0) & (counts != n_calls), problem)
    total = np.nansum(values, axis=1)
    is_there = (counts > 0) & (np.count_nonzero(~np.isnan(values), axis=1) == counts) & (total > 0)
    _refuse((values < 0).any(axis=1) | (is_there & (np.abs(total - 1) > LARGEST_REST)), problem)
    padded = np.zeros((len(counts), len(pairs)))
    width = min(values.shape[1], len(pairs))  # an array of several records may be wider
    padded[:, :width] = np.nan_to_num(values[:, :width])
    of_two = np.array([[float(pair.count(k)) for pair in pairs] for k in range(1, n_alleles)]) @ padded.T
    dosages = np.where(copies == 1, 2 * padded[:, 1:n_alleles].T, of_two)
    return np.where(is_there, np.minimum(dosages, 2), np.nan)


def _refuse(is_bad, problem):
    """Raise for the first sample, by its place, of (..., n_samples) bool."""
    is_bad = np.atleast_2d(is_bad).any(axis=0)
    if is_bad.any():
        raise BadRecordError(problem.format(sample_place(int(is_bad.argmax()))))
