import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.accounting.accountant import gdp_epsilon
from dpgrs.privacy.accounting.charges import Cost, GaussianCharge, LaplaceCharge, PureCharge
from dpgrs.privacy.ledger.entries import Account, Request
from dpgrs.privacy.ledger.ledger import Ledger, Order, start_ledger
from dpgrs.privacy.ledger.verify import verify_ledger
from dpgrs.privacy.noise.study_key import StudyKey
from dpgrs.reporting.ledger import describe_ledger, summarise_ledger
from ledger_requests import (
    ACCOUNT,
    DATASET,
    KEY,
    OTHER_STATISTIC,
    OUTPUT,
    STATISTIC,
    forge,
    gaussian,
    identity,
    new_ledger,
    open_account,
    reserve,
)
from refused import refused

HAPLOTYPE = Account("full", "haplotype", "add-remove")


@pytest.fixture
def ledger(tmp_path):
    return new_ledger(tmp_path)


def unchanged(ledger, match, **request):
    """Return whether a request is refused with the ledger left as it was."""
    before = ledger.path.read_bytes()
    with pytest.raises(DpgrsError, match=match):
        reserve(ledger, **request)
    return ledger.path.read_bytes() == before


def spent(ledger, account=ACCOUNT):
    return ledger.read().spent(account)


# Requests


def test_reserve__same_request_is_a_replay_at_no_cost(ledger):
    first = reserve(ledger)
    before = ledger.path.read_bytes()
    assert reserve(ledger) == first
    ledger.complete(first, OUTPUT)
    assert reserve(ledger) == first
    ledger.complete(first, OUTPUT)
    assert spent(ledger) == Cost(mu_squared=Fraction(1, 4))
    assert ledger.path.read_bytes().startswith(before)
    assert verify_ledger(ledger.path) == {"entries": 4, "reserved": 1, "completed": 1}


@pytest.mark.parametrize(
    "other",
    [
        {"dataset_version": "v2"},
        {"shape": [3, 4]},
        {"row_filter": "consented"},
        {"mu": "0.25"},
        {"charges": [GaussianCharge("gram", sensitivity="1", sigma="2")]},
        {"charges": [GaussianCharge("cross", sensitivity="0.5", sigma="1")]},
    ],
)
def test_reserve__another_request_with_the_same_statistic_is_charged_and_gets_a_new_id(ledger, other):
    first = reserve(ledger)
    assert reserve(ledger, **other) != first
    assert spent(ledger).mu_squared > Fraction(1, 4)


def test_reserve__another_account_is_another_request(tmp_path):
    ledger = new_ledger(tmp_path)
    open_account(ledger, HAPLOTYPE, mu_squared="1")
    assert reserve(ledger, mu="0.1") != reserve(ledger, mu="0.1", account=HAPLOTYPE)


def test_reserve__equal_statistics_have_unlike_marks(ledger):
    reserve(ledger)
    reserve(ledger, dataset_version="v2")
    marks = [request.statistic_mark for request in ledger.read().requests.values()]
    assert len(set(marks)) == 2
    assert STATISTIC not in ledger.path.read_text()


def test_reserve__raise_on_changed_data_under_one_label(ledger):
    first = reserve(ledger)
    assert unchanged(ledger, "data changed under the label v1", statistic=OTHER_STATISTIC)
    ledger.complete(first, OUTPUT)
    assert unchanged(ledger, "data changed under the label v1", statistic=OTHER_STATISTIC)
    assert reserve(ledger, statistic=OTHER_STATISTIC, dataset_version="v2") != first


def test_reserve__raise_on_another_study_key(ledger):
    reserve(ledger)
    assert unchanged(ledger, "another study key", key=StudyKey(b"z" * 32))


def test_reserve__raise_over_budget_and_fill_it_exactly(ledger):
    for number in range(3):
        reserve(ledger, number=number)
    message = (
        r"cost epsilon 2.255 \(mu\^2 0.2501\), spent epsilon 4.152 of 4.887 \(mu\^2 0.75 of mu\^2 1\), "
        "at delta 1e-06. Nothing was drawn"
    )
    charges = [GaussianCharge("a", "0.5", "1"), GaussianCharge("b", "0.01", "1")]
    assert unchanged(ledger, message, charges=charges)
    reserve(ledger, number=3)
    assert spent(ledger) == Cost(mu_squared=Fraction(1))
    assert unchanged(ledger, "Nothing was drawn", mu="1e-300")
    assert reserve(ledger, number=3)  # a replay needs no budget


