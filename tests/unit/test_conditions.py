"""What the existence of a release reveals: conditions with all thresholds, and the checks that can be off."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.io.tables import phenotypes
from dpgrs.io.tables.outcome_scales import constants_of, read_scales
from dpgrs.io.tables.people_counts import PeopleCount
from dpgrs.io.tables.phenotypes import standardise
from dpgrs.preflight.checks import check
from dpgrs.statement import conditions as words
from dpgrs.statement.conditions import CheckedFile, Condition, conditions
from dpgrs.statement.words import OF_FIXED_SITES
from dpgrs.study.checked_data import check_inputs, conditions_ahead
from dpgrs.study.outcome_table import OutcomeTable
from dpgrs.study.settings import resolve
from dpgrs.types import TableCheck
from dpgrs.verify.input_check import INPUTS
from forged_releases import STATEMENT, edit_statement, finding_of
from refusals import KNOWN, listed, refusals
from release_data import make_bundle

TERMS = {"protection": "full", "rows": "people"}
ALL = ", ".join(TableCheck)
TABLES = {words.CHECKED_FILES: "genotypes, table of outcomes", words.CHECKS: ALL, words.LEAST_SHARE: "0.5"}


def test_thresholds__are_those_that_the_checks_refuse_by():
    names = ("LARGEST_MEAN", "SMALLEST_SD", "LARGEST_SD", "MOST_PEOPLE", "MOST_VALUES")
    assert [getattr(phenotypes, name) for name in names] == [getattr(words, name) for name in names]
    assert phenotypes.FEWEST_OBSERVED == words.FEWEST_VALUES


def test_conditions__hold_every_threshold():
    text = " ".join(conditions(TABLES, **TERMS).values())
    for threshold in ("0.5", "10 people", "-0.5 to 0.5", "0.6 to 2.5", "5,000,000 people", "at least 2"):
        assert threshold in text


def test_conditions__are_of_the_checks_that_a_release_has():
    every = set(Condition)
    none = conditions({}, **TERMS)
    assert list(none) == [Condition.SAME_DATA, Condition.RESOURCES]
    found = set(conditions(TABLES, **TERMS))
    others = {words.CHECKED_FILES: ", ".join(CheckedFile), words.CHECKS: ALL, words.LEAST_SHARE: "0.1"}
    assert found < set(conditions(others, protection="label", rows="haplotypes")) == every
    assert "phased" in conditions(TABLES, protection="full", rows="haplotypes")[Condition.CALLS]
    assert "phased" not in conditions(TABLES, **TERMS)[Condition.CALLS]
    assert "exactly one" in conditions(TABLES | dict([words.DOSAGES_INPUT]), **TERMS)[Condition.PUBLIC_SITES]
    fixed = conditions(TABLES | dict([words.FIXED_SITES_INPUT]), **TERMS)
    assert "of no other alleles than its two" in fixed[Condition.PUBLIC_SITES]
    assert fixed[Condition.ALLELES] == "Positions agreed with the stated build."


@pytest.mark.parametrize(
    ("files", "condition", "sentence"),
    [
        (["public reference"], Condition.REFERENCE, None),
        (["genotypes"], Condition.REFERENCE, None),
        (
            ["genotypes", "public reference"],
            Condition.REFERENCE,
            "No sample id of the cohort was in the public reference.",
        ),
        (
            ["table of covariates"],
            Condition.VALUES,
            "Each covariate was known for at least 0.5 of the people with genotypes, and for at least 10 "
            "people.",
        ),
        (
            ["table of outcomes", "table of covariates"],
            Condition.VALUES,
            "Each outcome and covariate was known for at least 0.5 of the people with genotypes, and for at "
            "least 10 people.",
        ),
        (
            ["genotypes", "table of outcomes"],
            Condition.SHARED_PEOPLE,
            "At least 0.5 of the people with genotypes were in the table of outcomes, and at least 0.5 of "
            "the people of each table had genotypes.",
        ),
        (["genotypes"], Condition.PUBLISHED, "The genotype files were the published ones."),
    ],
)
def test_conditions__are_these_sentences(files, condition, sentence):
    inputs = TABLES | {words.CHECKED_FILES: ", ".join(files), words.LEAST_SHARE: "0.5"}
    assert conditions(inputs, protection="label", rows="people").get(condition) == sentence


@pytest.mark.parametrize("off", ["people", "values", "scale", "binary"])
def test_conditions__a_check_that_is_off_is_no_condition(off):
    condition = {"people": Condition.SHARED_PEOPLE}.get(off) or Condition[off.upper()]
    checks = [check for check in TableCheck if check != off]
    found = conditions(TABLES | {words.CHECKS: ", ".join(checks)}, **TERMS)
    assert set(conditions(TABLES, **TERMS)) - set(found) == {condition}


def settings_of(**outcomes):
    cohort = {"source": "vcf", "vcf": "absent{chrom}.vcf", "chromosomes": ["1"]}
    outcomes = {"source": "file", "file": "absent.tsv", "count": None} | outcomes
    return resolve({"mode": "release", "cohort": cohort, "outcomes": outcomes})


def test_check_inputs__are_the_settings():
    found = {one.name: one.value for one in check_inputs(settings_of(least_share=0.1))}
    assert found == TABLES | {words.LEAST_SHARE: "0.1"}
    found = {one.name: one.value for one in check_inputs(settings_of(checks=["scale"]))}
    assert found == {words.CHECKED_FILES: "genotypes, table of outcomes", words.CHECKS: "scale"}
    found = {one.name: one.value for one in check_inputs(settings_of(checks=[]))}
    assert found[words.CHECKS] == "none"
    fixed = settings_of().changed(cohort={"source": "plink", "fixed_sites": True})
    assert "Positions agreed with the stated build." in conditions_ahead(fixed)
    (only,) = check_inputs(resolve({"mode": "release"}))
    assert only.value == words.NO_FILES


def test_people_count__without_checks_refuses_nothing():
    count = PeopleCount("outcome", ["a", "b"])
    count.add(pd.DataFrame({"y": [np.nan]}, index=["c"]))
    assert "must share sample ids" in count.problem(0.5, shows_ids=False)
    few = count.problem(0.5, shows_ids=False, checks=["values"])
    assert "must have values for at least 0.5" in few
    assert count.problem(0.5, shows_ids=False, checks=["scale"]) is None


def make_outcomes(folder, *, checks):
    """Read a column of centimetres and one of cases that is not 0/1, of few people in common."""
    lines = [f"p{number}\t{170 + number}\t{number % 3}" for number in range(12)]
    (folder / "y.tsv").write_text("\n".join(["sample\tcm\tcase", *lines]) + "\n")
    (folder / "s.tsv").write_text("outcome\tcentre\tscale\tprevalence\ncm\t0\t1\t\ncase\t\t\t0.3\n")
    people = np.array([f"p{number}" for number in range(30)])
    options = {"count": None, "scales": folder / "s.tsv", "public_digest": None, "least_share": 0.5}
    return OutcomeTable(
        folder / "y.tsv", people, checks=checks, counts=None, is_release=True, folder=folder, **options
    )


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        (["people"], "must share at least 0.5"),
        (["values"], "must have values for at least 0.5"),
        (["scale"], "of mean 0 and standard deviation 1"),
        (["binary"], "must hold 0 and 1 alone"),
    ],
)
def test_outcome_table__each_check_can_be_off(tmp_path, checks, said):
    with pytest.raises(DpgrsError, match=said):
        make_outcomes(tmp_path, checks=checks)
    table = make_outcomes(tmp_path, checks=[])
    assert np.isfinite(table.of_people(slice(0, 30))).sum() == 24


def test_standardise__values_of_a_binary_column_without_the_check(tmp_path):
    (tmp_path / "s.tsv").write_text("outcome\tprevalence\ncase\t0.5\n")
    table = pd.DataFrame({"case": [2.0]})
    scales = constants_of(["case"], read_scales(tmp_path / "s.tsv"), path="s.tsv")
    assert standardise(table, scales, requires_binary=False)["case"].tolist() == [3.0]


def test_check__operator_is_told_before_any_count(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("y.tsv").write_text("sample\ty\na\t1\n")
    told = []
    raw = {"mode": "release", "outcomes": {"source": "file", "file": "y.tsv", "count": None}}
    with pytest.raises(DpgrsError):
        check(raw, tell=told.append)
    n_checks = len(conditions_ahead(resolve(raw)))
    assert told[0].startswith(
        f"{n_checks} checks read private data. That a release exists reveals that its data"
    )
    assert "people with genotypes" not in told[0]
    told = []
    check(raw | {"mode": "benchmark"}, tell=told.append)
    assert not any("checks read private data" in line for line in told)


@pytest.fixture
def bundle(tmp_path):
    return make_bundle(tmp_path)


def test_statement__conditions_are_in_statement_text_and_registry(bundle):
    statement = json.loads((bundle / STATEMENT).read_text())
    stated = list(conditions(TABLES, protection="full", rows="haplotypes").values())
    assert statement["conditions"] == stated
    assert "among data sets that meet the conditions of this release" in statement["guarantee"]["definition"]
    text = " ".join((bundle / "privacy_statement.txt").read_text().split())
    assert "What the existence of this release reveals" in text
    record = " ".join((bundle / "registry.yaml").read_text().split())
    for sentence in stated:
        assert sentence in text
        assert sentence.split(":")[0] in record


FILES = "genotypes, table of outcomes"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (words.LEAST_SHARE, "0.1", "the conditions must be what the public inputs"),
        (words.CHECKS, "scale", "must not name the least share"),
        (words.CHECKS, "scale, people", "must be of those that dpgrs has"),
        (words.CHECKED_FILES, "genotypes", "must not name the checks of tables"),
        (words.CHECKED_FILES, "genotypes, lists of people, table of outcomes", "of those that dpgrs has"),
        (words.CHECKED_FILES, f"{FILES}, lists of people", "name the choice of people"),
        (words.CHECKED_FILES, f"{FILES}, table of covariates", "table of covariates if and only if"),
    ],
)
def test_verify__conditions_are_made_anew(bundle, name, value, message):
    statement = json.loads((bundle / STATEMENT).read_text())
    (place,) = [n for n, one in enumerate(statement["public_inputs"]) if one["name"] == name]
    edit_statement(bundle, ("public_inputs", place, "value"), value)
    assert re.search(message, finding_of(bundle))


FIXED = dict(zip(("name", "value"), words.FIXED_SITES_INPUT, strict=True)) | {
    "origin": "stated by the curator"
}


def test_verify__fixed_sites_are_told_with_what_they_rest_on(bundle):
    statement = json.loads((bundle / STATEMENT).read_text())
    inputs = [*statement["public_inputs"], FIXED]
    inputs.sort(key=lambda public: [*INPUTS].index(public["name"]))
    edit_statement(bundle, ("public_inputs",), inputs)
    assert "the assumptions must be what the terms and draws say" in finding_of(bundle)
    edit_statement(bundle, ("assumptions",), [*statement["assumptions"], OF_FIXED_SITES])
    assert "the conditions must be what the public inputs and the terms say" in finding_of(bundle)


def test_verify__a_condition_left_out(bundle):
    statement = json.loads((bundle / STATEMENT).read_text())
    edit_statement(bundle, ("conditions",), statement["conditions"][1:])
    assert "the conditions must be what the public inputs and the terms say" in finding_of(bundle)


def test_verify__a_statement_of_another_format_names_the_program_that_checks_it(bundle):
    edit_statement(bundle, ("format_version",), 2)
    assert "Check the bundle with the program that made it: dpgrs 0.1, commit 000" in finding_of(bundle)


def test_refusals__each_that_a_private_step_can_raise_names_its_condition():
    table = listed((Path(__file__).parents[1] / "refusals.tsv").read_text())
    raised = refusals()
    assert len(raised) > 100
    new = [f"{module}: {function}" for module, function in raised if (module, function) not in table]
    assert new == [], "Add a line with its condition to tests/refusals.tsv, or `no private data`."
    changed = [
        f"{module}: {function} has {raised[module, function]}, not {number}"
        for (module, function), (number, _) in table.items()
        if raised[module, function] != number
    ]
    assert changed == [], "Judge the new refusal, and correct the number in tests/refusals.tsv."
    assert {condition for _, said in table.values() for condition in said} <= KNOWN


def test_refusals__every_condition_is_one_that_something_refuses_by():
    table = listed((Path(__file__).parents[1] / "refusals.tsv").read_text())
    by_table = {condition for _, said in table.values() for condition in said}
    # Of calls and of the public reference the readers and the checks before any job refuse.
    assert {*Condition} - by_table == {Condition.CALLS, Condition.REFERENCE}
