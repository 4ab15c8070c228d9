"""The methods of the Tukey paper on one split of one table: ours, and those that it runs without privacy."""

import math
from pathlib import Path

import numpy as np
from numpy.random import Generator

from dpgrs.evaluation.metrics import r_squared
from dpgrs.methods.adassp import CAUTION, FAILURE
from dpgrs.methods.chosen_exactly import least_squares
from dpgrs.privacy.accounting.accountant import split_budget
from dpgrs.privacy.digests import data_digest
from dpgrs.privacy.noise.depth_sampler import DepthRegions
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.public_random import generator
from dpgrs.types import Accounting, Neighbours, Unit
from dpgrs_papers.experiments.tukey_data import BUDGET, DELTA, EPSILON, TEST_SHARE, read_dataset
from dpgrs_papers.methods.boosted_adassp import BoostedRequest, clip_rows, private_boosted_adassp
from dpgrs_papers.methods.tukey import TukeyRequest, models_of_groups, private_deep_point
from dpgrs_papers.methods.tukey_check import largest_safe_step, safety_terms
from dpgrs_papers.methods.tukey_models import fit_models, models_on_grid
from dpgrs_papers.types import DepthCheck

# The number of models is public, so that nothing is spent on it, as in the paper.
REQUEST = TukeyRequest(
    epsilon=EPSILON, delta=DELTA, neighbours=Neighbours.REPLACE_ONE, rows_per_coefficient=1.0
)
OURS, PUBLISHED, OLS = "tukey", "tukey, as published", "least squares"
ADASSP, BOOSTED = "adassp", "boosted adassp"
# Rows of norm 1 and outcomes of at most 1 lie on it; sums of fewer than 2^19 rows are exact in float64.
ROW_STEP = 2.0**-16


def run_replicate(dataset: str, replicate: int, settings: dict, files: list[Path]) -> list[dict]:
    """Fit all methods on nine tenths of the rows; measure on these, and on the others."""
    rng = generator(settings["seed"], "tukey models", dataset, replicate)
    X, y = read_dataset(dataset, files, rng)
    order = rng.permutation(len(y))
    n_test = round(TEST_SHARE * len(y))
    test, training = order[:n_test], order[n_test:]
    noise = BenchmarkNoise(settings["seed"], "tukey models", dataset, replicate)
    size = {"n": len(y), "d": X.shape[1]}
    rows = []

    def measure(method: str, n_models: int, weights: np.ndarray | None, *, clips_rows: bool = False) -> None:
        keys = size | {"method": method, "models": n_models, "is_released": weights is not None}
        for name, side in (("r2_training", training), ("r2_test", test)):
            features = clip_rows(X[side]) if clips_rows else X[side]
            keys[name] = -np.inf if weights is None else _r2(y[side], features @ weights, y[training].mean())
        rows.append(keys)

    A, b = X[training], y[training]
    measure(OLS, 0, least_squares(A, b))
    measure(ADASSP, 0, adassp_of_data_bounds(A, b, noise=noise))
    boosted_request = BoostedRequest(epsilon=EPSILON, delta=DELTA, neighbours=Neighbours.REPLACE_ONE)
    boosted = private_boosted_adassp(A, b, request=boosted_request, noise=noise)
    measure(BOOSTED, 0, boosted.weights, clips_rows=True)
    for n_models in settings["models"]:
        if n_models * X.shape[1] > len(b):
            continue
        model_noise = noise.of(f"{n_models} models").on(data_digest(A, b))
        models = models_of_groups(A, b, n_models=n_models, request=REQUEST, noise=model_noise)
        fit = private_deep_point(models, epsilon=EPSILON, request=REQUEST, noise=model_noise)
        measure(OURS, n_models, fit.weights)
        groups = generator(settings["seed"], "equal groups", dataset, replicate, n_models)
        published = published_tukey(A, b, n_models=n_models, request=REQUEST, rng=groups, noise=model_noise)
        measure(PUBLISHED, n_models, published)
    return rows


def _r2(y: np.ndarray, prediction: np.ndarray, mean: float) -> float:
    return float(r_squared(y[np.newaxis], prediction[np.newaxis], training_mean=np.array([mean]))[0])


def published_tukey(
    X: np.ndarray,
    y: np.ndarray,
    *,
    n_models: int,
    request: TukeyRequest,
    rng: Generator,
    noise: BenchmarkNoise,
) -> np.ndarray | None:
    """Fit by the recipe of the Tukey paper, which is not private as it claims (docs/explanation/tukey.md).

    None if the check fails.
    """
    size = len(y) // n_models
    order = rng.permutation(len(y))[: size * n_models]
    models = fit_models(X[order], y[order], np.arange(len(order)) // size, n_models=n_models)
    models = models_on_grid(models, request.step)
    rate, limit = safety_terms(BUDGET, DELTA)
    regions = DepthRegions(models)
    noisy, _ = noise.laplace(
        np.int64(largest_safe_step(regions, rate=rate, limit=limit, check=DepthCheck.ORIGINAL)),
        name="safe step, as published",
        step=1.0,
        sensitivity=request.sensitivity("l1"),
        epsilon=BUDGET,
    )
    # The draw takes its epsilon/2 for the rate.
    point, _ = noise.deep_point(
        models,
        name="deep point, as published",
        sensitivity=request.sensitivity("linf"),
        epsilon=2 * BUDGET,
        delta=DELTA,
        is_safe=bool(noisy > math.log(1 / (2 * DELTA)) / BUDGET),
    )
    return None if point is None else np.array([float(coordinate) for coordinate in point]) * request.step


def adassp_of_data_bounds(X: np.ndarray, y: np.ndarray, *, noise: BenchmarkNoise) -> np.ndarray:
    """Fit by AdaSSP (Wang 2018) with the largest norm and outcome of the data as bounds, as the paper."""
    norm, largest = np.linalg.norm(X, axis=1).max(), np.abs(y).max()
    A, b = np.trunc(X / norm / ROW_STEP), np.trunc(y / largest / ROW_STEP)
    gram, cross, unit = A.T @ A, A.T @ b, ROW_STEP**2
    shares = split_budget(EPSILON, DELTA, shares=(1 / 3,) * 3, accounting=Accounting.GDP)

    def noisy(exact: np.ndarray, name: str, mu: float) -> tuple[np.ndarray, float]:
        bound = Sensitivity(1.0, "l2", Neighbours.ADD_REMOVE, Unit.PERSON, "gram/1")
        noisy_steps, event = noise.gaussian(
            exact.astype(np.int64), name=name, step=unit, sensitivity=bound, mu=mu
        )
        return noisy_steps * unit, event.sigma

    d, upper = X.shape[1], np.triu_indices(X.shape[1])
    smallest = np.maximum(np.linalg.eigvalsh(gram)[:1], 0)
    (eigenvalue, spread), (entries, sigma), (products, _) = (
        noisy(*draw_arguments)
        for draw_arguments in zip(
            (smallest, gram[upper], cross), ("eigenvalue", "gram", "cross"), shares, strict=True
        )
    )
    released = np.zeros((d, d))
    released[upper] = entries
    released += np.triu(released, 1).T
    lowered = max(0.0, float(eigenvalue[0]) - CAUTION * spread)
    penalty = max(0.0, math.sqrt(d * math.log(2 * d**2 / FAILURE)) * sigma - lowered)
    return np.linalg.pinv(released + penalty * np.eye(d)) @ products * largest / norm
