"""Effects of single variants from noisy statistics, as association studies have them: post-processing."""

from dataclasses import dataclass

import numpy as np

from dpgrs.linalg.statistics import column_moments
from dpgrs.types import Rows


@dataclass(frozen=True)
class MarginalEffects:
    """Effects of a copy of the ALT allele on outcomes in their standard deviations.

    Attributes
    ----------
    beta, standard_error : (n_outcomes, n_variants) float64; NaN of a variant without variance.
    n_people : (n_outcomes,) int64, on whom each outcome is known, as released or public.
    """

    beta: np.ndarray
    standard_error: np.ndarray
    n_people: np.ndarray


def marginal_effects(arrays, *, n, rows, is_clipped, cross_sd):
    """Divide X'Y by the variance that public frequencies say each variant has (docs/release.md).

    With v and m the variance and mean of a row's copies in their coding by public frequencies under Hardy and
    Weinberg's law, y of mean 0 and variance 1, g its clip of slope b and mean square q by public constants,
    n_j rows on which it is known, r rows a person, and X'Y with noise of standard deviation s,

        beta = x'g / (b n_j v),    error = sqrt(n_j (v + r m^2) q + s^2) / (b n_j v).

    Parameters
    ----------
    arrays : dict of ``cross`` (n_outcomes, at least n_variants), ``frequency`` (n_variants,), ``slopes`` and
        ``squares`` (n_outcomes,), and perhaps ``observed`` (n_outcomes,), as in a bundle.
    n : int, the number of rows, as released or public.
    rows : Rows
    is_clipped : bool, whether X is in `frequency` coding, whose mean is 0; else in `half` coding.
    cross_sd : (n_outcomes,) float64, standard deviation of the noise on X'Y.

    Returns
    -------
    MarginalEffects

    Privacy
    -------
    Post-processing of released numbers and public constants: costs nothing.
    """
    of_person = 2 if Rows(rows) == Rows.HAPLOTYPES else 1
    mean, variance = column_moments(arrays["frequency"], rows=rows)
    mean, variance = mean * (not is_clipped), np.where(variance > 0, variance, np.nan)
    known = np.minimum(arrays.get("observed", n), n) * np.ones(len(arrays["cross"]))
    shown = (arrays["slopes"] * known)[:, np.newaxis] * variance
    sampled = (known * arrays["squares"])[:, np.newaxis] * (variance + of_person * mean**2)
    beta = arrays["cross"][:, : len(variance)] / shown
    error = np.sqrt(sampled + np.square(cross_sd)[:, np.newaxis]) / shown
    return MarginalEffects(beta, error, np.rint(known / of_person).astype(np.int64))
