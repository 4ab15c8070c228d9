"""Where noise leaves nothing: designs at which no private method predicts better than the mean."""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpgrs.reporting.terms import plural
from dpgrs.reporting.words import GENOTYPE_WORDS, Words
from dpgrs.types import Bounds, Protection

if TYPE_CHECKING:
    import pandas as pd

# On n rows the squared correlation of a score with what it knows nothing of is beyond this over n in one
# case of twenty (chi-squared with one degree of freedom), and R^2 is at most the squared correlation.
CHANCE = 3.84
TERMS = ["protection", "accounting", "epsilon"]
DESIGN = ["n_variants", "n_outcomes"]
COLUMNS = [*TERMS, *DESIGN, "n_rows", "method", "r2", "mse", "mse_nonprivate"]


class ChanceTerms(NamedTuple):
    """Privacy terms under which no private method predicts better than chance."""

    protection: str
    accounting: str
    epsilon: float
    designs: str  # the numbers of variants and of outcomes at which this is the case, in words
    n_designs: int


def chance_r2(metrics: "pd.DataFrame", *, test_share: float) -> float:
    """Return the R^2 below which a score cannot be told from chance on the test rows; infinite without test
    rows.

    The training rows are `n_rows` of the metrics; `test_share` is a share of the people, in [0, 1).
    """
    n_test = metrics["n_rows"].mean() * test_share / (1 - test_share)
    return CHANCE / n_test if n_test else math.inf


def at_chance_level(
    metrics: "pd.DataFrame", *, least_r2: float, words: Words = GENOTYPE_WORDS
) -> tuple[list[ChanceTerms], int]:
    """Return the terms and designs at which no private method has a mean R^2 of `least_r2` or more, and the
    number of pairs of terms and design with a private fit.

    The mean is over outcomes and replicates. Designs at which GBLUP, without privacy on the same rows, has no
    such R^2 either are left out, where it was fitted: there is nothing to predict. The metrics have `COLUMNS`
    at least.
    """
    private = metrics[metrics["protection"] != Protection.NONE]
    # Noise may push R^2 beyond what squares of errors can hold.
    with np.errstate(all="ignore"):
        gblup = 1 - (1 - private["r2"]) * private["mse_nonprivate"] / private["mse"]
        table = private.assign(gblup=gblup)
        means = table.groupby([*TERMS, *DESIGN, "method"], sort=False)[["r2", "gblup"]].mean()
    best = means.groupby([*TERMS, *DESIGN], sort=False).max().reset_index()
    is_at_chance = (best["r2"] < least_r2) & ~(best["gblup"] < least_r2)
    at_chance = []
    for privacy_terms, cells in best.assign(is_at_chance=is_at_chance).groupby(TERMS, sort=False):
        designs = cells.loc[cells["is_at_chance"], DESIGN]
        if len(designs):
            in_words = "every design" if len(designs) == len(cells) > 1 else _in_words(designs, words)
            at_chance.append(ChanceTerms(*privacy_terms, in_words, len(designs)))
    return at_chance, len(best)


def remedy(bounds: str, *, epsilon: str = "ε", words: Words = GENOTYPE_WORDS) -> str:
    """Return a sentence on how to reduce the noise, under the study's `Bounds`; `epsilon` is its name in the
    sentence."""
    remedies = [f"Raise {epsilon}", f"ask for fewer {words.variants} or outcomes"]
    remedies += ["use tight bounds"] * (bounds != Bounds.TIGHT)
    return f"{', '.join(remedies[:-1])}{',' * (len(remedies) > 2)} or {remedies[-1]}."


def _in_words(designs: "pd.DataFrame", words: Words) -> str:
    phrases = []
    for size, rows in designs.groupby("n_variants"):
        counts = sorted(rows["n_outcomes"].tolist())
        numbers = " or ".join(f"{count:,}" for count in counts)
        phrases.append(
            f"{size:,} {plural(words.variant, size)} with {numbers} {plural('outcome', counts[-1])}"
        )
    return "; ".join(phrases)
