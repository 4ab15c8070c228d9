"""A study of a table of real numbers: its features, and the columns that are its outcomes."""

from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpgrs.errors import UsageError
from dpgrs.statement.methods import METHODS, Method

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.io.tables.real_tables import RealTable

TABLE = "table"
# Settings of the table; all but the last are in `cohort`.
TABLE_KEYS = (
    *(f"cohort.{name}" for name in ("table", "ranges", "id", "arrays", "one_hot", "drop")),
    "outcomes.columns",
)


def is_table(config: "StudyConfig") -> bool:
    """Tell whether a study is of a table rather than of genotypes."""
    return config.cohort.source == TABLE


def is_fractional(config: "StudyConfig") -> bool:
    """Tell whether the entries of X are numbers on a grid rather than counts of alleles."""
    return is_table(config) or config.cohort.field == "DS"


def ranged_methods() -> dict[str, Method]:
    """Return the rows of the methods that a study of a table takes, in its public ranges, by name."""
    return {name: row for name, row in METHODS.items() if not row.takes_ld}


def takes_columns(config: "StudyConfig") -> bool:
    """Tell whether outcomes are columns of the study's own table."""
    return config.outcomes.source == TABLE


class CohortTable(NamedTuple):
    """The table of a study."""

    features: "RealTable"
    outcomes: "RealTable | None"  # the columns that are outcomes, of the same rows; None if there are none


def read_cohort_table(settings: "StudyConfig", path: Path | str) -> CohortTable:
    """Read the table of a study.

    A second call returns the table of the first, unless the file has changed. Errors are those of
    `read_real_table`; a table without a column of outcomes, or with nothing else, is refused.
    """
    return _split_table(settings, path, _read(str(path), _stamp(path), **_table_options(settings)))


@lru_cache(maxsize=1)
def _read(path: str, stamp: tuple[int, int, int] | None, **options: Any) -> "RealTable":
    from dpgrs.io.tables.real_tables import read_real_table  # pandas, for studies that ask

    return read_real_table(path, **options)


def _stamp(path: Path | str) -> tuple[int, int, int] | None:
    """Return a mark that changes with the file; None for an absent one, as reading it reports."""
    with suppress(OSError):
        status = Path(path).stat()
        return status.st_mtime_ns, status.st_size, status.st_ino
    return None


def _table_options(settings: "StudyConfig") -> dict[str, Any]:
    cohort = settings.cohort
    options = {name: tuple(getattr(cohort, name) or ()) for name in ("one_hot", "drop")}
    return {"row_id": cohort.id, "arrays": cohort.arrays, **options}


def _split_table(settings: "StudyConfig", path: Path | str, table: "RealTable") -> CohortTable:
    from dpgrs.io.tables.real_tables import matched

    if not takes_columns(settings):
        return CohortTable(table, None)
    key, patterns = "outcomes.columns", settings.outcomes.columns
    if not patterns:
        raise UsageError(
            "table-columns-not-given",
            f"`{key}` must be given for `outcomes.source: table`, got null. Name columns.",
        )
    chosen = matched(patterns, table.names, key=key, path=path)
    left = [name for name in table.names if name not in set(chosen)]
    if not left:
        raise UsageError(
            "no-predictors-left",
            f"`{key}` must leave columns of `{path}` to predict from, got all. Name fewer.",
        )
    return CohortTable(table.of_columns(left), table.of_columns(chosen))
