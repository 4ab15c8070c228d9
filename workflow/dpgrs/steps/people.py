"""The people of a study: who of the genotypes is in it, and how many of them have outcomes and covariates."""

import sys

from dpgrs.errors import DpgrsError
from dpgrs.io.files import write_table, write_text
from dpgrs.io.json_files import write_json
from dpgrs.io.people import choose_people
from dpgrs.io.people_counts import PeopleCount, describe_counts
from dpgrs.people_terms import PeopleTerms

TELL_NOBODY = "This depends on private data: tell nobody that it failed."


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
    from dpgrs.io.genotype_files import genotype_header  # brings numba, which takes 0.3 s

    chosen, found = choose_people(genotype_header(genotypes).samples, PeopleTerms(**terms))
    if counts is not None:
        write_json(counts, found)
    write_text(output, "".join(f"{sample}\n" for sample in chosen))


def count_people(table, sample_ids, *, path, kind, least_share, output, is_release):
    """Count the people with genotypes who have outcomes or covariates, and refuse where too few have them.

    Whatever is drawn takes what is made after this. The counts are exact: standard error is the operator's
    log, and `output` lies in a private folder.

    Parameters
    ----------
    table : pandas.DataFrame from `dpgrs.io.phenotypes.read_outcomes`.
    sample_ids : (n_people,) str, who has genotypes.
    path : of the table, for messages.
    kind : ``outcome`` or ``covariate``.
    least_share : float, as in `dpgrs.io.people_counts.PeopleCount.problem`.
    output : path of the table of counts; None writes none.
    is_release : bool, whether a failure says that it depends on private data.

    Raises
    ------
    DpgrsError
        If table and genotypes share nobody, or too few people, or too few have a value of a column. No count
        is told.
    """
    counts = PeopleCount(kind, sample_ids)
    counts.add(table)
    for line in describe_counts(counts.table):
        print(line, file=sys.stderr)
    problem = counts.problem(least_share, shows_ids=False)
    if problem:
        raise DpgrsError(f"`{path}` {problem} {TELL_NOBODY if is_release else ''}".strip())
    if output is not None:
        write_table(output, counts.table)
