"""Noisy statistics, from which all weights follow: every grid point of the study is one request."""

from dataclasses import asdict, replace
from functools import partial

from dpgrs.errors import UsageError
from dpgrs.io.files import written_digest
from dpgrs.io.trials import Outcomes, Statistics, save_labelled, write_events
from dpgrs.linalg.norms import clipped_outcomes
from dpgrs.linalg.statistics import OUTCOME_STEP, largest_row_norm
from dpgrs.methods.mechanisms import MECHANISMS, mechanism_of
from dpgrs.methods.requests import request_grid
from dpgrs.methods.reusecov import private_statistics
from dpgrs.methods.sum_mechanisms import SharedStatistics
from dpgrs.privacy.ledger.charging import check, complete, release
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.privacy.noise.study_key import load_study_key
from dpgrs.privacy.private_folders import require_closed
from dpgrs.steps.released import output_digests
from dpgrs.study.bundle_room import require_room
from dpgrs.study.request_identity import identify_part, loadings_identity
from dpgrs.types import Coding, Protection

# What a request says of how rows were clipped.
NORMS = {"coding", "row_norm", "outcome_norm"}


def add_noise(statistics, outcomes, *, output, events, trial, seed, **options):
    """Release noisy statistics for every combination of protection, accounting, epsilon, panel and outcomes.

    In benchmark mode every combination is a release of its own, with its own noise.

    Parameters
    ----------
    statistics, outcomes : paths of the exact statistics, and of the outcomes, for their names.
    output, events : paths of the noisy statistics, and of a record of what was drawn, JSON.
    trial, seed : int, key of the benchmark noise.
    **options : see `requests_of`.
    """
    statistics, outcomes = Statistics.load(statistics), Outcomes.load(outcomes)
    names, released = outcomes.names, []
    for request, count in requests_of(statistics, **options):
        request = _with_public_outcomes(request, outcomes, count)
        noise = BenchmarkNoise(seed, trial, *request.key)
        noisy = private_statistics(**exact_data(statistics, names[:count], request), noise=noise)
        noisy = replace(noisy, origin=statistics.origin.get(request.n_variants))
        arrays = MECHANISMS[SharedStatistics.name].arrays(noisy)
        released.append((_label(request, noisy, names[:count]), arrays))
    save_labelled(output, released)
    write_events(events, [label for label, _ in released])


def release_statistics(
    statistics,
    outcomes,
    *,
    output,
    events,
    sites,
    ledger,
    identity,
    method="reusecov-gauss",
    loadings=None,
    **options,
):
    """Release noisy statistics with secret noise, charged to the dataset's ledger before it is drawn.

    Parameters
    ----------
    statistics, outcomes : paths, as in `add_noise`.
    output, events : paths, as in `add_noise`; complete in the ledger once they are stored.
    sites : path of the public sites.
    ledger : path of the ledger.
    identity : dict of ``dataset``, ``genotypes`` and ``outcomes``: the public settings that define the data,
        those on which the genotypes' rows hang and those on which the outcomes do.
    method : str, one of `dpgrs.methods.registry.RELEASED`: what is drawn is what it is fitted from.
    loadings : path of the public loadings of principal components; None without them.
    **options : see `requests_of`; they must make one request.
    """
    require_closed(statistics, outcomes, output, events)
    statistics, names = Statistics.load(statistics), Outcomes.load(outcomes).names
    requests = requests_of(statistics, **options)
    request, count = only_request(requests)
    mechanism, names = mechanism_of(method), names[:count]
    origin = statistics.origin.get(request.n_variants)
    release_drawn(
        partial(mechanism.draw, **exact_data(statistics, names, request), origin=origin),
        mechanism=mechanism,
        request=request,
        names=names,
        output=output,
        events=events,
        sites=sites,
        ledger=ledger,
        identity=identity | loadings_identity(loadings),
    )


