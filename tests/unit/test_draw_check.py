"""The draws that a statement must list, held against what each method of a release draws."""

import json
from dataclasses import replace
from itertools import product

import pytest

from audit_data import make_audit
from dpgrs.errors import DpgrsError
from dpgrs.methods.chosen_requests import ScreeningTerms, request_of_rows
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import COUNT_STEP
from dpgrs.privacy.accounting.events import MECHANISM_VERSION
from dpgrs.privacy.noise.sources import Rehearsal
from dpgrs.privacy.sensitivity import outcome_counts_sensitivity
from dpgrs.statement.content import Total
from dpgrs.statement.draws import KNOWN
from dpgrs.verify.bundle import verify_release
from dpgrs.verify.claim_check import claim_problems
from dpgrs.verify.draw_check import MOMENT_NORM, draw_problems
from forged_releases import STATEMENT, edit_statement, seal
from release_choices import chosen_content, make_chosen_release
from release_data import (
    OUTCOMES,
    make_accuracy_event,
    make_bundle,
    make_events,
    make_statement,
    make_terms,
)
from release_report_data import DRAWN
from screening_cohorts import N_VARIANTS, NAMES, cohort, frequencies

RELEASED = methods_that("may_be_released")

RELATIONS = list(product(["add-remove", "replace-one"], ["joint", "separate"], [1, 3]))


def statement_of(
    method,
    *,
    neighbours="add-remove",
    budget="joint",
    count=3,
    protection="full",
    missing="none",
    ld_share=None,
):
    """Say what a release by a method draws, as far as the check looks at it."""
    names, rehearsal, mechanism = NAMES[:count], Rehearsal(), mechanism_of(method)
    request = PrivacyRequest(
        "people",
        N_VARIANTS,
        count if budget == "joint" else 1,
        3.0,
        1.0,
        1e-6,
        neighbours=neighbours,
        protection=protection,
        counts_outcomes=missing == "counted",
        ld_share=ld_share,
    )
    options = {"noise": rehearsal, "outcome_names": names}
    if {"statistics", "chromosomes"}.isdisjoint(mechanism.takes):
        selector = METHODS[method].selector
        terms = ScreeningTerms(n_choices=2, share=0.5, selector=selector) if selector else None
        request = request_of_rows(request, terms)
        mechanism.draw(cohort(), request=request, frequency=frequencies(), **options)
    else:
        mechanism.draw(**mechanism.zeros(request, count), request=request, **options)
    return {
        "method": method,
        "guarantee": {"neighbours": neighbours, "protection": protection},
        "data_domain": {"outcomes": list(names), "missing_outcomes": missing},
        "accuracy": "withheld",
        "public_inputs": [{"name": MOMENT_NORM, "value": "1"}] if ld_share else [],
        "mechanisms": [
            {
                "statistic": event.statistic,
                "mechanism": event.family,
                "outcome": served[0] if len(served) == 1 < count else None,
            }
            for (_, *served), draws in rehearsal.draws.items()
            for event, _ in draws
        ],
    }


def without(statement, place):
    kept = [part for number, part in enumerate(statement["mechanisms"]) if number != place]
    return statement | {"mechanisms": kept}


def test_claim_problems__audits_of_turned_rows_turn_them(tmp_path):
    """That of plain X'Y has the same noise, but says nothing of what rows become before it."""
    statement = make_statement(tmp_path, audit=make_audit())
    assert claim_problems(statement) == []
    for method in ("blup-steered", "blup-ld"):
        wanted = ["audit must cover private_steered_statistics"]
        assert claim_problems(statement | {"method": method}) == wanted


@pytest.mark.parametrize("method", RELEASED)
@pytest.mark.parametrize(("neighbours", "budget", "count"), RELATIONS)
@pytest.mark.parametrize("missing", ["none", "counted"])
def test_draw_problems__all_draws_of_a_method_and_not_one_less(method, neighbours, budget, count, missing):
    if METHODS[method].reads_rows:
        missing = None
    terms = {"neighbours": neighbours, "budget": budget, "count": count, "missing": missing}
    _require_all_draws(statement_of(method, **terms))


@pytest.mark.parametrize(("neighbours", "budget", "count"), RELATIONS)
def test_draw_problems__second_moments_are_drawn_once(neighbours, budget, count):
    terms = {"neighbours": neighbours, "budget": budget, "count": count, "ld_share": 0.1}
    statement = statement_of("blup-genome", **terms)
    assert [draw["statistic"] for draw in statement["mechanisms"]].count("genome moments") == 1
    _require_all_draws(statement)


def _require_all_draws(statement):
    method = statement["method"]
    assert draw_problems(statement) == []
    for place, part in enumerate(statement["mechanisms"]):
        (problem,) = draw_problems(without(statement, place))
        assert problem.startswith(
            f"the mechanisms must hold just what {method} draws, but have fewer or more of "
        )
        assert part["statistic"] in problem


