"""Depth among models on a grid by its definition, and the exact laws of points by their depth."""

from itertools import product

import numpy as np

RNG = np.random.default_rng(3)
ODD = RNG.integers(-3, 4, (9, 2)).astype(float)
EVEN = RNG.integers(-2, 3, (8, 3)).astype(float)
SETS = {"9 in 2": ODD, "8 in 3": EVEN, "equal": np.full((8, 2), 5.0)}


def depth(points, models):
    """Count the models on the emptier side of points, in the coordinate where they are fewest, up to half.

    Parameters
    ----------
    points : (n_points, d)
    models : (n_models, d)

    Returns
    -------
    (n_points,) int64, 0 outside of the models.
    """
    below = [(points[:, np.newaxis, j] >= models[:, j]).sum(axis=1) for j in range(models.shape[1])]
    above = [(points[:, np.newaxis, j] <= models[:, j]).sum(axis=1) for j in range(models.shape[1])]
    return np.minimum(np.min([*below, *above], axis=0), len(models) // 2)


def grid_points(models):
    """Return all points of the grid between the models, (n_points, d) int64."""
    ends = zip(models.min(axis=0).astype(int), models.max(axis=0).astype(int), strict=True)
    return np.array(list(product(*(range(low, high + 1) for low, high in ends))))


def line_classes(*all_models):
    """Return where models of one coordinate cut the grid: the points and the gaps between.

    Returns
    -------
    places : (n_classes, 1) a point of each class, of which all have the same depth.
    sizes : (n_classes,) how many points it has.
    """
    edges = np.unique(np.concatenate([models[:, 0] for models in all_models]))
    gaps = np.diff(edges) - 1
    places, sizes = np.r_[edges, (edges[:-1] + 1)[gaps > 0]], np.r_[np.ones(len(edges)), gaps[gaps > 0]]
    return places[:, np.newaxis], sizes


def law(models, places, sizes, *, rate):
    """Return the probability of each class of points to be drawn."""
    depths = depth(places, models)
    weights = np.where(depths >= len(models) // 4, sizes * np.exp(rate * (depths - depths.max())), 0.0)
    return weights / weights.sum()
