"""From the genotype files of one chromosome to its haplotype store."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import EVEN_BITS
from dpgrs.io.chromosomes import chromosome_name
from dpgrs.io.genome_builds import BuildCheck, is_autosome
from dpgrs.io.genotype_files import describe_files, genotype_headers, genotype_reader, joined_header
from dpgrs.io.haplotype_store import rows_per_batch
from dpgrs.io.store_writer import StoreWriter
from dpgrs.io.vcf.vcf import N_THREADS, VariantBatch

if TYPE_CHECKING:
    import pandas as pd


def ingest_chromosome(
    genotypes: Path | str | Sequence[Path | str],
    *,
    chromosome: str | int,
    store: Path | str,
    phased: str = "required",
    keep_filtered: bool = False,
    known_ref: bool = False,
    field: str = "GT",
    sites: "pd.DataFrame | None" = None,
    people: Path | str | None = None,
    genome_build: str | None = None,
    threads: int = N_THREADS,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Read one chromosome of genotype files into a haplotype store, one row per usable ALT allele.

    Genotypes are a VCF (BGZF with or without an index, plain gzip or plain text), BCF, VCF Zarr or BGEN, the
    ``.bed`` or ``.pgen`` of a set of PLINK files, or a list of the chromosome's parts. The store must be new
    or empty. `phased`, `keep_filtered`, `known_ref`, `field` and `threads` are those of
    `dpgrs.io.vcf.vcf.ContigReader`; threads change no byte of the store. `sites` are public ones, as in
    `dpgrs.io.genotype_files.genotype_reader`; if none is on the chromosome, its store is empty. `people` is a
    list of ids, one a line: nobody else's calls reach the store. Positions must be of `genome_build`, if
    given. `progress` shows a running count on stderr, by default if it is a terminal.

    The result has n_records (of that chromosome), n_variants (rows), skipped (counts by reason),
    missing_alleles (over all rows) and haploid_calls (over all records used); with dosages also
    calls_as_dosages (over all rows). The store keeps them in its attributes, with the names and digests of
    the source files. After an error no store is left.

    If rows need no phase, half a call on a chromosome that may be haploid is a warning on stderr: nobody can
    tell a man's one allele from a call of which half is known.
    """
    headers = genotype_headers(genotypes)
    header = joined_header(headers)
    options: dict[str, Any] = {
        "phased": phased,
        "keep_filtered": keep_filtered,
        "known_ref": known_ref,
        "field": field,
    }
    reader = genotype_reader(
        genotypes, str(chromosome), headers=headers, n_threads=threads, sites=sites, **options
    )
    has_dosages, samples = field == "DS", header.samples
    batches = _plainly_named(reader.batches(rows_per_batch(len(samples), has_dosages=has_dosages)))
    if genome_build is not None:
        batches = _of_build(batches, BuildCheck(header.path, genome_build))
    chosen = None
    if people is not None:
        from dpgrs.io.tables.people import find_people  # brings pandas, which takes 0.2 s

        indices = find_people(people, samples)
        chosen = _ChosenPeople(indices, n_people=len(samples))
        batches = chosen.batches(batches)
        samples = tuple(samples[index] for index in indices)
    if sys.stderr.isatty() if progress is None else progress:
        batches = _with_progress(batches, f"chromosome {chromosome}")
    # The threads end before the writer does, which may remove what they write.
    with (
        StoreWriter.create(store, sample_id=samples, has_dosages=has_dosages) as writer,
        ThreadPoolExecutor(1) as hashing,
    ):
        source = hashing.submit(describe_files, genotypes)
        may_be_haploid = phased == "any" and not is_autosome(str(chromosome))
        has_half_calls = _append_beside_reading(writer, batches, seeks_halves=may_be_haploid)
        counts = {
            "n_records": reader.n_records,
            "n_variants": writer.n_variants,
            "skipped": dict(sorted(reader.skipped.items())),
            "missing_alleles": reader.missing_alleles if chosen is None else chosen.missing_alleles,
            "haploid_calls": reader.haploid_calls,
        }
        if has_dosages:
            counts["calls_as_dosages"] = reader.calls_as_dosages
        if not writer.n_variants and sites is None:
            raise DpgrsError("no-usable-variants", _nothing_usable(header.path, chromosome, counts))
        if has_half_calls:
            print(_half_calls(header.path, chromosome), file=sys.stderr)
        if counts.get("calls_as_dosages"):
            print(_calls_as_dosages(header.path, chromosome), file=sys.stderr)
        writer.attributes.update(
            source=source.result(),
            options={"chromosome": str(chromosome), **options}
            | ({} if sites is None else {"fixed_sites": True}),
            counts=counts,
        )
    return counts


