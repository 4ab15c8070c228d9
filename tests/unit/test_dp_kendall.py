"""DPKendall: scores against their definition, choices against greedy ones, what choices cost."""

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.composition import epsilon_of_choices
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal, ReleaseNoise
from dpgrs.selection.dp_kendall import GenotypePairs, genotype_pairs, private_kendall
from dpgrs.selection.greedy_kendall import greedy_kendall
from dpgrs.selection.kendall_rounds import RoundScores
from kendall_pairs import (
    KERNELS,
    digest_of,
    drawn_data,
    in_taus,
    make_pairs,
    make_request,
    packed,
    pair_sum,
    study,
)
from ledger_requests import KEY
from refused import refused
from row_enumeration import RELATIONS

RANGES = {"haplotypes": 1, "people": 2, "dosages": 8192, "table": 1}
MISSING = np.nan
every_kind = pytest.mark.parametrize("kind", list(KERNELS))


def by_definition(features, y, chosen, kind):
    """Score all features in units of tau^, from all pairs of rows; the first round as it is in the paper."""
    known = ~np.isnan(y)
    X, y = np.asarray(features)[:, known], y[known]
    n_pairs = max(len(y) - 1, 1)

    def strength(x, z, kernel):
        pair_range = RANGES[kind] ** (2 if kernel == "product" else 1)
        return Fraction(abs(pair_sum(x, z, kernel)), pair_range * n_pairs)

    with_outcome, with_feature = KERNELS[kind]
    return [
        strength(x, y, with_outcome)
        - sum((strength(x, X[s], with_feature) for s in chosen), Fraction(0)) / max(len(chosen), 1)
        for x in X
    ]


@every_kind
@settings(deadline=None, derandomize=True, max_examples=60)
@given(data=st.data(), n_rows=st.integers(1, 30))
def test_round_scores__equal_the_definition(kind, data, n_rows):
    X, y = drawn_data(data, kind, n_rows)
    X[3] = 1  # a constant
    order = data.draw(st.permutations(range(4)))
    score = RoundScores(make_pairs(X, y, kind))
    for n_chosen in range(5):
        assert in_taus(score, order[:n_chosen]) == by_definition(X, y, order[:n_chosen], kind)
    # Whatever was asked before.
    for chosen in (order[:1], order[::-1], []):
        assert in_taus(score, chosen) == by_definition(X, y, chosen, kind)


@every_kind
def test_round_scores__of_choices_that_are_overwritten(kind):
    X, y = study(kind)
    score, chosen = RoundScores(make_pairs(X, y, kind)), np.array([3])
    score(chosen)
    chosen[0] = 5
    assert in_taus(score, chosen) == by_definition(X, y, [5], kind)


@every_kind
def test_round_scores__have_units_of_python_s_numbers(kind):
    """Those of NumPy would wrap around in exact products."""
    score = RoundScores(make_pairs(*study(kind), kind))
    units = [score(chosen)[1] for chosen in ([], [0])]
    assert {type(part) for unit in units for part in unit.as_integer_ratio()} == {int}


@every_kind
@pytest.mark.parametrize("y", [[MISSING, MISSING], [MISSING, 1.0], [2.0, 2.0]])
def test_round_scores__without_a_pair_are_zero(kind, y):
    score = RoundScores(make_pairs([[0, 1], [1, 0]], y, kind))
    # Two genotypes differ whatever the outcome, if both rows have one.
    with_feature = [-1, -1] if y == [2.0, 2.0] else [0, 0]
    expected = Fraction(1, RANGES[kind] ** 2)
    assert in_taus(score, []) == [0, 0]
    assert in_taus(score, [0]) == [one * expected for one in with_feature]


@pytest.mark.parametrize("neighbours", RELATIONS)
@every_kind
def test_request__claim_and_first_factor(kind, neighbours):
    request = make_request(kind, neighbours=neighbours)
    values = {"add-remove": (2.0, 2), "replace-one": (3.0, Fraction(3, 2))}
    tables = {"add-remove": (3.0, 2), "replace-one": (4.0, 2)}
    assert (request.claim.value, request.first_factor) == (tables if kind == "table" else values)[neighbours]
    assert (request.claim.neighbours, request.claim.norm) == (neighbours, "linf")
    if kind == "haplotypes":
        two = make_request(kind, neighbours=neighbours, unit="person")
        assert (two.claim.value, two.first_factor) == (2 * request.claim.value, request.first_factor)


@pytest.mark.parametrize("protection", ["feature", "label"])
@every_kind
def test_request__claim_is_of_what_is_protected(kind, protection):
    """With an outcome, and with a feature: under label protection as if nothing were public."""
    request = make_request(kind, neighbours="replace-one", protection=protection)
    full = 4.0 if kind == "table" else 3.0
    expected = {"label": full, "feature": full if kind == "table" else 2.0}[protection]
    assert request.claim.value == expected
    with refused("neighbours-not-replace-one", protection, error=UsageError):
        _ = make_request(kind, neighbours="add-remove", protection=protection).claim


