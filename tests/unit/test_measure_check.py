"""Measures on public people are held against sums, constants and, where these are there, the people."""

from functools import cache
from pathlib import Path
from shutil import copytree
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.evaluation.binary_metrics import binary_measures, quantitative_measures
from dpgrs.genotypes.bits import pack
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.tables.outcome_scales import binary_constants
from dpgrs.release.constants import reference_sums
from dpgrs.release.pgs_catalog import Constants
from dpgrs.statement.content import PublicInput
from dpgrs.verify import reference_check
from dpgrs.verify.accuracy_check import scored_problems
from dpgrs.verify.bundle import verify_release
from forged_releases import edit, seal
from release_data import OUTCOMES, SITES, make_bundle, make_content, make_terms

N_PEOPLE, PREVALENCE, SCALE = 200, 0.3, np.sqrt(0.3 * 0.7)
MEASURES, SCALES, FIRST = "measures.tsv", "outcome_scales.tsv", "^height\t"
# Whether outcomes are 0/1, and the prevalence in the population of the first one.
QUANTITATIVE, BINARY, CASE_CONTROL = (False, None), (True, PREVALENCE), (True, 0.0123456789)


def measures_of(y, score, *, prevalence):
    if prevalence is None:
        return quantitative_measures(y, score)
    is_case = (y > 0).astype(float)
    return binary_measures(is_case, score, risk=0.3 + SCALE * score, prevalence=prevalence)


