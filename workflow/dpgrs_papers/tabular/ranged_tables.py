"""A plain table as a study of a table takes it: values within public ranges, on a grid. Benchmarks only.

What a run of the workflow does in jobs (docs/measurements/tables.md) is done here for one split of one table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from dpgrs.config.schema import keys
from dpgrs.config.study import StudyConfig
from dpgrs.errors import UsageError
from dpgrs.evaluation.metrics import r_squared
from dpgrs.evaluation.rows import joined_rows
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.tables.real_tables import RealTable, read_ranges
from dpgrs.io.tables.tables import header_of, rows_of
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.chosen import exact_choices
from dpgrs.methods.chosen_exactly import fit_chosen_exactly
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.ols import fit_exactly
from dpgrs.methods.registry import METHODS, n_counts
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.statement.methods import Method
from dpgrs.study.in_process import draws_of_study, training_data, variants_of_table
from dpgrs.study.settings import resolve
from dpgrs.study.table_values import range_problems
from dpgrs.study.training_data import TrainingData
from dpgrs.types import Neighbours, Rows
from dpgrs_papers.methods.tukey import Status
from dpgrs_papers.tabular.compositions import TableRequest
from dpgrs_papers.tabular.feature_tables import FeatureTable

# Scales that a range made of them reaches on either side of its centre: what lies beyond is clipped.
REACH = 4.0
SET = "--set"
OF_BOUNDS = ("privacy.genotype_clip", "privacy.outcome_clip", "outcomes.bound")
OF_BUDGET = ("privacy.gram_share", "privacy.count_share", "screening.composition")
# What `dpgrs tabular` has an option for.
OWN_OPTION = "regression.rows_per_coefficient"


class PublicBounds(NamedTuple):
    """The public bounds of a table."""

    ranges: tuple  # low, high and centre, (n_features,) float64 each
    target: tuple[float, float]  # centre and scale of the outcome, or its low and high
    is_scaled: bool  # whether the target has a scale
    row_clip: float  # the `privacy.genotype_clip` that goes with them


@dataclass(frozen=True)
class RangedFit:
    """How the fit of a split ended; attributes as of `dpgrs_papers.tabular.compositions.TableFit`.

    Of what training rows had that was clipped: `values`, the share of values of features beyond their ranges,
    `outcomes`, the share of outcomes beyond their bound, and `rows`, the share of rows that were shortened to
    their norm; None where the method shortens none.
    """

    chosen: np.ndarray
    status: Status
    clipped: dict
    n_models: None = None


@dataclass(frozen=True)
class RangedReplicate:
    """What a split gives; attributes as of `dpgrs_papers.tabular.splits.TableReplicate`."""

    fit: RangedFit
    r2: float | None
    training_r2: float | None


def bounds_of_ranges(path: Path | str, table: FeatureTable, scales: pd.DataFrame | None) -> PublicBounds:
    """Read the public ranges of a table's columns, a file as for `read_ranges`.

    The outcome has either a line of its very name there, or a scale: scales, from `read_named_scales`, name
    only the outcome. A range that holds less than half of the values is refused.
    """
    target, is_named = table.target, _names_range(path, table.target)
    if scales is not None and (other_names := [name for name in scales.dropna().index if name != target]):
        raise UsageError(
            "scale-with-ranges",
            f"`--scale` must be of the target `{target}` alone beside `--ranges`, got `{other_names[0]}` "
            "too. Leave the others to the ranges.",
        )
    has_scale = scales is not None and bool(scales.loc[target].notna().all())
    if has_scale == is_named:
        got = "one in both" if is_named else "none"
        fix = "Take one out." if is_named else f"Add the line `{target},low,high`, or give `--scale`."
        raise UsageError(
            "target-range-missing",
            f"`{path}` or `--scale` must have a line for the target `{target}`, got {got}. {fix}",
        )
    real_table = _real(table, is_named)
    low, high, centre = read_ranges(path, real_table, other_names=() if is_named else (target,))
    for line in range_problems(real_table, low, high, key=str(path)):
        raise UsageError("values-outside-ranges", line)
    n_features = table.X.shape[1]
    ranges = tuple(bound[:n_features] for bound in (low, high, centre))
    target_numbers = (low[-1], high[-1]) if is_named else tuple(scales.loc[target])
    return PublicBounds(ranges, target_numbers, not is_named, keys()["privacy.genotype_clip"]["default"])


def bounds_of_scales(table: FeatureTable, scales: pd.DataFrame, *, option: str) -> PublicBounds:
    """Take as ranges `REACH` scales on either side of public centres; `option` names them in messages.

    Rows are taken to be as long as columns of these scales make them: a column has a root mean square of
    1/`REACH` of half its range, and a level without a scale, between 0 and 1, of all of it.
    """
    lacking = [name for name in scales.index[scales["scale"].isna()] if name not in table.levels]
    if lacking:
        raise UsageError(
            "column-scale-missing",
            f"{option} must have a line for every column, got none for `{lacking[0]}`. Add its public centre "
            "and scale, or give `--ranges`.",
        )
    feature_scales = scales.loc[table.features]
    is_level = feature_scales["scale"].isna().to_numpy()
    centre, scale = (
        feature_scales["centre"].fillna(0.5).to_numpy(),
        feature_scales["scale"].fillna(0.5 / REACH).to_numpy(),
    )
    ranges = (centre - REACH * scale, centre + REACH * scale, centre)
    squares = np.where(is_level, 1.0, REACH**-2)
    # In units of rows of centred columns, each with a mean square of a half.
    row_clip = float(np.sqrt(squares.sum() / (len(squares) / 2)))
    return PublicBounds(ranges, tuple(scales.loc[table.target]), True, row_clip)


def _names_range(path: Path | str, name: str) -> bool:
    """Tell whether a table of ranges has a line with the very name of a column; errors as `read_ranges`."""
    rows = rows_of(path)
    header_of(rows, path)
    return any(pattern == name for _, (pattern, *_) in rows)


def settings_of_study(
    method: str,
    n_features: int,
    *,
    request: TableRequest,
    seed: int,
    row_clip: float,
    overrides: Sequence[str] = (),
) -> StudyConfig:
    """Return the settings of a study of a table by one method of `ranged_methods`.

    Overrides are settings as ``regression.sgd.steps=400``; `row_clip` is the `privacy.genotype_clip` unless
    one of them names it. Settings that the method does not read are refused, as are neighbours that it does
    not have.
    """
    row, relation = METHODS[method], request.neighbours
    if row.neighbours not in (None, relation):
        raise UsageError(
            "neighbours-of-method",
            f"`--neighbours` must be {row.neighbours} for {method}, got {relation}. Change it.",
        )
    config = {
        "seed": seed,
        "cohort": {"source": "table"},
        "methods": [method],
        "replicates": 1,
        "variants": {"size": [n_features]},
        "outcomes": {"count": [1]},
        "regression": {},
        "screening": {
            "size": request.k,
            "share": request.screening_share,
            "count_share": request.count_share,
            "law": str(request.law),
        },
        "privacy": {
            "protection": ["full"],
            "accounting": ["gdp"],
            "epsilon": [request.epsilon],
            "delta": request.delta,
            "neighbours": str(relation),
            "genotype_clip": row_clip,
        },
    }
    if request.rows_per_coefficient is not None:
        config["regression"]["rows_per_coefficient"] = request.rows_per_coefficient
    for key, value in (_setting(text, method) for text in overrides):
        *sections, name = key.split(".")
        section_config = config
        for section in sections:
            section_config = section_config.setdefault(section, {})
        section_config[name] = value
    return resolve(config)


def budget_of_study(request: TableRequest, row: Method) -> dict[str, float]:
    """Split epsilon as a study does: a dict of ``count``, ``screening`` and ``fit``."""
    if row.is_non_private:
        return dict.fromkeys(("count", "screening", "fit"), 0.0)
    is_counted = request.neighbours == Neighbours.ADD_REMOVE
    count = request.epsilon * request.count_share * n_counts(row) * is_counted
    screening = request.epsilon * request.screening_share * row.is_screened
    return {"count": count, "screening": screening, "fit": request.epsilon - count - screening}


def fit_within_ranges(
    table: FeatureTable,
    split: tuple[np.ndarray, np.ndarray],
    *,
    bounds: PublicBounds,
    settings: StudyConfig,
    key: tuple,
) -> RangedReplicate:
    """Fit a study's one method on one side of a split, and measure it on both; the key selects the noise."""
    n_rows, size = table.X.shape
    is_training = np.zeros(n_rows, dtype=bool)
    is_training[split[1]] = True
    y, bound = _standardised(table.y, bounds, settings.outcomes.bound), settings.outcomes.bound
    outcomes = Outcomes((table.target,), {size: y[np.newaxis]}, {}, is_training, Rows.PEOPLE)
    with variants_of_table(_real(table), bounds.ranges, size=size, seed=settings.seed) as variant_set:
        data = training_data(settings, variant_set, outcomes)
        fit, status = _fit(settings, data, key)
        X = joined_rows(variant_set, size, rows=Rows.PEOPLE)
    chosen = np.arange(size) if fit.chosen is None else fit.chosen[0]
    low, high, _ = bounds.ranges
    training_X = table.X[is_training]
    clipped = {
        "values": float(np.mean((training_X < low) | (training_X > high))),
        "outcomes": float(np.mean(np.abs(y[is_training]) > bound)),
        "rows": _share_of_long_rows(settings.methods[0], data, size),
    }
    r2 = [None, None]
    if status == Status.RELEASED:
        mean, predicted = y[is_training].mean(keepdims=True), fit.predict(X)
        sides = (y[np.newaxis, rows] for rows in split)
        r2 = [
            float(r_squared(outcome, predicted[:, rows], training_mean=mean)[0])
            for outcome, rows in zip(sides, split, strict=True)
        ]
    return RangedReplicate(RangedFit(chosen, status, clipped), *r2)


