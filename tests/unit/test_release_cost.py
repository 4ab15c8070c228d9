import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from dpgrs.evaluation.private_metrics import AccuracyRequest, private_accuracy
from dpgrs.linalg.norms import outcome_norm
from dpgrs.methods.chosen_requests import request_of_rows
from dpgrs.methods.covariate_mechanism import CovariateRegression
from dpgrs.methods.mechanisms import mechanism_named, mechanism_of
from dpgrs.methods.requests import request_grid
from dpgrs.privacy.accounting.accountant import gdp_epsilon
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.accounting.events import GaussianEvent
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.privacy.ledger import charging
from dpgrs.privacy.ledger.charging import release
from dpgrs.reporting.ledger import describe_ledger
from dpgrs.study.fit_identity import fit_settings, weights_origin
from dpgrs.study.identity import ACCURACY, identify_accuracy, identify_part, public_identity
from dpgrs.study.release_cost import (
    account_of,
    certain_cost,
    other_version,
    regression_request,
    screening_terms,
    settings_of_ledger,
    total_epsilon,
)
from dpgrs.study.settings import resolve
from dpgrs.study.variant_terms import takes_ld
from ledger_requests import DATASET, KEY, new_ledger
from refused import refused
from screening_cohorts import N_VARIANTS, NAMES, cohort, frequencies

SITES = "a" * 64


def settings(**changes):
    """Resolve a small release; `changes` are sections."""
    raw = {
        "mode": "release",
        "dataset": DATASET | {"version": "1"},
        "cohort": {"rows": "people"},
        "variants": {"size": 4},
        "outcomes": {"count": 3, "test_share": 0.2},
        "privacy": {"epsilon": 1, "gram_share": 0.5},
        "evaluation": {"metrics": "charged", "epsilon": 0.5},
    }
    sections = {
        name: raw.get(name, {}) | value if isinstance(value, dict) else value
        for name, value in changes.items()
    }
    return resolve(raw | sections)


@pytest.fixture
def ledger(tmp_path):
    return new_ledger(tmp_path, mu_squared="100")


def request_of(config, count):
    """Return the request of a release of so many outcomes, as its steps do."""
    privacy = config.privacy
    ((request, _),) = request_grid(
        protections=privacy.protection,
        accountings=privacy.accounting,
        epsilons=privacy.epsilon,
        sizes=config.variants.size,
        counts=[count],
        outcome_budget=privacy.outcome_budget,
        rows=config.cohort.rows,
        outcome_bound=config.outcomes.bound,
        counts_outcomes=config.outcomes.are_counted,
        **{
            name: getattr(privacy, name)
            for name in ("delta", "gram_share", "count_share", "neighbours", "unit")
        },
        covariate_share=config.covariates.share,
    )
    return request


def make_release(config, ledger, *, sites=SITES):
    """Charge and draw a release as its steps do, of made-up statistics."""
    privacy, evaluation, (count,) = config.privacy, config.evaluation, config.outcomes.count
    names, request = [f"outcome {number}" for number in range(count)], request_of(config, count)
    if privacy.bounds == "tight":
        # What follows from the sites is not known before a run.
        norm = outcome_norm(request.n_outcomes, factor=privacy.outcome_clip, bound=config.outcomes.bound)
        request = replace(request, coding="frequency", row_norm=1.7, outcome_norm=norm)
    mechanism = mechanism_of(config.methods[0])
    # Rules pass it on as text.
    public = json.loads(json.dumps(public_identity(config)))

    def identify(part):
        about = mechanism.depends_on(part, names, request)
        # What public genotypes there are is found out by a run.
        ld = {"ld": "b" * 64} if "ld" in mechanism.takes else {}
        own = {"mechanism": mechanism.name, "drawn_before": mechanism.drawn_before(request)}
        return identify_part(public | ld, sites, request, about, **own)

    charge = {"account": account_of(privacy), "ledger": ledger, "study_key": KEY}
    if config.covariates.adjusts_first:
        public["adjusted_by"] = make_regression(config, request, names, public, charge)
    terms = mechanism.zeros(request, count) | {"request": request, "outcome_names": names}
    _, receipt = release(
        lambda noise: mechanism.draw(noise=noise, **terms),
        identify=identify,
        **charge,
    )
    if evaluation.metrics != "charged":
        return
    accuracy, identity = AccuracyRequest.of(request, evaluation), public_identity(config)
    fit, made = fit_settings(config), {"requests": list(receipt.requests.items())}
    if takes_ld(config.methods):
        fit["ld"] = "b" * 64  # found out by a run
    release(
        lambda noise: private_accuracy(
            np.zeros((3, count), dtype=np.int64), request=accuracy, noise=noise, outcome_names=names
        ),
        identify=lambda part: identify_accuracy(
            # As `measure-release` names it, which does not know how sums were drawn.
            identify_part(identity, sites, request, ("outcomes", *part[1:]), mechanism=ACCURACY),
            residual_bound=accuracy.residual_bound,
            weights=weights_origin(made, part[1:], fit=fit, book=ledger.read()),
        ),
        **charge,
    )


