"""What the pages of a benchmark are made from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.files import read_table
from dpgrs.io.genotype_summary import GenotypeSummary
from dpgrs.reporting.accuracy import Accuracy
from dpgrs.reporting.words import GENOTYPE_WORDS, Words

VARIANT_COLUMNS = ("contig", "position", "id", "ref", "alt", "frequency")
TEXT_COLUMNS = (
    "outcome",
    "method",
    "protection",
    "neighbours",
    "unit",
    "accounting",
    "population",
    "status",
    "attack",
    "target",
    "measure",
    "note",
)
NUMBER_COLUMNS = ("epsilon", "delta", "r2", "mse", "mse_nonprivate", "seconds")
NUMBER_COLUMNS += ("advantage_bound", "tpr_bound", "auc_bound")  # none without privacy
NUMBER_COLUMNS += ("value", "low", "high", "expected")


def read_metrics(path: Path | str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a table of the study as text and numbers; an outcome named ``NA`` or ``007`` stays as it is.

    The file is metrics.tsv, population_metrics.tsv, measures.tsv or attacks.tsv; None reads all columns.
    Missing numbers are NaN, missing words empty.
    """
    return read_table(
        path,
        usecols=columns,
        dtype=dict.fromkeys(TEXT_COLUMNS, str),
        keep_default_na=False,
        na_values={name: [""] for name in NUMBER_COLUMNS},
    )


@dataclass(frozen=True)
class StudyInfo:
    """Settings of a benchmark that its readers should know."""

    name: str
    n_people: int  # training and test together, as are the rows
    n_rows: int
    rows: str  # what a row is: `haplotypes` or `people`
    variant_counts: tuple[int, ...]  # ascending
    outcome_counts: tuple[int, ...]  # ascending
    replicates: int
    source: str  # where the genotypes come from, in words
    chromosomes: tuple[str, ...]
    heritability: float | None  # of simulated outcomes; None for measured ones
    test_share: float  # of the people, kept for testing
    outcome_bound: float  # public, at which every outcome is clipped
    delta: float
    penalty: float  # lambda of the ridge penalty, per row
    penalty_rule: str  # where lambda of ReuseCov's fits comes from, a `Penalty`
    stated_heritability: float | None  # for BLUP; None if BLUP estimates it
    is_joint: bool  # whether projections share one ball
    bounds: str  # at which rows are clipped, a `Bounds`
    genotype_clip: float  # factor of the norm of `tight` bounds, as is the next
    outcome_clip: float
    outcome_budget: str  # `joint` or `separate`
    seed: int
    words: Words = GENOTYPE_WORDS
    left_out: str | None = None  # how many people were left out and why, in words; None if nobody was
    covariates: tuple[str, ...] = ()  # names of further columns of X
    covariate_bound: float | None = None  # at which they are clipped, in standard deviations
    field: str = "GT"  # ``GT`` for calls, ``DS`` for imputed dosages of people
    people_counts: tuple[str, ...] = ()  # how many people have outcomes and covariates of tables, in words
    has_public_sites: bool = False
    choice: tuple[str, ...] = ()
    misfit: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()  # which public effects there are, and how outcomes go with them, in words
    prevalence: float | None = None  # of simulated 0/1 outcomes
    factors: int | None = None  # of simulated outcomes that share causes
    network: int | None = None  # hidden units of the networks of simulated outcomes; None for linear ones
    facts: dict[str, dict[str, str]] | None = None  # by method, labels and text on its settings
    is_copied: bool = False  # whether people are copies of people of the source


class ClippedRows(NamedTuple):
    """Shares of the training rows of one design that tight bounds shrank."""

    n_variants: int
    n_outcomes: int
    genotypes: float
    outcomes: float


@dataclass(frozen=True)
class Clipping:
    """How much of the training rows of replicate 1 was clipped."""

    values: np.ndarray  # (n_outcomes,) int64, values beyond the public bound, at the largest variant set
    n_known: np.ndarray  # (n_outcomes,) int64, all values that are there
    rows: list[ClippedRows]  # largest design first; empty under worst-case bounds


@dataclass(frozen=True)
class FitWeights:
    """Weights of all outcomes by one fit, in replicate 1 at the largest variant set and number of
    outcomes."""

    method: str
    protection: str
    accounting: str  # empty for a non-private fit
    epsilon: float | None  # None for a non-private fit
    weights: np.ndarray  # (n_outcomes, n_variants) float64


@dataclass(frozen=True)
class Choice:
    """Variants chosen for all outcomes under the same terms, in replicate 1 at the largest design."""

    accounting: str  # empty without privacy
    epsilon: float | None  # None without privacy
    chosen: np.ndarray  # (n_outcomes, n_choices) int64, in the order of choice
    selector: str = "kendall"


