"""Run a method on a plain table: random splits, seeded noise, R^2 on the rows left out. Benchmarks only."""

from functools import partial

import numpy as np
import pandas as pd

from dpgrs.errors import UsageError
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.reporting.text_table import text_table
from dpgrs_papers.selection.lasso import STANDARD
from dpgrs_papers.tabular.compositions import TableRequest
from dpgrs_papers.tabular.feature_tables import OWN_SCALE, read_feature_table, read_named_scales
from dpgrs_papers.tabular.ranged_tables import (
    SET,
    bounds_of_ranges,
    bounds_of_scales,
    budget_of_study,
    fit_within_ranges,
    settings_of_study,
)
from dpgrs_papers.tabular.splits import fit_split, median_r2, random_split
from dpgrs_papers.tabular.table_methods import table_methods, tabular_methods
from dpgrs_papers.types import DepthCheck

NAMES_OF_STUDIES = {"nondp": "ols"}
CLIPPED = {"values": "values of features", "outcomes": "outcomes", "rows": "rows, by their length"}


def run_tabular(path, *, target, one_hot, drop=(), method, replicates, seed, test_share, scale, **terms):
    """Fit a method in several replicates, each with a random split and noise of its own.

    Parameters
    ----------
    path : a table, see `read_feature_table`.
    target : str, or None for the last column.
    one_hot : sequence of str, columns of labels.
    drop : sequence of str, columns to leave out.
    method : str, of `tabular_methods`.
    replicates : int > 0
    seed : int, public.
    test_share : float in (0, 1), share of rows that a replicate is measured on.
    scale : None for values as they are; `OWN_SCALE` for mean and standard deviation of the training rows,
        which are not private; else the path of a table, see `read_named_scales`. With `ranges` it is of the
        target alone.
    **terms : of `TableRequest`, and `ranges`, the path of a table, see `bounds_of_ranges`, and `settings`, a
        sequence of str, see `settings_of_study`: for a study of the table.

    Returns
    -------
    dict of JSON values; the lists have an entry for each replicate. `r2` and `r2_training`, on the rows that
    were fitted, are None where there is no model, and medians where half of the replicates have none: no
    model counts as worse than any other.

    Raises
    ------
    UsageError
        For a table or terms with which no replicate can give a model, and for a method without its ranges.
    """
    ranges, given = terms.pop("ranges", None), tuple(terms.pop("settings", ()))
    is_ranged = ranges is not None or method not in table_methods()
    request, row = TableRequest(**terms), tabular_methods()[method]
    _require_form(method, request, given, ranges=ranges, scale=scale, is_ranged=is_ranged)
    table = read_feature_table(path, target=target, one_hot=one_hot, drop=drop)
    scales = None if scale in (None, OWN_SCALE) else read_named_scales(scale, table)
    n_rows, n_features = table.X.shape
    n_test = max(round(test_share * n_rows), 1)
    request.require_features(row, n_features)
    least = 2 if is_ranged else max(request.least_rows(row, n_features), 2)
    _require_rows(path, n_rows - n_test, n_test, least=least)
    fit = _fit_as_is
    if is_ranged:
        own = {"ranges": ranges, "option": f"`{scale}`", "given": given}
        fit = partial(_fit_within_ranges, NAMES_OF_STUDIES.get(method, method), **own)
    found = []
    for replicate in range(1, replicates + 1):
        split = random_split(n_rows, n_test, seed=seed, key=("tabular split", replicate))
        own = _own_scales(table, split[1], ranges) if scale == OWN_SCALE else scales
        found.append(fit(table, split, own, row=row, request=request, seed=seed, key=("tabular", replicate)))
    r2, training, fits = ([getattr(one, name) for one in found] for name in ("r2", "training_r2", "fit"))
    clipped = [getattr(fit, "clipped", {}) for fit in fits]
    return {
        "method": method,
        **{name: terms[name] for name in ("epsilon", "delta", "k")},
        "replicates": replicates,
        "r2": r2,
        "r2_median": median_r2(r2),
        "r2_training": training,
        "r2_training_median": median_r2(training),
        "status": [str(fit.status) for fit in fits],
        "models": [fit.n_models for fit in fits],
        "chosen": [[table.features[j] for j in fit.chosen] for fit in fits],
        "budget": budget_of_study(request, row) if is_ranged else request.budget(row),
        "neighbours": str(request.neighbours),
        "scale": scale,
        "ranges": ranges,
        "settings": list(given),
        "clipped": {name: [one.get(name) for one in clipped] for name in CLIPPED},
        "seed": seed,
        "target": table.target,
        "rows": n_rows,
        "features": n_features,
        "test_rows": n_test,
        "is_private": False,
    }


def as_text(result):
    """Return the result of `run_tabular` as a table and what is to be known of it, a str."""
    has_screening = tabular_methods()[result["method"]].is_screened
    has_models = any(number is not None for number in result["models"])
    columns = ["replicate", "R2"] + ["models"] * has_models + ["features"] * has_screening
    rows = []
    for number, value in enumerate(result["r2"]):
        shown = result["status"][number] if value is None else _number(value)
        models = [str(result["models"][number])] * has_models
        rows.append([str(number + 1), shown, *models, *[", ".join(result["chosen"][number])] * has_screening])
    return "\n".join([text_table(columns, rows), "", *_summary(result)])


