"""The lines of one contig as packed rows, one per ALT allele.

Compiled code takes lines of the common form; every other line is taken here, one at a time.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpgrs.genotypes.bits import WORD_BITS, word_count
from dpgrs.genotypes.compiled import numba
from dpgrs.io.vcf import _kernels as kernels
from dpgrs.io.vcf.records import (
    N_FIXED_COLUMNS,
    SET_REF,
    BadRecordError,
    CallDecoder,
    Record,
    parse_record,
    usable_alts,
)
from dpgrs.io.vcf.text import COPY_AGAIN, HEADER_AGAIN, LineSource

# FORMAT as most files have it. htslib checks any other.
_FORMAT = re.compile(rb"GT(:[A-Za-z_][0-9A-Za-z_.]*)*")

Site = tuple[str, int, str, str, str]  # contig, position (1-based), id, ref, alt


class LineScanner:
    """Reads the lines of one contig, and counts the lines of the last `rows`.

    Options and counters are those of `dpgrs.io.vcf.vcf.ContigReader`.
    """

    def __init__(
        self,
        text: LineSource,
        *,
        n_samples: int,
        is_phase_required: bool,
        is_filter_kept: bool,
        is_compiled: bool,
        is_known_ref: bool = False,
        keeps_symbols: bool = False,
    ) -> None:
        self._text = text
        self._n_samples = n_samples
        self._is_filter_kept = is_filter_kept
        self._is_compiled = is_compiled
        self._is_known_ref = is_known_ref
        self._keeps_symbols = keeps_symbols
        self._kernel = _Kernel(
            n_samples,
            is_phase_required=is_phase_required,
            is_filter_kept=is_filter_kept,
            is_known_ref=is_known_ref,
        )
        self._new_decoder = lambda: CallDecoder(n_samples, is_phase_required=is_phase_required)
        self._decoder: CallDecoder | None = None  # of htslib; most files do not need it
        self._begin()

    def _begin(self) -> None:
        self._names = {}
        self._line = 0
        self._is_over = False
        self.n_records = 0
        self.skipped = Counter()
        self.haploid_calls = 0
        self.calls_as_dosages = 0

    def rows(self, n_rows: int, **options: Any) -> Iterator[tuple[Any, ...]]:
        """Yield (columns, haplotypes, missing), each of `n_rows` variants but the last, in file order.

        The columns are lists (contig, position, id, ref, alt), the others planes as in `VariantBatch`; a
        `DosageScanner` adds dosages. Options are those of `dpgrs.io.vcf.blocks.line_blocks`.
        """
        self._begin()
        rows = self._new_rows(n_rows)
        for text, start, stop in self._text.blocks(**options):
            while start < stop and not self._is_over:
                if self._is_compiled and numba:
                    start = self._scan(text, start, stop, rows)
                if rows.is_full:
                    yield rows.batch()
                    rows = self._new_rows(n_rows)
                elif start < stop:
                    end = kernels.line_end(text, start, stop)
                    for row in self._odd_line(text[start:end].tobytes().rstrip(b"\r\n")):
                        rows.add(*row)
                        if rows.is_full:
                            yield rows.batch()
                            rows = self._new_rows(n_rows)
                    start = end + 1
            if self._is_over:
                break
        self._text.require_complete(self._names, self.n_records)
        if rows.n:
            yield rows.batch()

    def _new_rows(self, n_rows: int) -> "Rows":
        return Rows(n_rows, self._n_samples)

    def _scan(self, text: np.ndarray, start: int, stop: int, rows: "Rows") -> int:
        """Take the lines that compiled code can take; return where the first other line begins."""
        start, n, n_lines, n_haploid = self._kernel.scan(text, start, stop, rows)
        if n_lines:
            self._names[self._kernel.contig] = None
        self.n_records += n
        self._line += n_lines
        self.haploid_calls += n_haploid
        return start

    def _odd_line(self, line: bytes) -> Iterator[tuple[Site, np.ndarray, int]]:
        """Yield a row (site, alleles, number) for each ALT of a line that can be used."""
        self._line += 1
        if line.startswith(b"#"):
            raise self._text.record_error(self._line, line, HEADER_AGAIN)
        name = line.partition(b"\t")[0]
        is_wanted = self._text.has(name)
        if self._text.is_indexed and not is_wanted:
            self._is_over = True
            return
        self._names[name] = None
        n_columns = line.count(b"\t") + 1
        if n_columns != self._n_samples + N_FIXED_COLUMNS:
            # No numbers, which would tell how many people there are.
            got = "fewer" if n_columns < self._n_samples + N_FIXED_COLUMNS else "more"
            has_blanks = b" " in b"".join(line.split(b"\t")[:5])
            fix = "It has blanks: put tabs between the columns." if has_blanks else COPY_AGAIN
            problem = f"the record must have as many columns as the header, got {got}. {fix}"
            raise self._text.record_error(self._line, line, problem)
        self._kernel.meet_contig(name, is_wanted)
        if not is_wanted:
            return
        self.n_records += 1
        try:
            rows = self._split(line)
        except (BadRecordError, UnicodeDecodeError) as problem:
            raise self._text.record_error(self._line, line, problem) from None
        yield from rows

    def _parse(self, line: bytes) -> Record:
        record = parse_record(line)
        if self._is_known_ref and record.has_provisional_ref:
            raise BadRecordError(f"REF must be that of the genome, got `INFO/PR`. {SET_REF}")
        return record

    def _split(self, line: bytes) -> list[tuple[Site, np.ndarray, int]]:
        record = self._parse(line)
        usable = self._usable_alts(record)
        if not usable:
            return []
        alleles, n_haploid = self._alleles(record)
        self.haploid_calls += n_haploid
        site = (record.contig, record.position, record.id, record.ref)
        return [((*site, record.alts[k - 1]), alleles, k) for k in usable]

    def _usable_alts(self, record: Record, *, has_calls: bool = False) -> list[int]:
        """Return the allele numbers to keep (1 is the first ALT) and count the others by reason."""
        if not self._is_filter_kept and record.filter not in ("PASS", "."):
            self.skipped["filtered"] += 1
            return []
        if not (has_calls or b"GT" in record.calls.partition(b"\t")[0].split(b":")):
            self.skipped["no_gt"] += 1
            return []
        usable, reasons = usable_alts(record.ref, record.alts, keeps_symbols=self._keeps_symbols)
        self.skipped.update(reasons)
        return usable

    def _alleles(self, record: Record) -> tuple[np.ndarray, int]:
        """Return (n_haplotypes,) allele numbers, -1 where missing, and the number of haploid calls."""
        if self._is_compiled:
            n_haploid = self._kernel.decode(record)
            if n_haploid >= 0:
                return self._kernel.alleles.copy(), n_haploid
        self._decoder = self._decoder or self._new_decoder()
        return self._decoder.decode(record)


class _Kernel:
    """The compiled code, with what it needs from the line before."""

    def __init__(
        self, n_samples: int, *, is_phase_required: bool, is_filter_kept: bool, is_known_ref: bool
    ) -> None:
        self._n_samples = n_samples
        self._is_phase_required = is_phase_required
        self._is_filter_kept = is_filter_kept
        self._is_known_ref = is_known_ref
        n_bytes = 2 * WORD_BITS * word_count(2 * n_samples)
        self._scratch = np.resize(np.frombuffer(b"0|0\t", dtype=np.uint8), n_bytes)
        self.alleles = np.empty(2 * n_samples, dtype=np.int32)
        # No record begins like this. An empty name would be that of lines whose CHROM is empty.
        self.meet_contig(b"\n", is_wanted=False)
        self._format, self._n_subfields = np.frombuffer(b"GT", dtype=np.uint8).copy(), 1

    def scan(self, text: np.ndarray, start: int, stop: int, rows: "Rows") -> tuple[int, int, int, int]:
        """Add rows; return where the kernel stopped, and the rows, lines and haploid calls that it took."""
        first = rows.n
        start, n, n_lines, n_haploid, _ = kernels.scan_lines(
            text,
            start,
            stop,
            self._contig,
            self._format,
            self._n_subfields,
            self.is_wanted,
            self._is_filter_kept,
            self._is_phase_required,
            self._is_known_ref,
            self._n_samples,
            self._scratch,
            self.alleles,
            rows.haplotypes[first:],
            rows.missing[first:],
            rows.sites[first:],
        )
        rows.take_sites(text, self._name, n)
        return start, n, n_lines, n_haploid

    def meet_contig(self, name: bytes, is_wanted: bool) -> None:
        """Take lines of this contig from now on, or pass them over."""
        self.contig, self._name = name, name.decode(errors="replace")
        self._contig = np.frombuffer(name, dtype=np.uint8).copy()
        self.is_wanted = is_wanted

    def decode(self, record: Record) -> int:
        """Decode calls into `alleles`; return how many are haploid, or -1 if htslib must decode them."""
        format_, _, calls = record.calls.partition(b"\t")
        keys = format_.split(b":")
        if not _FORMAT.fullmatch(format_) or len(set(keys)) != len(keys):
            return -1
        self._format, self._n_subfields = np.frombuffer(format_, dtype=np.uint8).copy(), len(keys)
        text = np.frombuffer(calls, dtype=np.uint8).copy()
        return kernels.decode_calls(
            text,
            0,
            len(text),
            len(keys),
            len(record.alts),
            self._is_phase_required,
            self.alleles,
        )


class Rows:
    """Rows of a batch while it is filled."""

    def __init__(self, n_rows: int, n_samples: int) -> None:
        self.n, n_words = 0, word_count(2 * n_samples)
        self.haplotypes = np.empty((n_rows, n_words), dtype=np.uint64)
        self.missing = np.zeros((n_rows, n_words), dtype=np.uint64)
        self.sites = np.empty((n_rows, 3), dtype=np.int64)
        self._contigs, self._fields = [], []

    @property
    def is_full(self) -> bool:
        return self.n == len(self.haplotypes)

    def add(self, site: Site, alleles: np.ndarray, number: int) -> None:
        """Add a row of ALT `number` from (n_haplotypes,) allele numbers."""
        kernels.pack_allele(alleles, number, self.haplotypes[self.n], self.missing[self.n])
        self.add_site(site)

    def add_site(self, site: Site) -> None:
        """Add the site of a row whose alleles are already packed."""
        contig, position, *fields = site
        self.sites[self.n, 0] = position
        self._contigs.append(contig)
        self._fields += fields
        self.n += 1

    def take_sites(self, text: np.ndarray, contig: str, n: int) -> None:
        """Add the site columns of `n` rows that are already packed."""
        if not n:
            return
        view = memoryview(text)
        ranges = self.sites[self.n : self.n + n, 1:].tolist()
        fields = b"\t".join([view[start:stop] for start, stop in ranges])
        self._fields += fields.decode(errors="replace").split("\t")
        self._contigs += [contig] * n
        self.n += n

    def batch(self) -> tuple[Any, ...]:
        """Return the columns and the planes."""
        columns = {"contig": self._contigs, "position": self.sites[: self.n, 0].copy()}
        columns |= {name: self._fields[i::3] for i, name in enumerate(("id", "ref", "alt"))}
        return columns, self.haplotypes[: self.n], self.missing[: self.n]
