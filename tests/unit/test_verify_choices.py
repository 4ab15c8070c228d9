"""The check of a release that chose in private: both counters, and files of chosen variants alone."""

import json
from dataclasses import replace

import numpy as np
import pytest

from audit_data import STATISTICS, make_finding
from dpgrs.errors import DpgrsError
from dpgrs.release.audits import summarise_audits
from dpgrs.release.bundle import write_bundle
from dpgrs.release.pgs_catalog import site_digest
from dpgrs.release.statement import build_statement
from dpgrs.statement.content import PublicInput
from dpgrs.verify.bundle import verify_release
from forged_releases import STATEMENT, edit, edit_statement, seal
from release_choices import (
    CHOSEN,
    allow_laplace,
    chosen_content,
    make_choice,
    make_chosen_release,
    make_laplace,
)
from release_data import OUTCOMES, PROVENANCE, SITES, make_bundle, make_content, make_scores, make_terms

SCORE, ERRORS = "scores/height.txt.gz", "standard_errors/height.tsv.gz"


@pytest.fixture
def release(tmp_path, monkeypatch):
    numbers = ("carriers", "more carriers")
    allow_laplace(monkeypatch, *numbers)
    laplace = [(make_laplace(statistic=name), None) for name in numbers]
    return make_chosen_release(tmp_path / "study", more=laplace)["bundle"]


