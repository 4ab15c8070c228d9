"""What a statement says twice must agree, and what it must say it must say once."""

import json
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.io.tables.outcome_scales import binary_constants, scales_digest
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.release.bundle import write_bundle
from dpgrs.statement.content import PublicInput
from dpgrs.statement.schema import REQUIRED_INPUTS
from dpgrs.statement.words import ORIGIN_OF_ROWS
from dpgrs.verify.bundle import verify_release
from dpgrs.verify.draw_check import MOMENT_NORM
from dpgrs.verify.entry_check import ROW_NORM, STATED
from dpgrs.verify.input_check import (
    GIVING_ERRORS,
    INPUTS,
    MEASURED_ON,
    OF_EFFECTS,
    OUTCOME_NORM,
    PUBLIC_LD,
    input_problems,
)
from forged_releases import STATEMENT, edit, seal
from release_choices import make_chosen_statement
from release_data import (
    OUTCOMES,
    PROVENANCE,
    SITES,
    as_written,
    make_bundle,
    make_content,
    make_scores,
    make_statement,
    make_terms,
)

DIGEST, OTHER = "a" * 64, "b" * 64
COUNTED, ROWS = "whether outcomes may be missing", "number of rows"


@pytest.fixture(scope="module")
def stated(tmp_path_factory):
    return json.dumps(make_statement(tmp_path_factory.mktemp("ledger")))


def with_inputs(statement, named):
    """Put other values in the place of the public inputs of these names, or leave them out."""
    kept = [one for one in statement["public_inputs"] if one["name"] not in named]
    is_feature = statement["guarantee"]["protection"] == "feature"
    of_norm = "the largest there is of the public outcomes" if is_feature else "chosen in the configuration"
    origins = {name: origin or "a public panel" for name, (_, origin) in INPUTS.items()}
    origins |= {OUTCOME_NORM: of_norm, ROWS: ORIGIN_OF_ROWS[statement["guarantee"]["neighbours"]]}
    new = [
        {"name": name, "value": value, "origin": origins.get(name, "a paper")}
        for name, values in named.items()
        for value in values
    ]
    place = [*INPUTS, OF_EFFECTS].index
    inputs = sorted(kept + new, key=lambda one: place(one["name"] if one["name"] in INPUTS else OF_EFFECTS))
    return statement | {"public_inputs": inputs}


def with_fit(statement, **changed):
    return statement | {"fit": statement["fit"] | changed}


FORGED = [
    *(({name: []}, f"must name the {name} once") for name in (*REQUIRED_INPUTS, "outcome names")),
    ({"seed": ["1", "1"]}, "must name the seed once"),
    ({"site list": [DIGEST]}, "and the data domain must have the same site list"),
    ({"outcome names": ["2"]}, "and the data domain must have the same outcome names"),
    ({COUNTED: ["counted"]}, f"and the data domain must have the same {COUNTED}"),
    ({COUNTED: []}, f"and the data domain must have the same {COUNTED}"),
    ({"lambda": ["0.3"]}, "and the fit must have the same lambda"),
    ({"lambda": []}, "and the fit must have the same lambda"),
    ({"lambda": ["0.2", "0.2"]}, "and the fit must have the same lambda"),
    ({"heritability": ["0.5"]}, "and the fit must have the same heritability"),
    ({PUBLIC_LD: [DIGEST]}, f"and the fit must have the same {PUBLIC_LD}"),
    ({"effects of height.txt": [DIGEST]}, "and the fit must have the same effects of"),
    (
        {"variants to choose for an outcome": ["3"]},
        "and the mechanisms must have the same variants to choose",
    ),
    ({ROWS: ["not released"]}, f"the {ROWS} must be as dpgrs writes it, got not released"),
    ({ROWS: ["0"]}, f"the {ROWS} must be as dpgrs writes it, got 0"),
]


@pytest.mark.parametrize(("inputs", "line"), FORGED)
def test_input_problems__finds_public_inputs_that_are_not_what_the_rest_says(stated, inputs, line):
    statement = json.loads(stated)
    assert input_problems(statement) == []
    found = input_problems(with_inputs(statement, inputs))
    assert line in found[0]
    # What is needed and says something is missing in both ways.
    assert len(found) == 1 + ([*inputs.values()] == [[]] and inputs.keys() <= {"site list", "outcome names"})


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_input_problems__a_public_number_of_rows_is_not_said_to_be_noisy(tmp_path, neighbours):
    statement = make_statement(tmp_path, make_terms(neighbours=neighbours))
    assert input_problems(statement) == []
    for one in statement["public_inputs"]:
        if one["name"] == ROWS:
            one["origin"] = next(other for key, other in ORIGIN_OF_ROWS.items() if key != neighbours)
    (line,) = input_problems(statement)
    assert line.startswith(f"the origin of the {ROWS} must be `{ORIGIN_OF_ROWS[neighbours]}`, got `")


