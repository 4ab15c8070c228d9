"""Private choices of variants for each outcome, and noisy statistics of only the chosen variants."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.linalg.clipped_statistics import clipped_statistics
from dpgrs.linalg.coding import column_moments, grid_frequency
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.statistics import (
    cross_product,
    gram,
)
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.reusecov import (
    private_count,
    private_cross_product,
    private_gram,
    private_outcome_counts,
)
from dpgrs.methods.separate_statistics import SeparateRequest, SeparateStatistics
from dpgrs.privacy.noise.base import NoiseSource
from dpgrs.selection.registry import SELECTORS, chooser_of
from dpgrs.selection.screening_data import ScreeningData
from dpgrs.types import Coding

if TYPE_CHECKING:
    from dpgrs.methods.requests import PrivacyRequest


@dataclass(frozen=True)
class ChosenStatistics(SeparateStatistics):
    """The statistics of separate fits, each of its own variants: all that follows is post-processing.

    `origin`: (n_variants,) float64 or None, of all variants that could be chosen.
    """

    # (n_outcomes, n_choices) int64, in the order of choice. Here `gram` and `cross` are of these.
    chosen: np.ndarray | None = None
    note: str = ""  # how the variants were chosen if that was not private


def private_choices(
    data: ScreeningData,
    *,
    request: Any,
    noise: NoiseSource,
    outcome_names: Sequence[str],
    selector: str = "kendall",
    outcome_bound: float | None = None,
    is_papers: bool = False,
) -> tuple[np.ndarray, tuple]:
    """Choose variants for each outcome by itself.

    Parameters
    ----------
    data : ScreeningData
    request : of one outcome, such as a KendallRequest.
    noise : NoiseSource. An outcome's part is ``outcomes`` with its name.
    outcome_names : n_outcomes str
    selector : str, the selector of the request.
    outcome_bound : float, public, at which selectors clip outcomes that take their values.
    is_papers : bool, whether to choose in the scaling of a paper, which promises nothing; for benchmarks.

    Returns
    -------
    chosen : (n_outcomes, n_choices) int64, in the order of choice; ascending where a set is chosen at once.
    events : tuple of events

    Privacy
    -------
    As what the selector draws by, such as `private_kendall` (docs/proofs/kendall.md), once for every outcome:
    a ChoiceEvent each, or what that says.

    Raises
    ------
    UsageError
        If there are fewer variants than choices.
    """
    chooser, options = chooser_of(selector), {"request": request, "outcome_bound": outcome_bound}
    if "private" not in SELECTORS[selector].streams:
        data = data.in_memory
    sources = [data.source(noise, name, number) for number, name in enumerate(outcome_names)]
    if is_papers:
        draws = [
            chooser.choose_as_paper(data, number, noise=source, **options)
            for number, source in enumerate(sources)
        ]
    else:
        draws = chooser.choose_for_all(data, sources, **options)
    return np.array([chosen for chosen, *_ in draws]), tuple(
        event for _, *events in draws for event in events
    )


def private_chosen_statistics(
    data: ScreeningData,
    chosen: np.ndarray,
    *,
    request: SeparateRequest,
    noise: NoiseSource,
    outcome_names: Sequence[str],
    frequency: np.ndarray | None = None,
) -> ChosenStatistics:
    """Release X'X and X'y of the variants that were chosen for each outcome.

    Parameters
    ----------
    data : ScreeningData
    chosen : (n_outcomes, n_choices) int64, released.
    request : SeparateRequest of the chosen variants, `ScreenedRequest.statistics`.
    noise : NoiseSource. The count is drawn in the part ``genotypes``, and all else in ``outcomes`` with the
        outcome's name.
    outcome_names : n_outcomes str
    frequency : (n_variants,) public frequencies, for `frequency` coding.

    Returns
    -------
    ChosenStatistics

    Privacy
    -------
    Unit and neighbours as requested. The composition of `private_count` (docs/proofs/count.md), and for every
    outcome of `private_outcome_counts`, where outcomes may be missing, `private_gram` (docs/proofs/gram.md,
    docs/proofs/clipped_gram.md) and `private_cross_product` (docs/proofs/cross_product.md), one GaussianEvent
    each. Public: the request; the choices; n under replace-one. Not covered: relatives.
    """
    n_rows, events = int(np.count_nonzero(data.is_training)), []
    if request.has_private_count:
        n_rows, event = private_count(n_rows, request=request, noise=noise.of("genotypes"))
        events.append(event)
    grams, crosses, n_known = [], [], []
    for number, name in enumerate(outcome_names):
        G, V = _sums(data, chosen[number], number, request=request, frequency=frequency)
        options = {"request": request, "noise": data.source(noise, name, number)}
        noisy_gram, event = private_gram(G, n_rows, **options)
        events.append(event)
        if request.has_private_outcome_counts:
            counted, event = private_outcome_counts(data.n_known(number), **options)
            n_known += counted.tolist()
            events.append(event)
        noisy_cross, event = private_cross_product(V, **options)
        events.append(event)
        grams.append(noisy_gram)
        crosses.append(noisy_cross[0])
    origin = None
    if request.coding == Coding.FREQUENCY:
        origin = column_moments(grid_frequency(frequency), rows=data.rows)[0]
    return ChosenStatistics(
        np.array(grams),
        np.array(crosses),
        n_rows,
        tuple(events),
        origin,
        observed=np.array(n_known) if n_known else None,
        slopes=data.slopes(len(outcome_names), bound=request.outcome_bound, norm=request.outcome_norm),
        chosen=chosen,
    )


def _sums(
    data: ScreeningData,
    chosen: np.ndarray,  # (n_choices,) int64
    number: int,  # of the outcome
    *,
    request: "PrivacyRequest",  # PrivacyRequest of these variants
    frequency: np.ndarray | None = None,  # (n_variants,) public frequencies, for `frequency` coding
) -> tuple[np.ndarray, np.ndarray]:
    """Return the exact X'X and X'y of chosen variants and one outcome, as the request codes them."""
    options = {"n_haplotypes": data.n_haplotypes, "rows": data.rows, "is_selected": data.is_training}
    clips = {"bound": request.outcome_bound, "row_norm": request.outcome_norm}
    genotypes, Y = data.genotypes[chosen], grid_outcomes(data.Y[number : number + 1], **clips)
    if request.coding == Coding.HALF:
        return gram(genotypes, **options), cross_product(genotypes, Y, **options)
    return clipped_statistics(genotypes, frequency[chosen], Y, row_norm=request.row_norm, **options)


def fit_chosen(
    drawn: ChosenStatistics, method: str, *, request: SeparateRequest, terms: FitTerms, n_variants: int
) -> LinearFit:
    """Fit each outcome by a method of `fit_released`, from the statistics of its own variants.

    `n_variants` could be chosen; those not chosen have weights of 0. The fit's `chosen` is in the order of
    the variants. It has no standard errors: a variant chosen for a large effect is estimated too large.
    """
    weights, at_means = np.zeros((len(drawn.chosen), n_variants)), np.empty(len(drawn.chosen))
    origin = np.zeros(n_variants) if drawn.origin is None else drawn.origin
    for number, (noisy, chosen) in enumerate(zip(drawn.by_outcome(), drawn.chosen, strict=True)):
        statistics = replace(noisy, origin=None if drawn.origin is None else origin[chosen])
        fit = fit_released(method, statistics, request=request, terms=terms)
        weights[number, chosen] = fit.weights[0]
        at_means[number] = fit.intercept[0] - fit.weights[0] @ (fit.means - origin[chosen])
    return LinearFit(weights, origin, at_means, chosen=np.sort(drawn.chosen, axis=1))


def exact_choices(
    data: ScreeningData,
    selector: str,  # one of `dpgrs.selection.registry.SELECTORS`
    *,
    n_choices: int,
    outcome_bound: float,  # at which outcomes are clipped
) -> np.ndarray:
    """Choose variants for each outcome by a selector, without noise.

    The result is (n_outcomes, n_choices) int64.
    """
    chooser, options = chooser_of(selector), {"n_choices": n_choices, "outcome_bound": outcome_bound}
    return np.array([chooser.choose_exactly(data, number, **options) for number in range(len(data.Y))])
