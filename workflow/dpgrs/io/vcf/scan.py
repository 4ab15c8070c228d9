"""The lines of one contig as packed rows, one per ALT allele.

Compiled code takes lines of the common form; every other line is taken here, one at a time.
"""

import re
from collections import Counter

import numpy as np

from dpgrs.genotypes.bits import WORD_BITS, word_count
from dpgrs.io._packing_kernels import pack_allele
from dpgrs.io.vcf import _kernels as kernels
from dpgrs.io.vcf.records import (
    N_FIXED_COLUMNS,
    SET_REF,
    BadRecordError,
    CallDecoder,
    parse_record,
    usable_alts,
)
from dpgrs.io.vcf.text import COPY_AGAIN, HEADER_AGAIN

# FORMAT as most files have it. What is odd about another one is for htslib to find.
_FORMAT = re.compile(rb"GT(:[A-Za-z_][0-9A-Za-z_.]*)*")
_NEWLINE = ord("\n")


class LineScanner:
    """Reads the lines of one contig, and counts.

    Parameters
    ----------
    text : ContigText
    n_samples : int
    is_phase_required, is_filter_kept, is_known_ref, is_compiled, keeps_symbols : bool, see
        `dpgrs.io.vcf.vcf.ContigReader`.

    Attributes
    ----------
    n_records, skipped, haploid_calls, calls_as_dosages : see `dpgrs.io.vcf.vcf.ContigReader`; of what `rows`
        last read, as is all else that is counted here.
    """

    def __init__(
        self,
        text,
        *,
        n_samples,
        is_phase_required,
        is_filter_kept,
        is_compiled,
        is_known_ref=False,
        keeps_symbols=False,
    ):
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
        self._decoder = None  # of htslib; most files do not need it
        self._begin()

    def _begin(self):
        self._names = {}
        self._line = 0
        self._is_over = False
        self.n_records = 0
        self.skipped = Counter()
        self.haploid_calls = 0
        self.calls_as_dosages = 0

    @property
    def n_lines(self):
        """Lines read, those of other contigs too."""
        return self._line

    @property
    def is_over(self):
        """Whether the contig has ended before its text, which is known where an index was used."""
        return self._is_over

    def rows(self, n_rows, **options):
        """Yield (columns, haplotypes, missing), each of `n_rows` variants but the last, in file order.

        Parameters
        ----------
        n_rows : int, at least 1.
        **options : of `dpgrs.io.vcf.blocks.line_blocks`.

        Yields
        ------
        columns : dict of lists: contig, position, id, ref, alt.
        haplotypes, missing : (n_variants, n_words) uint64, see `dpgrs.io.vcf.vcf.VariantBatch`; of a
            `DosageScanner`, dosages follow.

        Raises
        ------
        DpgrsError
            See `dpgrs.io.vcf.vcf.ContigReader.batches`.
        """
        self._begin()
        rows = self._new_rows(n_rows)
        for text, start, stop in self._text.blocks(**options):
            while start < stop and not self._is_over:
                if self._is_compiled:
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

    def _new_rows(self, n_rows):
        return Rows(n_rows, self._n_samples)

    def _scan(self, text, start, stop, rows):
        """Take what compiled code can take; return where the first line begins that it cannot."""
        start, n, n_lines, n_haploid = self._kernel.scan(text, start, stop, rows)
        if n_lines:
            self._names[self._kernel.contig] = None
        self.n_records += n
        self._line += n_lines
        self.haploid_calls += n_haploid
        return start

    def _odd_line(self, line):
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
        found = line.count(b"\t") + 1
        if found != self._n_samples + N_FIXED_COLUMNS:
            # No numbers, which would tell how many people there are.
            got = "fewer" if found < self._n_samples + N_FIXED_COLUMNS else "more"
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

    def _parse(self, line):
        record = parse_record(line)
        if self._is_known_ref and record.has_provisional_ref:
            raise BadRecordError(f"REF must be that of the genome, got `INFO/PR`. {SET_REF}")
        return record

    def _split(self, line):
        record = self._parse(line)
        kept = self._usable_alts(record)
        if not kept:
            return []
        alleles, n_haploid = self._alleles(record)
        self.haploid_calls += n_haploid
        site = (record.contig, record.position, record.id, record.ref)
        return [((*site, record.alts[k - 1]), alleles, k) for k in kept]

    def _usable_alts(self, record, *, has_calls=False):
        """Return the allele numbers to keep (1 is the first ALT) and count the others by reason."""
        if not self._is_filter_kept and record.filter not in ("PASS", "."):
            self.skipped["filtered"] += 1
            return []
        if not (has_calls or b"GT" in record.calls.partition(b"\t")[0].split(b":")):
            self.skipped["no_gt"] += 1
            return []
        kept, reasons = usable_alts(record.ref, record.alts, keeps_symbols=self._keeps_symbols)
        self.skipped.update(reasons)
        return kept

    def _alleles(self, record):
        """Return (n_haplotypes,) allele numbers, -1 where missing, and the number of haploid calls."""
        if self._is_compiled:
            n_haploid = self._kernel.decode(record)
            if n_haploid >= 0:
                return self._kernel.alleles.copy(), n_haploid
        self._decoder = self._decoder or self._new_decoder()
        return self._decoder.decode(record)


class _Kernel:
    """The compiled code, with what it needs to know of the line before."""

    def __init__(self, n_samples, *, is_phase_required, is_filter_kept, is_known_ref):
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

    def scan(self, text, start, stop, rows):
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

    def meet_contig(self, name, is_wanted):
        """Take lines of this contig from now on, or pass them over."""
        self.contig, self._name = name, name.decode(errors="replace")
        self._contig = np.frombuffer(name, dtype=np.uint8).copy()
        self.is_wanted = is_wanted

    def decode(self, record):
        """Decode calls into `alleles` and return the number of haploid ones, or -1 for what is beyond it."""
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

    def __init__(self, n_rows, n_samples):
        self.n, n_words = 0, word_count(2 * n_samples)
        self.haplotypes = np.empty((n_rows, n_words), dtype=np.uint64)
        self.missing = np.zeros((n_rows, n_words), dtype=np.uint64)
        self.sites = np.empty((n_rows, 3), dtype=np.int64)
        self._contigs, self._fields = [], []

    @property
    def is_full(self):
        return self.n == len(self.haplotypes)

    def add(self, site, alleles, number):
        """Add a row from allele numbers."""
        pack_allele(alleles, number, self.haplotypes[self.n], self.missing[self.n])
        self.add_site(site)

    def add_site(self, site):
        """Add the site of a row whose alleles are there."""
        contig, position, *fields = site
        self.sites[self.n, 0] = position
        self._contigs.append(contig)
        self._fields += fields
        self.n += 1

    def take_sites(self, text, contig, n):
        """Add the site columns of `n` rows that are packed already."""
        if not n:
            return
        view = memoryview(text)
        ranges = self.sites[self.n : self.n + n, 1:].tolist()
        fields = b"\t".join([view[start:stop] for start, stop in ranges])
        self._fields += fields.decode(errors="replace").split("\t")
        self._contigs += [contig] * n
        self.n += n

    def batch(self):
        """Return the columns and the planes."""
        columns = {"contig": self._contigs, "position": self.sites[: self.n, 0].copy()}
        columns |= {name: self._fields[i::3] for i, name in enumerate(("id", "ref", "alt"))}
        return columns, self.haplotypes[: self.n], self.missing[: self.n]
