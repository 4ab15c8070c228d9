"""How many people with genotypes have outcomes and covariates: counted before anything is drawn."""

import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError
from dpgrs.io.files import write_table
from dpgrs.io.tables.people_counts import PeopleCount, describe_counts

if TYPE_CHECKING:
    from dpgrs.types import TableCheck

TELL_NOBODY = "This depends on private data: tell nobody that it failed."


def require_enough(
    counts: PeopleCount,
    *,
    path: Path | str,
    least_share: float,
    checks: "Collection[TableCheck]",
    output: Path | str | None,
    is_release: bool,
    is_reference: bool = False,
) -> None:
    """Report how many people with genotypes have outcomes or covariates, and refuse too few.

    Every draw uses files that are made after this check. The counts, of a whole table, are exact: standard
    error is the operator's log, and `output`, the path of the table of counts if any, lies in a private
    folder. The arguments `least_share` and `checks` are as in `PeopleCount.problem`. A failure of a release
    says that it depends on private data; the table of a public reference may have any number of other people.
    No message has a count.
    """
    for line in describe_counts(counts.table):
        print(line, file=sys.stderr)
    options = {"allows_others": is_reference, "checks": checks}
    problem = counts.problem(least_share, shows_ids=False, **options)
    if problem:
        raise DpgrsError(
            "too-few-shared-people", f"`{path}` {problem} {TELL_NOBODY if is_release else ''}".strip()
        )
    if output is not None:
        write_table(output, counts.table)
