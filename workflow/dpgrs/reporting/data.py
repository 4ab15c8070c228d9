"""What the pages of a benchmark are made from."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError

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
)
NUMBER_COLUMNS = ("epsilon", "delta", "r2", "mse", "mse_nonprivate", "seconds")
NUMBER_COLUMNS += ("advantage_bound", "tpr_bound", "auc_bound")  # none without privacy


def read_metrics(path):
    """Read a table of the study as text and numbers; an outcome named ``NA`` or ``007`` stays as it is.

    Parameters
    ----------
    path : path of metrics.tsv, population_metrics.tsv or attacks.tsv.

    Returns
    -------
    data frame; missing numbers are NaN, missing words empty.
    """
    return pd.read_csv(
        path,
        sep="\t",
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
    panel_sizes, outcome_counts : tuple of int, ascending.
    trials : int
    source : str, where the genotypes come from, in words.
    chromosomes : tuple of str.
    heritability : float, of simulated outcomes; None for measured ones.
    outcome_bound : float, the public bound at which every outcome is clipped.
    delta : float
    penalty : float, lambda of the ridge penalty, per row.
    seed : int
    """

    name: str
    n_people: int
    n_rows: int
    rows: str
    panel_sizes: tuple
    outcome_counts: tuple
    trials: int
    source: str
    chromosomes: tuple
    heritability: float | None
    outcome_bound: float
    delta: float
    penalty: float
    seed: int


@dataclass(frozen=True)
class FitWeights:
    """Weights of all outcomes by one fit, in trial 1 at the largest panel and number of outcomes.

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
class ReportData:
    """Everything that the pages of a benchmark show; nearly all of it knows who is in the data.

    Attributes
    ----------
    study : StudyInfo
    outcomes : tuple of n_outcomes unique str, in the order of the rows of the weights.
    metrics : one row per trial, outcome, fit, panel size and number of outcomes: the study's metrics.tsv.
    population_metrics : the same by population of the test rows; empty where populations are not known.
    variants : `VARIANT_COLUMNS` of the largest panel, in genome order.
    weights : list of FitWeights.
    effects : (n_outcomes, n_variants) float64, true effects of simulated outcomes, or None.
    attacks : one row per trial, attack, fit, design and kind of target: the study's attacks.tsv; None where
        nobody was attacked.

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

    def __post_init__(self):
        shape = (len(self.outcomes), len(self.variants))
        if len(set(self.outcomes)) < shape[0]:
            raise DpgrsError("`outcomes` must be unique names, got one twice. Rename a column of the table.")
        unknown = sorted(set(self.metrics["outcome"]) - set(self.outcomes))
        if unknown:
            raise DpgrsError(
                f"`metrics` must hold the outcomes of trial 1, got {unknown[0]!r} besides."
                " Rerun the evaluation of all trials."
            )
        arrays = {f"weights of {fit.method}": fit.weights for fit in self.weights}
        if self.effects is not None:
            arrays["effects"] = self.effects
        for name, array in arrays.items():
            if array.shape != shape:
                raise DpgrsError(
                    f"`{name}` must be of shape {shape} (outcomes, variants), got {array.shape}."
                    " Rerun the fit of trial 1."
                )