def test_input_problems__rules_of_lambda_are_those_there_are(stated):
    statement = json.loads(stated)
    assert input_problems(with_inputs(with_fit(statement, lambda_from="evidence"), {"lambda": []})) == []
    (line,) = input_problems(with_inputs(with_fit(statement, lambda_from="none"), {"lambda": []}))
    assert line == "fit.lambda_from must be one of fixed, adassp, evidence, got none"


def test_input_problems__whether_outcomes_were_counted_cannot_be_left_out(stated):
    """Without the key a check would take none as counted."""
    statement = json.loads(stated)
    del statement["data_domain"]["missing_outcomes"]
    for inputs in ({}, {COUNTED: []}):
        (line,) = input_problems(with_inputs(statement, inputs))
        assert line.endswith(f"and the data domain must have the same {COUNTED}")


def test_input_problems__bound_of_clipped_rows(stated):
    statement = json.loads(stated)
    norms, lack = {ROW_NORM: ["1.25"], OUTCOME_NORM: ["2"]}, "the public inputs must name the {} once"
    both = with_inputs(statement, norms)
    assert input_problems(both) == []
    for name in norms:
        assert input_problems(with_inputs(both, {name: []})) == [lack.format(name)]
    own = with_inputs(both, {OUTCOME_NORM: [], "lambda": []})
    assert input_problems(own | {"method": "k-blup"}) == []
    # The grid tells, whatever a forger leaves out: of X'X, of X'Y alone, and of turned rows by the method.
    for draw, grid in ((1, 2.0**-24), (2, 2.0**-28)):
        finer = json.loads(stated)
        finer["mechanisms"][draw]["grid"] = f"{Decimal(grid):f}"
        assert input_problems(finer) == [lack.format(name) for name in norms]
        finer["mechanisms"][draw]["proof"] = "docs/proofs/gram.md"
        assert input_problems(with_inputs(finer, norms)) == []
    assert input_problems(with_inputs(finer, {"lambda": []}) | {"method": "blup-steered"}) == []
    turned = with_fit(with_inputs(statement, {"lambda": [], PUBLIC_LD: [DIGEST]}), ld=DIGEST)
    assert input_problems(turned | {"method": "blup-ld"}) == [lack.format(name) for name in norms]


def test_input_problems__public_outcomes_have_a_norm_of_their_own(stated):
    statement = json.loads(stated)
    statement["guarantee"]["protection"] = "feature"
    assert input_problems(statement) == [f"the public inputs must name the {OUTCOME_NORM} once"]
    assert input_problems(with_inputs(statement, {OUTCOME_NORM: ["2"]})) == []


def test_input_problems__numbers_of_choices(tmp_path):
    statement = make_chosen_statement(tmp_path)
    assert input_problems(statement) == []
    named = "variants to choose for an outcome"
    assert input_problems(with_inputs(statement, {named: ["4"]}))
    # As many for every outcome.
    statement["mechanisms"][1]["n_choices"] = 4
    (line,) = input_problems(with_inputs(statement, {named: ["3", "4"]}))
    assert line.endswith(f"and the mechanisms must have the same {named}")


def test_input_problems__public_genotypes_are_named_where_they_stand_for_a_draw(stated):
    def found(method, named, **fit):
        statement = with_fit(json.loads(stated), **fit) | {"method": method}
        norms = {ROW_NORM: ["1.25"], OUTCOME_NORM: ["2"]}
        return input_problems(with_inputs(statement, {"lambda": [], PUBLIC_LD: named} | norms))

    assert found("blup", []) == found("blup-ld", [DIGEST], ld=DIGEST) == []
    for forged in (
        found("blup-ld", []),
        found("blup-ld", [], ld=DIGEST),
        found("blup-ld", [DIGEST]),
        found("blup-ld", [OTHER], ld=DIGEST),
        found("blup-ld", [DIGEST, DIGEST], ld=DIGEST),
        found("blup", [DIGEST], ld=DIGEST),
        found("blup", [], ld=DIGEST),
        found("blup-hedged", []),
    ):
        assert forged == [f"the public inputs and the fit must have the same {PUBLIC_LD}"]