@pytest.mark.parametrize("missing", ["none", "counted"])
@pytest.mark.parametrize(("protection", "n_draws"), [("label", 1), ("feature", 2)])
def test_draw_problems__what_is_public_is_not_drawn(protection, n_draws, missing):
    terms = {"neighbours": "replace-one", "protection": protection, "missing": missing}
    statement = statement_of("reusecov-gauss", **terms)
    n_draws += (protection, missing) == ("label", "counted")
    assert len(statement["mechanisms"]) == n_draws
    assert draw_problems(statement) == []
    assert draw_problems(without(statement, 0))


@pytest.mark.parametrize("statistic", ["count", "gram", "cross product"])
def test_verify_release__a_made_up_round_switches_nothing_off(tmp_path, statistic):
    """A draw of one outcome's numbers, say, that other checks would not know by its name."""
    drawn = [
        replace(event, statistic=f"{statistic}, round 1") if event.statistic == statistic else event
        for event in make_events(make_terms(), n_outcomes=1 if statistic == "cross product" else 3)
    ]
    folder = make_bundle(tmp_path, content={"drawn": [(event, None) for event in drawn]})
    with pytest.raises(DpgrsError, match=f"those of reusecov-gauss, got {statistic}, round 1"):
        verify_release(folder)


def test_verify_release__a_made_up_round_of_accuracy(tmp_path):
    event = replace(make_accuracy_event(make_terms(), n_outcomes=1), statistic="accuracy, round 1")
    drawn = [(one, None) for one in (*make_events(make_terms()), event)]
    told = "epsilon 0.01 at delta 0.000001, for all outcomes together"
    accuracy = [{"name": name, "value": DRAWN.format(0.1, 0.9), "cost": told} for name in OUTCOMES]
    terms, content = make_terms(epsilon=2.0), {"drawn": drawn, "accuracy": accuracy}
    with pytest.raises(DpgrsError, match="those of reusecov-gauss, got accuracy, round 1"):
        verify_release(make_bundle(tmp_path, terms=terms, content=content))


def test_draw_problems__a_choice_must_be_a_choice():
    statement = statement_of("k-blup")
    statement["mechanisms"][0]["mechanism"] = "subset"
    assert "Kendall's correlations" in statement["mechanisms"][0]["statistic"]
    assert draw_problems(statement)


def test_draw_problems__unknown_method():
    (problem,) = draw_problems(statement_of("blup") | {"method": "ols"})
    assert problem.startswith("method must be one of ")
    assert problem.endswith("got ols")


def test_draw_problems__accuracy_that_was_charged_needs_a_draw():
    statement = statement_of("blup")
    told = [{"name": "a", "value": "R^2 0.1", "cost": "epsilon 0.5 at delta 1e-06"}]
    free = [told[0] | {"cost": "none, measured on 60 people of the public reference"}]
    assert draw_problems(statement | {"accuracy": free}) == []
    (problem,) = draw_problems(statement | {"accuracy": told})
    assert "accuracy for" in problem
    drawn = {"statistic": "accuracy", "mechanism": "gaussian", "outcome": None}
    charged = {"accuracy": told, "mechanisms": [*statement["mechanisms"], drawn]}
    assert draw_problems(statement | charged) == []


@pytest.mark.parametrize(
    ("cost", "problem"),
    [
        ("epsilon 1.1 at delta 0.000001, for all outcomes together", None),
        ("epsilon 0.9 at delta 0.000001, for all outcomes together", "must cover its mechanisms"),
        ("epsilon 1.1 at delta 0.0000001, for all outcomes together", "must cover its mechanisms"),
        ("epsilon 0.76 at delta 0.000001, for each outcome alone", None),
        ("epsilon 0.5 at delta 0.000001, for each outcome alone", "must cover its mechanisms"),
        ("a little", "must be an epsilon at a delta, got a little"),
    ],
)
def test_claim_problems__the_cost_of_accuracy_covers_its_draws(tmp_path, cost, problem):
    statement = make_statement(tmp_path)
    cross = statement["mechanisms"][-1]
    # mu^2 of X'Y is half of a budget of epsilon 1, so two of them cost it.
    drawn = [cross | {"statistic": "accuracy", "outcome": outcome} for outcome in OUTCOMES[:2]]
    told = [{"name": OUTCOMES[0], "value": "R^2 0.1", "cost": cost}]
    statement |= {"accuracy": told, "mechanisms": [*statement["mechanisms"], *drawn]}
    found = [line for line in claim_problems(statement) if line.startswith("the cost of the accuracy")]
    assert len(found) == (problem is not None)
    assert all(problem in line for line in found)


# Statements whose numbers all fit, as somebody would make them who had forgotten a draw.
def of_shared(left_out):
    return [(event, None) for event in make_events(make_terms()) if event.statistic != left_out]


