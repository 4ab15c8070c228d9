"""Problems of the genotype files of a cohort by their names and headers."""

import re
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.config.study import SOURCES
from dpgrs.errors import DpgrsError, must
from dpgrs.io.chromosomes import AUTOSOMES, chromosome_name, is_chromosome
from dpgrs.io.genotype_files import order_parts
from dpgrs.io.genotype_forms import PLINK, form_named, form_of_source
from dpgrs.preflight.controlled import encrypted_line, is_encrypted
from dpgrs.study.cohort_files import (
    COHORT_KEYS,
    cohort_files,
    cohort_pattern,
    has_genotype_files,
    is_absent,
)
from dpgrs.study.people_terms import needs_phase

if TYPE_CHECKING:
    from dpgrs.config.cohort import Cohort
    from dpgrs.io.vcf.vcf import VcfHeader
    from dpgrs.preflight.inspection import Inspection

HEADER_KEYS = (*COHORT_KEYS, "cohort.rows", "cohort.copies.people")
BRACED = re.compile(r"{[^{}]*}")


def read_headers(
    cohort: "Cohort",
    *,
    absent: Container[str],  # paths that are yet to be fetched
    read: "Callable[[tuple[Path, ...]], VcfHeader]",  # as `Inspection.header`
) -> "tuple[dict[str, VcfHeader], list[str]]":
    """Return headers of a cohort's files by chromosome, and a line for each that cannot be read."""
    headers, lines = {}, []
    for key, chromosome in _expected_files(cohort, absent):
        try:
            files = tuple(cohort_files(cohort, chromosome))
            headers[chromosome] = read(files)
            if len(files) > 1:
                order_parts(files, chromosome)
            if needs_phase(cohort):
                form_named(files[0]).require_phase(files[0], chromosome)
        except DpgrsError as error:
            lines.append(f"`{key}`: {error}")
    return headers, lines


def absent_files(
    cohort: "Cohort",
    *,
    absent: Container[str],  # paths that are yet to be fetched
) -> list[str]:
    """List the genotype files of a cohort that are not there, one line each, and open none."""
    lines = []
    for key, chromosome in _expected_files(cohort, absent):
        try:
            files = cohort_files(cohort, chromosome)
        except DpgrsError as error:
            lines.append(f"`{key}`: {error}")
            continue
        lines += [
            f"`{key}`: `{path}` is not there. Mend the path, or fetch the file."
            for path in files
            if not path.exists()
        ]
    return lines


def _expected_files(cohort: "Cohort", absent: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield the key of the genotype files and each chromosome whose files must be there by now."""
    if not has_genotype_files(cohort):
        return
    key, pattern = cohort_pattern(cohort)
    for chromosome in cohort.chromosomes if pattern and not is_encrypted(pattern) else ():
        if pattern.replace("{chrom}", chromosome) not in absent and not is_absent(cohort, chromosome):
            yield key, chromosome


def simulation_problems(inspection: "Inspection") -> list[str]:
    """Find keys of files, and chromosomes, that a simulated cohort does not have."""
    cohort = inspection.config.cohort
    if cohort.source != "simulate":
        return []
    lines = [
        must(
            "cohort.source",
            f"be {source} where `cohort.{key}` is given",
            "simulate",
            f"Say `source: {source}`.",
        )
        for key, source in (*zip(SOURCES, SOURCES, strict=True), ("populations", "vcf"))
        if getattr(cohort, key) is not None
    ]
    foreign = [name for name in cohort.chromosomes if chromosome_name(name) not in AUTOSOMES]
    if foreign:
        fix = "Correct them, or give VCFs with `source: vcf`."
        lines.append(must("cohort.chromosomes", "be among 1 to 22 for simulation", ", ".join(foreign), fix))
    return lines


def header_problems(inspection: "Inspection") -> list[str]:
    """List the problems of the names of the cohort's files, and of their headers."""
    cohort, (headers, lines) = inspection.config.cohort, inspection.genotypes
    if not has_genotype_files(cohort):
        return []
    key, path = cohort_pattern(cohort)
    return [
        *_pattern_problems(cohort, key, path),
        *lines,
        *_contig_problems(headers),
        *_sample_problems(headers, key, shows_ids=inspection.shows_ids),
    ]


def _pattern_problems(cohort: "Cohort", key: str, path: str | None) -> list[str]:
    source = cohort.source
    other_sources = [
        other_source
        for other_source in SOURCES
        if other_source != source and getattr(cohort, other_source) is not None
    ]
    if other_sources:
        domain = f"be {other_sources[0]} where `cohort.{other_sources[0]}` is given"
        return [must("cohort.source", domain, source, "Correct it, or leave one of the two out.")]
    if path is None:
        fix = f"Give the {source.upper()} files, or simulate."
        return [must(key, f"be a path for `cohort.source: {source}`", "null", fix)]
    if is_encrypted(path):
        return [encrypted_line(key, path)]
    form, named_form = form_of_source(source), form_named(path)
    # A path without an ending may be the prefix of a set of PLINK files.
    if named_form.source != source and (named_form.endings or source != "plink"):
        fix = f"Say `source: {named_form.source}`, and give it as `{named_form.source}`."
        return [must(key, f"be {form.words}", path, fix)]
    stray = [name for name in BRACED.findall(path) if name != "{chrom}"]
    if stray:
        return [must(key, "have no placeholder but {chrom}", stray[0], "Write {chrom}.")]
    if cohort.in_turn and ("*" in path or (source == "plink" and not path.endswith(PLINK.endings))):
        domain = "name one file for each chromosome with `cohort.in_turn`"
        return [must(key, domain, path, "Write its ending, and no `*`.")]
    return []


def _contig_problems(
    headers: "Mapping[str, VcfHeader]",  # by chromosome
) -> list[str]:
    """Find chromosomes that a header does not declare; a header that declares none is not judged."""
    names = [chromosome_name(chromosome) for chromosome in headers]
    lines = []
    if len(set(names)) < len(names):
        fix = "Name each once: `chr1` and `01` are 1, and `XY` and `PAR1` are parts of X."
        lines.append(must("cohort.chromosomes", "name every chromosome once", ", ".join(headers), fix))
    for chromosome, header in headers.items():
        if header.contigs and not any(is_chromosome(name, chromosome) for name in header.contigs):
            declared = ", ".join(list(header.contigs)[:5])
            domain = f"be contigs of {header.path}, such as {declared}"
            lines.append(must("cohort.chromosomes", domain, chromosome, "Correct the name or the path."))
    return lines


def _sample_problems(
    headers: "Mapping[str, VcfHeader]",  # by chromosome
    key: str,
    *,
    shows_ids: bool,
) -> list[str]:
    """Find files that do not hold the same people in the same order as the first."""
    if not headers:
        return []
    first, *later_headers = headers.values()
    lines = []
    if len(first.samples) < 2:
        lines.append(must(key, "hold at least 2 people", f"1 in {first.path}", "Add people to test on."))
    for other in later_headers:
        if other.samples == first.samples:
            continue
        common = len(set(other.samples) & set(first.samples))
        got = f"others in {first.path} than in {other.path}"
        if shows_ids:
            sizes = (f"{len(header.samples)} in {header.path}" for header in (first, other))
            got = f"{', '.join(sizes)}, {common} in both"
        fix = "Select them with `bcftools view --samples-file`."
        if key == "cohort.plink":
            fix = "Select them with `plink2 --keep`."
        lines.append(must(key, "hold the same people in the same order in all files", got, fix))
    return lines
