import json
import math
from fractions import Fraction

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.accountant import SMALLEST_DELTA, gdp_delta, gdp_epsilon, gdp_mu, split_budget
from dpgrs.privacy.accounting.charges import Cost, GaussianCharge, LaplaceCharge, PureCharge
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.privacy.ledger.entries import Account, Request, make_budget
from dpgrs.privacy.sensitivity import cross_sensitivity
from ledger_requests import ACCOUNT, KEY, STATISTIC, identity
from refused import refused


@pytest.mark.parametrize(
    ("charge", "cost"),
    [
        (GaussianCharge("gram", sensitivity="1/3", sigma="2"), Cost(mu_squared=Fraction(1, 36))),
        (LaplaceCharge("count", sensitivity="1", scale="2.5"), Cost(pure_epsilon=Fraction(2, 5))),
        (PureCharge("choice", epsilon="0.1"), Cost(pure_epsilon=Fraction(1, 10))),
    ],
)
def test_charges__cost_is_exact(charge, cost):
    assert charge.cost == cost


@pytest.mark.parametrize("kind", [GaussianCharge, LaplaceCharge])
@pytest.mark.parametrize("numbers", [("0", "1"), ("1", "0"), ("-1", "1"), ("1", 2.0)])
def test_charges__raise_on_what_costs_nothing_or_is_not_exact(kind, numbers):
    with pytest.raises(UsageError, match="must be"):
        _ = kind("gram", *numbers).cost


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("none", "person", "add-remove"), ("account-term-unknown", "`protection`")),
        (("full", "family", "add-remove"), ("account-term-unknown", "`unit`")),
        (("full", "person", "near"), ("account-term-unknown", "`neighbours`")),
        (("label", "person", "add-remove"), ("neighbours-not-replace-one", "`neighbours`")),
    ],
)
def test_account__raise_on_unknown_words(words, fault):
    with refused(*fault, error=UsageError):
        Account(*words)


@pytest.mark.parametrize(
    ("own", "other", "made_public"),
    [
        ("full/person/replace-one", "full/person/add-remove", {"the number of rows"}),
        ("full/person/add-remove", "full/person/replace-one", set()),
        ("label/person/replace-one", "full/person/add-remove", {"the genotypes", "the number of rows"}),
        ("full/haplotype/add-remove", "full/person/add-remove", set()),
    ],
)
def test_account__names_what_it_takes_as_public_of_what_another_protects(own, other, made_public):
    own, other = (Account(*words.split("/")) for words in (own, other))
    assert own.made_public_of(other) == made_public


@pytest.mark.parametrize(
    ("own", "other", "steps"),
    [
        ("full/person/add-remove", "full/person/add-remove", 1),
        ("full/haplotype/replace-one", "full/haplotype/replace-one", 1),
        ("full/haplotype/add-remove", "full/person/add-remove", 2),
        ("label/haplotype/replace-one", "label/person/replace-one", 2),
        ("full/person/replace-one", "full/haplotype/replace-one", 1),
        ("full/person/add-remove", "full/haplotype/add-remove", 2),
    ],
)
def test_account__steps_between_neighbours_of_another(own, other, steps):
    own, other = (Account(*words.split("/")) for words in (own, other))
    assert own.steps_between(other) == steps


def test_account__a_haplotype_less_moves_a_clipped_row_further_than_a_person_less():
    d = 200
    relation = {"rows": "people", "unit": "person", "neighbours": "add-remove"}
    # All frequencies are 1/2; the alleles of the haplotype that is left out count as these.
    whole, rest = np.repeat([[1.0, 0.0], [0.0, -1.0]], d // 2, axis=1)
    norm = float(np.linalg.norm(whole))
    claim = cross_sensitivity(d, 1, outcome_bound=1.0, row_norm=norm, **relation).value
    moved = np.linalg.norm(whole - rest)
    assert moved == pytest.approx(np.sqrt(2) * claim)
    account = Account("full", "person", "add-remove")
    assert claim < moved <= account.steps_between(Account("full", "haplotype", "add-remove")) * claim


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3", "10"])
@pytest.mark.parametrize("pure", ["0", "0.05"])
def test_make_budget__total_is_converted_downwards_and_nearly_used_up(epsilon, pure):
    limit = make_budget(epsilon=epsilon, delta="1e-6", pure_epsilon=pure).limit
    rest = float(Fraction(epsilon) - Fraction(pure))
    assert limit.pure_epsilon == Fraction(pure)
    assert gdp_delta(float(limit.mu_squared) ** 0.5, rest) <= 1e-6
    assert gdp_epsilon(float(limit.mu_squared) ** 0.5, 1e-6) == pytest.approx(rest, rel=1e-6)
    assert float(limit.epsilon(Fraction("1e-6"))) == pytest.approx(float(epsilon), rel=1e-6)


@pytest.mark.parametrize("delta", ["1e-6", "3e-7", "1e-9"])
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "3", "4", "5", "8", "10", "20"])
def test_make_budget__allows_one_release_of_all_of_it(epsilon, delta):
    limit = make_budget(epsilon=epsilon, delta=delta).limit
    for shares in [(1.0,), (0.01, 0.3, 0.69), (0.01, *[0.099] * 10)]:
        mus = split_budget(float(epsilon), float(delta), shares=shares, accounting="gdp")
        sigmas = [exact_text(math.nextafter(1 / mu, math.inf)) for mu in mus]
        assert sum((GaussianCharge("sum", "1", sigma).cost for sigma in sigmas), Cost()).is_within(limit)


