import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.reporting import pages, rendering
from dpgrs.reporting.data import ClippedRows, Clipping
from dpgrs.reporting.outcomes import correlation
from dpgrs.reporting.pages import outcome_writer, write_overview
from dpgrs.reporting.rendering import Chunk, chunks
from dpgrs.steps import render_report as report_step
from html_pages import Page, contents, text_of
from report_data import GRID, NASTY_NAME, ONE_DESIGN, POPULATIONS, make_report_data

BANNER = "benchmark: not private"


def write_report(data, directory):
    write_overview(data, directory)
    write = outcome_writer(data)
    for chunk in chunks(len(data.outcomes)):
        write(chunk.first, chunk.last, directory / "outcomes" / chunk.name)
    return directory


@pytest.fixture(scope="module")
def data():
    return make_report_data(n_outcomes=3)


@pytest.fixture(scope="module")
def report(data, tmp_path_factory):
    return write_report(data, tmp_path_factory.mktemp("pages") / "report")


def test_overview__people_who_were_left_out(tmp_path):
    counts = {
        "n_people": 2504,
        "n_chosen": 910,
        "left_out": {"removed": 50, "no_consent": 1544, "related": 0},
    }
    (tmp_path / "people.json").write_text(json.dumps(counts))
    words = report_step._left_out(tmp_path / "people.json")
    assert words == "1,594 of 2,504: 50 on the list to remove, 1,544 without consent"
    assert report_step._left_out(None) is None
    write_overview(make_report_data(**ONE_DESIGN, left_out=words), tmp_path / "report")
    assert words in Page(tmp_path / "report" / "index.html").text


def test_overview__people_with_outcomes(tmp_path):
    words = "18 of 300 people with genotypes are in the table of <outcomes>."
    write_overview(make_report_data(**ONE_DESIGN, people_counts=(words,)), tmp_path / "report")
    assert words in Page(tmp_path / "report" / "index.html").text


@pytest.mark.parametrize(
    ("is_kept", "words", "has_exact"),
    [
        (lambda protection: protection.notna(), ", with privacy and without.", True),
        (lambda protection: protection != "none", ", with privacy.", False),
        (lambda protection: protection == "none", ", without privacy.", True),
    ],
)
def test_overview__says_which_fits_there_are(data, tmp_path, is_kept, words, has_exact):
    metrics = data.metrics[is_kept(data.metrics["protection"])]
    write_overview(replace(data, metrics=metrics), tmp_path)
    text = Page(tmp_path / "index.html").text
    assert words in text
    assert ("Black and grey: fits without privacy." in text) == has_exact


@pytest.mark.parametrize("n_outcomes", [1, 99, 100, 101, 1000, 2000, 2001, 12345])
def test_chunks__cover_all_outcomes_once(n_outcomes):
    found = chunks(n_outcomes)

    numbers = [number for chunk in found for number in range(chunk.first, chunk.last + 1)]
    assert numbers == list(range(1, n_outcomes + 1))
    assert len({chunk.name for chunk in found}) == len(found) <= 20


def test_chunks__of_a_hundred():
    assert chunks(150) == [Chunk("01", 1, 100), Chunk("02", 101, 150)]


def test_pages__same_data_same_bytes_and_nothing_half_written(data, report, tmp_path):
    again = write_report(data, tmp_path / "again")

    assert contents(again) == contents(report)
    names = {str(path) for path in contents(report)}
    pages = {f"outcomes/01/outcome_000{i}.html" for i in (1, 2, 3)}
    assert names == {"index.html", "assets/report.css", "assets/report.js"} | pages


def test_outcome_writer__a_page_does_not_depend_on_the_others(data, report, tmp_path):
    outcome_writer(data)(3, 3, tmp_path)

    page = (tmp_path / "outcome_0003.html").read_bytes()
    assert page == (report / "outcomes/01/outcome_0003.html").read_bytes()


def test_pages__are_stamped_and_link_inside_the_report_without_a_network(report):
    pages = {path.resolve(): Page(path) for path in report.rglob("*.html")}
    for path, page in pages.items():
        for link in page.values("href") + page.values("src") + page.values("xlink:href"):
            if link == "data:,":
                continue
            target, _, fragment = link.partition("#")
            file = (path.parent / target).resolve() if target else path
            assert file.is_file(), link
            assert file.is_relative_to(report.resolve())
            if fragment:
                assert fragment in pages[file].values("id")
        assert len(set(page.values("id"))) == len(page.values("id"))
        assert BANNER in page.text
        assert set(re.findall(r"https?://[^\"'/]+", path.read_text())) <= {"http://www.w3.org"}


def test_pages__names_are_escaped(report):
    for path in (report / "index.html", report / "outcomes/01/outcome_0001.html"):
        page = Page(path)
        assert NASTY_NAME in page.text
        assert "<script>alert" not in path.read_text()
    assert POPULATIONS[2] in Page(report / "outcomes/01/outcome_0002.html").text


def test_pages__neighbouring_outcomes_are_linked(report):
    first, second, last = (Page(report / f"outcomes/01/outcome_000{i}.html") for i in (1, 2, 3))

    assert "../01/outcome_0001.html" in second.values("href")
    assert "../01/outcome_0003.html" in second.values("href")
    assert "prev" not in first.values("rel")
    assert "next" not in last.values("rel")


