"""Data of the Tukey paper's experiments: its synthetic set, two of its sets from OpenML's, and six others."""

import math
from pathlib import Path

import numpy as np
from numpy.random import Generator

from dpgrs_papers.tabular.feature_tables import read_feature_table

EPSILON, DELTA = math.log(3), 1e-5
# The check and the draw have half each: the paper has no count.
BUDGET = EPSILON / 2
TEST_SHARE = 0.1  # of rows that are only measured on
LARGEST_WEIGHT, NOISE = 100.0, 10.0
SYNTHETIC_ROWS, SYNTHETIC_FEATURES = 22_000, 10
# Labels that are coded in order of the alphabet, and the ranks that the paper gives them.
RANKS = {"cut": (1, 2, 5, 4, 3), "color": (7, 6, 5, 4, 3, 2, 1), "clarity": (1, 8, 3, 2, 5, 4, 7, 6)}
ONE_HOT = {
    "diamonds": ("cut", "color", "clarity"),
    "Bike_Sharing_Demand": ("season", "year", "holiday", "workingday", "weather"),
    "house_sales": ("waterfront", "date_year"),
}


def synthetic_rows(rng: Generator, n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw normal features and outcomes of uniform weights, as the paper does."""
    X, weights = rng.standard_normal((n_rows, n_features)), LARGEST_WEIGHT * rng.random(n_features)
    return X, X @ weights + NOISE * rng.standard_normal(n_rows)


def read_dataset(dataset: str, files: list[Path], rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """Read the rows of a data set, an intercept last, and their outcomes.

    `synthetic` is drawn. `california` is OpenML's houses with prices, not their logarithms, and
    `diamonds-ranked` its diamonds likewise, with ranks for labels as in the paper; others are OpenML's own.
    """
    if dataset == "synthetic":
        X, y = synthetic_rows(rng, SYNTHETIC_ROWS, SYNTHETIC_FEATURES)
    else:
        table = read_feature_table(files[0], one_hot=ONE_HOT.get(dataset, ()))
        X, y = table.X, table.y
        if dataset == "diamonds-ranked":
            for name, ranks in RANKS.items():
                j = table.features.index(name)
                X[:, j] = np.array(ranks)[X[:, j].astype(int)]
        if dataset in {"california", "diamonds-ranked"}:
            y = np.exp(y)
    return np.column_stack([X, np.ones(len(y))]), y
