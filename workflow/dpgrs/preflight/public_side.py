"""Problems of a release that takes genotypes or outcomes as public: the files used must be published."""

import operator
import re
from functools import partial
from typing import TYPE_CHECKING

from dpgrs.config.study import PATTERN_KEYS
from dpgrs.errors import DpgrsError, must
from dpgrs.io.files import file_digest
from dpgrs.io.genotype_files import with_companions
from dpgrs.io.tables.table_samples import outcome_people
from dpgrs.preflight.controlled import WITH_VERSION, is_controlled
from dpgrs.preflight.rules import ABSENT, GIVEN, When, each, protects, rules, without
from dpgrs.study.cohort_files import cohort_files, cohort_pattern
from dpgrs.types import Neighbours, Protection

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

# The data that each protection takes as public.
PUBLIC = {Protection.LABEL: "genotypes", Protection.FEATURE: "outcomes"}
SIDES = {side: protection for protection, side in PUBLIC.items()}
LISTS = ("people.keep", "people.remove", "people.consent.file", "people.related")
CONTROLLED = (
    *("privacy.protection", "dataset.accession", "public.genotypes.origin", "public.outcomes.origin"),
    *("cohort.source", *PATTERN_KEYS, "outcomes.source", "outcomes.file"),
)
ONE_SIDE = When(lambda inspection: inspection["privacy.protection"][0] in PUBLIC, ("privacy.protection",))
NOT_SIMULATED = partial(operator.ne, "simulate")
TERMS = rules(
    {
        # The public side names the people.
        "`privacy.neighbours` must be replace-one under {privacy.protection} protection, got {got}: who is "
        "in the study is public. Change it.": (Neighbours.REPLACE_ONE, ONE_SIDE),
        **{
            f"`public.{side}.{name}` must be given for a release under {protection} protection, got null: it "
            f"is printed in the bundle. Name where anybody can get the {side}, or use `protection: full`.": (
                GIVEN,
                protects(protection),
            )
            for protection, side in PUBLIC.items()
            for name in ("sha256", "origin")
        },
        **{
            f"`public.{side}.{name}` is for `privacy.protection: {protection}`, got {{privacy.protection}}: "
            "nothing rests on it. Leave it out.": (ABSENT, without(protects(protection)))
            for protection, side in PUBLIC.items()
            for name in ("sha256", "origin")
        },
        # Public outcomes cannot be simulated from private genotypes.
        "`cohort.source` must be of files under label protection, got simulate: no file of genotypes is "
        "public. Name the published files.": (NOT_SIMULATED, protects(Protection.LABEL)),
        "`outcomes.source` must be of files under feature protection, got simulate: no file of outcomes is "
        "public. Name the published files.": (NOT_SIMULATED, protects(Protection.FEATURE)),
    }
)
PEOPLE = rules(
    {
        **each(
            LISTS,
            "must be null under {privacy.protection} protection, where who is in the study is public, got "
            "{got}. Take all people of the published files.",
            *(None, ONE_SIDE),
        ),
        "`covariates.file` must be null under label protection, which takes all of X as public, got {got}. "
        "Leave it out; components of the genotypes may stay.": (None, protects(Protection.LABEL)),
    }
)
PUBLISHED = f"Use the published files, or `protection: {Protection.FULL}`."
ON_REQUEST = re.compile(r"(?i)db ?gap|phs\d{6}")


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
