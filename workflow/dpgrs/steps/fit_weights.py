"""Weights of all methods from statistics alone."""

from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.io.files import write_table
from dpgrs.io.trials import Outcomes, Statistics, load_labelled, save_labelled
from dpgrs.linalg.norms import clipped_outcomes
from dpgrs.linalg.statistics import OUTCOME_STEP
from dpgrs.methods.fits import FitTerms
from dpgrs.methods.labels import NO_PRIVACY, fit_label, timed
from dpgrs.methods.mechanisms import mechanism_of_file, request_of
from dpgrs.methods.ols import fit_ols, fit_ridge
from dpgrs.methods.registry import METHODS
from dpgrs.types import Protection

READS = (
    "methods",
    "regression.lambda",
    "regression.lambda_from",
    "regression.heritability",
    "regression.joint_projection",
)


def fit_weights(
    settings,
    noisy: Path,
    *,
    statistics: Path | None = None,
    outcomes: Path | None = None,
    drawn: list[Path] = (),
    output: Path,
    seconds: Path,
):
    """Fit the weights of all outcomes, by every method, on every panel, from statistics.

    With exact statistics ridge is always fitted, as the reference of the metrics; labels say which fits are
    to be reported. It takes lambda as it is.

    Parameters
    ----------
    settings : Settings
    noisy : noisy statistics.
    statistics : exact statistics, for fits without privacy.
    outcomes : outcomes, which feature protection takes as public.
    drawn : weights of methods that draw themselves, which are handed on.
    output : the weights.
    seconds : the time that each fit took.
    """
    methods, terms = settings.methods, settings.regression
    penalty = terms["lambda"]
    fits = []
    if statistics is not None:
        fits += _non_private_fits(Statistics.load(statistics), methods, penalty)
    terms = FitTerms(penalty, terms.lambda_from, terms.heritability, terms.joint_projection)
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


def _public_outcomes(public, request, *, count):
    """Return the outcomes of the training rows as they were summed, NaN where missing, if they are public."""
    if request.protection != Protection.FEATURE:
        return None
    values = public.values[request.n_variants][:count, public.is_training]
    terms = {"norm": request.outcome_norm, "n_shared": request.n_outcomes}
    clipped = clipped_outcomes(values, bound=request.outcome_bound, **terms) * OUTCOME_STEP
    return np.where(np.isnan(values), np.nan, clipped)