def make_release(folder, *, is_binary, population):
    """Write a bundle with measures, of 0/1 outcomes with constants or of quantitative ones without."""
    rng = np.random.default_rng(4)
    alleles = rng.integers(0, 2, (len(SITES), 2 * N_PEOPLE))
    weights = np.round(rng.normal(0, 0.3, (3, len(SITES))), 3)
    s = weights @ (alleles[:, 0::2] + alleles[:, 1::2])
    Y = s - s.mean(axis=1, keepdims=True) + rng.normal(size=s.shape)
    if is_binary:
        Y = ((Y > 0.5) - PREVALENCE) / SCALE
    Y[1, :20] = np.nan
    constants = -s.mean(axis=1)
    mse, n_known = np.nanmean((Y - s - constants[:, None]) ** 2, axis=1), np.isfinite(Y).sum(axis=1)
    accuracy = [
        {
            "name": name,
            "value": f"R^2 {1 - error / whole:.4f}, mean squared error {error:.4f}",
            "cost": f"none, measured on {n} people of the public reference",
        }
        for name, error, whole, n in zip(OUTCOMES, mse, np.nanmean(Y**2, axis=1), n_known, strict=True)
    ]
    prevalences = [population, *[PREVALENCE if is_binary else None] * 2]
    lines = [
        {"outcome": name} | one._asdict()
        for name, y, score, own in zip(OUTCOMES, Y, s, prevalences, strict=True)
        for one in measures_of(y[np.isfinite(y)], score[np.isfinite(y)], prevalence=own)
    ]
    tables, content = {"measures": pd.DataFrame(lines)}, {"accuracy": accuracy}
    terms = make_terms(rows="people", unit="person")
    if is_binary:
        (folder / "inputs").mkdir()
        given = PublicInput("prevalence of the outcomes", f"{PREVALENCE:g}", "simulated")
        content["public_inputs"] = (
            *make_content(
                folder / "inputs", make_terms(rows="people", unit="person"), **content
            ).public_inputs,
            given,
        )
        tables["scales"] = binary_constants(OUTCOMES, PREVALENCE).assign(population_prevalence=prevalences)
    bundle = make_bundle(
        folder,
        terms=terms,
        weights=weights,
        constants=Constants(constants),
        sums=reference_sums(Y, s),
        content=content,
        tables=tables,
    )
    (folder / "public" / "replicate1").mkdir(parents=True)
    nobody = np.zeros(N_PEOPLE, dtype=bool)
    Outcomes(OUTCOMES, {len(SITES): Y}, {}, nobody, "people").save(folder / "public/replicate1/outcomes.zarr")
    return bundle, alleles


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a function of what outcomes are that gives a bundle, its people and their alleles."""

    @cache
    def make(kind):
        folder = tmp_path_factory.mktemp("made")
        is_binary, population = kind
        bundle, alleles = make_release(folder, is_binary=is_binary, population=population)
        return bundle, folder / "public", alleles

    return make


@pytest.fixture
def release(made, tmp_path, monkeypatch):
    """Return a function of what outcomes are that gives a bundle of its own, and its people."""

    def copy(kind):
        bundle, public, alleles = made(kind)
        variant_set = SimpleNamespace(
            variants=SITES,
            n_haplotypes=2 * N_PEOPLE,
            has_dosages=False,
            haplotypes=lambda block: pack(alleles[block]),
        )
        monkeypatch.setattr(reference_check, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
        return Path(copytree(bundle, tmp_path / "release")), public

    return copy


@pytest.mark.parametrize("kind", [QUANTITATIVE, BINARY, CASE_CONTROL])
def test_verify_release__measures_hold(release, kind):
    bundle, public = release(kind)
    # Of other outcomes the file is what it was before there was such a column.
    assert (kind == CASE_CONTROL) == (
        (bundle / SCALES).exists() and "\tpopulation_prevalence\n" in (bundle / SCALES).read_text()
    )
    assert verify_release(bundle)["accuracy"] == "recomputed"
    assert verify_release(bundle, reference=public)["accuracy"] == "scored"


ANY = {
    "n": (f"{FIRST}n\t200", "height\tn\t199", "the n of height in measures.tsv must be 200"),
    "r2_added": (
        rf"{FIRST}r2_added\t[\d.]+",
        "height\tr2_added\t0.5",
        "the r2_added of height in measures.tsv must follow from accuracy_sums.tsv",
    ),
    "interval": (
        rf"{FIRST}r2_added\t([\d.]+)\t[\d.]+",
        r"height\tr2_added\t\1\t0.99",
        "the r2_added of height in measures.tsv must lie in its interval",
    ),
    "exponent": (
        rf"{FIRST}r2_added\t[\d.]+",
        "height\tr2_added\t1e-3",
        "have cells and numbers as dpgrs writes them",
    ),
    "header": ("^outcome\tmeasure", "measure\toutcome", "must have the columns outcome, measure, value"),
    "outcome left out": (
        r"^height\t.*\n(height\t.*\n)*",
        "",
        "must hold the measures of height that dpgrs gives",
    ),
    "measure left out": (rf"{FIRST}r2_added.*\n", "", "must hold the measures of height that dpgrs gives"),
    "twice": (rf"({FIRST}n.*\n)", r"\1\1", "must hold each measure of height once"),
    "no value": (
        rf"{FIRST}r2_added\t[\d.]+",
        "height\tr2_added\t",
        "must say of height in dpgrs's words why",
    ),
    "a note": (rf"({FIRST}n\t200.*)$", r"\1best ever", "must say of height in dpgrs's words why"),
}
OF_BINARY = {
    "cases": (
        rf"{FIRST}cases\t\d+",
        "height\tcases\t7",
        "the cases of height in measures.tsv must",
    ),
    "liability": (
        rf"{FIRST}r2_liability\t[\d.]+\t[\d.]+\t[\d.]+",
        "height\tr2_liability\t0.6\t0.5\t0.7",
        "the r2_liability of height in measures.tsv must follow from r2_added, the prevalence",
    ),
    "prevalence": (rf"{FIRST}prevalence.*\n", "", "the r2_liability of height in measures.tsv must go with"),
    "another prevalence": (
        rf"{FIRST}prevalence\t0.3",
        "height\tprevalence\t0.2",
        "the prevalence of height in measures.tsv must be 0.3, as in outcome_scales.tsv",
    ),
    "odds": (
        rf"{FIRST}or_per_sd\t",
        "height\tor_per_sd\t-",
        "the or_per_sd of height in measures.tsv",
    ),
    "risk": (r"(height\tcalibration 5.*\t)[\d.]+\t$", r"\1\t", "must have a mean risk"),
}


FORGED = [(kind, *change) for kind in (QUANTITATIVE, BINARY) for change in ANY.values()]
FORGED += [(BINARY, *change) for change in OF_BINARY.values()]


@pytest.mark.parametrize(("kind", "old", "new", "line"), FORGED, ids=[*ANY, *ANY, *OF_BINARY])
def test_verify_release__finds_forged_measures(release, kind, old, new, line):
    bundle, _ = release(kind)
    edit(bundle / MEASURES, old, new)
    seal(bundle)
    with pytest.raises(DpgrsError, match=line):
        verify_release(bundle)


OTHER_PREVALENCE = "the prevalence of height in measures.tsv must be"


@pytest.mark.parametrize(
    ("file", "old", "new", "line"),
    [
        (SCALES, r"\t0\.0123456789$", "\t0.02", f"{OTHER_PREVALENCE} 0.02, as in outcome_scales.tsv"),
        (SCALES, r"\t0\.0123456789$", "\t", f"{OTHER_PREVALENCE} in no line: none is stated"),
        (SCALES, r"\t0\.0123456789$", "\t1.5", "outcome_scales.tsv must have prevalences between 0 and 1"),
        (SCALES, r"\t0\.0123456789$", "", "outcome_scales.tsv must have outcome, centre"),
        (SCALES, "population_prevalence", "prevalence", "outcome_scales.tsv must have outcome, centre"),
        (
            MEASURES,
            rf"{FIRST}prevalence\t0.0123457",
            "height\tprevalence\t0.3",
            f"{OTHER_PREVALENCE} 0.0123457, as in outcome_scales.tsv",
        ),
        (MEASURES, rf"{FIRST}prevalence.*\n", "", f"{OTHER_PREVALENCE} 0.0123457, as in outcome_scales.tsv"),
    ],
)
def test_verify_release__finds_prevalences_that_are_not_those_stated(release, file, old, new, line):
    bundle, _ = release(CASE_CONTROL)
    edit(bundle / file, old, new)
    seal(bundle)
    with pytest.raises(DpgrsError, match=line):
        verify_release(bundle)


def test_verify_release__finds_another_area_on_the_people(release):
    bundle, public = release(BINARY)
    edit(bundle / MEASURES, rf"{FIRST}auc\t[\d.]+\t[\d.]+\t[\d.]+", "height\tauc\t0.9\t0.8\t0.95")
    seal(bundle)
    assert verify_release(bundle)
    with pytest.raises(
        DpgrsError, match=r"the auc of height in measures\.tsv must be that of its weights and"
    ):
        verify_release(bundle, reference=public)


@pytest.mark.parametrize("name", ["auc", "r2_added"])
def test_verify_release__finds_what_is_withheld_without_a_reason_on_the_people(release, name):
    bundle, public = release(BINARY)
    note = "the score or the outcome does not vary, or people are too few"
    edit(bundle / MEASURES, rf"{FIRST}{name}\t.*", f"height\t{name}\t\t\t\t\t{note}")
    edit(bundle / MEASURES, rf"{FIRST}r2_liability\t.*", f"height\tr2_liability\t\t\t\t\t{note}")
    seal(bundle)
    assert verify_release(bundle)
    with pytest.raises(
        DpgrsError, match=rf"the {name} of height in measures\.tsv must be that of its weights"
    ):
        verify_release(bundle, reference=public)


def test_scored_problems__of_few_cases_nothing_is_stated(tmp_path):
    y, score = np.repeat([0.0, 1.0], [31, 9]), np.arange(40.0)
    lines = pd.DataFrame([{"outcome": "a"} | one._asdict() for one in binary_measures(y, score, risk=y)])
    domain = {"data_domain": {"outcomes": ["a"]}, "guarantee": {"rows": "people"}, "public_inputs": []}
    for value, expected in ((np.nan, []), (1.0, ["the auc of a in measures.tsv must be withheld"])):
        lines.loc[lines["measure"] == "auc", ["value", "low", "high"]] = value
        lines.loc[lines["measure"] == "auc", "note"] = "" if value == 1 else lines["note"].iloc[-1]
        lines.to_csv(tmp_path / MEASURES, sep="\t", index=False, float_format="%.6f")
        found = scored_problems(domain, {MEASURES: tmp_path / MEASURES}, y[np.newaxis], score[np.newaxis])
        assert found == expected


@pytest.mark.parametrize("moved", [0.0, 1e-15, -1e-15])
def test_scored_problems__alike_scores_may_be_in_any_order(tmp_path, moved):
    """Of sums that are the same but for the order of their addition the last digits differ."""
    y, score = np.tile([0.0, 1.0], 20), np.repeat(np.arange(5) / 10, 8) + np.tile([0, 0.2, 0.1, 0], 10)
    lines = [{"outcome": "a"} | one._asdict() for one in binary_measures(y, score, risk=y)]
    pd.DataFrame(lines).to_csv(tmp_path / MEASURES, sep="\t", index=False, float_format="%.6f")
    domain = {"data_domain": {"outcomes": ["a"]}, "guarantee": {"rows": "people"}, "public_inputs": []}
    found = [
        scored_problems(domain, {MEASURES: tmp_path / MEASURES}, y[np.newaxis], own[np.newaxis])
        for own in (score + moved * y, score + 0.05 * y)
    ]
    assert found[0] == []
    assert any("the auc of a in measures.tsv must be that of its weights" in line for line in found[1])


def test_verify_release__measures_without_sums(tmp_path):
    lines = [
        {"outcome": name} | one._asdict() for name in OUTCOMES for one in quantitative_measures([1], [2])
    ]
    bundle = make_bundle(tmp_path, tables={"measures": pd.DataFrame(lines)})
    with pytest.raises(DpgrsError, match=r"measures.tsv must be there only beside accuracy_sums.tsv"):
        verify_release(bundle)
