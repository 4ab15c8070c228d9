"""Where noise leaves nothing: designs at which no private method predicts better than the mean."""

import math
from typing import NamedTuple

import numpy as np

from dpgrs.reporting.terms import plural
from dpgrs.reporting.words import GENOTYPE_WORDS
from dpgrs.types import Bounds, Protection

# On n rows the squared correlation of a score with what it knows nothing of is beyond this over n in one
# case of twenty (chi-squared with one degree of freedom), and R^2 is at most the squared correlation.
CHANCE = 3.84
TERMS = ["protection", "accounting", "epsilon"]
DESIGN = ["n_variants", "n_outcomes"]
COLUMNS = [*TERMS, *DESIGN, "n_rows", "method", "r2", "mse", "mse_nonprivate"]


class ChanceTerms(NamedTuple):
    """Privacy terms under which all is noise, no better than chance.

    Attributes
    ----------
    protection, accounting : str
    epsilon : float
    designs : str, the numbers of variants and numbers of outcomes at which it is so, in words.
    n_designs : int
    """

    protection: str
    accounting: str
    epsilon: float
    designs: str
    n_designs: int


def chance_r2(metrics, *, test_share):
    """Return the R^2 below which a score tells nothing from chance on the test rows of a study.

    Parameters
    ----------
    metrics : the study's metrics; training rows are `n_rows`.
    test_share : float in [0, 1), of the people.

    Returns
    -------
    float; infinite without test rows.
    """
    n_test = metrics["n_rows"].mean() * test_share / (1 - test_share)
    return CHANCE / n_test if n_test else math.inf


def at_chance_level(metrics, *, least_r2, words=GENOTYPE_WORDS):
    """Find the terms and designs at which no private method has a mean R^2 of `least_r2` or more.

    The mean is over outcomes and replicates. Left out are designs at which GBLUP, without privacy on the same
    rows, has no such R^2 either, where it was fitted: there is nothing to predict.

    Parameters
    ----------
    metrics : the study's metrics, `COLUMNS` at least.
    least_r2 : float, from `chance_r2`.
    words : Words, what the study is about.

    Returns
    -------
    found : list of ChanceTerms, in the order of the metrics.
    n_cells : int, pairs of terms and design with a private fit.
    """
    private = metrics[metrics["protection"] != Protection.NONE]
    # Noise may push R^2 beyond what squares of errors can hold.
    with np.errstate(all="ignore"):
        gblup = 1 - (1 - private["r2"]) * private["mse_nonprivate"] / private["mse"]
        table = private.assign(gblup=gblup)
        means = table.groupby([*TERMS, *DESIGN, "method"], sort=False)[["r2", "gblup"]].mean()
    best = means.groupby([*TERMS, *DESIGN], sort=False).max().reset_index()
    is_at_chance = (best["r2"] < least_r2) & ~(best["gblup"] < least_r2)
    found = []
    for terms, cells in best.assign(is_at_chance=is_at_chance).groupby(TERMS, sort=False):
        designs = cells.loc[cells["is_at_chance"], DESIGN]
        if len(designs):
            said = "every design" if len(designs) == len(cells) > 1 else _in_words(designs, words)
            found.append(ChanceTerms(*terms, said, len(designs)))
    return found, len(best)


def remedy(bounds, *, epsilon="ε", words=GENOTYPE_WORDS):
    """Say what helps against too much noise, as a sentence.

    Parameters
    ----------
    bounds : str, those of the study, a `Bounds`.
    epsilon : str, its name.
    words : Words, what the study is about.
    """
    ways = [f"Raise {epsilon}", f"ask for fewer {words.variants} or outcomes"]
    ways += ["use tight bounds"] * (bounds != Bounds.TIGHT)
    return f"{', '.join(ways[:-1])}{',' * (len(ways) > 2)} or {ways[-1]}."


def _in_words(designs, words):
    parts = []
    for size, rows in designs.groupby("n_variants"):
        counts = sorted(rows["n_outcomes"].tolist())
        numbers = " or ".join(f"{count:,}" for count in counts)
        parts.append(f"{size:,} {plural(words.variant, size)} with {numbers} {plural('outcome', counts[-1])}")
    return "; ".join(parts)
