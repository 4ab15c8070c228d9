"""Data of the Tukey paper's experiments: its synthetic set, two of its sets from OpenML's, and six others."""

import math

import numpy as np

from dpgrs_papers.tabular.feature_tables import read_feature_table

EPSILON, DELTA = math.log(3), 1e-5
# Of the check and of the draw: the paper has no count.
BUDGET = EPSILON / 2
TEST_SHARE = 0.1  # of rows to measure on alone
LARGEST_WEIGHT, NOISE = 100.0, 10.0
SYNTHETIC_ROWS, SYNTHETIC_FEATURES = 22_000, 10
# Labels that are coded in order of the alphabet, and the ranks that the paper gives them.
RANKS = {
    "cut": (1, 2, 5, 4, 3),
    "color": (7, 6, 5, 4, 3, 2, 1),
    "clarity": (1, 8, 3, 2, 5, 4, 7, 6),
}
ONE_HOT = {
    "diamonds": ("cut", "color", "clarity"),
    "Bike_Sharing_Demand": ("season", "year", "holiday", "workingday", "weather"),
    "house_sales": ("waterfront", "date_year"),
}


def synthetic_rows(rng, n_rows, n_features):
    """Draw normal features and outcomes of uniform weights, as the paper does.

    Parameters
    ----------
    rng : numpy.random.Generator
    n_rows, n_features : int

    Returns
    -------
    X : (n_rows, n_features), y : (n_rows,) float64
    """
    X, weights = rng.standard_normal((n_rows, n_features)), LARGEST_WEIGHT * rng.random(n_features)
    return X, X @ weights + NOISE * rng.standard_normal(n_rows)


def read_part(part, files, rng):
    """Read a set of the experiments, with an intercept last.

    Parameters
    ----------
    part : str, `synthetic`; `california`, which is OpenML's houses with prices, not their logarithms, and
        `diamonds, ranked`, likewise with ranks for labels, as in the paper; or the name of an OpenML set.
    files : list of the table, none of `synthetic`.
    rng : numpy.random.Generator, for `synthetic`.

    Returns
    -------
    X : (n_rows, d), y : (n_rows,) float64
    """
    if part == "synthetic":
        X, y = synthetic_rows(rng, SYNTHETIC_ROWS, SYNTHETIC_FEATURES)
    else:
        table = read_feature_table(files[0], one_hot=ONE_HOT.get(part, ()))
        X, y = table.X, table.y
        if part == "diamonds-ranked":
            for name, ranks in RANKS.items():
                j = table.features.index(name)
                X[:, j] = np.array(ranks)[X[:, j].astype(int)]
        if part in {"california", "diamonds-ranked"}:
            y = np.exp(y)
    return np.column_stack([X, np.ones(len(y))]), y
