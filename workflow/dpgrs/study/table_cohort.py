"""A study of a table of real numbers: its features, and the columns that are its outcomes."""

from dpgrs.errors import UsageError
from dpgrs.methods.registry import METHODS, table_methods
from dpgrs.types import Protection

TABLE = "table"
# What the settings say of the table; in `cohort` but for the last.
TABLE_KEYS = (
    *(f"cohort.{name}" for name in ("table", "ranges", "id", "arrays", "one_hot", "drop")),
    "outcomes.columns",
)


def is_table(config):
    """Tell whether a study is of a table rather than of genotypes."""
    return config["cohort"]["source"] == TABLE


def is_fractional(config):
    """Tell whether the entries of X are numbers on a grid rather than counts of alleles."""
    return is_table(config) or config["cohort"]["field"] == "DS"


def ranged_methods():
    """Return the rows of the methods that a study of a table takes, in its public ranges, by name."""
    return {
        name: row for name, row in METHODS.items() if row.takes_fractions("benchmark") and not row.takes_ld
    }


def tabular_methods():
    """Return the rows of `dpgrs tabular` by name: those of full protection, and those without privacy."""
    sides = {Protection.FULL, Protection.NONE}
    ranged = {name: row for name, row in ranged_methods().items() if sides & set(row.protections)}
    return table_methods() | ranged


def takes_columns(config):
    """Tell whether outcomes are columns of the study's own table."""
    return config["outcomes"]["source"] == TABLE


def read_cohort_table(settings, path):
    """Read the table of a study.

    Parameters
    ----------
    settings : resolved configuration, or the Settings of a step.
    path : the table.

    Returns
    -------
    features : RealTable
    outcomes : RealTable, of the columns that are outcomes; None where none are.

    Raises
    ------
    DpgrsError
        As from `read_real_table`; if there is no column of outcomes, or nothing but these.
    """
    # pandas, for studies that ask
    from dpgrs.io.tables.real_tables import matched, read_real_table

    cohort = settings["cohort"]
    options = {name: cohort[name] or () for name in ("one_hot", "drop")}
    table = read_real_table(path, row_id=cohort["id"], arrays=cohort["arrays"], **options)
    if not takes_columns(settings):
        return table, None
    key, patterns = "outcomes.columns", settings["outcomes"]["columns"]
    if not patterns:
        raise UsageError(f"`{key}` must be given for `outcomes.source: table`, got null. Name columns.")
    chosen = matched(patterns, table.names, key=key, path=path)
    left = [name for name in table.names if name not in set(chosen)]
    if not left:
        raise UsageError(f"`{key}` must leave columns of `{path}` to predict from, got all. Name fewer.")
    return table.part(left), table.part(chosen)
