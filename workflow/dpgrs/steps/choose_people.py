"""Who of the people with genotypes is in a study."""

from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.io.files import write_text
from dpgrs.io.json_files import write_json
from dpgrs.io.tables import people
from dpgrs.study.people_terms import reference_terms_of, terms_of

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

READS = ("people", "public")


def choose_people(
    settings: "StudyConfig",
    genotypes: list[Path],
    *,
    is_reference: bool = False,
    counts: Path | None = None,
    output: Path,
) -> None:
    """Choose the people of a study, or of its public reference, by lists of ids, consent and kinship.

    Their ids are written one a line, in the order of the genotypes.

    Raises DpgrsError as `dpgrs.io.tables.people.choose_people`.

    Parameters
    ----------
    genotypes : the files of one chromosome, of which only headers are read.
    is_reference : choose the people of the public reference rather than of the study.
    counts : file for the numbers of people left out by reason, JSON. Releases write none.
    output : the list of people to write.
    """
    from dpgrs.io.genotype_files import genotype_header  # brings numba, which takes 0.3 s

    people_terms = reference_terms_of(settings) if is_reference else terms_of(settings)
    chosen, numbers = people.choose_people(genotype_header(genotypes).samples, people_terms)
    if counts is not None:
        write_json(counts, numbers)
    write_text(output, "".join(f"{sample}\n" for sample in chosen))
