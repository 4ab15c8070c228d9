import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpgrs.io.genotype_summary import GenotypeSummary
from dpgrs.io.variant_filters import REASONS
from dpgrs.reporting.data import Quality
from dpgrs.reporting.pages import write_overview
from dpgrs.reporting.qc import COLUMNS, call_rows, filter_words, shown_columns
from dpgrs.study.settings import resolve
from html_pages import Page
from report_data import NASTY_NAME, ONE_DESIGN, make_report_data

VARIANTS = resolve({}).variants
COUNTS = pd.DataFrame({"chromosome": ["1", "all"], **{name: [0, 0] for name in list(COLUMNS)[1:]}}).assign(
    records=[90, 1090], rows=[100, 1100], maf=[60, 660], thinned=[20, 220], kept=[20, 220], call_rate=0.7
)


def make_summary(names=("AFR", NASTY_NAME), n_people=30):
    random = np.random.Generator(np.random.PCG64(3))
    n = len(names)
    return GenotypeSummary(
        n_variants=50,
        n_known=40,
        variant_calls=np.array([0, 7, 0, 0, 0, 0, 0, 93]),
        person_calls=np.array([12, 0, 0, 0, 0, 0, 3, 15]),
        population=np.array([names[i % n] if i else "tiny" for i in range(n_people)] if n else [], dtype=str),
        heterozygosity=random.random(n_people),
        components=random.normal(size=(n_people, 2)),
        explained=np.array([0.2, 0.1]),
        names=np.array(names, dtype=str),
        sizes=np.full(n, 15),
        observed=np.full(n, 0.2),
        expected=np.full(n, 0.25),
        fst=np.where(np.eye(n) == 1, np.nan, 0.123),
        edges=np.array([0, 1000.0, 5000, 20000]),
        decay=np.array([0.4, 0.1, np.nan]),
        n_pairs=np.array([50, 40, 3]),
    )


def page_of(directory, **changes):
    data = make_report_data(**ONE_DESIGN)
    write_overview(replace(data, quality=Quality(COUNTS, make_summary(**changes), VARIANTS)), directory)
    return Page(directory / "genotypes.html")


def test_overview__links_the_page_where_there_is_one(tmp_path):
    page_of(tmp_path / "with")
    assert "genotypes.html" in Page(tmp_path / "with" / "index.html").values("href")
    write_overview(make_report_data(**ONE_DESIGN), tmp_path / "without")
    assert "genotypes.html" not in Page(tmp_path / "without" / "index.html").values("href")
    assert not (tmp_path / "without" / "genotypes.html").exists()


def test_page__shows_counts_populations_and_the_stamp(tmp_path):
    page = page_of(tmp_path)
    source = (tmp_path / "genotypes.html").read_text()
    assert "benchmark: not private" in page.text
    assert source.count("benchmark: not private") == 2  # the banner, and the figure with a point per person
    assert "30 of the 40 people" in page.text
    assert "1,100" in page.text
    assert "0.123" in page.text
    assert NASTY_NAME in page.text
    assert "<script>alert" not in source
    assert len(set(page.values("id"))) == len(page.values("id"))
    assert {link for link in page.values("href") if not link.startswith(("#", "data"))} == {
        "index.html",
        "assets/report.css",
    }


def test_page__says_what_half_calls_of_people_are(tmp_path):
    data = make_report_data(**ONE_DESIGN)
    for name, share in (("none", 0.0), ("some", 0.01)):
        quality = Quality(COUNTS.assign(half_calls=share), make_summary(), VARIANTS)
        write_overview(replace(data, quality=quality), tmp_path / name)
        assert ("write the one allele of a man as 1/." in Page(tmp_path / name / "genotypes.html").text) == (
            share > 0
        )


def test_page__without_populations_or_components(tmp_path):
    data = make_report_data(**ONE_DESIGN)
    summary = replace(make_summary(()), explained=np.full(2, np.nan), components=np.full((30, 2), np.nan))
    write_overview(replace(data, quality=Quality(COUNTS, summary, VARIANTS)), tmp_path)
    ids = Page(tmp_path / "genotypes.html").values("id")
    assert "populations" not in ids
    assert {"variants", "heterozygosity", "linkage"} <= set(ids)


def test_page__has_call_rates_of_variants_and_people_in_bins(tmp_path):
    text = page_of(tmp_path).text
    assert re.search(r"below 50 %\s+0\s+12\s+50 % to below 80 %\s+7\s+0", text)
    assert re.search(r"99 % to below 100 %\s+0\s+3\s+100 %\s+93\s+15", text)
    assert "80 % to below 90 %" not in text
    assert text.count("70.00 %") == 2
    assert "No allele is missing" not in text


def test_call_rows__without_missing_alleles():
    whole = np.array([0] * 7 + [5])
    assert call_rows(replace(make_summary(), variant_calls=whole, person_calls=whole)) == [("100 %", 5, 5)]


def test_shown_columns__hide_what_never_happened():
    assert [name for name, _ in shown_columns(COUNTS)] == [
        "chromosome",
        "records",
        "rows",
        "maf",
        "thinned",
        "kept",
        "call_rate",
    ]


def test_columns__have_all_reasons_in_their_order():
    assert [name for name in COLUMNS if name in REASONS] == list(REASONS)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"missing": 1},
            ["minor-allele frequency of at least 0.01", "no A/T or C/G SNPs", "one variant per position"],
        ),
        (
            {
                "hwe": 1e-6,
                "ld_r2": 0.2,
                "ambiguous": "keep",
                "multiallelic": "keep",
                "classes": ["snp"],
            },
            [
                "minor-allele frequency of at least 0.01",
                "at most 5 % of alleles missing",
                "mid-p of the Hardy-Weinberg test of at least 1e-06",
                "r² of at most 0.2 with others within 250 kb",
                "SNPs alone",
            ],
        ),
    ],
)
def test_filter_words__name_what_is_in_force(changes, words):
    assert filter_words(VARIANTS.changed(**changes)) == words
