"""The panel of a study from a table of real numbers."""

from pathlib import Path

from dpgrs.io.table_panel import write_table_panel
from dpgrs.io.tables.outcome_arrays import save_outcome_arrays
from dpgrs.io.tables.real_tables import read_ranges
from dpgrs.study.table_cohort import read_cohort_table

READS = (
    "seed",
    "cohort.id",
    "cohort.arrays",
    "cohort.one_hot",
    "cohort.drop",
    "outcomes.source",
    "outcomes.columns",
    "panel.size",
)


def make_table_panel(settings, table: Path, *, ranges: Path, outcomes: Path | None = None, output: Path):
    """Take the columns of a table as those of X, on a grid within their public ranges.

    Parameters
    ----------
    settings : Settings
    table : the table.
    ranges : public ranges of its columns.
    outcomes : its columns that are outcomes, to write.
    output : the panel.

    Returns
    -------
    dict of counts.
    """
    features, own = read_cohort_table(settings, table)
    if outcomes is not None:
        save_outcome_arrays(outcomes, sample=own.row_id, names=own.names, values=own.values)
    return write_table_panel(
        output,
        features,
        read_ranges(ranges, features, others=() if own is None else own.names),
        size=max(settings.panel.size),
        seed=settings.seed,
    )