# Choices.


def chosen_by(noise, X, y, kind, **terms):
    request = make_request(kind, **terms)
    return private_kendall(make_pairs(X, y, kind), request=request, noise=noise.on(digest_of(X, y)))


def release_noise(X, y, kind, **terms):
    rehearsal = Rehearsal()
    chosen_by(rehearsal, X, y, kind, **terms)
    return ReleaseNoise(KEY, draws=rehearsal.draws, requests={(): ("r1", "i1")})


@every_kind
def test_private_kendall__at_a_huge_epsilon_is_greedy(kind):
    X, y = study(kind)
    X[4] = np.random.default_rng(1).permutation(X[4])  # no ties, which permute-and-flip breaks at random
    greedy = greedy_kendall(make_pairs(X, y, kind), n_choices=6).tolist()
    terms = {"n_choices": 6, "epsilon": 1e6}
    for noise in (BenchmarkNoise(1), release_noise(X, y, kind, **terms)):
        assert chosen_by(noise, X, y, kind, **terms)[0].tolist() == greedy
    assert chosen_by(BenchmarkNoise(1), X, y, kind, law="gumbel", **terms)[0].tolist() == greedy


@every_kind
def test_greedy_kendall__is_the_largest_score_of_the_definition(kind):
    X, y = study(kind)
    chosen = []
    for _ in range(5):
        scores = by_definition(X, y, chosen, kind)
        chosen.append(max((j for j in range(len(X)) if j not in chosen), key=lambda j: (scores[j], -j)))
    greedy = greedy_kendall(make_pairs(X, y, kind), n_choices=5).tolist()
    assert greedy == chosen
    # The copy of the best comes later, if at all: it goes with a feature that is there.
    assert not {2, 4} <= set(greedy[:2])


def test_private_kendall__event():
    X, y = study()
    _, event = chosen_by(BenchmarkNoise(1), X, y, "people", n_choices=4, epsilon=0.5)
    assert (event.family, event.epsilon, event.epsilon_each) == ("choice", 0.5, Fraction(1, 8))
    assert (event.n_choices, event.entries) == (4, 12)
    fewer = ~np.isnan(y)
    fewer[0] = False
    # Nothing in it hangs on the rows.
    assert chosen_by(BenchmarkNoise(1), X[:, fewer], y[fewer], "people", n_choices=4, epsilon=0.5)[1] == event
    assert event.family == make_request().family


def test_greedy_kendall__can_choose_one_or_all():
    one, all_of_them = (greedy_kendall(make_pairs(*study(), "people"), n_choices=n) for n in (1, 12))
    assert one.tolist() == all_of_them[:1].tolist()
    assert sorted(all_of_them) == list(range(12))


@pytest.mark.parametrize("n_choices", [0, -1, 13, 2.5])
@pytest.mark.parametrize("composition", ["basic", "zcdp"])
def test_private_kendall__raise_on_bad_number_of_choices(n_choices, composition):
    X, y = study()
    terms = {"n_choices": n_choices, "composition": composition, "delta": 1e-6}
    with pytest.raises(UsageError, match=r"at least 13 scores|`n_choices` >= 1"):
        chosen_by(BenchmarkNoise(1), X, y, "people", **terms)


@pytest.mark.parametrize("n_choices", [0, 13])
def test_greedy_kendall__raise_on_bad_number_of_choices(n_choices):
    with refused("number-of-choices", n_choices, error=UsageError):
        greedy_kendall(make_pairs(*study(), "people"), n_choices=n_choices)


@pytest.mark.parametrize(
    ("kind", "terms"),
    [
        # Each claims less than these pairs move by.
        ("table", {"against_outcome": "bounded", "against_feature": "product"}),
        ("haplotypes", {"rows": "people", "unit": "person"}),
        ("people", {"against_feature": "sign"}),
    ],
)
def test_private_kendall__raise_on_a_request_about_other_pairs(kind, terms):
    X, y = study(kind)
    with refused("request-of-other-pairs", error=UsageError):
        chosen_by(BenchmarkNoise(1), X, y, kind, **terms)


def test_private_kendall__raise_without_data():
    with refused("choice-without-data", error=UsageError):
        private_kendall(make_pairs(*study(), "people"), request=make_request(), noise=Rehearsal())


def enormous_pairs(n_rows):
    return SimpleNamespace(
        n_rows=n_rows,
        pair_range=2,
        feature_range=4,
        outcome_scores=np.zeros(9, dtype=np.int64),
        rows="people",
        against_outcome="bounded",
        against_feature="product",
    )


