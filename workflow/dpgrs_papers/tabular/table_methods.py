"""Which methods `dpgrs tabular` takes: all rows of the registry that can be fitted on a plain table."""

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from dpgrs.methods.registry import METHODS
from dpgrs.selection.registry import SELECTORS
from dpgrs.statement.methods import Method
from dpgrs.study.table_cohort import ranged_methods
from dpgrs.types import Protection

if TYPE_CHECKING:
    from dpgrs_papers.methods.row_fits import RowFitter

# Without privacy, of columns that have no range.
NOT_PRIVATE = ("ols", "lasso", "k-ols", "l-ols")


def table_methods() -> dict[str, Method]:
    """Return rows of methods that need no range; `nondp` is the DPKendall paper's name of `ols`."""
    fitting = {name: row for name, row in METHODS.items() if name in NOT_PRIVATE or _fits_tables(row)}
    return {"nondp": METHODS["ols"]} | fitting


def tabular_methods() -> dict[str, Method]:
    """Return the rows of `dpgrs tabular` by name: those of full protection, and those without privacy."""
    sides = {Protection.FULL, Protection.NONE}
    ranged = {name: row for name, row in ranged_methods().items() if sides & set(row.protections)}
    return table_methods() | ranged


def fitter_of(row: Method) -> "RowFitter":
    """Return the RowFitter of one of `table_methods`."""
    from dpgrs_papers.methods.row_fits import LEAST_SQUARES  # scipy, which help does without

    return LEAST_SQUARES if row.is_non_private else resolve_name(row.code).mechanism.row_fitter


def _fits_tables(row: Method) -> bool:
    return row.reads_rows and (not row.is_screened or SELECTORS[row.selector].takes_tables)
