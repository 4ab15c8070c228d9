import re

import numpy as np
import pytest

from dpgrs.io.files import write_table
from dpgrs.reporting.data import read_metrics
from dpgrs.steps.render_release_report import render_release_report
from html_pages import text_of
from refused import refused
from release_data import OUTCOMES, make_statement
from release_report_data import make_data, make_release, write_pages

FIRST, SECOND, THIRD = (f"outcomes/01/outcome_000{number}.html" for number in (1, 2, 3))


def test_pages__charged_accuracy_is_shown_with_its_cost(tmp_path):
    accuracy = {"r2": np.array([0.25, np.nan, -0.5]), "mse": np.array([0.75, np.nan, 1.5])}
    arguments = make_release(tmp_path / "study", outcomes=OUTCOMES, accuracy=accuracy)

    render_release_report(**arguments, processes=1)

    overview = arguments["output"] / "index.html"
    text = text_of(overview)
    assert "at a cost of its own: ε 0.8 at δ 0.000001, for all outcomes together." in text
    assert "Accuracy is withheld" not in text
    cells = r'">file</a></td>\s+<td[^>]*>([^<]*)</td>\s+<td[^>]*>([^<]*)</td>'
    shown = re.findall(cells, overview.read_text())
    assert shown == [("0.250", "0.750"), ("withheld", "withheld"), ("−0.500", "1.500")]
    assert "R2 0.2500 with noise" in text_of(arguments["output"] / FIRST)
    assert "R2 −0.5000 with noise" in text_of(arguments["output"] / THIRD)


@pytest.mark.parametrize("column", ["r2", "mse"])
def test_render_release_report__raise_on_metrics_of_another_release(tmp_path, column):
    """Those of an earlier run, say, that were charged for or measured otherwise."""
    accuracy = {"r2": np.array([0.25, np.nan, -0.5]), "mse": np.array([0.75, np.nan, 1.5])}
    arguments = make_release(tmp_path / "study", outcomes=OUTCOMES, accuracy=accuracy)
    metrics = read_metrics(arguments["metrics"])
    metrics[column] += 0.01
    write_table(arguments["metrics"], metrics)
    with refused("metrics-differ-from-statement", "`metrics`"):
        render_release_report(**arguments, processes=1)
    assert not arguments["output"].exists()


def test_render_release_report__takes_errors_of_more_digits_than_a_table_has(tmp_path):
    """Of public outcomes far from their centre, say."""
    accuracy = {"r2": np.array([0.25, np.nan, -0.5]), "mse": np.array([1 / 3 * 1e12, np.nan, 2 / 3 * 1e17])}
    arguments = make_release(tmp_path / "study", outcomes=OUTCOMES, accuracy=accuracy)
    render_release_report(**arguments, processes=1)
    assert arguments["output"].exists()


def test_pages__accuracy_beyond_what_is_possible_is_shown_at_its_limit(tmp_path):
    accuracy = {"r2": np.array([1.25, 0.5, -0.5]), "mse": np.array([-0.25, 0.5, 1.5])}
    arguments = make_release(tmp_path / "study", outcomes=OUTCOMES, accuracy=accuracy)
    render_release_report(**arguments, processes=1)
    overview = (arguments["output"] / "index.html").read_text()
    cells = r"</a>( \*)?</th>.*?</td>\s+<td[^>]*>([^<]*)</td>\s+<td[^>]*>([^<]*)</td>"
    shown = re.findall(cells, overview, flags=re.S)
    assert shown == [(" *", "1.000", "0.000"), ("", "0.500", "0.500"), ("", "−0.500", "1.500")]
    assert "* Because of noise, the released R² is above 1" in overview
    first, second = (text_of(arguments["output"] / page) for page in (FIRST, SECOND))
    assert "R2 1.2500 with noise" in first
    assert "because of noise. Read R² as 1, the mean squared error as 0." in first
    assert "because of noise" not in second


def test_beyond_possible__numbers_of_people_below_0(tmp_path):
    value = "R^2 0.2000 with noise of standard deviation 0.9000, mean squared error 0.8000 with 0.1000"
    counts = (
        "-3.5 cases with 20.1, 96.0 controls with 30.1",
        "-3.5 cases with 20.1, -6.0 controls with 9.1",
        "",
    )
    stated = [
        {"name": name, "value": f"{value}, 92.5 rows with 8.1, {own}", "cost": "epsilon 1 at delta 0.1"}
        for name, own in zip(OUTCOMES, counts, strict=True)
    ]
    data = make_data(make_statement(tmp_path, accuracy=stated))
    wanted = [["the number of cases as 0"], ["the number of cases as 0", "the number of controls as 0"], []]
    assert [data.beyond_possible(place) for place in range(3)] == wanted


def test_pages__accuracy_on_public_people_says_on_how_many(tmp_path):
    for name, counts in (("same", (60, 60, 60)), ("other", (60, 46, 60))):
        costs = [f"none, measured on {n_people} people of the public reference" for n_people in counts]
        stated = [
            {"name": outcome, "value": "R^2 0.5000", "cost": cost}
            for outcome, cost in zip(OUTCOMES, costs, strict=True)
        ]
        data = make_data(make_statement(tmp_path / name, accuracy=stated))
        write_pages(data, tmp_path / name / "report")
    same, other = (text_of(tmp_path / name / "report" / "index.html") for name in ("same", "other"))
    assert "it was measured on 60 people of the public reference, none of whose" in same
    assert "with a known outcome, as many as the outcome’s page says, none of whose" in other
    page = text_of(tmp_path / "other" / "report" / SECOND)
    assert "R2 0.5000 (cost: none, measured on 46 people of the public reference)" in page


def test_pages__charged_accuracy_without_any_value(tmp_path):
    accuracy = {"r2": np.full(3, np.nan), "mse": np.full(3, np.nan)}
    arguments = make_release(tmp_path / "study", outcomes=OUTCOMES, accuracy=accuracy)

    render_release_report(**arguments, processes=1)

    text = text_of(arguments["output"] / "index.html")
    assert "none was spent on it" not in text
    assert "ε 0.8" in text
