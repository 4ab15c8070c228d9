"""The phenotypes and covariates."""

from dataclasses import dataclass
from typing import Literal

from dpgrs.config.setting import Section, setting
from dpgrs.types import (
    Missing,
    TableCheck,
)


@dataclass(frozen=True)
class Outcomes(Section):
    """The phenotypes: docs/how-to/outcomes.md. `heritability`, `causal_share`, `factors`, `network` and
    `prevalence` are only for simulated outcomes. The last three are refused with a table. `network` is
    refused beside `factors`, which has linear effects, and beside `prevalence`, which takes liabilities to
    be normal.
    """

    source: Literal["simulate", "file", "table"] = setting(
        "simulate",
        "Source of the outcomes: simulated from the variants, read from a table, or columns of the study's "
        "own `cohort.table`.",
        example="file",
    )
    columns: tuple[str, ...] | None = setting(
        None,
        "Columns of `cohort.table` that are outcomes, by names or patterns with `*`; all others are "
        "predicted from. Needed for `source: table`.",
        example=("rings",),
        max_items=1000,
    )
    file: str | None = setting(
        None,
        "Path of a tab- or comma-separated table (.gz welcome) or of a Parquet file: one line a person, the "
        "sample id first and one column an outcome. Outcomes are standardised with public constants (mean "
        "about 0, sd about 1), or `scales` gives the constants. Needed for `source: file`.",
        example="phenotypes.tsv.gz",
        is_path=True,
    )
    scales: str | None = setting(
        None,
        "Path of a table of the public constants that standardise outcomes that are not simulated: a line an "
        "outcome, with `centre` and `scale`, or the `prevalence` of a 0/1 outcome, and "
        "`population_prevalence` if cases are more or less frequent than in the population.",
        example="scales.tsv",
        is_path=True,
    )
    loadings: str | None = setting(
        None,
        "Path of a table of public loadings of the outcomes on fewer components, a line an outcome, with "
        "`outcome`, `origin` and a column a component. The components of each row are released instead of "
        "its outcomes, and the weights are mapped back.",
        example="outcome_loadings.tsv",
        is_path=True,
    )
    traits: str | None = setting(
        None,
        "Path of a table that describes the outcomes of a release and their people: a line an outcome, with "
        "`outcome` and any of `reported_trait`, `efo_id`, `mapped_trait`, `cohort`, `ancestry`, `country` "
        "and `doi`. It is published as it is.",
        example="traits.tsv",
        is_path=True,
    )
    least_share: float = setting(
        0.5,
        "Least share of the people with genotypes who must be in the tables of outcomes and of covariates, "
        "and have a value of each column that is used, and of the people in each of these tables who must "
        "have genotypes. With fewer people the study is refused before anything is drawn. A release prints "
        "this share: that the release exists reveals that the data have it.",
        example=0.1,
        minimum=0,
        maximum=1,
    )
    checks: tuple[TableCheck, ...] = setting(
        ("people", "values", "scale", "binary"),
        "Checks of the tables of outcomes and covariates. `people` needs `least_share` of the people on both "
        "sides; `values` needs the same share, and 10 people, with a value in each column; `scale` needs "
        "standardised outcomes; `binary` needs only 0 and 1 in columns with a prevalence. A release prints "
        "the checks that it has. Without a check a wrong table is charged for, and nothing is revealed by "
        "passing it.",
        example=("people", "values"),
        may_be_empty=True,
        max_items=4,
    )
    count: tuple[int, ...] | None = setting(
        (1, 10),
        "Numbers of outcomes fitted together: each number takes the first so many. null, the default for "
        "`source: file`, takes all columns.",
        example=(1, 10, 100),
        max_items=100,
        minimum=1,
        maximum=1_000_000,
    )
    heritability: float = setting(
        0.5,
        "Share of the variance of a simulated outcome that the variants explain.",
        example=0.2,
        minimum=0,
        maximum=1,
    )
    causal_share: float = setting(
        1.0,
        "Share of the variants with an effect on a simulated outcome.",
        example=0.1,
        above=0,
        maximum=1,
    )
    factors: int | None = setting(
        None,
        "Number of factors of which the effects of all simulated outcomes are made, with loadings of their "
        "own; the environment of an outcome is made of as many. Outcomes then share causes. With null they "
        "share nothing.",
        example=10,
        minimum=1,
        maximum=1000,
    )
    network: int | None = setting(
        None,
        "Hidden units of a two-layer network, one network for each simulated outcome, instead of the sum of "
        "the variants' effects. The variants then explain `heritability` of an outcome, about three quarters "
        "of it by a linear score. null adds effects up.",
        example=16,
        minimum=1,
        maximum=1000,
    )
    prevalence: float | None = setting(
        None,
        "Public prevalence of simulated 0/1 outcomes, the share of people whose liability (the outcome of "
        "the keys above) is beyond the normal quantile; they are standardised by it. null simulates "
        "quantitative outcomes.",
        example=0.05,
        above=0,
        below=1,
    )
    test_share: float = setting(
        0.2,
        "Share of the people kept for testing, each chosen by a hash of the sample id; both haplotypes of a "
        "person fall on the same side. The default of a release is 0, which trains on everyone.",
        example=0.1,
        minimum=0,
        maximum=0.999,
    )
    missing: Missing = setting(
        "none",
        "Whether an outcome may be missing for some people. `counted`, the default for `source: file`, "
        "counts the rows on which each is known, with noise that takes `privacy.count_share` of the budget, "
        "and rescales the weights. With `none` each missing value counts as 0, the public mean, and shrinks "
        "the weights, except with `loadings`, which fill it in.",
        example="counted",
    )
    bound: float = setting(
        3.0,
        "Public bound B. Training outcomes are clipped to `[-B, B]`, row by row; R^2 is measured on "
        "unclipped values.",
        example=4,
        minimum=1e-6,
        maximum=1000,
    )

    @property
    def are_counted(self) -> bool:
        """Whether a study counts, with noise, on how many rows each outcome is known."""
        return self.missing == Missing.COUNTED