def test_reserve__thirds_fill_a_budget_without_rounding(tmp_path):
    ledger = new_ledger(tmp_path, mu_squared="0", pure_epsilon="1")
    for number in range(3):
        reserve(ledger, charges=[LaplaceCharge("count", sensitivity="1", scale="3")], number=number)
    assert spent(ledger) == Cost(pure_epsilon=Fraction(1))
    assert unchanged(
        ledger,
        "spent epsilon 1 of 1 .mu.2 0 and pure epsilon 1 of mu.2 0 and pure",
        charges=[PureCharge("choice", "0.001")],
    )


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"mechanism": ""}, "must state `mechanism`"),
        ({"dataset_version": None}, "must state `dataset_version`"),
        ({"version": 0}, "must state `version`"),
        ({"accession": ""}, "must state `accession`"),
        ({"consent": None}, "must state `consent`"),
        ({"scale": 0.5}, "`identity.scale` must be text"),
        ({"nested": {"list": [1, 2.0]}}, r"`identity.nested.list\[1\]` must be text"),
        ({"keys": {1: "a"}}, "`identity.keys` must be text"),
        ({"accession": "phs000002"}, "`accession` must be phs000001"),
        ({"consent": "c2"}, "`consent` must be c1"),
        ({"account": Account("full", "haplotype", "add-remove")}, "must be one of the ledger's"),
        ({"statistic": "abc"}, "`statistic_digest` must be a SHA-256"),
        ({"statistic": None}, "`statistic_digest` must be a SHA-256"),
        ({"mu": "0"}, "`sensitivity` must be above 0"),
        ({"mu": 0.5}, "exact number"),
    ],
)
def test_reserve__raise_on_misuse(ledger, change, match):
    assert unchanged(ledger, match, **change)


def test_reserve__raise_without_a_charge(ledger):
    with refused("request-without-charge", error=UsageError):
        reserve(ledger, charges=[])


@pytest.mark.parametrize("access", ["read", "reserve", "complete"])
def test_missing_ledger__fails_closed(tmp_path, access):
    ledger = Ledger(tmp_path / "cohort.jsonl")
    actions = {
        "read": ledger.read,
        "reserve": lambda: reserve(ledger),
        "complete": lambda: ledger.complete("a", OUTPUT),
    }
    with refused("ledger-missing", error=UsageError):
        actions[access]()
    assert list(tmp_path.iterdir()) == []


def test_complete__raise_on_unknown_request_or_another_output(ledger, tmp_path):
    with refused("request-not-reserved"):
        ledger.complete("f" * 64, OUTPUT)
    first = reserve(ledger)
    ledger.complete(first, OUTPUT)
    before = ledger.path.read_bytes()
    with refused("replay-differs"):
        ledger.complete(first, STATISTIC)
    with refused("digest-invalid", "`output_digest`", "256", error=UsageError):
        ledger.complete(reserve(new_ledger(tmp_path / "other")), OUTPUT.upper())
    assert ledger.path.read_bytes() == before


def test_complete_all__notes_all_or_none(ledger):
    first, second = reserve(ledger, shape=[1, 1]), reserve(ledger, shape=[2, 2])
    ledger.check_all({first: OUTPUT, second: OUTPUT})
    before = ledger.path.read_bytes()
    for act in (ledger.check_all, ledger.complete_all):
        with refused("request-not-reserved"):
            act({first: OUTPUT, "f" * 64: OUTPUT})
    assert ledger.path.read_bytes() == before
    ledger.complete_all({first: OUTPUT, second: STATISTIC})
    assert ledger.read().outputs == {first: OUTPUT, second: STATISTIC}


@settings(deadline=None, max_examples=20)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.sampled_from(["0.3", "1/3", "0.5"]), st.sampled_from("ab"), st.booleans()
        ),
        max_size=8,
    )
)
def test_reserve__any_course_of_events_agrees_with_a_model(tmp_path_factory, events):
    ledger = new_ledger(tmp_path_factory.mktemp("model"))
    ids, statistics, total = {}, {}, Fraction(0)
    for number, mu, letter, is_completed in events:
        request, statistic = (number, mu), letter * 64
        is_fresh, cost = request not in ids, Fraction(mu) ** 2
        is_refused = total + cost > 1 if is_fresh else statistics[request] != statistic
        if is_refused:
            assert unchanged(ledger, "othing was drawn", number=number, mu=mu, statistic=statistic)
            continue
        request_id = reserve(ledger, number=number, mu=mu, statistic=statistic)
        assert ids.setdefault(request, request_id) == request_id
        statistics[request], total = statistic, total + cost * is_fresh
        if is_completed:
            ledger.complete(request_id, OUTPUT)
    assert spent(ledger).mu_squared == total
    assert verify_ledger(ledger.path)["reserved"] == len(ids) == len(set(ids.values()))


