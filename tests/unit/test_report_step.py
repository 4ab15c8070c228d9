from pathlib import Path
from types import SimpleNamespace

from dpgrs.errors import UsageError
from dpgrs.reporting.rendering import write_report
from dpgrs.steps.render_report import render_report
from html_pages import contents
from refused import refused
from step_settings import settings_for


def test_write_report__takes_the_place_of_a_report_and_of_nothing_else(tmp_path):
    report = tmp_path / "report"
    overview = SimpleNamespace(
        write_overview=lambda data, folder, figures: (folder / "index.html").write_text("new"),
        outcome_writer=None,
    )
    for name in ("outcomes/01/outcome_0009.html", "index.html", ".snakemake_timestamp"):
        (report / name).parent.mkdir(parents=True, exist_ok=True)
        (report / name).write_text("old")
    write_report(overview, SimpleNamespace(outcomes=()), report, processes=1)
    assert contents(report) == {Path("index.html"): b"new"}
    (report / "thesis.txt").write_text("years of work")
    with refused("foreign-file-in-folder", "thesis.txt", error=UsageError):
        write_report(overview, SimpleNamespace(outcomes=()), report, processes=1)
    assert (report / "thesis.txt").exists()


def test_render_report__raise_on_a_release(tmp_path):
    settings = settings_for("render-report", mode="release")
    absent = dict.fromkeys(
        ("metrics", "population_metrics", "measures", "variant_set", "outcomes", "statistics", "weights"),
        tmp_path / "absent",
    )
    with refused("exact-pages-of-release", "`mode`", error=UsageError):
        render_report(settings, **absent, output=tmp_path / "report")
