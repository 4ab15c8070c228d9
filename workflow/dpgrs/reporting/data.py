"""What the pages of a benchmark are made from."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

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


def read_metrics(path, columns=None):
    """Read a table of the study as text and numbers; an outcome named ``NA`` or ``007`` stays as it is.

    Parameters
    ----------
    path : path of metrics.tsv, population_metrics.tsv, measures.tsv or attacks.tsv.
    columns : list of str, those to read; None reads all.

    Returns
    -------
    data frame; missing numbers are NaN, missing words empty.
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
    """Settings of a benchmark that its readers should know.

    Attributes
    ----------
    name : str
    n_people, n_rows : int, people and genotype rows, training and test together.
    rows : str, what one row is: `haplotypes` or `people`.
    variant_counts, outcome_counts : tuple of int, ascending.
    replicates : int
    source : str, where the genotypes come from, in words.
    is_copied : bool, whether people are copies of those.
    chromosomes : tuple of str.
    heritability : float, of simulated outcomes; None for measured ones.
    test_share : float, of the people, kept for testing.
    outcome_bound : float, the public bound at which every outcome is clipped.
    delta : float
    penalty : float, lambda of the ridge penalty, per row.
    penalty_rule : str, where lambda of ReuseCov's fits comes from, a `Penalty`.
    stated_heritability : float, stated for BLUP; None where BLUP estimates it.
    is_joint : bool, whether projections share one ball.
    bounds : str, what rows are clipped at, a `Bounds`.
    genotype_clip, outcome_clip : float, factors of the norms of `tight` bounds.
    outcome_budget : str, `joint` or `separate`.
    seed : int
    words : Words, what pages call what the study is about.
    left_out : str, how many people were left out and why, in words; None where everybody is in the study.
    covariates : tuple of str, names of further columns of X.
    covariate_bound : float, at which they are clipped, in standard deviations.
    field : ``GT`` for calls, ``DS`` for imputed dosages of people.
    people_counts : tuple of str, how many people have the outcomes and covariates of tables, in words.
    effects : tuple of str, which public effects there are, and how outcomes go with them, in words.
    prevalence : float, of simulated 0/1 outcomes; None for others.
    factors : int, of simulated outcomes that share causes; None for others.
    facts : dict of a method to what its row says of the settings, a dict of a label to text; None
        where there is nothing.
    network : int, hidden units of the networks of simulated outcomes; None for linear ones.
    """

    name: str
    n_people: int
    n_rows: int
    rows: str
    variant_counts: tuple
    outcome_counts: tuple
    replicates: int
    source: str
    chromosomes: tuple
    heritability: float | None
    test_share: float
    outcome_bound: float
    delta: float
    penalty: float
    penalty_rule: str
    stated_heritability: float | None
    is_joint: bool
    bounds: str
    genotype_clip: float
    outcome_clip: float
    outcome_budget: str
    seed: int
    words: Words = GENOTYPE_WORDS
    left_out: str | None = None
    covariates: tuple = ()
    covariate_bound: float | None = None
    field: str = "GT"
    people_counts: tuple = ()
    has_public_sites: bool = False
    choice: tuple = ()
    misfit: tuple = ()
    effects: tuple = ()
    prevalence: float | None = None
    factors: int | None = None
    network: int | None = None
    facts: dict | None = None
    is_copied: bool = False


class ClippedRows(NamedTuple):
    """Shares of the training rows of one design that tight bounds shrank.

    Attributes
    ----------
    n_variants, n_outcomes : int
    genotypes, outcomes : float
    """

    n_variants: int
    n_outcomes: int
    genotypes: float
    outcomes: float


@dataclass(frozen=True)
class Clipping:
    """How much of the training rows of replicate 1 was clipped.

    Attributes
    ----------
    values : (n_outcomes,) int64, values beyond the public bound, at the largest variant set.
    known : (n_outcomes,) int64, all values that are there.
    rows : list of ClippedRows, largest design first; empty under worst-case bounds.
    """

    values: np.ndarray
    known: np.ndarray
    rows: list


@dataclass(frozen=True)
class FitWeights:
    """Weights of all outcomes by one fit, in replicate 1 at the largest variant set and number of outcomes.

    Attributes
    ----------
    method, protection, accounting : str; accounting is empty for a non-private fit.
    epsilon : float, or None for a non-private fit.
    weights : (n_outcomes, n_variants) float64.
    """

    method: str
    protection: str
    accounting: str
    epsilon: float | None
    weights: np.ndarray


@dataclass(frozen=True)
class Choice:
    """Variants chosen for all outcomes under the same terms, in replicate 1 at the largest design.

    Attributes
    ----------
    accounting : str, empty without privacy.
    epsilon : float, or None without privacy.
    chosen : (n_outcomes, n_choices) int64, in the order of choice.
    selector : str
    """

    accounting: str
    epsilon: float | None
    chosen: np.ndarray
    selector: str = "kendall"


