"""The people of a study: who of the genotypes is in it."""

from dpgrs.io.files import write_text
from dpgrs.io.genotype_files import genotype_header
from dpgrs.io.json_files import write_json
from dpgrs.io.people import choose_people
from dpgrs.people_terms import PeopleTerms


def choose_study_people(genotypes, *, output, counts=None, **terms):
    """Choose the people of a study and write their ids, one a line, in the order of the genotypes.

    Parameters
    ----------
    genotypes : path of the genotypes, or list of the paths of their parts; headers alone are read.
    output : path of the list.
    counts : path of the counts by reason, JSON; None in a release, whose counts nobody may see.
    **terms : attributes of `dpgrs.io.people.PeopleTerms`.

    Raises
    ------
    DpgrsError
        As `dpgrs.io.people.choose_people`.
    """
    chosen, found = choose_people(genotype_header(genotypes).samples, PeopleTerms(**terms))
    if counts is not None:
        write_json(counts, found)
    write_text(output, "".join(f"{sample}\n" for sample in chosen))
