"""What pages say of components that were drawn in place of outcomes, and how much of each they carry."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from dpgrs.reporting import release_pages
from dpgrs.reporting.outcome_measures import CARRIED
from dpgrs.reporting.pages import outcome_writer, write_overview
from html_pages import text_of
from report_data import make_report_data


def test_carried__names_its_own_share_and_the_least():
    data = SimpleNamespace(loadings=np.array([[0.6, 0.8], [0.5, 0.0]]), outcomes=("height", "bmi"))
    shown = CARRIED.context(data)
    known = {"n_components": 2, "least": 0.25, "worst": "bmi"}
    assert [shown(outcome) for outcome in (0, 1)] == [known | {"share": 1.0}, known | {"share": 0.25}]
    assert CARRIED.context(SimpleNamespace(loadings=None)) is None
    assert CARRIED in release_pages.OF_OUTCOME


def test_write_overview__says_that_components_were_drawn(tmp_path):
    data = make_report_data(n_outcomes=3)
    data = replace(data, study=replace(data.study, bounds="tight"))
    for loadings in (None, np.array([[0.9], [0.8], [0.3]])):
        own = replace(data, loadings=loadings)
        write_overview(own, tmp_path)
        outcome_writer(own)(1, 3, tmp_path / "outcomes" / "01")
        overview, page = text_of(tmp_path / "index.html"), text_of(tmp_path / "outcomes/01/outcome_0002.html")
        is_said = loadings is not None
        assert ("What is drawn for private fits is 1 component of the outcomes" in overview) == is_said
        assert ("the names of the outcomes, their loadings on components, the bound" in overview) == is_said
        assert ("they carry 64 % of the variance of this outcome" in page) == is_said