def test_input_problems__effects_are_those_of_the_fit(stated):
    def found(named, *, method="blup", **fit):
        statement = with_fit(json.loads(stated), **fit) | {"method": method}
        inputs = {f"effects of {name}": [digest] for name, digest in named}
        return input_problems(with_inputs(statement, {"lambda": []} | inputs))

    both = {"effects": [DIGEST, OTHER], "effect_names": ["height.txt", "all.txt"]}
    right = [("height.txt", DIGEST), ("all.txt", OTHER)]
    assert found([]) == found(right, **both) == []
    for forged in (
        found([], **both),
        found(right[:1]),
        found(right[:1], **both),
        found([("height.txt", OTHER), ("all.txt", DIGEST)], **both),
        found(right[::-1], **both),
        found([*right, ("more.txt", DIGEST)], **both),
        found(right[:1], effects=[DIGEST]),
        found(right[:1], effect_names=["height.txt"]),
        found(right[:1], effects=[DIGEST, OTHER], effect_names=["height.txt"]),
        found(right, method="blup-shared", **both),
    ):
        assert forged == ["the public inputs and the fit must have the same effects of"]


@pytest.fixture(scope="module")
def with_errors(tmp_path_factory):
    folder = make_bundle(tmp_path_factory.mktemp("errors"), standard_errors=np.ones((3, len(SITES))))
    verify_release(folder)
    return (folder / STATEMENT).read_text()


@pytest.mark.parametrize("method", methods_that("may_be_released"))
def test_input_problems__standard_errors_of_methods_that_give_them(with_errors, method):
    statement = json.loads(with_errors) | {"method": method}
    fit = {"ld": DIGEST} if METHODS[method].takes_ld else {}
    inputs = {PUBLIC_LD: [*fit.values()], "lambda": ["0.2"] if "lambda" in METHODS[method].reads else []}
    inputs |= {ROW_NORM: ["1.25"], OUTCOME_NORM: ["2"]}
    found = input_problems(with_inputs(with_fit(statement, **fit), inputs))
    wrong = [f"the statement must name no standard errors: {method} gives none by these settings"]
    assert found == ([] if method in GIVING_ERRORS else wrong)


@pytest.mark.parametrize(
    ("protection", "fit", "inputs", "is_right"),
    [
        ("full", {}, {}, True),
        ("full", {"heritability": None}, {"heritability": []}, False),
        ("label", {"heritability": None}, {"heritability": []}, True),
        ("feature", {}, {OUTCOME_NORM: ["2"]}, False),
        ("full", {"effects": [DIGEST], "effect_names": ["x"]}, {"effects of x": [DIGEST]}, False),
        ("full", {}, {STATED: [DIGEST]}, False),
    ],
)
def test_input_problems__standard_errors_by_settings(with_errors, protection, fit, inputs, is_right):
    statement = with_inputs(with_fit(json.loads(with_errors), **fit), inputs)
    statement["guarantee"]["protection"] = protection
    found = input_problems(statement)
    assert len(found) == (not is_right)
    assert all(line.startswith("the statement must name no standard errors: blup gives") for line in found)


SCALES = "outcome_scales.tsv"
TABLE, SIMULATED = "centre and scale of the outcomes", "prevalence of the outcomes"


def make_scaled_bundle(folder, name, value, scales):
    """Write a bundle whose outcomes have public constants, under one of the names of public inputs."""
    inputs = make_content(folder / "inputs").public_inputs
    inputs = as_written([*inputs, *(PublicInput(one, value, "a paper") for one in [name] if one)])
    statement = make_statement(folder, public_inputs=inputs)
    files = {"scores": make_scores(), "statement": statement, "provenance": PROVENANCE, "scales": scales}
    write_bundle(folder / "release", **files)
    return folder / "release"


def scales_of(table):
    index = pd.Index(OUTCOMES, name="outcome")
    scales = pd.DataFrame(table, index=index, columns=["centre", "scale", "is_binary", "origin"])
    return scales.assign(population_prevalence=scales["centre"].where(scales["is_binary"]))


@pytest.fixture
def scaled(tmp_path):
    p, third = 0.0123456789012345, 1 / 3
    rows = [(170.25, third, False, "a paper"), (p, math.sqrt(p * (1 - p)), True, ""), (-5.0, 1e-7, False, "")]
    scales = scales_of(rows)
    (tmp_path / "inputs").mkdir()
    folder = make_scaled_bundle(tmp_path, TABLE, scales_digest(scales), scales)
    # To the last digit, as the digest is of all of them.
    assert [float(line.split("\t")[2]) for line in (folder / SCALES).read_text().splitlines()[1:]] == [
        scale for _, scale, *_ in rows
    ]
    verify_release(folder)
    return folder


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("170.25", "171.25", "must hold the centre and scale of the outcomes of the public inputs"),
        ("0.3333333333333333", "0.3333333333333334", "must hold the centre and scale"),
        ("True", "False", "must hold the centre and scale"),
        ("centre\tscale", "scale\tcentre", "must have outcome, centre, scale, is_binary, origin of every"),
        ("^height", "weight", "must have outcome, centre, scale"),
        (r"^height.*\n", "", "must have outcome, centre, scale"),
        ("170.25", "tall", "must have outcome, centre, scale"),
        ("170.25", "nan", "must have outcome, centre, scale"),
        ("True", "yes", "must have outcome, centre, scale"),
        ("\t170.25", "", "must have outcome, centre, scale"),
        (r"\A(.*\n)*.*\Z", "", "must have outcome, centre, scale"),
    ],
)
def test_verify_release__finds_other_constants_of_outcomes(scaled, old, new, line):
    edit(scaled / SCALES, old, new)
    seal(scaled)
    with pytest.raises(DpgrsError, match=line):
        verify_release(scaled)


