"""The draws of a study, rehearsed: its mechanisms on synthetic statistics, without a draw."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.evaluation.private_metrics import AccuracyRequest, private_accuracy
from dpgrs.methods.chosen_requests import request_of_rows
from dpgrs.methods.covariate_regression import STATISTIC
from dpgrs.methods.mechanisms import mechanism_named, mechanism_of_study
from dpgrs.methods.registry import REGRESSION
from dpgrs.methods.reusecov import n_noisy_entries
from dpgrs.privacy.accounting.events import Event, GaussianEvent
from dpgrs.privacy.noise.claims import scale_of
from dpgrs.privacy.noise.sources import Rehearsal
from dpgrs.selection.screening_data import ScreeningData
from dpgrs.study.array_sizes import MOST_VARIANTS
from dpgrs.study.release_cost import regression_request, screening_terms
from dpgrs.types import Bounds, Metrics, Rows

if TYPE_CHECKING:
    from dpgrs.config.privacy import Evaluation
    from dpgrs.config.study import StudyConfig
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.methods.sum_mechanisms import SharedStatistics
    from dpgrs.privacy.noise.base import NoiseSource

# A rehearsal makes no X'X of more variants: its events follow from an X'X of so many.
MOST_REHEARSED = 512
# The share of the budget that each statistic has, by its name in events.
BUDGET_NAMES = {
    "count": "count",
    "outcome counts": "observed",
    "case counts": "cases",
    "gram": "gram",
    "cross product": "cross",
    "genome sums": "cross",
    "genome moments": "moments",
}


def rehearse(
    request: "PrivacyRequest",
    count: int,
    *,
    frequency: np.ndarray,  # (n_variants,) float64, public
    config: "StudyConfig",
) -> tuple[list[Event], dict[str, list[Event]]]:
    """Rehearse the mechanisms of one request, and return events of all outcomes, and events by outcome.

    The second are empty under a joint budget. Charged metrics without a budget are a UsageError.
    """
    rehearsal, mechanism = Rehearsal(), mechanism_of_study(config)
    takes_sums = not {"statistics", "chromosomes"}.isdisjoint(mechanism.takes)
    # AdaSSP's eigenvalue has a grid that depends on the number of variants, of which it takes few.
    is_resized = takes_sums and "eigenvalue" not in mechanism.draws["genotypes"]
    is_resized &= request.n_variants > MOST_REHEARSED
    if takes_sums:
        few = replace(request, n_variants=MOST_REHEARSED) if is_resized else request
        mechanism.draw(**mechanism.zeros(few, count), request=few, noise=rehearsal)
    else:
        _rehearse_rows(mechanism, request, count, frequency=frequency, config=config, noise=rehearsal)
    if config.covariates.adjusts_first:
        regression = mechanism_named(REGRESSION)
        covariate_request = regression_request(config, request)
        names = [str(number) for number in range(count)]
        sums = regression.zeros(covariate_request, count)
        regression.draw(**sums, request=covariate_request, noise=rehearsal, outcome_names=names)
    if config.evaluation.metrics == Metrics.CHARGED:
        sums = np.zeros((3, count), dtype=np.int64)
        private_accuracy(sums, request=_accuracy_request(request, config.evaluation), noise=rehearsal)
    shared, by_outcome = [], {}
    for (kind, *outcomes), draws in rehearsal.draws.items():
        if is_resized and kind in ("genotypes", "outcomes"):
            mechanism_terms = mechanism.terms(request)
            draws = [(_event_of_all_variants(event, mechanism_terms), digest) for event, digest in draws]
        is_shared = kind == "genotypes" or len(outcomes) == count
        events = shared if is_shared else by_outcome.setdefault(outcomes[0], [])
        events += [event for event, _ in draws]
    return shared, by_outcome


def _event_of_all_variants(event: GaussianEvent, mechanism_terms: "PrivacyRequest") -> GaussianEvent:
    """Return the event of a statistic of sums that was rehearsed on fewer variants than the terms have."""
    if event.statistic == STATISTIC:
        return event  # it has no variants
    name = BUDGET_NAMES[event.statistic]
    claims = {"gram": mechanism_terms.gram_claim, "cross": mechanism_terms.cross_claim}
    if name == "moments":
        claims["moments"] = mechanism_terms.moment_claim
    entries = {
        "gram": n_noisy_entries(mechanism_terms),
        "cross": mechanism_terms.n_outcomes * mechanism_terms.n_columns,
    }
    # At most as many as if all variants of the largest blocks had a direction each.
    entries["moments"] = (
        mechanism_terms.n_variants * (min(mechanism_terms.n_variants, MOST_VARIANTS) + 1) // 2
    )
    mu, sensitivity = float(mechanism_terms.budget[name]), claims.get(name, event.sensitivity)
    sigma = scale_of(sensitivity, share=mu, norm=GaussianEvent.norm, step=event.step, name=event.statistic)
    changed = {"mu": mu, "sigma": sigma, "sensitivity": sensitivity}
    return replace(event, **changed, entries=entries.get(name, event.entries))


def _rehearse_rows(
    mechanism: "SharedStatistics",
    request: "PrivacyRequest",
    count: int,
    *,
    frequency: np.ndarray,  # (n_variants,) float64
    config: "StudyConfig",
    noise: "NoiseSource",
) -> None:
    """Rehearse draws from rows on a synthetic row without variants."""
    n_haplotypes = 1 if request.rows == Rows.HAPLOTYPES else 2
    bits = np.zeros((request.n_variants, 1), dtype=np.uint64)
    zero_rows = ScreeningData(bits, np.zeros((count, 1)), np.ones(1, dtype=bool), n_haplotypes, request.rows)
    is_tight = config.privacy.bounds == Bounds.TIGHT
    row_request = request_of_rows(
        request,
        screening_terms(config),
        frequency=frequency if is_tight else None,
        factor=config.privacy.genotype_clip,
    )
    names = [str(number) for number in range(count)]
    mechanism.draw(zero_rows, request=row_request, noise=noise, outcome_names=names, frequency=frequency)


def _accuracy_request(request: "PrivacyRequest", evaluation: "Evaluation") -> AccuracyRequest:
    if evaluation.epsilon is None:
        raise UsageError(
            "accuracy-budget-missing",
            f"`evaluation.epsilon` must be given for `evaluation.metrics: {Metrics.CHARGED}`, got null. "
            "Set it.",
        )
    return AccuracyRequest.of(request, evaluation)
