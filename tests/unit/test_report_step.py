from pathlib import Path
from types import SimpleNamespace

import pytest

from dpgrs.errors import UsageError
from dpgrs.steps.report import render_report, write_report
from html_pages import contents


def test_write_report__takes_the_place_of_a_report_and_of_nothing_else(tmp_path):
    report = tmp_path / "report"
    overview = SimpleNamespace(
        write_overview=lambda data, folder: (folder / "index.html").write_text("new"),
        write_outcome_pages=None,
    )
    for name in ("outcomes/01/outcome_0009.html", "index.html", ".snakemake_timestamp"):
        (report / name).parent.mkdir(parents=True, exist_ok=True)
        (report / name).write_text("old")
    write_report(overview, SimpleNamespace(outcomes=()), report, processes=1)
    assert contents(report) == {Path("index.html"): b"new"}
    (report / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match=r"must hold a report and nothing else, got thesis\.txt\."):
        write_report(overview, SimpleNamespace(outcomes=()), report, processes=1)
    assert (report / "thesis.txt").exists()


def test_render_report__raise_on_a_release(tmp_path):
    (tmp_path / "settings.json").write_text('{"mode": "release"}')
    absent = dict.fromkeys(
        ("metrics", "population_metrics", "panel", "outcomes", "statistics", "weights"), tmp_path / "absent"
    )
    with pytest.raises(
        UsageError, match="`mode` must be benchmark for pages with exact figures, got release"
    ):
        render_report(**absent, settings=tmp_path / "settings.json", output=tmp_path / "report", processes=1)
