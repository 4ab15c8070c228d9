"""The only door to genotype files: VCF, BCF and PLINK, whole or in several parts for a chromosome."""

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.chromosomes import everybody_has_two, is_chromosome
from dpgrs.io.files import file_digest, folder_digest
from dpgrs.io.genome_builds import builds_of_header
from dpgrs.io.genotype_forms import PLINK, form_named, form_of
from dpgrs.io.vcf.vcf import N_THREADS, VariantBatch, VcfHeader

if TYPE_CHECKING:
    import pandas as pd


INDEX_ENDINGS = (".tbi", ".csi")


def find_genotype_files(pattern: str, chromosome: str, *, is_prefix: bool = False) -> list[Path]:
    """Return the files of a chromosome by name, at least one:

    VCFs, BCFs, or the ``.pgen`` or ``.bed`` of sets.

    In `pattern`, a path, ``{chrom}`` stands for the chromosome and ``*`` for any text: then the files that
    match are parts of the chromosome. With `is_prefix`, a pattern may lack the ending ``.pgen`` or ``.bed``.
    """
    path = pattern.replace("{chrom}", chromosome)
    if not is_prefix or path.endswith(PLINK.endings):
        return _matching(path)
    endings = [ending for ending in PLINK.endings if _glob(path + ending)]
    if not endings:
        raise DpgrsError(
            "plink-genotypes-missing",
            f"`{path}` has no .pgen and no .bed beside it. Mend the path, or fetch the files.",
        )
    if len(endings) > 1:
        raise DpgrsError(
            "plink-genotypes-ambiguous",
            f"`{path}` has a .pgen and a .bed. Name the one to use, with its ending.",
        )
    return _matching(path + endings[0])


def with_companions(paths: Sequence[Path | str]) -> list[Path]:
    """Return genotype files with the tables that belong to them: .bim and .fam, .pvar and .psam."""
    return [file for path in map(Path, paths) for file in form_named(path).files(path)]


def genotype_header(paths: Path | str | Sequence[Path | str]) -> VcfHeader:
    """Read the samples and contigs of genotype files, or of the parts of a chromosome."""
    return joined_header(genotype_headers(paths))


def genotype_headers(paths: Path | str | Sequence[Path | str]) -> list[VcfHeader]:
    """Read the samples and contigs of each genotype file."""
    return [form_of(path).header(path) for path in as_paths(paths)]


def joined_header(headers: Sequence[VcfHeader]) -> VcfHeader:
    """Return a header with the path of the first file, and the contigs of all.

    Parts of a chromosome must hold the same people in the same order.
    """
    first, *other_headers = headers
    contigs = dict(first.contigs)
    for other in other_headers:
        if other.samples != first.samples:
            raise DpgrsError(
                "people-of-parts-differ",
                f"`{other.path}` must hold the same people in the same order as `{first.path}`, as parts of "
                "one chromosome do. Select them with `bcftools view --samples-file`, or correct the pattern.",
            )
        _require_same_build(first, other)
        contigs |= {name: length for name, length in other.contigs.items() if length or name not in contigs}
    return VcfHeader(first.path, first.samples, contigs)


def _require_same_build(first: VcfHeader, other: VcfHeader) -> None:
    """Refuse a file whose header declares another genome build than the first one."""
    builds, other_builds = builds_of_header(first), builds_of_header(other)
    if builds and other_builds and not builds.keys() & other_builds.keys():
        build, clue = next(iter(builds.items()))
        another, other_clue = next(iter(other_builds.items()))
        raise DpgrsError(
            "genome-builds-differ",
            f"`{other.path}` must be of the genome build of `{first.path}`, {build} by {clue}, got {another} "
            f"by {other_clue}. Lift one over, or leave it out.",
        )


