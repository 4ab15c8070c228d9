"""How time and memory of a study grow with people, variants and outcomes, and what larger ones would take."""

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from dpgrs.experiments.frame import Experiment, Verdict
from dpgrs.experiments.scale_trial import run_trial  # noqa: F401
from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import PALETTE, new_figure

AXES = ("people", "variants", "outcomes")
# By what the seconds of a rule grow, n rows, d variants and l outcomes: exponents of each, beside a start.
TERMS = {
    "make_panel": ((1, 1, 0),),
    "make_outcomes": ((1, 1, 0), (1, 0, 1), (1, 1, 1)),
    "compute_statistics": ((1, 1, 0), (1, 2, 0), (1, 0, 1), (1, 1, 1)),
    "draw": ((0, 2, 0), (0, 1, 1)),
    "fit_weights": ((0, 3, 0), (0, 2, 1)),
    "evaluate_trial": ((1, 1, 0), (1, 0, 1), (1, 1, 1)),
}
# Seconds that come from a clock, of which less is noise.
LEAST = 0.5


def summarise(rows, settings):
    """Return the least seconds of all trials, since other work only adds to them, and the most memory."""
    keys = ["part", *AXES, "rule"]
    found = rows.groupby(keys, sort=False).agg({"seconds": "min", "used": "max", "asked": "max"})
    return found.reset_index()


def model_of(table, rule):
    """Fit the seconds of a rule, least squares of relative errors, no constant below 0.

    Returns
    -------
    function of people, variants and outcomes, arrays, that returns seconds.
    """
    own = table[table["rule"] == rule]
    seconds = own["seconds"].to_numpy()
    constants, _ = nnls(
        _design(rule, *(own[axis] for axis in AXES)) / seconds[:, np.newaxis], np.ones(len(own))
    )
    return lambda *size: _design(rule, *size) @ constants


def _design(rule, people, variants, outcomes):
    sizes = np.array([people, variants, outcomes], dtype=float)
    return np.stack([np.ones(sizes.shape[1:]), *(_product(sizes, term) for term in TERMS[rule])], axis=-1)


def _product(sizes, exponents):
    return np.prod(sizes ** np.array(exponents)[:, np.newaxis], axis=0)


def exponents(table, rule):
    """Compare how seconds grow along each axis with the model, between the two largest sizes of it.

    Returns
    -------
    dict of axis to (measured, modelled) exponents; without axes along which nothing was varied, or too short.
    """
    own, found = table[table["rule"] == rule], {}
    model = model_of(table, rule)
    for axis in AXES:
        others = [name for name in AXES if name != axis]
        groups = [part.sort_values(axis) for _, part in own.groupby(others) if part[axis].nunique() > 1]
        if not groups:
            continue
        last = max(groups, key=len).tail(2)
        (low, high), (x_low, x_high) = last["seconds"], last[axis]
        if low < LEAST:
            continue
        modelled = model(*(last[name].to_numpy() for name in AXES))
        span = np.log(x_high / x_low)
        found[axis] = np.log(high / low) / span, np.log(modelled[1] / modelled[0]) / span
    return found


def compare(table, settings):
    """Return, by rule, exponents, the size that the model was not fitted to, and what a biobank takes."""
    is_check = table["part"] == settings["check"]
    fitted, target = table[~is_check], [np.array([value]) for value in settings["target"]]
    rows = []
    for rule in TERMS:
        model, own = model_of(fitted, rule), table[is_check & (table["rule"] == rule)]
        row = {"rule": rule}
        found = exponents(fitted, rule)
        for axis in AXES:
            pair = found.get(axis)
            row[f"exponent of {axis}"] = "" if pair is None else f"{pair[0]:.2f} ({pair[1]:.2f})"
        for one in own.itertuples():
            predicted = model(*(np.array([getattr(one, axis)]) for axis in AXES))[0]
            row[f"s, {one.people:,} x {one.variants:,} x {one.outcomes:,}"] = f"{one.seconds:.0f}"
            row["predicted"] = f"{predicted:.0f}"
            row["MB"], row["asked"] = f"{one.used:.0f}", f"{one.asked:.0f}"
        size = " x ".join(f"{value:,}" for value in settings["target"])
        row[f"s, {size}, by the model"] = f"{model_of(table, rule)(*target)[0]:.0f}"
        rows.append(row)
    return pd.DataFrame(rows)


def draw(table, settings):
    """Draw seconds against each axis, the others as in the smallest size that varies it."""
    figure, (axes,) = new_figure(600, 190, left=44, right=10, top=20, bottom=74, ncols=3, sharey=True)
    for axis, name in zip(axes, AXES, strict=True):
        others = [one for one in AXES if one != name]
        for colour, rule in zip(PALETTE, TERMS, strict=False):
            own = table[table["rule"] == rule]
            groups = [part.sort_values(name) for _, part in own.groupby(others) if part[name].nunique() > 1]
            if groups:
                line = max(groups, key=len)
                axis.plot(line[name], line["seconds"], color=colour, marker="o", markersize=3, label=rule)
        axis.set(xscale="log", yscale="log", xlabel=name)
    axes[0].set_ylabel("seconds of a core")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=3)
    return {"scale": Drawing(figure, "Seconds of a core against people, variants and outcomes.")}


def judge(table, settings):
    """Say how far the model is from the size that it was not fitted to, and what took too much memory."""
    is_check = table["part"] == settings["check"]
    ratios = []
    for rule in TERMS:
        for one in table[is_check & (table["rule"] == rule)].itertuples():
            predicted = model_of(table[~is_check], rule)(*(np.array([getattr(one, axis)]) for axis in AXES))[
                0
            ]
            ratios.append(predicted / one.seconds)
    lacking = int((table["used"] > table["asked"]).sum())
    said = f"{lacking} of {len(table)} rules took more memory than they ask for"
    if ratios:
        said += (
            f"; at {settings['check']} the model has {min(ratios):.2f} to {max(ratios):.2f} of the seconds"
        )
    return Verdict.BEYOND, f"{said}."


EXPERIMENT = Experiment(
    paper="Beyond the papers",
    shows="time and memory of a study",
    choices=(
        "Whole studies by the workflow's own rules, a job at a time: haplotypes, tight bounds, ridge, "
        "ReuseCov and BLUP, simulated outcomes; of more than 500 people, copies of these. Memory is what "
        "Snakemake's benchmarks see of it.",
        "In brackets what the model has: constants, none below 0, of the products of people, variants and "
        "outcomes by which a rule must grow, and of its start.",
    ),
)
