"""Weights of methods that draw noise of their own, beside ReuseCov's statistics, in a benchmark."""

from dataclasses import asdict, replace
from functools import partial

import numpy as np

from dpgrs.io.panel import Panel
from dpgrs.io.trials import Outcomes, Statistics, save_labelled
from dpgrs.linalg.statistics import coded_rows, grid_outcomes
from dpgrs.methods.adassp import fit_adassp, private_adassp
from dpgrs.methods.chosen import fit_chosen_rows
from dpgrs.methods.dp_sgd import SgdRequest, private_sgd
from dpgrs.methods.labels import fit_label, timed
from dpgrs.methods.naive import fit_separately, private_separate_statistics
from dpgrs.methods.registry import BASELINES, METHODS
from dpgrs.methods.reusecov import fit_reusecov
from dpgrs.methods.sketch import SketchRequest, private_sketch
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.steps.noise import exact_data, requests_of, within_bounds
from dpgrs.steps.screening import screening_data
from dpgrs.types import Coding

# Baselines that draw from rows within the study's bounds, as ReuseCov does.
WITHIN_BOUNDS = ("naive", "adassp", "bas")
# Those that say of each outcome how they ended.
OF_ROWS = ("bas", "tukey")


def fit_baselines(
    panel,
    outcomes,
    statistics,
    *,
    output,
    methods,
    trial,
    seed,
    penalty,
    sketch_share=0.5,
    tukey_count_share=0.05,
    rows_per_coefficient=2.0,
    **options,
):
    """Fit every baseline for every combination of accounting, epsilon, panel and number of outcomes.

    Baselines protect fully. Those of `WITHIN_BOUNDS` keep to the study's bounds; the others need none, or
    stay within worst-case bounds whatever the study's. A method whose samples are accounted for other
    neighbours than the study's is left out.

    Parameters
    ----------
    panel, outcomes, statistics : paths; all but DP-SGD and the sketch read the statistics alone.
    output : path of the weights, labelled as in `fit_weights`.
    methods : list of str; those of `dpgrs.methods.registry.BASELINES` are fitted.
    trial, seed : int, key of the benchmark noise.
    penalty : float, the lambda of `naive` and `reusecov-sketch`, per row.
    sketch_share : float in (0, 1], share of the units in the sample of `reusecov-sketch`.
    tukey_count_share, rows_per_coefficient : as `count_share` and its neighbour in `TukeyRequest`.
    **options : see `requests_of`.
    """
    outcomes, panel = Outcomes.load(outcomes), Panel.open(panel)
    bounded = Statistics.load(statistics)
    statistics = replace(bounded, clipped={})
    of_models = {"count_share": tukey_count_share, "rows_per_coefficient": rows_per_coefficient}
    fitters = {
        "naive": partial(_naive, bounded, penalty=penalty),
        "adassp": partial(_adassp, bounded),
        "dp-sgd": partial(_sgd, panel, outcomes),
        "bas": partial(_from_rows, "bas", panel, outcomes, **of_models),
        "tukey": partial(_from_rows, "tukey", panel, outcomes, **of_models),
        "reusecov-sketch": partial(_sketch, panel, outcomes, statistics, penalty=penalty, share=sketch_share),
    }
    fits = []
    for request, count in requests_of(statistics, **options):
        for method in BASELINES:
            if method not in methods or not _exists(method, request):
                continue
            terms = within_bounds(request, bounded, count) if method in WITHIN_BOUNDS else request
            noise = BenchmarkNoise(seed, trial, method, *terms.key)
            names = outcomes.names[:count]
            fit, seconds = timed(fitters[method], request=terms, names=names, noise=noise)
            fit, statuses = fit if method in OF_ROWS else (fit, None)
            label = fit_label(method, asdict(request), count) | {"seconds": seconds}
            label |= {"statuses": statuses} if statuses else {}
            fits.append((label, fit.arrays()))
    save_labelled(output, fits)


def _exists(method, request):
    known = METHODS[method]
    return request.protection in known.protections and known.neighbours in (None, request.neighbours)


def _naive(statistics, *, request, names, noise, penalty):
    # One outcome's X'X at a time: all of them may not fit into memory.
    drawn = private_separate_statistics(**exact_data(statistics, names, request), noise=noise)
    return fit_separately(drawn, penalty=penalty, origin=statistics.origin.get(request.n_variants))


def _adassp(statistics, *, request, names, noise):
    drawn = private_adassp(**exact_data(statistics, names, request), noise=noise)
    return fit_adassp(replace(drawn, origin=statistics.origin.get(request.n_variants)))


def _sgd(panel, outcomes, *, request, names, noise):
    size, is_training = request.n_variants, outcomes.is_training
    options = {"n_haplotypes": panel.n_haplotypes, "rows": request.rows, "is_selected": is_training}
    X = coded_rows(panel.haplotypes(panel.of_size(size)), **options)
    Y = grid_outcomes(outcomes.values[size][: len(names), is_training], bound=request.outcome_bound)
    terms = SgdRequest(**asdict(request))
    n_units = len(X) // terms.rows_per_unit

    def sample(step):
        return noise.poisson_sample(n_units, name=f"step {step}", probability=terms.sampling_rate)

    return private_sgd(X, Y, request=terms, noise=noise, sample=sample, outcome_names=names).fit


def _from_rows(method, panel, outcomes, *, request, names, noise, **options):
    """Fit on all variants what is fitted on chosen ones too; returns the statuses as well."""
    data = screening_data(panel, outcomes, request.n_variants)
    everything = np.tile(np.arange(request.n_variants), (len(names), 1))
    is_centred = request.coding == Coding.FREQUENCY
    fit, fits = fit_chosen_rows(
        method,
        data,
        everything,
        request=request,
        noise=noise,
        outcome_names=names,
        n_fits=request.n_outcomes,
        frequency=panel.frequency[panel.of_size(request.n_variants)] if is_centred else None,
        **options,
    )
    return replace(fit, chosen=None), [one.ending for one in fits]


def _sketch(panel, outcomes, statistics, *, request, names, noise, penalty, share):
    n_units = statistics.n_rows // request.rows_per_unit
    terms = SketchRequest(**asdict(request), n_units=n_units, n_chosen=max(1, round(share * n_units)))
    noisy = private_sketch(
        panel.haplotypes(panel.of_size(request.n_variants)),
        exact_data(statistics, names, request)["cross"],
        noise.sample_without_replacement(n_units, name="the sketch", n_chosen=terms.n_chosen),
        n_haplotypes=panel.n_haplotypes,
        request=terms,
        noise=noise,
        is_selected=outcomes.is_training,
        outcome_names=names,
    )
    return fit_reusecov(noisy, penalty=penalty)