def _setting(text: str, method: str) -> tuple[str, str]:
    """Return key and value of one of the overrides."""
    allowed = [key for key in keys() if key.startswith("regression.") and key != OWN_OPTION]
    allowed += [*OF_BOUNDS, *OF_BUDGET]
    key, is_pair, value = (piece.strip() for piece in text.partition("="))
    if not is_pair or key not in allowed:
        last = key.rpartition(".")[2]
        close = get_close_matches(key, allowed, n=1) or [
            allowed_key for allowed_key in allowed if allowed_key.endswith(f".{last}")
        ]
        fix = f"Did you mean `{close[0]}`?" if close else f"There are {', '.join(allowed)}."
        raise UsageError(
            "set-option-form",
            f"`{SET}` must be KEY=VALUE with a setting of such a study, got `{text}`. {fix}",
        )
    read = [f"regression.{name}" for name in METHODS[method].reads]
    read += mechanism_of(method, is_release=False).reads
    is_read = any(key == name or key.startswith(f"{name}.") for name in read)
    if key.startswith("regression.") and not is_read:
        settable = ", ".join(name for name in allowed if any(name.startswith(prefix) for prefix in read))
        raise UsageError(
            "setting-not-of-method",
            f"`{SET}` must be of what {method} reads, got `{key}`. Leave it out"
            + (f", or set one of {settable}." if settable else "."),
        )
    return key, value


