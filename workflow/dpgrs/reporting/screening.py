"""Chosen variants on the pages of a benchmark, and fits whose checks kept the model back."""

from typing import NamedTuple

import numpy as np

from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.reporting.accuracy import largest_design
from dpgrs.reporting.fits import Fit, label_fits, thin
from dpgrs.reporting.outcome_figures import MAX_BARS
from dpgrs.reporting.rendering import Drawing, Section
from dpgrs.reporting.screening_figure import ScoresFigure
from dpgrs.selection.registry import SELECTORS

SHOWN_EPSILONS = 3
REASONS = {"check failed": "the check failed", "too few models": "there were too few models"}
NOT_PRIVATE = "not private"


class Column(NamedTuple):
    """A fit, or a choice that no fit of the study took.

    Attributes
    ----------
    label : str
    choice : Choice
    fit : Fit or None
    weights : (n_outcomes, n_variants) float64 or None
    """

    label: str
    choice: object
    fit: Fit | None
    weights: np.ndarray | None


class ScreeningViews:
    """Figure and table of the variants chosen for single outcomes.

    Parameters
    ----------
    data : ReportData with `screening`.

    Attributes
    ----------
    columns : list of Column
    way : str, how the choices that are shown are made, in words.
    is_by_scores : bool, whether it is by the scores that are shown.
    names : list of str, of the methods that take these choices.
    has_others : bool, whether the study has methods that choose in other ways.
    accounting : str, of the private choices that are shown.
    has_more : bool, whether private choices are left out.
    has_effects : bool, whether true effects are known.
    knows_causal : bool, whether some variants, not all, are known to be causal.
    partner_r2 : float, the smallest r^2 of LD partners.
    """

    def __init__(self, data):
        found = data.screening
        private = [one for one in found.choices if one.epsilon is not None]
        self._selector = found.choices[0].selector
        self.accounting = private[0].accounting if private else ""
        first = sorted(
            (one for one in private if one.accounting == self.accounting), key=lambda one: one.epsilon
        )
        self._choices = [found.choices[0], *thin(first, SHOWN_EPSILONS)]
        self.has_more = len(self._choices) <= len(private)
        row = SELECTORS[self._selector]
        self.way, self.is_by_scores = row.way, row.has_scores
        taking = _methods_of(found.methods, self._selector)
        if not private:
            taking = [name for name in taking if METHODS[name].is_non_private] or taking
        self.names = [METHODS[name].label for name in taking]
        self.has_others = len(self.names) < len(found.methods)
        self.has_effects = data.effects is not None
        self.knows_causal, self.partner_r2 = found.causal_r2 is not None, found.partner_r2
        self.columns = [column for choice in self._choices for column in _columns(data, choice)]
        self._data, self._no_model = data, kept_back(data.metrics, replicate=1)
        labels = [_terms(choice) for choice in self._choices]
        self._figure = ScoresFigure(data.variants, labels=labels, has_causal=self.knows_causal)

    def __call__(self, outcome):
        """Return the context of an outcome, by its index."""
        return {
            "chosen": self,
            "rows": self.rows(outcome),
            "is_thinned": len(self._data.variants) > MAX_BARS,
            "figures": {"scores": Drawing(self.figure(outcome), "Kendall scores along the genome")},
        }

    def figure(self, outcome):
        """Draw the scores of an outcome."""
        causal = np.flatnonzero(self._data.effects[outcome]) if self.knows_causal else None
        chosen = [choice.chosen[outcome] for choice in self._choices]
        return self._figure.draw(self._data.screening.scores[outcome], chosen, causal)

    def rows(self, outcome):
        """Return, per variant that any shown choice took, what the table says of it; highest score first.

        Returns
        -------
        list of dict with site (row of `variants`), score, effect (true), causal_r2, closeness and cells, one
        per column: None where it was not chosen, text or the weight.
        """
        data, found = self._data, self._data.screening
        scores = found.scores[outcome]
        taken = np.unique(np.concatenate([choice.chosen[outcome] for choice in self._choices]))
        name = data.outcomes[outcome]
        return [
            {
                "site": data.variants.iloc[variant],
                "score": scores[variant],
                "effect": None if data.effects is None else data.effects[outcome, variant],
                **self._closeness(outcome, variant),
                "cells": [self._cell(column, name, outcome, variant) for column in self.columns],
            }
            for variant in taken[np.argsort(-np.abs(scores[taken]), kind="stable")]
        ]

    def _closeness(self, outcome, variant):
        if not self.knows_causal:
            return {}
        r2 = self._data.screening.causal_r2[outcome][variant]
        is_causal = self._data.effects[outcome, variant] != 0
        closeness = "yes" if is_causal else "partner" if r2 >= self.partner_r2 else "no"
        return {"causal_r2": r2, "closeness": closeness}

    def _cell(self, column, name, outcome, variant):
        if variant not in column.choice.chosen[outcome]:
            return None
        if column.weights is None:
            return "chosen"
        return "no model" if (column.fit, name) in self._no_model else float(column.weights[outcome, variant])