def genotype_reader(
    paths: Path | str | Sequence[Path | str],
    chromosome: str,
    *,
    headers: Sequence[VcfHeader] | None = None,
    phased: str = "required",
    keep_filtered: bool = False,
    known_ref: bool = False,
    field: str = "GT",
    sites: "pd.DataFrame | None" = None,
    n_threads: int = N_THREADS,
) -> Any:
    """Return a reader of one chromosome, whatever the format of its files: a ContigReader or one like it.

    Parts of the chromosome may come in any order; `headers` are theirs, if they were read. Options are those
    of `dpgrs.io.vcf.vcf.ContigReader`; `n_threads` read a VCF, other files are read in one. Parts that begin
    with another contig or at one position are refused, and so are dosages of a chromosome that is no
    autosome, of which men may have one. With public `sites` only these are read, by the letters of their
    alleles (`dpgrs.io.listed_sites`): each must have one record in the files, which must list their variants.
    """
    paths = as_paths(paths)
    by_path = dict(zip(paths, headers or genotype_headers(paths), strict=True))
    options = {"phased": phased, "keep_filtered": keep_filtered, "known_ref": known_ref, "field": field}
    if field == "DS" and not everybody_has_two(chromosome):
        raise DpgrsError(
            "dosage-scale-unknown",
            f"`{paths[0]}` does not say whether the dosages of men on chromosome {chromosome}, which is none "
            "of 1 to 22, go up to 1 or to 2. Leave the chromosome out, or read its calls: `field: GT`.",
        )
    if len(paths) > 1:
        paths = order_parts(paths, chromosome)
    if sites is not None:
        from pandas import concat

        from dpgrs.io.listed_sites import require_one_record, sites_of_chromosome

        options["sites"] = sites = sites_of_chromosome(sites, chromosome)
        if other := next((path for path in paths if not form_of(path).is_listed), None):
            raise UsageError(
                "form-without-fixed-sites",
                f"`{other}` must be PLINK files or a BGEN to be read by public sites, got another form. "
                "Leave out `cohort.fixed_sites`.",
            )
    readers = [
        form_of(path).reader(by_path[path], chromosome, n_threads=n_threads, **options) for path in paths
    ]
    if sites is not None:
        require_one_record(paths, sites, concat([reader.rows for reader in readers]))
    return readers[0] if len(readers) == 1 else PartsReader(paths, readers)


def order_parts(paths: Sequence[Path | str], chromosome: str) -> list[Path]:
    """Return the parts of a chromosome by their first positions, at least one; leave out empty ones."""
    paths = as_paths(paths)
    sites = {path: site for path in paths if (site := form_of(path).first_site(path))}
    for path, (contig, _) in sites.items():
        if not is_chromosome(contig, chromosome):
            raise DpgrsError(
                "part-of-another-chromosome",
                f"`{path}` must begin with chromosome {chromosome}, as a part of it, got {contig}. Write a "
                "pattern that matches parts of one chromosome alone, such as chr{chrom}_*.vcf.gz.",
            )
    return sorted(sites, key=lambda path: sites[path][1]) or paths[:1]


def describe_files(paths: Path | str | Sequence[Path | str]) -> dict[str, str] | list[dict[str, str]]:
    """Return the name and digest of the file read, as a dict, or a list of them if there are several."""
    described = [
        {"file": path.name, "sha256": folder_digest(path) if path.is_dir() else file_digest(path)}
        for path in with_companions(as_paths(paths))
    ]
    return described[0] if len(described) == 1 else described


class PartsReader:
    """The variants of a chromosome from several files, one after the other, by their positions.

    Its other attributes are the counters of `dpgrs.io.vcf.vcf.ContigReader`, summed over the parts.
    """

    def __init__(self, paths: list[Path], readers: list[Any]) -> None:
        self._paths = paths
        self._readers = readers

    def __getattr__(self, counter: str) -> Any:
        first, *further = (getattr(reader, counter) for reader in self._readers)
        return sum(further, start=first)

    def batches(self, n_variants: int) -> Iterator[VariantBatch]:
        """Yield batches of `n_variants`, the last of every part of fewer; refuse parts that overlap."""
        end, previous = 0, None
        for path, reader in zip(self._paths, self._readers, strict=True):
            last = end
            for batch in reader.batches(n_variants):
                first = int(np.min(batch.columns["position"]))
                if first <= end:
                    raise DpgrsError(
                        "parts-overlap",
                        f"`{path}` must begin after position {end}, where `{previous}` ends, got position "
                        f"{first}. Cut the parts so that none overlap, or correct the pattern.",
                    )
                last = max(last, int(np.max(batch.columns["position"])))
                yield batch
            # A part in which nothing could be used ends nowhere.
            end, previous = (last, path) if last > end else (end, previous)


def as_paths(paths: Path | str | Sequence[Path | str]) -> list[Path]:
    """Return one path, or several, as a list of pathlib.Path."""
    return [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]


def _glob(path: str) -> list[str]:
    """Match only ``*``: brackets and question marks stand for themselves."""
    return sorted(glob.glob("*".join(map(glob.escape, path.split("*")))))  # noqa: PTH207


def _matching(path: str) -> list[Path]:
    if "*" not in path:
        return [Path(path)]
    matches = [Path(name) for name in _glob(path) if not name.endswith(INDEX_ENDINGS)]
    if not matches:
        raise DpgrsError(
            "pattern-without-files", f"`{path}` matches no file. Mend the pattern, or fetch the files."
        )
    return matches