@pytest.mark.parametrize(
    ("method", "drawn", "lacking"),
    [
        ("blup", of_shared("count"), "blup draws, but have fewer or more of count for all outcomes"),
        ("blup", of_shared("gram"), "blup draws, but have fewer or more of gram for all outcomes"),
        (
            "blup",
            of_shared("cross product"),
            "blup draws, but have fewer or more of cross product for height",
        ),
        (
            "reusecov-gauss",
            of_shared("gram"),
            "reusecov-gauss draws, but have fewer or more of gram for all outcomes",
        ),
        (
            "adassp",
            of_shared(None),
            "adassp draws, but have fewer or more of smallest eigenvalue for all outcomes",
        ),
    ],
)
def test_verify_release__a_consistent_statement_that_leaves_a_draw_out(tmp_path, method, drawn, lacking):
    content = {"drawn": drawn, "method": method, "per_outcome": Total(3.0, 1e-6)}
    folder = make_bundle(tmp_path, terms=make_terms(epsilon=3.0), content=content)
    with pytest.raises(DpgrsError, match=lacking) as caught:
        verify_release(folder)
    assert len(str(caught.value).splitlines()) == 3  # the folder, this alone, and what to do


def test_verify_release__choices_without_sums_of_their_own(tmp_path):
    drawn = [one for one in chosen_content()[1]["drawn"] if one[0].statistic not in ("gram", "cross product")]
    folder = make_chosen_release(tmp_path / "study", content={"drawn": drawn})["bundle"]
    with pytest.raises(
        DpgrsError, match="k-blup draws, but have fewer or more of gram for height; cross product for height"
    ):
        verify_release(folder)


def test_verify_release__finds_effects_that_no_input_names(tmp_path):
    folder = make_bundle(tmp_path)
    verify_release(folder)
    fit = json.loads((folder / STATEMENT).read_text())["fit"] | {
        "effects": ["a" * 64],
        "effect_names": ["height.txt"],
    }
    edit_statement(folder, ["fit"], fit)
    seal(folder)
    with pytest.raises(DpgrsError, match="the fit must have the same effects of"):
        verify_release(folder)


@pytest.mark.parametrize("statistic", ["gram", "cross product"])
def test_verify_release__finds_draws_of_an_outcome_of_fewer_numbers(tmp_path, statistic):
    folder = make_chosen_release(tmp_path / "study")["bundle"]
    verify_release(folder)
    drawn = json.loads((folder / STATEMENT).read_text())["mechanisms"]
    place = [one["statistic"] for one in drawn].index(statistic)
    right = drawn[place]["entries"]
    edit_statement(folder, ["mechanisms", place, "entries"], right - 1)
    seal(folder)
    with pytest.raises(DpgrsError, match=f"the {statistic} must be {right} numbers, .* got {right - 1}"):
        verify_release(folder)


@pytest.mark.parametrize(
    ("place", "entries", "line"),
    [
        *((2, entries, "cross product must be 24 numbers, of 3 outcomes") for entries in (1, 23, 25, 240)),
        (0, 2, "count must be 1 numbers, of all rows"),
        (3, 2, "outcome counts must be 3 numbers, of 3 outcomes"),
        (3, 4, "outcome counts must be 3 numbers, of 3 outcomes"),
    ],
)
def test_verify_release__finds_draws_of_more_or_fewer_numbers(tmp_path, place, entries, line):
    count, *others = make_events(make_terms())
    claim = outcome_counts_sensitivity(3, rows="haplotypes", unit="haplotype", neighbours="add-remove")
    known = replace(count, statistic=KNOWN, entries=3, sensitivity=claim, sigma=claim.value / count.mu)
    known = replace(known, mu=claim.value / known.sigma, step=COUNT_STEP)
    drawn = [(event, None) for event in (count, *others, known)]
    content = {"drawn": drawn, "missing_outcomes": "counted", "per_outcome": Total(2.0, 1e-6)}
    folder = make_bundle(tmp_path, terms=make_terms(epsilon=2.0), content=content)
    verify_release(folder)
    edit_statement(folder, ["mechanisms", place, "entries"], entries)
    seal(folder)
    with pytest.raises(DpgrsError, match=f"the {line}, got {entries}"):
        verify_release(folder)


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("noise", "none at all", r"the noise of gram must be `normal, exactly rounded .*`, got none at all"),
        ("proof", "docs/proofs/kendall.md", r"the proof of gram must be docs/proofs/gram.md, got docs"),
        (
            "version",
            99,
            f"the version of the mechanism of gram must be {MECHANISM_VERSION}, got 99: take the",
        ),
    ],
)
def test_verify_release__draws_are_described_as_their_family_is(tmp_path, name, value, line):
    folder = make_bundle(tmp_path)
    edit_statement(folder, ["mechanisms", 1, name], value)
    seal(folder)
    with pytest.raises(DpgrsError, match=line):
        verify_release(folder)
