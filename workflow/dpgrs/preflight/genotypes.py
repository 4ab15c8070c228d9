"""Problems of genotype files in a release: shared people, no phase, REF that depends on people."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError, must
from dpgrs.io.genotype_forms import BGEN, PLINK, form_named, form_of
from dpgrs.io.tables.alike_ids import AlikeIds
from dpgrs.io.vcf.records import SET_REF
from dpgrs.preflight.people import choose, chosen_people
from dpgrs.preflight.rules import has, rules, without
from dpgrs.study.cohort_files import (
    cohort_files,
    cohort_pattern,
    has_genotype_files,
    is_absent,
    reference_files_of,
)
from dpgrs.study.fetched_files import fetch_command
from dpgrs.study.people_terms import reference_terms_of
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

FIX_SITES = (
    ". Or say `cohort.fixed_sites: true`, if the files hold a public list of variants and these people chose "
    "nothing in them (no filter by frequency, HWE, INFO or missing calls, no allele dropped): then alleles "
    "count by their letters"
)


FIXED = rules(
    {
        "`cohort.fixed_sites` must be left out with `cohort.source: {cohort.source}`, got true. Leave it "
        "out.": (False, without(has("cohort.source", "plink", "bgen"))),
    }
)


def reference_problems(inspection: "Inspection") -> list[str]:
    """Refuse a reference that shares people with the cohort: its frequencies would be the cohort's own."""
    cohort, reference = inspection.config.cohort, inspection["public.reference"]
    if not (has_genotype_files(cohort) and cohort_pattern(cohort)[1] and reference):
        return []
    if line := _unfetched(inspection):
        return [line]
    compared = None
    for chromosome in cohort.chromosomes:
        sides = {
            cohort_pattern(cohort)[0]: partial(cohort_files, cohort),
            "public.reference": partial(reference_files_of, reference),
        }
        if inspection.headers_only:
            del sides[cohort_pattern(cohort)[0]]
        samples, lines = [], []
        if is_absent(cohort, chromosome):
            sides.pop(cohort_pattern(cohort)[0], None)
            if chromosome in inspection.stored_samples:
                samples.append(inspection.stored_samples[chromosome])
        for key, files_of in sides.items():
            try:
                samples.append(inspection.header(tuple(files_of(chromosome))).samples)
            except DpgrsError as error:
                lines.append(f"`{key}`: {error}")
        if lines:
            return lines
        if len(samples) < 2:
            continue
        people, reference_people = samples
        # The same two lists, as most chromosomes have, share nobody here either.
        if compared and people is compared[0] and reference_people is compared[1]:
            continue
        compared = people, reference_people
        if people == inspection.samples:
            people = inspection.people
        else:  # other checks report it
            people, _ = chosen_people(inspection.config, people, shows_ids=False)
        if inspection.mode == "release":  # which sites a file has depends on everybody in it
            domain, fix = "share no sample id with the cohort", "Take these people out of one side."
        else:
            domain = "share no sample id with the cohort"
            fix = "Keep others by `people.keep` or `public.keep`."
            if reference_people == inspection.reference_samples:
                reference_people = inspection.reference_people
            else:
                choice = reference_terms_of(inspection.config)
                reference_people, _ = choose(reference_people, choice, shows_ids=False)
        if not set(reference_people).isdisjoint(people):
            return [must("public.reference", domain, f"shared ids on chromosome {chromosome}", fix)]
    if inspection.tell and inspection.people and inspection.reference_people:
        alike = AlikeIds(inspection.people, of="the cohort")
        alike.add(inspection.reference_people)
        for line in alike.in_words():
            inspection.tell(f"public.reference: {line}")
    return []


def phase_problems(inspection: "Inspection") -> list[str]:
    """Refuse PLINK files of the reference that cannot give haplotypes, before hours of ingest."""
    cohort, reference = inspection.config.cohort, inspection["public.reference"]
    if cohort.source == "simulate" or reference is None or cohort.rows != Rows.HAPLOTYPES:
        return []
    if _unfetched(inspection):
        return []  # `reference_problems` reports it
    for chromosome in cohort.chromosomes:
        try:
            for path in reference_files_of(reference, chromosome):
                form_named(path).require_phase(path, chromosome)
        except DpgrsError as error:
            return [f"`public.reference`: {error}"]
    return []


def _unfetched(inspection: "Inspection") -> str | None:
    """Ask for genotypes that the study would fetch: who is in them decides, and by it `methods: auto`."""
    cohort = inspection.config.cohort
    absent = {path: url for path, url in inspection.absent.items() if path != cohort.populations}
    if not absent:
        return None
    path, url = next(iter(absent.items()))
    more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
    domain = "be held against the people of the cohort before any job"
    got = f"{path}{more}, which is yet to be fetched"
    return must("public.reference", domain, got, f"Fetch it first: {fetch_command(cohort, path, url)}")


def provisional_problems(inspection: "Inspection") -> list[str]:
    """Refuse genotype files whose REF alleles may differ from the genome's.

    PLINK 1 takes the allele that is rarer among the people for A1. One person can exchange the two, and by
    that move everybody's row. The job that ingests a VCF checks all its records. At fixed sites alleles
    count by their letters.
    """
    cohort = inspection.config.cohort
    if cohort.fixed_sites or not (has_genotype_files(cohort) and cohort_pattern(cohort)[1]):
        return []
    for chromosome in cohort.chromosomes:
        try:
            files = cohort_files(cohort, chromosome)
            existing = (path for path in files if Path(path).exists())
            unsure = next((path for path in existing if form_of(path).has_provisional_ref(path)), None)
        except DpgrsError:
            return []  # other checks report it
        if unsure:
            advice = FIX_SITES if form_of(unsure) in (PLINK, BGEN) else ""
            return [
                f"`cohort.{cohort.source}` must have REF from the genome in a release, got {unsure}, which "
                f"does not say that it is. {SET_REF}{advice}"
            ]
    return []