class ChoiceRow(NamedTuple):
    """How good the choices of one design are: means over its outcomes, in replicate 1.

    The numbers of an `Overlap` are NaN if no causal variants are known, or all are causal.
    """

    n_variants: int
    n_outcomes: int
    accounting: str  # empty without privacy
    epsilon: float | None  # None without privacy
    shared: float  # chosen without privacy too
    causal: float = np.nan
    near: float = np.nan
    found: float = np.nan
    n_causal: float = np.nan  # causal variants there are
    selector: str = "kendall"
    note: str = ""  # how a choice with noise was made that is not private; empty for all others


@dataclass(frozen=True)
class Screening:
    """Variants that were chosen for each outcome, in replicate 1."""

    methods: tuple[str, ...]  # the study's methods that are fitted on chosen variants
    share: float  # of epsilon, spent on choosing
    partner_r2: float  # the smallest r^2 of LD partners
    # (n_outcomes, n_variants) float64, exact Kendall correlations of the largest variant set.
    scores: np.ndarray
    choices: list[Choice]  # by one selector, Kendall's if the study has it; the first without privacy
    rows: list[ChoiceRow]  # largest design first
    # For every outcome, r^2 of each chosen variant with the closest causal one; None if none is known, or all
    # are.
    causal_r2: list[dict[int, float]] | None = None

    @property
    def n_choices(self) -> int:
        """The number of variants chosen for each outcome."""
        return self.choices[0].chosen.shape[1]


class Quality(NamedTuple):
    """What the page on genotypes shows."""

    counts: pd.DataFrame  # as `variant_filters.write_counts` wrote them; the last row has the sums
    summary: GenotypeSummary
    settings: Any  # `Variants` of the configuration


@dataclass(frozen=True)
class ReportData:
    """Everything that the pages of a benchmark show; nearly all of it depends on who is in the data.

    An outcome named twice, metrics of another outcome, and arrays that do not fit the numbers of outcomes and
    variants are refused.
    """

    study: StudyInfo
    outcomes: tuple[str, ...]  # unique, in the order of the rows of the weights
    # Metrics.tsv: a row per replicate, outcome, fit, number of variants and number of outcomes.
    metrics: pd.DataFrame
    # The same by population of the test rows; empty if populations are not known.
    population_metrics: pd.DataFrame
    variants: pd.DataFrame  # `VARIANT_COLUMNS` of the largest variant set, in genome order
    weights: list[FitWeights]
    effects: np.ndarray | None = None  # (n_outcomes, n_variants) float64, true effects of simulated outcomes
    # Attacks.tsv: a row per replicate, attack, fit, design and kind of target.
    attacks: pd.DataFrame | None = None
    clipping: Clipping | None = None  # None if it was not counted
    screening: Screening | None = None  # None if no method chooses variants
    quality: Quality | None = None  # None leaves the page on genotypes out
    binary: tuple[str, ...] = ()  # outcomes with exactly two values
    # Measures.tsv: a row per replicate, outcome, fit and measure of the largest design.
    measures: pd.DataFrame | None = None
    loadings: np.ndarray | None = None  # (n_outcomes, n_components) float64, public, if components were drawn

    def __post_init__(self) -> None:
        shape = (len(self.outcomes), len(self.variants))
        if len(set(self.outcomes)) < shape[0]:
            raise DpgrsError(
                "outcome-name-twice",
                "`outcomes` must be unique names, got one twice. Rename a column of the table.",
            )
        unknown = sorted(set(self.metrics["outcome"]) - set(self.outcomes))
        if unknown:
            raise DpgrsError(
                "metrics-of-other-outcomes",
                f"`metrics` must hold the outcomes of replicate 1, got {unknown[0]!r} besides."
                " Rerun the evaluation of all replicates.",
            )
        arrays = {f"weights of {fit.method}": fit.weights for fit in self.weights}
        if self.effects is not None:
            arrays["effects"] = self.effects
        if self.screening is not None:
            arrays["scores"] = self.screening.scores
        for name, array in arrays.items():
            if array.shape != shape:
                raise DpgrsError(
                    "report-array-shape",
                    f"`{name}` must be of shape {shape} (outcomes, variants), got {array.shape}."
                    " Rerun the fit of replicate 1.",
                )

    @cached_property
    def accuracy(self) -> Accuracy:
        """The `Accuracy` of the largest design."""
        return Accuracy.of(self.metrics, outcomes=self.outcomes, replicates=self.study.replicates)
