"""DPKendall through a release: what is charged, replayed and refused."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.privacy.ledger.charging import check, complete, release
from dpgrs.privacy.noise.sources import BenchmarkNoise, ReleaseNoise
from dpgrs.selection.dp_kendall import PAIRS, Kendall, KendallRequest, genotype_pairs, private_kendall
from dpgrs.selection.kendall_rounds import RoundScores
from kendall_pairs import digest_of, make_pairs, make_request, packed, study
from ledger_requests import ACCOUNT, DATASET, KEY, new_ledger
from refused import refused


@pytest.fixture
def ledger(tmp_path):
    return new_ledger(tmp_path, pure_epsilon="4")


def release_choices(ledger, outcomes, *, X=None, named=digest_of, mechanism=None, **terms):
    """Release three features for every outcome; `named` says what the draws are made of."""
    X = study()[0] if X is None else X
    request = make_request(**{"epsilon": 0.75} | terms)

    def choose_all(noise):
        return {
            name: private_kendall(
                make_pairs(X, y, "people"),
                request=request,
                noise=noise.of("outcomes", name).on(named(X, y)),
            )[0].tolist()
            for name, y in outcomes.items()
        }

    def identify(part):
        return {"mechanism": "kendall", "dataset_version": "v1", "outcome": part[1]} | DATASET

    return release(mechanism or choose_all, identify=identify, account=ACCOUNT, ledger=ledger, study_key=KEY)


def spent(ledger):
    return ledger.read().spent(ACCOUNT).pure_epsilon


@pytest.fixture
def no_draw(monkeypatch):
    def forbid():
        monkeypatch.setattr(ReleaseNoise, "_choose", lambda *_: pytest.fail("Noise was drawn."))

    return forbid


def test_release__is_charged_exactly_and_replayed_for_nothing(ledger):
    y = study()[1]
    chosen, receipt = release_choices(ledger, {"a": y})
    complete(receipt, ledger, study="height")
    assert spent(ledger) == Fraction(3, 4)
    again, same = release_choices(ledger, {"a": y})
    assert (again, same) == (chosen, receipt)
    check(same, ledger)
    assert spent(ledger) == Fraction(3, 4)
    # It is noise that decides: another request with the same terms for the same data chooses otherwise.
    others = [release_choices(ledger, {name: y})[0][name] for name in ("b", "c")]
    assert any(other != chosen["a"] for other in others)


def test_release__by_zcdp_is_charged_what_it_costs_under_basic_composition(ledger):
    X, y = study(n_features=200)
    terms = {"n_choices": 100, "epsilon": 1.0, "delta": 1e-6, "composition": "zcdp"}
    release_choices(ledger, {"a": y}, X=X, **terms)
    total = make_request(**terms).epsilon_of_choices
    assert spent(ledger) == Fraction(total)
    assert 2 < total < 2.5


@pytest.mark.parametrize("changed", ["features", "outcome"])
@pytest.mark.parametrize("is_all_named", [True, False])
def test_release__changed_data_are_refused_before_any_draw(ledger, no_draw, changed, is_all_named):
    """The scores of the first round are marked as well: also data that nobody named."""
    X, y = study()

    def named(X, y):
        return digest_of(X, y) if is_all_named else "0" * 64

    release_choices(ledger, {"a": y}, named=named)
    before = ledger.path.read_bytes()
    if changed == "features":
        X = np.where(np.arange(X.shape[1]) == np.flatnonzero(~np.isnan(y))[0], 2 - X, X)
    else:
        y = np.where(np.arange(len(y)) == np.nanargmin(y), 99.0, y)
    no_draw()
    with refused("data-changed-under-version"):
        release_choices(ledger, {"a": y}, X=X, named=named)
    assert ledger.path.read_bytes() == before


def test_release__code_that_scores_otherwise_is_refused_before_any_draw(ledger, no_draw, monkeypatch):
    y = study()[1]
    release_choices(ledger, {"a": y})
    monkeypatch.setattr(KendallRequest, "first_factor", Fraction(1))
    no_draw()
    with refused("data-changed-under-version"):
        release_choices(ledger, {"a": y})


def test_release__code_that_scores_a_later_round_otherwise_is_not_stored(ledger, monkeypatch):
    """Its first round is as it was, so that it is found by the output alone."""
    y = study()[1]
    # With few features it might choose the same; at a small epsilon these choices are all noise.
    terms = {"X": study(n_features=200)[0], "epsilon": 0.01, "n_choices": 20}
    complete(release_choices(ledger, {"a": y}, **terms)[1], ledger, study="height")
    honest = RoundScores.add
    monkeypatch.setattr(RoundScores, "add", lambda own, columns, scores: honest(own, columns, scores // 2))
    _, receipt = release_choices(ledger, {"a": y}, **terms)
    with refused("replay-differs"):
        check(receipt, ledger)


def test_release__another_outcome_leaves_the_first_alone(ledger):
    _, y = study()
    alone, _ = release_choices(ledger, {"a": y})
    both, _ = release_choices(ledger, {"new": np.sort(y), "a": y})
    assert both["a"] == alone["a"]
    assert spent(ledger) == Fraction(3, 2)


def test_release__outcomes_side_by_side_have_the_draws_of_one_after_the_other(ledger):
    X, first = study(n_features=200)
    rng, request = np.random.default_rng(3), make_request(epsilon=0.3, n_choices=9)
    # Other rows take part for each outcome, so that units differ too.
    others = {name: np.where(rng.random(60) < 0.3, np.nan, rng.standard_normal(60)) for name in "bc"}
    outcomes = {"a": first} | others
    bits, options = packed(X, "people")

    def together(noise):
        pairs = genotype_pairs(bits, np.array([*outcomes.values()]), **options)
        data = SimpleNamespace(kept={PAIRS: pairs})
        sources = [noise.of("outcomes", name).on(digest_of(X, y)) for name, y in outcomes.items()]
        drawn = Kendall().choose_for_all(data, sources, request=request, outcome_bound=None)
        return {name: own.tolist() for name, (own, _) in zip(outcomes, drawn, strict=True)}

    alone, receipt = release_choices(ledger, outcomes, X=X, epsilon=0.3, n_choices=9)
    complete(receipt, ledger, study="height")
    charged = ledger.path.read_bytes()
    chosen, again = release_choices(ledger, outcomes, mechanism=together, epsilon=0.3, n_choices=9)
    assert (chosen, again) == (alone, receipt)
    assert ledger.path.read_bytes() == charged
    seeded = BenchmarkNoise(1)
    for name, own in together(seeded).items():
        noise = seeded.of("outcomes", name).on(digest_of(X, outcomes[name]))
        pairs = make_pairs(X, outcomes[name], "people")
        assert private_kendall(pairs, request=request, noise=noise)[0].tolist() == own


def test_release__costs_that_hang_on_the_choice_are_refused(ledger):
    X, y = study()
    request = make_request(epsilon=2.0)
    seen = []

    def adaptive(noise):
        noise = noise.of("outcomes", "a").on(digest_of(X, y))
        chosen, _ = private_kendall(make_pairs(X, y, "people"), request=request, noise=noise)
        seen.append(chosen.tolist())
        claim = replace(request.claim, norm="l1")
        name = f"number of carriers of {chosen[0]}"
        return noise.laplace(
            np.array([int(X[chosen[0]].sum())]), name=name, step=1.0, sensitivity=claim, epsilon=0.5
        )

    with refused("noise-not-reserved"):
        release_choices(ledger, {"a": y}, mechanism=adaptive)
    rehearsed, drawn = seen
    assert rehearsed[0] != drawn[0]


def test_release__gumbel_is_refused_before_anything_is_charged(ledger):
    before = ledger.path.read_bytes()
    with refused("noise-not-exact", error=UsageError):
        release_choices(ledger, {"a": study()[1]}, law="gumbel")
    assert ledger.path.read_bytes() == before
