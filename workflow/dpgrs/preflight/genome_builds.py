"""Problems of the stated genome build, by headers and the positions in tables."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError, must
from dpgrs.io.genome_builds import KEY, LENGTHS, SIMULATED_BUILD, BuildCheck, DeclaredBuild, declared_builds
from dpgrs.io.genotype_forms import form_named
from dpgrs.study.cohort_files import cohort_files, cohort_pattern, has_genotype_files, reference_files_of

if TYPE_CHECKING:
    import pandas as pd

    from dpgrs.config.study import StudyConfig
    from dpgrs.preflight.inspection import Inspection


def build_problems(inspection: "Inspection") -> list[str]:
    """Find a genome build that is not stated, or that the chromosomes of cohort or reference do not have."""
    stated = inspection["release.genome_build"]
    if inspection["cohort.source"] == "simulate":
        domain = f"be {SIMULATED_BUILD} for a simulated cohort"
        return [] if stated == SIMULATED_BUILD else [must(KEY, domain, stated, "Leave it out.")]
    ours = declared_builds(inspection.genotypes[0])
    theirs = declared_builds(inspection.reference)
    mixed = next(
        ((declared, other) for declared in ours for other in theirs if declared.build != other.build), None
    )
    lines = [_mixed_builds(*mixed)] if mixed else []
    if stated is None and (
        other := next((declared for declared in ours if declared.build != ours[0].build), None)
    ):
        key = f"cohort.{inspection['cohort.source']}"
        domain = f"be of one genome build, {ours[0].build} by {_evidence(ours[0])}"
        lines.append(must(key, domain, f"{other.build} by {_evidence(other)}", "Lift one over."))
    if stated is None:
        return lines + ([_missing_build(ours + theirs)] if inspection["mode"] == "release" else [])
    # Where the two differ, the cohort's positions are those that are released.
    other = next(
        (declared for declared in (ours if mixed else ours + theirs) if declared.build != stated), None
    )
    if other:
        domain = f"be the build of {_evidence(other)} ({other.build})"
        lines.append(must(KEY, domain, stated, "Correct it, or lift the positions over."))
    return lines


def position_problems(inspection: "Inspection") -> list[str]:
    """Find PLINK files of the cohort or the reference whose positions are not of the stated build.

    VCF and BCF files are too long to be read here: their positions are checked as they are ingested.
    """
    if build_problems(inspection):
        return []  # reported of the headers already
    stated, lines = inspection["release.genome_build"], []
    files = _genotype_files(inspection.config, with_cohort=not inspection.headers_only)
    for path, chromosomes in files.items() if stated else ():
        try:
            listed = form_named(path).sites(path, chromosomes)
        except DpgrsError:
            continue  # reported by other checks, or by the job that reads it
        if listed:
            table, variants = listed
            lines += table_problems(variants, path=table, build=stated)
    return lines


def table_problems(
    variants: "pd.DataFrame",  # n_variants rows: contig, position and id
    *,
    path: Path | str,  # of the table, for the message
    build: str | None,  # None is not checked
) -> list[str]:
    """Say in one line, or none, that the positions of a table are not of the build."""
    if build not in LENGTHS:
        return []
    check = BuildCheck(path, build)
    try:
        check.add(variants)
        check.finish()
    except DpgrsError as error:
        return [str(error)]
    return []


def _genotype_files(config: "StudyConfig", *, with_cohort: bool) -> dict[Path, set[str]]:
    """Return the files of the reference, and perhaps of the cohort, with the chromosomes read from each."""
    cohort, reference = config.cohort, config.public.reference
    has_files = with_cohort and has_genotype_files(cohort) and cohort_pattern(cohort)[1]
    chromosomes_of = defaultdict(set)
    for chromosome in cohort.chromosomes:
        try:
            files = cohort_files(cohort, chromosome) if has_files else []
            files = [*files, *(reference_files_of(reference, chromosome) if reference else [])]
        except DpgrsError:
            continue  # other checks report it
        for path in files:
            chromosomes_of[path].add(chromosome)
    return chromosomes_of


def _missing_build(declared: Sequence[DeclaredBuild]) -> str:
    fix = "Say of which build the positions are."
    if declared:
        fix = f"It is {declared[0].build} by {_evidence(declared[0])}."
    return must(KEY, f"be {' or '.join(LENGTHS)} for a cohort from files", "null", fix)


def _mixed_builds(cohort: DeclaredBuild, reference: DeclaredBuild) -> str:
    domain = f"be of the build of the cohort, {cohort.build} by {_evidence(cohort)}"
    got = f"{reference.build} by {_evidence(reference)}"
    return must("public.reference", domain, got, "Lift one over.")


def _evidence(declared: DeclaredBuild) -> str:
    if declared.length is None:
        return f"{declared.path}, whose contig is {declared.chromosome}"
    return f"{declared.path}, whose chromosome {declared.chromosome} has length {declared.length}"