def make_regression(config, request, names, public, charge):
    """Charge and draw the regression on covariates that comes first; return what identifies its noise."""
    regression = mechanism_named(CovariateRegression.name)
    asked = regression_request(config, request)
    terms = regression.zeros(asked, len(names)) | {"request": asked, "outcome_names": names}
    _, receipt = release(
        lambda noise: regression.draw(noise=noise, **terms),
        identify=lambda part: identify_part(public, SITES, asked, part, mechanism=regression.name),
        **charge,
    )
    requests = charge["ledger"].read().requests
    return [requests[one].identity_digest for one in receipt.requests.values()]


SEPARATE = {"epsilon": 1, "outcome_budget": "separate"}
WITHHELD = {"metrics": "withheld", "epsilon": None}


@pytest.mark.parametrize("accounting", ["gdp", "paper"])
@pytest.mark.parametrize("budget", ["joint", "separate"])
@pytest.mark.parametrize("method", ["reusecov-gauss", "naive", "adassp", "blup-steered", "blup-ld"])
def test_total_epsilon__is_that_of_all_draws(ledger, method, budget, accounting):
    privacy = {"epsilon": 1, "outcome_budget": budget, "accounting": accounting}
    config = settings(methods=[method], privacy=privacy)
    make_release(config, ledger)
    total = gdp_epsilon(math.sqrt(spent(ledger).mu_squared), config.privacy.delta)
    assert total_epsilon(config) == pytest.approx(total, rel=1e-6)


def spent(ledger):
    book = ledger.read()
    (account,) = book.budgets
    return book.spent(account)


COUNTED = {"count": 3, "test_share": 0.2, "missing": "counted"}


@pytest.mark.parametrize("evaluation", [{}, WITHHELD])
@pytest.mark.parametrize("outcomes", [{}, COUNTED])
@pytest.mark.parametrize(
    "privacy",
    [
        {},
        SEPARATE,
        {"accounting": "paper", "gram_share": 0.3},
        {"bounds": "worst-case"},
        {"gram_share": None},
    ],
)
@pytest.mark.parametrize("method", ["reusecov-gauss", "naive", "adassp", "blup-steered", "blup-ld"])
def test_certain_cost__is_what_a_release_is_charged_and_of_a_replay_nothing(
    ledger, method, privacy, outcomes, evaluation
):
    sections = {"privacy": {"epsilon": 1} | privacy, "outcomes": outcomes, "evaluation": evaluation}
    config = settings(methods=[method], **sections)
    expected = certain_cost(config, ledger.read())
    make_release(config, ledger)
    assert expected.is_within(spent(ledger))
    assert float(expected.mu_squared) == pytest.approx(float(spent(ledger).mu_squared), rel=1e-8)
    assert certain_cost(config, ledger.read()) == Cost()


