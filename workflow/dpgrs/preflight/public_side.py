"""What keeps a release from taking genotypes or outcomes as public: they must be, in the very files used."""

import re

from dpgrs.config.paths import PATTERN_KEYS
from dpgrs.errors import DpgrsError, must
from dpgrs.io.files import file_digest
from dpgrs.io.genotype_files import with_companions
from dpgrs.io.tables.table_samples import outcome_people
from dpgrs.preflight.controlled import WITH_VERSION, is_controlled
from dpgrs.study.cohort_files import cohort_files, cohort_pattern
from dpgrs.types import Neighbours, Protection

# What each protection takes as public.
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


def neighbour_problems(inspection):
    """Refuse neighbours of other people: whose data one side is, the public side tells."""
    side, neighbours = _side(inspection), inspection["privacy.neighbours"]
    if side is None or neighbours == Neighbours.REPLACE_ONE:
        return []
    wanted = f"be {Neighbours.REPLACE_ONE} under {SIDES[side]} protection"
    return [must("privacy.neighbours", wanted, f"{neighbours}: who is in the study is public", "Change it.")]


def declared_problems(inspection, key):
    """Ask what is public and where it is, and refuse it where nothing rests on it."""
    _, side, _ = key.split(".")
    value, is_wanted = inspection[key], _side(inspection) == side
    if is_wanted and not value:
        wanted = f"be given for a release under {SIDES[side]} protection"
        fix = f"Name where anybody can get the {side}, or use `protection: full`."
        return [must(key, wanted, "null: it is printed in the bundle", fix)]
    if value and not is_wanted:
        got = f"{', '.join(inspection['privacy.protection'])}: nothing rests on it"
        return [f"`{key}` is for `privacy.protection: {SIDES[side]}`, got {got}. Leave it out."]
    return []


def source_problems(inspection):
    """Refuse public outcomes that are simulated from private genotypes, and genotypes without files."""
    side = _side(inspection)
    key = side and ("cohort.source" if side == "genotypes" else "outcomes.source")
    if key is None or inspection[key] != "simulate":
        return []
    wanted = f"be of files under {SIDES[side]} protection"
    return [must(key, wanted, f"simulate: no file of {side} is public", "Name the published files.")]


def list_problems(inspection, key):
    """Refuse private lists of people where who is in the study is public."""
    side = _side(inspection)
    if side is None or inspection[key] is None:
        return []
    wanted = f"be null under {SIDES[side]} protection, where who is in the study is public"
    return [must(key, wanted, inspection[key], "Take all people of the published files.")]


def covariate_problems(inspection):
    """Refuse covariates as columns of X, all of which label protection takes as public."""
    path = inspection["covariates.file"]
    if _side(inspection) != "genotypes" or path is None:
        return []
    wanted = "be null under label protection, which takes all of X as public"
    return [must("covariates.file", wanted, path, "Leave it out; components of the genotypes may stay.")]


def outcome_digest_problems(inspection):
    """Hold the table of outcomes against the digest of the one that was published."""
    path, wanted = inspection["outcomes.file"], inspection["public.outcomes.sha256"]
    if _side(inspection) != "outcomes" or not (path and wanted):
        return []
    try:
        found = file_digest(path)
    except OSError:
        return []  # said where it is read
    if found == wanted:
        return []
    return [must("outcomes.file", "be the file of `public.outcomes.sha256`", "another", PUBLISHED)]


def genotype_digest_problems(inspection):
    """Ask for as many files as digests; the step `make_variants` compares them, as hashing may take hours."""
    cohort, key = inspection.config.cohort, _key(inspection)
    wanted = len(inspection["public.genotypes.sha256"])
    if _side(inspection) != "genotypes" or not wanted or key is None or not inspection[key]:
        return []
    try:
        files = {path for one in cohort.chromosomes for path in cohort_files(cohort, one)}
        # Tables of PLINK sets may be the same ones.
        least, most = len(files), len(with_companions(files))
    except DpgrsError:
        return []  # said where these files are read
    if least <= wanted <= most:
        return []
    as_many = f"be as many files as `public.genotypes.sha256` has digests, {wanted}"
    return [must(key, as_many, least if wanted < least else most, PUBLISHED)]


def people_problems(inspection):
    """Ask for the same people in genotypes and public outcomes: whoever is in one alone would be known."""
    path, people = inspection["outcomes.file"], inspection.people
    if _side(inspection) != "outcomes" or not (path and people):
        return []
    try:
        known = {*outcome_people(path)}
    except DpgrsError:
        return []  # said of the table
    if known == {*people}:
        return []
    wanted = "hold the people with genotypes and no others under feature protection"
    got = "others: who is in the study would not be public"
    return [must("outcomes.file", wanted, got, "Take the same people, or `protection: full`.")]


def controlled_problems(inspection):
    """Refuse to take as public what is handed out on request, as by dbGaP."""
    side = _side(inspection)
    if side is None:
        return []
    key, own = f"public.{side}.origin", _key(inspection)
    lines = [
        must(own, f"be public data under {SIDES[side]} protection", f"{path} of {found[0]}", "Use full.")
        for path in (inspection.paths(own) if own else ())
        if (found := WITH_VERSION.search(path))
    ]
    origin = inspection[key] or ""
    if ON_REQUEST.search(origin):
        wanted = "be a place where anybody can get the files without asking"
        fix = f"Use `protection: {Protection.FULL}`."
        if is_controlled(inspection.config):
            fix = f"{fix} Genotypes and phenotypes of dbGaP are both controlled."
        lines.append(must(key, wanted, origin, fix))
    return lines


def _side(inspection):
    """Return which side of the data a release takes as public; None under full protection."""
    return PUBLIC.get(inspection["privacy.protection"][0])


def _key(inspection):
    """Return the key that names the files of the public side; None where no files are."""
    side, cohort = _side(inspection), inspection.config.cohort
    if side == "outcomes":
        return "outcomes.file"
    return cohort_pattern(cohort)[0] if side == "genotypes" and cohort.source != "simulate" else None
