"""Deep points by their exact law; a test by chi-square fails for one honest sampler in a million."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from depth_laws import SETS, grid_points, law
from dpgrs.privacy.noise.depth_sampler import certified_deep_point
from dpgrs.privacy.noise.stream import KeyStream

FAILURE = 1e-6


@pytest.mark.parametrize("models", SETS.values(), ids=SETS)
@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(7, 10)])
def test_certified_deep_point__has_the_exact_law(models, rate):
    points = grid_points(models)
    expected = 20_000 * law(models, points, np.ones(len(points)), rate=float(rate))
    stream, place = KeyStream(bytes(32), b"law"), {tuple(point): i for i, point in enumerate(points.tolist())}
    counts = np.zeros(len(points))
    for _ in range(20_000):
        counts[place[tuple(certified_deep_point(stream, models, rate=rate))]] += 1
    is_possible = expected > 0
    assert counts[~is_possible].sum() == 0
    statistic = ((counts - expected)[is_possible] ** 2 / expected[is_possible]).sum()
    assert expected[is_possible].min() > 20
    assert statistic < chi2.isf(FAILURE, max(is_possible.sum() - 1, 1))
