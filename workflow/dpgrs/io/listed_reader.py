"""Genotypes from files that list their variants apart from calls: the list first, then calls by number."""

from collections import Counter

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import word_count
from dpgrs.genotypes.dosages import DTYPE, dosage_steps, nearest_planes
from dpgrs.io.chromosomes import chromosome_name, is_chromosome, part_of_x
from dpgrs.io.vcf.records import SET_REF, BadRecordError, require_distinct_alleles, usable_alts
from dpgrs.io.vcf.text import match_contig, record_error
from dpgrs.io.vcf.vcf import VariantBatch, check_terms

# In the place of the second allele, where a call has one.
NO_ALLELE = -2
_DOSAGE_ROWS = 64


class ListedReader:
    """The variants of one contig, counted while they are read.

    Parameters
    ----------
    header : VcfHeader of the file.
    contig : str, as in the file or with ``chr`` in front added or left out; None of a reader of `sites`.
    phased : ``required`` makes an unphased heterozygous call an error; ``any`` takes calls as written, and of
        two alleles without phase the lower first.
    keep_filtered : bool, whether to keep variants whose FILTER is neither PASS nor ``.``.
    known_ref : bool, whether to refuse files in which REF of any variant is provisional.
    field : ``GT``, or ``DS`` for dosages; calls without one give whole ones.
    keeps_symbols : bool, see `dpgrs.io.vcf.vcf.ContigReader`.

    Attributes
    ----------
    n_records, skipped, missing_alleles, haploid_calls, calls_as_dosages : counters, see
        `dpgrs.io.vcf.vcf.ContigReader`.

    Raises
    ------
    DpgrsError
        Provisional REF, where it must be known.

    Notes
    -----
    A form has a class of its own with two functions of a path: `has_provisional_ref`, and `variants_of`,
    which opens the list. That has `contigs`, a list of names; `records`, a function of some of these that
    returns a data frame of contig, position (int), id, ref, alt (separated by commas) and perhaps filter,
    with the numbers of the records as its index; and `calls` and `dosages`, functions without arguments that
    return functions. These take (n,) ascending numbers of records and return

    - (n, 2 n_samples) alleles, below 0 where missing, `NO_ALLELE` for the second of a call of one, and
      (n, n_samples) bool, whether the order of a call's alleles is known;
    - or, with (n,) numbers of alleles too, (n, n_samples) dosages, below 0 where missing.

    It counts `calls_as_dosages`. Perhaps also `counts`, which takes the same and returns int8 copies of the
    allele, as `reader` has them.
    """

    def __init__(
        self,
        header,
        contig,
        *,
        phased="required",
        keep_filtered=False,
        known_ref=False,
        field="GT",
        keeps_symbols=False,
    ):
        check_terms(phased, field)
        if known_ref and self.has_provisional_ref(header.path):
            raise DpgrsError(f"`{header.path}` must have REF of the genome, which it does not say. {SET_REF}")
        self._has_dosages = field == "DS"
        self._phase_required = phased == "required"
        self._header = header
        self._contig = contig
        self._keep_filtered = keep_filtered
        self._keeps_symbols = keeps_symbols
        self._last_record, self._variants = -1, None
        self.n_records = 0
        self.skipped = Counter()
        self.missing_alleles = 0
        self.haploid_calls = 0

    @property
    def calls_as_dosages(self):
        return self._variants.calls_as_dosages if self._variants and self._has_dosages else 0

    def batches(self, n_variants):
        """Yield `VariantBatch` after `VariantBatch`, each of `n_variants` but the last, in file order.

        Raises
        ------
        DpgrsError
            Damaged file, contig not in the file, or a bad record, with its contig and position and the place
            of the sample.
        """
        variants = self._variants = self.variants_of(self._header)
        names = [name for name in variants.contigs if is_chromosome(name, self._contig)]
        # X may lie there in parts; another name twice, or none, is refused.
        plain = [name for name in names if part_of_x(name) is None]
        if len(plain) > 1 or not names:
            match_contig(self._header.path, self._contig, plain or variants.contigs)
        records = variants.records(names)
        self.n_records = len(records)
        rows = self._in_order(self._usable_rows(records))
        read, batch = (
            (variants.dosages(), self._dosage_batch) if self._has_dosages else (variants.calls(), self._batch)
        )
        for start in range(0, len(rows), n_variants):
            yield batch(rows.iloc[start : start + n_variants], read)

    def sites(self, contigs):
        """Return a row for each ALT that can be used, in file order.

        Parameters
        ----------
        contigs : collection of str, without ``chr``; variants elsewhere are left out.

        Returns
        -------
        data frame of record, contig, position, id, ref, allele (its number) and alt.

        Raises
        ------
        DpgrsError
            A damaged list, or a bad record.
        """
        self._variants = self.variants_of(self._header)
        wanted = set(contigs)
        names = [name for name in self._variants.contigs if chromosome_name(name) in wanted]
        records = self._variants.records(names)
        self.n_records = len(records)
        return self._in_order(self._usable_rows(records))

    def _in_order(self, rows):
        """Return rows with the pseudoautosomal parts of X, which are contigs of their own, where they lie."""
        parts = {name: chromosome_name(name) for name in rows["contig"].unique()}
        if len(set(parts.values())) == len(parts):
            return rows
        place = pd.factorize(rows["contig"].map(parts))[0]
        order = np.lexsort((rows["record"], rows["position"], place))
        return rows.iloc[order].reset_index(drop=True)

    def reader(self):
        """Return a function from records and numbers of their alleles, (n,) each, as of `sites`, to calls.

        They are (n, n_samples) int8 copies of ALT, or -1 and -2 where one of two alleles is missing and the
        other is REF or ALT, and further below 0 where both are; or, of ``DS``, dosages, below 0 where
        missing.
        """
        if self._has_dosages:
            return self._variants.dosages()
        if hasattr(self._variants, "counts"):
            return self._variants.counts()
        from dpgrs.io._call_kernels import calls_of_bits

        read_calls = self._variants.calls()

        def read(records, alleles):
            numbers, place = np.unique(records, return_inverse=True)
            planes, _, _ = self._packed(*read_calls(numbers), place, alleles)
            calls = np.empty((len(records), len(self._header.samples)), dtype=np.int8)
            calls_of_bits(*planes, np.arange(len(records)), calls)
            return calls

        return read

    def steps(self, dosages, missing):
        """Return dosages on the public grid, (n, n_samples) uint16, `missing` where they are missing."""
        is_missing = dosages < 0
        steps = dosage_steps(np.where(is_missing, 0, dosages))
        return np.where(is_missing, DTYPE(missing), steps)

    def _usable_rows(self, records):
        """Return a row for each ALT that can be used: record, allele number and the columns of a variant."""
        if "filter" in records and not self._keep_filtered:
            is_passed = records["filter"].isin(["PASS", "."])
            if not is_passed.all():
                self.skipped["filtered"] += int((~is_passed).sum())
            records = records[is_passed]
        # Each pair of REF and ALTs is looked at once: there are few beside the records.
        pair = records.groupby(["ref", "alt"], sort=False).ngroup().to_numpy()
        first, n_records = np.unique(pair, return_index=True, return_counts=True)[1:]
        pairs = records[["ref", "alt"]].iloc[first].itertuples(index=False)
        kept = [
            self._usable_alts(ref, alts.split(","), records.iloc[record], n_records=int(count))
            for (ref, alts), record, count in zip(pairs, first, n_records, strict=True)
        ]
        place, choice = _expand(pair, np.array([len(alts) for alts in kept], dtype=np.int64))
        rows = records.take(place)[["contig", "position", "id", "ref"]]
        alleles = pd.DataFrame([alt for alts in kept for alt in alts], columns=["allele", "alt"])
        rows[["allele", "alt"]] = alleles.take(choice).set_index(rows.index)
        return rows.rename_axis("record").reset_index()

    def _usable_alts(self, ref, alts, record, *, n_records):
        """Return (allele number, allele) of the ALTs to keep, and count the others by reason."""
        try:
            # PLINK 1 writes 0 for an allele that nobody carries.
            named = ["." if alt == "0" else alt for alt in alts]
            kept, reasons = usable_alts(ref, named, keeps_symbols=self._keeps_symbols)
            require_distinct_alleles(ref, alts)
        except BadRecordError as problem:
            raise self._error(record["contig"], record["position"], problem) from None
        for reason in reasons:
            self.skipped[reason] += n_records
        return [(number, alts[number - 1]) for number in kept]

    def _batch(self, rows, read):
        records, place = np.unique(rows["record"].to_numpy(), return_inverse=True)
        alleles, is_phased = read(records)
        assert alleles.shape == (len(records), 2 * len(self._header.samples))
        first_new = np.searchsorted(records, self._last_record, side="right")
        self._last_record = records[-1]
        numbers = rows["allele"].to_numpy()
        planes, row, sample = self._packed(alleles, is_phased, place, numbers, first_new=first_new)
        if row >= 0:
            site = rows.iloc[row]
            problem = (
                f"the call of sample {sample + 1} is heterozygous and unphased. "
                "Phase the file, or use people as rows (`rows: people`)."
            )
            raise self._error(site["contig"], site["position"], problem)
        return self._counted(rows, *planes)

    def _packed(self, alleles, is_phased, place, numbers, *, first_new=0):
        """Return (n_rows, n_words) bits of ALT and of what is missing; row and sample without phase."""
        from dpgrs.io._listed_kernels import pack_calls  # brings numba, which takes 0.3 s

        planes = np.empty((2, len(place), word_count(alleles.shape[1])), dtype=np.uint64)
        terms = place, numbers, first_new, self._phase_required
        row, sample, n_haploid = pack_calls(alleles, is_phased, *terms, *planes)
        self.haploid_calls += n_haploid
        return planes, row, sample

    def _dosage_batch(self, rows, read):
        records, alleles = rows["record"].to_numpy(), rows["allele"].to_numpy()
        steps = np.empty((len(rows), len(self._header.samples)), dtype=DTYPE)
        haplotypes, missing = np.empty((2, len(rows), word_count(2 * steps.shape[1])), dtype=np.uint64)
        # A few at a time: on the way they take many times the room of what is kept.
        for start in range(0, len(rows), _DOSAGE_ROWS):
            part = slice(start, start + _DOSAGE_ROWS)
            dosages = read(records[part], alleles[part])
            is_missing = dosages < 0
            steps[part] = dosage_steps(np.where(is_missing, 0, dosages))
            haplotypes[part], missing[part] = nearest_planes(steps[part], is_missing)
        return self._counted(rows, haplotypes, missing, steps)

    def _counted(self, rows, haplotypes, missing, dosages=None):
        self.missing_alleles += int(np.bitwise_count(missing).sum())
        columns = rows[["contig", "position", "id", "ref", "alt"]].to_dict("list")
        return VariantBatch(columns, haplotypes, missing, dosages)

    def _error(self, contig, position, problem):
        return record_error(self._header.path, None, f"{contig}\t{position}".encode(), problem)


def _expand(kind, n_kept):
    """Return, for every ALT that is kept, the place of its record and its place among those of all kinds.

    Parameters
    ----------
    kind : (n_records,) int, a record's kind.
    n_kept : (n_kinds,) int, how many ALTs a record of a kind keeps.

    Examples
    --------
    >>> [part.tolist() for part in _expand(np.array([0, 1, 0]), np.array([1, 2]))]
    [[0, 1, 1, 2], [0, 1, 2, 0]]
    """
    place = np.repeat(np.arange(len(kind)), n_kept[kind])
    begin = (np.cumsum(n_kept) - n_kept)[kind[place]]
    ends = np.cumsum(n_kept[kind])
    return place, begin + np.arange(len(place)) - (ends - n_kept[kind])[place]
