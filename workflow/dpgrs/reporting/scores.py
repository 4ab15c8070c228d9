"""The page of scored people: variants, distributions, deciles. It is as private as the target."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from dpgrs.reporting.charts import Legend, Look, Picture, steps_figure
from dpgrs.reporting.rendering import MAX_FIGURED, Drawing, Section, write_assets, write_page
from dpgrs.reporting.svg import PALETTE, WIDTH, shortened

# No distribution is drawn, and no decile given, of fewer people.
FEWEST_PEOPLE = 50
N_BINS = 40
# Lengths of strokes and gaps.
DASHES = ("none", "4 2", "1 2")
PAGE, CATEGORY = "index.html", "Scores"
# Notes on the numbers of scores.
MISSING = "No numbers, as the score does not vary in the reference."
BEYOND = (
    "Some people are below 0 or above 1, beyond what is possible for a share of cases, because of noise in "
    "the weights or because the score is linear. They are shown as 0 or 1, and in scores.tsv.gz as they are."
)
WIDE = "Predictions differ more than the outcome itself: noise in the weights outweighs the rest."
MOST_NAMED = 10


@dataclass(frozen=True)
class ScoreData:
    """What the page of scored people shows; it is as private as the target."""

    # Of scores that share their variants: ``scores``, a label, the numbers of ``variants``, of those ``used``
    # and of A/T and C/G among them (``ambiguous_used``), and a dict of ``status`` to the number of variants.
    variants: list[dict[str, Any]]
    names: list[str]  # n_outcomes
    units: list[str]  # of `values`, one an outcome
    values: np.ndarray  # (n_outcomes, n_people) float64; NaN if a score does not vary in the reference
    populations: np.ndarray | None = None  # (n_people,) str
    notes: list[str] = field(default_factory=list)  # what to know of the results
    # (n_outcomes, 2) float64, between which values can lie; infinite if they can be any number.
    limits: np.ndarray | None = None
    # (n_outcomes,) float64, sd of the outcome in the unit of `values`; NaN if not known.
    spreads: np.ndarray | None = None

    @cached_property
    def shown(self) -> np.ndarray:
        """The (n_outcomes, n_people) float64 values, moved to their limits."""
        return self.values if self.limits is None else np.clip(self.values, *self.limits.T[..., np.newaxis])

    @property
    def remarks(self) -> np.ndarray:
        """Notes, (n_outcomes,) str: why a score has no numbers, or which were moved; empty for most."""
        is_missing = np.isnan(self.values).any(axis=1)
        is_beyond = (self.shown != self.values).any(axis=1)
        is_wide = False if self.spreads is None else self.values.std(axis=1) > self.spreads
        return np.select([is_missing, is_beyond, is_wide], [MISSING, BEYOND, WIDE], "")

    @property
    def groups(self) -> list[tuple[str, np.ndarray]]:
        """Names and (n_people,) bool of populations of enough people, or else of all people."""
        n_people = self.values.shape[1]
        everybody = [("all people", np.ones(n_people, dtype=bool))] if n_people >= FEWEST_PEOPLE else []
        if self.populations is None:
            return everybody
        populations = [(str(name), self.populations == name) for name in np.unique(self.populations)]
        return [(name, is_own) for name, is_own in populations if is_own.sum() >= FEWEST_PEOPLE] or everybody


def write_score_page(directory: Path | str, data: ScoreData, *, figures: Path | None = None) -> None:
    """Write the page and the files that it needs into a folder, which is made if absent."""
    directory = Path(directory)
    write_assets(directory)
    n_people = data.values.shape[1]
    shared = {"mode": "scores", "root": "", "n_people": n_people}
    few = f"No distribution or decile of fewer than {FEWEST_PEOPLE} people."
    write_page(
        directory / PAGE,
        "scores.html",
        SECTIONS,
        data,
        shared=shared,
        figures=figures,
        page_links={},
        notes=[*data.notes, *([few] if n_people < FEWEST_PEOPLE else [])],
    )


def distribution_figure(values: np.ndarray, unit: str, groups: Sequence[tuple[str, np.ndarray]]) -> Picture:
    """Draw the distribution of a score, (n_people,) float64, a line for each population; one group at
    least."""
    looks = [Look(color, dash, 1.3) for dash in DASHES for color in PALETTE]
    labels = [f"{shortened(name)} ({is_own.sum()})" for name, is_own in groups]
    legend = Legend([*zip(labels, cycle(looks), strict=False)], WIDTH)
    edges = np.histogram_bin_edges(values, bins=N_BINS)
    shares = [np.histogram(values[is_own], edges)[0] / is_own.sum() for _, is_own in groups]
    return steps_figure(edges, shares, legend, height=124, xlabel=unit, ylabel="share of people")


def _variants(data: ScoreData) -> dict[str, Any]:
    statuses = list(dict.fromkeys(name for score_group in data.variants for name in score_group["status"]))
    has_ambiguous = any(score_group["ambiguous_used"] for score_group in data.variants)
    return {"statuses": statuses, "lists": data.variants, "has_ambiguous": has_ambiguous}


def _distributions(data: ScoreData) -> dict[str, Any] | None:
    if not data.groups:
        return None
    figures = {
        f"score{index}": Drawing(
            distribution_figure(data.shown[index], data.units[index], data.groups),
            f"Distribution of {name}",
        )
        for index, name in enumerate(data.names[:MAX_FIGURED])
        if np.ptp(data.shown[index]) > 0
    }
    hidden = 0
    if data.populations is not None:
        hidden = int(data.values.shape[1] - np.sum([is_own for _, is_own in data.groups]))
    drawn_names = {f"score{index}": name for index, name in enumerate(data.names[:MAX_FIGURED])}
    return {
        "figures": figures,
        "names": {key: drawn_names[key] for key in figures},
        "undrawn": [name for key, name in drawn_names.items() if key not in figures],
        "n_more": len(data.names) - len(drawn_names),
        "fewest": FEWEST_PEOPLE,
        "n_hidden": hidden,
    }


def _deciles(data: ScoreData) -> dict[str, Any] | None:
    if data.values.shape[1] < FEWEST_PEOPLE:
        return None
    edges = np.quantile(data.shown, np.arange(1, 10) / 10, axis=1).T
    moments = zip(data.shown.mean(axis=1).tolist(), data.shown.std(axis=1).tolist(), strict=True)
    remarks = data.remarks.tolist()
    cells = zip(data.names, data.units, moments, edges.tolist(), remarks, strict=True)
    rows = [(name, unit, [*both, *deciles], remark) for name, unit, both, deciles, remark in cells]
    return {"rows": rows, "remarks": list(_named(data.names, remarks))}


def _named(names: Sequence[str], remarks: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each remark with the names of its scores, the first of many."""
    for remark in (MISSING, BEYOND, WIDE):
        remarked = [
            name for name, remark_of_score in zip(names, remarks, strict=True) if remark_of_score == remark
        ]
        more = f" and {len(remarked) - MOST_NAMED} more" if len(remarked) > MOST_NAMED else ""
        if remarked:
            yield ", ".join(remarked[:MOST_NAMED]) + more, remark


SECTIONS = [
    Section("Variants", "score_variants.html", _variants, anchor="variants"),
    Section(
        "Distributions", "score_distributions.html", _distributions, anchor="distributions", category=CATEGORY
    ),
    Section("Deciles", "score_deciles.html", _deciles, anchor="deciles"),
]
