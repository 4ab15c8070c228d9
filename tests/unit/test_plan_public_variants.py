"""A plan says which linkage disequilibrium it took: the public panel's, or none."""

from pathlib import Path

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.linalg.public_ld import PublicLd
from dpgrs.planning.plan import plan_study
from dpgrs.reporting.plan import plan_as_text
from dpgrs.study.public_files import save_ld
from dpgrs.study.settings_files import read_settings

SMALL = ("variants={size: 8}", "outcomes={count: 3}", "privacy={epsilon: 2, accounting: gdp, bounds: tight}")
RELEASE = ("mode=release", *SMALL, "methods=[blup]")
PUBLIC = Path("results/tiny/public")
NEEDS = "needs LD of the public panel: ask Snakemake for results/<study>/public/ld.npz"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Work in a folder of its own, with sites of 0.5 that a run has chosen."""
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text("study: tiny\n")
    PUBLIC.mkdir(parents=True)
    header = "contig\tposition\tid\tref\talt\tfrequency\trank"
    lines = [header, *(f"21\t{rank + 1}\t.\tA\tC\t0.5\t{rank}" for rank in range(8))]
    (PUBLIC / "sites.tsv").write_text("\n".join(lines) + "\n")


def plan_of(*changes):
    return plan_study(read_settings("study.yaml", changes=changes), people=1000)


def measure(*sizes, correlation=0.95):
    def own(size):
        G = 0.25 * (correlation + (1 - correlation) * np.eye(size))
        return PublicLd(np.array([0]), (G,), np.empty((0, size)), 600)

    save_ld(PUBLIC / "ld.npz", {size: (own(size), "0" * 64) for size in sizes})


def expected(plan):
    return {one["method"]: one["r2"] for one in plan["requests"][0]["expected"]}


@pytest.mark.parametrize("changes", [RELEASE, (*SMALL, "methods=[blup, blup-ld]")])
def test_plan_study__takes_what_a_run_has_measured(changes):
    noisy = "privacy={epsilon: 0.1}"
    before = plan_of(*changes, noisy)
    measure(8, 4)
    after = plan_of(*changes, noisy)
    words = (
        "as in the 600 public rows of results/tiny/public/ld.npz, whose ancestry is taken to be the cohort's"
    )
    assert before["assumptions"]["linkage"].startswith("independent variants")
    assert words in after["assumptions"]["linkage"]
    for plan in (before, after):
        assert plan["assumptions"]["linkage"] in " ".join(plan_as_text(plan).split())
    # Variants that go together are learnt as one.
    assert expected(after)["blup"] > expected(before)["blup"] + 0.02


def test_plan_study__fit_on_public_ld_is_planned_where_that_was_measured():
    changes = (*SMALL, "methods=[blup-ld, blup-steered]")
    before = plan_of(*changes)
    assert before["not_planned"] == {"blup-ld": NEEDS}
    assert NEEDS in " ".join(plan_as_text(before).split())
    assert "ask Snakemake for results/tiny/public/ld.npz" in before["assumptions"]["linkage"]
    measure(8)
    after = plan_of(*changes)
    assert after["not_planned"] == {}
    assert list(expected(after)) == ["blup-ld", "blup-steered"]
    assert 0 < expected(after)["blup-ld"] < 0.5
    # It has no plan within worst-case bounds.
    r2 = {
        (one["bounds"], one["neighbours"]): one["r2"] for one in after["requests"][0]["bounds_and_neighbours"]
    }
    assert r2["worst-case", "add-remove"] is None
    assert r2["tight", "add-remove"] == expected(after)["blup-ld"] > r2["tight", "replace-one"]
    text = " ".join(plan_as_text(after).split())
    assert "those of ReuseCov's statistics, not of blup-ld, blup-steered: each draws noise" in text
    wide = plan_of(*changes, "privacy={bounds: worst-case}")
    assert wide["not_planned"] == {"blup-ld": "only for tight bounds"}
    assert list(expected(wide)) == ["blup-steered"]


def test_plan_study__benchmark_that_chooses_from_its_cohort_does_not_take_it():
    measure(8)
    linkage = plan_of(*SMALL, "methods=[blup]")["assumptions"]["linkage"]
    assert linkage.startswith("independent variants")
    assert "`public.reference`" in linkage


def test_plan_study__ld_of_other_variant_counts_is_not_taken():
    measure(4)
    assert plan_of(*RELEASE)["assumptions"]["linkage"].startswith("independent variants")


def test_plan_study__list_of_sites_has_no_ld():
    measure(8)
    table = "\n".join(
        ["contig\tposition\tref\talt\tfrequency", *(f"21\t{n}\tA\tC\t0.5" for n in range(1, 9))]
    )
    Path("sites.tsv").write_text(table + "\n")
    linkage = plan_of(*RELEASE, "public={sites: sites.tsv}")["assumptions"]["linkage"]
    assert linkage.startswith("independent variants")


def test_plan_study__damaged_file_of_ld_is_one_line():
    (PUBLIC / "ld.npz").write_text("x")
    with pytest.raises(UsageError, match=r"`public.reference`: `.*ld.npz` must be a file of arrays"):
        plan_of(*RELEASE)


def test_plan_study__of_a_table_takes_the_bounds_of_its_ranges_and_plans_no_accuracy():
    cohort = "cohort={source: table, table: data.csv, ranges: ranges.tsv, rows: people}"
    plan = plan_of(*SMALL, cohort, "outcomes={source: table, columns: [y]}", "methods=[ridge, blup]")
    (request,) = plan["requests"]
    # Rows are clipped at the root mean square of eight dosages of 1/2, 2; with the intercept, of 1 in all.
    (gram,) = (one for one in request["mechanisms"] if one["statistic"] == "gram")
    assert gram["sensitivity"] == pytest.approx(17**0.5, rel=1e-9)
    assert request["expected"] == []
    assert "depends on how far columns spread" in plan["not_planned"]["blup"]
    assert "no R2 is planned" in plan_as_text(plan)
