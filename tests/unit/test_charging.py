from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.privacy.accounting.events import MECHANISM_VERSION
from dpgrs.privacy.ledger.charging import complete, release
from dpgrs.privacy.noise.sources import ReleaseNoise
from dpgrs.privacy.noise.study_key import StudyKey
from dpgrs.privacy.sensitivity import Sensitivity
from ledger_requests import ACCOUNT, DATASET, KEY, new_ledger
from refused import refused

SENSITIVITY = Sensitivity(1.0, "l2", "add-remove", "person", "gram/1")
STATISTIC = np.arange(50)


@pytest.fixture
def ledger(tmp_path):
    return new_ledger(tmp_path)


def mechanism(noise, *, outcomes=("a", "b"), mu=0.5, statistic=STATISTIC):
    """Release one statistic of the genotypes and one of every outcome."""
    draw = {"name": "sum", "step": 0.5, "sensitivity": SENSITIVITY, "mu": mu}
    parts = [("genotypes",), *(("outcomes", name) for name in outcomes)]
    return {part: noise.of(*part).gaussian(statistic, **draw) for part in parts}


def run(ledger, *, key=KEY, version="v1", allow=None, require_replayed=None, **options):
    def identify(part):
        return {"mechanism": "sums", "dataset_version": version, "outcomes": list(part[1:])} | DATASET

    checks = {"allow": allow, "require_replayed": require_replayed}
    terms = {"identify": identify, "account": ACCOUNT, "ledger": ledger, "study_key": key}
    return release(partial(mechanism, **options), **terms, **checks)


def values(result):
    return {part: noisy.tolist() for part, (noisy, _) in result.items()}


def cost(ledger):
    return float(ledger.read().spent(ACCOUNT).mu_squared)


def test_release__every_part_is_one_request(ledger):
    result, receipt = run(ledger)
    assert list(receipt.requests) == [("genotypes",), ("outcomes", "a"), ("outcomes", "b")]
    assert {event.request for _, event in result.values()} == set(ledger.read().requests)
    # mu is rounded down in each draw.
    assert 0.75 * (1 - 1e-12) < cost(ledger) <= 0.75


def test_release__identities_name_the_part_and_its_draws(ledger):
    """Public terms alone, nothing that is known only later."""
    run(ledger)
    named = [request.identity for request in ledger.read().requests.values()]
    assert [one["part"] for one in named] == [["genotypes"], ["outcomes", "a"], ["outcomes", "b"]]
    for (draw,), version in [(one["draws"], one["version"]) for one in named]:
        assert draw["statistic"] == "sum"
        assert not draw.keys() & {"source", "request", "version"}
        assert (draw["family"], draw["sensitivity"], draw["norm"], draw["step"]) == (
            "gaussian",
            "1",
            "l2",
            "0.5",
        )
        assert version == MECHANISM_VERSION


def test_release__again_is_a_replay(ledger):
    (first, receipt), (again, same) = run(ledger), run(ledger)
    assert values(first) == values(again)
    assert receipt == same
    assert cost(ledger) < 0.76


def test_release__another_outcome_leaves_the_others_alone_and_is_charged_alone(ledger):
    few, _ = run(ledger, outcomes=("a",))
    more, _ = run(ledger, outcomes=("new", "a"))
    assert {part: noisy for part, noisy in values(more).items() if part in few} == values(few)
    assert cost(ledger) == pytest.approx(0.75)


@pytest.mark.parametrize("names", [("a", "new"), ("new", "a")])
def test_release__what_the_ledger_has_is_drawn_and_compared_before_more_is_charged(ledger, names):
    first, receipt = run(ledger, outcomes=("a",))
    before = ledger.path.read_bytes()

    def refuse(result, requests):
        assert requests == receipt.requests
        noisy = values(result)
        assert {part: noisy[part] for part in requests} == values(first)
        assert not any(noisy["outcomes", "new"])
        raise DpgrsError("replay-differs", "It is refused.")

    with pytest.raises(DpgrsError, match="It is refused"):
        run(ledger, outcomes=names, require_replayed=refuse)
    assert ledger.path.read_bytes() == before
    # All of it, or nothing, was drawn before.
    run(ledger, outcomes=("a",), require_replayed=refuse)
    run(ledger, version="v2", outcomes=(), require_replayed=refuse)


def test_release__of_new_genotypes_nothing_is_compared(ledger):
    """Outcomes may depend on their noise, which is 0 in what would be compared."""
    run(ledger, outcomes=("a",))
    compared = []

    def other_genotypes(noise):
        draw = {"name": "sum", "step": 0.5, "sensitivity": SENSITIVITY}
        noise.of("genotypes").gaussian(STATISTIC, mu=0.25, **draw)
        return noise.of("outcomes", "a").gaussian(STATISTIC, mu=0.5, **draw)

    def identify(part):
        return {"mechanism": "sums", "dataset_version": "v1", "outcomes": list(part[1:])} | DATASET

    terms = {"identify": identify, "account": ACCOUNT, "ledger": ledger, "study_key": KEY}
    release(other_genotypes, **terms, require_replayed=lambda *_: compared.append(True))
    assert compared == []
    assert len(ledger.read().requests) == 3


def test_release__is_allowed_again_if_another_process_wrote_meanwhile(ledger):
    """Between check and charge: the second check sees what the other process was charged."""
    seen = []

    def allow(identities):
        seen.append(len(ledger.read().requests))
        if len(seen) == 1:
            run(ledger, version="other", outcomes=("a",))

    run(ledger, outcomes=("a",), allow=allow)
    assert seen == [0, 2]
    assert len(ledger.read().requests) == 4


