"""All rows of a few variants, and how far apart their statistics lie: brute force against sensitivities."""

import itertools

import numpy as np

RELATIONS = ["add-remove", "replace-one"]
UNIT_OF_A_ROW = {"haplotypes": "haplotype", "people": "person"}


def all_rows(d, rows):
    if rows == "haplotypes":
        return list(itertools.product([0, 1], repeat=d))
    return [np.ravel(row) for row in itertools.product([(0, 0), (0, 1), (1, 1)], repeat=d)]


def largest_distance(statistics, neighbours):
    statistics = np.array(statistics)
    if neighbours == "add-remove":
        return np.sqrt((statistics**2).sum(axis=1).max())
    differences = statistics[:, np.newaxis] - statistics
    return np.sqrt((differences**2).sum(axis=-1).max())