def release_drawn(draw, *, mechanism, request, names, output, events, sites, ledger, identity):
    """Charge the ledger for what a mechanism draws, draw it, store it, and note that it is stored.

    Parameters
    ----------
    draw : callable that takes `noise`, a source, and returns what the mechanism releases.
    mechanism : one of `dpgrs.methods.mechanisms.MECHANISMS`.
    request : PrivacyRequest
    names : tuple of str, of the outcomes.
    output, events, sites, ledger, identity : as in `release_statistics`.
    """
    ledger, site_digest = Ledger(ledger), written_digest(sites)
    require_room(output, ledger=ledger, terms={"sites": site_digest} | identity["dataset"])

    def identify(part):
        behind = mechanism.behind(part, names, request)
        return identify_part(identity, site_digest, request, behind, mechanism=mechanism.name)

    drawn, receipt = release(
        lambda noise: draw(noise=noise),
        identify=identify,
        account=Account(request.protection, request.unit, request.neighbours),
        ledger=ledger,
        study_key=load_study_key(),
    )
    label = _label(request, drawn, names) | {"requests": list(receipt.requests.items())}
    if mechanism.name != SharedStatistics.name:
        label["mechanism"] = mechanism.name
    receipt = replace(receipt, outputs=output_digests(mechanism.outputs(drawn, names, request)))
    check(receipt, ledger)
    save_labelled(output, [(label, mechanism.arrays(drawn))])
    write_events(events, [label])
    complete(receipt, ledger)


def only_request(requests):
    """Return the one request of a release with its number of outcomes; others raise UsageError."""
    if len(requests) != 1:
        raise UsageError(f"A release must be one request, got {len(requests)}. Give one value each.")
    ((request, count),) = requests
    if request.protection != Protection.FULL:
        raise UsageError(
            f"`privacy.protection` must be {Protection.FULL} in a release, got {request.protection}. "
            "Change it."
        )
    return request, count


def requests_of(statistics, *, counts, **options):
    """List every request of a study about its statistics, with its number of outcomes.

    Parameters
    ----------
    statistics : Statistics. What a row is and the bound of the outcomes come with them.
    counts : list of int, numbers of outcomes; empty means all.
    **options : see `request_grid`.
    """
    if NORMS & options.keys():
        raise UsageError("Norms must be those at which rows were clipped: they come with the statistics.")
    grid = request_grid(
        counts=counts or [len(statistics.n_observed)],
        rows=statistics.rows,
        outcome_bound=statistics.outcome_bound,
        **options,
    )
    return [(within_bounds(request, statistics, count), count) for request, count in grid]


def within_bounds(request, statistics, count):
    """Name the norms at which rows were clipped, if they were, and the covariates among their columns."""
    part = statistics.clipped.get((request.n_variants, count))
    if part is None:
        return request
    return replace(
        request,
        coding=Coding.FREQUENCY,
        row_norm=part.row_norm,
        outcome_norm=part.outcome_norm,
        n_covariates=statistics.n_covariates,
        covariate_bound=statistics.covariate_bound,
    )


def _with_public_outcomes(request, outcomes, count):
    """Bound rows of outcomes by the largest there is, where outcomes are public."""
    if request.protection != Protection.FEATURE:
        return request
    Y = clipped_outcomes(
        outcomes.values[request.n_variants][:count, outcomes.is_training],
        bound=request.outcome_bound,
        norm=request.outcome_norm,
        n_shared=request.n_outcomes,
    )
    norm = largest_row_norm(Y, n_shared=request.n_outcomes)
    # Outcomes that are all missing have no length, and a sensitivity must be above 0.
    return replace(request, outcome_norm=max(norm, OUTCOME_STEP))


def exact_data(statistics, names, request):
    """Return the exact statistics that a request is about, and the names of its outcomes, as keywords.

    Raises
    ------
    UsageError
        If the sums are of finer units than those in which the request states its sensitivities.
    """
    gram, cross = statistics.gram_of_size(request.n_variants), statistics.cross[request.n_variants]
    if request.coding == Coding.FREQUENCY:
        part = statistics.clipped[request.n_variants, len(names)]
        gram, cross = part.gram, part.cross
    elif (statistics.gram_step, statistics.cross_step) != (request.gram_step, request.cross_step):
        raise UsageError(
            "Statistics of dosages or covariates must be within tight bounds, got none that are for "
            f"{len(names)} outcomes on {request.n_variants} variants. Compute them for these numbers."
        )
    return {
        "gram": gram,
        "cross": cross[: len(names)],
        "n_rows": statistics.n_rows,
        "observed": statistics.n_observed[: len(names)],
        "request": request,
        "outcome_names": names,
    }


def _label(request, noisy, names):
    """Describe what was drawn: one request with its events."""
    label = {"request": asdict(request), "n": noisy.n, "n_outcomes": len(names)}
    return label | {"outcomes": names, "events": [event.as_dict() for event in noisy.events]}
