"""Weights of all methods from statistics alone."""

import time

import pandas as pd

from dpgrs.io.files import write_table
from dpgrs.io.trials import Statistics, load_labelled, save_labelled
from dpgrs.regression.ols import fit_ols, fit_ridge
from dpgrs.regression.reusecov import NoisyStatistics, fit_reusecov

# What a label says of a method without privacy.
NO_PRIVACY = dict.fromkeys(["neighbours", "unit", "accounting", "epsilon", "delta"])


def fit_weights(noisy, *, output, seconds, methods, penalty, statistics=None):
    """Fit every method on every panel, all outcomes of a fit at once.

    With exact statistics ridge is always fitted, as the reference of the metrics; labels say which fits are
    to be reported.

    Parameters
    ----------
    noisy : path of the noisy statistics.
    statistics : path of the exact statistics, for fits without privacy; None in a release.
    output, seconds : paths of the weights and of the time that each fit took.
    methods : list of `ols`, `ridge`, `reusecov-gauss`.
    penalty : float, the lambda of ridge and ReuseCov, per row.
    """
    fits = []
    if statistics is not None:
        fits += _non_private_fits(Statistics.load(statistics), methods, penalty)
    if "reusecov-gauss" in methods:
        fits += _reusecov_fits(load_labelled(noisy), penalty)
    save_labelled(output, [(label, vars(fit)) for label, fit, _ in fits])
    write_table(seconds, pd.DataFrame({"seconds": [elapsed for *_, elapsed in fits]}))


def _non_private_fits(statistics, methods, penalty):
    solvers = {"ridge": lambda *data, **known: fit_ridge(*data, penalty=penalty, **known)}
    if "ols" in methods:
        solvers["ols"] = fit_ols
    for size, cross in statistics.cross.items():
        for method, solve in solvers.items():
            data = (statistics.gram_of_size(size), cross, statistics.n_rows)
            fit, elapsed = _timed(solve, *data, n_observed=statistics.n_observed)
            label = {"method": method, "protection": "none", **NO_PRIVACY, "reported": method in methods}
            yield {**label, "n_variants": size, "n_outcomes": len(cross)}, fit, elapsed


def _reusecov_fits(released, penalty):
    for label, arrays in released:
        noisy = NoisyStatistics(arrays["gram"], arrays["cross"], label["n"], events=())
        fit, elapsed = _timed(fit_reusecov, noisy, penalty=penalty)
        terms = {term: label["request"][term] for term in ("protection", *NO_PRIVACY, "n_variants")}
        made = {"method": "reusecov-gauss", "reported": True, "n_outcomes": label["n_outcomes"]}
        yield made | terms, fit, elapsed


def _timed(function, *arguments, **options):
    start = time.perf_counter()
    result = function(*arguments, **options)
    return result, time.perf_counter() - start