def new_requests(config, ledger):
    """Make one more release, which costs what is expected; return of how many new requests."""
    before, n_before = spent(ledger), len(ledger.read().requests)
    expected = certain_cost(config, ledger.read())
    make_release(config, ledger)
    charged = float(spent(ledger).mu_squared - before.mu_squared)
    assert float(expected.mu_squared) == pytest.approx(charged, rel=1e-8)
    return len(ledger.read().requests) - n_before


@pytest.mark.parametrize(
    ("changes", "n_new"),
    [
        # The Gram matrix is replayed where outcomes alone are others.
        ({"outcomes": {"count": 4}}, 2),
        # By default the number of outcomes decides what the Gram matrix gets.
        ({"outcomes": {"count": 4}, "privacy": {"gram_share": None}}, 3),
        ({"outcomes": {"heritability": 0.1}}, 2),
        # X'X and X'Y leave a share to the counts of outcomes.
        ({"outcomes": COUNTED, "evaluation": WITHHELD}, 2),
        ({"evaluation": {"epsilon": 0.6}}, 1),
        ({"evaluation": {"residual_bound": 2}}, 1),
        ({"regression": {"lambda": 0.7}}, 1),
        ({"regression": {"lambda_from": "evidence"}}, 1),
        ({"methods": ["reusecov-gauss"]}, 1),
        # Other mechanisms share nothing: the count, three times X'X and X'y; the genotypes and X'Y.
        ({"methods": ["naive"]}, 5),
        ({"methods": ["adassp"]}, 3),
        ({"privacy": {"bounds": "worst-case"}}, 3),
        ({"evaluation": WITHHELD}, 0),
        ({"dataset": {"version": "2"}}, 3),
        ({"privacy": {"epsilon": 1.5}, "evaluation": {"epsilon": 0.6}}, 3),
        # Of weights that follow from other noise.
        ({"privacy": {"epsilon": 1.5}}, 3),
        ({"variants": {"size": 5}}, 3),
        ({"cohort": {"simulation": {"people": 70}}}, 3),
        ({"outcomes": {"test_share": 0.3}}, 3),
        ({"seed": 2}, 3),
    ],
)
def test_certain_cost__of_another_release_is_that_of_its_new_parts(ledger, changes, n_new):
    make_release(settings(), ledger)
    assert new_requests(settings(**changes), ledger) == n_new


@pytest.mark.parametrize(
    ("changes", "n_new"),
    [
        # Its rows have no variants; X'X of the same rows is replayed.
        ({"privacy": {"genotype_clip": 1.6}}, 3),
        ({"covariates": {"bound": 2}}, 4),
        ({"evaluation": {"epsilon": 0.6}}, 1),
        ({"privacy": SEPARATE, "outcomes": {"count": 4}}, 9),
    ],
)
def test_certain_cost__of_another_regression_before_is_also_that_of_the_sums_that_it_adjusts(
    ledger, changes, n_new
):
    adjusted = {"methods": ["blup-ld"], "covariates": {"pcs": 2, "first": True}}
    privacy = {"privacy": SEPARATE} if n_new == 9 else {}
    make_release(settings(**adjusted | privacy), ledger)
    merged = {name: adjusted.get(name, {}) | value for name, value in changes.items()}
    other = settings(**adjusted | merged)
    assert new_requests(other, ledger) == n_new
    assert certain_cost(other, ledger.read()) == Cost()


def test_identities__are_the_same_in_every_ledger(ledger, tmp_path):
    """Of charged accuracy, too, which is about the weights of requests of the ledger."""
    (tmp_path / "other").mkdir()
    other = new_ledger(tmp_path / "other", mu_squared="100")
    make_release(settings(), ledger)
    make_release(settings(dataset={"version": "0"}), other)
    make_release(settings(), other)
    first, again = (
        [one.identity_digest for one in each.read().requests.values()] for each in (ledger, other)
    )
    assert first == again[3:]


