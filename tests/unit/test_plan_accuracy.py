from pathlib import Path

import numpy as np
import pytest

from dpgrs.methods.requests import PrivacyRequest
from dpgrs.planning.accuracy import planned_methods, unplanned_methods
from dpgrs.planning.plan import plan_study
from dpgrs.reporting.plan import plan_as_text
from dpgrs.study.settings_files import read_settings

# Small variant sets and few outcomes, so that a plan takes no time.
SMALL = ("variants={size: 8}", "outcomes={count: 3}", "privacy={epsilon: 2, protection: full}")
RELEASE = ("mode=release", "cohort={rows: people}", *SMALL)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Work in a folder of its own, with a configuration that says nothing."""
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text("study: tiny\n")


def plan_of(*changes, **assumed):
    return plan_study(read_settings("study.yaml", changes=changes), people=1000, **assumed)


def write_sites():
    """Write eight public sites, with frequencies of 0.1 to 0.8."""
    lines = [f"21\t{position}\tA\tC\t0.{position}" for position in range(1, 9)]
    Path("sites.tsv").write_text("\n".join(["contig\tposition\tref\talt\tfrequency", *lines]) + "\n")


@pytest.mark.parametrize(("count", "outcome_norm"), [(2, 1.25 * 2**0.5), (9, 1.1 * 3), (16, 1.1 * 4)])
def test_plan_study__tight_bounds_are_planned_with_their_norms(count, outcome_norm):
    write_sites()
    bounds = "privacy={bounds: tight, genotype_clip: 1.5, outcome_clip: 1.1}"
    changes = [*RELEASE, "public={sites: sites.tsv}", f"outcomes={{count: {count}}}", bounds]
    plan = plan_of(*changes)
    p = np.arange(1, 9) / 10
    row_norm = np.floor(1.5 * np.sqrt((2 * p * (1 - p)).sum()) * 2**12) / 2**12
    terms = {"coding": "frequency", "row_norm": row_norm, "outcome_norm": outcome_norm}
    asked = PrivacyRequest("people", 8, count, 3.0, 2.0, 1e-6, **terms)
    noise_sd = {m["statistic"]: m["noise_sd"] for m in plan["requests"][0]["mechanisms"]}
    assert noise_sd["gram"] == pytest.approx(asked.noise_sd["gram"])
    assert noise_sd["cross product"] == pytest.approx(asked.noise_sd["cross"])
    assert plan["privacy"]["bounds"] == "tight"


def test_plan_study__chosen_variants_are_planned_with_the_bound_of_an_outcome():
    write_sites()
    changes = [*RELEASE, "methods=[k-blup]", "screening={size: 2}", "public={sites: sites.tsv}"]
    (request,) = plan_of(*changes, "privacy={bounds: tight}")["requests"]
    moved = {mechanism["statistic"]: mechanism["sensitivity"] for mechanism in request["mechanisms"]}
    assert moved["cross product"] == pytest.approx(3 * np.sqrt(2 * 0.5**2 + 2 * 0.4 * 0.6), rel=1e-3)


@pytest.mark.parametrize("bounds", ["worst-case", "tight"])
def test_plan_study__compares_bounds_and_neighbours(bounds):
    request, *_ = plan_of(*SMALL, f"privacy={{bounds: {bounds}}}")["requests"]
    compared = {(line["bounds"], line["neighbours"]): line for line in request["bounds_and_neighbours"]}
    assert len(compared) == 4
    (own,) = (pair for pair, line in compared.items() if line["is_own"])
    assert own == (bounds, "add-remove")
    assert compared[own]["r2"] == request["expected"][0]["r2"]
    drawn = {mechanism["statistic"]: mechanism["noise_sd"] for mechanism in request["mechanisms"]}
    assert compared[own]["noise_sd_gram"] == pytest.approx(drawn["gram"])
    assert compared[own]["noise_sd_cross"] == pytest.approx(drawn["cross product"])
    for neighbours in ("add-remove", "replace-one"):
        worst, tight = (compared[kind, neighbours] for kind in ("worst-case", "tight"))
        assert tight["noise_sd_gram"] < worst["noise_sd_gram"]
        assert tight["noise_sd_cross"] < worst["noise_sd_cross"]
    for kind in ("worst-case", "tight"):
        # Each is a mean over draws of its own.
        assert compared[kind, "replace-one"]["r2"] < compared[kind, "add-remove"]["r2"] + 0.01


def test_plan_study__one_side_public_compares_bounds_alone():
    _, label = plan_of(*SMALL, "privacy={protection: [full, label]}")["requests"]
    pairs = [(line["bounds"], line["neighbours"]) for line in label["bounds_and_neighbours"]]
    assert pairs == [("worst-case", "replace-one"), ("tight", "replace-one")]
    assert all(line["noise_sd_gram"] == 0 for line in label["bounds_and_neighbours"])


def test_plan_study__every_method_of_the_statistics_is_planned():
    plan = plan_of(*SMALL, "methods=[ridge, blup, adassp, reusecov-ellipsoid]", heritabilities=(0.2, 0.5))
    (request,) = plan["requests"]
    planned = [(expected["method"], expected["heritability"]) for expected in request["expected"]]
    ellipsoid = "reusecov-ellipsoid"
    assert planned == [("blup", 0.2), ("blup", 0.5), (ellipsoid, 0.2), (ellipsoid, 0.5)]
    assert {line["method"] for line in request["bounds_and_neighbours"]} == {"blup"}
    assert plan["not_planned"] == {"ridge": "not private", "adassp": "draws noise of its own"}


@pytest.mark.parametrize(
    ("protection", "planned", "reason"),
    [
        ("full", ["blup", "reusecov-gauss"], "not made for full protection"),
        ("label", ["blup", "reusecov-proj", "reusecov-gauss"], None),
        ("feature", ["reusecov-gauss"], "under feature protection, where it needs the outcomes themselves"),
    ],
)
def test_planned_methods__hang_on_the_protection(protection, planned, reason):
    methods = ["blup", "reusecov-proj", "reusecov-gauss"]
    assert planned_methods(methods, protection) == planned
    assert unplanned_methods(methods, [protection]).get("reusecov-proj") == reason


def test_plan_as_text__study_without_a_method_to_plan_shows_costs_alone():
    text = plan_as_text(plan_of(*SMALL, "methods=[naive]"))
    assert "Methods without a planned R2: naive (draws noise of its own)." in text
    assert "To be expected of an outcome" not in text
    assert "What bounds and neighbours cost" in text


def test_plan_as_text__of_rows_shows_no_noise_that_nothing_draws():
    """The noise of X'X of all variants is no noise of X'X of those that are chosen."""
    plan = plan_of(*RELEASE, "methods=[k-blup]", "variants={size: 20}")
    assert plan["requests"][0]["bounds_and_neighbours"] == []
    assert "What bounds and neighbours cost" not in plan_as_text(plan)


@pytest.mark.parametrize("method", ["blup-ld", "naive"])
def test_plan_study__has_noise_of_gram_where_it_is_drawn(method):
    [request] = plan_of(*RELEASE, f"methods=[{method}]")["requests"]
    [own] = [line for line in request["bounds_and_neighbours"] if line["is_own"]]
    drawn = [one["noise_sd"] for one in request["mechanisms"] if one["statistic"] == "gram"]
    assert [own["noise_sd_gram"]] == pytest.approx(drawn) if drawn else own["noise_sd_gram"] is None


def test_plan_as_text__says_whose_costs_are_not_shown():
    methods = "methods=[blup, k-ols, k-blup, adassp]"
    text = " ".join(plan_as_text(plan_of(*SMALL, methods)).split())
    reasons = "k-ols (not private), k-blup (chooses variants first), adassp (draws noise of its own)."
    assert f"Methods without a planned R2: {reasons}" in text
    assert "those of ReuseCov's statistics, not of k-blup, adassp: each draws noise of its own" in text
    for changes in ((*SMALL, "methods=[ols, blup]"), (*RELEASE, "methods=[naive]")):
        assert "those of ReuseCov's statistics" not in plan_as_text(plan_of(*changes))


def test_plan_as_text__longest_method_and_largest_noise_fit_100_columns():
    methods = "methods=[reusecov-ellipsoid, reusecov-gauss, adassp, dp-sgd]"
    plan = plan_of(*SMALL, methods, "privacy={epsilon: 0.01, accounting: paper}", heritabilities=(0.125,))
    text = plan_as_text(plan)
    assert max(map(len, text.splitlines())) <= 100
    assert "R2 of 0 or less is expected of # 1 with reusecov-gauss" in text
