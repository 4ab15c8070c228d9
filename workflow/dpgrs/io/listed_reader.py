"""Genotypes from files that list their variants apart from calls: the list first, then calls by number."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import word_count
from dpgrs.genotypes.dosages import DTYPE, dosage_steps
from dpgrs.io.chromosomes import chromosome_name, is_chromosome, part_of_x
from dpgrs.io.listed_sites import rows_of_sites
from dpgrs.io.vcf.records import SET_REF, BadRecordError, require_distinct_alleles, usable_alts
from dpgrs.io.vcf.text import match_contig, record_error
from dpgrs.io.vcf.vcf import VariantBatch, VcfHeader, check_terms

# In the place of the second allele, where a call has one.
NO_ALLELE = -2
# Alleles and phase of one call, and of the calls that are in memory together: they take many times the room
# of the bits that they become.
_CALL_BYTES, _DOSAGE_BYTES, _BLOCK_BYTES = 9, 8, 2**24


# (n,) ascending numbers of records to (n, 2 n_samples) alleles, below 0 if missing, `NO_ALLELE` for the
# second of a call of one, and (n, n_samples) bool, whether the order of a call's alleles is known. The next
# call may overwrite both.
CallsOf = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
# (n,) numbers of records and of their alleles to (n, n_samples) dosages or copies, below 0 if missing.
DosagesOf = Callable[[np.ndarray, np.ndarray], np.ndarray]
# (n,) numbers of records and of their alleles, and (n, n_words) uint64 planes of ALT and of missing alleles,
# which are filled.
BitsOf = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]


class ListedVariants(Protocol):
    """The list of variants of one file, and functions that read their genotypes.

    A list may also have `counts`, which gives a function that reads int8 copies as `ListedReader.reader` has
    them, and `bits`, which gives a `BitsOf` that does what `calls` do if phase is not needed.
    """

    contigs: list[str]
    calls_as_dosages: int  # calls that were taken for dosages so far

    def records(self, contigs: list[str]) -> pd.DataFrame:
        """Return contig, position (int), id, ref, alt (separated by commas) and perhaps filter of records.

        The index is the number of the record.
        """

    def calls(self) -> CallsOf: ...

    def dosages(self) -> DosagesOf: ...


class ListedReader:
    """The variants of one contig, counted while they are read.

    Options and counters are those of `dpgrs.io.vcf.vcf.ContigReader`, but ``phased="any"`` takes the lower of
    two alleles without phase first, and `known_ref` refuses files in which REF of any variant is provisional.
    With public `sites` of the contig only their records are read, and each allele counts by its letters: the
    variants have REF and ALT of the sites, whichever allele of a record comes first. The contig is None if
    only `sites` and `reader` are used.
    """

    # The class of each format has these two functions.
    has_provisional_ref: Callable[[Path], bool]
    variants_of: Callable[[VcfHeader], ListedVariants]

    def __init__(
        self,
        header: VcfHeader,
        contig: str | None,
        *,
        phased: str = "required",
        keep_filtered: bool = False,
        known_ref: bool = False,
        field: str = "GT",
        keeps_symbols: bool = False,
        sites: pd.DataFrame | None = None,
    ) -> None:
        check_terms(phased, field)
        if known_ref and self.has_provisional_ref(header.path):
            raise DpgrsError(
                "reference-allele-unknown",
                f"`{header.path}` must have REF of the genome, which it does not say. {SET_REF}",
            )
        self._has_dosages = field == "DS"
        self._phase_required = phased == "required"
        self._header = header
        self._contig = contig
        self._keep_filtered = keep_filtered
        self._keeps_symbols = keeps_symbols
        self._sites = sites
        self._last_record = -1
        self._variants: Any = None  # ListedVariants, once they are needed
        self.n_records = 0
        self.skipped = Counter()
        self.missing_alleles = 0
        self.haploid_calls = 0

    @property
    def calls_as_dosages(self) -> int:
        return self._variants.calls_as_dosages if self._variants and self._has_dosages else 0

    def batches(self, n_variants: int) -> Iterator[VariantBatch]:
        """Yield batches of `n_variants`, the last of fewer, in file order.

        A damaged file, a contig that is not in the file, and a bad record raise a DpgrsError: with contig and
        position of the record and the place of the sample.
        """
        rows = self.rows
        if self._has_dosages:
            make_batch = partial(self._dosage_batch, read=self._variants.dosages())
        elif not self._phase_required and hasattr(self._variants, "bits"):
            make_batch = partial(self._bits_batch, pack=self._variants.bits())
        else:
            make_batch = partial(self._batch, read=self._variants.calls())
        for start in range(0, len(rows), n_variants):
            yield make_batch(rows.iloc[start : start + n_variants])

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The variants that `batches` reads, listed without their genotypes; columns as of `sites`."""
        variants = self._variants = self.variants_of(self._header)
        names = [name for name in variants.contigs if is_chromosome(name, self._contig)]
        # X may lie there in parts; another name twice, or none, is refused.
        plain = [name for name in names if part_of_x(name) is None]
        if len(plain) > 1 or not names:
            match_contig(self._header.path, self._contig, plain or variants.contigs)
        records = variants.records(names)
        self.n_records = len(records)
        if self._sites is None:
            return self._in_order(self._usable_rows(records))
        return self._in_order(rows_of_sites(records, self._sites))

    def sites(self, contigs: Collection[str]) -> pd.DataFrame:
        """Return a row for each ALT that can be used, in file order, on contigs named without ``chr``.

        Columns: record, contig, position, id, ref, allele (its number) and alt.
        """
        self._variants = self.variants_of(self._header)
        chromosomes = set(contigs)
        names = [name for name in self._variants.contigs if chromosome_name(name) in chromosomes]
        records = self._variants.records(names)
        self.n_records = len(records)
        return self._in_order(self._usable_rows(records))

    def _in_order(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return rows in order of position, also of the pseudoautosomal parts of X, which are own contigs."""
        chromosome_of = {name: chromosome_name(name) for name in rows["contig"].unique()}
        if len(set(chromosome_of.values())) == len(chromosome_of):
            return rows
        chromosome = pd.factorize(rows["contig"].map(chromosome_of))[0]
        order = np.lexsort((rows["record"], rows["position"], chromosome))
        return rows.iloc[order].reset_index(drop=True)

    def reader(self) -> DosagesOf:
        """Return a function from records and numbers of their alleles, (n,) each, as of `sites`, to calls.

        Calls are (n, n_samples) int8 copies of ALT, or -1 and -2 if one of two alleles is missing and the
        other is REF or ALT, and further below 0 if both are. ``DS`` gives dosages, below 0 if missing.
        """
        if self._has_dosages:
            return self._variants.dosages()
        if hasattr(self._variants, "counts"):
            return self._variants.counts()
        from dpgrs.io._call_kernels import calls_of_bits

        read_calls = self._variants.calls()

        def read(records: np.ndarray, alleles: np.ndarray) -> np.ndarray:
            numbers, inverse = np.unique(records, return_inverse=True)
            record_alleles, is_phased = read_calls(numbers)
            planes = self._empty_planes(len(records))
            self._pack(record_alleles, is_phased, inverse, alleles, planes)
            calls = np.empty((len(records), len(self._header.samples)), dtype=np.int8)
            calls_of_bits(*planes, np.arange(len(records)), calls)
            return calls

        return read

    def steps(self, dosages: np.ndarray, missing: int) -> np.ndarray:
        """Return dosages on the public grid, (n, n_samples) uint16, `missing` if they are missing."""
        is_missing = dosages < 0
        steps = dosage_steps(np.where(is_missing, 0, dosages))
        return np.where(is_missing, DTYPE(missing), steps)

    def _usable_rows(self, records: pd.DataFrame) -> pd.DataFrame:
        """Return a row for each ALT that can be used: record, allele number and the columns of a variant."""
        if "filter" in records and not self._keep_filtered:
            is_passed = records["filter"].isin(["PASS", "."])
            if not is_passed.all():
                self.skipped["filtered"] += int((~is_passed).sum())
            records = records[is_passed]
        # Each pair of REF and ALTs is checked once: there are few beside the records.
        pair = records.groupby(["ref", "alt"], sort=False).ngroup().to_numpy()
        first, n_records = np.unique(pair, return_index=True, return_counts=True)[1:]
        pairs = records[["ref", "alt"]].iloc[first].itertuples(index=False)
        usable = [
            self._usable_alts(ref, alts.split(","), records.iloc[record], n_records=int(count))
            for (ref, alts), record, count in zip(pairs, first, n_records, strict=True)
        ]
        record, choice = _expand(pair, np.array([len(alts) for alts in usable], dtype=np.int64))
        rows = records.take(record)[["contig", "position", "id", "ref"]]
        alleles = pd.DataFrame([alt for alts in usable for alt in alts], columns=["allele", "alt"])
        rows[["allele", "alt"]] = alleles.take(choice).set_index(rows.index)
        return rows.rename_axis("record").reset_index()

    def _usable_alts(
        self, ref: str, alts: list[str], record: pd.Series, *, n_records: int
    ) -> list[tuple[int, str]]:
        """Return (allele number, allele) of the ALTs to keep, and count the others by reason."""
        try:
            # PLINK 1 writes 0 for an allele that nobody carries.
            named = ["." if alt == "0" else alt for alt in alts]
            usable, reasons = usable_alts(ref, named, keeps_symbols=self._keeps_symbols)
            require_distinct_alleles(ref, alts)
        except BadRecordError as problem:
            raise self._error(record["contig"], record["position"], problem) from None
        for reason in reasons:
            self.skipped[reason] += n_records
        return [(number, alts[number - 1]) for number in usable]

    def _bits_batch(self, rows: pd.DataFrame, pack: BitsOf) -> VariantBatch:
        planes = self._empty_planes(len(rows))
        pack(rows["record"].to_numpy(), rows["allele"].to_numpy(), *planes)
        return self._counted(rows, *planes)

    def _batch(self, rows: pd.DataFrame, read: CallsOf) -> VariantBatch:
        planes, n_samples = self._empty_planes(len(rows)), len(self._header.samples)
        row_records, numbers = rows["record"].to_numpy(), rows["allele"].to_numpy()
        step = max(_BLOCK_BYTES // (_CALL_BYTES * n_samples), 1)
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            records, inverse = np.unique(row_records[block], return_inverse=True)
            alleles, is_phased = read(records)
            assert alleles.shape == (len(records), 2 * n_samples)
            # Other ALTs of the first record may have ended the rows before.
            counted = int(inverse[0]) if row_records[start] == self._last_record else -1
            self._last_record = row_records[block][-1]
            row, sample = self._pack(
                alleles, is_phased, inverse, numbers[block], planes[:, block], counted=counted
            )
            if row >= 0:
                site = rows.iloc[start + row]
                problem = (
                    f"the call of sample {sample + 1} is heterozygous and unphased. "
                    "Phase the file, or use people as rows (`rows: people`)."
                )
                raise self._error(site["contig"], site["position"], problem)
        return self._counted(rows, *planes)

    def _empty_planes(self, n_rows: int) -> np.ndarray:
        return np.empty((2, n_rows, word_count(2 * len(self._header.samples))), dtype=np.uint64)

    def _pack(
        self,
        alleles: np.ndarray,
        is_phased: np.ndarray,
        record: np.ndarray,
        numbers: np.ndarray,
        planes: np.ndarray,
        *,
        counted: int = -1,
    ) -> tuple[int, int]:
        """Fill (2, n_rows, n_words) bits of ALT and of missing alleles; return row and sample without phase.

        `record` is the row of `alleles` of each row, `numbers` its allele.
        """
        from dpgrs.io._listed_kernels import pack_calls  # brings numba, which takes 0.3 s

        row, sample, n_haploid = pack_calls(
            alleles, is_phased, record, numbers, counted, self._phase_required, *planes
        )
        self.haploid_calls += n_haploid
        return row, sample

    def _dosage_batch(self, rows: pd.DataFrame, read: DosagesOf) -> VariantBatch:
        from dpgrs.io._listed_kernels import pack_dosages  # brings numba, which takes 0.3 s

        records, alleles = rows["record"].to_numpy(), rows["allele"].to_numpy()
        steps = np.empty((len(rows), len(self._header.samples)), dtype=DTYPE)
        haplotypes, missing = self._empty_planes(len(rows))
        step = max(_BLOCK_BYTES // (_DOSAGE_BYTES * steps.shape[1]), 1)
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            dosages = read(records[block], alleles[block])
            pack_dosages(dosages, steps[block], haplotypes[block], missing[block])
        return self._counted(rows, haplotypes, missing, steps)

    def _counted(
        self,
        rows: pd.DataFrame,
        haplotypes: np.ndarray,
        missing: np.ndarray,
        dosages: np.ndarray | None = None,
    ) -> VariantBatch:
        self.missing_alleles += int(np.bitwise_count(missing).sum())
        columns = {name: rows[name].tolist() for name in ("contig", "position", "id", "ref", "alt")}
        return VariantBatch(columns, haplotypes, missing, dosages)

    def _error(self, contig: str, position: int, problem: object) -> DpgrsError:
        return record_error(self._header.path, None, f"{contig}\t{position}".encode(), problem)


def _expand(kind: np.ndarray, n_kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the record of every ALT that is kept, and its number among the ALTs of all kinds.

    `kind` is the kind of each record, `n_kept` the number of ALTs that a record of each kind keeps.

    Examples
    --------
    >>> [numbers.tolist() for numbers in _expand(np.array([0, 1, 0]), np.array([1, 2]))]
    [[0, 1, 1, 2], [0, 1, 2, 0]]
    """
    record = np.repeat(np.arange(len(kind)), n_kept[kind])
    begin = (np.cumsum(n_kept) - n_kept)[kind[record]]
    ends = np.cumsum(n_kept[kind])
    return record, begin + np.arange(len(record)) - (ends - n_kept[kind])[record]
