"""Problems of a study of a table of real numbers that can be seen before any job runs."""

import operator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from dpgrs.config.schema import keys
from dpgrs.config.study import SOURCES
from dpgrs.errors import DpgrsError, must
from dpgrs.io.tables.real_tables import read_ranges
from dpgrs.preflight.rules import DEFAULT, each, has, is_given, rules, without
from dpgrs.study.table_cohort import TABLE, TABLE_KEYS, CohortTable, is_table, read_cohort_table
from dpgrs.study.table_values import constant_problems, range_problems

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.preflight.inspection import Inspection

# Keys that only genotypes have: no study of a table depends on them.
GENOTYPE_SECTIONS = ("people", "public", "cohort.fetch", "cohort.simulation", "cohort.copies", "variants")
GENOTYPE_KEYS = (
    *(f"cohort.{name}" for name in (*SOURCES, "chromosomes", "field", "keep_filtered")),
    *(key for key in keys() if key.startswith(tuple(f"{name}." for name in GENOTYPE_SECTIONS))),
    "covariates.pcs",
)
GENOTYPE_KEYS = tuple(key for key in GENOTYPE_KEYS if key != "variants.size")
OF_TABLE = has("cohort.source", TABLE)
# Guarantees are proved for genotypes only.
MODE = rules(
    {
        "`mode` must be benchmark with `cohort.source: table`, got {got}. Change it.": (
            "benchmark",
            OF_TABLE,
        ),
    }
)
OF_BENCHMARK = rules(
    each(
        GENOTYPE_KEYS,
        "is for genotypes, got {got} with `cohort.source: table`. Leave it out.",
        *(DEFAULT, OF_TABLE),
    )
)
OTHER_OUTCOMES = partial(operator.ne, TABLE)
RULES = rules(
    {
        **each(
            TABLE_KEYS,
            "is for `cohort.source: table`, got {got} without. Leave it out.",
            *(None, without(OF_TABLE)),
        ),
        "`outcomes.source` must be table where `outcomes.columns` is given, got {got}. Say `source: "
        "table`.": (TABLE, OF_TABLE, is_given("outcomes.columns")),
        "`outcomes.source` must be simulate or file without `cohort.source: table`, got table. Name a table "
        "of outcomes as `outcomes.file`.": (OTHER_OUTCOMES, without(OF_TABLE)),
        "`outcomes.source` must be file where `outcomes.file` is given, got table and {outcomes.file}. Say "
        "`source: file`, or leave the file out.": (OTHER_OUTCOMES, OF_TABLE, is_given("outcomes.file")),
    }
)
FEWEST_ROWS = 2  # one to train on, one to test on


class TableInspection(NamedTuple):
    """The table of a study."""

    cohort_table: CohortTable | None = None
    lines: tuple[str, ...] = ()  # why it cannot be read, one line a problem

    @property
    def row_id(self) -> tuple[str, ...] | None:
        """The ids of its rows; None where it could not be read."""
        return None if self.cohort_table is None else tuple(self.cohort_table.features.row_id.tolist())


def inspect_table(config: "StudyConfig") -> TableInspection:
    """Read the table of a study; a study of genotypes has none."""
    path = config.cohort.table
    if not is_table(config) or path is None:
        return TableInspection()
    try:
        return TableInspection(read_cohort_table(config, path))
    except DpgrsError as error:
        line = str(error)
        # A message that begins with a key needs no other.
        is_named = line.startswith(("`cohort.", "`outcomes."))
        return TableInspection(lines=(line if is_named else f"`cohort.table`: {line}",))


def table_problems(inspection: "Inspection") -> list[str]:
    """List the problems of the table, its ranges, and the number of columns."""
    if not is_table(inspection.config):
        return []
    table_keys = ("cohort.table", "cohort.ranges")
    lines = [
        must(key, "be a path for `cohort.source: table`", "null", "Give it.")
        for key in table_keys
        if inspection[key] is None
    ]
    table, faults = inspection.table
    lines += faults
    if table is None:
        return lines
    path, n_rows, sizes = inspection["cohort.table"], len(table.features.row_id), inspection["variants.size"]
    if n_rows < FEWEST_ROWS:
        domain = f"have at least {FEWEST_ROWS} rows"
        lines.append(must("cohort.table", domain, f"{n_rows} in {path}", "Add rows to test on."))
    if max(sizes) > len(table.features.names):
        domain = f"be at most {len(table.features.names)}, the columns of {path}"
        lines.append(must("variants.size", domain, max(sizes), "Lower it, or leave it out to take all."))
    return lines + _range_problems(inspection["cohort.ranges"], table) + _column_problems(table, inspection)


def _range_problems(path: str | None, table: CohortTable) -> list[str]:
    if path is None:
        return []
    try:
        outcome_names = table.outcomes.names if table.outcomes else ()
        low, high, _ = read_ranges(path, table.features, other_names=outcome_names)
    except DpgrsError as error:
        return [f"`cohort.ranges`: {error}"]
    return range_problems(table.features, low, high, key="cohort.ranges")


def _column_problems(table: CohortTable, inspection: "Inspection") -> list[str]:
    """Find columns that are no outcomes: constant ones, and more asked for than there are."""
    outcomes, lines, count = table.outcomes, [], inspection["outcomes.count"]
    if outcomes is None:
        return []
    if count and max(count) > len(outcomes.names):
        domain = f"be at most {len(outcomes.names)}, the columns of `outcomes.columns`"
        lines.append(must("outcomes.count", domain, max(count), "Lower it, or leave it out to use all."))
    return lines + constant_problems(outcomes)
