"""The variants of a study from a table of real numbers."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs.errors import DpgrsError
from dpgrs.io.table_variants import write_table_variants
from dpgrs.io.tables.phenotypes import save_outcome_arrays
from dpgrs.io.tables.real_tables import read_ranges
from dpgrs.study.table_cohort import read_cohort_table
from dpgrs.study.table_values import constant_problems, range_problems

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

READS = (
    "seed",
    "cohort.id",
    "cohort.arrays",
    "cohort.one_hot",
    "cohort.drop",
    "outcomes.source",
    "outcomes.columns",
    "variants.size",
)


def make_table_variants(
    settings: "StudyConfig", table: Path, *, ranges: Path, outcomes: Path | None = None, output: Path
) -> dict[str, Any]:
    """Take the columns of a table as those of X, on a grid within their public ranges.

    Returns a dict of counts. Raises DpgrsError if the table is not one of numbers, most values of a column
    lie beyond its range, or an outcome has only one value.

    Parameters
    ----------
    table : the table.
    ranges : public ranges of its columns.
    outcomes : file to write of the columns that are outcomes.
    output : store of the study's variants to write.
    """
    features, outcome_columns = read_cohort_table(settings, table)
    public = read_ranges(
        ranges, features, other_names=() if outcome_columns is None else outcome_columns.names
    )
    lines = range_problems(features, *public[:2], key="cohort.ranges") + (
        [] if outcome_columns is None else constant_problems(outcome_columns)
    )
    if lines:
        raise DpgrsError("values-off-scale", "\n".join(lines))
    if outcomes is not None:
        save_outcome_arrays(
            outcomes,
            sample=outcome_columns.row_id,
            names=outcome_columns.names,
            values=outcome_columns.values,
        )
    return write_table_variants(
        output,
        features,
        public,
        size=max(settings.variants.size),
        seed=settings.seed,
    )