def test_verify_release__constants_of_outcomes_without_their_input_or_table(scaled):
    (scaled / SCALES).unlink()
    seal(scaled)
    with pytest.raises(DpgrsError, match="must be there if and only if one public input names it"):
        verify_release(scaled)


@pytest.mark.parametrize(
    ("name", "value", "changed", "line"),
    [
        (SIMULATED, "0.1", {}, None),
        (SIMULATED, "0.2", {}, "must hold the prevalence of the outcomes"),
        (SIMULATED, "0.1", {"scale": 0.4}, "must hold the prevalence of the outcomes"),
        (SIMULATED, "0.1", {"is_binary": [True, True, False]}, "must hold the prevalence of the outcomes"),
        (SIMULATED, "0.1", {"centre": [0.1, 0.1, 7.0]}, "must hold the prevalence of the outcomes"),
        (None, "", {}, "if and only if one public input names it"),
    ],
)
def test_verify_release__constants_by_prevalence(tmp_path, name, value, changed, line):
    (tmp_path / "inputs").mkdir()
    scales = binary_constants(OUTCOMES, 0.1).assign(**changed)
    folder = make_scaled_bundle(tmp_path, name, value, scales)
    if line is None:
        verify_release(folder)
        return
    with pytest.raises(DpgrsError, match=line):
        verify_release(folder)


@pytest.mark.parametrize("value", ["banana", "0", "0.0", "-1", "nan", "1e999", ""])
def test_input_problems__bounds_are_numbers(stated, value):
    (line,) = input_problems(with_inputs(json.loads(stated), {"outcome bound": [value]}))
    assert line == f"the outcome bound must be a number above 0 and at most 1000, got {value}"
    norms = with_inputs(json.loads(stated), {ROW_NORM: [value], OUTCOME_NORM: ["1e-05"]})
    wanted = f"the {ROW_NORM} must be a number above 0 and at most 1000000000, got {value}"
    assert input_problems(norms) == [wanted]


def test_input_problems__public_effects_are_not_of_feature_protection(stated):
    fit = {"effects": [DIGEST], "effect_names": ["a.txt"], "heritability": 0.5}
    named = {"effects of a.txt": [DIGEST], "lambda": [], "heritability": ["0.5"], OUTCOME_NORM: ["2"]}
    statement = with_fit(with_inputs(json.loads(stated), named), **fit) | {"method": "blup"}
    for protection, n_lines in (("label", 0), ("feature", 1)):
        statement["guarantee"]["protection"] = protection
        lines = [line for line in input_problems(statement) if line.endswith("the same effects of")]
        assert len(lines) == n_lines


def test_input_problems__norms_and_bounds_are_told_once(stated):
    statement = with_inputs(json.loads(stated), {ROW_NORM: ["2", "1"], OUTCOME_NORM: ["2"]})
    assert input_problems(statement) == [f"the public inputs must name the {ROW_NORM} once"]


def test_input_problems__second_moments_of_a_method_that_draws_none(stated):
    statement = with_inputs(json.loads(stated), {MOMENT_NORM: ["1.5"]})
    assert input_problems(statement) == [f"the public inputs must not hold {MOMENT_NORM}"]


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("outcome bound", "1001", "the outcome bound must be a number above 0 and at most 1000, got 1001"),
        ("allele frequencies", "of the cohort", "the allele frequencies must be as dpgrs writes it"),
        (MEASURED_ON, "the cohort itself", f"the {MEASURED_ON} must be as dpgrs writes it"),
        ("seed", "none was used", "the seed must be as dpgrs writes it, got none was used"),
        ("hair colours", "black", "the public inputs must not hold hair colours"),
        (ROWS, "5008.37", f"the {ROWS} must be as dpgrs writes it, got 5008.37"),
        (ROWS, "9" * 400, f"the {ROWS} must be as dpgrs writes it, got 999"),
    ],
)
def test_input_problems__public_inputs_read_as_they_are_written(stated, name, value, line):
    (problem,) = input_problems(with_inputs(json.loads(stated), {name: [value]}))
    assert problem.startswith(line)
