"""Genotypes from PLINK files: .bed with .bim and .fam, or .pgen with .pvar and .psam.

Sizes are checked here before calls are decoded: no decoder sees the tables, and so whether files belong
together.
"""

import os
import re
from collections import Counter

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, shown
from dpgrs.genotypes.bits import pack, word_count
from dpgrs.genotypes.dosages import DTYPE, dosage_steps, nearest_planes
from dpgrs.io.plink.calls import bed_calls, pgen_calls, pgen_dosages
from dpgrs.io.plink.tables import (
    plink_files,
    read_declared_contigs,
    read_samples,
    read_variants,
    require_file,
)
from dpgrs.io.vcf.records import SET_REF, BadRecordError, require_distinct_alleles, skip_reason
from dpgrs.io.vcf.text import COPY_AGAIN, match_contig, record_error
from dpgrs.io.vcf.vcf import VariantBatch, VcfHeader, check_terms

# Their calls may be haploid, which PLINK does not write down.
SEX_CHROMOSOMES = ("X", "Y", "MT", "M")

_MAGIC = b"\x6c\x1b"
_VARIANT_MAJOR = b"\x01"
_PGEN_MODES = (b"\x02", b"\x03", b"\x04", b"\x10", b"\x11")
_VARIABLE_WIDTH, _PGEN_BLOCK = b"\x10", 2**16
_REF_KNOWN, _REF_BY_VARIANT = 1, 3
_DOSAGE_ROWS = 64
_LETTERS = re.compile(r"[A-Za-z]+")
# By number, or by accession in RefSeq.
_AUTOSOME = re.compile(r"(chr)?(0?[1-9]|1\d|2[0-2])|NC_0000(0[1-9]|1\d|2[0-2])(\.\d+)?", re.IGNORECASE)


def read_plink_header(path):
    """Read which people and contigs a set of PLINK files holds, and check that its files belong together.

    Parameters
    ----------
    path : of the ``.bed`` or ``.pgen``; the other two lie beside it.

    Returns
    -------
    VcfHeader; its contigs are those that have variants, with lengths that a ``.pvar`` declares.

    Raises
    ------
    DpgrsError
        Missing, empty, truncated or malformed files, files of different sets, repeated sample ids.
    """
    files = plink_files(path)
    require_file(files.genotypes)
    samples = read_samples(files.samples)
    contigs = read_variants(files.variants, columns=("contig",))["contig"]
    check = _check_bed if files.genotypes.suffix == ".bed" else _check_pgen
    check(files, n_samples=len(samples), n_variants=len(contigs))
    declared = read_declared_contigs(files.variants)
    return VcfHeader(files.genotypes, samples, {name: declared.get(name) for name in contigs.unique()})