# Accounts


def test_accounts__a_haplotype_release_costs_a_person_twice_the_loss(tmp_path):
    ledger = new_ledger(tmp_path)
    open_account(ledger, HAPLOTYPE, mu_squared="2", pure_epsilon="1")
    reserve(ledger, mu="0.1", account=HAPLOTYPE)
    reserve(ledger, mu="0.5")
    # A haplotype less may replace a person's row, which is two steps of adding and removing.
    assert spent(ledger, HAPLOTYPE).mu_squared == Fraction("1.01")
    assert spent(ledger).mu_squared == Fraction("0.29")
    # Fits the account it is made to, but not the other account of the same people.
    assert unchanged(ledger, "full/person/add-remove does not allow", mu="0.5", account=HAPLOTYPE)
    assert unchanged(
        ledger, "full/person/add-remove does not", charges=[PureCharge("choice", "0.1")], account=HAPLOTYPE
    )
    assert verify_ledger(ledger.path)["reserved"] == 2


@pytest.mark.parametrize(
    ("first", "second", "public"),
    [
        (("full", "person", "replace-one"), ("label", "person", "replace-one"), "the genotypes"),
        (("full", "person", "replace-one"), ("feature", "person", "replace-one"), "the outcomes"),
        (
            ("feature", "person", "replace-one"),
            ("label", "haplotype", "replace-one"),
            "genotypes, the outcomes",
        ),
        (("full", "person", "add-remove"), ("full", "person", "replace-one"), "the number of rows"),
    ],
)
def test_accounts__raise_where_one_calls_public_what_the_other_protects(tmp_path, first, second, public):
    for name, (one, other) in {"a": (first, second), "b": (second, first)}.items():
        ledger = new_ledger(tmp_path / name, account=Account(*one))
        before = ledger.path.read_bytes()
        with refused("accounts-disagree", public, error=UsageError):
            open_account(ledger, Account(*other), mu_squared="1")
        assert ledger.path.read_bytes() == before


def test_accounts__raise_on_second_opening(ledger):
    with refused("account-exists", error=UsageError):
        open_account(ledger, ACCOUNT, mu_squared="9")
    assert ledger.read().budgets[ACCOUNT].limit == Cost(mu_squared=Fraction(1))


# Where a ledger lies, and what it shows


@pytest.mark.parametrize("terms", [{"accession": ""}, {"consent": ""}])
def test_create__raise_on_nameless_dataset(tmp_path, terms):
    with refused("ledger-without-dataset", error=UsageError):
        Ledger(tmp_path / "cohort.jsonl").create(**(DATASET | terms))
    assert list(tmp_path.iterdir()) == []


def test_create__raise_inside_results_or_a_repository(tmp_path, repository):
    for folder in (tmp_path / "results" / "demo", repository / "ledgers"):
        with refused("path-not-private", error=UsageError):
            new_ledger(folder)
        assert not folder.exists()


def test_start_ledger__bad_terms_leave_nothing(tmp_path):
    with refused("account-without-budget", error=UsageError):
        start_ledger(tmp_path / "cohort.jsonl", **DATASET, account=ACCOUNT, delta="1e-6")
    assert list(tmp_path.iterdir()) == []


def test_describe_ledger__tables_and_json_agree(tmp_path):
    ledger = new_ledger(tmp_path, mu_squared=None, epsilon="3", pure_epsilon="1")
    charges = [*gaussian("0.1"), LaplaceCharge("count", "1", "3")]
    ledger.complete(reserve(ledger, charges=charges), OUTPUT)
    pending = reserve(ledger, mu="0.2")
    summary = json.loads(json.dumps(summarise_ledger(ledger.path)))
    (account,) = summary["accounts"]
    assert (summary["accession"], summary["consent"], account["delta"]) == ("phs000001", "c1", "0.000001")
    assert account["spent"]["mu_squared"] == "0.05"
    assert account["spent"]["pure_epsilon"] == "0.333333333333334"
    assert float(account["spent"]["epsilon"]) >= gdp_epsilon(0.05**0.5, 1e-6) + 1 / 3
    assert account["limit"]["epsilon"] == "3.000"
    assert [request["status"] for request in summary["requests"]] == ["completed", "reserved"]
    text = describe_ledger(ledger.path)
    for shown in ("phs000001", "full/person/add-remove", "0.3334", account["spent"]["epsilon"], pending[:12]):
        assert shown in text


# The second reader


