"""ReuseCov with steered X'Y: the genotypes decide the noise along each of their directions.

The directions come from a public Gram matrix or from the noisy one that is released before.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.coding import CLIPPED_CROSS_STEP
from dpgrs.linalg.denoising import denoised_means, noisy_spectrum
from dpgrs.linalg.norms import budget_groups
from dpgrs.linalg.steering import SteerableRows, Steering, steer
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics, draw_genotypes, draw_outcomes, require_shapes
from dpgrs.privacy.digests import data_digest
from dpgrs.privacy.noise.base import NoiseSource
from dpgrs.privacy.sensitivity import Sensitivity, largest_row_norm

if TYPE_CHECKING:
    from dpgrs.linalg.public_ld import PublicLd


@dataclass(frozen=True, kw_only=True)
class SteeredRequest(PrivacyRequest):
    """The terms of a release of steered X'Y."""

    @cached_property
    def cross_claim(self) -> Sensitivity:
        return replace(super().cross_claim, law="steered/1")

    @property
    def cross_step(self) -> float:
        return CLIPPED_CROSS_STEP

    @property
    def row_bound(self) -> float:
        """The norm at which steered rows are clipped."""
        return largest_row_norm(self.n_columns, rows=self.rows, row_norm=self.row_norm)


@lru_cache(maxsize=256)
def steered_request(request: PrivacyRequest) -> SteeredRequest:
    """Return the terms of steered X'Y for a PrivacyRequest; cached, because callers need them often."""
    return SteeredRequest(**asdict(request))


def private_steered_statistics(
    gram: np.ndarray | None,
    rows: SteerableRows,
    n_rows: int,
    *,
    request: SteeredRequest,
    noise: NoiseSource,
    digest: str,
    ld: "PublicLd | None" = None,
    slopes: np.ndarray | None = None,
    outcome_names: Sequence[str] | None = None,
    observed: np.ndarray | None = None,
) -> NoisyStatistics:
    """Release the number of rows, X'X where none is public, and X'Y along directions that these tell.

    Parameters
    ----------
    gram, n_rows, outcome_names, observed : as in `dpgrs.methods.reusecov.private_statistics`.
    rows : SteerableRows, clipped at the request's bounds.
    request : SteeredRequest; one without a Gram matrix takes public linkage disequilibrium.
    noise : NoiseSource, with the parts of `private_statistics`.
    digest : str, `data_digest` of the genotypes of the rows.
    ld : PublicLd, instead of X'X.
    slopes : (n_outcomes,) float64, public, as in `NoisyStatistics`.

    Returns
    -------
    NoisyStatistics

    Privacy
    -------
    Unit and neighbours as requested. The adaptive composition of `private_count` (docs/proofs/count.md),
    `private_gram` (docs/proofs/clipped_gram.md), `private_outcome_counts` and `private_cross_product` of
    steered rows (docs/proofs/steered.md), one GaussianEvent each, is (epsilon, delta)-DP for the outcomes of
    one budget. Public: all of the request, the linkage disequilibrium. Not covered: relatives.

    Raises
    ------
    UsageError
        If the statistics or rows do not have the shape of the request, as rows with covariates have not.
    """
    names = outcome_names or [str(number) for number in range(len(rows.Y))]
    require_shapes(gram, None, observed, names=names, request=request)
    if (len(rows.Y), len(rows.genotypes)) != (len(names), request.n_columns):
        # numpy's own message would reveal the number of rows.
        raise UsageError(
            "steered-rows-shape",
            f"Steered rows must be of {len(names)} outcomes and {request.n_columns} variants, got "
            f"{len(rows.Y)} and {len(rows.genotypes)}. Leave out covariates, or take `methods: blup`.",
        )
    n, noisy_gram, events = draw_genotypes(gram, n_rows, request=request, noise=noise)
    # Outcomes with budgets of their own must not depend on others.
    is_joint = slopes is not None and len(names) == request.n_outcomes
    steering = steering_of(noisy_gram, n, request=request, ld=ld, slopes=slopes if is_joint else None)
    # S depends on earlier draws; therefore its noise must depend on S, and the ledger on the data.
    known_rows = np.zeros(len(names), dtype=np.int64) if observed is None else observed
    marks = [
        (digest, data_digest(rows.Y[group], known_rows[group], np.array(n_rows)))
        for group in budget_groups(len(names), n_shared=request.n_outcomes)
    ]
    draw_options = {"names": names, "request": request, "noise": noise, "marks": marks}
    cross, counts, more = draw_outcomes(rows.sums(steering), observed, **draw_options)
    fields = counts | {"slopes": slopes, "steering": steering}
    return NoisyStatistics(noisy_gram, cross, n, events + more, **fields)


def steering_of(
    noisy_gram: np.ndarray | None,  # (n_variants + 1, n_variants + 1) float64, noisy X'X, or None with `ld`
    n: float,  # number of rows, public or released
    *,
    request: SteeredRequest,
    ld: "PublicLd | None" = None,
    # (n_outcomes,) float64, of the outcomes of a joint budget; None where each has its own.
    slopes: np.ndarray | None = None,
) -> Steering:
    """Choose how rows are turned, from public or released quantities.

    `request` and `ld`: as in `private_steered_statistics`.
    """
    if ld is not None:
        spectrum, centre = ld.spectrum(n), None
    else:
        gram_sd = request.noise_sd["gram"]
        centre = denoised_means(noisy_gram, n, gram_sd=gram_sd)
        G_c = noisy_gram[:-1, :-1] - n * np.outer(centre, centre)
        spectrum = noisy_spectrum(G_c, gram_sd=gram_sd)
    # The fit divides noise by slopes.
    spread = 1.0 if slopes is None else float(np.sqrt(np.mean(np.asarray(slopes) ** -2.0)))
    bounds = {"row_norm": request.row_bound, "rows": request.rows, "centre": centre}
    return steer(spectrum, n, noise_sd=request.noise_sd["cross"] * spread, **bounds)
