"""Dosages of the lines of one contig, a row for each ALT: of each sample from DS, HDS, GP or the call."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpgrs.genotypes.dosages import DTYPE, LARGEST_DOSAGE, STEPS_PER_ALLELE, dosage_steps
from dpgrs.io import _dosage_kernels as kernels
from dpgrs.io.chromosomes import everybody_has_two
from dpgrs.io.dosage_fields import (
    DS,
    FIELDS,
    GP,
    HDS,
    dosages_of,
    settled_copies,
)
from dpgrs.io.vcf.records import BadRecordError, Record, refuse_samples, sample_place
from dpgrs.io.vcf.scan import LineScanner, Rows, Site

_DECIMAL = re.compile(rb"(\d{1,30}\.?\d{0,30}|\.\d{1,30})([eE][+-]?\d{1,3})?")


class DosageScanner(LineScanner):
    """Reads the dosages of one contig, and counts; see `LineScanner`.

    A person without DS is read by HDS, else by GP, else by the call, which is counted: whether a record has a
    subfield may depend on somebody else, and a row must not.
    """

    def _new_rows(self, n_rows: int) -> "_DosageRows":
        return _DosageRows(n_rows, self._n_samples)

    def _scan(self, text: np.ndarray, start: int, stop: int, rows: Rows) -> int:
        """Pass over other contigs; lines of this one are taken one at a time."""
        return start if self._kernel.is_wanted else super()._scan(text, start, stop, rows)

    def _split(self, line: bytes) -> list[tuple[Site, np.ndarray, int]]:
        record = self._parse(line)
        keys = record.calls.partition(b"\t")[0].decode(errors="replace").split(":")
        fields = {name: keys.index(name) for name in ("GT", *FIELDS) if name in keys}
        usable = self._usable_alts(record, has_calls=not fields.keys().isdisjoint(FIELDS))
        if not usable:
            return []
        steps = self._steps(record, fields)
        if "GT" in fields and (steps == kernels.MISSING).any():
            is_missing = steps == kernels.MISSING
            self._fill_by_calls(steps, record)
            is_by_call = is_missing & (steps != kernels.MISSING)
            self.calls_as_dosages += int(is_by_call[[k - 1 for k in usable]].sum())
        site = (record.contig, record.position, record.id, record.ref)
        return [((*site, record.alts[k - 1]), steps[k - 1], k) for k in usable]

    def _steps(self, record: Record, fields: dict[str, int]) -> np.ndarray:
        """Return (n_alts, n_samples) dosages in whole steps, `kernels.MISSING` if no field has any.

        `fields` are the places of the subfields in FORMAT.
        """
        columns = record.calls.partition(b"\t")[2]
        text, n_alts = np.frombuffer(columns, dtype=np.uint8), len(record.alts)
        copies = np.zeros(self._n_samples, dtype=np.int8)
        steps = self._steps_of_ds(columns, text, fields[DS], n_alts) if DS in fields else None
        if "GT" in fields:
            kernels.count_alleles(text, fields["GT"], copies)
            refuse_samples(copies > 2, "has more than two alleles")
        elif everybody_has_two(record.contig):
            copies[:] = 2
        if DS in fields and (copies == 2).all() and (steps != kernels.MISSING).all():
            return steps
        widths = {DS: n_alts, HDS: 2, GP: (n_alts + 1) * (n_alts + 2) // 2}
        pairs = {
            name: _numbers(text, fields[name], name, widths[name], self._n_samples)
            for name in widths
            if name in fields
        }
        numbers, counts = ({name: pair[i] for name, pair in pairs.items()} for i in (0, 1))
        copies = settled_copies(copies, record.contig, n_alts, counts)
        values = dosages_of(numbers, counts, copies, record.contig, n_alts)
        by_fields = dosage_steps(np.nan_to_num(values)).astype(np.int32)
        by_fields[np.isnan(values)] = kernels.MISSING
        if steps is None:
            return by_fields
        # What the field DS has of two alleles is rounded by its decimals.
        return np.where((steps != kernels.MISSING) & (copies != 1), steps, by_fields)

    def _steps_of_ds(self, columns: bytes, text: np.ndarray, index: int, n_alts: int) -> np.ndarray:
        """Return (n_alts, n_samples) steps of DS as it is written."""
        if self._is_compiled:
            numbers, counts = np.empty((self._n_samples, n_alts)), np.empty(self._n_samples, dtype=np.int64)
            bad = kernels.read_numbers(text, index, numbers, counts)
            is_plain = bad == kernels.ALL_TAKEN and ((counts == 0) | (counts == n_alts)).all()
            if is_plain and not (numbers > 2).any():
                np.rint(np.multiply(numbers, STEPS_PER_ALLELE, out=numbers), out=numbers)
                numbers[np.isnan(numbers)] = kernels.MISSING
                return numbers.T.astype(np.int32)
        steps = np.empty((n_alts, self._n_samples), dtype=np.int32)
        for sample, fields in enumerate(columns.split(b"\t")):
            steps[:, sample] = _sample_steps(fields.split(b":"), index, sample, n_alts=n_alts)
        return steps

    def _fill_by_calls(self, steps: np.ndarray, record: Record) -> None:
        """Put whole dosages where they are missing and calls are not."""
        alleles, _ = self._alleles(record)
        for number, row in enumerate(steps, start=1):
            row[:] = np.where(row == kernels.MISSING, _steps_of_calls(alleles, number), row)


class _DosageRows(Rows):
    """Rows of a batch while it is filled: dosages, and the calls nearest to them."""

    def __init__(self, n_rows: int, n_samples: int) -> None:
        super().__init__(n_rows, n_samples)
        self.dosages = np.empty((n_rows, n_samples), dtype=DTYPE)

    def add(self, site: Site, steps: np.ndarray, number: int) -> None:
        """Add a row from dosages in whole steps."""
        planes = (self.dosages, self.haplotypes, self.missing)
        kernels.pack_dosages(steps, *(plane[self.n] for plane in planes))
        self.add_site(site)

    def batch(self) -> tuple[Any, ...]:
        """Return the columns, the planes and the dosages."""
        return *super().batch(), self.dosages[: self.n]


def _numbers(
    text: np.ndarray, index: int, name: str, n_most: int, n_samples: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the (n_samples, n_most) numbers of a field, NaN if missing, and how many each sample has."""
    numbers, counts = np.empty((n_samples, n_most)), np.empty(n_samples, dtype=np.int64)
    bad = kernels.read_numbers(text, index, numbers, counts)
    if bad != kernels.ALL_TAKEN:
        raise BadRecordError(
            f"`{name}` of {sample_place(bad)} must have numbers, at most {n_most}. Mend the record."
        )
    return numbers, counts


