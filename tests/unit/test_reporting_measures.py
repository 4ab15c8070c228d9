from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpgrs.evaluation.binary_metrics import NO_PREVALENCE, binary_measures, quantitative_measures
from dpgrs.evaluation.metrics import MEASURES
from dpgrs.reporting.outcome_measures import RELEASED_MEASURES, calibration_figure
from dpgrs.reporting.pages import outcome_writer
from html_pages import text_of
from report_data import ONE_DESIGN, make_report_data


@pytest.fixture(scope="module")
def data():
    return make_report_data(**ONE_DESIGN, is_simulated=False)


def with_measures(data, *, prevalence):
    """Return the data with measures of a 0/1 outcome, then quantitative ones; and those of the first."""
    rng = np.random.default_rng(0)
    score, noise = rng.standard_normal((2, 400))
    y = (score + noise > 1).astype(float)
    found = binary_measures(y, score, risk=0.3 + 0.1 * score, prevalence=prevalence)
    of_outcomes = dict.fromkeys(data.outcomes, quantitative_measures(score + noise, score))
    of_outcomes[data.outcomes[0]] = found
    fits = data.metrics.drop_duplicates(["method", "protection", "accounting", "epsilon"])
    lines = [
        row | {"outcome": outcome} | one._asdict()
        for row in fits.to_dict("records")
        for outcome, own in of_outcomes.items()
        for one in own
    ]
    return replace(data, measures=pd.DataFrame(lines)[MEASURES]), {one.measure: one for one in found}


def pages_of(data, folder, *, figures=None):
    outcome_writer(data, figures=figures)(1, 2, folder)
    return [text_of(folder / f"outcome_000{number}.html") for number in (1, 2)]


def test_outcome_page__shows_measures_of_a_binary_outcome_with_intervals(data, tmp_path):
    measured, found = with_measures(data, prevalence=0.2)
    page, _ = pages_of(measured, tmp_path, figures=tmp_path / "figures")
    for name, digits in (("auc", 3), ("r2_liability", 3), ("nagelkerke_added", 3), ("or_top_tenth", 2)):
        one = found[name]
        assert f"{one.value:.{digits}f} {one.low:.{digits}f}–{one.high:.{digits}f}" in page
    assert f"On 400 people that were not trained on, {found['cases'].value:.0f} of them cases" in page
    assert "withheld" not in page
    assert " nan" not in page
    assert [path.name for path in (tmp_path / "figures/Outcomes").glob("*calibration*")] == [
        "outcome_0001_calibration.svg"
    ]


def test_outcome_page__says_why_the_liability_scale_is_withheld(data, tmp_path):
    measured, _ = with_measures(data, prevalence=None)
    assert f"r², liability: {NO_PREVALENCE}." in pages_of(measured, tmp_path)[0]


def test_outcome_page__of_a_quantitative_outcome_shows_r2_alone(data, tmp_path):
    measured, _ = with_measures(data, prevalence=0.2)
    _, page = pages_of(measured, tmp_path)
    assert "the squared correlation of score and outcome" in page
    # One R^2 on a page: what has intervals is another number, and has another name.
    _, intervals = page.split("Accuracy with intervals")
    assert "Method Squared correlation (r²) " in intervals
    assert "1 − RSS/TSS" in page
    assert "AUC" not in page
    assert "Calibration." not in page


def test_outcome_page__without_measures_has_no_such_section(data, tmp_path):
    assert not any("Accuracy with intervals" in page for page in pages_of(data, tmp_path))


def test_calibration_figure__holds_every_point_and_its_interval():
    curve = np.array([[0.1, 0.2, 0.15, 0.3], [0.4, 0.5, 0.4, 0.6]])
    drawn = calibration_figure({"one": curve, "none": np.empty((0, 4))}, ["#123456", "#654321"]).svg()
    # A legend and its edge, two intervals in a path, two points in a group.
    assert drawn.count("#123456") == 4
    assert "#654321" not in drawn
    assert ">one<" in drawn
    assert ">none<" not in drawn


@pytest.mark.parametrize(("said", "units"), [("simulated", "haplotypes"), ("from a table", "people")])
def test_released_measures__are_of_the_released_weights(data, said, units):
    measured, found = with_measures(data, prevalence=0.2)
    ols = measured.measures[measured.measures["method"] == "ols"]
    statement = {"public_inputs": [{"name": "people measured on, with their outcomes", "value": said}]}
    statement["guarantee"] = {"rows": "haplotypes"}
    released = SimpleNamespace(
        measures=ols, outcomes=data.outcomes, covariates=None, statement=statement, accuracy=None
    )
    context = RELEASED_MEASURES.context(released)
    ((fit, cells),) = context(0)["rows"]
    assert fit.brief == "Released weights"
    assert cells[0][:3] == pytest.approx(found["auc"][1:4])
    assert (context(0)["n"], context(0)["units"]) == (400, units)
    assert (context(1)["is_binary"], context(1)["figures"]) == (False, {})
    assert RELEASED_MEASURES.context(SimpleNamespace(measures=None)) is None
