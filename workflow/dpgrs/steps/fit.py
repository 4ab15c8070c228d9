"""Weights of all methods from statistics alone."""

import time

import numpy as np
import pandas as pd

from dpgrs.io.files import write_table
from dpgrs.io.trials import Outcomes, Statistics, load_labelled, save_labelled
from dpgrs.mechanisms import mechanism_of_file, request_of
from dpgrs.methods import METHODS
from dpgrs.regression.fits import FitTerms
from dpgrs.regression.ols import fit_ols, fit_ridge
from dpgrs.regression.statistics import OUTCOME_STEP
from dpgrs.steps.statistics import clipped_outcomes
from dpgrs.types import Protection

# What a label says of a method without privacy.
NO_PRIVACY = dict.fromkeys(["neighbours", "unit", "accounting", "epsilon", "delta"])


def fit_weights(
    noisy,
    *,
    output,
    seconds,
    methods,
    penalty,
    penalty_rule="fixed",
    heritability=None,
    is_joint=False,
    statistics=None,
    outcomes=None,
    drawn=(),
):
    """Fit every method on every panel, all outcomes of a fit at once.

    With exact statistics ridge is always fitted, as the reference of the metrics; labels say which fits are
    to be reported.

    Parameters
    ----------
    noisy : path of the noisy statistics.
    output, seconds : paths of the weights and of the time that each fit took.
    methods : list of str, names of `dpgrs.methods.METHODS`.
    penalty, penalty_rule, heritability, is_joint : as in `FitTerms`; ridge takes the penalty as it is.
    statistics : path of the exact statistics, for fits without privacy; None in a release.
    outcomes : path of the outcomes, which feature protection takes as public; None without it.
    drawn : paths of the weights of methods that draw themselves, which are handed on.
    """
    fits = []
    if statistics is not None:
        fits += _non_private_fits(Statistics.load(statistics), methods, penalty)
    terms = FitTerms(penalty, penalty_rule, heritability, is_joint)
    public = None if outcomes is None else Outcomes.load(outcomes)
    fits += _released_fits(load_labelled(noisy), methods, terms, public)
    for path in drawn:
        fits += [(label, arrays, label.pop("seconds")) for label, arrays in load_labelled(path)]
    save_labelled(output, [(label, arrays) for label, arrays, _ in fits])
    write_table(seconds, pd.DataFrame({"seconds": [elapsed for *_, elapsed in fits]}))


def _non_private_fits(statistics, methods, penalty):
    solvers = {"ridge": lambda *data, **known: fit_ridge(*data, penalty=penalty, **known)}
    if "ols" in methods:
        solvers["ols"] = fit_ols
    for size, cross in statistics.cross.items():
        for method, solve in solvers.items():
            data = (statistics.gram_of_size(size), cross, statistics.n_rows)
            steps = {"gram_step": statistics.gram_step, "cross_step": statistics.cross_step}
            fit, elapsed = timed(solve, *data, n_observed=statistics.n_observed, **steps)
            label = {"method": method, "protection": "none", **NO_PRIVACY, "reported": method in methods}
            yield {**label, "n_variants": size, "n_outcomes": len(cross)}, fit.arrays(), elapsed


def _released_fits(released, methods, terms, public):
    for label, arrays in released:
        request, mechanism = request_of(label), mechanism_of_file(label)
        noisy = mechanism.restore(label, arrays)
        outcomes = _public_outcomes(public, request, count=label["n_outcomes"])
        for method in mechanism.methods:
            if method not in methods or request.protection not in METHODS[method].protections:
                continue
            options = {"request": request, "terms": terms, "outcomes": outcomes}
            found, elapsed = timed(mechanism.fit, method, noisy, **options)
            yield fit_label(method, label["request"], label["n_outcomes"]), found.arrays(), elapsed


def fit_label(method, request, n_outcomes):
    """Return the label of a private fit: its method, the terms of its request and the number of outcomes."""
    terms = {term: request[term] for term in ("protection", *NO_PRIVACY, "n_variants")}
    return {"method": method, "reported": True, "n_outcomes": n_outcomes} | terms


def _public_outcomes(public, request, *, count):
    """Return the outcomes of the training rows as they were summed, NaN where missing, if they are public."""
    if request.protection != Protection.FEATURE:
        return None
    values = public.values[request.n_variants][:count, public.is_training]
    terms = {"norm": request.outcome_norm, "n_shared": request.n_outcomes}
    clipped = clipped_outcomes(values, bound=request.outcome_bound, **terms) * OUTCOME_STEP
    return np.where(np.isnan(values), np.nan, clipped)


def timed(function, *arguments, **options):
    """Return what a function returns, and the seconds that it took."""
    start = time.perf_counter()
    result = function(*arguments, **options)
    return result, time.perf_counter() - start
