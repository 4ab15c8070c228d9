"""The table of methods agrees with the configuration's schema, and says what it means."""

import re
from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest

from dpgrs.errors import UsageError
from dpgrs.methods.registry import (
    DRAWN_FIRST,
    METHODS,
    drawn_first,
    fitter_of,
    methods_that,
    require_complete,
)
from dpgrs.preflight.checks import problems
from dpgrs.selection import registry as selectors
from dpgrs.statement.methods import Method
from dpgrs.study.settings import resolve
from dpgrs.types import Exactness, FittedFrom, Protection
from refused import refused
from study_runs import REPOSITORY


def found(**raw):
    return problems(resolve(raw))


def test_methods__are_those_of_the_manual():
    """Those of dpgrs, and those that the papers' package adds, in the order of the rows."""
    manual = (REPOSITORY / "docs" / "reference" / "methods.md").read_text()
    tables = [text.partition("\n\n")[0] for text in manual.split("| method | protection | what |\n")[1:]]
    cells = [line.split("|")[1:3] for table in tables for line in table.splitlines()[1:]]
    protections = {name: cell for names, cell in cells for name in re.findall(r"`([\w-]+)`", names)}
    lines = {
        name: f"| `{name}` | {', '.join(f'`{side}`' for side in METHODS[name].protections)} | ... |"
        for name in METHODS
    }
    missing = [line for name, line in lines.items() if name not in protections]
    assert not missing, f"docs/reference/methods.md must have lines, in the order of the rows: {missing}"
    assert list(protections) == list(METHODS)
    for name, cell in protections.items():
        assert [*re.findall(r"full|feature|label|none", cell)] == [*METHODS[name].protections], lines[name]
    offered = set(
        re.findall(r"`([\w-]+)`", manual.partition("A release offers one of")[2].partition("none of")[0])
    )
    assert offered == set(methods_that("may_be_released")), "A release offers one of: name them all"


@pytest.mark.parametrize("part", ["look", "words", "code"])
def test_methods__what_a_release_needs_is_asked_for_before_it(part):
    with refused("method-incomplete", error=UsageError):
        require_complete(replace(METHODS["blup"], **{part: None}))


@pytest.mark.parametrize("part", ["look", "code"])
def test_methods__a_private_benchmark_has_what_its_fit_and_pages_need(part):
    row = replace(METHODS["blup"], exactness=None, words=None)
    require_complete(row)
    with refused("method-incomplete", error=UsageError):
        require_complete(replace(row, **{part: None}))


