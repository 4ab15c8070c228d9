import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from audit_data import make_audit
from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import table_text, write_table
from dpgrs.reporting.release_data import terms_rows
from dpgrs.reporting.release_pages import outcome_writer, write_overview
from dpgrs.statement.content import Total
from dpgrs.statement.text import budget_in_words
from dpgrs.steps.render_release_report import _scales, render_release_report
from html_pages import Page, contents, text_of
from refused import refused
from release_data import CURATION, SITES, TRAITS, make_statement, make_terms
from release_report_data import EXACT_COUNT, SAMPLE_ID, make_data, make_release, write_pages
from report_data import NASTY_NAME

OUTCOMES = ("height", NASTY_NAME, "LDL/HDL = ratio")
FIRST = "outcomes/01/outcome_0001.html"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The arguments of a rendered release."""
    arguments = make_release(tmp_path_factory.mktemp("release") / "study", outcomes=OUTCOMES)
    render_release_report(**arguments, processes=2)
    return arguments


@pytest.fixture(scope="module")
def report(study):
    return study["output"]


@pytest.fixture
def spoiled(study, tmp_path):
    """The arguments for a copy of the release, without pages, for a test to spoil."""
    folder = shutil.copytree(
        study["output"].parent, tmp_path / "copy", ignore=shutil.ignore_patterns("report")
    )
    return {name: folder / path.relative_to(study["output"].parent) for name, path in study.items()}


def facts(page):
    return dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", page.read_text()))


def test_render__needs_nothing_private(study, report):
    assert {path.name for path in report.parent.iterdir()} >= {"release", "public", "metrics.tsv", "report"}
    assert not (report.parent / "private").exists()
    pages = {f"outcomes/01/outcome_000{i}.html" for i in (1, 2, 3)}
    names = {path.as_posix() for path in contents(report)}
    assert names == {"index.html", "assets/report.css", "assets/report.js"} | pages


def test_render__pages_do_not_depend_on_processes(study, report, spoiled):
    render_release_report(**spoiled, processes=1)
    assert contents(spoiled["output"]) == contents(report)


def test_pages__hold_nothing_that_was_planted(study, report):
    inputs = study["sites"].read_text() + study["metrics"].read_text()
    pages = "".join(path.read_text() for path in report.rglob("*.html"))
    for planted in (SAMPLE_ID, str(EXACT_COUNT)):
        assert planted in inputs
        assert planted not in pages
    assert f"{EXACT_COUNT:,}" not in pages


def test_pages__hold_no_trace_of_the_machine(study, report):
    pages = "".join(path.read_text() for path in report.rglob("*.html"))
    assert str(report.parent) not in pages
    assert "secret-host" not in pages
    assert set(re.findall(r"https?://[^\"'/]+", pages)) <= {"http://www.w3.org"}


def test_pages__are_of_a_release_and_show_no_benchmark(report):
    for path in report.rglob("*.html"):
        text = text_of(path)
        assert text.count("Made to be published") == 1
        for word in ("benchmark", "not private", "attack", "True effects", "orrelation", "population"):
            assert word not in text.replace("Facts about the population", "")


def test_pages__say_that_accuracy_is_withheld_and_why(report):
    sentence = "Accuracy is withheld: measuring it on private people would cost privacy"
    # Said once; the page of an outcome leads there.
    assert [path.name for path in report.rglob("*.html") if sentence in text_of(path)] == ["index.html"]
    for path in report.glob("outcomes/*/*.html"):
        assert "Withheld. Why it is withheld" in text_of(path)
        assert "../../index.html#accuracy" in Page(path).values("href")
    cells = re.findall(
        r'<td class="number" data-value="([^"]*)">withheld</td>', (report / "index.html").read_text()
    )
    assert cells == [""] * 3


def test_pages__links_lead_into_the_report_or_the_release(study, report):
    reached = set()
    for path in report.rglob("*.html"):
        page = Page(path)
        for link in page.values("href") + page.values("src"):
            target, _, fragment = link.partition("#")
            if target == "data:,":
                continue
            file = (path.parent / target).resolve() if target else path
            assert file.is_file(), link
            assert file.is_relative_to(report) or file.is_relative_to(study["bundle"])
            assert not fragment or fragment in Page(file).values("id")
            reached.add(file)
    assert reached >= {path for path in study["bundle"].rglob("*") if path.is_file()}


def test_pages__names_are_escaped_and_ids_unique(report):
    for path in report.rglob("*.html"):
        page = Page(path)
        assert "<script>alert" not in path.read_text()
        assert len(set(page.values("id"))) == len(page.values("id"))
    assert NASTY_NAME in Page(report / "outcomes/01/outcome_0002.html").text


def test_overview__facts_are_released_ones(report):
    shown = facts(report / "index.html")
    assert shown["Rows, with noise"] == "5,008"
    assert (shown["Outcomes"], shown["Variants"], shown["Genome build"]) == ("3", "8", "GRCh38")
    assert (shown["ε"], shown["δ"], shown["Unit"]) == ("1", "10⁻⁶", "haplotype")
    assert shown["Data set"] == "phs000001, consent c1, version v1"
    assert "How many rows the data have is private." in text_of(report / "index.html")


def test_pages__acknowledge_who_gave_the_data(report, tmp_path):
    curation = replace(CURATION, acknowledgement="The data were given by a study & its people.")
    data = make_data(make_statement(tmp_path, curation=curation))
    data.statement["scores"] = [{"file": "scores/a.txt.gz", "standard_errors": None}] * len(data.outcomes)
    write_overview(data, tmp_path / "report")
    outcome_writer(data)(1, 1, tmp_path / "report" / "outcomes" / "01")
    pages = [
        tmp_path / "report" / "index.html",
        tmp_path / "report" / "outcomes" / "01" / "outcome_0001.html",
    ]
    assert all("The data were given by a study & its people." in text_of(page) for page in pages)
    assert "Acknowledgement" not in text_of(report / "index.html")


def test_outcome_page__says_what_the_outcome_is(report, tmp_path):
    data = make_data(make_statement(tmp_path, curation=replace(CURATION, traits=TRAITS)))
    pages = write_pages(data, tmp_path / "report") / "outcomes" / "01"
    said = "In the words of the curator:"
    words = f"{said} Body height (OBA_VT0001253), UKB, U.K., European, 10.1038/s41586-018-0579-z."
    assert words in text_of(pages / "outcome_0001.html")
    assert f"{said} LDL/HDL = ratio (EFO_0004611, EFO_0004612)." in text_of(pages / "outcome_0002.html")
    assert said not in text_of(pages / "outcome_0003.html")
    assert said not in text_of(report / FIRST)


def test_overview__public_number_of_rows(tmp_path):
    terms = make_terms(neighbours="replace-one", unit="person", rows="people")
    write_overview(make_data(make_statement(tmp_path, terms)), tmp_path / "report")

    assert facts(tmp_path / "report" / "index.html")["Rows, public"] == "5008".replace("5", "5,", 1)
    text = text_of(tmp_path / "report" / "index.html")
    assert "is private." not in text
    assert "for one haplotype" not in text


def test_overview__shows_largest_weights_and_budget(study, report):
    statement = json.loads((study["bundle"] / "privacy_statement.json").read_text())
    page = Page(report / "index.html")
    for score in statement["scores"]:
        table = pd.read_csv(study["bundle"] / score["file"], sep="\t", comment="#")
        assert f"{table['effect_weight'].abs().max():.9g}" in page.values("data-value")
    assert budget_in_words(statement) in text_of(report / "index.html")


def test_overview__outcome_scores_and_r2_come_first(report):
    table = (report / "index.html").read_text().partition('id="outcome-table"')[2].partition("</table>")[0]
    headings = re.findall(r"<th scope=\"col\".*?>([^<>]+?)<", table)
    assert headings[:4] == ["No.", "Outcome", "Scores", "R²"]
    (row, *_) = table.partition("<tbody>")[2].split("</tr>")
    assert re.findall(r"<(?:td|th)[^>]*>(?:<a [^>]*>)?([^<]+)", row)[:4] == [
        "1",
        "height",
        "file",
        "withheld",
    ]


def test_overview__audits(tmp_path):
    (tmp_path / "none").mkdir()
    write_overview(make_data(make_statement(tmp_path / "none")), tmp_path / "none" / "report")
    assert "The mechanisms were not audited" in text_of(tmp_path / "none" / "report" / "index.html")

    (tmp_path / "some").mkdir()
    statement = make_statement(tmp_path / "some", audit=make_audit())
    write_overview(make_data(statement), tmp_path / "some" / "report")
    text = text_of(tmp_path / "some" / "report" / "index.html")
    assert "Every mechanism was run 500 times" in text
    assert "X′X: products of genotypes μ 1.855 μ 1.5 1 add-remove, person, people, gdp" in text
    assert "dpgrs audit --draws 500 --seed 1" in text


def test_outcome_page__table_holds_the_weights_of_the_scoring_file(study, report):
    page = (report / FIRST).read_text()
    cells = [
        re.findall(r'<td[^>]*?(?: data-value="([^"]*)")?>([^<]*)</td>', row) for row in page.split("<tr>")
    ]
    rows = [row for row in cells if len(row) == 7]
    table = pd.read_csv(study["bundle"] / "scores" / "height.txt.gz", sep="\t", comment="#", dtype=str)
    expected = table.assign(size=table["effect_weight"].astype(float).abs()).sort_values(
        "size", ascending=False
    )
    assert [row[0][1] for row in rows] == expected["chr_name"].tolist()
    assert [row[1][0] for row in rows] == expected["chr_position"].tolist()
    assert [row[3][1] for row in rows] == expected["effect_allele"].tolist()
    assert [row[4][1] for row in rows] == expected["other_allele"].tolist()
    np.testing.assert_allclose(
        [float(row[6][0]) for row in rows], expected["effect_weight"].astype(float), rtol=1e-8
    )
    frequencies = pd.read_csv(study["sites"], sep="\t")
    frequency = dict(
        zip(frequencies["position"].astype(str) + frequencies["alt"], frequencies["frequency"], strict=True)
    )
    shown = [float(row[5][0]) for row in rows]
    np.testing.assert_allclose(shown, [frequency[row[1][0] + row[3][1]] for row in rows])
    assert rows[0][2][1] in set(SITES["id"]) | {"–"}


def test_outcome_page__largest_weights_of_many(tmp_path):
    data = make_data(make_statement(tmp_path), n_variants=30)

    rows = data.largest_rows(0)

    sizes = rows["weight"].abs().tolist()
    assert len(rows) == 20
    assert sizes == sorted(np.abs(data.weights[0]), reverse=True)[:20]
    outcome_writer(data)(1, 1, tmp_path / "pages")
    assert "The 20 largest of 30 weights" in text_of(tmp_path / "pages" / "outcome_0001.html")


def test_pages__say_the_terms_of_haplotype_and_person(report):
    for path in (report / "index.html", report / FIRST):
        text = text_of(path)
        assert "This release, for one haplotype 55 1 10⁻⁶ 2.72 times 5.3 × 10⁻⁵" in text
        # delta of a person, (1 + e) 1e-6, is rounded up.
        assert "This release, for one person 60 2 3.72 × 10⁻⁶ 7.39 times 8.5 × 10⁻⁵" in text
        assert "What the guarantee rests on" in text or path.name != "index.html"
        assert "account full/haplotype/add-remove" in text
        assert "Relatives" in text


def test_terms_rows__separate_budgets_and_no_promise(tmp_path):
    statement = make_statement(tmp_path, per_outcome=Total(0.5, 1e-6), person=Total(30, 1))

    rows = {row.label: row for row in terms_rows(statement)}

    assert float(rows["One outcome of it alone, for one haplotype"].odds) == pytest.approx(np.exp(0.5))
    assert rows["This release, for one person"].delta == 1
    write_overview(make_data(statement), tmp_path / "report")
    assert "This release, for one person no promise" in text_of(tmp_path / "report" / "index.html")


def test_outcome_page__names_the_units_of_weights(tmp_path):
    statement = make_statement(tmp_path, make_terms())
    data = make_data(statement)
    scales = {"outcome": data.outcomes, "centre": [170.0, 0.2, 0.0], "scale": [6.5, 0.4, 1.0]}
    scales = pd.DataFrame(scales | {"is_binary": [False, True, False], "origin": "a survey"})
    (tmp_path / "outcome_scales.tsv").write_text(table_text(scales))
    assert _scales(tmp_path / "absent.tsv") is None

    for name, known in (("without", None), ("with", _scales(tmp_path / "outcome_scales.tsv"))):
        outcome_writer(replace(data, scales=known))(1, len(data.outcomes), tmp_path / name)

    without, first, second = (
        text_of(tmp_path / name)
        for name in ("without/outcome_0001.html", "with/outcome_0001.html", "with/outcome_0002.html")
    )
    assert "Units: standard deviations. The outcome was given standardised" in without
    assert "One is 6.5 in the outcome’s own unit, around a centre of 170" in first
    assert "standard deviations of a binary outcome, 0 or 1, by its public prevalence" in second
    assert "outcome_scales.tsv" in first
    assert "in standard deviations of the outcome, as it was released" in first


def test_outcome_page__links_standard_errors_where_there_are_any(tmp_path):
    errors = np.full((1, len(SITES)), 0.5)
    arguments = make_release(tmp_path / "study", outcomes=("height",), standard_errors=errors)

    render_release_report(**arguments, processes=1)

    links = Page(arguments["output"] / FIRST).values("href")
    assert "../../../release/standard_errors/height.tsv.gz" in links


def spoil_metrics(arguments, **values):
    metrics = pd.read_csv(arguments["metrics"], sep="\t")
    write_table(arguments["metrics"], metrics.assign(**values))


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"r2": 0.5}, ("accuracy-not-released", "`accuracy`")),
        ({"mse": [np.nan, np.nan, 0.5]}, ("accuracy-not-released", "`accuracy`")),
        ({"mse_nonprivate": 0.5}, ("metrics-with-exact-errors", "`metrics`")),
    ],
)
def test_render__raise_on_accuracy_that_nobody_paid_for(spoiled, values, fault):
    spoil_metrics(spoiled, **values)
    with refused(*fault):
        render_release_report(**spoiled, processes=1)
    assert not spoiled["output"].exists()


def test_render__raise_on_a_changed_release(spoiled):
    score = spoiled["bundle"] / "scores" / "height.txt.gz"
    score.write_bytes((spoiled["bundle"] / "scores" / "LDL_HDL_ratio.txt.gz").read_bytes())
    with pytest.raises(DpgrsError, match="must not be trusted"):
        render_release_report(**spoiled, processes=1)


def test_render__raise_on_other_sites(spoiled):
    sites = pd.read_csv(spoiled["sites"], sep="\t")
    write_table(spoiled["sites"], sites.assign(position=sites["position"] + 1))
    with refused("sites-of-another-release", "`sites`", error=UsageError):
        render_release_report(**spoiled, processes=1)


def test_render__raise_on_pages_elsewhere(spoiled, tmp_path):
    with refused("output-outside-release", "`output`", error=UsageError):
        render_release_report(**spoiled | {"output": tmp_path / "report"}, processes=1)


def test_release_data__raise_on_weights_of_another_shape(tmp_path):
    data = make_data(make_statement(tmp_path))
    with refused("report-array-shape"):
        replace(data, weights=data.weights[:, 1:])


def test_write_pages__a_page_does_not_depend_on_the_others(tmp_path):
    data = make_data(make_statement(tmp_path))
    whole = write_pages(data, tmp_path / "whole")

    outcome_writer(data)(3, 3, tmp_path / "alone")

    page = (tmp_path / "alone" / "outcome_0003.html").read_bytes()
    assert page == (whole / "outcomes/01/outcome_0003.html").read_bytes()