def as_version_2(monkeypatch):
    """Make requests as version 2 of the mechanisms named them."""
    terms = GaussianEvent.identity_terms.fget

    def earlier(event):
        own = {name: value for name, value in terms(event).items() if name != "law"}
        return own | {"mu": exact_text(event.mu), "proof": event.sensitivity.proof}

    monkeypatch.setattr(charging, "MECHANISM_VERSION", 2)
    monkeypatch.setattr(GaussianEvent, "identity_terms", property(earlier))


@pytest.mark.parametrize("method", ["reusecov-gauss", "blup-steered", "adassp"])
def test_other_version__is_told_before_a_run_and_refused_before_a_charge(ledger, monkeypatch, method):
    config = settings(methods=[method])
    with monkeypatch.context() as earlier:
        as_version_2(earlier)
        make_release(config, ledger)
    book, before = ledger.read(), ledger.path.read_bytes()
    assert {request.identity["version"] for request in book.requests.values()} == {2}
    assert other_version(config, book) == 2
    with refused("replay-of-another-version"):
        make_release(config, ledger)
    assert ledger.path.read_bytes() == before
    new = settings(methods=[method], dataset={"version": "2"})
    assert other_version(new, book) is None
    assert other_version(settings(methods=[method], privacy={"epsilon": 1.5}), book) is None
    make_release(new, ledger)
    assert other_version(new, ledger.read()) is None


FOUR = {"count": 4}


@pytest.mark.parametrize("stated", [None, 0.21, 0.3333])
@pytest.mark.parametrize(
    ("privacy", "outcomes"),
    [({}, {}), ({"count_share": 0.1}, {}), ({"bounds": "worst-case"}, {}), ({}, COUNTED)],
)
def test_settings_of_ledger__are_those_at_which_the_gram_matrix_is_replayed(
    ledger, privacy, outcomes, stated
):
    terms = {"outcomes": outcomes, "evaluation": WITHHELD}
    first = settings(privacy=privacy | {"gram_share": stated}, **terms)
    assert settings_of_ledger(first, ledger.read()) is None
    make_release(first, ledger)
    found = settings_of_ledger(first, ledger.read())
    share = found["privacy.gram_share"]
    assert found["outcomes.missing"] == outcomes.get("missing", "none")
    for own in (None, 0.4):
        later = settings(privacy=privacy | {"gram_share": own}, **terms | {"outcomes": outcomes | FOUR})
        assert settings_of_ledger(later, ledger.read()) == found
        other = {"missing": "none" if outcomes else "counted"}
        later = settings(privacy=privacy | {"gram_share": own}, **terms | {"outcomes": FOUR | other})
        assert settings_of_ledger(later, ledger.read()) == found
    assert share == (stated or pytest.approx(share))
    later = settings(privacy=privacy | {"gram_share": share}, **terms | {"outcomes": outcomes | FOUR})
    make_release(later, ledger)
    kinds = [request.identity["part"][0] for request in ledger.read().requests.values()]
    assert kinds == ["genotypes", "outcomes", "outcomes"]


def test_describe_ledger__says_what_was_drawn_for_how_many_outcomes(ledger):
    make_release(settings(evaluation=WITHHELD), ledger)
    rows = [re.split("  +", line) for line in describe_ledger(ledger.path).splitlines()[-2:]]
    assert [row[7:9] for row in rows] == [["count, gram", "1"], ["cross product", "3"]]


@pytest.mark.parametrize(
    "changes",
    [{"privacy": {"epsilon": 2}}, {"methods": ["blup-ld"]}, {"variants": {"size": 5}}, {"seed": 2}],
)
def test_settings_of_ledger__are_none_where_another_gram_matrix_is_drawn(ledger, changes):
    make_release(settings(evaluation=WITHHELD), ledger)
    assert settings_of_ledger(settings(evaluation=WITHHELD, **changes), ledger.read()) is None


