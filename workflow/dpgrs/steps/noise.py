"""The only step that releases anything about people: every grid point of the study is one request."""

from dataclasses import asdict
from itertools import product

from dpgrs.io.trials import Statistics, save_labelled
from dpgrs.privacy.noise import BenchmarkNoise
from dpgrs.regression.reusecov import PrivacyRequest, private_statistics


def add_noise(statistics, *, output, trial, seed, sizes, counts, protections, accountings, epsilons, **terms):
    """Release noisy statistics for every combination of protection, accounting, epsilon, panel and outcomes.

    In benchmark mode every combination is a release of its own, with its own noise.

    Parameters
    ----------
    statistics : path of the exact statistics.
    output : path.
    trial, seed : int, key of the benchmark noise.
    sizes : list of int, panel sizes.
    counts : list of int, numbers of outcomes; empty means all.
    protections, accountings, epsilons : lists.
    **terms : the other fields of `PrivacyRequest`, the same for all. What a row is and the bound of the
        outcomes come with the statistics.
    """
    statistics = Statistics.load(statistics)
    counts = counts or [len(statistics.n_observed)]
    requests = [
        PrivacyRequest(
            protection=protection,
            accounting=accounting,
            epsilon=epsilon,
            n_variants=size,
            n_outcomes=count,
            rows=statistics.rows,
            outcome_bound=statistics.outcome_bound,
            **terms,
        )
        for protection, accounting, epsilon, size, count in product(
            protections, accountings, epsilons, sizes, counts
        )
    ]
    save_labelled(
        output, [_release(statistics, request, _own_noise(seed, trial, request)) for request in requests]
    )


def _own_noise(seed, trial, request):
    return BenchmarkNoise(seed, trial, *map(str, asdict(request).values()))


def _release(statistics, request, noise):
    """Return one request with its events, and its noisy statistics."""
    noisy = private_statistics(
        statistics.gram_of_size(request.n_variants),
        statistics.cross[request.n_variants][: request.n_outcomes],
        statistics.n_rows,
        request=request,
        noise=noise,
    )
    label = {"request": asdict(request), "n": noisy.n, "events": [asdict(event) for event in noisy.events]}
    return label, {"gram": noisy.gram, "cross": noisy.cross}
