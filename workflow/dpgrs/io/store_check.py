"""A store compared with its genotype files, which other code reads again.

For a VCF this is cyvcf2's own iteration over records, for PLINK files and BGEN `dpgrs.io.plain_records`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import unpack
from dpgrs.genotypes.dosages import DOSAGE_STEP, hard_calls
from dpgrs.io.chromosomes import chromosome_name, is_chromosome, part_of_x
from dpgrs.io.genotype_files import as_paths, order_parts
from dpgrs.io.genotype_forms import BGEN, PLINK, form_named
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.plain_records import PlainFile, PlainRecord
from dpgrs.io.vcf.bcf import is_bcf
from dpgrs.io.vcf.records import PROVISIONAL, SET_REF, sample_place
from dpgrs.io.vcf.text import COPY_AGAIN, find_index, require_one_header

_PLAIN_FORMS = (PLINK, BGEN)
_MAKE_AGAIN = "Make the store again: dpgrs ingest-chromosome"


# cyvcf2 gives dosages as float32: what lies halfway between two steps may go either way.
_LARGEST_ROUNDING = DOSAGE_STEP / 2 + 2.0**-21


# The texts that a VCF of PLINK files has for an allele that nobody has.
_UNSEEN = ("0", ".", "N")

Site = tuple[str, int, str, str, str]  # contig, position, id, ref, alt


class _Expected(NamedTuple):
    """One ALT allele of a record, as the store should have it."""

    site: Site
    is_alternate: np.ndarray | None  # (n_haplotypes,); None for dosages, whose nearest calls must be there
    is_missing: np.ndarray  # (n_haplotypes,)
    dosages: np.ndarray | None = None  # (n_samples,) NaN if missing, if the store is of dosages


def check_store(store: Path | str, genotypes: Path | str | Sequence[Path | str]) -> dict[str, int]:
    """Compare samples, sites, every bit and all counts of a store with the files that it comes from.

    Genotypes are a VCF, BCF, ``.bed``, ``.pgen`` or ``.bgen``, a VCF with the same records, or a list of the
    chromosome's parts. Options are those recorded in the store, and it may hold some of the people of the
    file; then these are compared. A store by fixed sites is compared at its variants, whose alleles may be
    exchanged in the file. The first difference raises a DpgrsError, by its position and the place of the
    sample. The result has n_variants and n_samples.
    """
    haplotypes, paths = HaplotypeStore.open(store), as_paths(genotypes)
    missing = {"options", "counts", "source"} - haplotypes.attributes.keys()
    if missing:
        raise DpgrsError(
            "not-a-chromosome-store",
            f"`{haplotypes.path}` must be the store of one chromosome, got one without "
            f"{', '.join(sorted(missing))}. Name what dpgrs ingest-chromosome wrote.",
        )
    chromosome = haplotypes.attributes["options"]["chromosome"]
    for path in paths:
        form = form_named(path)
        command = form.to_vcf(path, chromosome)
        if command and form not in _PLAIN_FORMS:
            raise DpgrsError(
                "not-a-vcf", f"`{path}` must be a VCF or BCF, got {form.words}. Write one: {command}"
            )
    options, path = haplotypes.attributes["options"], paths[0]
    paths = order_parts(paths, options["chromosome"]) if len(paths) > 1 else paths
    records = _Records(
        paths,
        options,
        people=haplotypes.sample_id.tolist(),
        is_of_plink=_is_of_plink(haplotypes) and not _is_plain(path),
        sites=haplotypes.variants[["position", "ref", "alt"]].to_numpy().tolist()
        if options.get("fixed_sites")
        else None,
    )
    if records.samples != haplotypes.sample_id.tolist():
        raise _difference(haplotypes, path, "in the samples or their order")
    expected = iter(records)
    for chunk in haplotypes.chunks():
        _compare_chunk(haplotypes, path, chunk, expected)
    if (more := next(expected, None)) is not None:
        raise _difference(haplotypes, path, f"after its last variant: {_name(more.site)} is not in the store")
    _compare_counts(haplotypes, path, records)
    return {"n_variants": haplotypes.n_variants, "n_samples": haplotypes.n_samples}


class _Records:
    """The usable ALT alleles of a contig as other code gives them, counted while they are read."""

    def __init__(
        self,
        paths: list[Path],
        options: Mapping[str, Any],
        *,
        people: list[str],
        is_of_plink: bool,
        sites: list[list[Any]] | None,
    ) -> None:
        from cyvcf2.cyvcf2 import set_htslib_log_level

        set_htslib_log_level(0)  # htslib's lines on stderr would stand where ours belong
        for path in paths:
            if _is_plain(path):
                continue
            find_index(path)
            if not is_bcf(path):
                require_one_header(path)  # htslib takes it for records of other contigs
        self._paths, self._files = (
            paths,
            [
                PlainFile(path, options["chromosome"], field=options.get("field", "GT"))
                if _is_plain(path)
                else _open(path)
                for path in paths
            ],
        )
        samples = self._files[0].samples
        self._chromosomes = {options["chromosome"]}
        if is_of_plink and part_of_x(options["chromosome"]):
            # plink2 writes PAR1 and PAR2 as X; XY, by version, as X or as it is.
            self._chromosomes.add("X")
        self._is_phase_required = options["phased"] == "required"
        self._is_filter_kept = options["keep_filtered"]
        self._is_ref_known = options.get("known_ref", False)
        self._has_dosages = options.get("field") == "DS"
        self._sites = None if sites is None else {position: alleles for position, *alleles in sites}
        chosen = set(people)
        self.samples = [name for name in samples if name in chosen]
        has_all = len(self.samples) == len(samples)
        self._people = slice(None) if has_all else np.array([name in chosen for name in samples])
        self.counts = {"n_records": 0, "missing_alleles": 0, "haploid_calls": 0}
        self._is_of_plink = is_of_plink

    def __iter__(self) -> Iterator[_Expected]:
        for record in self._read():
            if not any(is_chromosome(record.CHROM, name) for name in self._chromosomes):
                continue
            self.counts["n_records"] += 1
            is_from_vcf = not isinstance(record, PlainRecord)  # others were refused, or have a known REF
            if self._is_ref_known and is_from_vcf and PROVISIONAL in str(record).split("\t", 8)[7].split(";"):
                site = f"{record.CHROM}:{record.POS}"
                raise DpgrsError(
                    "reference-allele-unknown",
                    f"the VCF must have REF of the genome at {site}, got `INFO/PR`. {SET_REF}",
                )
            is_of_dosages = self._has_dosages and not {"DS", "HDS", "GP"}.isdisjoint(record.FORMAT)
            has_genotypes = is_of_dosages or "GT" in record.FORMAT
            is_usable = has_genotypes and (self._is_filter_kept or record.FILTER is None)
            if is_usable and (stored := self._stored_sites(record)):
                yield from (self._dosages if is_of_dosages else self._calls)(record, stored)

    def _stored_sites(self, record: Any) -> dict[int, Site]:
        """Return the alleles of a record that the store has as ALT, by number, and their sites."""
        locus = record.CHROM, record.POS, record.ID or "."
        if self._sites is None:
            alts = [k for k, alt in enumerate(record.ALT, start=1) if _is_letters(record.REF + alt)]
            return {k: (*locus, record.REF, record.ALT[k - 1]) for k in alts}
        listed, first, second = self._sites.get(record.POS, ()), record.REF, ",".join(record.ALT) or "."
        for number, named in ((1, (first, second)), (0, (second, first))):
            if listed and all(name in (stored, *_UNSEEN) for name, stored in zip(named, listed, strict=True)):
                return {number: (*locus, *listed)}
        return {}

    def _read(self) -> Iterator[Any]:
        for path, file in zip(self._paths, self._files, strict=True):
            try:
                yield from file
            except Exception as error:  # of no class of its own
                raise DpgrsError(
                    "file-damaged", f"`{path}` cannot be read to its end. {COPY_AGAIN}"
                ) from error

    def _calls(self, record: Any, stored: dict[int, Site]) -> Iterator[_Expected]:
        first, second, n_haploid = self._alleles(record.genotype.array())
        alleles = np.stack([first, second], axis=1)[self._people].ravel()
        # Haploid calls are counted as they are read, of everybody in the file; PLINK has none.
        if not self._is_of_plink:
            self.counts["haploid_calls"] += n_haploid
        for k, site in stored.items():
            expected = _Expected(site, alleles == k, alleles < 0)
            if self._has_dosages:
                expected = _of_dosages(site, _counted(alleles, k))
            self.counts["missing_alleles"] += np.count_nonzero(expected.is_missing)
            yield expected

    def _dosages(self, record: Any, stored: dict[int, Site]) -> Iterator[_Expected]:
        alleles, is_one = None, False
        if "GT" in record.FORMAT:
            calls = record.genotype.array()[self._people]
            first, second, _ = self._alleles(record.genotype.array())
            is_one = (calls[:, 0] >= 0) & ((calls[:, 1] == -2) if calls.shape[1] > 2 else True)
            alleles = np.stack([first, second], axis=1)[self._people].ravel()
        for k, site in stored.items():
            dosages = np.full(len(self.samples), np.nan)
            for name, dosages_of in (("DS", _of_ds), ("HDS", _of_hds), ("GP", _of_gp)):
                if name in record.FORMAT:
                    values = dosages_of(record.format(name)[self._people], k or 1, is_one)
                    values = values if k else 2 - values
                    dosages = np.where(np.isnan(dosages), values, dosages)
            if alleles is not None:
                dosages = np.where(np.isnan(dosages), _counted(alleles, k), dosages)
            expected = _of_dosages(site, dosages)
            self.counts["missing_alleles"] += np.count_nonzero(expected.is_missing)
            yield expected

    def _alleles(self, calls: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """Return (n_samples,) first and second alleles, below 0 if missing, and the haploid calls."""
        first, is_phased = calls[:, 0], calls[:, -1] == 1
        second = calls[:, 1] if calls.shape[1] > 2 else np.full_like(first, -2)
        is_haploid = (second == -2) & (first >= 0)
        if self._is_phase_required:
            is_half = ((first < 0) != (second < 0)) & ~is_phased & ~is_haploid
            first, second = np.where(is_half, -1, first), np.where(is_half, -1, second)
        else:
            second = np.where(is_haploid, first, second)
        return first, second, int(np.count_nonzero(is_haploid))


def _of_ds(values: np.ndarray, number: int, is_one: np.ndarray | bool) -> np.ndarray:
    # One dot may stand for all ALTs.
    dosages = np.where(np.isnan(values).all(axis=1), np.nan, values[:, min(number, values.shape[1]) - 1])
    return np.where(is_one, 2 * dosages, dosages)


def _of_hds(values: np.ndarray, number: int, is_one: np.ndarray | bool) -> np.ndarray:
    n_values = np.count_nonzero(~np.isnan(values), axis=1)
    return np.where(n_values > 0, 2 * np.nansum(values, axis=1) / np.maximum(n_values, 1), np.nan)


def _of_gp(values: np.ndarray, number: int, is_one: np.ndarray | bool) -> np.ndarray:
    n_alleles = values.shape[1]
    pairs = [(first, second) for second in range(n_alleles) for first in range(second + 1)]
    copies = np.array([(first == number) * 1.0 + (second == number) for first, second in pairs[:n_alleles]])
    is_there = np.nansum(values, axis=1) > 0
    dosages = np.where(is_one, 2 * values[:, number], np.nan_to_num(values) @ copies)
    return np.where(is_there, np.minimum(dosages, 2), np.nan)


def _is_letters(allele: str) -> bool:
    return allele.isascii() and allele.isalpha()


def _open(path: Path) -> Any:
    from cyvcf2 import VCF

    try:
        return VCF(str(path.absolute()), threads=2)
    except Exception as error:  # cyvcf2 raises nothing more precise
        raise DpgrsError(
            "header-unreadable", f"`{path}` has a header that htslib cannot read. {COPY_AGAIN}"
        ) from error


def _counted(alleles: np.ndarray, number: int) -> np.ndarray:
    """Return (n_samples,) how often a call has an allele; NaN if one of two alleles is missing."""
    return np.where(alleles < 0, np.nan, alleles == number).reshape(-1, 2).sum(axis=1)


def _of_dosages(site: Site, dosages: np.ndarray) -> _Expected:
    return _Expected(site, None, np.isnan(dosages).repeat(2), dosages)


def _compare_chunk(store: HaplotypeStore, path: Path, chunk: slice, expected: Iterator[_Expected]) -> None:
    haplotypes, missing = store.haplotypes(chunk), store.missing(chunk)
    missing = np.zeros_like(haplotypes) if missing is None else missing
    steps = store.dosages(chunk) if store.has_dosages else None
    for i, site in enumerate(store.variants[chunk].itertuples(index=False, name=None)):
        row = next(expected, None)
        if row is None:
            raise _difference(store, path, f"at {_name(site)}: the file has no such record there")
        contig, position, id_, *alleles = site
        if chromosome_name(contig) == chromosome_name(row.site[0]):
            contig = row.site[0]  # synonyms
        if row.site != (contig, position, id_ or ".", *alleles):
            raise _difference(
                store, path, f"at {_name(site)}: the file has {_name(row.site)} there, or another id"
            )
        is_alternate = row.is_alternate
        if steps is not None:
            is_far = np.abs(steps[i] * DOSAGE_STEP - np.nan_to_num(row.dosages)) > _LARGEST_ROUNDING
            if is_far.any():
                where = f"at {_name(site)}: the dosage of {sample_place(int(is_far.argmax()))}"
                raise _difference(store, path, where)
            is_alternate = hard_calls(steps[i]).astype(bool) & ~row.is_missing
        bits, dots = (unpack(plane[i], store.n_haplotypes) for plane in (haplotypes, missing))
        is_other = (bits != is_alternate) | (dots != row.is_missing)
        if is_other.any():
            sample, second = divmod(int(is_other.argmax()), 2)
            which = "second" if second else "first"
            raise _difference(store, path, f"at {_name(site)}: the {which} allele of {sample_place(sample)}")


def _is_plain(path: Path) -> bool:
    """Return whether a file is read by `dpgrs.io.plain_records`."""
    return form_named(path) in _PLAIN_FORMS


def _is_of_plink(store: HaplotypeStore) -> bool:
    return any(file["file"].endswith(PLINK.endings) for file in store.source_files)


def _compare_counts(store: HaplotypeStore, path: Path, records: _Records) -> None:
    for name, counted in records.counts.items():
        # A store of a version that knew no haploid calls has none of them.
        recorded = store.attributes["counts"].get(name, 0)
        if recorded != counted:
            raise _difference(store, path, f"in `{name}`: the file has {counted}, the store says {recorded}")


def _difference(store: HaplotypeStore, path: Path, where: str) -> DpgrsError:
    chromosome = store.attributes["options"]["chromosome"]
    is_part = _is_of_plink(store) and not _is_plain(path) and chromosome_name(chromosome) == "X"
    remedy = f", or export that part of X alone: plink2 --chr {chromosome}" if is_part else ""
    return DpgrsError("store-differs", f"`{store.path}` differs from `{path}` {where}. {_MAKE_AGAIN}{remedy}")


def _name(site: Site) -> str:
    contig, position, _, ref, alt = site
    return f"{contig}:{position} {_short(ref)}>{_short(alt)}"


def _short(allele: str) -> str:
    return allele if len(allele) <= 10 else f"{allele[:7]}..."
