"""Problems of a release that takes genotypes or outcomes as public: the files used must be published."""

import re
from typing import TYPE_CHECKING

from dpgrs.config.paths import PATTERN_KEYS
from dpgrs.errors import DpgrsError, must
from dpgrs.io.files import file_digest
from dpgrs.io.genotype_files import with_companions
from dpgrs.io.tables.table_samples import outcome_people
from dpgrs.preflight.controlled import WITH_VERSION, is_controlled
from dpgrs.study.cohort_files import cohort_files, cohort_pattern
from dpgrs.types import Neighbours, Protection

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

# The data that each protection takes as public.
PUBLIC = {Protection.LABEL: "genotypes", Protection.FEATURE: "outcomes"}
SIDES = {side: protection for protection, side in PUBLIC.items()}
KEYS = tuple(f"public.{side}.{name}" for side in SIDES for name in ("sha256", "origin"))
LISTS = ("people.keep", "people.remove", "people.consent.file", "people.related")
CONTROLLED = (
    *("privacy.protection", "dataset.accession", "public.genotypes.origin", "public.outcomes.origin"),
    *("cohort.source", *PATTERN_KEYS, "outcomes.source", "outcomes.file"),
)
PUBLISHED = f"Use the published files, or `protection: {Protection.FULL}`."
ON_REQUEST = re.compile(r"(?i)db ?gap|phs\d{6}")


def neighbour_problems(inspection: "Inspection") -> list[str]:
    """Refuse neighbours of other people: the public side names the people."""
    side, neighbours = _side(inspection), inspection["privacy.neighbours"]
    if side is None or neighbours == Neighbours.REPLACE_ONE:
        return []
    domain = f"be {Neighbours.REPLACE_ONE} under {SIDES[side]} protection"
    return [must("privacy.neighbours", domain, f"{neighbours}: who is in the study is public", "Change it.")]


def declared_problems(inspection: "Inspection", key: str) -> list[str]:
    """Ask for digest and origin of the public side, and refuse them where no side is public."""
    _, side, _ = key.split(".")
    setting, is_public_side = inspection[key], _side(inspection) == side
    if is_public_side and not setting:
        domain = f"be given for a release under {SIDES[side]} protection"
        fix = f"Name where anybody can get the {side}, or use `protection: full`."
        return [must(key, domain, "null: it is printed in the bundle", fix)]
    if setting and not is_public_side:
        got = f"{', '.join(inspection['privacy.protection'])}: nothing rests on it"
        return [f"`{key}` is for `privacy.protection: {SIDES[side]}`, got {got}. Leave it out."]
    return []


def source_problems(inspection: "Inspection") -> list[str]:
    """Refuse public outcomes that are simulated from private genotypes, and genotypes without files."""
    side = _side(inspection)
    key = side and ("cohort.source" if side == "genotypes" else "outcomes.source")
    if key is None or inspection[key] != "simulate":
        return []
    domain = f"be of files under {SIDES[side]} protection"
    return [must(key, domain, f"simulate: no file of {side} is public", "Name the published files.")]


def list_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse private lists of people where who is in the study is public."""
    side = _side(inspection)
    if side is None or inspection[key] is None:
        return []
    domain = f"be null under {SIDES[side]} protection, where who is in the study is public"
    return [must(key, domain, inspection[key], "Take all people of the published files.")]


def covariate_problems(inspection: "Inspection") -> list[str]:
    """Refuse covariates as columns of X, all of which label protection takes as public."""
    path = inspection["covariates.file"]
    if _side(inspection) != "genotypes" or path is None:
        return []
    domain = "be null under label protection, which takes all of X as public"
    return [must("covariates.file", domain, path, "Leave it out; components of the genotypes may stay.")]


def outcome_digest_problems(inspection: "Inspection") -> list[str]:
    """Compare the table of outcomes with the digest of the published one."""
    path, published_digest = inspection["outcomes.file"], inspection["public.outcomes.sha256"]
    if _side(inspection) != "outcomes" or not (path and published_digest):
        return []
    try:
        digest = file_digest(path)
    except OSError:
        return []  # reported where it is read
    if digest == published_digest:
        return []
    return [must("outcomes.file", "be the file of `public.outcomes.sha256`", "another", PUBLISHED)]


def genotype_digest_problems(inspection: "Inspection") -> list[str]:
    """Ask for as many files as digests; the step `make_variants` compares them, as hashing may take hours."""
    cohort, key = inspection.config.cohort, _key(inspection)
    n_digests = len(inspection["public.genotypes.sha256"])
    if _side(inspection) != "genotypes" or not n_digests or key is None or not inspection[key]:
        return []
    try:
        files = {path for chromosome in cohort.chromosomes for path in cohort_files(cohort, chromosome)}
        # PLINK sets may share their tables.
        least, most = len(files), len(with_companions(files))
    except DpgrsError:
        return []  # reported where these files are read
    if least <= n_digests <= most:
        return []
    as_many = f"be as many files as `public.genotypes.sha256` has digests, {n_digests}"
    return [must(key, as_many, least if n_digests < least else most, PUBLISHED)]


def people_problems(inspection: "Inspection") -> list[str]:
    """Ask for the same people in genotypes and public outcomes, as these name the people of the study."""
    path, people = inspection["outcomes.file"], inspection.people
    if _side(inspection) != "outcomes" or not (path and people):
        return []
    try:
        outcome_ids = {*outcome_people(path)}
    except DpgrsError:
        return []  # the check of the table reports it
    if outcome_ids == {*people}:
        return []
    domain = "hold the people with genotypes and no others under feature protection"
    got = "others: who is in the study would not be public"
    return [must("outcomes.file", domain, got, "Take the same people, or `protection: full`.")]


def controlled_problems(inspection: "Inspection") -> list[str]:
    """Refuse to take data as public that are handed out on request, as by dbGaP."""
    side = _side(inspection)
    if side is None:
        return []
    key, files = f"public.{side}.origin", _key(inspection)
    lines = [
        must(files, f"be public data under {SIDES[side]} protection", f"{path} of {study[0]}", "Use full.")
        for path in (inspection.paths(files) if files else ())
        if (study := WITH_VERSION.search(path))
    ]
    origin = inspection[key] or ""
    if ON_REQUEST.search(origin):
        domain = "be a place where anybody can get the files without asking"
        fix = f"Use `protection: {Protection.FULL}`."
        if is_controlled(inspection.config):
            fix = f"{fix} Genotypes and phenotypes of dbGaP are both controlled."
        lines.append(must(key, domain, origin, fix))
    return lines


def _side(inspection: "Inspection") -> str | None:
    """Return which side of the data a release takes as public; None under full protection."""
    return PUBLIC.get(inspection["privacy.protection"][0])


def _key(inspection: "Inspection") -> str | None:
    """Return the key that names the files of the public side; None where no files are."""
    side, cohort = _side(inspection), inspection.config.cohort
    if side == "outcomes":
        return "outcomes.file"
    return cohort_pattern(cohort)[0] if side == "genotypes" and cohort.source != "simulate" else None
