"""What the pages of a release are made from: its statement, its scores and public sites; nothing else."""

import re
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import NamedTuple

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
    "smallest eigenvalue": "smallest eigenvalue of X′X",
    "accuracy": "sums of squares on held-out people",
    "Kendall's correlations": "choice of variants by Kendall’s correlations",
}
# The same of the functions that audits run.
AUDITED = {f"private_{name.replace(' ', '_')}": said for name, said in STATISTICS.items()} | {
    "private_statistics": "all statistics together",
    "private_adassp": "all statistics of AdaSSP together",
    "private_separate_statistics": "all statistics of the separate fits together",
    "private_kendall": STATISTICS["Kendall's correlations"],
}


class TermsRow(NamedTuple):
    """A line of the table of terms: whose loss, how many of 100 guesses are right, and Decimals.

    These are epsilon, delta, e^epsilon and its chance.
    """

    label: str
    epsilon: Decimal
    delta: Decimal
    odds: Decimal
    chance: Decimal
    right_guesses: str


@dataclass(frozen=True)
class ReleaseData:
    """Everything that the pages of a release show; all of it is released or public.

    Attributes
    ----------
    statement : dict, the release's privacy statement.
    bundle : str, address of the release's folder as seen from the overview, ``../release/``.
    variants : `dpgrs.reporting.data.VARIANT_COLUMNS` of n_variants sites, in the order of the scoring files;
        frequencies are public ones.
    weights : (n_outcomes, n_weights) float64, per copy of the alternate allele, as in the scoring files.
    accuracy : data frame of r2 and mse, indexed by outcome; NaN where withheld.
    budget : str, what is spent of the data set's budget, in sentences to be read aloud.
    chosen : (n_outcomes, n_weights) int64, ascending rows of `variants`: those that were chosen in private
        for each outcome; None where a score holds all.
    standard_errors : (n_outcomes, n_weights) float64, of the weights; None where there are none.
    constants : data frame of constant and, where rows are haplotypes, haplotype_constant, text as in the
        bundle, indexed by outcome.
    covariates : data frame of outcome, covariate, weight, centre, scale and bound; None where there are none.
    scales : data frame, indexed by outcome, of the public centre, scale and is_binary; None where there are
        none.
    loadings : (n_outcomes, n_components) float64, public, of the outcomes on what was released of them; None
        where that is the outcomes.
    measures : data frame of outcome and the fields of a Measure, on public people; None where there are none.

    Raises
    ------
    DpgrsError
        If the weights do not fit the numbers of outcomes and their variants, or there is an accuracy that the
        statement does not account for.
    """

    statement: dict
    bundle: str
    variants: pd.DataFrame
    weights: np.ndarray
    accuracy: pd.DataFrame
    budget: str
    constants: pd.DataFrame
    chosen: np.ndarray | None = None
    standard_errors: np.ndarray | None = None
    covariates: pd.DataFrame | None = None
    scales: pd.DataFrame | None = None
    loadings: np.ndarray | None = None
    measures: pd.DataFrame | None = None

    def __post_init__(self):
        n_weights = len(self.variants) if self.chosen is None else self.chosen.shape[1]
        shape = (len(self.outcomes), n_weights)
        if self.weights.shape != shape:
            raise DpgrsError(
                f"`weights` must be of shape {shape} (outcomes, their variants), got {self.weights.shape}."
                " Write the release again."
            )
        if not self.has_accuracy and self.accuracy.notna().any(axis=None):
            raise DpgrsError(
                "`accuracy` must be withheld as in the privacy statement, got values that nobody was charged"
                " for. Make the metrics of the release again."
            )

    @property
    def outcomes(self):
        """Tuple of n_outcomes str, in the order of the rows of the weights."""
        return tuple(self.statement["data_domain"]["outcomes"])

    def covariates_of(self, outcome):
        """Return the rows of `covariates` of an outcome, by its place, as named tuples; none without any."""
        if self.covariates is None:
            return []
        own = self.covariates["outcome"] == self.outcomes[outcome]
        return list(self.covariates[own].itertuples(index=False))

    @property
    def has_accuracy(self):
        """Whether the statement gives any accuracy; single values may still be missing."""
        return self.statement["accuracy"] != Metrics.WITHHELD

    @property
    def has_charged_accuracy(self):
        """Whether accuracy was drawn, of private people."""
        return any(part["statistic"] == "accuracy" for part in self.statement["mechanisms"])

    @property
    def count_sd(self):
        """Standard deviation of the noise of the number of rows, a float; None where none was drawn."""
        drawn = (part for part in self.statement["mechanisms"] if part["statistic"] == "count")
        return next((float(part["sigma"]) for part in drawn), None)

    @property
    def has_private_count(self):
        """Whether the number of rows is private: released with noise, or not at all."""
        return self.statement["guarantee"]["neighbours"] == Neighbours.ADD_REMOVE

    @property
    def n_rows(self):
        """The number of rows as released, an int; None where it is not."""
        inputs = {public["name"]: public["value"] for public in self.statement["public_inputs"]}
        number = inputs["number of rows"]
        return int(number) if number.isdecimal() else None

    def accuracy_in_words(self, outcome):
        """Return what the statement says of the accuracy of an outcome; None where it is withheld for all."""
        if not self.has_accuracy:
            return None
        own = {item["name"]: item for item in self.statement["accuracy"]}[self.outcomes[outcome]]
        return f"{own['value']} (cost: {own['cost']})"

    @property
    def possible_accuracy(self):
        """`accuracy` with values that noise brought beyond what is possible at their limits."""
        return self.accuracy.assign(
            r2=self.accuracy["r2"].clip(upper=1), mse=self.accuracy["mse"].clip(lower=0)
        )

    def beyond_possible(self, outcome):
        """Return what is to be read in place of numbers beyond what is possible, a list of str."""
        own = self.accuracy.iloc[outcome]
        counts = BELOW_0.findall(self.accuracy_in_words(outcome) or "")
        return [
            *(["R² as 1"] if own["r2"] > 1 else []),
            *(["the mean squared error as 0"] if own["mse"] < 0 else []),
            *(f"the number of {what} as 0" for what in counts),
        ]

    @property
    def n_weights(self):
        """The number of variants that a score holds."""
        return self.weights.shape[1]

    def places(self, outcome):
        """Return the (n_weights,) rows of `variants` that the weights of an outcome are of."""
        return np.arange(len(self.variants)) if self.chosen is None else self.chosen[outcome]

    def largest_rows(self, outcome):
        """Return the `N_LARGEST` largest weights of an outcome: its variants with a column ``weight``."""
        order = np.argsort(-np.abs(self.weights[outcome]), kind="stable")[:N_LARGEST]
        return self.variants.iloc[self.places(outcome)[order]].assign(weight=self.weights[outcome, order])

    def chosen_rows(self, outcome):
        """Return the variants chosen for an outcome, in genome order, with ``weight`` and ``standard_error``.

        There is no such column without standard errors.
        """
        numbers = {"weight": self.weights[outcome]}
        if self.standard_errors is not None:
            numbers["standard_error"] = self.standard_errors[outcome]
        return self.variants.iloc[self.chosen[outcome]].assign(**numbers)


def terms_rows(statement):
    """List what the release, one outcome of it and its data set's whole ledger cost.

    Parameters
    ----------
    statement : dict, a privacy statement.

    Returns
    -------
    list of TermsRow; a line that would repeat the first is left out.
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


def _terms_row(label, total):
    epsilon, delta, chance = (Decimal(total[name]) for name in ("epsilon", "delta", "chance"))
    # More digits than anybody reads; what is shown is rounded up.
    return TermsRow(label, epsilon, delta, Context(prec=30).exp(epsilon), chance, total["right_guesses"])
