"""How a budget is divided between choices and what follows, and bounds on rows of any chosen variants."""

import json
from dataclasses import asdict, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.linalg.norms import tight_row_norm
from dpgrs.linalg.statistics import coded_rows
from dpgrs.methods.chosen_requests import (
    ScreenedRequest,
    ScreeningTerms,
    request_of_rows,
    row_norm_of_any,
    row_norm_of_half,
    screened_request,
)
from dpgrs.methods.requests import PrivacyRequest
from random_cohorts import random_bits
from refused import refused

FREQUENCY = np.array([0.02, 0.5, 0.31, 0.97, 0.75, 0.31])


every_selector = pytest.mark.parametrize("selector", ["kendall", "sis", "two-stage", "sublasso"])


def ask_all(n_outcomes=4, **terms):
    return PrivacyRequest("haplotypes", 6, n_outcomes, 3.0, 2.0, 1e-6, **terms)


def ask(
    *,
    frequency=None,
    n_outcomes=4,
    share=0.2,
    votes_count=0.1,
    composition="basic",
    selector="kendall",
    **terms,
):
    chosen = {"n_choices": 3, "share": share, "count_share": votes_count}
    chosen |= {"composition": composition, "selector": selector}
    return screened_request(ask_all(n_outcomes, **terms), ScreeningTerms(**chosen), frequency=frequency)


@pytest.mark.parametrize("composition", ["basic", "zcdp"])
@pytest.mark.parametrize("n_outcomes", [1, 3, 10])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
def test_screened_request__choices_and_rest_are_the_whole(composition, n_outcomes, share):
    request = ask(composition=composition, n_outcomes=n_outcomes, share=share)
    choices, rest = request.choices, request.rest
    assert choices.epsilon * n_outcomes == pytest.approx(share * 2.0)
    assert choices.epsilon * n_outcomes + rest.epsilon == pytest.approx(2.0)
    assert choices.delta * n_outcomes + rest.delta == pytest.approx(1e-6)
    assert (choices.delta == 0) == (composition == "basic")


@every_selector
@pytest.mark.parametrize("n_outcomes", [1, 3, 10])
@pytest.mark.parametrize(("share", "count"), [(0.05, 0.9), (0.3, 0.1), (0.85, 0.1)])
def test_screened_request__no_rounding_adds_parts_up_to_more_than_the_whole(
    selector, n_outcomes, share, count
):
    request = ask(selector=selector, n_outcomes=n_outcomes, share=share, votes_count=count)
    choices = request.choices
    of_choices, of_count = (
        n_outcomes * Fraction(getattr(choices, name, 0.0)) for name in ("epsilon", "count_epsilon")
    )
    assert of_choices <= 2 * Fraction(share)
    assert of_count <= 2 * Fraction(count)
    assert of_choices + of_count + Fraction(request.rest.epsilon) <= 2


@pytest.mark.parametrize(("neighbours", "count"), [("add-remove", 0.1), ("replace-one", 0.0)])
@pytest.mark.parametrize("unit", ["haplotype", "person"])
def test_screened_request__votes_pay_for_the_number_of_units_where_it_is_private(neighbours, count, unit):
    request = ask(composition="zcdp", selector="two-stage", neighbours=neighbours, unit=unit)
    choices, rest = request.choices, request.rest
    assert choices.epsilon * 4 == pytest.approx(0.2 * 2.0)
    assert choices.count_epsilon * 4 == pytest.approx(count * 2.0)
    assert rest.epsilon == pytest.approx((0.8 - count) * 2.0)
    assert rest.delta == 1e-6
    assert choices.n_choices == 3
    claim = choices.sensitivity("l1")
    assert (claim.value, claim.norm, claim.neighbours, claim.unit) == (1.0, "l1", neighbours, unit)
    assert choices.rows_per_unit == {"haplotype": 1, "person": 2}[unit]


def test_screened_request__a_tiny_share_of_the_number_of_units_is_a_share():
    """Beside the share of the choices it is lost in a float, and the exact number would be used."""
    request = ask(selector="two-stage", votes_count=1e-18)
    assert request.choices.count_epsilon * 4 == pytest.approx(2e-18)


@every_selector
@pytest.mark.parametrize("protection", ["feature", "label"])
def test_screened_request__choices_protect_what_the_whole_protects(selector, protection):
    request = ask(selector=selector, neighbours="replace-one", protection=protection)
    assert request.choices.protection == request.rest.protection == protection


