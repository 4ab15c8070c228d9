"""Dosages of the lines of one contig, one row per ALT allele: the subfield DS of every sample."""

import re

import numpy as np

from dpgrs.genotypes.dosages import DTYPE, LARGEST_DOSAGE, STEPS_PER_ALLELE
from dpgrs.io import _dosage_kernels as kernels
from dpgrs.io.vcf.records import BadRecordError, sample_place
from dpgrs.io.vcf.scan import LineScanner, Rows

FIELD = b"DS"

_DECIMAL = re.compile(rb"(\d{1,30}\.?\d{0,30}|\.\d{1,30})([eE][+-]?\d{1,3})?")


class DosageScanner(LineScanner):
    """Reads the dosages of one contig, and counts; see `LineScanner` for parameters and attributes.

    A person without a dosage is taken by the call, as plink2 does: whether a record has the subfield may hang
    on somebody else, and a row must not.
    """

    def _new_rows(self, n_rows):
        return _DosageRows(n_rows, self._n_samples)

    def _scan(self, text, start, stop, rows):
        """Pass over other contigs; lines of this one are taken one at a time."""
        return start if self._kernel.is_wanted else super()._scan(text, start, stop, rows)

    def _split(self, line):
        record = self._parse(line)
        keys = record.calls.partition(b"\t")[0].split(b":")
        if FIELD not in keys:
            return [(site, _steps_of_calls(alleles, k), k) for site, alleles, k in super()._split(line)]
        kept = self._usable_alts(record, has_calls=True)
        if not kept:
            return []
        steps = self._steps(record)
        if b"GT" in keys and (steps == kernels.MISSING).any():
            self._fill_by_calls(steps, record)
        site = (record.contig, record.position, record.id, record.ref)
        return [((*site, record.alts[k - 1]), steps[k - 1], k) for k in kept]

    def _steps(self, record):
        """Return (n_alts, n_samples) dosages in whole steps, `kernels.MISSING` where missing."""
        format_, _, columns = record.calls.partition(b"\t")
        place = format_.split(b":").index(FIELD)
        steps = np.empty((len(record.alts), self._n_samples), dtype=np.int32)
        is_taken = self._is_compiled and (
            kernels.decode_dosages(np.frombuffer(columns, dtype=np.uint8), place, steps) == kernels.ALL_TAKEN
        )
        if not is_taken:
            for sample, fields in enumerate(columns.split(b"\t")):
                steps[:, sample] = _sample_steps(fields.split(b":"), place, sample, n_alts=len(record.alts))
        return steps

    def _fill_by_calls(self, steps, record):
        """Put whole dosages where they are missing and calls are not."""
        alleles, _ = self._alleles(record)
        for number, row in enumerate(steps, start=1):
            row[:] = np.where(row == kernels.MISSING, _steps_of_calls(alleles, number), row)


class _DosageRows(Rows):
    """Rows of a batch while it is filled: dosages, and the calls nearest to them."""

    def __init__(self, n_rows, n_samples):
        super().__init__(n_rows, n_samples)
        self.dosages = np.empty((n_rows, n_samples), dtype=DTYPE)

    def add(self, site, steps, number):
        """Add a row from dosages in whole steps."""
        planes = (self.dosages, self.haplotypes, self.missing)
        kernels.pack_dosages(steps, *(plane[self.n] for plane in planes))
        self.add_site(site)

    def batch(self):
        return *super().batch(), self.dosages[: self.n]


def _steps_of_calls(alleles, number):
    """Return (n_samples,) dosages of an allele; missing where one of two alleles is."""
    pairs = alleles.reshape(-1, 2)
    steps = STEPS_PER_ALLELE * np.count_nonzero(pairs == number, axis=1)
    return np.where((pairs < 0).any(axis=1), kernels.MISSING, steps)


def _sample_steps(fields, place, sample, *, n_alts):
    """Return the dosages of one sample, or say what is wrong with them."""
    if len(fields) <= place or fields[place] == b".":
        return kernels.MISSING
    values = fields[place].split(b",")
    if len(values) != n_alts:
        raise BadRecordError(
            f"the dosage of {sample_place(sample)} must have one number for each ALT, got {len(values)} "
            f"for {n_alts}. Mend the record."
        )
    return [_steps_of(value, sample) for value in values]


def _steps_of(value, sample):
    if value == b".":
        return kernels.MISSING
    steps = float(value) * STEPS_PER_ALLELE if _DECIMAL.fullmatch(value) else -1
    if not 0 <= steps <= LARGEST_DOSAGE:
        raise BadRecordError(
            f"the dosage of {sample_place(sample)} must be a number from 0 to 2. Mend the record."
        )
    return round(steps)
