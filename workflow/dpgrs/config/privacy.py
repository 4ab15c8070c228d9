"""The guarantee, and the fits that draw on it."""

from dataclasses import dataclass
from typing import Literal

from dpgrs.config.setting import Section, setting
from dpgrs.types import (
    Accounting,
    Bounds,
    Composition,
    Metrics,
    Neighbours,
    Penalty,
    Protection,
    Selection,
    Unit,
)


@dataclass(frozen=True)
class Privacy(Section):
    """The guarantee. Lists are combined, and each combination is a fit of its own. With haplotype rows a
    person has two rows: `unit: haplotype` protects each of them by itself, `unit: person` protects both
    together, for twice the noise.
    """

    protection: tuple[Literal[Protection.FULL, Protection.FEATURE, Protection.LABEL], ...] = setting(
        ("full", "feature", "label"),
        "Private data: genotypes and outcomes (`full`), genotypes (`feature`) or outcomes (`label`).",
        example="full",
        max_items=100,
    )
    epsilon: tuple[float, ...] = setting(
        (1, 5),
        "Privacy loss, or a list of them; smaller is more private.",
        example=(0.5, 1, 2),
        max_items=100,
        minimum=0.0001,
        maximum=10_000,
    )
    delta: float = setting(
        1e-06,
        "Delta of (epsilon, delta), far below one over the number of people. It is not the chance that odds "
        "move by more than e^epsilon, which is larger (docs/proofs/odds.md).",
        example=1e-07,
        minimum=1e-30,
        below=1,
    )
    neighbours: Neighbours = setting(
        "add-remove",
        "Which data sets full protection compares: one row added or removed, or one row replaced (the number "
        "of rows is then public). `feature` and `label` always replace one.",
        example="replace-one",
    )
    unit: Unit | None = setting(
        None,
        "Whose data one unit of privacy covers. null takes `haplotype` for haplotype rows and `person` for "
        "people rows.",
        example="person",
    )
    accounting: tuple[Accounting, ...] = setting(
        ("gdp",),
        "How epsilon and delta become noise: exact mu-GDP, or a fixed part of both for each statistic, as in "
        "the paper.",
        example="gdp",
        max_items=100,
    )
    gram_share: float | None = setting(
        None,
        "Share of the Gram matrix in the budget that the count leaves; the cross products get the rest. null "
        "takes it from the numbers of variants and outcomes, bounds and neighbours, at most 0.5.",
        example=0.3,
        above=0,
        below=1,
    )
    count_share: float = setting(
        0.01,
        "Share of the budget spent on the number of rows, which is private under `add-remove`, and as much "
        "again on the rows on which each outcome is known under `outcomes.missing: counted`; below 0.5 for "
        "both.",
        example=0.02,
        above=0,
        below=1,
    )
    case_share: float | None = setting(
        None,
        "Share of the budget of X'Y that is spent on noisy numbers of cases and controls of 0/1 outcomes "
        "(`outcomes.scales`, `outcomes.prevalence`), which the bundle then states; null counts none. Only "
        "for releases whose bundle may hold `statistics`.",
        example=0.01,
        above=0,
        below=1,
    )
    outcome_budget: Literal["joint", "separate"] = setting(
        "joint",
        "Whether all outcomes share epsilon and delta (`joint`), or each outcome has them for itself "
        "(`separate`): less noise, a larger total, and, unless `covariates.first`, draws of an outcome that "
        "do not depend on which others there are. `separate` is for methods that fit each outcome by "
        "itself, without `public.effects`.",
        example="separate",
    )
    bounds: Bounds = setting(
        "worst-case",
        "What rows are clipped at before they are summed: only what their coding and `outcomes.bound` allow "
        "(`worst-case`), or about their root mean square (`tight`), by allele frequencies and standardised "
        "outcomes, which gives far less noise. The default of a release is `tight`, by its public "
        "frequencies; a benchmark uses the cohort's own frequencies as a stand-in. `paper`, only for "
        "benchmarks, does what the PRIMO paper does: rows less their own mean, no intercept, the norm of X'X "
        "as a whole, negative eigenvalues kept.",
        example="tight",
    )
    genotype_clip: float = setting(
        1,
        "Norm at which `tight` bounds clip a row of genotypes, times its root mean square.",
        example=1.2,
        above=0,
        maximum=100,
    )
    outcome_clip: float = setting(
        1.05,
        "Norm at which `tight` bounds clip a row of outcomes that share a budget, times the root of their "
        "number; for l outcomes at least 1 + 1/(2 l), which fits undo.",
        example=1.5,
        above=0,
        maximum=100,
    )
    direction_shares: Literal["steered", "equal"] = setting(
        "steered",
        "How `blup-genome` shares its budget among directions of public LD: by the signal that is expected "
        "along each (`steered`), or as much for each of the leading directions (`equal`), at some cost in "
        "R^2. With `equal` and `release.statistics` a bundle also holds effects of single variants for "
        "LDpred-inf and LD score regression, and their LD is written beside it "
        "(docs/how-to/use_release.md).",
        example="equal",
    )
    ld_share: float | None = setting(
        None,
        "Share of the budget of X'Y that `blup-genome` spends on second moments of people's rows within LD "
        "blocks, from which its fit takes the LD of the cohort itself; null spends none. A share of 0.1 is "
        "worth it if the public reference may be of another ancestry, or has about 100 people, and the "
        "cohort has tens of thousands. Scores then have no scale from the reference. Not with "
        "`public.effects` (docs/explanation/genome.md).",
        example=0.1,
        above=0,
        below=1,
    )
    ledger: str | None = setting(
        None,
        "Path of the dataset's ledger, outside repositories and `results/`, made by `dpgrs ledger init`. "
        "Needed for a release.",
        example="/data/ledgers/cohort.jsonl",
        is_path=True,
    )
    budget: float | None = setting(
        None,
        "Largest total epsilon that these settings may spend, all outcomes together; a larger one is refused "
        "before any job. The ledger counts what earlier runs spent. null leaves the limit to the ledger.",
        example=5,
        above=0,
    )
    beyond_20: str | None = setting(
        None,
        "Why a release may cost a person more than epsilon 20, with all of its parts and both haplotypes "
        "together. The bundle prints the reason. Without a reason such a release is refused before any job.",
        example="open data of people who agreed to be published",
        min_length=1,
    )