@pytest.mark.parametrize("composition", ["basic", "zcdp"])
def test_screened_request__a_set_is_chosen_at_once_and_spends_no_delta(composition):
    request = ask(composition=composition, selector="sis", neighbours="replace-one", unit="person")
    choices = request.choices
    assert choices.epsilon_of_choices == choices.epsilon == pytest.approx(0.2 * 2.0 / 4)
    assert choices.epsilon * 4 + request.rest.epsilon == pytest.approx(2.0)
    assert request.rest.delta == 1e-6
    assert (choices.n_choices, choices.neighbours, choices.unit) == (3, "replace-one", "person")
    assert request.choosing == {"request": choices, "selector": "sis", "outcome_bound": 3.0}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_screened_request__parts_have_the_relation_of_the_whole(neighbours):
    request = ask(neighbours=neighbours, unit="person", accounting="paper", count_share=0.07)
    for part in (request.choices, request.rest, request.statistics):
        assert (part.rows, part.neighbours, part.unit) == ("haplotypes", neighbours, "person")
    for part in (request.rest, request.statistics):
        assert (part.n_variants, part.count_share, part.accounting) == (3, 0.07, "paper")
    assert (request.statistics.n_outcomes, request.statistics.n_fits) == (1, 4)


def test_screened_request__sensitivities_are_those_of_the_chosen_alone():
    of_three = PrivacyRequest("haplotypes", 3, 1, 3.0, 2.0, 1e-6)
    statistics = ask().statistics
    assert statistics.gram_claim == of_three.gram_claim
    assert statistics.cross_claim == of_three.cross_claim
    clipped = ask(frequency=FREQUENCY).statistics
    norm = row_norm_of_any(FREQUENCY, n_choices=3, rows="haplotypes", factor=1.0)
    assert (clipped.row_norm, clipped.coding) == (norm, "frequency")
    # A person has two rows.
    assert clipped.cross_claim.value == pytest.approx(2 * 3.0 * norm)


@pytest.mark.parametrize("frequency", [None, FREQUENCY])
def test_screened_request__norms_of_all_variants_say_nothing_of_the_chosen(frequency):
    norms = {"coding": "frequency", "row_norm": 9.0, "outcome_norm": 9.0}
    assert ask(frequency=frequency, **norms) == ask(frequency=frequency)


def test_request_of_rows__has_norms_of_its_own():
    plain, terms = ask_all(), ScreeningTerms(n_choices=1)
    request = ask_all(coding="frequency", row_norm=9.0, outcome_norm=9.0)
    assert request_of_rows(request) == plain
    assert request_of_rows(request, terms) == screened_request(plain, terms)
    for options in ({}, {"factor": 1.2}):
        bounds = {"rows": "haplotypes"} | {"factor": 1.0} | options
        tight = request_of_rows(request, frequency=FREQUENCY, **options)
        norm = tight_row_norm(FREQUENCY, **bounds)
        assert tight == replace(plain, coding="frequency", row_norm=norm)
        of_one = request_of_rows(request, terms, frequency=FREQUENCY, **options)
        assert of_one == screened_request(plain, terms, frequency=FREQUENCY, **options)
        assert of_one.row_norm == row_norm_of_any(FREQUENCY, n_choices=1, **bounds)


@pytest.mark.parametrize("frequency", [None, FREQUENCY])
def test_screened_request__from_json_is_the_same(frequency):
    request = ask(frequency=frequency)
    again = ScreenedRequest(**json.loads(json.dumps(asdict(request))))
    assert again == request
    assert again.statistics.budget == request.statistics.budget
    assert again.choices.claim == request.choices.claim


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize("n_choices", [1, 2, 5, 6])
def test_row_norm_of_any__is_the_largest_of_all_that_can_be_chosen(rows, n_choices):
    options = {"rows": rows, "factor": 1.2}
    norms = [
        tight_row_norm(FREQUENCY[list(chosen)], **options)
        for chosen in combinations(range(len(FREQUENCY)), n_choices)
    ]
    assert row_norm_of_any(FREQUENCY, n_choices=n_choices, **options) == max(norms)


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_row_norm_of_half__is_attained(rows):
    X = coded_rows(random_bits(3, 400), n_haplotypes=400, rows=rows)
    assert np.linalg.norm(X, axis=1).max() == pytest.approx(row_norm_of_half(3, rows=rows))


@pytest.mark.parametrize(
    ("terms", "fault"),
    [
        ({"n_choices": 0}, ("screening-size-not-positive", "`screening.size`", "got 0")),
        ({"n_choices": 2, "share": 0.0}, ("screening-share-out-of-range", "`screening.share`", "got 0.0")),
        ({"n_choices": 2, "share": 1.0}, ("screening-share-out-of-range", "`screening.share`", "got 1.0")),
        (
            {"n_choices": 2, "count_share": 0.0},
            ("count-share-out-of-range", "`screening.count_share`", "got 0.0"),
        ),
        (
            {"n_choices": 2, "count_share": 1.0},
            ("count-share-out-of-range", "`screening.count_share`", "got 1.0"),
        ),
    ],
)
def test_screening_terms__raise_on_terms(terms, fault):
    with refused(*fault, error=UsageError):
        ScreeningTerms(**terms)
