"""Chosen variants on the pages of a benchmark, and fits whose checks kept the model back."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.reporting.accuracy import largest_design
from dpgrs.reporting.charts import FEW_BARS, Picture
from dpgrs.reporting.fits import Fit, label_fits, thin
from dpgrs.reporting.outcome_figures import MAX_BARS, genome_axes, genome_axis, name_chromosomes, thin_bars
from dpgrs.reporting.rendering import Drawing, Section
from dpgrs.reporting.svg import INK, MUTED, PALETTE, WIDTH, text_width
from dpgrs.selection.registry import SELECTORS

if TYPE_CHECKING:
    from dpgrs.reporting.charts import Picture
    from dpgrs.reporting.data import Choice, ChoiceRow, ReportData

SCORES_HEIGHT, LANE_HEIGHT = 120, 18
LANE_TICK = 0.56  # of the height of a lane
PRIVATE_COLOR, CAUSAL_COLOR = PALETTE[1], PALETTE[2]
CAUSAL = "causal"


class ScoresFigure:
    """Scores of outcomes, and a lane of ticks per choice.

    Variants have contig and position, in genome order. There is a label per choice, the first without
    privacy; `has_causal` adds a last lane, of causal variants.
    """

    def __init__(self, variants: pd.DataFrame, *, labels: list[str], has_causal: bool) -> None:
        self.x, self._chromosomes = genome_axis(variants["contig"], variants["position"])
        self._labels = [*labels, CAUSAL] if has_causal else labels
        self._colors = [INK, *[PRIVATE_COLOR] * (len(labels) - 1), *[CAUSAL_COLOR] * has_causal]

    def draw(self, scores: np.ndarray, chosen: Sequence[np.ndarray], causal: np.ndarray | None) -> Picture:
        """Draw an outcome.

        Scores are (n_variants,) float64, `chosen` has (n_choices,) int64 variants for every choice, and
        `causal` is (n_causal,) int64, or None without that lane.
        """
        lanes = LANE_HEIGHT * len(self._labels)
        picture = Picture(WIDTH, SCORES_HEIGHT + lanes + 60)
        left, below = max(46, text_width(self._labels) + 12), 32 + SCORES_HEIGHT
        heights = np.abs(scores)
        top = 1.1 * (heights.max(initial=0.0) or 1.0)
        axes = genome_axes(picture, self._chromosomes, left, 16, 16 + SCORES_HEIGHT, y=(0, top))
        axes.levels(0, color=MUTED, width=0.6)
        x, tallest, shared = thin_bars(self.x, heights, is_all=True)
        axes.bars(x, tallest, color=MUTED, width=1.2 if len(x) < FEW_BARS else 0.7, x_name=shared)
        axes.ticks_left(4)
        picture.text(left, 7, "Kendall score, without its sign")
        exact, *private = chosen
        axes.marks(self.x[exact], heights[exact], marker="o", size=4.6)
        for variants in private[-1:]:
            ring = {"fill": "none", "stroke": PRIVATE_COLOR, "stroke_width": 1.3}
            axes.marks(self.x[variants], heights[variants], marker="o", size=7.5, **ring)
        rows = (len(self._labels) - 0.5, -0.5)
        axes = genome_axes(picture, self._chromosomes, left, below, below + lanes, y=rows)
        variants_by_lane = chosen if causal is None else [*chosen, causal]
        for y, (variants, color) in enumerate(zip(variants_by_lane, self._colors, strict=True)):
            x, ticks, shared = thin_bars(self.x[variants], np.full(len(variants), LANE_TICK), is_all=False)
            axes.bars(x, ticks, low=y - LANE_TICK / 2, color=color, width=1.6, x_name=shared)
        axes.names_left(self._labels)
        name_chromosomes(axes, self._chromosomes)
        return picture


SHOWN_EPSILONS = 3
REASONS = {"check failed": "the check failed", "too few models": "there were too few models"}
NOT_PRIVATE = "not private"


class Column(NamedTuple):
    """A fit, or a choice that no fit of the study took."""

    label: str
    choice: "Choice"
    fit: Fit | None
    weights: np.ndarray | None  # (n_outcomes, n_variants) float64


class ScreeningViews:
    """Figure and table of the variants chosen for single outcomes, for data with `screening`."""

    def __init__(self, data: "ReportData") -> None:
        screening = data.screening
        private = [
            private_choice for private_choice in screening.choices if private_choice.epsilon is not None
        ]
        self._selector = screening.choices[0].selector
        # The accounting of the private choices that are shown.
        self.accounting = private[0].accounting if private else ""
        first = sorted(
            (private_choice for private_choice in private if private_choice.accounting == self.accounting),
            key=lambda private_choice: private_choice.epsilon,
        )
        self._choices = [screening.choices[0], *thin(first, SHOWN_EPSILONS)]
        # Whether private choices are left out.
        self.has_more = len(self._choices) <= len(private)
        row = SELECTORS[self._selector]
        # How the choices that are shown are made, and whether by the scores that are shown.
        self.way, self.is_by_scores = row.description, row.has_scores
        taking_methods = _methods_of(screening.methods, self._selector)
        if not private:
            taking_methods = [
                name for name in taking_methods if METHODS[name].is_non_private
            ] or taking_methods
        self.names = [METHODS[name].label for name in taking_methods]
        self.has_others = len(self.names) < len(screening.methods)
        self.has_effects = data.effects is not None
        # Whether some variants, not all, are known to be causal.
        self.knows_causal, self.partner_r2 = screening.causal_r2 is not None, screening.partner_r2
        self.columns = [column for choice in self._choices for column in _columns(data, choice)]
        self._data, self._no_model = data, kept_back(data.metrics, replicate=1)
        labels = [_epsilon_label(choice) for choice in self._choices]
        self._figure = ScoresFigure(data.variants, labels=labels, has_causal=self.knows_causal)

    def __call__(self, outcome: int) -> dict[str, Any]:
        """Return the context of an outcome, by its index from 0."""
        return {
            "chosen": self,
            "rows": self.rows(outcome),
            "is_thinned": len(self._data.variants) > MAX_BARS,
            "figures": {"scores": Drawing(self.figure(outcome), "Kendall scores along the genome")},
        }

    def figure(self, outcome: int) -> "Picture":
        """Draw the scores of an outcome."""
        causal = np.flatnonzero(self._data.effects[outcome]) if self.knows_causal else None
        chosen = [choice.chosen[outcome] for choice in self._choices]
        return self._figure.draw(self._data.screening.scores[outcome], chosen, causal)

    def rows(self, outcome: int) -> list[dict[str, Any]]:
        """Return a row of the table per variant that any shown choice took; highest score first.

        A row has site (row of `variants`), score, effect (true), causal_r2, closeness and cells, one per
        column: None if it was not chosen, text or the weight.
        """
        data, screening = self._data, self._data.screening
        scores = screening.scores[outcome]
        variants = np.unique(np.concatenate([choice.chosen[outcome] for choice in self._choices]))
        name = data.outcomes[outcome]
        return [
            {
                "site": data.variants.iloc[variant],
                "score": scores[variant],
                "effect": None if data.effects is None else data.effects[outcome, variant],
                **self._closeness(outcome, variant),
                "cells": [self._cell(column, name, outcome, variant) for column in self.columns],
            }
            for variant in variants[np.argsort(-np.abs(scores[variants]), kind="stable")]
        ]

    def _closeness(self, outcome: int, variant: int) -> dict[str, Any]:
        if not self.knows_causal:
            return {}
        r2 = self._data.screening.causal_r2[outcome][variant]
        is_causal = self._data.effects[outcome, variant] != 0
        closeness = "yes" if is_causal else "partner" if r2 >= self.partner_r2 else "no"
        return {"causal_r2": r2, "closeness": closeness}

    def _cell(self, column: Column, name: str, outcome: int, variant: int) -> str | float | None:
        if variant not in column.choice.chosen[outcome]:
            return None
        if column.weights is None:
            return "chosen"
        return "no model" if (column.fit, name) in self._no_model else float(column.weights[outcome, variant])


def _choices(data: "ReportData") -> dict[str, Any] | None:
    if data.screening is None:
        return None
    screening, n_variants = data.screening, len(data.variants)
    return {
        "screening": screening,
        "names": [METHODS[name].label for name in screening.methods],
        "ways": [
            row.description for selector, row in SELECTORS.items() if _methods_of(screening.methods, selector)
        ],
        "choices": [{"row": row, "methods": _methods(screening.methods, row)} for row in screening.rows],
        # Noise without a promise.
        "has_notes": any(row.note for row in screening.rows),
        "knows_causal": screening.causal_r2 is not None,
        "is_all_causal": data.effects is not None and screening.causal_r2 is None,
        # What a choice at random would have at the largest design.
        "shared_by_chance": screening.n_choices**2 / n_variants,
        "causal_by_chance": screening.n_choices * screening.rows[0].n_causal / n_variants,
    }


def kept_back_words(metrics: pd.DataFrame, replicates: int) -> dict[str, dict[Fit, str]]:
    """Return, by outcome, the fits whose check kept the model back at the largest design, and why, in
    words."""
    words = {}
    for (fit, outcome), statuses in kept_back(metrics).items():
        often = "" if len(statuses) == replicates else f" in {len(statuses)} of {replicates} replicates"
        reasons = " or ".join(REASONS.get(status, status) for status in dict.fromkeys(statuses))
        words.setdefault(outcome, {})[fit] = f"no model released{often}: {reasons}"
    return words


def kept_back(metrics: pd.DataFrame, replicate: int | None = None) -> dict[tuple[Fit, str], list[str]]:
    """Return the fits of an outcome without a model at the largest design, with the statuses of those
    replicates.

    `replicate` is the only one to read; None reads all.
    """
    table = largest_design(metrics)
    table = table[
        (table["status"] != "ok") & (True if replicate is None else table["replicate"] == replicate)
    ]
    fits, codes = label_fits(table)
    statuses = {}
    for code, outcome, status in zip(codes.tolist(), table["outcome"], table["status"], strict=True):
        statuses.setdefault((fits[code], outcome), []).append(status)
    return statuses


def _epsilon_label(choice: "Choice") -> str:
    return NOT_PRIVATE if choice.epsilon is None else f"ε\u00a0=\u00a0{choice.epsilon:g}"


def _columns(data: "ReportData", choice: "Choice") -> list[Column]:
    """Return the columns of a choice: its fits, or if there are none the choice itself."""
    columns = []
    for fitted in data.weights:
        fit = Fit.of(fitted)
        is_by_choice = fit.method in _methods_of(methods_that("is_screened"), choice.selector)
        if is_by_choice and (fit.accounting, fit.epsilon) == (choice.accounting, choice.epsilon):
            columns.append(Column(fit.label, choice, fit, fitted.weights))
    return columns or [Column(f"Chosen, {_epsilon_label(choice)}", choice, None, None)]


def _methods_of(methods: Collection[str], selector: str) -> list[str]:
    return [name for name in methods if METHODS[name].selector == selector]


def _methods(methods: Collection[str], row: "ChoiceRow") -> str:
    names = [
        METHODS[name].label
        for name in _methods_of(methods, row.selector)
        if METHODS[name].is_non_private == (row.epsilon is None and not row.note)
    ]
    return ", ".join([*names, row.note] if row.note else names) or "no fit"


CHOICES = Section("Chosen variants", "choices.html", _choices, anchor="chosen")
CHOSEN = Section(
    "Chosen variants",
    "chosen.html",
    lambda data: data.screening and ScreeningViews(data),
    category="Outcomes",
)