@dataclass(frozen=True)
class Covariates(Section):
    """What every outcome is adjusted for (docs/explanation/covariates.md): by a private regression before all
    else, with any method that can be released, or as further columns of X. They need
    `privacy.bounds: tight`, the default of a release.
    """

    file: str | None = setting(
        None,
        "Path of a table of covariates, TSV, CSV or Parquet: one line a person, the sample id first and one "
        "column a covariate, only numbers.",
        example="covariates.tsv",
        is_path=True,
    )
    columns: tuple[str, ...] | None = setting(
        None,
        "Columns of `file` to use, in order; null takes all that `scales` names.",
        example=("age", "sex"),
        max_items=1000,
    )
    scales: str | None = setting(
        None,
        "Path of a table of the public constants that standardise covariates, a line each, with `centre` and "
        "`scale`, or the `prevalence` of a 0/1 covariate. Needed with `file`.",
        example="covariate_scales.tsv",
        is_path=True,
    )
    pcs: int = setting(
        0,
        "Number of principal components of the genotypes, with loadings from the people of the public "
        "reference; a benchmark uses the cohort as a stand-in for the reference.",
        example=4,
        minimum=0,
        maximum=100,
    )
    bound: float = setting(
        3.0,
        "Public bound of every covariate in standard deviations; values beyond it are clipped, row by row.",
        example=4,
        minimum=1e-6,
        maximum=100,
    )
    first: bool | None = setting(
        None,
        "Whether outcomes are adjusted by a private regression on the covariates before anything else of "
        "them is summed; false makes covariates columns of X. null takes the regression if a method of the "
        "study takes no such columns.",
        example=True,
    )
    share: float | None = setting(
        None,
        "Share of mu^2 for that regression. null takes the smallest with which its noise costs an outcome "
        "less than 0.001 of its variance, by the planned number of people, from 0.03 to 0.3.",
        example=0.05,
        above=0,
        below=1,
    )

    @property
    def has_any(self) -> bool:
        """Whether a study has covariates, from a table or from genotypes."""
        return self.file is not None or self.pcs > 0

    @property
    def adjusts_first(self) -> bool:
        """Whether outcomes of a resolved study are adjusted by a private regression before all else."""
        return self.has_any and bool(self.first)
