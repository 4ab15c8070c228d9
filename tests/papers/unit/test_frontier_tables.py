"""Table and figure of the frontier."""

import pandas as pd
import pytest

from dpgrs_papers.experiments.frontier_tables import (
    LAST_VERSION,
    draw,
    in_markdown,
    lines_of_paper,
    mean_r2,
    paper_in_markdown,
)

CELL = {"epsilon": 1.0, "n_variants": 400, "n_outcomes": 10}


@pytest.fixture
def paper():
    """Two cases by the paper, of which the best penalty differs."""
    terms = {"terms": "paper", "method": "reusecov-gauss", "protection": "full", "which": "path", "mse": 1.0}
    tables = [
        pd.DataFrame(
            [
                CELL | terms | {"penalty": penalty, "r2": r2}
                for penalty, r2 in ((0.1, -990.0), (1.0, first), (10.0, second))
            ]
            + [
                CELL
                | terms
                | {"terms": "none", "method": "ridge", "protection": "none", "epsilon": None}
                | {"penalty": 0.01, "r2": 0.47}
            ]
        )
        for first, second in ((0.03, 0.02), (0.01, 0.06))
    ]
    return lines_of_paper([one.assign(case=f"paper-{place}") for place, one in enumerate(tables)])


def test_lines_of_paper__take_one_penalty_for_all_cases(paper):
    gauss = paper[paper["method"] == "reusecov-gauss"].set_index("which")["r2"]
    # Not 0.045, the mean of each case's own best.
    assert gauss["peeked"] == pytest.approx(0.04)
    assert gauss["fixed"] == -990
    assert lines_of_paper([]).empty


def test_paper_in_markdown__has_a_line_for_each_way_to_a_penalty(paper):
    assert list(paper_in_markdown(paper)) == [
        "| by the paper | 1, 400, 10 |",
        "| --- | --- |",
        "| ReuseCovGauss, best lambda (peeked), the paper's terms | 0.040 |",
        "| ReuseCovGauss, lambda 0.1, the paper's terms | -990 |",
        "| Ridge, best lambda (peeked), not private | 0.470 |",
    ]


def test_in_markdown__means_over_cases_beside_the_reference():
    rows = [
        CELL | {"group": "matched", "case": f"matched-{seed}", "method": "blup", "r2": seed / 10}
        for seed in (1, 1, 3)
    ]
    table = mean_r2([pd.DataFrame(rows[:2]), pd.DataFrame(rows[2:])])
    reference = pd.DataFrame([CELL | {"group": "matched", "r2": "blup .207"}])
    assert list(in_markdown(table, reference))[2:] == ["| matched | 1, 400, 10 | 0.200 ± 0.100 | blup .207 |"]


def test_draw__tells_what_is_below_the_figure(paper, tmp_path):
    rows = [
        CELL | {"group": group, "case": f"{group}-1", "method": "blup", "n_outcomes": count, "r2": r2}
        for group, count, r2 in (("matched", 1, 0.3), ("matched", 10, 0.2), (LAST_VERSION, 1, 0.25))
    ]
    path = tmp_path / "figure.png"
    figure = draw(mean_r2([pd.DataFrame([row]) for row in rows]), paper, path)
    assert path.read_bytes().startswith(b"\x89PNG")
    (axis,) = figure.axes
    assert [text.get_text() for text in axis.texts] == ["-990"]
    lines = {line.get_label(): list(line.get_ydata()) for line in axis.lines}
    assert lines["blup: no panel, the default of a release"] == [0.3, 0.2]
    assert lines["PRIMO: Gauss, best lambda (peeked)"] == pytest.approx([0.04])