@pytest.mark.parametrize("is_private", [True, False])
def test_scores__raise_before_they_leave_int64(is_private):
    n_rows = math.isqrt(2**62 // (4 * 3))
    noise = Rehearsal().on("a" * 64)

    def choose(pairs):
        if is_private:
            private_kendall(pairs, request=make_request(), noise=noise)
        else:
            greedy_kendall(pairs, n_choices=3)

    with refused("sums-not-exact", error=UsageError) as caught:
        choose(enormous_pairs(n_rows + 1))
    assert str(n_rows + 1) not in str(caught.value)
    assert noise.draws == {}
    if is_private:
        choose(enormous_pairs(n_rows))
        assert list(noise.draws) == [()]


def test_greedy_kendall__takes_scores_up_to_the_largest():
    assert greedy_kendall(enormous_pairs(2**30), n_choices=1).tolist() == [0]


@pytest.mark.parametrize(
    "is_selected", [None, np.ones(59, dtype=bool), np.arange(60), np.ones((1, 60), dtype=bool)]
)
def test_genotype_pairs__raise_on_rows_that_are_not_said(is_selected):
    """Taken as "all", None would count as no row, and the noise would be n times too small."""
    pairs = make_pairs(*study(), "people")
    with refused("selected-rows-form", "`is_selected`", error=UsageError):
        replace(pairs, is_selected=is_selected)
    with refused("outcome-scores-shape", error=UsageError):
        replace(pairs, outcome_scores=pairs.outcome_scores[1:])


def test_genotype_pairs__of_every_outcome_are_its_own():
    X, y = study()
    bits, options = packed(X, "people")
    both = genotype_pairs(bits, np.array([y, -np.nan_to_num(y)]), **options)
    assert [one.n_rows for one in both] == [np.sum(~np.isnan(y)), len(y)]
    (alone,) = genotype_pairs(bits, y[np.newaxis], **options)
    np.testing.assert_array_equal(both[0].outcome_scores, alone.outcome_scores)
    assert isinstance(alone, GenotypePairs)


# Costs.


@pytest.mark.parametrize("law", ["permute-and-flip", "gumbel"])
@pytest.mark.parametrize("n_choices", [1, 5, 50, 400, 3000])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (4.0, 1e-9)])
def test_epsilon_of_choices__by_zcdp_is_within_what_dp_accounting_allows(law, n_choices, epsilon, delta):
    total = epsilon_of_choices(epsilon, delta, n_choices=n_choices, law=law, composition="zcdp")
    each = total / n_choices
    accountant = rdp.RdpAccountant()
    accountant.compose(dp_accounting.ZCDpEvent(n_choices * each**2 / (8 if law == "gumbel" else 2)))
    theirs = accountant.get_epsilon(delta)
    assert total >= epsilon
    if total == epsilon:
        # Few choices: they add up to no more than that, and by zCDP to more.
        assert theirs > epsilon
    else:
        # Theirs tries many orders where ours takes one, so it is a little smaller.
        assert 0.96 * epsilon <= theirs <= epsilon


@pytest.mark.parametrize("law", ["permute-and-flip", "gumbel"])
@pytest.mark.parametrize("n_choices", [5, 50, 400])
def test_epsilon_of_choices__holds_for_the_worst_that_composes(law, n_choices):
    """Randomised response is the worst pure mechanism, and of range epsilon that of half of it is one."""
    total = epsilon_of_choices(1.0, 1e-6, n_choices=n_choices, law=law, composition="zcdp")
    each = total / n_choices / (2 if law == "gumbel" else 1)
    one = pld.from_privacy_parameters(DifferentialPrivacyParameters(each, 0.0), each / 64)
    assert one.self_compose(n_choices).get_epsilon_for_delta(1e-6) <= 1.0


def test_epsilon_of_choices__basic_is_what_was_asked_for():
    assert epsilon_of_choices(0.7, 0.0, n_choices=9, law="gumbel", composition="basic") == 0.7


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"delta": 0.0}, ("delta-out-of-range", "`delta`")),
        ({"delta": 1.0}, ("delta-out-of-range", "`delta`")),
        ({"epsilon": 0.0}, ("choices-invalid", "`epsilon`")),
        ({"epsilon": math.inf}, ("choices-invalid", "`epsilon`")),
        ({"epsilon": math.nan}, ("choices-invalid", "`epsilon`")),
        ({"n_choices": 0}, ("choices-invalid", "`n_choices`", "got 1.0")),
        ({"n_choices": 2.5}, ("choices-invalid", "`n_choices`")),
    ],
)
def test_epsilon_of_choices__raise_out_of_domain(changed, fault):
    terms = {"epsilon": 1.0, "delta": 1e-6, "n_choices": 5, "law": "gumbel", "composition": "zcdp"} | changed
    with refused(*fault, error=UsageError):
        epsilon_of_choices(terms.pop("epsilon"), terms.pop("delta"), **terms)
