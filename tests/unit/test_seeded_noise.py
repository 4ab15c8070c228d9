"""Noise of benchmarks is drawn some entries at a time."""

import numpy as np
import pytest

from dpgrs.privacy.noise import sources
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.privacy.sensitivity import Sensitivity

EXACT = np.arange(60, dtype=np.int64).reshape(6, 10)[:, :-1]


def drawn(family, exact):
    claim = Sensitivity(2.0, {"gaussian": "l2", "laplace": "l1"}[family], "add-remove", "person", "gram/1")
    share = {"gaussian": {"mu": 0.5}, "laplace": {"epsilon": 0.5}}[family]
    return getattr(BenchmarkNoise(1), family)(exact, name="gram", step=0.25, sensitivity=claim, **share)[0]


@pytest.mark.parametrize("n_together", [1, 7, 100])
@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_seeded__parts_and_order_in_memory_change_no_byte(monkeypatch, family, n_together):
    """Each entry has noise: the same draws in the same order."""
    wanted = drawn(family, np.ascontiguousarray(EXACT))
    monkeypatch.setattr(sources, "SEEDED_BLOCK", n_together)
    for own in (EXACT, np.asfortranarray(EXACT)):
        np.testing.assert_array_equal(drawn(family, own), wanted)
    assert (wanted != EXACT).mean() > 0.5
    np.testing.assert_array_equal(EXACT.base.ravel(), np.arange(60))