@pytest.mark.parametrize("epsilon", ["0.1", "0.7", "1", "3", "10"])
def test_make_budget__allows_the_square_of_mu_exactly(epsilon):
    limit = make_budget(epsilon=epsilon, delta="1e-6").limit
    assert limit == Cost(Fraction(gdp_mu(float(epsilon), 1e-6)) ** 2)


def test_request__is_read_as_it_was_written():
    charges = [GaussianCharge("gram", "1", "3"), PureCharge("choice", "0.1")]
    request = Request.of(identity(), charges, ACCOUNT, statistic_digest=STATISTIC, study_key=KEY)
    assert Request.from_entry(json.loads(json.dumps(request.entry()))) == request


def test_make_budget__counter_and_total_give_the_smaller():
    assert make_budget(epsilon="1", delta="1e-6", mu_squared="0.001").mu_squared == "0.001"
    assert Fraction(make_budget(epsilon="1", delta="1e-6", mu_squared="9").mu_squared) < Fraction("0.06")
    assert make_budget(epsilon="1", delta="1e-6", pure_epsilon="1").limit == Cost(pure_epsilon=Fraction(1))
    for delta in ("1e-30", exact_text(SMALLEST_DELTA)):
        assert make_budget(mu_squared="1", delta=delta).limit == Cost(mu_squared=Fraction(1))


@pytest.mark.parametrize(
    ("terms", "fault"),
    [
        ({}, ("account-without-budget",)),
        ({"mu_squared": "0"}, ("account-without-budget",)),
        ({"epsilon": "1", "pure_epsilon": "2"}, ("epsilon-below-pure-epsilon", "`epsilon`")),
        ({"epsilon": "1", "delta": "0"}, ("delta-out-of-range", "`delta`")),
        ({"mu_squared": "1", "delta": "1"}, ("delta-out-of-range", "`delta`")),
        ({"epsilon": "1e6"}, ("budget-out-of-range", "10000")),
        ({"mu_squared": 0.1}, ("number-not-exact",)),
        ({"mu_squared": "1", "delta": "0.9e-30"}, ("delta-out-of-range", "`delta`")),
    ],
)
def test_make_budget__raise_out_of_domain(terms, fault):
    with refused(*fault, error=UsageError):
        make_budget(**({"delta": "1e-6"} | terms))


def test_cost__epsilon_of_both_counters_is_their_sum_rounded_up():
    cost = Cost(Fraction(1, 4), Fraction(1, 3))
    assert cost.epsilon(Fraction("1e-6")) >= Fraction(gdp_epsilon(0.5, 1e-6)) + Fraction(1, 3)
    assert float(cost.epsilon(Fraction("1e-6"))) == pytest.approx(gdp_epsilon(0.5, 1e-6) + 1 / 3, rel=1e-12)


@pytest.mark.parametrize("rest", [0, 0.25, 2])
def test_cost__delta_is_that_of_what_the_pure_part_leaves(rest):
    pure = Fraction(1, 2)
    assert float(Cost(Fraction(1, 4), pure).delta(pure + Fraction(rest))) == gdp_delta(0.5, rest)
    assert Cost(Fraction(1, 4), pure).delta(pure - Fraction(1, 10**9)) == 1
    assert Cost(pure_epsilon=pure).delta(pure) == 0