def test_overview__shows_the_numbers_of_the_metrics(data, report):
    page = Page(report / "index.html")

    largest = data.metrics.query("n_variants == 24 and n_outcomes == 3")
    gblup = largest[largest["method"] == "gblup"]
    for name in data.outcomes:
        value = gblup.loc[gblup["outcome"] == name, "r2"].mean()
        assert f"{value:.9g}" in page.values("data-value")
    assert f"{gblup['r2'].mean():.3f} for GBLUP (not private)" in page.text


def test_outcome_page__says_the_terms_in_plain_words(report):
    text = text_of(report / "outcomes/01/outcome_0002.html")

    for words in (
        "10⁻⁶",
        "full 1 10⁻⁶ 55 60 ",
        "a blind guess is right 50 times in 100",
        "add-remove",
        "two rows",
        "Relatives",
        "public seed 1",
    ):
        assert words in text
    # No odds of 2 e^epsilon beside those of releases, e^epsilon.
    assert "2eε" not in text
    assert "one more been in them" in text
    assert "protects nobody" in text


@pytest.mark.parametrize(
    ("options", "present", "absent"),
    [
        ({"private": []}, "no private fit", "Relatives"),
        ({}, "R² against epsilon", "R² against the number of outcomes"),
        ({"has_populations": False}, "populations of the people are not known", "R² by population"),
        ({"is_simulated": False}, "measured ones", "True effects"),
        ({"n_variants": 2, "chromosomes": ("chrX",)}, "Weights along the genome", "Rerun"),
        (
            {"rows": "people", "private": [("reusecov-gauss", "label", "replace-one", "person", "gdp")]},
            "had the outcomes of any one person been replaced by others",
            "Odds about a haplotype",
        ),
        (
            {"private": [("reusecov-sketch", "full", "replace-one", "haplotype", "gdp")]},
            "ReuseCovSketch gives a part of ε and δ to each",
            "DP-SGD",
        ),
    ],
)
def test_pages__studies_of_other_kinds(tmp_path, options, present, absent):
    data = make_report_data(**{"n_outcomes": 1, "replicates": 1} | options)

    report = write_report(data, tmp_path / "report")

    text = " ".join("".join(Page(path).text for path in sorted(report.rglob("*.html"))).split())
    assert present in text
    assert absent not in text


def test_pages__a_grid_of_methods_and_protections(tmp_path):
    data = make_report_data(outcome_counts=(1, 2, 3, 4), epsilons=(1.0, 5.0), private=GRID)

    write_overview(data, tmp_path)
    outcome_writer(data)(2, 2, tmp_path / "outcomes/01")

    text = text_of(tmp_path / "index.html")
    assert "R² against the number of outcomes" in text
    assert "Left out for lack of room, but in the table of all designs: 2 outcomes." in text
    for name in ("full", "feature", "label"):
        assert f"the best fit under {name} protection" in text
    for words in (
        "full 1 10⁻⁶ 55 60 ",
        "genotypes and outcomes add-remove: one haplotype is added or removed",
        "outcomes; genotypes count as public replace-one: one haplotype is replaced by another",
        "Feature protection: the weights would be nearly as likely had the genotypes of any one haplotype",
        "the number of rows where data sets compared are replace-one, the outcomes of everybody",
        "DP-SGD, which samples rows",
        "Only ReuseCovGauss, ReuseCovEllipsoid, BLUP, ReuseCovProj are made from the same noisy statistics",
    ):
        assert words in text
    page = text_of(tmp_path / "outcomes/01/outcome_0002.html")
    first = data.metrics.query("n_variants == 24 and n_outcomes == 4").query("outcome == @data.outcomes[1]")
    label = first[first["protection"] == "label"].groupby(["method", "epsilon"])["r2"].mean()
    assert f"{label.max():.3f} for" in page
    assert "Of the private fits the table shows a few; an outcome's page" in text
    assert "Of the private fits a few are shown" in page
    assert "the best fit under label protection" in page