def caveats(result):
    """Return what a result of `run_tabular` must not be taken for, a list of str."""
    is_noisy = not tabular_methods()[result["method"]].is_non_private
    why = "The noise is seeded, and anyone can take it off." if is_noisy else "This method draws no noise."
    lines = [f"Benchmark: not private. {why}"]
    if result["scale"] == OWN_SCALE:
        lines.append("Columns are centred and scaled by the rows' own values, which no epsilon covers.")
    if result["ranges"] is not None and result["scale"] is None:
        target = result["target"]
        lines.append(
            f"`{target}` has a range and no scale: it is centred in the middle of its range, and R2 can be "
            "far below 0 where most of its values lie elsewhere. Give `--scale` with the line "
            f"`{target},centre,scale` in place of its range."
        )
    return lines


def _summary(result):
    n_fitted = sum(value is not None for value in result["r2"])
    n_training = result["rows"] - result["test_rows"]
    median, fitted = result["r2_median"], result["r2_training_median"]
    shown = "no model" if median is None else _number(median)
    shown += "" if fitted is None else f", and {_number(fitted)} on the rows that were fitted"
    yield f"Median R2: {shown}; {n_fitted} of {result['replicates']} replicates gave a model."
    yield (
        f"`{result['target']}` from {result['features']} features; "
        f"{n_training} rows to train on and {result['test_rows']} to test on in each replicate."
    )
    shares = {CLIPPED[name]: own for name, own in result["clipped"].items() if None not in own}
    if shares:
        said = (f"{np.mean(own):.1%} of {name}" for name, own in shares.items())
        yield f"Clipped at public bounds: {', '.join(said)}."
    parts = [f"{name} {epsilon:.3g}" for name, epsilon in result["budget"].items() if epsilon]
    if parts:
        yield (
            f"Epsilon {result['epsilon']:g} ({', '.join(parts)}), delta {result['delta']:g}, "
            f"{result['neighbours']} of a row."
        )


def _number(value):
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.2g}"


def _require_rows(path, n_training, n_test, *, least):
    if n_training < least:
        raise UsageError(
            "too-few-rows",
            f"`{path}` must have at least {least} rows to train on for such a model, got {n_training} beside "
            f"{n_test} to test on. Add rows, drop features, or lower `--test-share`.",
        )


def _require_form(method, request, given, *, ranges, scale, is_ranged):
    """Raise a UsageError for what does not go with values as they are, or with a study of the table."""
    if not is_ranged:
        if given:
            needing = ", ".join(name for name in tabular_methods() if name not in table_methods())
            raise UsageError(
                "set-without-ranges",
                f"`{SET}` must be given with `--ranges`, or for one of {needing}, got it for {method} "
                "without. Give `--ranges`, or leave it out.",
            )
        return
    if ranges is None and scale is None:
        raise UsageError(
            "public-ranges-missing",
            f"`--ranges` or `--scale` must be given for {method}, which clips values at public bounds, got "
            "neither. Give a table of column,low,high as `--ranges`, or one of column,centre,scale as "
            "`--scale`; `--scale data` takes them from the rows, which is not private.",
        )
    for option, value, only in (
        ("--check", request.check, DepthCheck.TIGHT),
        ("--lasso-penalty", request.lasso.penalty, STANDARD.penalty),
        ("--lasso-scaling", request.lasso.scaling, STANDARD.scaling),
    ):
        if value != only:
            raise UsageError(
                "option-with-ranges",
                f"`{option}` must be {only} with public ranges, as in a study of a table, got {value}. "
                "Leave it out.",
            )


def _fit_as_is(table, split, scales, *, row, request, seed, key):
    """Fit values as they are, scaled if asked for. R^2 does not hang on the scale of the outcome."""
    values = np.column_stack([table.X, table.y])
    if scales is not None:
        values = (values - scales["centre"].fillna(0.0).to_numpy()) / scales["scale"].fillna(1.0).to_numpy()
    noise = BenchmarkNoise(seed, *key)
    return fit_split(values[:, :-1], values[:, -1], split, method=row, request=request, noise=noise)


def _fit_within_ranges(method, table, split, scales, *, ranges, option, given, row, request, seed, key):
    """Fit as a study of the table does."""
    if ranges is None:
        bounds = bounds_of_scales(table, scales, option=option)
    else:
        bounds = bounds_of_ranges(ranges, table, scales)
    terms = {"request": request, "seed": seed, "row_clip": bounds.row_clip, "given": given}
    settings = settings_of_study(method, table.X.shape[1], **terms)
    return fit_within_ranges(table, split, bounds=bounds, settings=settings, key=key)


def _own_scales(table, training, ranges):
    """Return centres and scales of the training rows, of the target alone beside ranges."""
    values = np.column_stack([table.X, table.y])[training]
    centres, widths = values.mean(axis=0), values.std(axis=0)
    # A level may be in no training row.
    widths = np.where(widths > 0, widths, 1.0)
    found = pd.DataFrame({"centre": centres, "scale": widths}, index=[*table.features, table.target])
    if ranges is not None:
        found.loc[table.features] = np.nan
    return found