def test_settings_of_ledger__are_none_where_no_gram_matrix_is_drawn(ledger):
    """The number of rows is replayed, in a request of the genotypes."""
    make_release(settings(methods=["blup-ld"], evaluation=WITHHELD), ledger)
    later = settings(methods=["blup-ld"], evaluation=WITHHELD, outcomes=FOUR)
    assert settings_of_ledger(later, ledger.read()) is None


def test_certain_cost__of_one_more_outcome_with_a_budget_of_its_own(ledger):
    make_release(settings(privacy=SEPARATE), ledger)
    assert new_requests(settings(privacy=SEPARATE, outcomes=FOUR), ledger) == 2


def test_certain_cost__other_sites_are_left_to_the_job(ledger):
    make_release(settings(), ledger, sites="b" * 64)
    assert certain_cost(settings(), ledger.read()) == Cost()


def screened_settings(method="k-blup", **changes):
    """Resolve a release by a method that reads rows, metrics withheld."""
    sections = {
        "variants": {"size": N_VARIANTS},
        "screening": {"size": 2, "share": 0.3},
        "evaluation": WITHHELD,
    }
    return settings(methods=[method], **sections | changes)


def make_screened_release(config, ledger):
    """Charge and draw a release by a method that reads rows as its step does, of made-up people."""
    privacy, mechanism = config.privacy, mechanism_of(config.methods[0])
    bounds = {"frequency": frequencies()} if privacy.bounds == "tight" else {}
    request = request_of_rows(request_of(config, len(NAMES)), screening_terms(config), **bounds)
    public = public_identity(config)
    terms = {"request": request, "outcome_names": NAMES, "frequency": frequencies()}
    release(
        lambda noise: mechanism.draw(cohort(), noise=noise, **terms),
        identify=lambda part: identify_part(
            json.loads(json.dumps(public)), SITES, request, part, mechanism=mechanism.name
        ),
        account=account_of(privacy),
        ledger=ledger,
        study_key=KEY,
    )


@pytest.mark.parametrize("outcomes", [{}, COUNTED])
@pytest.mark.parametrize("privacy", [{}, SEPARATE, {"bounds": "worst-case"}])
def test_certain_cost__from_rows_is_what_is_charged_and_of_a_replay_nothing(tmp_path, privacy, outcomes):
    ledger = new_ledger(tmp_path, mu_squared="100", pure_epsilon="10")
    sections = {"privacy": {"epsilon": 1, "gram_share": 0.5} | privacy, "outcomes": outcomes}
    config = screened_settings(**sections)
    expected = certain_cost(config, ledger.read())
    make_screened_release(config, ledger)
    assert expected.is_within(spent(ledger))
    assert expected.pure_epsilon == spent(ledger).pure_epsilon
    assert certain_cost(config, ledger.read()) == Cost()


def test_certain_cost__of_another_number_of_chosen_variants_is_no_replay(tmp_path):
    ledger = new_ledger(tmp_path, mu_squared="100", pure_epsilon="10")
    # The draws have the same budgets.
    privacy = SEPARATE | {"gram_share": 0.5}
    make_screened_release(screened_settings(privacy=privacy), ledger)
    before = spent(ledger)
    config = screened_settings(privacy=privacy, screening={"size": 3, "share": 0.3})
    expected = certain_cost(config, ledger.read())
    make_screened_release(config, ledger)
    assert expected.pure_epsilon == spent(ledger).pure_epsilon - before.pure_epsilon > 0


@pytest.mark.parametrize("header", ["FID\tIID\theight\tbmi", "sample,height,bmi", "IID height bmi"])
def test_certain_cost__takes_the_number_of_outcomes_from_a_table(ledger, tmp_path, header):
    path = tmp_path / "phenotypes.txt"
    path.write_text(f"{header}\n")
    table = {"source": "file", "file": str(path), "count": None}
    # Outcomes of a table may be missing.
    of_two = settings(privacy=SEPARATE, outcomes={"count": 2, "missing": "counted"})
    costs = [
        certain_cost(config, ledger.read()) for config in (settings(privacy=SEPARATE, outcomes=table), of_two)
    ]
    assert costs[0] == costs[1]
