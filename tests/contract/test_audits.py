"""Every mechanism has joined the audits, with neighbours that attain its claim; see `audit_cases`."""

import ast
import math
from dataclasses import fields

import numpy as np
import pytest

from dpgrs.methods.audits.sums import EPSILON
from dpgrs.privacy.audit.audit import GaussianLoss
from dpgrs.privacy.audit.parts import Silence
from dpgrs.steps.audit import choose_cases, markdown_row
from study_runs import REPOSITORY

PACKAGES = [REPOSITORY / "workflow" / name for name in ("dpgrs", "dpgrs_papers")]
CASES = choose_cases()
all_cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
# The other losses are held against the laws of their noise: tests/statistical/test_*_audit.py.
NORMAL_CASES = [case for case in CASES if isinstance(case.claim, GaussianLoss)]
normal_cases = pytest.mark.parametrize("case", NORMAL_CASES, ids=lambda case: case.name)


def private_functions(source):
    return {
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("private_")
    }


def test_private_functions__all_are_audited():
    found = set().union(
        *(private_functions(module.read_text()) for package in PACKAGES for module in package.rglob("*.py"))
    )
    assert len(found) >= 4
    assert found == {case.mechanism for case in CASES}


def test_private_functions__found_wherever_they_hide():
    source = (
        "class A:\n    def private_sum(self):\n        async def private_mean(): ...\ndef _private(): ..."
    )
    assert private_functions(source) == {"private_sum", "private_mean"}


def test_page__has_a_row_for_every_case_with_its_claim():
    page = (REPOSITORY / "docs" / "measurements" / "audits.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `private_")]
    known = [
        {"mechanism": case.mechanism, **case.terms, "loss": case.claim.symbol, "claimed": case.claim.value}
        for case in CASES
    ]
    assert [row[:-1] for row in rows] == [markdown_row(case | {"observed": 0})[:-1] for case in known]
    # A star: of an earlier draw.
    assert all(0 < float(observed.rstrip("* ")) <= float(claimed) for *_, claimed, observed in rows)
    assert f"There are {len(CASES)} cases" in page


def test_cases__tell_themselves_apart():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


def test_cases__cover_the_terms():
    seen = {tuple(case.terms[name] for name in ("neighbours", "unit", "rows")) for case in CASES}
    assert seen == {
        (neighbours, unit, rows)
        for neighbours in ("add-remove", "replace-one")
        for unit, rows in (("haplotype", "haplotypes"), ("person", "haplotypes"), ("person", "people"))
    }
    for mechanism in {case.mechanism for case in NORMAL_CASES}:
        accountings = {case.terms["accounting"] for case in NORMAL_CASES if case.mechanism == mechanism}
        assert accountings == {"gdp", "paper"}


def rounding(case):
    """Rows of outcomes that are shrunk to their norm are rounded onto their grid, towards zero."""
    return 2e-5 if "outcome_norm" in case.terms else 1e-12


@normal_cases
def test_cases__neighbours_attain_the_claim(case):
    """Of no pair could the claimed loss be larger, or smaller: mu is the distance in units of the noise."""
    first, second = (case.score(case.run(exact, Silence())) for exact in case.pair)
    assert first == pytest.approx(-second)
    assert math.sqrt(second - first) == pytest.approx(case.claim.value, rel=rounding(case))


@normal_cases
def test_cases__every_draw_is_a_part(case):
    """The unit moves each, and together they are worth all that is claimed: no draw is left out."""
    assert all(part.mu > 0 for part in case.parts)
    assert math.hypot(*(part.mu for part in case.parts)) == pytest.approx(
        case.claim.value, rel=rounding(case)
    )
    noise = Silence()
    released = case.run(case.pair[0], noise)
    assert len(noise.events) == len(case.parts)
    for numbers, part in zip(released, case.parts, strict=True):
        np.testing.assert_array_equal(numbers, part.exact[0])


@all_cases
def test_cases__neighbours_differ_in_one_unit(case):
    first, second = case.pair
    unit_rows = 2 if case.terms["unit"] == "person" and case.terms["rows"] == "haplotypes" else 1
    assert first.n_rows - second.n_rows == (unit_rows if case.terms["neighbours"] == "add-remove" else 0)
    statistics = {field.name for field in fields(first)} - {"n_rows"}
    assert any(not np.array_equal(getattr(first, name), getattr(second, name)) for name in statistics)


@normal_cases
def test_cases__claim_no_more_than_was_asked_for(case):
    if case.terms["budget"] == "joint":
        assert case.claim.epsilon(case.claim.value) <= EPSILON[case.terms["accounting"]] * (1 + 1e-9)