@pytest.mark.parametrize(
    ("options", "present", "absent"),
    [
        (
            {"private": GRID[:1]},
            ["Bounds worst-case", "Penalty of ReuseCov fixed"],
            ["for BLUP", "stand-in", "ball"],
        ),
        ({"private": GRID[2:3]}, ["Heritability for BLUP estimated"], ["Penalty of ReuseCov", "Projections"]),
        ({"private": GRID[2:3], "stated_heritability": 0.4}, ["BLUP stated as 0.4"], ["BLUP estimated"]),
        (
            {"private": [], "prevalence": 0.05, "factors": 10},
            [
                "with the variants explaining 0.5 of the variance of their liability, 0/1 of prevalence 0.05",
                ", of 10 shared factors, and clipped",
            ],
            [],
        ),
        ({"private": [], "network": 8}, [", by a network of 8 hidden units each, and clipped"], []),
        (
            {"private": GRID[1:2], "is_joint": True, "penalty_rule": "adassp"},
            ["Penalty of ReuseCov adassp, from the noise", "Projections joint"],
            [],
        ),
        ({"private": GRID[3:4], "bounds": "tight"}, [], ["Bounds", "Penalty of ReuseCov", "stand-in"]),
        ({"private": [], "bounds": "tight"}, [], ["Bounds", "stand-in", "Budget of outcomes"]),
        (
            {"private": GRID[:6], "bounds": "tight", "genotype_clip": 1.2, "outcome_clip": 1.5},
            [
                "Bounds tight, factors 1.2 for genotypes and 1.5 for outcomes",
                "The frequencies are the cohort’s own, a stand-in for those of a public panel",
                "DP-SGD stays within worst-case bounds.",
                "the frequencies by which tight bounds code and clip rows (a stand-in for a public panel’s),",
                "if the noise were secret and variants, fill-ins, frequencies and outcomes were fixed",
            ],
            ["ReuseCovSketch", "Tukey"],
        ),
        (
            {
                "private": GRID[2:3],
                "bounds": "tight",
                "has_public_sites": True,
                "misfit": ("They <fit> badly.",),
            },
            [
                "The frequencies are those of the public reference.",
                "They <fit> badly.",
                "if the noise were secret and outcomes were fixed",
            ],
            ["stand-in", "the choice of variants by their frequency", "fill missing ones"],
        ),
        (
            {"outcome_budget": "separate"},
            [
                "separate, each outcome has ε and δ for itself",
                "the weights of one outcome on 24 variants. Each",
            ],
            ["published together."],
        ),
    ],
)
def test_overview__settings_that_matter_to_its_methods(tmp_path, options, present, absent):
    write_overview(make_report_data(**ONE_DESIGN | options), tmp_path)

    text = text_of(tmp_path / "index.html")
    assert [words for words in present if words not in text] == []
    assert [words for words in absent if words in text] == []


def test_pages__what_was_clipped(data, tmp_path):
    rows = [ClippedRows(24, 12, 0.4567, 0.123), ClippedRows(24, 3, 0.4567, 0.0)]
    clipping = Clipping(np.array([0, 7, 1234]), np.array([400, 400, 2000]), rows)

    report = write_report(replace(data, clipping=clipping), tmp_path / "report")

    index = Page(report / "index.html")
    text = " ".join(index.text.split())
    assert "In replicate 1, 1,241 of 2,800 training values of all outcomes (44.32 %) lie beyond ±3" in text
    assert "A release clips as well, but does not count" in text
    assert "24 12 45.7 % 12.3 % 24 3 45.7 % 0.0 %" in text
    assert "1234" in index.values("data-value")
    page = text_of(report / "outcomes/01/outcome_0002.html")
    assert "Values clipped: 7 of 400 training values lie beyond ±3, in replicate 1." in page
    worst_case = replace(data, clipping=replace(clipping, rows=[]))
    write_overview(worst_case, tmp_path / "worst")
    assert "Rows of genotypes shrunk" not in Page(tmp_path / "worst" / "index.html").text


def test_write_report__processes_share_the_folders(data, tmp_path, monkeypatch):
    folders = [Chunk("01", 1, 1), Chunk("02", 2, 2), Chunk("03", 3, 3)]
    monkeypatch.setattr(rendering, "chunks", lambda n_outcomes: folders)

    rendering.write_report(pages, data, tmp_path / "report", processes=2)

    found = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("outcome_*.html"))
    assert found == [f"report/outcomes/0{i}/outcome_000{i}.html" for i in (1, 2, 3)]


def test_pages__withheld_values_are_dashes(data, tmp_path):
    metrics, populations = data.metrics.copy(), data.population_metrics.copy()
    metrics.loc[metrics["outcome"] == data.outcomes[1], ["r2", "mse"]] = np.nan
    populations["r2"] = np.nan
    withheld = replace(data, metrics=metrics, population_metrics=populations)

    report = write_report(withheld, tmp_path / "report")

    page = Page(report / "outcomes/01/outcome_0002.html")
    assert page.text.count("–") >= 4 * 8
    assert "" in Page(report / "index.html").values("data-value")
    assert "nan" not in page.text


def test_correlation__matches_numpy():
    first, second = np.array([1.0, 2.0, 4.0]), np.array([0.5, -1.0, 3.0])

    assert correlation(first, second) == pytest.approx(np.corrcoef(first, second)[0, 1])
    assert np.isnan(correlation(first, np.ones(3)))


def test_pages__say_which_outcomes_are_binary(data, tmp_path):
    values = np.array([[0.5, -2.0, np.nan, 0.5], [0.5, 1.5, 2.5, 0.5], [1.0, 1.0, np.nan, 1.0]])
    measured = SimpleNamespace(names=data.outcomes, values={24: values}, effects={})
    binary = report_step._binary(measured, 24)
    assert binary == data.outcomes[:1]

    report = write_report(replace(data, binary=binary), tmp_path / "report")

    words = ["A binary outcome" in page.read_text() for page in sorted(report.rglob("outcome_*.html"))]
    assert words == [True, False, False]
    assert (report / "index.html").read_text().count("</a> (binary)</th>") == 1
