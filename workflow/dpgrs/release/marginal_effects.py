"""Effects of single variants from noisy statistics, as association studies have them: post-processing."""

from dataclasses import dataclass

import numpy as np

from dpgrs.linalg.coding import column_moments
from dpgrs.types import Rows


@dataclass(frozen=True)
class MarginalEffects:
    """Effects of a copy of the ALT allele on outcomes in their standard deviations."""

    beta: np.ndarray  # (n_outcomes, n_variants) float64; NaN of a variant without variance
    standard_error: np.ndarray  # as `beta`
    n_people: np.ndarray  # (n_outcomes,) int64, on whom each outcome is known, as released or public
    # As `beta`, how many people would give errors as large without noise, of sums along LD; None of others
    n_effective: np.ndarray | None = None


def marginal_effects(
    arrays: dict[str, np.ndarray], *, n: int, rows: Rows | str, cross_sd: np.ndarray
) -> MarginalEffects:
    """Divide X'Y by the variance that public frequencies say each variant has (docs/how-to/use_release.md).

    With v the variance of a row's copies, coded about public frequencies, under Hardy and Weinberg's law,
    y of mean 0 and variance 1, g its clip of slope b and mean square q by public constants, n_j rows on which
    it is known, and X'Y with noise of standard deviation s,

        beta = x'g / (b n_j v),    error = sqrt(n_j v q + s^2) / (b n_j v).

    Worst-case bounds do not centre genotypes: there x'g has the sum of g in it, by which a cut 0/1 outcome,
    or a centre a little off, would shift every effect by more than its error. Therefore none is given.

    The arrays are ``cross`` (n_outcomes, at least n_variants), ``frequency`` (n_variants,), ``slopes`` and
    ``squares`` (n_outcomes,), and perhaps ``observed`` (n_outcomes,), as in a bundle; `cross_sd` is
    (n_outcomes,) float64, of the noise on X'Y.
    """
    of_person = 2 if Rows(rows) == Rows.HAPLOTYPES else 1
    _, variance = column_moments(arrays["frequency"], rows=rows)
    variance = np.where(variance > 0, variance, np.nan)
    n_known = np.minimum(arrays.get("observed", n), n) * np.ones(len(arrays["cross"]))
    shown = (arrays["slopes"] * n_known)[:, np.newaxis] * variance
    sampled = (n_known * arrays["squares"])[:, np.newaxis] * variance
    beta = arrays["cross"][:, : len(variance)] / shown
    error = np.sqrt(sampled + np.square(cross_sd)[:, np.newaxis]) / shown
    return MarginalEffects(beta, error, np.rint(np.rint(n_known) / of_person).astype(np.int64))
