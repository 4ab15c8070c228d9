"""Problems of copied people: copies can have no guarantee, and tables of people do not describe them."""

from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError, must
from dpgrs.io.tables.genetic_maps import read_map
from dpgrs.preflight.controlled import is_encrypted
from dpgrs.study.copied_people import map_files, n_copies

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

COPIES = "cohort.copies.people"
TERMS = ("cohort.copies.effective_size", "cohort.copies.mutation", "cohort.copies.map")


def mode_problems(inspection: "Inspection") -> list[str]:
    """Refuse to release copies: one person of the source moves rows without number."""
    if n_copies(inspection.config) is None:
        return []
    got = (
        f"{inspection[COPIES]}: copies are no people, and one person of the source may be in many of them, "
        "so that no guarantee would hold"
    )
    return [must(COPIES, "be null in a release", got, "Leave it out, or say `mode: benchmark`.")]


def term_problems(inspection: "Inspection", key: str) -> list[str]:
    """Find a term of copies where there are none."""
    if n_copies(inspection.config) is not None or inspection.is_default(key):
        return []
    return [must(key, f"come with `{COPIES}`", "it without", "Say how many people to make.")]


def table_problems(inspection: "Inspection") -> list[str]:
    """Refuse tables of people: a person who was copied is in many rows and in none."""
    if n_copies(inspection.config) is None:
        return []
    lines, domain = [], f"with `{COPIES}`, as a table of people says nothing of copies"
    if (source := inspection["outcomes.source"]) != "simulate":
        lines.append(must("outcomes.source", f"be simulate {domain}", source, "Simulate outcomes."))
    if (path := inspection["covariates.file"]) is not None:
        lines.append(must("covariates.file", f"be null {domain}", path, "Leave it out."))
    return lines


def field_problems(inspection: "Inspection") -> list[str]:
    """Refuse dosages, which are of people and have no phase."""
    if n_copies(inspection.config) is None or inspection["cohort.field"] == "GT":
        return []
    return [
        must("cohort.field", f"be GT with `{COPIES}`, as haplotypes are copied", "DS", "Say `field: GT`.")
    ]


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
