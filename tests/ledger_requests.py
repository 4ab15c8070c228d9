"""A ledger with one account, requests to it, and the study key of all tests."""

from fractions import Fraction

from dpgrs.privacy.accounting.charges import GaussianCharge
from dpgrs.privacy.ledger.caps import exceeds_cap
from dpgrs.privacy.ledger.entries import Account, make_budget
from dpgrs.privacy.ledger.hash_chain import appending_to
from dpgrs.privacy.ledger.ledger import Ledger, Order, start_ledger
from dpgrs.privacy.noise.study_key import StudyKey, create_study_key

DATASET = {"accession": "phs000001", "consent": "c1"}
ACCOUNT = Account("full", "person", "add-remove")
KEY = StudyKey(bytes(range(32)))
STATISTIC, OTHER_STATISTIC, OUTPUT = "a" * 64, "b" * 64, "c" * 64


def new_ledger(folder, *, account=ACCOUNT, **terms):
    """Begin a ledger in a folder; by default it allows mu^2 = 1."""
    path, terms = folder / "cohort.jsonl", {"delta": "1e-6", "mu_squared": "1"} | terms
    reason = reason_for(account, **{name: terms[name] for name in terms if name != "people_at_most"})
    start_ledger(path, **DATASET, account=account, **terms, **reason)
    return Ledger(path)


def reason_for(account, **limits):
    """Return the reason, as an argument, that an account of these limits needs; none for most."""
    budget = make_budget(**limits)
    is_beyond = exceeds_cap(account.cost_to_person(budget.limit), Fraction(budget.delta))
    return {"beyond_20": "a test"} if is_beyond else {}


def open_account(ledger, account, *, delta="1e-6", **limits):
    """Open one more account in a ledger, whatever it allows."""
    reason = reason_for(account, delta=delta, **limits)
    ledger.open_account(account, make_budget(delta=delta, **limits), **reason)


def create_fixed_key():
    """Make the study key in the file that the environment names, of fixed bytes: no noise is luck."""
    create_study_key().write_bytes(KEY.secret)


def identity(**parameters):
    """Return a public identity."""
    return (
        {"mechanism": "gram", "version": 1, "dataset_version": "v1", "shape": [3, 3]} | DATASET | parameters
    )


def gaussian(mu):
    """Return charges of one Gaussian mechanism."""
    return [GaussianCharge("gram", sensitivity=mu, sigma="1")]


def reserve(ledger, *, mu="0.5", charges=None, account=ACCOUNT, statistic=STATISTIC, key=KEY, **parameters):
    """Reserve a request that costs mu^2 = 1/4, or as stated."""
    charges = gaussian(mu) if charges is None else charges
    order = Order(identity(**parameters), charges, statistic)
    return ledger.reserve_all([order], account, study_key=key)[0][0]


def forge(ledger, *bodies):
    """Append entries past all rules, with a chain that holds."""
    with appending_to(ledger.path) as chain:
        for body in bodies:
            chain.append(body)
