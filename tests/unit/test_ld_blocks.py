"""Bounds of LD blocks against exhaustive search, and pruning."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from dpgrs.genotypes import ld_blocks
from dpgrs.genotypes.ld_blocks import crossing_r2, ld_block_bounds, pruned_variants


@pytest.fixture
def dosages():
    """40 people and three stretches of variants in LD, the last variant without variation."""
    rng = np.random.default_rng(5)
    shared = rng.integers(0, 2, size=(40, 3)).repeat([5, 4, 6], axis=1)
    X = shared + rng.integers(0, 2, size=shared.shape)
    X[:, -1] = 1
    return X


def brute_crossing(X, window):
    n, d = X.shape
    with np.errstate(invalid="ignore", divide="ignore"):
        r2 = np.nan_to_num(np.corrcoef(X.T) ** 2) - 1 / n
    pairs = [(a, b) for a, b in combinations(range(d), 2) if b - a <= window]
    return [sum(r2[a, b] for a, b in pairs if a < bound <= b) for bound in range(d + 1)]


@pytest.mark.parametrize(("window", "together"), [(500, 500), (4, 3)])
def test_crossing_r2__sums_pairs_on_both_sides(dosages, window, together, monkeypatch):
    monkeypatch.setattr(ld_blocks, "WINDOW", window)
    monkeypatch.setattr(ld_blocks, "COMPARED_TOGETHER", together)
    np.testing.assert_allclose(
        crossing_r2(dosages), np.maximum(brute_crossing(dosages, window), 0), atol=1e-4
    )


def test_ld_block_bounds__have_the_least_loss(dosages):
    position = np.cumsum(np.arange(15) % 4 + 1)
    loss = crossing_r2(dosages)
    scale = ld_blocks.LENGTH_LOSS * np.median(loss)

    def total(bounds):
        lengths = [(position[stop - 1] - position[start]) / 14 - 1 for start, stop in pairwise(bounds)]
        return sum(loss[bound] for bound in bounds[1:-1]) + scale * sum(x * x for x in lengths)

    inner = [bounds for size in range(15) for bounds in combinations(range(1, 15), size)]
    options = [(0, *bounds, 15) for bounds in inner]
    options = [bounds for bounds in options if all(3 <= b - a <= 8 for a, b in pairwise(bounds))]
    bounds = ld_block_bounds(dosages, position, length=14, fewest=3, most=8)
    assert tuple(bounds) == min(options, key=total)


def test_ld_block_bounds__few_variants_are_one_block_and_regions_stay_whole(dosages):
    position = np.arange(15)
    assert ld_block_bounds(dosages, position).tolist() == [0, 15]
    cut = ld_block_bounds(dosages, position, whole_regions=[(4, 12)], length=3, fewest=2, most=4)
    assert {4, 13} <= set(cut.tolist())
    assert not set(cut.tolist()) & set(range(5, 13))


def test_pruned_variants__exceed_no_limit_and_leave_regions_out(dosages, monkeypatch):
    monkeypatch.setattr(ld_blocks, "COMPARED_TOGETHER", 4)
    kept = pruned_variants(dosages, np.arange(15), r2=0.3, left_out=[(2, 3)])
    r2 = np.corrcoef(dosages[:, kept[:-1]].T) ** 2
    assert r2[np.triu_indices(len(r2), 1)].max() <= 0.3
    assert kept[0] == 0
    assert not set(kept.tolist()) & {2, 3}