def _steps_of_calls(alleles: np.ndarray, number: int) -> np.ndarray:
    """Return (n_samples,) dosages of an allele in steps; missing if one of two alleles is."""
    pairs = alleles.reshape(-1, 2)
    steps = STEPS_PER_ALLELE * np.count_nonzero(pairs == number, axis=1)
    return np.where((pairs < 0).any(axis=1), kernels.MISSING, steps)


def _sample_steps(fields: Sequence[bytes], index: int, sample: int, *, n_alts: int) -> list[int] | int:
    """Return the dosages of one sample in steps, or refuse them."""
    if len(fields) <= index or fields[index] == b".":
        return kernels.MISSING
    dosages = fields[index].split(b",")
    if len(dosages) != n_alts:
        raise BadRecordError(
            f"the dosage of {sample_place(sample)} must have one number for each ALT, got {len(dosages)} "
            f"for {n_alts}. Mend the record."
        )
    return [_steps_of(dosage, sample) for dosage in dosages]


def _steps_of(dosage: bytes, sample: int) -> int:
    if dosage == b".":
        return kernels.MISSING
    steps = float(dosage) * STEPS_PER_ALLELE if _DECIMAL.fullmatch(dosage) else -1
    if not 0 <= steps <= LARGEST_DOSAGE:
        raise BadRecordError(
            f"the dosage of {sample_place(sample)} must be a number from 0 to 2. Mend the record."
        )
    return round(steps)