def test_registries__packages_that_share_a_name_are_refused(monkeypatch):
    pair = [EntryPoint("made-up", f"{package}:ROW", "dpgrs.methods") for package in ("one", "other")]
    monkeypatch.setattr(selectors, "points", lambda kind: pair)
    with refused("entry-point-twice", "made-up", error=UsageError):
        selectors.require_new_names("methods", ())


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Rows of a package whose classes have no audits."""
    source = (REPOSITORY / "tests" / "contract" / "plugin" / "made_up.py").read_text()
    assert source.count("def audit_cases(") == 2
    (tmp_path / "unaudited.py").write_text(source.replace("def audit_cases(", "def other_cases("))
    monkeypatch.syspath_prepend(tmp_path)
    row = replace(METHODS["reusecov-gauss"], exactness=None, code="unaudited:MadeUp")
    monkeypatch.setitem(METHODS, "unaudited", row)
    selector = selectors.Selector(description="by products", code="unaudited:ByProducts")
    monkeypatch.setitem(selectors.SELECTORS, "unaudited", selector)


@pytest.mark.parametrize("lookup", [fitter_of, selectors.chooser_of])
@pytest.mark.usefixtures("plugin")
def test_classes__without_audits_are_refused_though_for_benchmarks(lookup):
    with refused("class-incomplete", "unaudited:", "defines audit_cases, got", error=UsageError):
        lookup("unaudited")


@pytest.mark.usefixtures("plugin")
def test_classes__of_a_private_selector_must_choose_in_private(monkeypatch):
    # A class that chooses only exactly serves a row that is not private, and no other.
    exact = replace(selectors.SELECTORS["kendall"], code="dpgrs.selection.chooser:ExactChooser")
    monkeypatch.setitem(selectors.SELECTORS, "exact", exact)
    with refused("class-incomplete", "audit_cases, choose, choose_exactly, request", error=UsageError):
        selectors.chooser_of("exact")


def test_methods__fits_from_rows_are_for_benchmarks():
    with refused("released-method-of-rows", error=UsageError):
        require_complete(replace(METHODS["blup"], fitted_from=FittedFrom.ROWS))


def test_methods__without_protection_none_may_be_released():
    for method in METHODS.values():
        if Protection.NONE in method.protections:
            assert not method.may_be_released


def test_methods__exactness_is_one_of_the_classes():
    classes = {method.exactness for method in METHODS.values()} - {None}
    assert classes <= set(Exactness)
    assert classes


def test_problems__a_method_needs_one_of_its_protections():
    (line,) = found(methods=["ridge", "reusecov-proj"], privacy={"protection": "full"})
    assert line == (
        "`privacy.protection` must have feature or label for `methods: reusecov-proj`, got full. "
        "Add it, or leave the method out."
    )
    assert found(methods=["reusecov-proj"], privacy={"protection": ["full", "label"]}) == []


@pytest.mark.parametrize(
    ("method", "changes", "is_joined"),
    [
        ("blup", {}, True),
        ("blup", {"regression": {"heritability": 0.5}}, False),
        ("blup", {"regression": {"heritability": 0.5}, "privacy": {"protection": ["feature"]}}, True),
        ("blup-shared", {"regression": {"heritability": 0.5}}, True),
        ("reusecov-gauss", {}, False),
        ("reusecov-gauss", {"regression": {"lambda_from": "evidence"}}, True),
        ("reusecov-ellipsoid", {"regression": {"joint_projection": True}}, True),
        ("naive", {"regression": {"heritability": None}}, False),
        ("k-blup", {}, False),
        ("blup", {"regression": {"heritability": 0.5}, "public": {"effects": ["a.txt"]}}, True),
        ("reusecov-gauss", {"public": {"effects": ["a.txt"]}}, False),
    ],
)
def test_problems__no_budget_for_each_outcome_where_a_fit_joins_them(method, changes, is_joined):
    privacy = {"protection": ["full"], "outcome_budget": "separate"} | changes.get("privacy", {})
    lines = [line for line in found(methods=[method], **changes | {"privacy": privacy}) if "budget" in line]
    told = f"`privacy.outcome_budget` must be joint for `methods: {method}`, whose fits take all outcomes"
    assert [line.startswith(told) for line in lines] == [True] * is_joined


def test_pools_outcomes__where_a_row_does_not_say():
    regression = {"heritability": 0.5, "lambda_from": "fixed", "joint_projection": False}
    known = {"protection": "full", "has_effects": False}
    row = METHODS["reusecov-gauss"]
    assert not row.pools_outcomes(regression, **known)
    facts = {name: getattr(row, name) for name in ("label", "look", "code", "fitted_from", "words", "reads")}
    assert Method(**facts, exactness=Exactness.EXACT).pools_outcomes(regression, **known)


@pytest.mark.parametrize("method", ["k-blup", "k-bas", "k-tukey", "l-blup", "l-bas", "l-tukey", "s-blup"])
def test_problems__screening_protects_fully(method):
    (line,) = found(methods=["k-ols", method], privacy={"protection": ["label"]})
    assert line == (
        f"`privacy.protection` must have full for `methods: {method}`, got label. "
        "Add it, or leave the method out."
    )
    assert found(methods=["k-ols"], privacy={"protection": ["label"]}) == []


@pytest.mark.parametrize(
    ("method", "known", "other"),
    [("dp-sgd", "add-remove", "replace-one"), ("reusecov-sketch", "replace-one", "add-remove")],
)
def test_problems__samples_are_accounted_for_some_neighbours_alone(method, known, other):
    (line,) = found(methods=["ridge", method], privacy={"neighbours": other})
    assert line == (
        f"`privacy.neighbours` must be {known} for `methods: {method}`, got {other}. "
        "Change it, or leave the method out."
    )
    assert found(methods=["ridge", method], privacy={"neighbours": known}) == []


def test_drawn_first__mechanisms_have_their_names():
    assert [drawn_first(name).name for name in DRAWN_FIRST] == [*DRAWN_FIRST]
