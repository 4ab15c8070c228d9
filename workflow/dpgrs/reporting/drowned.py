"""Where noise leaves nothing: designs at which no private method predicts better than the mean."""

from typing import NamedTuple

import numpy as np

from dpgrs.reporting.terms import plural
from dpgrs.types import Bounds, Protection

# An R^2 of less is next to nothing, and about what chance gives on few test rows.
LEAST_R2 = 0.01
TERMS = ["protection", "accounting", "epsilon"]
DESIGN = ["n_variants", "n_outcomes"]
COLUMNS = [*TERMS, *DESIGN, "method", "r2", "mse", "mse_nonprivate"]


class Drowned(NamedTuple):
    """Privacy terms under which all is noise.

    Attributes
    ----------
    protection, accounting : str
    epsilon : float
    designs : str, the panel sizes and numbers of outcomes at which it is so, in words.
    n_designs : int
    """

    protection: str
    accounting: str
    epsilon: float
    designs: str
    n_designs: int


def drowned(metrics):
    """Find the terms and designs at which no private method has a mean R^2 of `LEAST_R2` or more.

    The mean is over outcomes and trials. Left out are designs at which ridge regression without privacy, on
    the same rows, has no such R^2 either: there is nothing to drown.

    Parameters
    ----------
    metrics : the study's metrics, `COLUMNS` at least.

    Returns
    -------
    found : list of Drowned, in the order of the metrics.
    n_cells : int, pairs of terms and design with a private fit.
    """
    private = metrics[metrics["protection"] != Protection.NONE]
    # Noise may push R^2 beyond what squares of errors can hold.
    with np.errstate(all="ignore"):
        ridge = 1 - (1 - private["r2"]) * private["mse_nonprivate"] / private["mse"]
        table = private.assign(ridge=ridge)
        means = table.groupby([*TERMS, *DESIGN, "method"], sort=False)[["r2", "ridge"]].mean()
    best = means.groupby([*TERMS, *DESIGN], sort=False).max().reset_index()
    is_drowned = (best["r2"] < LEAST_R2) & (best["ridge"] >= LEAST_R2)
    found = []
    for terms, cells in best.assign(is_drowned=is_drowned).groupby(TERMS, sort=False):
        designs = cells.loc[cells["is_drowned"], DESIGN]
        if len(designs):
            words = "every design" if len(designs) == len(cells) > 1 else _in_words(designs)
            found.append(Drowned(*terms, words, len(designs)))
    return found, len(best)


def remedy(bounds, *, epsilon="ε"):
    """Say what helps against too much noise, as a sentence.

    Parameters
    ----------
    bounds : str, those of the study, a `Bounds`.
    epsilon : str, its name.
    """
    ways = [f"Raise {epsilon}", "ask for fewer variants or outcomes"]
    ways += ["use tight bounds"] * (bounds != Bounds.TIGHT)
    return f"{', '.join(ways[:-1])}{',' * (len(ways) > 2)} or {ways[-1]}."


def _in_words(designs):
    parts = []
    for size, rows in designs.groupby("n_variants"):
        counts = sorted(rows["n_outcomes"].tolist())
        numbers = " or ".join(f"{count:,}" for count in counts)
        parts.append(f"{size:,} {plural('variant', size)} with {numbers} {plural('outcome', counts[-1])}")
    return "; ".join(parts)
