"""Variants chosen for each outcome, and fits of the chosen ones, in a benchmark."""

from dataclasses import asdict
from functools import partial
from itertools import product

import numpy as np

from dpgrs.io.panel import Panel
from dpgrs.io.trials import Outcomes, load_labelled, save_labelled, write_events
from dpgrs.methods.chosen import (
    ScreeningData,
    fit_chosen,
    fit_chosen_exactly,
    fit_chosen_rows,
    paper_choices,
    private_choices,
    private_chosen_statistics,
)
from dpgrs.methods.chosen_requests import ScreeningTerms, restored_request, screened_request
from dpgrs.methods.fits import FitTerms
from dpgrs.methods.labels import NO_PRIVACY, fit_label, timed
from dpgrs.methods.registry import METHODS, SCREENED
from dpgrs.methods.requests import request_grid
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.selection.kendall import correlations
from dpgrs.selection.selectors import SELECTORS
from dpgrs.types import Bounds, Coding, Protection, Scaling, Selector


def screen_variants(
    panel,
    outcomes,
    *,
    output,
    events,
    methods,
    n_choices,
    share,
    law,
    composition,
    votes_count_share,
    bounds,
    genotype_clip,
    outcome_bound,
    counts,
    trial,
    seed,
    scaling=Scaling.PUBLIC,
    **options,
):
    """Choose variants by every selector, for every panel, epsilon and number of outcomes, with seeded noise.

    Parameters
    ----------
    panel, outcomes : paths.
    output : path of the choices of the methods' selectors, first those without privacy, and of the exact
        Kendall scores: for benchmarks alone.
    events : path of a record of what was drawn, JSON; choices that are not private are not in it.
    methods : list of str, names of `dpgrs.methods.registry.SCREENED`.
    n_choices, share, law, composition, votes_count_share : as in `ScreeningTerms`, the last as `count_share`.
    bounds : Bounds, within which chosen variants are to be summed.
    genotype_clip, outcome_bound : float, of these bounds.
    counts : list of int, numbers of outcomes; empty means all.
    trial, seed : int, key of the benchmark noise.
    scaling : Scaling, of DP-SIS with noise.
    **options : see `request_grid`.
    """
    panel, outcomes = Panel.open(panel), Outcomes.load(outcomes)
    terms = {"n_choices": n_choices, "share": share, "law": law, "composition": composition}
    terms |= {"count_share": votes_count_share}
    grid = request_grid(
        counts=counts or [len(outcomes.names)],
        rows=outcomes.rows,
        outcome_bound=outcome_bound,
        **options,
    )
    data = {size: screening_data(panel, outcomes, size) for size in outcomes.values}
    exact_terms = {"n_choices": n_choices, "outcome_bound": outcome_bound}
    chosen = [
        _exact(data[size], size, selector, has_scores=not place, **exact_terms)
        for (place, selector), size in product(enumerate(_selectors(methods)), data)
    ]
    drawn = []
    for selector, (request, count) in product(_selectors(methods, is_private=True), grid):
        if request.protection != Protection.FULL:
            continue
        frequency = panel.frequency[panel.of_size(request.n_variants)] if bounds == Bounds.TIGHT else None
        asked = ScreeningTerms(selector=selector, **terms)
        request = screened_request(request, asked, frequency=frequency, factor=genotype_clip)
        noise = BenchmarkNoise(seed, trial, "choices", *request.key)
        label, own = {"request": asdict(request), "n_outcomes": count}, data[request.n_variants]
        terms_of_draw = {"noise": noise, "outcome_names": outcomes.names[:count]}
        if (selector, scaling) == (Selector.SIS, Scaling.PAPER):
            found = paper_choices(own, request=request.choices, **terms_of_draw)
            chosen.append((label | {"selector": selector, "note": paper_note(request)}, {"chosen": found}))
            continue
        found, made = private_choices(own, **request.choosing, **terms_of_draw)
        label |= {"events": [one.as_dict() for one in made], "selector": selector}
        chosen.append((label, {"chosen": found}))
        drawn.append(label)
    save_labelled(output, chosen)
    write_events(events, drawn)


