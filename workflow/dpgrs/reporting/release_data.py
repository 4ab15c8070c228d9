"""What the pages of a release are made from: its statement, its scores and public sites; nothing else."""

import re
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.types import Metrics, Neighbours, Unit

N_LARGEST = 20
# What a statement says of a number of people that noise brought below 0.
BELOW_0 = re.compile(r"-\d+\.\d (rows|cases|controls) with", re.ASCII)
# Names of the statistics that are released with noise, as a reader would say them.
STATISTICS = {
    "count": "number of rows",
    "outcome counts": "rows on which outcomes are known",
    "case counts": "cases of 0/1 outcomes",
    "gram": "X′X: products of genotypes",
    "cross product": "X′Y: products of genotypes and outcomes",
    "genome sums": "products of genotypes and outcomes along directions of public LD",
    "genome moments": "products of genotypes along two directions of public LD",
    "smallest eigenvalue": "smallest eigenvalue of X′X",
    "accuracy": "sums of squares on held-out people",
    "Kendall's correlations": "choice of variants by Kendall’s correlations",
}
# The same of the functions that audits run.
AUDITED = {f"private_{name.replace(' ', '_')}": description for name, description in STATISTICS.items()} | {
    "private_statistics": "all statistics together",
    "private_adassp": "all statistics of AdaSSP together",
    "private_separate_statistics": "all statistics of the separate fits together",
    "private_kendall": STATISTICS["Kendall's correlations"],
}


class TermsRow(NamedTuple):
    """A line of the table of terms: whose loss, its epsilon, delta, e^epsilon and chance, and the right
    guesses of 100."""

    label: str
    epsilon: Decimal
    delta: Decimal
    odds: Decimal
    chance: Decimal
    right_guesses: str


