"""Noisy statistics, from which all weights follow: every grid point of the study is one request."""

from dataclasses import asdict, replace
from functools import partial
from itertools import product

from dpgrs.errors import UsageError
from dpgrs.io.files import file_digest
from dpgrs.io.trials import Outcomes, Statistics, save_labelled, write_events
from dpgrs.privacy.charging import check, complete, release
from dpgrs.privacy.exact_numbers import exact_text
from dpgrs.privacy.ledger import Ledger
from dpgrs.privacy.ledger_entries import Account
from dpgrs.privacy.noise import BenchmarkNoise
from dpgrs.privacy.study_key import load_study_key
from dpgrs.regression.reusecov import PrivacyRequest, private_statistics
from dpgrs.steps.released import output_digests

MECHANISM = "reusecov-statistics"


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


def _requests(
    statistics, *, sizes, counts, protections, accountings, epsilons, outcome_budget="joint", **terms
):
    """List every combination as (PrivacyRequest, number of outcomes).

    Parameters
    ----------
    statistics : Statistics. What a row is and the bound of the outcomes come with them.
    sizes : list of int, panel sizes.
    counts : list of int, numbers of outcomes; empty means all.
    protections, accountings, epsilons : lists.
    outcome_budget : ``joint`` or ``separate``.
    **terms : the other fields of `PrivacyRequest`, the same for all.
    """
    return [
        (
            PrivacyRequest(
                protection=protection,
                accounting=accounting,
                epsilon=epsilon,
                n_variants=size,
                n_outcomes=count if outcome_budget == "joint" else 1,
                rows=statistics.rows,
                outcome_bound=statistics.outcome_bound,
                **terms,
            ),
            count,
        )
        for protection, accounting, epsilon, size, count in product(
            protections, accountings, epsilons, sizes, counts or [len(statistics.n_observed)]
        )
    ]


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
    label |= {"events": [asdict(event) for event in noisy.events]}
    return label, {"gram": noisy.gram, "cross": noisy.cross}


def identify_part(identity, site_digest, request, part):
    """Return the public identity of one part of a release: all on which its exact statistic hangs."""
    kind, *names = part
    public = {
        "mechanism": MECHANISM,
        **identity["dataset"],
        "genotypes": identity["genotypes"],
        "sites": site_digest,
        "rows": str(request.rows),
        "n_variants": request.n_variants,
    }
    if kind == "outcomes":
        bound = {"names": names, "bound": request.outcome_bound}
        public["outcomes"] = identity["outcomes"] | bound
    return _exact(public)


def _exact(value):
    """Write floats as exact text, in dicts and lists."""
    match value:
        case dict():
            return {name: _exact(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_exact(inner) for inner in value]
        case float():
            return exact_text(value)
    return value