def _choices(data):
    if data.screening is None:
        return None
    found, n_variants = data.screening, len(data.variants)
    return {
        "screening": found,
        "names": [METHODS[name].label for name in found.methods],
        "ways": [row.way for one, row in SELECTORS.items() if _methods_of(found.methods, one)],
        "choices": [{"row": row, "methods": _methods(found.methods, row)} for row in found.rows],
        # Noise without a promise.
        "has_notes": any(row.note for row in found.rows),
        "knows_causal": found.causal_r2 is not None,
        "is_all_causal": data.effects is not None and found.causal_r2 is None,
        # What a choice at random would have at the largest design.
        "shared_by_chance": found.n_choices**2 / n_variants,
        "causal_by_chance": found.n_choices * found.rows[0].n_causal / n_variants,
    }


def kept_back_words(metrics, replicates):
    """Say of which fits a check kept the model of an outcome back, at the largest design.

    Parameters
    ----------
    metrics : the study's metrics.
    replicates : int

    Returns
    -------
    dict of outcome to a dict of Fit to words.
    """
    words = {}
    for (fit, outcome), statuses in kept_back(metrics).items():
        often = "" if len(statuses) == replicates else f" in {len(statuses)} of {replicates} replicates"
        reasons = " or ".join(REASONS.get(status, status) for status in dict.fromkeys(statuses))
        words.setdefault(outcome, {})[fit] = f"no model released{often}: {reasons}"
    return words


def kept_back(metrics, replicate=None):
    """Find the fits of an outcome that have no model, at the largest design.

    Parameters
    ----------
    metrics : the study's metrics.
    replicate : int, the one to look at; None for all.

    Returns
    -------
    dict of (Fit, outcome) to a list of str, the statuses of its replicates without a model.
    """
    table = largest_design(metrics)
    table = table[
        (table["status"] != "ok") & (True if replicate is None else table["replicate"] == replicate)
    ]
    fits, codes = label_fits(table)
    found = {}
    for code, outcome, status in zip(codes.tolist(), table["outcome"], table["status"], strict=True):
        found.setdefault((fits[code], outcome), []).append(status)
    return found


def _terms(choice):
    return NOT_PRIVATE if choice.epsilon is None else f"ε\u00a0=\u00a0{choice.epsilon:g}"


def _columns(data, choice):
    """Return the columns of a choice: its fits, or if there is none itself."""
    columns = []
    for one in data.weights:
        fit = Fit.of(one)
        is_by_choice = fit.method in _methods_of(methods_that("is_screened"), choice.selector)
        if is_by_choice and (fit.accounting, fit.epsilon) == (choice.accounting, choice.epsilon):
            columns.append(Column(fit.label, choice, fit, one.weights))
    return columns or [Column(f"Chosen, {_terms(choice)}", choice, None, None)]


def _methods_of(methods, selector):
    return [name for name in methods if METHODS[name].selector == selector]


def _methods(methods, row):
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
