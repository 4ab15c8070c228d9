import re

import numpy as np

from dpgrs.steps.render_release_report import render_release_report
from html_pages import text_of
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
    assert "it was measured on 60 people of the public reference, none of whom" in same
    assert "with a known outcome, as many as the outcome’s page says, none of whom" in other
    page = text_of(tmp_path / "other" / "report" / SECOND)
    assert "R2 0.5000 (cost: none, measured on 46 people of the public reference)" in page


def test_pages__charged_accuracy_without_any_value(tmp_path):
    accuracy = {"r2": np.full(3, np.nan), "mse": np.full(3, np.nan)}
    arguments = make_release(tmp_path / "study", outcomes=OUTCOMES, accuracy=accuracy)

    render_release_report(**arguments, processes=1)

    text = text_of(arguments["output"] / "index.html")
    assert "none was spent on it" not in text
    assert "ε 0.8" in text
