"""The draws of a study, rehearsed: its mechanisms on synthetic statistics, without a draw."""

from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.evaluation.private_metrics import AccuracyRequest, private_accuracy
from dpgrs.methods.chosen_requests import request_of_rows
from dpgrs.methods.mechanisms import mechanism_named, mechanism_of_study
from dpgrs.methods.registry import REGRESSION
from dpgrs.privacy.accounting.events import Event
from dpgrs.privacy.noise.sources import Rehearsal
from dpgrs.selection.screening_data import ScreeningData
from dpgrs.study.rehearsed_sums import rehearsed_sums
from dpgrs.study.release_cost import regression_request, screening_terms
from dpgrs.types import Bounds, Metrics, Rows

if TYPE_CHECKING:
    from dpgrs.config.privacy import Evaluation
    from dpgrs.config.study import StudyConfig
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.methods.sum_mechanisms import SharedStatistics
    from dpgrs.privacy.noise.base import NoiseSource


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
    events_by_part = dict(rehearsed_sums(mechanism, request, count)) if takes_sums else {}
    if not takes_sums:
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
    for request_part, draws in rehearsal.draws.items():
        events_by_part.setdefault(request_part, []).extend(event for event, _ in draws)
    for (kind, *outcomes), events in events_by_part.items():
        is_shared = kind == "genotypes" or len(outcomes) == count
        (shared if is_shared else by_outcome.setdefault(outcomes[0], [])).extend(events)
    return shared, by_outcome


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