def test_release__is_refused_if_what_another_process_wrote_meanwhile_forbids_it(ledger):
    def allow(identities):
        if ledger.read().requests:
            raise DpgrsError("data-changed-under-version", "It is refused.")
        run(ledger, version="other", outcomes=())

    with pytest.raises(DpgrsError, match="It is refused"):
        run(ledger, allow=allow)
    assert len(ledger.read().requests) == 1


def test_release__changed_data_under_one_label_are_refused_before_any_draw(ledger, monkeypatch):
    run(ledger)
    before = ledger.path.read_bytes()
    monkeypatch.setattr(ReleaseNoise, "_draw", lambda *_: pytest.fail("Noise was drawn."))
    with refused("data-changed-under-version"):
        run(ledger, statistic=STATISTIC + 1)
    assert ledger.path.read_bytes() == before


def test_release__a_new_label_draws_fresh_noise_even_for_equal_data(ledger):
    first, _ = run(ledger, outcomes=())
    second, _ = run(ledger, outcomes=(), version="v2")
    (one,), (two,) = values(first).values(), values(second).values()
    assert np.mean(np.array(one) != two) > 0.6
    assert cost(ledger) == pytest.approx(0.5)


def test_release__over_budget_nothing_is_reserved_nor_drawn(ledger, monkeypatch):
    run(ledger)
    before = ledger.path.read_bytes()
    monkeypatch.setattr(ReleaseNoise, "_draw", lambda *_: pytest.fail("Noise was drawn."))
    # Each of the two new parts would fit alone, both together do not.
    with refused("budget-exceeded"):
        run(ledger, outcomes=("a", "c", "d"))
    assert ledger.path.read_bytes() == before


def test_release__all_that_was_reserved_must_be_drawn(ledger):
    calls = []

    def fickle(noise):
        calls.append(None)
        draw = {"step": 0.5, "sensitivity": SENSITIVITY, "mu": 0.5}
        names = ("first", "second") if len(calls) == 1 else ("first",)
        return [noise.of("genotypes").gaussian(STATISTIC, name=name, **draw) for name in names]

    def identify(part):
        return {"mechanism": "sums", "dataset_version": "v1"} | DATASET

    with refused("noise-left-undrawn"):
        release(fickle, identify=identify, account=ACCOUNT, ledger=ledger, study_key=KEY)


def test_release__replay_with_another_key_is_refused(ledger):
    run(ledger)
    with refused("replay-under-another-key"):
        run(ledger, key=StudyKey(bytes(32)))


def test_complete__notes_every_output_once(ledger):
    _, receipt = run(ledger)
    complete(receipt, ledger, study="height")
    before = ledger.path.read_bytes()
    complete(run(ledger)[1], ledger, study="height")
    assert ledger.path.read_bytes() == before
    assert len(ledger.read().outputs) == 3


def mixed_mechanism(noise):
    """Add normal noise, add Laplace noise and choose in both ways, all in one request."""
    l2, l1, each = (replace(SENSITIVITY, norm=norm) for norm in ("l2", "l1", "linf"))
    common, part = {"step": 0.5}, noise.of("genotypes")
    return [
        part.gaussian(STATISTIC, name="sum", sensitivity=l2, mu=0.5, **common),
        part.laplace(STATISTIC, name="count", sensitivity=l1, epsilon=0.25, **common),
        part.choose(STATISTIC, name="best", sensitivity=each, epsilon=0.125, n_choices=3, **common),
        part.choose_set(STATISTIC, name="set", sensitivity=each, epsilon=0.125, n_choices=3, **common),
    ]


def test_release__every_family_is_charged_by_its_own_counter(tmp_path):
    ledger = new_ledger(tmp_path, pure_epsilon="1")

    def identify(part):
        return {"mechanism": "mixed", "dataset_version": "v1"} | DATASET

    results = [
        release(mixed_mechanism, identify=identify, account=ACCOUNT, ledger=ledger, study_key=KEY)[0]
        for _ in range(2)
    ]
    first, again = ([values.tolist() for values, _ in result] for result in results)
    assert first == again
    spent, (request,) = ledger.read().spent(ACCOUNT), ledger.read().requests.values()
    # Each share is rounded down by one unit in the last place; a choice costs exactly its own.
    assert spent.mu_squared == pytest.approx(0.25, rel=1e-12)
    assert spent.pure_epsilon == pytest.approx(0.5, rel=1e-12)
    assert [draw["family"] for draw in request.identity["draws"]] == [
        "gaussian",
        "laplace",
        "choice",
        "subset",
    ]


@pytest.mark.parametrize("terms", [{"unit": "haplotype"}, {"neighbours": "replace-one"}])
def test_release__a_claim_about_other_terms_than_the_account_is_refused(ledger, terms):
    before = ledger.path.read_bytes()

    def other_terms(noise):
        claim = replace(SENSITIVITY, **terms)
        return noise.of("genotypes").gaussian(STATISTIC, name="sum", step=0.5, sensitivity=claim, mu=0.5)

    def identify(part):
        return {"mechanism": "sums", "dataset_version": "v1"} | DATASET

    with refused("account-terms-differ"):
        release(other_terms, identify=identify, account=ACCOUNT, ledger=ledger, study_key=KEY)
    assert ledger.path.read_bytes() == before
