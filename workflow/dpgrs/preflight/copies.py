"""Problems of copied people: copies can have no guarantee, and tables of people do not describe them."""

from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError, must
from dpgrs.io.tables.genetic_maps import read_map
from dpgrs.preflight.controlled import is_encrypted
from dpgrs.preflight.rules import DEFAULT, each, is_given, rules, without
from dpgrs.study.people_terms import map_files, n_copies

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

COPIES = "cohort.copies.people"
TERMS = ("cohort.copies.effective_size", "cohort.copies.mutation", "cohort.copies.map")
COPIED = is_given(COPIES)
# One person of the source moves rows without number.
OF_RELEASE = rules(
    {
        f"`{COPIES}` must be null in a release, got {{got}}: copies are no people, and one person of the "
        "source may be in many of them, so that no guarantee would hold. Leave it out, or say `mode: "
        "benchmark`.": (None,),
    }
)
OF_PEOPLE = f"with `{COPIES}`, as a table of people says nothing of copies, got {{got}}."
RULES = rules(
    {
        **each(
            TERMS,
            f"must come with `{COPIES}`, got it without. Say how many people to make.",
            *(DEFAULT, without(COPIED)),
        ),
        f"`outcomes.source` must be simulate {OF_PEOPLE} Simulate outcomes.": ("simulate", COPIED),
        f"`covariates.file` must be null {OF_PEOPLE} Leave it out.": (None, COPIED),
        # Dosages are of people, and have no phase.
        f"`cohort.field` must be GT with `{COPIES}`, as haplotypes are copied, got {{got}}. Say `field: "
        "GT`.": ("GT", COPIED),
    }
)


def map_problems(inspection: "Inspection") -> list[str]:
    """List the chromosomes whose genetic map cannot be read."""
    key, config, lines = "cohort.copies.map", inspection.config, []
    for chromosome in inspection["cohort.chromosomes"] if n_copies(config) else []:
        for path in map_files(config, chromosome):
            if is_encrypted(path):
                continue  # other checks report it
            if not Path(path).is_file():
                domain = "be there for every chromosome"
                lines.append(must(key, domain, f"none as {path}", "Correct the path."))
                continue
            try:
                read_map(path)
            except DpgrsError as error:
                lines.append(f"`{key}`: {error}")
    return list(dict.fromkeys(lines))
