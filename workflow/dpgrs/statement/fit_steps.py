"""What a statement says of how weights came about, by method: texts, and functions of a fit's settings."""

from typing import Any

from dpgrs.fit_keys import MATCHED_PEOPLE
from dpgrs.types import Penalty

SHOWN_IN_FULL = (
    "The noisy X'Y of every outcome is divided by the share of effects that its clip leaves, which public "
    "constants tell."
)
CENTRED = (
    SHOWN_IN_FULL,
    "The Gram matrix is centred by its own intercept column.",
    "Its negative eigenvalues, which only noise can cause, count as 0.",
)
STEERED = (
    "X'Y is of rows that were turned onto directions of the genotypes and stretched along each by a gain, by "
    "rule from what was released or public before, and clipped at the norm of the rows of X "
    "(docs/proofs/steered.md). The fit undoes the gains."
)
SHARED = (
    "Effects of outcomes share factors, by variational Bayes, where X'Y shows more of them than a bootstrap "
    "of outcomes that share nothing."
)
COVARIATE_REGRESSION = (
    "Before that, a regression of the outcomes on the covariates was released: sums of products of clipped "
    "rows, one Gaussian vector (docs/proofs/covariate_regression.md). Effects are their posterior mean.",
    "From every person's outcomes their covariates' part was taken by these effects, before outcomes were "
    "clipped. The weights of covariates are these effects.",
)


def _lambda_in_words(fit: dict[str, Any]) -> str:
    """Say which lambda a ridge regression has, by the settings of a fit, a dict; here and below."""
    return {
        Penalty.FIXED: f"Ridge regression with lambda {fit['lambda']} per row.",
        Penalty.ADASSP: "Ridge regression, lambda from the spread of the noise on the Gram matrix.",
        Penalty.EVIDENCE: "Ridge regression, lambda from the marginal likelihood of what was released.",
    }[Penalty(fit["lambda_from"])]


def _moved_in_words(fit: dict[str, Any]) -> str:
    """Say whether outcomes are moved together."""
    if fit["joint_projection"]:
        return (
            "The noisy X'Y of all outcomes is moved together, to the nearest point of one ellipsoid, that of "
            "the noisy Gram matrix with a radius for all."
        )
    return "The noisy X'Y is moved to the nearest point of the ellipsoid of the noisy Gram matrix."


def _projected_in_words(fit: dict[str, Any]) -> str:
    """Say to where X'Y is moved, and whether one ball serves all."""
    ball = "one ball for all of them" if fit["joint_projection"] else "a ball for each"
    return (
        "The noisy X'Y is moved to the nearest point where it could lie: outcomes by the public genotypes "
        f"under label protection, variants by the public outcomes under feature protection, with {ball}."
    )


def _shared_in_words(fit: dict[str, Any]) -> str:
    """Say whether outcomes may share causes, by the settings of a fit, a dict; here and below."""
    if "effects" in fit:
        return "Effects of outcomes share no factors: they differ from public ones, each by itself."
    return SHARED


def _few_in_words(fit: dict[str, Any]) -> str:
    """Say whether few strong effects are looked for."""
    if "effects" in fit:
        return "Few strong effects are not looked for."
    return (
        "Where the released numbers speak for few strong effects, it is averaged with a fit of such, by "
        "Gibbs sampling from a public seed."
    )


def _difference_in_words(fit: dict[str, Any]) -> str:
    """Say whether the fit models a difference between the public genotypes and the cohort's."""
    if fit.get("same_ancestry"):
        return (
            "The public genotypes are stated to be of the cohort's ancestry. If they are of "
            f"{MATCHED_PEOPLE} people or more, the fit models no difference from the cohort; otherwise it "
            "averages over differences, by the likelihood of the released numbers."
        )
    return "How far these are from the cohort's is averaged over, by the likelihood of the released numbers."


def _rows_in_words(fit: dict[str, Any]) -> str:
    """Say what rows of people and of phenotypes are, by the settings of a fit."""
    turned = (
        "Rows of people were turned onto directions of public linkage disequilibrium and stretched along "
        "each by a public gain, and rows of phenotypes were clipped at a public norm (docs/proofs/genome.md)."
    )
    names = fit.get("subtracted")
    if not names:
        return turned
    return (
        f"{turned} Before the clip, each person's score by public effects was subtracted from "
        f"{', '.join(names)}; the fit adds these effects again (docs/explanation/public_effects.md)."
    )


def _entries_in_words(fit: dict[str, Any]) -> str:
    """Say what entries and their linkage disequilibrium follow from, by the settings of a fit."""
    entries = (
        "The entries of a direction are divided by its gain, by the number of rows, and by the share of "
        "effects that the clips leave."
    )
    if not fit.get("has_moments"):
        return entries
    return (
        f"{entries} Their linkage disequilibrium and noise follow from noisy second moments of rows within "
        "blocks, which are divided by the number of rows and shrunk to those of the public genotypes "
        "(docs/proofs/genome_moments.md)."
    )


def _copies_in_words(fit: dict[str, Any]) -> str:
    """Say what follows from thinned copies of the released numbers, by the settings of a fit."""
    if not fit.get("same_ancestry"):
        return (
            "The weight of both follows from four thinned copies of the released numbers, made from a public "
            "seed."
        )
    return (
        "The public genotypes are stated to be of the cohort's ancestry. The weight of both and, if the "
        f"public genotypes are of {MATCHED_PEOPLE} people or more, the scale of scores follow from four "
        "thinned copies of the released numbers, made from a public seed. The scale also follows from the "
        "variance of scores among these people."
    )


RIDGE = (*CENTRED, _lambda_in_words)
PROJECTED = (_projected_in_words, *RIDGE)
IN_ELLIPSOID = (_moved_in_words, *RIDGE)
BLUP = (
    SHOWN_IN_FULL,
    "The means are those of the Gram matrix, denoised where it is noisy.",
    "A noise-aware best linear unbiased prediction (docs/explanation/blup.md).",
    "Standard errors are withheld where they would not hold: so they are where the clip of rows counts for "
    "much beside the noise (docs/explanation/blup.md).",
)
STEERED_BLUP = (STEERED, *BLUP, SHARED)
SHARED_BLUP = (*BLUP, SHARED)
PUBLIC_LD_BLUP = (
    STEERED,
    SHOWN_IN_FULL,
    "The Gram matrix is that of public genotypes: nothing about the cohort's own is released.",
    _difference_in_words,
    "A noise-aware best linear unbiased prediction (docs/explanation/public_ld.md).",
    _shared_in_words,
    _few_in_words,
)
HEDGED_BLUP = (
    *SHARED_BLUP,
    "A second fit takes the Gram matrix of public genotypes in place of the noisy one.",
    "Weights are an average of both, by what the released numbers say that each explains "
    "(docs/explanation/public_ld.md).",
)
GENOME = (
    _rows_in_words,
    _entries_in_words,
    "Effects are a weighted mean of a noise-aware best linear unbiased prediction and of a mixture of "
    "effects of four sizes, block by block (docs/explanation/genome.md).",
    _copies_in_words,
)
CHOSEN_BLUP = (
    "Every outcome is fitted by itself, from a noisy Gram matrix of the variants chosen for it.",
    *BLUP,
)
LOWERED = "The noisy smallest eigenvalue is lowered by 1.645 standard deviations of its noise, to at least 0."
ADASSP = (
    *CENTRED,
    LOWERED,
    "Ridge regression, lambda from the spread of the noise on the Gram matrix less that eigenvalue.",
)