def has_provisional_ref(path):
    """Tell whether REF of any variant may have been chosen by the people, as PLINK 1 does.

    Parameters
    ----------
    path : pathlib.Path of the ``.bed``, whose REF always may, or of the ``.pgen``, which says so by variant.

    Returns
    -------
    bool; True where a ``.pgen`` does not say it.
    """
    if path.suffix == ".bed":
        return True
    # https://github.com/chrchang/plink-ng/tree/master/pgen_spec: the two highest bits of byte 11.
    with path.open("rb") as file:
        header = file.read(12)
        kind = header[11] >> 6
        if kind != _REF_BY_VARIANT or header[2:3] != _VARIABLE_WIDTH:
            return kind != _REF_KNOWN
        n_variants = int.from_bytes(header[3:7], "little")
        sizes = [min(_PGEN_BLOCK, n_variants - first) for first in range(0, n_variants, _PGEN_BLOCK)]
        file.seek(8 * len(sizes), os.SEEK_CUR)
        for n in sizes:
            types = n if header[11] & 4 else -(-n // 2)
            file.seek(types + n * (1 + (header[11] & 3)) + n * (header[11] >> 4 & 3), os.SEEK_CUR)
            if any(file.read(-(-n // 8))):
                return True
    return False


def first_plink_site(path):
    """Return (contig, position) of the first variant of a set of PLINK files, or None where it has none."""
    table = read_variants(plink_files(path).variants, columns=("contig", "position"))
    if table.empty:
        return None
    return table["contig"].iloc[0], int(_positions(path, table.iloc[:1])[0])


def read_plink_sites(path, chromosomes):
    """Read where the variants of a set of PLINK files lie, from its table alone.

    Parameters
    ----------
    path : pathlib.Path of the ``.bed`` or ``.pgen``.
    chromosomes : collection of str, with or without ``chr``; variants elsewhere are left out.

    Returns
    -------
    data frame of contig, position (1-based, int) and id, in file order.

    Raises
    ------
    DpgrsError
        Missing, damaged or malformed table, or a position that is none.
    """
    table = read_variants(plink_files(path).variants, columns=("contig", "position", "id"))
    names = {chromosome.removeprefix("chr") for chromosome in chromosomes}
    table = table[table["contig"].str.removeprefix("chr").isin(names)]
    return table.assign(position=_positions(path, table))


class PlinkReader:
    """The variants of one contig of a set of PLINK files, counted while they are read.

    Parameters
    ----------
    header : VcfHeader from `read_plink_header`.
    contig : str, as in the file or with ``chr`` in front added or left out.
    phased : ``required`` makes an unphased heterozygous call an error; ``any`` takes calls as written, and of
        two alleles without phase the lower first.
    keep_filtered : bool, whether to keep variants whose FILTER is neither PASS nor ``.``.
    known_ref : bool, whether to refuse files in which REF of any variant is provisional.
    field : ``GT``, or ``DS`` for the dosages of a ``.pgen``; calls without one give whole ones.

    Attributes
    ----------
    n_records, skipped, missing_alleles : counters, see `dpgrs.io.vcf.vcf.ContigReader`.
    haploid_calls : int, 0: PLINK writes a haploid call as a homozygous one.

    Raises
    ------
    DpgrsError
        If phase is required of a ``.bed``, or of a contig with haploid calls; dosages of a ``.bed``;
        provisional REF.
    """

    haploid_calls = 0

    def __init__(
        self, header, contig, *, phased="required", keep_filtered=False, known_ref=False, field="GT"
    ):
        check_terms(phased, field)
        if known_ref and has_provisional_ref(header.path):
            raise DpgrsError(f"`{header.path}` must have REF of the genome, which it does not say. {SET_REF}")
        if field == "DS" and header.path.suffix == ".bed":
            raise DpgrsError(
                f"`{header.path}` has no dosages: PLINK 1 keeps none. Read its calls (`field: GT`), or give "
                "a .pgen, VCF or BCF."
            )
        self._has_dosages = field == "DS"
        self._phase_required = phased == "required"
        if self._phase_required:
            require_phase(header.path, contig)
        self._header = header
        self._contig = contig
        self._keep_filtered = keep_filtered
        self.n_records = 0
        self.skipped = Counter()
        self.missing_alleles = 0

    def batches(self, n_variants):
        """Yield `VariantBatch` after `VariantBatch`, each of `n_variants` but the last, in file order.

        Raises
        ------
        DpgrsError
            Damaged file, contig not in the file, or a bad record, with its contig and position and the place
            of the sample.
        """
        path, table = self._header.path, read_variants(plink_files(self._header.path).variants)
        name = match_contig(path, self._contig, table["contig"].unique().tolist())
        mine = np.flatnonzero(table["contig"] == name)
        self.n_records = len(mine)
        rows = self._usable_rows(table.iloc[mine].set_index(mine).assign(contig=name))
        decode = bed_calls if path.suffix == ".bed" else pgen_calls
        decode, batch = (pgen_dosages, self._dosage_batch) if self._has_dosages else (decode, self._batch)
        read = decode(path, n_samples=len(self._header.samples), n_alts=count_alts(table))
        for start in range(0, len(rows), n_variants):
            yield batch(rows.iloc[start : start + n_variants], read)

    def _usable_rows(self, records):
        """Return a row for each ALT that can be used: record, allele number and the columns of a variant."""
        records = records.assign(position=_positions(self._header.path, records))
        if "filter" in records and not self._keep_filtered:
            is_passed = records["filter"].isin(["PASS", "."])
            if not is_passed.all():
                self.skipped["filtered"] += int((~is_passed).sum())
            records = records[is_passed]
        # Each pair of REF and ALTs is looked at once: there are few beside the records.
        pair, pairs = pd.MultiIndex.from_frame(records[["ref", "alt"]]).factorize()
        first, n_records = np.unique(pair, return_index=True, return_counts=True)[1:]
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
            reasons = [skip_reason("." if alt == "0" else alt) for alt in alts]
            kept = [(k, alt) for k, alt in enumerate(alts, start=1) if not reasons[k - 1]]
            if kept and not _LETTERS.fullmatch(ref):
                raise BadRecordError(f"`REF` must be letters, got {ref}. Mend the record.")
            require_distinct_alleles(ref, alts)
        except BadRecordError as problem:
            raise self._error(record["contig"], record["position"], problem) from None
        for reason in filter(None, reasons):
            self.skipped[reason] += n_records
        return kept

    def _batch(self, rows, read):
        records, place = np.unique(rows["record"].to_numpy(), return_inverse=True)
        alleles, is_phased = read(records)
        assert alleles.shape == (len(records), 2 * len(self._header.samples))
        if self._phase_required:
            self._refuse_unphased(rows, place, alleles, is_phased)
        is_missing = alleles[place] < 0
        haplotypes = pack(alleles[place] == rows["allele"].to_numpy()[:, np.newaxis])
        return self._counted(rows, haplotypes, pack(is_missing))

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

    def _refuse_unphased(self, rows, place, alleles, is_phased):
        is_bad = (alleles[:, 0::2] != alleles[:, 1::2]) & ~is_phased
        if is_bad.any():
            record, sample = np.argwhere(is_bad)[0]
            site = rows.iloc[int(np.argmax(place == record))]
            problem = (
                f"the call of sample {sample + 1} is heterozygous and unphased. "
                "Phase the file, or use people as rows (`rows: people`)."
            )
            raise self._error(site["contig"], site["position"], problem)

    def _error(self, contig, position, problem):
        return record_error(self._header.path, None, f"{contig}\t{position}".encode(), problem)


def require_phase(path, contig):
    """Refuse files that cannot give the haplotypes of a contig.

    Raises
    ------
    DpgrsError
    """
    if path.suffix == ".bed":
        raise DpgrsError(
            f"`{path}` has no phase: PLINK 1 keeps none. Use people as rows (`rows: people`), or give a "
            "phased VCF, BCF or .pgen."
        )
    if is_sex_chromosome(contig):
        raise DpgrsError(
            f"`{path}` does not say which calls of chromosome {contig} are haploid. Use people as rows "
            "(`rows: people`), or give a phased VCF or BCF."
        )


def is_sex_chromosome(contig):
    """Tell whether people may have one of a chromosome, by its name."""
    return contig.removeprefix("chr").upper() in SEX_CHROMOSOMES


def is_autosome(contig):
    """Tell whether everybody has two of a chromosome, by its name; of an unknown name it is not known."""
    return _AUTOSOME.fullmatch(contig) is not None


def _check_bed(files, *, n_samples, n_variants):
    path = files.genotypes
    with path.open("rb") as file:
        start = file.read(3)
    if start[:2] != _MAGIC:
        raise DpgrsError(f"`{path}` is no PLINK 1 .bed: it must begin with 6c 1b. {COPY_AGAIN}")
    if start[2:] != _VARIANT_MAJOR:
        raise DpgrsError(f"`{path}` must be stored by variant, not by sample. Convert it: plink2 --make-bed")
    # No sizes in the message: they would tell how many people there are.
    if path.stat().st_size != 3 + -(-n_samples // 4) * n_variants:
        raise DpgrsError(
            f"`{path}` must have the size that `{files.variants.name}` and `{files.samples.name}` give: it "
            f"is cut short, or they belong to other files. {COPY_AGAIN}"
        )


def _check_pgen(files, *, n_samples, n_variants):
    path = files.genotypes
    with path.open("rb") as file:
        start = file.read(12)
    if start[:2] != _MAGIC or start[2:3] not in _PGEN_MODES or len(start) < 12:
        raise DpgrsError(
            f"`{path}` is no .pgen that can be read. Make it again from its source: plink2 --make-pgen"
        )
    found = [int.from_bytes(start[place : place + 4], "little") for place in (3, 7)]
    for kind, count, table, wanted in (
        ("variants", found[0], files.variants, n_variants),
        ("samples", found[1], files.samples, n_samples),
    ):
        if count != wanted:
            raise DpgrsError(
                f"`{path}` must have as many {kind} as `{table.name}` has lines: they belong to different "
                f"sets. {COPY_AGAIN}"
            )


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


def count_alts(table):
    """Return how many ALTs each record of a table has, (n_records,) int."""
    return (table["alt"].str.count(",") + 1).to_numpy()


def _positions(path, records):
    """Return the (n_records,) positions of a table, or refuse the first that is none."""
    text = records["position"]
    is_number = text.str.fullmatch("[0-9]{1,10}", na=False).to_numpy()
    positions = np.zeros(len(records), dtype=np.int64)
    positions[is_number] = text[is_number].astype(np.int64)
    is_bad = (positions < 1) | (positions >= 2**31)
    if is_bad.any():
        first = records.iloc[int(is_bad.argmax())]
        position = shown(first["position"])
        problem = f"`POS` must be a whole number from 1 to 2^31 - 1, got {position}. Mend the record."
        raise record_error(path, None, f"{first['contig']}\t{first['position']}".encode(), problem)
    return positions
