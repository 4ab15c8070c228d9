"""What a study would draw: its mechanisms on synthetic statistics, without a draw."""

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.evaluation.private_metrics import AccuracyRequest, private_accuracy
from dpgrs.methods.chosen import ScreeningData
from dpgrs.methods.chosen_requests import request_of_rows
from dpgrs.methods.mechanisms import mechanism_of_study
from dpgrs.privacy.noise.sources import Rehearsal
from dpgrs.study.release_cost import screening_terms
from dpgrs.types import Bounds, Metrics, Rows


def rehearse(request, count, *, frequency, config):
    """Rehearse the mechanisms of one request.

    Parameters
    ----------
    request : PrivacyRequest
    count : int, number of outcomes.
    frequency : (n_variants,) public frequencies.
    config : dict from `dpgrs.study.settings.resolve`.

    Returns
    -------
    shared : list of events, of what serves all outcomes.
    own : dict of an outcome to the events that serve it alone; empty under a joint budget.

    Raises
    ------
    UsageError
        If metrics are to be charged without a budget.
    """
    rehearsal, mechanism = Rehearsal(), mechanism_of_study(config)
    if "statistics" in mechanism.takes:
        mechanism.draw(**mechanism.zeros(request, count), request=request, noise=rehearsal)
    else:
        _rehearse_rows(mechanism, request, count, frequency=frequency, config=config, noise=rehearsal)
    if config["evaluation"]["metrics"] == Metrics.CHARGED:
        sums = np.zeros((3, count), dtype=np.int64)
        private_accuracy(sums, request=_accuracy_request(request, config["evaluation"]), noise=rehearsal)
    shared, own = [], {}
    for (kind, *outcomes), draws in rehearsal.draws.items():
        is_shared = kind == "genotypes" or len(outcomes) == count
        events = shared if is_shared else own.setdefault(outcomes[0], [])
        events += [event for event, _ in draws]
    return shared, own


def _rehearse_rows(mechanism, request, count, *, frequency, config, noise):
    """Rehearse what is drawn from rows on a synthetic one without variants."""
    n_haplotypes = 1 if request.rows == Rows.HAPLOTYPES else 2
    bits = np.zeros((request.n_variants, 1), dtype=np.uint64)
    data = ScreeningData(bits, np.zeros((count, 1)), np.ones(1, dtype=bool), n_haplotypes, request.rows)
    is_tight = config["privacy"]["bounds"] == Bounds.TIGHT
    asked = request_of_rows(
        request,
        screening_terms(config),
        frequency=frequency if is_tight else None,
        factor=config["privacy"]["genotype_clip"],
    )
    names = [str(number) for number in range(count)]
    mechanism.draw(data, request=asked, noise=noise, outcome_names=names, frequency=frequency)


def _accuracy_request(request, evaluation):
    if evaluation["epsilon"] is None:
        raise UsageError(
            f"`evaluation.epsilon` must be given for `evaluation.metrics: {Metrics.CHARGED}`, got null. "
            "Set it."
        )
    return AccuracyRequest.of(request, evaluation)
