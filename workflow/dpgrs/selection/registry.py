"""The selectors of studies, a row each, and the class of each that chooses, loaded when it is needed.

A selector chooses variants for one outcome by itself, in private and, as its twin, exactly.
"""

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from dpgrs.errors import UsageError
from dpgrs.plugins import points

if TYPE_CHECKING:
    from dpgrs.selection.chooser import Chooser


@dataclass(frozen=True, kw_only=True)
class Selector:
    """The facts of a selector."""

    description: str  # how it chooses, on pages
    code: str  # its `dpgrs.selection.chooser.Chooser`, or `ExactChooser`, ``module:Class``
    is_private: bool = True  # False of one that is only there to compare with
    takes_tables: bool = False  # whether it chooses from a plain table, where columns have no range
    paper_key: str | None = None  # of the setting that is `paper` for a choice by `choose_as_paper`
    counts_units: bool = False  # at `screening.count_share`
    is_composed: bool = False  # one variant after the other, by `screening.law` and `screening.composition`
    has_scores: bool = False  # whether it chooses by Kendall's correlations
    fits_rows: bool = False  # whether it holds the rows of all variants as numbers, to fit them, not as bits
    fits_groups: bool = False  # whether it does so with the rows of a group at a time
    # Which of `private` and `exact` choices read genotypes from disk, some variants at a time.
    streams: tuple[str, ...] = ()
    audited: tuple[str, ...] = ()  # the functions that draw for it in a release


def require_new_names(kind: str, names: Container[str]) -> None:
    """Refuse entry points of a kind that have the name of a row of this package, or of one another."""
    n_points = Counter(point.name for point in points(kind))
    for name in n_points:
        if name in names or n_points[name] > 1:
            raise UsageError(
                "entry-point-twice",
                f"An entry point of `dpgrs.{kind}` must have a name of its own, got {name}. Remove the "
                "package that has it, or ask its authors.",
            )


SELECTORS = {
    "kendall": Selector(
        description="by Kendall scores (DPKendall)",
        code="dpgrs.selection.dp_kendall:Kendall",
        takes_tables=True,
        is_composed=True,
        has_scores=True,
        streams=("private", "exact"),
        audited=("private_kendall", "private_choices"),
    ),
}
require_new_names("selectors", SELECTORS)
SELECTORS |= {point.name: point.load() for point in points("selectors")}


def chooser_of(selector: str) -> "Chooser":
    """Return what chooses by a selector."""
    base = "Chooser" if SELECTORS[selector].is_private else "ExactChooser"
    return instance_of(SELECTORS[selector].code, f"dpgrs.selection.chooser:{base}")


@cache
def instance_of(code: str, base: str, *arguments: Any) -> Any:
    """Make an object of the class that a row names; UsageError if it lacks what its abstract base requires.

    `code` and `base` are places, ``module:Class``; `arguments` are those of the class.
    """
    row_class, base_class = resolve_name(code), resolve_name(base)
    is_derived = issubclass(row_class, base_class)
    if missing := (row_class if is_derived else base_class).__abstractmethods__:
        raise UsageError(
            "class-incomplete",
            f"The class of a row must be a `{base}` that defines {', '.join(sorted(missing))}, got {code}. "
            "Add these to the class, or remove the package that has the row.",
        )
    return row_class(*arguments)