def _fit(settings: StudyConfig, data: TrainingData, key: tuple) -> tuple[LinearFit, Status]:
    """Return the LinearFit of the one method of a study, and its Status."""
    (method,), (size,) = settings.methods, data.outcomes.values
    row = METHODS[method]
    if row.is_non_private and not row.is_screened:
        return fit_exactly(method, data.statistics, size, settings.regression.as_dict()), Status.RELEASED
    if row.is_non_private:
        choice_options = {"n_choices": settings.screening.size, "outcome_bound": settings.outcomes.bound}
        rows = data.rows(size)
        return fit_chosen_exactly(rows, exact_choices(rows, row.selector, **choice_options)), Status.RELEASED
    (draw,) = draws_of_study(settings, data)
    noisy = draw.draw(BenchmarkNoise(settings.seed, *key, *draw.key))
    fit = fit_released(
        method, noisy, request=draw.request, terms=FitTerms.of(settings.regression.as_dict()), outcomes=None
    )
    (ending,) = getattr(noisy, "statuses", ()) or ("ok",)
    return fit, Status.RELEASED if ending == "ok" else Status(ending)


def _share_of_long_rows(method: str, data: TrainingData, size: int) -> float | None:
    """Return the share of training rows that were shortened; None where sums of rows are not taken."""
    takes_sums = "statistics" in mechanism_of(method, is_release=False).takes
    if METHODS[method].is_non_private or not takes_sums:
        return None
    return float(data.statistics.clips.rows[size, 1][0] / data.statistics.n_rows)


def _standardised(y: np.ndarray, bounds: PublicBounds, bound: float) -> np.ndarray:
    """Return the outcome, standardised; one with a range is at its bound at the ends of it."""
    if bounds.is_scaled:
        centre, scale = bounds.target
    else:
        low, high = bounds.target
        centre, scale = (low + high) / 2, (high - low) / (2 * bound)
    return (y - centre) / scale


def _real(table: FeatureTable, with_target: bool = False) -> RealTable:
    """Return the features of a FeatureTable as a RealTable, with the outcome as its last column if asked."""
    names = table.features + [table.target] * with_target
    values = np.column_stack([table.X, table.y]) if with_target else table.X
    return RealTable.numbered(table.path, names, values, table.levels)