def _plainly_named(batches: Iterable[VariantBatch]) -> Iterator[VariantBatch]:
    """Write the plain name of a chromosome if a file has a synonym; with or without ``chr`` it stays."""
    for batch in batches:
        contigs = np.asarray(batch.columns["contig"], dtype=object)
        names = {contig: chromosome_name(contig) for contig in set(contigs)}
        if all(contig.removeprefix("chr") == name for contig, name in names.items()):
            yield batch
        else:
            yield batch._replace(columns=batch.columns | {"contig": [names[contig] for contig in contigs]})


def _of_build(batches: Iterable[VariantBatch], check: BuildCheck) -> Iterator[VariantBatch]:
    """Pass batches on, and refuse positions of another build."""
    for batch in batches:
        check.add(batch.columns)
        yield batch
    check.finish()


class _ChosenPeople:
    """Leaves everybody else out of batches, and counts the alleles that the chosen people miss."""

    def __init__(self, indices: np.ndarray, *, n_people: int) -> None:
        self._indices, self._n_people = indices, n_people
        self.missing_alleles = 0

    def batches(self, batches: Iterable[VariantBatch]) -> Iterator[VariantBatch]:
        from dpgrs.io.tables.people import take_people

        for columns, haplotypes, missing, dosages in batches:
            chosen, chosen_missing = (
                take_people(words, self._indices, n_people=self._n_people) for words in (haplotypes, missing)
            )
            self.missing_alleles += int(np.bitwise_count(chosen_missing).sum())
            yield VariantBatch(
                columns, chosen, chosen_missing, None if dosages is None else dosages[:, self._indices]
            )


def _append_beside_reading(
    writer: StoreWriter, batches: Iterable[VariantBatch], *, seeks_halves: bool
) -> bool:
    """Write each batch while the next is read.

    Return whether one allele of a call is missing and the other is not, if that is sought.
    """
    has_half_calls, written = False, None
    with ThreadPoolExecutor(1) as writing:
        for batch in batches:
            if written:
                written.result()
            written = writing.submit(writer.append, *batch)
            if seeks_halves and not has_half_calls:
                halves = batch.missing ^ (batch.missing >> np.uint64(1))
                has_half_calls = bool((halves & EVEN_BITS).any())
        if written:
            written.result()
    return has_half_calls


def _half_calls(path: Path, chromosome: str | int) -> str:
    return (
        f"dpgrs: warning: `{path}` has calls such as `1/.` on chromosome {chromosome}, as some callers write "
        "the one allele of a man: they count once, and what is missing is filled. Where `1` is meant, which "
        "counts twice, convert them: bcftools +fixploidy (docs/explanation/ingest.md)"
    )


def _calls_as_dosages(path: Path, chromosome: str | int) -> str:
    return (
        f"dpgrs: warning: `{path}` has genotypes without a dosage (DS, HDS, GP) on chromosome {chromosome}: "
        "their calls are taken. Their number is `calls_as_dosages` in the counts of the store."
    )


def _nothing_usable(path: Path, chromosome: str | int, counts: dict[str, Any]) -> str:
    reasons = ", ".join(counts["skipped"])
    is_filtered = counts["skipped"].get("filtered") == counts["n_records"]
    remedy = (
        "Set `cohort.keep_filtered: true`" if is_filtered else "Give a file with GT calls of ordinary alleles"
    )
    return (
        f"`{path}` has no usable variant on chromosome {chromosome}: all records were skipped "
        f"({reasons}). {remedy}."
    )


def _with_progress(batches: Iterable[VariantBatch], label: str) -> Iterator[VariantBatch]:
    """Pass batches on, with a running count on stderr."""
    start, n_variants = time.perf_counter(), 0
    try:
        for batch in batches:
            yield batch
            n_variants += len(batch.haplotypes)
            rate = n_variants / (time.perf_counter() - start)
            print(f"\r{label}: {n_variants:,} variants, {rate:,.0f} per second", end="", file=sys.stderr)
    finally:
        print(file=sys.stderr)
