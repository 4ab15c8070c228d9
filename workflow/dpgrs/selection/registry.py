"""The selectors of studies, a row each: all that is known of one beside its own module.

A selector chooses variants for one outcome by itself, in private and, as its twin, exactly.
"""

import importlib
from dataclasses import dataclass
from functools import cache
from typing import Any

from dpgrs.errors import UsageError
from dpgrs.plugins import points


@dataclass(frozen=True, kw_only=True)
class Selector:
    """The facts about a selector before it runs; functions are named as ``module.name``.

    `private` takes a ScreeningData and the number of an outcome; request, noise and outcome_bound by name. It
    returns the chosen variants and the events. It is None, as are `asked` and `audits`, of a selector that is
    only there to compare with.

    `exact` does the same without noise; n_choices and outcome_bound by name. It returns the chosen variants.

    `asked` takes a ScreenedRequest and the terms that all selectors share, by name, and returns the request
    of one outcome: with n_choices, epsilon_of_choices and family. `of_table` takes the terms of a plain
    table, where nothing says between which values columns lie, and epsilon and the number of rows (`n_low`)
    by name, and returns the request.

    `private_of_all` takes a ScreeningData and a source of noise for each outcome, and does for all what
    `private` does for one, if they share looks at the genotypes. `paper` is `private` in a paper's scaling,
    which promises nothing: no events.

    `audits` returns the `AuditCase`s of `audited`, the functions that draw for it in a release.
    """

    way: str  # how it chooses, on pages
    private: str | None = None
    exact: str
    asked: str | None = None
    audits: str | None = None
    private_of_all: str | None = None
    of_table: str | None = None
    paper: str | None = None
    paper_key: str | None = None  # of the setting that is `paper` for a choice by `paper`
    counts_units: bool = False  # at `screening.count_share`
    is_composed: bool = False  # one variant after the other, by `screening.law` and `screening.composition`
    has_scores: bool = False  # whether it chooses by Kendall's correlations
    fits_rows: bool = False  # whether it holds the rows of all variants as numbers, to fit them, not as bits
    fits_groups: bool = False  # whether it does so with the rows of a group at a time
    streams: tuple = ()  # which of `private` and `exact` read genotypes from disk, some variants at a time
    audited: tuple = ()


@cache
def named(place: str, package: str = "dpgrs.selection") -> Any:
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


def join(rows: dict[str, Any], kind: str) -> None:
    """Let the rows join that other installed packages name as entry points of a kind."""
    for point in points(kind):
        if point.name in rows:
            raise UsageError(
                "entry-point-twice",
                f"An entry point of `dpgrs.{kind}` must have a name of its own, got {point.name}. Remove the "
                "package that has it, or ask its authors.",
            )
        rows[point.name] = point.load()