@dataclass(frozen=True)
class Screening(Section):
    """Variants chosen for each outcome by itself. Methods whose names begin with `k-` (DPKendall) are fitted
    only on the chosen variants (docs/explanation/screening.md).
    """

    size: int = setting(
        10,
        "Variants chosen for each outcome, fewer than `variants.size`.",
        example=20,
        minimum=1,
        maximum=1_000_000,
    )
    share: float = setting(
        0.05, "Share of epsilon that the choice spends; the fit gets the rest.", example=0.1, above=0, below=1
    )
    count_share: float = setting(
        0.05,
        "Share of epsilon for the noisy number of rows, of methods that count the rows for themselves; twice "
        "this share if the choice of their variants counts them again.",
        example=0.02,
        above=0,
        below=1,
    )
    law: Selection = setting(
        "permute-and-flip",
        "How DPKendall chooses variants of high score: by permute-and-flip, which is never worse on average "
        "and is drawn exactly, or with Gumbel noise, as in its paper, only for benchmarks.",
        example="gumbel",
    )
    composition: Composition = setting(
        "basic",
        "How the losses of DPKendall's choices add up: as epsilons (`basic`) or as zCDP, which also spends "
        "`screening.share` of delta, allows more from about 20 choices on (Gumbel 6), and is only for "
        "benchmarks.",
        example="zcdp",
    )


@dataclass(frozen=True)
class Regression(Section):
    """The linear model."""

    lambda_: float = setting(0.2, "Ridge penalty per row, on half-coded genotypes.", example=0.01, minimum=0)
    lambda_from: Penalty = setting(
        "fixed",
        "Source of the penalty of ReuseCov's fits: the key above (`fixed`), the spread of the noise on X'X "
        "(`adassp`), or the marginal likelihood of the released statistics (`evidence`).",
        example="evidence",
    )
    heritability: float | None = setting(
        None,
        "Share of an outcome's variance that the variants explain, for 0/1 outcomes on their own scale and "
        "not on the scale of a liability, stated publicly for fits by BLUP. `blup` and `blup-steered` then "
        "give standard errors under full protection too, if these hold. null estimates it from the released "
        "statistics.",
        example=0.5,
        minimum=1e-6,
        below=1,
    )
    joint_projection: bool = setting(
        False,
        "Whether `reusecov-proj` and `reusecov-ellipsoid` move all outcomes (or variants) together into one "
        "ball, as the PRIMO paper does, or each into its own.",
        example=True,
    )


@dataclass(frozen=True)
class Evaluation(Section):
    """Accuracy of a release (docs/explanation/accuracy.md). A benchmark measures without a charge. `metrics:
    charged` needs people to measure on, so `outcomes.test_share` above 0.
    """

    metrics: Metrics = setting(
        "withheld",
        "Whether a release states no R^2 and mean squared error (`withheld`), measures them on held-out "
        "people with noise, for a budget of their own (`charged`), or measures them on the people of the "
        "public reference, at no cost (`public`).",
        example="charged",
    )
    epsilon: float | None = setting(
        None,
        "Privacy loss of the metrics, beside `privacy.epsilon` and at the same delta; shared by all outcomes "
        "or for each, as `privacy.outcome_budget` says. Needed for `metrics: charged`.",
        example=0.5,
        minimum=0.0001,
        maximum=10_000,
    )
    outcomes: str | None = setting(
        None,
        "Path of a table of outcomes of the people of `public.reference`, standardised like the study's own. "
        "Needed for `metrics: public` with outcomes from a file; simulated outcomes are also simulated for "
        "these people. Its columns are those of `outcomes.file`, in the same order.",
        example="reference_phenotypes.tsv",
        is_path=True,
    )
    covariates: str | None = setting(
        None,
        "Path of a table of covariates of the people of `public.reference`, as `covariates.file`, with all "
        "columns of it that are used; other columns are ignored. Needed for `metrics: public` with "
        "covariates from a file.",
        example="reference_covariates.tsv",
        is_path=True,
    )
    residual_bound: float | None = setting(
        None,
        "Public bound C; differences between outcome and prediction are clipped to `[-C, C]` before they are "
        "squared. null takes `outcomes.bound`.",
        example=4,
        minimum=1e-6,
        maximum=1000,
    )
