"""PRIMO's figures: statistics, draws and fits of a study of one replicate, ReuseCov by a path of penalties.

A fit is post-processing, so the path costs no privacy. Its best point is found by a look at test rows, which
is not private: it is named as peeked.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dpgrs.evaluation.rows import joined_rows
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.variant_set import VariantSet
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.ols import fit_exactly
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics
from dpgrs.methods.sum_fits import moved_by_public_side, moved_into_ellipsoid
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.study.in_process import draws_of_study, training_data
from dpgrs.study.settings import resolve
from dpgrs.study.variant_terms import takes_ld
from dpgrs.types import Penalty

PENALTIES = tuple(10.0 ** (exponent / 2) for exponent in range(-6, 9))  # 0.001 to 10,000
MOVES = {
    "reusecov-gauss": lambda noisy, **options: noisy,
    "reusecov-proj": moved_by_public_side,
    "reusecov-ellipsoid": moved_into_ellipsoid,
}
NON_PRIVATE = "ridge"
CELL = ["epsilon", "n_variants", "n_outcomes"]
LINE = ["terms", "method", "protection"]
# How a fit got its penalty: each of the path, the best of it, a fixed one, by the evidence, or its own way.
PATH, PEEKED, FIXED, EVIDENCE, OWN = "path", "peeked", "fixed", "evidence", "own"
FIXED_PENALTY = 0.1
# The terms of the paper, and the best terms here, as configurations of a study.
TERMS = {
    "paper": {
        "privacy": {
            "protection": ["full", "feature", "label"],
            "neighbours": "replace-one",
            "accounting": ["paper"],
            "gram_share": 0.5,
        },
        "regression": {"joint_projection": True},
    },
    "ours": {"privacy": {"neighbours": "add-remove", "accounting": ["gdp"]}, "regression": {}},
}
# Ours by the relation of the Tukey paper.
REPLACED = "replace-one"
TERMS[REPLACED] = {"privacy": {"neighbours": "replace-one", "accounting": ["gdp"]}, "regression": {}}
# Ours within tight bounds, and with half of the people to train on as a public reference of the others.
TIGHT, PUBLIC = "tight", "public"
TERMS |= dict.fromkeys((TIGHT, PUBLIC), TERMS["ours"])


class TestRows:
    """Sums of test rows that give the errors of any linear fit: there may be many outcomes."""

    __test__ = False  # no test of pytest's

    def __init__(self, X: np.ndarray, Y: np.ndarray, training_mean: np.ndarray) -> None:
        X = np.column_stack([X, np.ones(len(X))])
        self.n_rows, self.gram, self.cross = len(X), X.T @ X, Y @ X
        self.squares = (Y**2).sum(axis=1)
        self.total = ((Y - training_mean[:, np.newaxis]) ** 2).sum(axis=1)

    def errors(self, fit: LinearFit) -> tuple[np.ndarray, np.ndarray]:
        """Return R^2 and mean squared error of the first outcomes, as many as a LinearFit has."""
        count = len(fit.weights)
        weights = np.column_stack([fit.weights, fit.at(np.zeros(fit.weights.shape[1]))])
        residual = self.squares[:count] - 2 * (weights * self.cross[:count]).sum(axis=1)
        residual += (weights @ self.gram * weights).sum(axis=1)
        return 1 - residual / self.total[:count], residual / self.n_rows


def rows_to_test_on(variant_set: VariantSet, size: int, outcomes: Outcomes) -> TestRows:
    """Return the TestRows of a replicate, for variant sets of a size."""
    X = joined_rows(variant_set, size, rows=outcomes.rows, covariates=None, is_selected=~outcomes.is_training)
    Y = outcomes.values[size]
    return TestRows(X, Y[:, ~outcomes.is_training], Y[:, outcomes.is_training].mean(axis=1))


def means(r2: np.ndarray, mse: np.ndarray) -> dict[str, float]:
    """Return the means over outcomes, a dict."""
    return {"r2": r2.mean(), "mse": mse.mean()}


def ridge_path(
    statistics: Any,
    test: dict[int, TestRows],
    *,
    counts: Sequence[int],
    penalties: Sequence[float] = PENALTIES,
) -> Iterator[dict]:
    """Yield the errors of ridge regression without privacy along the path, a dict each."""
    labels = {"method": NON_PRIVATE, "protection": "none", "epsilon": math.nan}
    for size in statistics.cross:
        for penalty in penalties:
            r2, mse = test[size].errors(fit_exactly("ridge", statistics, size, {"lambda": penalty}))
            for count in counts:
                cell = {"n_variants": size, "n_outcomes": count, "penalty": penalty}
                yield labels | cell | means(r2[:count], mse[:count])


def released_path(
    noisy: NoisyStatistics,
    test: dict[int, TestRows],
    *,
    method: str,
    request: PrivacyRequest,
    regression: dict,
    outcomes: np.ndarray | None,
    penalties: Sequence[float] = PENALTIES,
) -> Iterator[dict]:
    """Yield the errors of a method of `MOVES` along the path, a dict each."""
    options = {"request": request, "outcomes": outcomes}
    # Once for the path: a projection of many outcomes takes long.
    moved = MOVES[method](noisy, terms=FitTerms.of(regression), **options)
    cell = {"epsilon": request.epsilon, "n_variants": request.n_variants, "n_outcomes": len(noisy.cross)}
    for penalty in penalties:
        fit = fit_released("reusecov-gauss", moved, terms=FitTerms(penalty), **options)
        labels = {"method": method, "protection": str(request.protection), "penalty": penalty}
        yield labels | cell | means(*test[request.n_variants].errors(fit))


def configuration(
    study_terms: dict,
    *,
    source: str,
    sizes: list[int],
    counts: list[int],
    epsilons: list[float],
    methods: list[str],
    **privacy: Any,
) -> dict:
    """Return the configuration of a study of a source of rows by terms as of `TERMS`, a dict."""
    config = {"cohort": {"source": source}, "methods": methods, "replicates": 1, "variants": {"size": sizes}}
    config |= {
        "outcomes": {"count": counts},
        "regression": {"lambda": FIXED_PENALTY} | study_terms["regression"],
    }
    return config | {"privacy": study_terms["privacy"] | {"epsilon": epsilons} | privacy}


def measure(
    variant_set: VariantSet,
    outcomes: Outcomes,
    *,
    configs: dict[str, dict],
    seed: int,
    key: tuple,
    ld: str | None = None,
) -> list[dict]:
    """Sum, draw, fit and measure as a study does, for each configuration."""
    test = {size: rows_to_test_on(variant_set, size, outcomes) for size in outcomes.values}
    rows = []
    for name, config in configs.items():
        settings = resolve(config)
        data = training_data(settings, variant_set, outcomes, ld=ld)
        if not rows:
            ridge = ridge_path(data.statistics, test, counts=settings.outcomes.count)
            rows += [{"terms": "none", "which": PATH} | row for row in ridge]
        for draw in draws_of_study(settings, data):
            noisy = draw.draw(BenchmarkNoise(seed, *key, name, *draw.key))
            for method in draw.fitted:
                rows += [{"terms": name} | row for row in _fits(draw, method, noisy, test)]
    return rows


def _fits(draw: Any, method: str, noisy: Any, test: dict[int, TestRows]) -> Iterator[dict]:
    """Yield the errors of one method: for ReuseCov along the path, and for Gauss also by the evidence."""
    request, regression, count = draw.request, draw.settings.regression.as_dict(), len(draw.names)
    size, options = request.n_variants, {"request": request, "outcomes": draw.public_outcomes}
    ld = {size: draw.data.ld(size)} if takes_ld([method]) else {}
    fit_terms, which = FitTerms.of(regression, ld=ld), OWN
    if method in MOVES:
        path = released_path(noisy, test, method=method, regression=regression, **options)
        yield from ({"which": PATH} | row for row in path)
        if method != "reusecov-gauss":
            return  # the evidence is of X'Y as it was released, not as it was moved
        fit_terms, which = replace(fit_terms, rule=Penalty.EVIDENCE), EVIDENCE
    fit = fit_released(method, noisy, terms=fit_terms, **options)
    labels = {"method": method, "protection": str(request.protection), "which": which, "penalty": math.nan}
    cell = {"epsilon": request.epsilon, "n_variants": size, "n_outcomes": count}
    yield labels | cell | means(*test[size].errors(fit))


def along_path(rows: pd.DataFrame) -> pd.DataFrame:
    """Average over replicates, at each penalty."""
    grouped = rows.groupby(["part", *LINE, *CELL, "which", "penalty"], dropna=False, sort=False)
    return grouped.agg(r2=("r2", "mean"), error=("r2", "sem"), mse=("mse", "mean")).reset_index()


def best_of_path(rows: pd.DataFrame, *, keeps_fixed: bool = False) -> pd.DataFrame:
    """Average over replicates, and keep the best point of each path."""
    keys, table = ["part", *LINE, *CELL, "which"], along_path(rows)
    is_fixed = np.isclose(table["penalty"], FIXED_PENALTY) & (table["method"] != NON_PRIVATE)
    fixed = table[is_fixed].replace({"which": {PATH: FIXED}})
    best = table.loc[table.groupby(keys, dropna=False, sort=False)["r2"].idxmax()]
    table = best.replace({"which": {PATH: PEEKED}}).reset_index(drop=True)
    if keeps_fixed:
        table = pd.concat([table, fixed], ignore_index=True)
    cell = ["part", "n_variants", "n_outcomes"]
    ridge_mse = table[table["method"] == NON_PRIVATE].set_index(cell)["mse"]
    optimal = ridge_mse.reindex(pd.MultiIndex.from_frame(table[cell])).to_numpy()
    return table.assign(log_ratio=np.log(table["mse"] / optimal))


def summarise(rows: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return R^2 of each method, at the best penalty, at the fixed one and by the evidence."""
    return best_of_path(rows, keeps_fixed=True)
