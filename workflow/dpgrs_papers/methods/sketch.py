"""Sketched ReuseCov (PRIMO, Algorithm 4): X'X from a secret sample of the units, for a shorter product.

Only for replace-one, and for benchmarks. The loss of the sampled step is no mu-GDP, so the two steps
compose by adding up their (epsilon, delta) (docs/proofs/sketch.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack, unpack
from dpgrs.linalg.clipped_statistics import clipped_statistics
from dpgrs.linalg.norms import budget_groups
from dpgrs.linalg.row_centred import row_centred_statistics
from dpgrs.linalg.statistics import VARIANT_BLOCK, gram
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics, private_cross_product, private_gram
from dpgrs.privacy.accounting.accountant import LARGEST_EPSILON, gdp_mu, paper_noise_multiplier
from dpgrs.types import Accounting, Coding, Neighbours, Protection, Rows

if TYPE_CHECKING:
    from dpgrs.privacy.accounting.events import GaussianEvent
    from dpgrs.privacy.noise.base import NoiseSource

# A base mechanism of a larger delta would promise next to nothing; a smaller delta is only safer.
LARGEST_BASE_DELTA = 0.5
# Relative, far above the rounding errors of the formulas here.
MARGIN = 1e-12


@dataclass(frozen=True, kw_only=True)
class SketchRequest(PrivacyRequest):
    """The terms of sketched ReuseCov; add-remove, and one public side, are refused."""

    n_units: int  # public under replace-one: people, or haplotypes if they are the unit
    n_chosen: int  # units in the sample

    def __post_init__(self) -> None:
        super().__post_init__()
        if Neighbours(self.neighbours) != Neighbours.REPLACE_ONE:
            raise UsageError(
                "neighbours-not-replace-one",
                f"`privacy.neighbours` must be {Neighbours.REPLACE_ONE} for a sketch, got {self.neighbours}. "
                "Change it, or leave the method out.",
            )
        if Protection(self.protection) != Protection.FULL:
            raise UsageError(
                "sketch-protection",
                f"`privacy.protection` must be {Protection.FULL} for a sketch, got {self.protection}. "
                "Change it, or leave the method out.",
            )
        if not 1 <= self.n_chosen <= self.n_units:
            raise UsageError(
                "sample-size",
                f"The sample must be of 1 to {self.n_units} units, got {self.n_chosen}. Change its size.",
            )

    @property
    def sampling_rate(self) -> float:
        """The chance of a unit to be in the sample."""
        return self.n_chosen / self.n_units

    @cached_property
    def shares(self) -> dict[str, tuple[float, float]]:
        """The (epsilon, delta) of ``gram`` and ``cross``: cut as `split_budget` does for `paper`."""
        roots = math.sqrt(self.share_of_gram), math.sqrt(1 - self.share_of_gram)
        cuts = [root / sum(roots) * (1 - MARGIN) for root in roots]
        return {
            name: (cut * self.epsilon, cut * self.delta)
            for name, cut in zip(("gram", "cross"), cuts, strict=True)
        }

    @cached_property
    def budget(self) -> dict[str, float]:
        """The mu of ``cross``, and of ``gram`` as if its sample were public."""
        base = base_terms(*self.shares["gram"], sampling_rate=self.sampling_rate)
        return {"gram": self._mu(*base), "cross": self._mu(*self.shares["cross"])}

    def _mu(self, epsilon: float, delta: float) -> float:
        if Accounting(self.accounting) == Accounting.GDP:
            return gdp_mu(epsilon, delta)
        return 1 / paper_noise_multiplier(epsilon, delta)


def base_terms(epsilon: float, delta: float, *, sampling_rate: float) -> tuple[float, float]:
    """Return the (epsilon, delta) that a mechanism may have on a sample, to have the one given on the whole.

    A mechanism of (epsilon0, delta0) on a uniform sample without replacement of a share q of the units is
    (log(1 + q (exp(epsilon0) - 1)), q delta0)-DP under replace-one (Balle, Barthe, Gaboardi 2018, Privacy
    amplification by subsampling, NeurIPS, arXiv 1807.01647). Both are rounded down, and at most
    `LARGEST_EPSILON` and `LARGEST_BASE_DELTA`, or delta if it is larger.

    Examples
    --------
    >>> epsilon0, delta0 = base_terms(0.5, 5e-7, sampling_rate=0.1)
    >>> round(epsilon0, 3), round(delta0, 9)
    (2.013, 5e-06)
    """
    q = sampling_rate
    # log(1 + (exp(epsilon) - 1)/q), without cancellation where it is small or overflow where it is large.
    if epsilon < 1:
        epsilon0 = math.log1p(math.expm1(epsilon) / q)
    else:
        epsilon0 = epsilon - math.log(q) + math.log1p((q - 1) * math.exp(-epsilon))
    delta0 = max(delta, min(delta / q, LARGEST_BASE_DELTA))
    return min(max(epsilon, epsilon0 * (1 - MARGIN)), LARGEST_EPSILON), delta0 * (1 - MARGIN)


def sketched_gram(
    bits: np.ndarray, is_row_chosen: np.ndarray, *, n_haplotypes: int, rows: Rows | str, n_threads: int = 1
) -> np.ndarray:
    """Sum t t' over the chosen rows only: the others cost no time in the product.

    Bits are (n_variants, n_words) uint64, chosen rows (n_rows,) bool. The result is (n_variants + 1,
    n_variants + 1) int64 symmetric, in units of `GRAM_STEP`, the intercept last.
    """
    chosen = is_row_chosen if Rows(rows) == Rows.HAPLOTYPES else np.repeat(is_row_chosen, 2)
    blocks = [bits[start : start + VARIANT_BLOCK] for start in range(0, len(bits), VARIANT_BLOCK)]
    # `compress` keeps rows in one piece, which packing needs: a boolean index makes it ten times slower.
    sample = np.vstack([pack(np.compress(chosen, unpack(block, n_haplotypes), axis=1)) for block in blocks])
    return gram(sample, n_haplotypes=int(chosen.sum()), rows=rows, n_threads=n_threads)


def sampled_gram(
    genotypes: np.ndarray,
    is_row_chosen: np.ndarray,
    *,
    n_haplotypes: int,
    request: PrivacyRequest,
    frequency: np.ndarray | None = None,
    n_threads: int = 1,
) -> np.ndarray:
    """Sum X'X of the chosen rows in the coding of a request, and clipped as it requires.

    The result is (n_variants + 1, n_variants + 1) int64 symmetric, in units of the request's `gram_step`.
    """
    options = {"n_haplotypes": n_haplotypes, "rows": request.rows}
    if request.coding == Coding.HALF:
        return sketched_gram(genotypes, is_row_chosen, n_threads=n_threads, **options)
    no_outcomes, options = (
        np.empty((0, len(is_row_chosen)), np.int64),
        options | {"is_selected": is_row_chosen},
    )
    if request.coding == Coding.ROW_CENTRED:
        return row_centred_statistics(genotypes, no_outcomes, **options)[0]
    return clipped_statistics(genotypes, frequency, no_outcomes, row_norm=request.row_norm, **options)[0]


def private_sketch(
    genotypes: np.ndarray,
    cross: np.ndarray,
    is_unit_chosen: np.ndarray,
    *,
    n_haplotypes: int,
    request: SketchRequest,
    noise: "NoiseSource",
    is_selected: np.ndarray | None = None,
    frequency: np.ndarray | None = None,
    outcome_names: Sequence[str] | None = None,
    n_threads: int = 1,
) -> NoisyStatistics:
    """Release X'X of a sample, scaled up, and X'Y of all rows.

    Parameters
    ----------
    genotypes, is_unit_chosen, n_haplotypes, request, is_selected, frequency, n_threads : as in
        `private_sketched_gram`.
    cross : (n_outcomes, n_variants + 1) int64 in units of the request's `cross_step`, intercept last, of all
        rows of the request's units; of as many outcomes as the request says, or a multiple.
    noise, outcome_names : as in `private_statistics`.

    Returns
    -------
    NoisyStatistics

    Privacy
    -------
    Unit as requested, neighbours replace-one. `private_sketched_gram` (docs/proofs/sketch.md) and
    `private_cross_product` (docs/proofs/cross_product.md), one GaussianEvent each, are together
    (epsilon, delta)-DP for the outcomes of one budget while the sample is secret; with several budgets the
    whole costs more (docs/explanation/accounting.md). Public: all of the request, with n and the size of the
    sample. Not covered: relatives, and loss to those who know the sample.

    Raises
    ------
    UsageError
        If the statistics do not have the shape of the request, or the sample not its size.
    """
    names = outcome_names or [str(number) for number in range(len(cross))]
    shape = len(names), request.n_variants + 1
    if len(genotypes) != request.n_variants or cross.shape != shape or len(cross) % request.n_outcomes:
        raise UsageError(
            "statistics-shape",
            f"The statistics must be of {request.n_variants} variants and {request.n_outcomes} outcomes a "
            f"budget, got {len(genotypes)} and {len(cross)}. Recompute them for this study.",
        )
    noisy_gram, event = private_sketched_gram(
        genotypes,
        is_unit_chosen,
        n_haplotypes=n_haplotypes,
        request=request,
        noise=noise.of("genotypes"),
        is_selected=is_selected,
        frequency=frequency,
        n_threads=n_threads,
    )
    noisy_cross, events = np.empty((len(cross), request.n_variants)), [event]
    for group in budget_groups(len(cross), n_shared=request.n_outcomes):
        outcomes = noise.of("outcomes", *names[group])
        noisy_cross[group], event = private_cross_product(cross[group], request=request, noise=outcomes)
        events.append(event)
    return NoisyStatistics(noisy_gram, noisy_cross, request.n_units * request.rows_per_unit, tuple(events))


def private_sketched_gram(
    genotypes: np.ndarray,
    is_unit_chosen: np.ndarray,
    *,
    n_haplotypes: int,
    request: SketchRequest,
    noise: "NoiseSource",
    is_selected: np.ndarray | None = None,
    frequency: np.ndarray | None = None,
    n_threads: int = 1,
) -> "tuple[np.ndarray, GaussianEvent]":
    """Release X'X of a sample with noise, scaled up to all rows.

    Parameters
    ----------
    bits : (n_variants, n_words) uint64
    genotypes : (n_variants, n_words) uint64 bits, or (n_variants, n_rows) int16 dosages, within tight bounds.
    is_unit_chosen : (n_units,) bool, a secret uniform sample without replacement. A person is in it with both
        haplotypes or not at all.
    n_haplotypes, n_threads : as in `sketched_gram`.
    request : SketchRequest
    noise : as in `private_statistics`.
    is_selected : (n_rows,) bool, the rows that the units own, in their order; None takes all.
    frequency : (n_variants,) public frequencies, for `frequency` coding.

    Returns
    -------
    (n_variants + 1, n_variants + 1) float64 symmetric, and the event.

    Privacy
    -------
    Unit as requested, neighbours replace-one. Sensitivity `gram_sensitivity`, of the sample's sum:
    docs/proofs/gram.md, docs/proofs/clipped_gram.md. Event GaussianEvent, as if the sample were public; as it
    is secret, the step is (epsilon, delta)-DP with its part of the request's `shares`: docs/proofs/sketch.md.
    Public: n, the size of the sample, the frequencies. Not covered: relatives, and loss to those who know the
    sample.

    Raises
    ------
    UsageError
        If the sample is not of the size of the request, or the rows do not belong to its units.
    """
    if len(is_unit_chosen) != request.n_units or np.count_nonzero(is_unit_chosen) != request.n_chosen:
        raise UsageError(
            "sample-not-as-requested",
            f"The sample must be {request.n_chosen} of {request.n_units} units, as requested. Draw it again.",
        )
    is_row_chosen = np.repeat(is_unit_chosen, request.rows_per_unit)
    if is_selected is not None:
        is_row_chosen = _among(is_selected, is_row_chosen)
    options = {"n_haplotypes": n_haplotypes, "frequency": frequency, "n_threads": n_threads}
    exact = sampled_gram(genotypes, is_row_chosen, request=request, **options)
    G, event = private_gram(exact, int(is_row_chosen.sum()), request=request, noise=noise)
    return G / request.sampling_rate, event


def _among(is_selected: np.ndarray, is_chosen: np.ndarray) -> np.ndarray:
    """Return which of all rows are chosen, given which of the selected rows are."""
    if np.count_nonzero(is_selected) != len(is_chosen):
        raise UsageError(
            "selected-rows-differ",
            "The selected rows must be those of the request's units, got more or fewer. Count the units "
            "again.",
        )
    among_all = np.zeros(len(is_selected), dtype=bool)
    among_all[is_selected] = is_chosen
    return among_all
