"""What pages say that components carry of an outcome."""

from types import SimpleNamespace

import numpy as np

from dpgrs.reporting import pages, release_pages
from dpgrs.reporting.loadings import CARRIED


def test_carried__names_its_own_share_and_the_least():
    data = SimpleNamespace(loadings=np.array([[0.6, 0.8], [0.5, 0.0]]), outcomes=("height", "bmi"))
    shown = CARRIED.context(data)
    known = {"n_components": 2, "least": 0.25, "worst": "bmi"}
    assert [shown(outcome) for outcome in (0, 1)] == [known | {"share": 1.0}, known | {"share": 0.25}]


def test_carried__is_not_there_without_loadings():
    assert CARRIED.context(SimpleNamespace(loadings=None)) is None
    assert CARRIED in pages.OF_OUTCOME
    assert CARRIED in release_pages.OF_OUTCOME
