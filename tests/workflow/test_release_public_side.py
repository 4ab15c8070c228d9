"""Releases that take outcomes or genotypes as public: whole, replayed, measured at a charge, refused."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.io.files import file_digest
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.privacy.noise.study_key import VARIABLE
from dpgrs.simulation.cohorts import simulate_cohort
from dpgrs.statement.words import PUBLIC_SIDE
from dpgrs.verify.bundle import verify_release
from forged_releases import edit_statement, seal
from release_studies import APPROVAL, RELEASE, bundle, leave_out, make_key, make_ledger
from study_runs import run

N_PEOPLE = 120
# Genotypes under feature protection as dbGaP gives them, in a folder of its name; tables of its form.
GIVEN = "phs000000.v1.p1.c1.GRU"
DATASET = {"accession": "phs000000", "consent": "c1", "version": "v1.p1", **APPROVAL}
COMMENTS = "# Study accession: phs000000.v1.p1\n# Consent group: c1\n#\n\n##\tphv00000001\tphv00000002\n"
FILES = {"feature": ["outcomes.tsv"], "label": ["cohort/21.vcf.gz", "cohort/22.vcf.gz"]}
SIDES = {"feature": "outcomes", "label": "genotypes"}
# One is measured on people of the reference, for whom nothing is declared, the other at a charge and with
# principal components of these people.
MORE = {
    "feature": {
        "dataset": DATASET,
        "cohort": RELEASE["cohort"] | {"vcf": f"{GIVEN}/{{chrom}}.vcf.gz"},
        "evaluation": {"metrics": "public", "outcomes": "reference.tsv"},
    },
    "label": {"evaluation": {"metrics": "charged", "epsilon": 1}, "covariates": {"pcs": 2}},
}
METHODS = {"feature": "blup", "label": "reusecov-proj"}
OF_LABELS = {"outcome counts", "cross product", "case counts", "accuracy"}
DRAWN = {"feature": {"gram", "cross product"}, "label": OF_LABELS}

pytestmark = pytest.mark.release


def study(folder, protection):
    digests = [file_digest(folder / name) for name in FILES[protection]]
    side, is_one = SIDES[protection], len(digests) == 1
    declared = {side: {"sha256": digests[0] if is_one else digests, "origin": "a public register"}}
    privacy = {"protection": protection, "neighbours": "replace-one", "ledger": f"{protection}.jsonl"}
    table = {"source": "file", "file": "outcomes.tsv", "test_share": 0.2 if protection == "label" else 0}
    own = {"study": protection, "methods": METHODS[protection], "outcomes": table}
    if protection == "label":
        # Of these one is 0/1, whose cases are counted.
        table |= {"file": "cases.tsv", "scales": "scales.tsv"}
        privacy |= {"case_share": 0.05}
    own |= {"privacy": RELEASE["privacy"] | privacy, "public": RELEASE["public"] | declared}
    return RELEASE | own | MORE[protection]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "set again by make_key")
        make_key(folder)
        options = {"chromosomes": ["21", "22"], "people": N_PEOPLE, "length": 100_000, "seed": 5}
        simulate_cohort(folder / "cohort", reference=folder / "reference", reference_people=60, **options)
        shutil.copytree(folder / "cohort", folder / GIVEN)
        rng = np.random.default_rng(7)
        table = pd.DataFrame(rng.normal(size=(N_PEOPLE, 2)), columns=["height", "weight"])
        table.index = pd.Index([f"sim{number:04d}" for number in range(1, N_PEOPLE + 1)], name="sample")
        text = table.mask(rng.random(table.shape) < 0.1).to_csv(sep="\t", na_rep="NA")
        (folder / "outcomes.tsv").write_text(COMMENTS + text)
        cases = table.assign(weight=table["weight"].gt(0).astype(int))
        cases.to_csv(folder / "cases.tsv", sep="\t")
        scales = pd.DataFrame(
            [("height", 0, 1, -9, -9), ("weight", -9, -9, 0.5, 0.1)],
            columns=["outcome", "centre", "scale", "prevalence", "population_prevalence"],
        )
        scales.to_csv(folder / "scales.tsv", sep="\t", index=False)
        others = pd.Index([f"ref{number:04d}" for number in range(1, 61)], name="sample")
        measured = pd.DataFrame(rng.normal(size=(60, 2)), columns=table.columns, index=others)
        measured.to_csv(folder / "reference.tsv", sep="\t")
        for protection in FILES:
            settings = study(folder, protection)
            named = {name: settings["dataset"][name] for name in ("accession", "consent")}
            make_ledger(folder / f"{protection}.jsonl", protection=protection, **named)
            run(folder, settings)
        yield folder


@pytest.mark.parametrize("protection", FILES)
def test_release__is_whole_and_replays_for_nothing(site, protection):
    results, ledger = site / "results" / protection, (site / f"{protection}.jsonl").read_bytes()
    assert verify_release(results / "release")["protection"] == protection
    book = Ledger(site / f"{protection}.jsonl").read()
    assert set(book.outputs) == set(book.requests)
    statement = json.loads((results / "release" / "privacy_statement.json").read_text())
    assert {part["statistic"] for part in statement["mechanisms"]} == DRAWN[protection]
    counted = [(one["outcome"], one["known_sd"] > 0) for one in statement.get("case_counts", ())]
    assert counted == ([("weight", True)] if protection == "label" else [])
    if protection == "label":
        scales = pd.read_csv(results / "release" / "outcome_scales.tsv", sep="\t", index_col="outcome")
        assert scales.loc["weight", ["centre", "population_prevalence"]].tolist() == [0.5, 0.1]
    dataset = study(site, protection)["dataset"]
    assert statement["dataset"]["accession"] == dataset["accession"]
    named = [one for one in statement["public_inputs"] if "of the people of the study" in one["name"]]
    assert [one["value"] for one in named] == sorted(file_digest(site / name) for name in FILES[protection])
    page = (results / "report" / "index.html").read_text()
    covered = {"feature": "outcomes", "label": "genotypes and covariates"}[protection]
    assert f"{covered} count as public" in page
    first = bundle(site, protection)
    shutil.rmtree(results)
    end = run(site, study(site, protection)).stdout
    assert "Replayed: nothing was charged" in end
    assert bundle(site, protection) == first
    assert (site / f"{protection}.jsonl").read_bytes() == ledger


def test_release__label_and_feature_in_one_ledger_are_refused(site):
    same = {name: RELEASE[name] for name in ("dataset", "cohort")}
    other = study(site, "feature") | same | {"study": "other"}
    other["privacy"] = other["privacy"] | {"ledger": "label.jsonl"}
    process = run(site, other, check=False)
    assert process.returncode == 2
    assert "must have an account feature/person/replace-one, got label/person/replace-one" in process.stdout


def test_release__changed_public_files_are_refused_before_any_job(site, tmp_path):
    copy = shutil.copytree(site, tmp_path / "copy", ignore=shutil.ignore_patterns("results"))
    settings = study(copy, "feature")
    table = pd.read_csv(copy / "outcomes.tsv", sep="\t", comment="#")
    table.loc[0, "height"] = 0.125
    table.to_csv(copy / "outcomes.tsv", sep="\t", index=False, na_rep="NA")
    before = (copy / "feature.jsonl").read_bytes()
    process = run(copy, settings, check=False)
    assert process.returncode == 2
    assert "`outcomes.file` must be the file of `public.outcomes.sha256`, got another." in process.stdout
    assert (copy / "feature.jsonl").read_bytes() == before


def test_release__changed_public_genotypes_are_refused_before_the_charge(site, tmp_path):
    """They are noticed by their time, where stores and variant set of the right ones are there."""
    copy = shutil.copytree(site, tmp_path / "copy")
    settings = study(copy, "label")
    before = (copy / "label.jsonl").read_bytes()
    # What would be a new request, and charged.
    shutil.rmtree(copy / "results" / "label" / "release")
    leave_out(copy, "sim0001", chromosomes=["21", "22"])
    process = run(copy, settings | {"dataset": settings["dataset"] | {"version": "2"}}, check=False)
    assert process.returncode == 1
    assert (
        "Genotypes must be of the files of `public.genotypes.sha256`, got another: 21.vcf.gz."
        in process.stdout
    )
    assert (copy / "label.jsonl").read_bytes() == before


@pytest.mark.parametrize("protection", FILES)
def test_verify_release__a_statement_that_claims_more_is_refused(site, tmp_path, protection):
    other = "label" if protection == "feature" else "feature"
    side, others = PUBLIC_SIDE[protection], PUBLIC_SIDE[other]
    for number, (keys, value, reason) in enumerate(
        [
            (("guarantee", "protection"), "full", f"must not hold {side} under full protection"),
            (("guarantee", "protection"), other, f"must hold {others}, each file by its SHA-256"),
            (
                ("guarantee", "neighbours"),
                "add-remove",
                f"neighbours must be replace-one under {protection} protection, got add-remove",
            ),
            (("public_inputs",), None, f"must hold {side}, each file by its SHA-256"),
            (("not_protected",), ["Relatives."], f"that of every release under {protection} protection"),
        ]
    ):
        forged = shutil.copytree(site / "results" / protection / "release", tmp_path / str(number))
        if value is None:
            stated = json.loads((forged / "privacy_statement.json").read_text())["public_inputs"]
            value = [one for one in stated if "of the people of the study" not in one["name"]]
        edit_statement(forged, keys, value)
        seal(forged)
        with pytest.raises(DpgrsError, match="must not be trusted") as error:
            verify_release(forged)
        assert reason in str(error.value)
