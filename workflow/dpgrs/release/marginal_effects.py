"""Effects of single variants from the noisy statistics of a release, as association studies have them.

They are post-processing of released numbers and cost nothing. Their standard errors hold the noise, too.
"""

from dataclasses import dataclass

import numpy as np

from dpgrs.linalg.statistics import column_moments
from dpgrs.types import Rows


@dataclass(frozen=True)
class MarginalEffects:
    """Effects of a copy of the ALT allele on outcomes in their standard deviations.

    Attributes
    ----------
    beta, standard_error : (n_outcomes, n_variants) float64; 0 and infinite of a variant without variance.
    n_people : (n_outcomes,) int64, on whom each outcome is known, as released.
    """

    beta: np.ndarray
    standard_error: np.ndarray
    n_people: np.ndarray


def marginal_effects(noisy, frequency, *, rows, cross_sd):
    """Divide X'Y by the variance that public frequencies say each variant has.

    With x a row's copies of ALT less the zero of the coding, v = Var x and m = E x by public frequencies
    under Hardy and Weinberg's law, y of variance 1, n rows, and X'Y with noise of standard deviation s,

        beta = x'y / (n v),    Var beta = (n (v + r m^2) + s^2) / (n v)^2,

    where r rows are of one person, and share y. X'Y is first multiplied by what the clip of outcomes and rows
    without an outcome take off. The clip of rows of genotypes is not undone: effects are a little smaller
    (docs/blup.md).

    Parameters
    ----------
    noisy : NoisyStatistics, with a column of X'Y for each variant.
    frequency : (n_variants,) float64, public, of ALT.
    rows : Rows, what a row is.
    cross_sd : (n_outcomes,) float64, standard deviation of the noise on X'Y.

    Returns
    -------
    MarginalEffects
    """
    of_person = 2 if Rows(rows) == Rows.HAPLOTYPES else 1
    mean, variance = column_moments(frequency, rows=rows)
    if noisy.origin is not None:
        mean = mean - noisy.origin[: len(frequency)]
    factor = (noisy.inflation / noisy.shown)[:, np.newaxis]
    n_known = noisy.n / noisy.inflation[:, np.newaxis]
    cross = noisy.cross[:, : len(frequency)] * factor
    of_rows = n_known * (variance + of_person * mean**2)
    noise = of_rows + np.asarray(cross_sd)[:, np.newaxis] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        beta = np.where(variance > 0, cross / (noisy.n * variance), 0.0)
        error = factor * np.sqrt(noise) / (noisy.n * variance)
    n_people = np.rint(n_known[:, 0] / of_person).astype(np.int64)
    return MarginalEffects(beta, error, n_people)
