"""The selectors of studies, a row each: all that is known of one beside its own module.

A selector chooses variants for one outcome by itself, in private and, as its twin, exactly.
"""

import importlib
from dataclasses import dataclass
from functools import cache

from dpgrs.errors import UsageError
from dpgrs.plugins import points


@dataclass(frozen=True, kw_only=True)
class Selector:
    """What is known of a selector before it runs.

    Attributes
    ----------
    way : str, how it chooses, on pages.
    private : str, the function ``module.name`` of a ScreeningData and the number of an outcome; request,
        noise and outcome_bound by name. It returns the chosen variants and the events. None, as are `asked`
        and `audits`, of what is there to compare with.
    exact : str, the same without noise; n_choices and outcome_bound by name. It returns the chosen variants.
    asked : str, the function of a ScreenedRequest and of the terms that all selectors share, by name, that
        returns the request of one outcome: with n_choices, epsilon_of_choices and family.
    private_of_all : str or None, the function of a ScreeningData and of a source of noise for each outcome
        that does for all what `private` does for one, where they share looks at the genotypes.
    paper : str or None, the same as `private` in a paper's scaling, which promises nothing: no events.
    paper_key : str or None, the key of the setting that is ``paper`` for a choice by `paper`.
    counts_units : bool, whether it counts units at `screening.count_share`.
    is_composed : bool, whether it chooses one variant after the other, by `screening.law` and
        `screening.composition`, some of which spend a share of delta.
    has_scores : bool, whether it chooses by Kendall's correlations.
    fits_rows : bool, whether it holds the rows of all variants as numbers, to fit them, not as bits.
    fits_groups : bool, whether it does so with the rows of a group at a time.
    streams : tuple of str, which of ``private`` and ``exact`` take genotypes that stay on disk, to read some
        variants at a time; others get them in memory.
    audited : tuple of str, the functions that draw for it in a release.
    audits : str, the function that returns their `AuditCase`s.
    of_table : str or None, the function of the terms of a plain table, where nothing says between which
        values columns lie, and of epsilon and the number of rows (`n_low`) by name, that returns the request.
    """

    way: str
    private: str | None = None
    exact: str
    asked: str | None = None
    audits: str | None = None
    private_of_all: str | None = None
    of_table: str | None = None
    paper: str | None = None
    paper_key: str | None = None
    counts_units: bool = False
    is_composed: bool = False
    has_scores: bool = False
    fits_rows: bool = False
    fits_groups: bool = False
    streams: tuple = ()
    audited: tuple = ()


@cache
def named(place, package="dpgrs.selection"):
    """Return what a row names: ``module.attribute`` of a package, or ``whole.path:attribute`` of another."""
    module, colon, attribute = place.partition(":")
    if not colon:
        module, _, attribute = f"{package}.{place}".rpartition(".")
    return getattr(importlib.import_module(module), attribute)


SELECTORS = {
    "kendall": Selector(
        way="by Kendall scores (DPKendall)",
        private="dp_kendall.choose_privately",
        private_of_all="dp_kendall.choose_for_all",
        exact="greedy_kendall.choose_exactly",
        asked="dp_kendall.asked",
        of_table="dp_kendall.of_table",
        audits="audits.kendall.kendall_cases",
        is_composed=True,
        has_scores=True,
        streams=("private", "exact"),
        audited=("private_kendall", "private_choices"),
    ),
}


def join(rows, kind):
    """Let the rows join that other installed packages name as entry points of a kind."""
    for point in points(kind):
        if point.name in rows:
            raise UsageError(
                f"An entry point of `dpgrs.{kind}` must have a name of its own, got {point.name}. Remove the "
                "package that has it, or ask its authors."
            )
        rows[point.name] = point.load()