class ChoiceRow(NamedTuple):
    """How good the choices of one design are: means over its outcomes, in replicate 1.

    Attributes
    ----------
    n_variants, n_outcomes : int
    accounting : str, empty without privacy.
    epsilon : float, or None without privacy.
    shared : float, chosen without privacy too.
    causal, near, found, n_causal : float, of an `Overlap`, and causal variants there are; NaN where nothing
        is known of them, or all are causal.
    selector : str
    note : str, how a choice with noise was made that is not private; empty of all others.
    """

    n_variants: int
    n_outcomes: int
    accounting: str
    epsilon: float | None
    shared: float
    causal: float = np.nan
    near: float = np.nan
    found: float = np.nan
    n_causal: float = np.nan
    selector: str = "kendall"
    note: str = ""


@dataclass(frozen=True)
class Screening:
    """Variants that were chosen for each outcome, in replicate 1.

    Attributes
    ----------
    methods : tuple of str, the study's methods that are fitted on chosen variants.
    share : float, of epsilon that choosing spends.
    partner_r2 : float, the smallest r^2 of LD partners.
    scores : (n_outcomes, n_variants) float64, exact Kendall correlations of the largest variant set.
    choices : list of Choice, all by one selector, Kendall's where the study has it; the first is without
        privacy.
    rows : list of ChoiceRow, largest design first.
    causal_r2 : list with a dict for every outcome, of a variant of any choice to its r^2 with the closest
        causal one; None where none is known, or all are causal.
    """

    methods: tuple
    share: float
    partner_r2: float
    scores: np.ndarray
    choices: list
    rows: list
    causal_r2: list | None = None

    @property
    def n_choices(self):
        """Variants chosen for each outcome, an int."""
        return self.choices[0].chosen.shape[1]


class Quality(NamedTuple):
    """What the page on genotypes shows.

    Attributes
    ----------
    counts : DataFrame as `variant_filters.write_counts` wrote it; the last row has the sums.
    summary : GenotypeSummary
    settings : dict, the section `variants` of the configuration.
    """

    counts: pd.DataFrame
    summary: GenotypeSummary
    settings: dict


@dataclass(frozen=True)
class ReportData:
    """Everything that the pages of a benchmark show; nearly all of it knows who is in the data.

    Attributes
    ----------
    study : StudyInfo
    outcomes : tuple of n_outcomes unique str, in the order of the rows of the weights.
    metrics : one row per replicate, outcome, fit, number of variants and number of outcomes: the study's
        metrics.tsv.
    population_metrics : the same by population of the test rows; empty where populations are not known.
    variants : `VARIANT_COLUMNS` of the largest variant set, in genome order.
    weights : list of FitWeights.
    effects : (n_outcomes, n_variants) float64, true effects of simulated outcomes, or None.
    attacks : one row per replicate, attack, fit, design and kind of target: the study's attacks.tsv; None
        where nobody was attacked.
    clipping : Clipping, or None where it was not counted.
    screening : Screening, or None where no method chooses variants.
    binary : tuple of str, outcomes that have two values alone.
    measures : one row per replicate, outcome, fit and measure of the largest design: the study's
        measures.tsv; None where nothing was measured so.
    quality : Quality, of the genotypes; None leaves their page out.
    loadings : (n_outcomes, n_components) float64, public, of the outcomes on what was drawn of them; None
        where that is the outcomes.

    Raises
    ------
    DpgrsError
        If an outcome is named twice, the metrics name another one, an array does not fit the numbers of
        outcomes and variants.
    """

    study: StudyInfo
    outcomes: tuple
    metrics: pd.DataFrame
    population_metrics: pd.DataFrame
    variants: pd.DataFrame
    weights: list
    effects: np.ndarray | None = None
    attacks: pd.DataFrame | None = None
    clipping: Clipping | None = None
    screening: Screening | None = None
    quality: Quality | None = None
    binary: tuple = ()
    measures: pd.DataFrame | None = None
    loadings: np.ndarray | None = None

    def __post_init__(self):
        shape = (len(self.outcomes), len(self.variants))
        if len(set(self.outcomes)) < shape[0]:
            raise DpgrsError("`outcomes` must be unique names, got one twice. Rename a column of the table.")
        unknown = sorted(set(self.metrics["outcome"]) - set(self.outcomes))
        if unknown:
            raise DpgrsError(
                f"`metrics` must hold the outcomes of replicate 1, got {unknown[0]!r} besides."
                " Rerun the evaluation of all replicates."
            )
        arrays = {f"weights of {fit.method}": fit.weights for fit in self.weights}
        if self.effects is not None:
            arrays["effects"] = self.effects
        if self.screening is not None:
            arrays["scores"] = self.screening.scores
        for name, array in arrays.items():
            if array.shape != shape:
                raise DpgrsError(
                    f"`{name}` must be of shape {shape} (outcomes, variants), got {array.shape}."
                    " Rerun the fit of replicate 1."
                )

    @cached_property
    def accuracy(self):
        """The `Accuracy` of the largest design."""
        return Accuracy.of(self.metrics, outcomes=self.outcomes, replicates=self.study.replicates)