@dataclass(frozen=True)
class ReleaseData:
    """Everything that the pages of a release show; all of it is released or public.

    Weights that do not fit the numbers of outcomes and variants are refused, and so is an accuracy that the
    statement does not account for.
    """

    statement: dict[str, Any]  # the release's privacy statement
    bundle: str  # address of the release's folder as seen from the overview, ``../release/``
    # `VARIANT_COLUMNS` of n_variants sites, in the order of the scoring files; public frequencies.
    variants: pd.DataFrame
    # (n_outcomes, n_weights) float64, per copy of the alternate allele, as in the scoring files.
    weights: np.ndarray
    accuracy: pd.DataFrame  # r2 and mse, indexed by outcome; NaN where withheld
    budget: str  # how much of the data set's budget is spent, in sentences
    # Text as in the bundle, indexed by outcome: constant, and haplotype_constant if rows are haplotypes.
    constants: pd.DataFrame
    # (n_outcomes, n_weights) int64, ascending rows of `variants` chosen in private; None: all.
    chosen: np.ndarray | None = None
    standard_errors: np.ndarray | None = None  # (n_outcomes, n_weights) float64, of the weights
    covariates: pd.DataFrame | None = None  # outcome, covariate, weight, centre, scale and bound
    scales: pd.DataFrame | None = None  # public centre, scale and is_binary, indexed by outcome
    # (n_outcomes, n_components) float64, public, if components were released.
    loadings: np.ndarray | None = None
    measures: pd.DataFrame | None = None  # outcome and the fields of a Measure, on public people

    def __post_init__(self) -> None:
        n_weights = len(self.variants) if self.chosen is None else self.chosen.shape[1]
        shape = (len(self.outcomes), n_weights)
        if self.weights.shape != shape:
            raise DpgrsError(
                "report-array-shape",
                f"`weights` must be of shape {shape} (outcomes, their variants), got {self.weights.shape}."
                " Write the release again.",
            )
        if not self.has_accuracy and self.accuracy.notna().any(axis=None):
            raise DpgrsError(
                "accuracy-not-released",
                "`accuracy` must be withheld as in the privacy statement, got values that nobody was charged"
                " for. Make the metrics of the release again.",
            )

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The names of the outcomes, in the order of the rows of the weights."""
        return tuple(self.statement["data_domain"]["outcomes"])

    def covariates_of(self, outcome: int) -> list[Any]:
        """Return the rows of `covariates` of an outcome, by its index from 0, as named tuples; none without
        any."""
        if self.covariates is None:
            return []
        is_of_outcome = self.covariates["outcome"] == self.outcomes[outcome]
        return list(self.covariates[is_of_outcome].itertuples(index=False))

    @property
    def has_accuracy(self) -> bool:
        """Whether the statement gives any accuracy; single values may still be missing."""
        return self.statement["accuracy"] != Metrics.WITHHELD

    @property
    def has_charged_accuracy(self) -> bool:
        """Whether accuracy was drawn, of private people."""
        return any(mechanism["statistic"] == "accuracy" for mechanism in self.statement["mechanisms"])

    @property
    def count_sd(self) -> float | None:
        """Standard deviation of the noise of the number of rows; None if no such noise was drawn."""
        counts = (
            mechanism for mechanism in self.statement["mechanisms"] if mechanism["statistic"] == "count"
        )
        return next((float(mechanism["sigma"]) for mechanism in counts), None)

    @property
    def has_private_count(self) -> bool:
        """Whether the number of rows is private: released with noise, or not at all."""
        return self.statement["guarantee"]["neighbours"] == Neighbours.ADD_REMOVE

    @property
    def n_rows(self) -> int | None:
        """The number of rows as released; None if it is not."""
        inputs = {public["name"]: public["value"] for public in self.statement["public_inputs"]}
        number = inputs["number of rows"]
        return int(number) if number.isdecimal() else None

    def accuracy_in_words(self, outcome: int) -> str | None:
        """Return the statement's text on the accuracy of an outcome; None if it is withheld for all."""
        if not self.has_accuracy:
            return None
        stated = {item["name"]: item for item in self.statement["accuracy"]}[self.outcomes[outcome]]
        return f"{stated['value']} (cost: {stated['cost']})"

    @property
    def possible_accuracy(self) -> pd.DataFrame:
        """The accuracy; values that noise brought out of their range are set to its limits."""
        return self.accuracy.assign(
            r2=self.accuracy["r2"].clip(upper=1), mse=self.accuracy["mse"].clip(lower=0)
        )

    def beyond_possible(self, outcome: int) -> list[str]:
        """Return the corrections of numbers that noise brought out of their range."""
        values = self.accuracy.iloc[outcome]
        counts = BELOW_0.findall(self.accuracy_in_words(outcome) or "")
        return [
            *(["R² as 1"] if values["r2"] > 1 else []),
            *(["the mean squared error as 0"] if values["mse"] < 0 else []),
            *(f"the number of {what} as 0" for what in counts),
        ]

    @property
    def n_weights(self) -> int:
        """The number of variants that a score holds."""
        return self.weights.shape[1]

    def variant_rows(self, outcome: int) -> np.ndarray:
        """Return the (n_weights,) rows of `variants` that the weights of an outcome belong to."""
        return np.arange(len(self.variants)) if self.chosen is None else self.chosen[outcome]

    def largest_rows(self, outcome: int) -> pd.DataFrame:
        """Return the variants of the `N_LARGEST` largest weights of an outcome, with a column ``weight``."""
        order = np.argsort(-np.abs(self.weights[outcome]), kind="stable")[:N_LARGEST]
        return self.variants.iloc[self.variant_rows(outcome)[order]].assign(
            weight=self.weights[outcome, order]
        )

    def chosen_rows(self, outcome: int) -> pd.DataFrame:
        """Return the variants chosen for an outcome, in genome order, with ``weight`` and, if known,
        ``standard_error``."""
        numbers = {"weight": self.weights[outcome]}
        if self.standard_errors is not None:
            numbers["standard_error"] = self.standard_errors[outcome]
        return self.variants.iloc[self.chosen[outcome]].assign(**numbers)


def terms_rows(statement: dict[str, Any]) -> list[TermsRow]:
    """Return the costs of the release, of one outcome of it and of the data set's whole ledger.

    A line that would repeat the first is left out.
    """
    guarantee, ledger = statement["guarantee"], statement["ledger"]
    unit = guarantee["unit"]
    totals = {f"This release, for one {unit}": guarantee}
    if unit != Unit.PERSON:
        totals["This release, for one person"] = guarantee["person"]
    per_outcome = statement["composition"]["per_outcome"]
    if per_outcome != statement["composition"]["whole_study"]:
        totals[f"One outcome of it alone, for one {unit}"] = per_outcome
    spent = ledger["spent"] | {"delta": ledger["delta"]}
    totals[f"All releases from this data set up to this one, account {ledger['account']}"] = spent
    return [_terms_row(label, total) for label, total in totals.items()]


def _terms_row(label: str, total: dict[str, Any]) -> TermsRow:
    epsilon, delta, chance = (Decimal(total[name]) for name in ("epsilon", "delta", "chance"))
    # More digits than anybody reads; the shown numbers are rounded up.
    return TermsRow(label, epsilon, delta, Context(prec=30).exp(epsilon), chance, total["right_guesses"])