def fit_screened(panel, outcomes, choices, *, output, methods, trial, seed, **terms):
    """Fit every method on the variants that were chosen for it.

    Parameters
    ----------
    panel, outcomes : paths.
    choices : path of what `screen_variants` wrote.
    output : path of the weights, labelled as in `fit_weights`.
    methods : list of str, names of `dpgrs.methods.registry.SCREENED`.
    trial, seed : int, key of the benchmark noise.
    **terms : heritability, as in `FitTerms`; count_share and rows_per_coefficient, as in `TukeyRequest`.
    """
    panel, outcomes = Panel.open(panel), Outcomes.load(outcomes)
    data, fits = {size: screening_data(panel, outcomes, size) for size in outcomes.values}, []
    for label, arrays in load_labelled(choices):
        is_exact, chosen = "request" not in label, arrays["chosen"]
        for method in SCREENED:
            if method not in methods or not _is_chosen_for(method, label["selector"], is_exact=is_exact):
                continue
            if is_exact:
                fit, seconds = timed(fit_chosen_exactly, data[label["n_variants"]], chosen)
                fitted = _not_private(method, label["n_variants"], len(chosen))
            else:
                request = restored_request(label["request"])
                key = (seed, trial, method, *request.key)
                (fit, statuses), seconds = timed(
                    FITTERS[method],
                    data[request.n_variants],
                    chosen,
                    request=request,
                    noise=BenchmarkNoise(*key),
                    names=outcomes.names[: len(chosen)],
                    frequency=panel.frequency[panel.of_size(request.n_variants)],
                    terms=terms,
                )
                fitted = _label(method, label, len(chosen)) | {"statuses": statuses}
            fits.append((fitted | {"seconds": seconds}, fit.arrays()))
    save_labelled(output, fits)


def screening_data(panel, outcomes, size):
    """Return the ScreeningData of a panel size, with all outcomes: functions take as many as are named."""
    Y = np.where(outcomes.is_training, outcomes.values[size], np.nan)
    bits = panel.haplotypes(panel.of_size(size))
    return ScreeningData(bits, Y, outcomes.is_training, panel.n_haplotypes, outcomes.rows, panel.sample_id)


def paper_note(request):
    """Say how choices that are not private were made; epsilon and accounting set their noise alone."""
    return f"paper scaling, {request.accounting} noise of epsilon {request.epsilon:g}"


def _selectors(methods, *, is_private=False):
    """Return the selectors of methods, or of the private ones alone, in the order of `Selector`."""
    used = {METHODS[name].selector for name in methods if not (is_private and METHODS[name].is_non_private)}
    return [selector for selector in Selector if selector in used]


def _is_chosen_for(method, selector, *, is_exact):
    """Tell whether a method is fitted on the choices of a selector, exact ones or private ones."""
    return (METHODS[method].selector, METHODS[method].is_non_private) == (selector, is_exact)


def _exact(data, size, selector, *, has_scores, **terms):
    """Choose without noise, and keep the exact Kendall scores once: reports show them of every selector."""
    choose = SELECTORS[selector].exact
    arrays = {"chosen": np.array([choose(data, number, **terms) for number in range(len(data.Y))])}
    if has_scores:
        n_rows = np.array([[one.n_rows] for one in data.pairs])
        scores = np.array([one.outcome_scores for one in data.pairs])
        arrays["scores"] = correlations(scores, n_rows, pair_range=data.pairs[0].pair_range)
    return {"n_variants": size, "selector": selector}, arrays


def _label(method, label, count):
    """Return the label of a fit of choices with noise: by its name alone where they are not private."""
    if "note" not in label:
        return fit_label(method, label["request"], count)
    own = _not_private(f"{method}, {label['note']}", label["request"]["n_variants"], count)
    # Unlike other fits without privacy it hangs on how many outcomes share a budget.
    return own | {"is_of_count": True}


def _not_private(method, size, count):
    return {
        "method": method,
        "protection": str(Protection.NONE),
        **NO_PRIVACY,
        "reported": True,
        "n_variants": size,
        "n_outcomes": count,
    }


def _from_sums(data, chosen, *, request, noise, names, frequency, terms):
    drawn = private_chosen_statistics(
        data, chosen, request=request.statistics, noise=noise, outcome_names=names, frequency=frequency
    )
    terms = FitTerms(0.0, heritability=terms["heritability"])
    fit = fit_chosen(drawn, "blup", request=request.statistics, terms=terms, n_variants=request.n_variants)
    return fit, None


def _from_rows(method, data, chosen, *, request, noise, names, frequency, terms):
    # The count's share is of all of epsilon.
    options = {
        "n_fits": request.n_outcomes,
        "count_share": terms["count_share"] / (1 - request.screening.share),
        "rows_per_coefficient": terms["rows_per_coefficient"],
        "frequency": frequency if request.coding == Coding.FREQUENCY else None,
    }
    fit, fits = fit_chosen_rows(
        method, data, chosen, request=request.rest, noise=noise, outcome_names=names, **options
    )
    return fit, [one.ending for one in fits]


FITTERS = {
    "k-blup": _from_sums,
    "k-bas": partial(_from_rows, "bas"),
    "k-tukey": partial(_from_rows, "tukey"),
    "l-blup": _from_sums,
    "s-blup": _from_sums,
}
