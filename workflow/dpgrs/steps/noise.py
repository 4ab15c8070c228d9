"""Noisy statistics, from which all weights follow: every grid point of the study is one request."""

from dataclasses import asdict, replace
from functools import partial

from dpgrs.errors import UsageError
from dpgrs.io.files import file_digest
from dpgrs.io.trials import Outcomes, Statistics, save_labelled, write_events
from dpgrs.privacy.charging import check, complete, release
from dpgrs.privacy.ledger import Ledger
from dpgrs.privacy.ledger_entries import Account
from dpgrs.privacy.noise import BenchmarkNoise
from dpgrs.privacy.study_key import load_study_key
from dpgrs.regression.requests import request_grid
from dpgrs.regression.reusecov import private_statistics
from dpgrs.steps.released import identify_part, output_digests


def add_noise(statistics, outcomes, *, output, events, trial, seed, **options):
    """Release noisy statistics for every combination of protection, accounting, epsilon, panel and outcomes.

    In benchmark mode every combination is a release of its own, with its own noise.

    Parameters
    ----------
    statistics, outcomes : paths of the exact statistics, and of the outcomes, for their names.
    output, events : paths of the noisy statistics, and of a record of what was drawn, JSON.
    trial, seed : int, key of the benchmark noise.
    **options : see `_requests`.
    """
    statistics, names = Statistics.load(statistics), Outcomes.load(outcomes).names
    released = []
    for request, count in _requests(statistics, **options):
        noise = BenchmarkNoise(seed, trial, *map(str, asdict(request).values()))
        noisy = private_statistics(**_data(statistics, names, request, count), noise=noise)
        released.append(_labelled(request, noisy, names[:count]))
    save_labelled(output, released)
    write_events(events, [label for label, _ in released])


def release_statistics(statistics, outcomes, *, output, events, sites, ledger, identity, **options):
    """Release noisy statistics with secret noise, charged to the dataset's ledger before it is drawn.

    Parameters
    ----------
    statistics, outcomes : paths, as in `add_noise`.
    output, events : paths, as in `add_noise`; complete in the ledger once they are stored.
    sites : path of the public sites.
    ledger : path of the ledger.
    identity : dict of ``dataset``, ``genotypes`` and ``outcomes``: the public settings that define the data,
        those on which the genotypes' rows hang and those on which the outcomes do.
    **options : see `_requests`; they must make one request.
    """
    statistics, names = Statistics.load(statistics), Outcomes.load(outcomes).names
    requests = _requests(statistics, **options)
    if len(requests) != 1:
        raise UsageError(f"A release must be one request, got {len(requests)}. Give one value each.")
    (request, count) = requests[0]
    mechanism = partial(private_statistics, **_data(statistics, names, request, count))
    ledger, site_digest = Ledger(ledger), file_digest(sites)
    noisy, receipt = release(
        lambda noise: mechanism(noise=noise),
        identify=partial(identify_part, identity, site_digest, request),
        account=Account(request.protection, request.unit, request.neighbours),
        ledger=ledger,
        study_key=load_study_key(),
    )
    label, arrays = _labelled(request, noisy, names[:count])
    label["requests"] = list(receipt.requests.items())
    receipt = replace(receipt, outputs=output_digests(noisy, names[:count], n_shared=request.n_outcomes))
    check(receipt, ledger)
    save_labelled(output, [(label, arrays)])
    write_events(events, [label])
    complete(receipt, ledger)


def _requests(statistics, *, counts, **options):
    """List every request of a study about its statistics, with its number of outcomes.

    Parameters
    ----------
    statistics : Statistics. What a row is and the bound of the outcomes come with them.
    counts : list of int, numbers of outcomes; empty means all.
    **options : see `request_grid`.
    """
    return request_grid(
        counts=counts or [len(statistics.n_observed)],
        rows=statistics.rows,
        outcome_bound=statistics.outcome_bound,
        **options,
    )


def _data(statistics, names, request, count):
    """Return the exact statistics that a request is about."""
    return {
        "gram": statistics.gram_of_size(request.n_variants),
        "cross": statistics.cross[request.n_variants][:count],
        "n_rows": statistics.n_rows,
        "request": request,
        "outcome_names": names[:count],
    }


def _labelled(request, noisy, names):
    """Return one request with its events, and its noisy statistics."""
    label = {"request": asdict(request), "n": noisy.n, "n_outcomes": len(noisy.cross)}
    label |= {"outcomes": names}
    label |= {"events": [event.as_dict() for event in noisy.events]}
    return label, {"gram": noisy.gram, "cross": noisy.cross}