@pytest.mark.parametrize("unit", ["haplotype", "person"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_verify_release__chosen_variants(tmp_path, unit, neighbours):
    terms = make_terms(unit=unit, neighbours=neighbours)
    bundle = make_chosen_release(tmp_path / "study", terms=terms)["bundle"]
    report = verify_release(bundle)
    assert (report["epsilon"], report["n_variants"], report["n_chosen"]) == ("1.75", 8, 3)
    stated = json.loads((bundle / STATEMENT).read_text())["scores"]
    assert [score["n_variants"] for score in stated] == [3, 3, 3]
    assert [score["site_digest"] for score in stated] == [site_digest(SITES.iloc[rows]) for rows in CHOSEN]


def test_verify_release__laplace_noise_beside_choices(release):
    assert verify_release(release)["n_chosen"] == 3


def test_verify_release__no_chosen_variants_no_number(tmp_path):
    assert "n_chosen" not in verify_release(make_bundle(tmp_path))


def test_verify_release__epsilons_that_are_no_short_decimal(tmp_path):
    bundle = make_chosen_release(tmp_path / "study", choice=make_choice(epsilon=0.1))["bundle"]
    assert verify_release(bundle)["epsilon"] == "1.300000001"


NUMBERS = [
    (["mechanisms", 1, "epsilon"], "0.2", "pure_epsilon = the sum"),
    (["mechanisms", 1, "epsilon"], "0.3", "pure_epsilon = the sum"),
    (["mechanisms", 1, "epsilon"], "0." + "0" * 4400 + "1", r"statement.json: mechanisms\[1\].epsilon"),
    (["mechanisms", 1, "epsilon"], "2", "per_outcome must have an epsilon of at least its pure part"),
    (["mechanisms", 1, "epsilon"], "0.75", "per_outcome must cover"),
    (["mechanisms", 1, "n_choices"], 2, "height.txt.gz must hold variants of a choice among all 8, got 3"),
    (["mechanisms", 1, "n_choices"], 9, "n_choices of at most its entries, got 9"),
    (["mechanisms", 1, "entries"], 9, "a choice must be among all 8 sites of the data domain, got 9"),
    (["mechanisms", 1, "entries"], 7, "a choice must be among all 8 sites of the data domain, got 7"),
    (["mechanisms", 1, "outcome"], "größe", "height.txt.gz must hold variants of a choice"),
    (["mechanisms", 1, "outcome"], "weight", "a mechanism must serve an outcome of the release or all"),
    (["mechanisms", 1, "mechanism"], "subset", r"mechanisms\[1\].noise"),
    (["mechanisms", 1, "mechanism"], "gaussian", "'sigma' is a required property"),
    (["mechanisms", 1, "share"], "0.3", "correlations must have share = epsilon over the sum"),
    (["mechanisms", 1, "unit"], "person", "unit of the guarantee"),
    (["mechanisms", 1, "neighbours"], "replace-one", "neighbours of the guarantee"),
    (["mechanisms", 1, "source"], "benchmark", r"mechanisms\[1\].source"),
    (["mechanisms", 1, "request"], None, r"mechanisms\[1\].request"),
    (["mechanisms", 10, "scale"], "30", "epsilon = sensitivity/scale"),
    (["mechanisms", 10, "epsilon"], "0.3", "epsilon = sensitivity/scale"),
    (["mechanisms", 10, "share"], "0.4", "carriers must have share"),
    (["mechanisms", 0, "share"], "0.2", r"share = mu\^2 over the sum"),
    (["guarantee", "pure_epsilon"], "1", "pure_epsilon = the sum over its mechanisms without a delta, got 1"),
    (["guarantee", "pure_epsilon"], "2", "pure_epsilon = the sum"),
    (["guarantee", "epsilon"], "1.5", "the guarantee must cover"),
    (["guarantee", "epsilon"], "1", "the guarantee must have an epsilon of at least its pure part"),
    (["guarantee", "person", "epsilon"], "3.4", "the loss of a person must cover"),
    (["guarantee", "person", "epsilon"], "2", "the loss of a person must have an epsilon of at least"),
    (["composition", "per_outcome", "epsilon"], "1.5", "per_outcome must cover"),
    (["composition", "whole_study", "epsilon"], "2.4", "whole_study must cover"),
    (["ledger", "spent", "pure_epsilon"], "1.4", "ledger.spent must be at least"),
    (["ledger", "spent", "epsilon"], "2.4", "ledger.spent must cover"),
    (["data_domain", "n_variants"], 7, "a choice must be among all 7 sites of the data domain, got 8"),
    (["scores", 0, "n_variants"], 2, "variants_number must be 2"),
    (["scores", 0, "n_variants"], 2, "must hold as many variants as the other"),
    (["scores", 0, "site_digest"], "a" * 64, "sites must be those of the statement's site_digest"),
]


@pytest.mark.parametrize(("keys", "value", "message"), NUMBERS, ids=lambda part: str(part)[:40])
def test_verify_release__forged_choices(release, keys, value, message):
    edit_statement(release, keys, value)
    seal(release)
    with pytest.raises(DpgrsError, match=message):
        verify_release(release)


def change(folder, edit_content):
    content = json.loads((folder / STATEMENT).read_text())
    edit_content(content)
    (folder / STATEMENT).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    seal(folder)


def leave_out_pure_part(content):
    del content["guarantee"]["pure_epsilon"]


def leave_out_choice(content):
    content["mechanisms"].pop(1)


def share_a_choice(content):
    """Pretend that one choice gave the variants of all outcomes, to hide what the others cost."""
    content["mechanisms"][1]["outcome"] = None
    del content["mechanisms"][2:4]


def leave_out_variants(content):
    for score in content["scores"]:
        del score["n_variants"], score["site_digest"]


def leave_out_variants_of_one(content):
    del content["scores"][1]["n_variants"], content["scores"][1]["site_digest"]


def say_all(content):
    """Pretend that all sites were chosen."""
    for part in content["mechanisms"][1:4]:
        part["n_choices"] = 8
    for score in content["scores"]:
        score["n_variants"] = 8


@pytest.mark.parametrize(
    ("edit_content", "message"),
    [
        (leave_out_pure_part, "pure_epsilon = the sum over its mechanisms without a delta, got 0"),
        (leave_out_choice, "height.txt.gz must hold variants of a choice"),
        (leave_out_choice, "pure_epsilon = the sum"),
        (share_a_choice, "LDL_HDL_ratio.txt.gz must hold the variants of scores/height.txt.gz: they share"),
        (leave_out_variants, "variants_number must be 8"),
        (leave_out_variants_of_one, "LDL_HDL_ratio.txt.gz must hold as many variants as the other"),
        (say_all, "height.txt.gz must hold all sites of the data domain"),
        (say_all, "variants_number must be 8"),
    ],
)
def test_verify_release__forged_statement_of_choices(release, edit_content, message):
    change(release, edit_content)
    with pytest.raises(DpgrsError, match=message):
        verify_release(release)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (SCORE, r"^#variants_number=3", "#variants_number=8", "variants_number must be 3"),
        (SCORE, "^22\t200\t", "22\t201\t", "site_digest"),
        (SCORE, r"^X\t5\t.*\n", "", "variants_number must be 2"),
        (SCORE, r"^(X\t5\t.*\n)", r"\1X\t6\tG\tA\t0.5\n", "site_digest"),
        (
            SCORE,
            r"\n\Z",
            "\n" + "".join(f"X\t{place}\tG\tA\t0.5\n" for place in range(6, 12)),
            "no more variants than the data domain",
        ),
    ],
)
def test_verify_release__forged_file_of_chosen_variants(release, name, old, new, message):
    edit(release / name, old, new)
    seal(release)
    with pytest.raises(DpgrsError, match=message):
        verify_release(release)


