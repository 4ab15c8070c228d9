"""Dosages of ALT from the fields of a record: DS, haplotype dosages (HDS), or probabilities (GP).

A person whose call has one allele, as a man's on X, has a dosage of one allele: it counts twice, as the call.
"""

from collections.abc import Mapping

import numpy as np

from dpgrs.io.chromosomes import everybody_has_two
from dpgrs.io.vcf.records import BadRecordError, sample_place

DS, HDS, GP = "DS", "HDS", "GP"
FIELDS = (DS, HDS, GP)  # of a person the first that is there counts
# By how much rounded probabilities may differ from 1 in sum.
LARGEST_REST = 0.05


def settled_copies(
    copies: np.ndarray, contig: str, n_alts: int, counts: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return the number of alleles of each person's call, (n_samples,) int, by GT, HDS, GP or the chromosome.

    `copies` are those of GT, 0 if it does not say; `counts` are the numbers that HDS and GP have. The result
    is 1 or 2, or 0 if nothing says it.
    """
    settled = copies.astype(np.int64)
    if HDS in counts:
        settled = np.where(settled == 0, np.minimum(counts[HDS], 2), settled)
    if GP in counts:
        of_gp = np.where(counts[GP] == 0, 0, np.where(counts[GP] == n_alts + 1, 1, 2))
        settled = np.where(settled == 0, of_gp, settled)
    return np.where((settled == 0) & everybody_has_two(contig), 2, settled)


def dosages_of(
    fields: Mapping[str, np.ndarray],
    counts: Mapping[str, np.ndarray],
    copies: np.ndarray,
    contig: str,
    n_alts: int,
) -> np.ndarray:
    """Return the dosages of one record, (n_alts, n_samples) float64, of each person by the first field with
    any.

    `fields` are DS, HDS and GP, if present, as (n_samples, n_values) float64, NaN if missing; `counts` the
    numbers of values of HDS and GP; `copies` come from `settled_copies`. A dosage is NaN if no field has any.
    """
    dosages = np.full((n_alts, len(copies)), np.nan)
    if DS in fields:
        dosages = of_copies(fields[DS].T, copies, contig)
    for name, expected in ((HDS, of_haplotypes), (GP, of_probabilities)):
        if name in fields and np.isnan(dosages).any():
            values = expected(fields[name], counts[name], copies, n_alts)
            dosages = np.where(np.isnan(dosages), values, dosages)
    return dosages


def of_copies(values: np.ndarray, copies: np.ndarray, contig: str) -> np.ndarray:
    """Return (n_alts, n_samples) dosages of people from field DS, doubled for calls of one allele.

    A dosage beyond the number of copies, or of a person with an unknown number, raises a BadRecordError.
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


def of_haplotypes(values: np.ndarray, counts: np.ndarray, copies: np.ndarray, n_alts: int) -> np.ndarray:
    """Return dosages, (n_alts, n_samples) float64, NaN if missing, as sums of haplotype dosages.

    `values` are field HDS, (n_samples, n_most), NaN if missing or left out. Another number of values than the
    call has alleles, a value not from 0 to 1, and several ALTs raise a BadRecordError.
    """
    if n_alts > 1 and counts.any():
        raise BadRecordError("`HDS` must be of one ALT, got several. Split the record: bcftools norm -m -")
    problem = "`HDS` of {} must have a number from 0 to 1 for each allele. Mend the record."
    _refuse(((values < 0) | (values > 1)).any(axis=1), problem)
    _refuse((counts > 0) & (counts != copies), problem)
    is_whole = (counts > 0) & (np.count_nonzero(~np.isnan(values), axis=1) == counts)
    return np.where(is_whole, np.nansum(values, axis=1) * 2 / np.maximum(counts, 1), np.nan)[np.newaxis]


def of_probabilities(values: np.ndarray, counts: np.ndarray, copies: np.ndarray, n_alts: int) -> np.ndarray:
    """Return expected copies by the probabilities of calls, field GP, as `of_haplotypes` does.

    Probabilities that are all 0 are missing. Another number of values than there are calls, and values that
    do not add up to 1, raise a BadRecordError.
    """
    n_alleles = n_alts + 1
    pairs = [(first, second) for second in range(n_alleles) for first in range(second + 1)]
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


def _refuse(is_bad: np.ndarray, problem: str) -> None:
    """Raise for the first bad sample, by its place, of (..., n_samples) bool."""
    is_bad = np.atleast_2d(is_bad).any(axis=0)
    if is_bad.any():
        raise BadRecordError(problem.format(sample_place(int(is_bad.argmax()))))