def test_verify__finds_an_account_over_its_limit(ledger):
    for number in range(5):
        request = Request.of(
            identity(number=number), gaussian("0.5"), ACCOUNT, statistic_digest=STATISTIC, study_key=KEY
        )
        forge(ledger, request.entry())
    with refused("ledger-line-wrong", "line 7"):
        verify_ledger(ledger.path)
    assert unchanged(ledger, "spent epsilon 5.* of 4.* .mu.2 1.25", mu="0.001")


def test_verify__finds_a_person_over_the_limit_by_haplotype_releases(ledger):
    open_account(ledger, HAPLOTYPE, mu_squared="1", pure_epsilon="1")
    request = Request.of(
        identity(), gaussian("0.51"), HAPLOTYPE, statistic_digest=STATISTIC, study_key=KEY
    )  # 0.2601 to a haplotype, 1.0404 to a person
    forge(ledger, request.entry())
    with refused("ledger-line-wrong", "line 4"):
        verify_ledger(ledger.path)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda first: first, "a release is reserved twice"),
        (lambda first: first | {"identity_digest": "0" * 64}, "another identity digest"),
        (lambda first: first | {"kind": "gift"}, "wrong at line 4: 'gift'"),
        (lambda first: {"kind": "completed", "request": "0" * 64, "output_digest": OUTPUT}, "never reserved"),
        (lambda first: {"kind": "dataset", "format": 1} | DATASET, "first line alone"),
    ],
)
def test_verify__finds_what_breaks_a_rule(ledger, change, match):
    reserve(ledger)
    ((_, first),) = ledger.read().requests.items()
    forge(ledger, change(first.entry()))
    with pytest.raises(DpgrsError, match=match):
        verify_ledger(ledger.path)


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "gift"},
        {"kind": "reserved"},
        {"kind": "account", "account": {}},
        {
            "kind": "account",
            "account": vars(ACCOUNT) | {"unit": "family"},
            "budget": {"mu_squared": "1", "pure_epsilon": "0", "delta": "1e-6"},
        },
        {"kind": "dataset", "format": 1},
    ],
)
def test_read__raise_on_entries_of_another_version(ledger, body):
    forge(ledger, body)
    assert unchanged(ledger, "does not understand")


def test_reserve_all__raise_on_a_release_of_another_version(ledger):
    """It may name the terms of its draws otherwise. A new label, or any other change, is another release."""
    reserve(ledger, draws=["as it was"])
    before = ledger.path.read_bytes()
    now = {"version": 2, "draws": ["as it is"]}
    line = "Version 1 of the mechanisms made this release, and version 2, of this dpgrs, cannot replay it"
    with refused("replay-of-another-version", line, "`dataset.version`"):
        reserve(ledger, **now)
    assert ledger.path.read_bytes() == before
    account = Account("full", "haplotype", "add-remove")
    open_account(ledger, account, mu_squared="4")
    others = [{"dataset_version": "v2"}, {"mu": "0.1"}, {"shape": [4]}, {"account": account, "mu": "0.2"}]
    for other in others:
        reserve(ledger, **now | other)
    assert len(ledger.read().requests) == 1 + len(others)


def test_reserve_all__raise_on_two_statistics_under_one_identity(ledger):
    orders = [Order(identity(), gaussian("0.5"), statistic) for statistic in (STATISTIC, OTHER_STATISTIC)]
    before = ledger.path.read_bytes()
    with refused("data-changed-under-version"):
        ledger.reserve_all(orders, ACCOUNT, study_key=KEY)
    assert ledger.path.read_bytes() == before


def test_reserve_all__the_same_order_twice_is_one_request(ledger):
    order = Order(identity(), gaussian("0.9"), STATISTIC)
    first, second = ledger.reserve_all([order, order], ACCOUNT, study_key=KEY)
    assert first == second
    assert spent(ledger) == Cost(mu_squared=Fraction("0.81"))


def test_reserve_all__raise_on_later_requests_that_do_not_fit(ledger):
    """They are not counted, and not asked for where all requests are replays."""
    order, later = Order(identity(), gaussian("0.9"), STATISTIC), Cost(mu_squared=Fraction("0.2"))
    before = ledger.path.read_bytes()
    with refused("budget-exceeded"):
        ledger.reserve_all([order], ACCOUNT, study_key=KEY, later=later)
    assert ledger.path.read_bytes() == before
    first = ledger.reserve_all([order], ACCOUNT, study_key=KEY, later=Cost(mu_squared=Fraction("0.19")))
    assert spent(ledger) == Cost(mu_squared=Fraction("0.81"))
    assert ledger.reserve_all([order], ACCOUNT, study_key=KEY, later=later) == first