@pytest.mark.parametrize(
    ("old", "new"), [("^X\t5\tG\tA", "X\t6\tG\tA"), (r"^X\t5\t.*\n", "")], ids=["other", "fewer"]
)
def test_verify_release__forged_standard_errors_of_chosen_variants(tmp_path, old, new):
    release = make_chosen_release(tmp_path / "study", errors=True)["bundle"]
    edit(release / ERRORS, old, new)
    seal(release)
    with pytest.raises(DpgrsError, match="its sites must be those of the score"):
        verify_release(release)


def test_verify_release__a_draw_of_another_name_is_no_choice(tmp_path):
    """A forger chooses one variant, sums up that one, and has another draw stand in for three of them."""
    extra = replace(make_choice(n_choices=1, epsilon=2.0**-20), statistic="extra")
    terms, content = chosen_content(n_chosen=1, more=[(extra, name) for name in OUTCOMES])
    found = make_content(tmp_path, terms, **content)
    events = [one | ({"n_choices": 3} if one["statistic"] == "extra" else {}) for one in found.events]
    more = PublicInput("variants to choose for an outcome", "3", "a public panel")
    statement = build_statement(
        replace(found, events=tuple(events), public_inputs=(*found.public_inputs, more))
    )
    weights = np.zeros((len(OUTCOMES), len(SITES)))
    np.put_along_axis(weights, CHOSEN, 0.5, axis=1)
    scores = make_scores(terms=terms, weights=weights, chosen=CHOSEN)
    write_bundle(tmp_path / "release", scores=scores, statement=statement, provenance=PROVENANCE)
    with pytest.raises(DpgrsError) as caught:
        verify_release(tmp_path / "release")
    lines = str(caught.value)
    assert "the mechanisms must hold no draws but those of k-blup, got extra (choice)" in lines
    assert "height.txt.gz must hold variants of a choice among all 8, got 3" in lines
    assert "and the mechanisms must have the same variants to choose" in lines


def test_verify_release__all_variants_of_a_method_that_chooses(tmp_path):
    """Those that nobody chose are in no sum, whatever their weights are."""
    terms, content = chosen_content()
    folder = make_bundle(tmp_path, terms=terms, content=content)
    with pytest.raises(DpgrsError, match="must hold variants of a choice among all 8, got all"):
        verify_release(folder)


def test_verify_release__audits_cover_the_choice(tmp_path):
    statistics = (*STATISTICS, "Kendall's correlations")
    findings = [make_finding(name) for name in STATISTICS]
    findings.append(make_finding(statistics[-1], loss="epsilon", claimed=2.0))
    audit = summarise_audits(findings, statistics=statistics, draws=500, seed=1)
    assert audit["mechanisms"][-1]["mechanism"] == "private_kendall"
    bundle = make_chosen_release(tmp_path / "study", content={"audit": audit})["bundle"]
    assert verify_release(bundle)
    edit_statement(bundle, ["audit"], audit | {"mechanisms": audit["mechanisms"][:-1]})
    seal(bundle)
    with pytest.raises(DpgrsError, match="audit must cover private_kendall"):
        verify_release(bundle)
