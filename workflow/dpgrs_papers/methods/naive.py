"""The naive baseline: every outcome pays for a Gram matrix of its own (docs/explanation/baselines.md)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.linalg.norms import budget_groups
from dpgrs.methods.reusecov import (
    NoisyStatistics,
    fit_reusecov,
    private_count,
    private_cross_product,
    private_gram,
    private_outcome_counts,
    require_counts,
)
from dpgrs.methods.separate_statistics import SeparateRequest, SeparateStatistics
from dpgrs.methods.sum_mechanisms import OwnStatistics

if TYPE_CHECKING:
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.privacy.noise.base import NoiseSource


@lru_cache(maxsize=256)
def separate_request(request: "PrivacyRequest") -> SeparateRequest:
    """Return the terms of one fit, for a PrivacyRequest of all outcomes that share a budget; kept."""
    return SeparateRequest(**asdict(request) | {"n_outcomes": 1}, n_fits=request.n_outcomes)


def private_separate_statistics(
    gram: np.ndarray,
    cross: np.ndarray,
    n_rows: int,
    *,
    request: "PrivacyRequest",
    noise: "NoiseSource",
    outcome_names: Sequence[str] | None = None,
    observed: np.ndarray | None = None,
) -> Iterator[NoisyStatistics]:
    """Release an X'X and an X'y with noise of their own for every outcome, one after the other.

    Parameters
    ----------
    gram, cross, n_rows, request, noise, outcome_names, observed : as in `private_statistics`. The count is
        drawn in the part ``genotypes``, and all else in ``outcomes`` with the outcome's name.

    Yields
    ------
    NoisyStatistics of one outcome, with the events of its draws; the first also has the event of the count.

    Privacy
    -------
    Unit and neighbours as requested. The composition of `private_count` (docs/proofs/count.md), and of
    `private_outcome_counts`, where outcomes may be missing, `private_gram` (docs/proofs/gram.md,
    docs/proofs/clipped_gram.md) and `private_cross_product` (docs/proofs/cross_product.md) once for every
    outcome, one GaussianEvent each, is (epsilon, delta)-DP for the outcomes of one budget; with several
    budgets the whole costs more (docs/explanation/accounting.md). Public: all of the request; n under
    replace-one. Not covered: relatives.

    Raises
    ------
    UsageError
        If the statistics do not have the shape of the request, before anything is drawn.
    """
    names = outcome_names or [str(number) for number in range(len(cross))]
    _require_shapes(gram, cross, names, request)
    fit_request, events = separate_request(request), ()
    if fit_request.has_private_outcome_counts:
        require_counts(observed, n_outcomes=len(names))
    if fit_request.has_private_count:
        n_rows, event = private_count(n_rows, request=fit_request, noise=noise.of("genotypes"))
        events = (event,)
    for number, name in enumerate(names):
        options, row, outcome_counts = (
            {"request": fit_request, "noise": noise.of("outcomes", name)},
            [number],
            None,
        )
        noisy_gram, event = private_gram(gram, n_rows, **options)
        events = (*events, event)
        if fit_request.has_private_outcome_counts:
            outcome_counts, event = private_outcome_counts(observed[row], **options)
            events = (*events, event)
        noisy_cross, event = private_cross_product(cross[row], **options)
        yield NoisyStatistics(noisy_gram, noisy_cross, n_rows, (*events, event), observed=outcome_counts)
        events = ()


def collect(noisy_statistics: Iterable[NoisyStatistics], n_outcomes: int) -> SeparateStatistics:
    """Put the statistics of all outcomes, as from `private_separate_statistics`, into one."""
    grams, crosses, events, counts = None, None, [], []
    for number, statistics in enumerate(noisy_statistics):
        if grams is None:
            grams = np.empty((n_outcomes, *statistics.gram.shape))
            crosses = np.empty((n_outcomes, statistics.cross.shape[1]))
        grams[number], crosses[number], n = statistics.gram, statistics.cross[0], statistics.n
        events += statistics.events
        counts += [] if statistics.observed is None else statistics.observed.tolist()
    observed = np.array(counts) if counts else None
    return SeparateStatistics(grams, crosses, n, tuple(events), observed=observed)


def fit_separately(
    noisy_statistics: Iterable[NoisyStatistics],
    *,
    penalty: float,
    origin: np.ndarray | None = None,
    is_row_centred: bool = False,
) -> LinearFit:
    """Fit every outcome from statistics of its own, as `fit_reusecov` does.

    Parameters
    ----------
    noisy_statistics : iterable of NoisyStatistics of one outcome each.
    penalty : float >= 0, per row.
    origin : (n_variants,) float64 or None, as in `NoisyStatistics`.
    is_row_centred : bool, whether rows were centred by their own mean, as in the PRIMO paper.

    Returns
    -------
    LinearFit, whose means are of each outcome.

    Privacy
    -------
    Post-processing: costs nothing, if `penalty` is public.
    """
    fits = [fit_reusecov(noisy, penalty=penalty, keeps_negative=is_row_centred) for noisy in noisy_statistics]
    together = LinearFit(
        weights=np.concatenate([fit.weights for fit in fits]),
        means=np.array([fit.means for fit in fits]),
        intercept=np.concatenate([fit.intercept for fit in fits]),
    )
    return together.of_centred_rows() if is_row_centred else together.in_half_coding(origin)


def _require_shapes(
    gram: np.ndarray, cross: np.ndarray, names: Sequence[str], request: "PrivacyRequest"
) -> None:
    size = request.n_columns + 1
    if (
        gram.shape != (size, size)
        or cross.shape != (len(names), size)
        or len(cross) % request.n_outcomes
        or not len(cross)
    ):
        raise UsageError(
            "statistics-shape",
            f"The statistics must be of {request.n_columns} variants and {request.n_outcomes} outcomes a "
            f"budget, got {len(gram) - 1} and {len(cross)}. Recompute them for this study.",
        )


class SeparateFits(OwnStatistics):
    """The count, and all else for every outcome by itself, also where outcomes share a budget."""

    name = "naive-statistics"
    audited = (*OwnStatistics.audited[:2], "private_separate_statistics")
    kind = SeparateStatistics
    draws = MappingProxyType({"genotypes": ("count",), "outcomes": ("gram", "observed", "cross")})

    def terms(self, request: "PrivacyRequest") -> SeparateRequest:
        return separate_request(request)

    def draw(
        self,
        gram: np.ndarray,
        cross: np.ndarray,
        n_rows: int,
        *,
        origin: np.ndarray | None = None,
        slopes: np.ndarray | None = None,
        **options: Any,
    ) -> SeparateStatistics:
        noisy = collect(private_separate_statistics(gram, cross, n_rows, **options), len(cross))
        return replace(noisy, origin=origin, slopes=slopes)

    def outputs(self, drawn: Any, names: Sequence[str], request: "PrivacyRequest") -> dict[tuple, tuple]:
        observed = [()] * len(names) if drawn.observed is None else drawn.observed[:, np.newaxis]
        outcome_arrays = zip(names, observed, drawn.gram, drawn.cross, strict=True)
        outcome_outputs = {
            ("outcomes", name): (drawn.n, *counts, gram, cross)
            for name, counts, gram, cross in outcome_arrays
        }
        return ({("genotypes",): (drawn.n,)} if request.has_private_count else {}) | outcome_outputs

    def depends_on(self, part: tuple, names: Sequence[str], request: "PrivacyRequest") -> tuple:
        # The rows of outcomes that share a budget may be clipped together.
        kind, *outcome_names = part
        for group in budget_groups(len(names), n_shared=request.n_outcomes):
            if set(outcome_names) & set(names[group]):
                return (kind, *names[group])
        return part

    def requests_of_outcomes(self, n_outcomes: int, request: "PrivacyRequest") -> int:
        return n_outcomes
