"""How many people with genotypes have outcomes and covariates: counted before anything is drawn."""

import sys

from dpgrs.errors import DpgrsError
from dpgrs.io.files import write_table
from dpgrs.io.tables.people_counts import describe_counts

TELL_NOBODY = "This depends on private data: tell nobody that it failed."


def require_enough(counts, *, path, least_share, checks, output, is_release, is_reference=False):
    """Tell how many people with genotypes have outcomes or covariates, and refuse where too few have them.

    Whatever is drawn takes what is made after this. The counts are exact: standard error is the operator's
    log, and `output` lies in a private folder.

    Parameters
    ----------
    counts : PeopleCount, of a whole table.
    path : of the table, for messages.
    least_share, checks : as in `PeopleCount.problem`.
    output : path of the table of counts; None writes none.
    is_release : bool, whether a failure says that it depends on private data.
    is_reference : bool, whether it is of the public reference: the table may then have any number of others.

    Raises
    ------
    DpgrsError
        If table and genotypes share nobody, or too few people, or too few have a value of a column. No count
        is told.
    """
    for line in describe_counts(counts.table):
        print(line, file=sys.stderr)
    options = {"allows_others": is_reference, "checks": checks}
    problem = counts.problem(least_share, shows_ids=False, **options)
    if problem:
        raise DpgrsError(f"`{path}` {problem} {TELL_NOBODY if is_release else ''}".strip())
    if output is not None:
        write_table(output, counts.table)
