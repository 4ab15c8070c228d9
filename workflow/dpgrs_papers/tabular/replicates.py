"""Run a method on a plain table: random splits, seeded noise, R^2 on the rows left out. Benchmarks only."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpgrs.errors import UsageError
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.reporting.text_table import text_table
from dpgrs.statement.methods import Method
from dpgrs_papers.selection.lasso import STANDARD
from dpgrs_papers.tabular.compositions import TableRequest
from dpgrs_papers.tabular.feature_tables import OWN_SCALE, FeatureTable, read_feature_table, read_named_scales
from dpgrs_papers.tabular.ranged_tables import (
    SET,
    RangedReplicate,
    bounds_of_ranges,
    bounds_of_scales,
    budget_of_study,
    fit_within_ranges,
    settings_of_study,
)
from dpgrs_papers.tabular.splits import Split, TableReplicate, fit_split, median_r2, random_split
from dpgrs_papers.tabular.table_methods import table_methods, tabular_methods
from dpgrs_papers.types import DepthCheck

NAMES_OF_STUDIES = {"nondp": "ols"}
CLIPPED = {"values": "values of features", "outcomes": "outcomes", "rows": "rows, by their length"}


def run_tabular(
    path: Path | str,
    *,
    target: str | None,
    one_hot: Sequence[str],
    drop: Sequence[str] = (),
    method: str,
    replicates: int,
    seed: int,
    test_share: float,
    scale: str | None,
    **request_fields: Any,
) -> dict:
    """Fit a method in several replicates, each with a random split and noise of its own.

    `scale` is None for values as they are, `OWN_SCALE` for mean and standard deviation of the training rows,
    which are not private, or the path of a table for `read_named_scales`. Further terms are those of
    `TableRequest` and, for a study of the table, `ranges`, a path for `bounds_of_ranges`, and `settings`, the
    overrides of `settings_of_study`; beside ranges the scale is only of the target.

    The result is a dict of JSON values; the lists have an entry for each replicate. R^2 is None where there
    is no model, and the median None where half of the replicates have none: no model counts as worse than any
    other.
    """
    ranges, overrides = request_fields.pop("ranges", None), tuple(request_fields.pop("settings", ()))
    is_ranged = ranges is not None or method not in table_methods()
    request, row = TableRequest(**request_fields), tabular_methods()[method]
    _require_form(method, request, overrides, ranges=ranges, scale=scale, is_ranged=is_ranged)
    table = read_feature_table(path, target=target, one_hot=one_hot, drop=drop)
    scales = None if scale in (None, OWN_SCALE) else read_named_scales(scale, table)
    n_rows, n_features = table.X.shape
    n_test = max(round(test_share * n_rows), 1)
    request.require_features(row, n_features)
    least = 2 if is_ranged else max(request.least_rows(row, n_features), 2)
    if n_rows - n_test < least:
        raise UsageError(
            "too-few-rows",
            f"`{path}` must have at least {least} rows to train on for such a model, got {n_rows - n_test} "
            f"beside {n_test} to test on. Add rows, drop features, or lower `--test-share`.",
        )
    fit = _fit_as_is
    if is_ranged:
        fit_options = {"ranges": ranges, "option": f"`{scale}`", "overrides": overrides}
        fit = partial(_fit_within_ranges, NAMES_OF_STUDIES.get(method, method), **fit_options)
    replicate_fits = []
    for replicate in range(1, replicates + 1):
        split = random_split(n_rows, n_test, seed=seed, key=("tabular split", replicate))
        split_scales = _own_scales(table, split[1], ranges) if scale == OWN_SCALE else scales
        replicate_fits.append(
            fit(table, split, split_scales, row=row, request=request, seed=seed, key=("tabular", replicate))
        )
    r2, training, fits = (
        [getattr(replicate_fit, name) for replicate_fit in replicate_fits]
        for name in ("r2", "training_r2", "fit")
    )
    clipped = [getattr(fit, "clipped", {}) for fit in fits]
    return {
        "method": method,
        **{name: request_fields[name] for name in ("epsilon", "delta", "k")},
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
        "settings": list(overrides),
        "clipped": {name: [shares.get(name) for shares in clipped] for name in CLIPPED},
        "seed": seed,
        "target": table.target,
        "rows": n_rows,
        "features": n_features,
        "test_rows": n_test,
        "is_private": False,
    }


def as_text(result: dict) -> str:
    """Return the result of `run_tabular` as a table with its summary."""
    has_screening = tabular_methods()[result["method"]].is_screened
    has_models = any(number is not None for number in result["models"])
    columns = ["replicate", "R2"] + ["models"] * has_models + ["features"] * has_screening
    rows = []
    for number, r2 in enumerate(result["r2"]):
        shown = result["status"][number] if r2 is None else _number(r2)
        models = [str(result["models"][number])] * has_models
        rows.append([str(number + 1), shown, *models, *[", ".join(result["chosen"][number])] * has_screening])
    return "\n".join([text_table(columns, rows), "", *_summary(result)])


def caveats(result: dict) -> list[str]:
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


def _summary(result: dict) -> Iterator[str]:
    n_fitted = sum(r2 is not None for r2 in result["r2"])
    n_training = result["rows"] - result["test_rows"]
    median, fitted = result["r2_median"], result["r2_training_median"]
    shown = "no model" if median is None else _number(median)
    shown += "" if fitted is None else f", and {_number(fitted)} on the rows that were fitted"
    yield f"Median R2: {shown}; {n_fitted} of {result['replicates']} replicates gave a model."
    yield (
        f"`{result['target']}` from {result['features']} features; "
        f"{n_training} rows to train on and {result['test_rows']} to test on in each replicate."
    )
    shares = {
        CLIPPED[name]: clipped_shares
        for name, clipped_shares in result["clipped"].items()
        if None not in clipped_shares
    }
    if shares:
        clipped_in_words = (
            f"{np.mean(clipped_shares):.1%} of {name}" for name, clipped_shares in shares.items()
        )
        yield f"Clipped at public bounds: {', '.join(clipped_in_words)}."
    budget_parts = [f"{name} {epsilon:.3g}" for name, epsilon in result["budget"].items() if epsilon]
    if budget_parts:
        yield (
            f"Epsilon {result['epsilon']:g} ({', '.join(budget_parts)}), delta {result['delta']:g}, "
            f"{result['neighbours']} of a row."
        )


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.2g}"


def _require_form(
    method: str,
    request: TableRequest,
    overrides: Sequence[str],
    *,
    ranges: str | None,
    scale: str | None,
    is_ranged: bool,
) -> None:
    """Raise a UsageError for what does not go with values as they are, or with a study of the table."""
    if not is_ranged:
        if overrides:
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


def _fit_as_is(
    table: FeatureTable,
    split: Split,
    scales: pd.DataFrame | None,
    *,
    row: Method,
    request: TableRequest,
    seed: int,
    key: tuple,
) -> TableReplicate:
    """Fit values as they are, scaled if asked for. R^2 does not depend on the scale of the outcome."""
    values = np.column_stack([table.X, table.y])
    if scales is not None:
        values = (values - scales["centre"].fillna(0.0).to_numpy()) / scales["scale"].fillna(1.0).to_numpy()
    noise = BenchmarkNoise(seed, *key)
    return fit_split(values[:, :-1], values[:, -1], split, method=row, request=request, noise=noise)


def _fit_within_ranges(
    method: str,
    table: FeatureTable,
    split: Split,
    scales: pd.DataFrame | None,
    *,
    ranges: str | None,
    option: str,
    overrides: Sequence[str],
    row: Method,
    request: TableRequest,
    seed: int,
    key: tuple,
) -> RangedReplicate:
    """Fit as a study of the table does."""
    if ranges is None:
        bounds = bounds_of_scales(table, scales, option=option)
    else:
        bounds = bounds_of_ranges(ranges, table, scales)
    study_options = {"request": request, "seed": seed, "row_clip": bounds.row_clip, "overrides": overrides}
    settings = settings_of_study(method, table.X.shape[1], **study_options)
    return fit_within_ranges(table, split, bounds=bounds, settings=settings, key=key)


def _own_scales(table: FeatureTable, training: np.ndarray, ranges: str | None) -> pd.DataFrame:
    """Return centres and scales of the training rows, beside ranges only of the target."""
    values = np.column_stack([table.X, table.y])[training]
    centres, widths = values.mean(axis=0), values.std(axis=0)
    # A level may be in no training row.
    widths = np.where(widths > 0, widths, 1.0)
    own_scales = pd.DataFrame({"centre": centres, "scale": widths}, index=[*table.features, table.target])
    if ranges is not None:
        own_scales.loc[table.features] = np.nan
    return own_scales
