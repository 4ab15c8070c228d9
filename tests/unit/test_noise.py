import json
from dataclasses import FrozenInstanceError, asdict, replace
from fractions import Fraction

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.events import FAMILIES, MECHANISM_VERSION, GaussianEvent, event_of
from dpgrs.privacy.noise import sources as door
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal, ReleaseNoise
from dpgrs.privacy.noise.study_key import StudyKey
from dpgrs.privacy.sensitivity import Sensitivity
from refused import refused

SENSITIVITY = Sensitivity(2.0, "l2", "add-remove", "person", "gram/1")
OPTIONS = {"name": "gram", "step": 0.25, "sensitivity": SENSITIVITY, "mu": 0.5}


def draw(*key, statistic=None, **options):
    statistic = np.zeros(1000, dtype=np.int64) if statistic is None else statistic
    return BenchmarkNoise(*key).gaussian(statistic, **OPTIONS | options)[0]


def test_gaussian__same_key_same_bytes():
    assert draw(1, "replicate", 0).tobytes() == draw(1, "replicate", 0).tobytes()


@pytest.mark.parametrize(
    ("key", "options"),
    [
        ((2, "replicate", 0), {}),
        ((1, "replicate", 1), {}),
        ((1, "replicate", 0), {"name": "cross product"}),
        ((1, "replicate", 0), {"mu": 0.5000001}),
        ((1, "replicate", 0), {"step": 0.125}),
    ],
)
def test_gaussian__other_requests_share_no_noise(key, options):
    assert (draw(*key, **options) != draw(1, "replicate", 0)).mean() > 0.8


def test_gaussian__sigma_is_rounded_up():
    event = BenchmarkNoise(1).gaussian(np.zeros(1, dtype=int), **OPTIONS | {"mu": 0.3})[1]
    assert event.sensitivity.value / event.sigma < 0.3


def test_gaussian__shape_and_scalars():
    assert draw(1, statistic=np.zeros((3, 4), dtype=np.int64)).shape == (3, 4)
    assert draw(1, statistic=5).shape == ()


def test_gaussian__event_is_serialisable_and_frozen():
    event = BenchmarkNoise(1).gaussian(np.zeros((3, 4), dtype=int), **OPTIONS)[1]
    assert json.loads(json.dumps(asdict(event))) == {
        "statistic": "gram",
        "sensitivity": asdict(SENSITIVITY),
        "mu": 0.5,
        "sigma": event.sigma,
        "step": 0.25,
        "entries": 12,
        "source": "benchmark",
        "request": "",
        "version": MECHANISM_VERSION,
    }
    with pytest.raises(FrozenInstanceError):
        event.mu = 1.0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        *(({"mu": mu}, "share-not-positive") for mu in (0.0, -1.0, np.nan, np.inf)),
        ({"mu": 1e-20}, "noise-too-large"),
        *(({"step": step}, "grid-not-power-of-two") for step in (0.3, 0.0, -0.25)),
    ],
)
def test_gaussian__raise_on(options, code):
    with refused(code, error=UsageError):
        draw(1, **options)


def test_benchmark_noise__parts_share_no_noise():
    statistic, noise = np.zeros(1000, dtype=int), BenchmarkNoise(1)
    draws = [
        source.gaussian(statistic, **OPTIONS)[0]
        for source in (noise, noise.of("outcomes", "a"), noise.of("outcomes", "b"))
    ]
    assert all((draws[i] != draws[j]).mean() > 0.8 for i, j in [(0, 1), (0, 2), (1, 2)])


# Release noise

KEY, OTHER_KEY = StudyKey(bytes(range(32))), StudyKey(bytes(32))
EXACT = np.arange(1000)


def rehearsed(*statistics, part=("genotypes",)):
    rehearsal = Rehearsal()
    for statistic in statistics:
        noisy, _ = rehearsal.of(*part).gaussian(statistic, **OPTIONS)
        assert not noisy.any()
    return rehearsal.draws


def secret(statistic=EXACT, *, request="r1", part=("genotypes",)):
    noise = ReleaseNoise(KEY, draws=rehearsed(statistic, part=part), requests={part: (request, "i1")})
    return noise.of(*part).gaussian(statistic, **OPTIONS)


@pytest.mark.parametrize(
    "change",
    [{"part": ("outcomes", "a")}, {"statistic": EXACT[::-1]}],
)
def test_release_noise__anything_else_draws_anew(change):
    statistic = change.get("statistic", EXACT)
    assert (secret(**change)[0] - statistic != secret()[0] - EXACT).mean() > 0.8


def test_release_noise__is_the_same_by_any_entry_of_a_ledger():
    (first, _), (again, event) = secret(), secret(request="r2")
    assert first.tobytes() == again.tobytes()
    assert event.request == "r2"


def test_release_noise__draws_of_one_part_are_independent_and_as_many_as_reserved():
    noise = ReleaseNoise(KEY, draws=rehearsed(EXACT, EXACT), requests={("genotypes",): ("r1", "i1")})
    first, second = (noise.of("genotypes").gaussian(EXACT, **OPTIONS)[0] for _ in range(2))
    assert (first != second).mean() > 0.8
    with refused("noise-not-reserved"):
        noise.of("genotypes").gaussian(EXACT, **OPTIONS)


@pytest.mark.parametrize("draw", [secret, lambda exact: BenchmarkNoise(1).gaussian(exact, **OPTIONS)])
def test_gaussian__has_the_scale_that_the_event_claims(draw):
    noisy, event = draw(np.full(100_000, 7))
    assert (noisy.dtype, event.sigma) == (np.int64, pytest.approx(4.0))
    # 100,000 draws of a fixed key: both limits are more than 5 standard errors wide.
    assert (noisy - 7).mean() * event.step == pytest.approx(0, abs=0.07)
    assert (noisy - 7).std() * event.step == pytest.approx(event.sigma, rel=0.012)


@pytest.mark.parametrize(
    ("part", "statistic", "options"),
    [
        (("genotypes",), EXACT, {"mu": 0.6}),
        (("genotypes",), EXACT, {"name": "other"}),
        (("outcomes", "a"), EXACT, {}),
    ],
)
def test_release_noise__raise_on_what_was_not_reserved(part, statistic, options):
    noise = ReleaseNoise(KEY, draws=rehearsed(EXACT), requests={("genotypes",): ("r1", "i1")})
    with refused("noise-not-reserved"):
        noise.of(*part).gaussian(statistic, **OPTIONS | options)


# All families of noise

L1, EACH = (replace(SENSITIVITY, norm=norm) for norm in ("l1", "linf"))
COMMON = {"name": "gram", "step": 0.25}
DRAWS = {
    "gaussian": lambda noise, exact, **other: noise.gaussian(exact, **OPTIONS | other),
    "laplace": lambda noise, exact, **other: noise.laplace(
        exact, **COMMON | {"sensitivity": L1, "epsilon": 0.5} | other
    ),
    "choice": lambda noise, exact, **other: noise.choose(
        exact, **COMMON | {"sensitivity": EACH, "epsilon": 0.01, "n_choices": 20} | other
    ),
    "subset": lambda noise, exact, **other: noise.choose_set(
        exact, **COMMON | {"sensitivity": EACH, "epsilon": 0.01, "n_choices": 20} | other
    ),
}
every_family = pytest.mark.parametrize("family", FAMILIES)


def secretly(family, statistic=EXACT, *, key=KEY, identity="i1"):
    rehearsal = Rehearsal()
    DRAWS[family](rehearsal.of("part"), statistic)
    noise = ReleaseNoise(key, draws=rehearsal.draws, requests={("part",): ("r1", identity)})
    return DRAWS[family](noise.of("part"), statistic)


@every_family
def test_families__seeded_and_secret_noise_have_one_event(family):
    (seeded, event), (secret, same) = DRAWS[family](BenchmarkNoise(1), EXACT), secretly(family)
    assert seeded.shape == secret.shape
    assert seeded.dtype == secret.dtype == np.int64
    assert replace(event, source="release", request="r1") == same


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
@pytest.mark.parametrize("draw", [secretly, lambda family, exact: DRAWS[family](BenchmarkNoise(1), exact)])
def test_families__entries_share_no_noise(family, draw):
    assert len(np.unique(draw(family, np.zeros((10, 10), dtype=np.int64))[0])) > 20


@every_family
def test_families__events_are_json_and_back(family):
    _, event = secretly(family)
    assert event_of(json.loads(json.dumps(event.as_dict()))) == event
    # A charge that was asked for is kept beside the fields.
    assert event.charge.cost == event.cost
    assert event.as_dict() == {"family": family} | asdict(event)
    assert event.exactness is not None


def test_event_of__raise_on_another_version():
    record = secretly("gaussian")[1].as_dict()
    with refused("mechanism-version", MECHANISM_VERSION, error=UsageError):
        event_of(record | {"version": 2})


@every_family
def test_families__cost_what_was_asked_for_at_most(family):
    cost = secretly(family)[1].cost
    assert (cost.mu_squared > 0) == (family == "gaussian")
    share = 0.01 if family in ("choice", "subset") else 0.5
    for spent, asked in [(cost.mu_squared, 0.25), (cost.pure_epsilon, share)]:
        assert spent == 0 or 1 - 1e-12 < spent / asked <= 1


@every_family
def test_families__replay_and_fresh_noise(family):
    first = secretly(family)[0]
    assert first.tobytes() == secretly(family)[0].tobytes()
    for other in [{"key": OTHER_KEY}, {"identity": "i2"}]:
        assert np.mean(secretly(family, **other)[0] != first) > 0.8


@every_family
def test_families__what_was_not_reserved_is_refused(family):
    rehearsal = Rehearsal()
    DRAWS[family](rehearsal.of("part"), EXACT)
    noise = ReleaseNoise(KEY, draws=rehearsal.draws, requests={("part",): ("r1", "i1")})
    with refused("noise-not-reserved"):
        DRAWS[family](noise.of("part"), EXACT + 1)


@every_family
def test_families__raise_on_a_claim_in_another_norm(family):
    wrong = {"sensitivity": replace(SENSITIVITY, norm="l0")}
    with refused("sensitivity-norm", FAMILIES[family].norm, "got l0", error=UsageError):
        DRAWS[family](BenchmarkNoise(1), EXACT, **wrong)


def test_release_noise__raise_on_a_family_for_benchmarks_alone(monkeypatch):
    monkeypatch.setattr(GaussianEvent, "exactness", None)
    with refused("noise-not-exact", error=UsageError):
        secret()


@pytest.mark.parametrize(("record", "got"), [({"family": "cauchy"}, "cauchy"), ({}, "None")])
def test_event_of__raise_on_an_unknown_family(record, got):
    with refused("event-family-unknown", got, error=UsageError):
        event_of(record)


@every_family
def test_families__raise_on_numbers_beyond_the_grid(family):
    with refused("statistic-off-grid", "got uint64", error=UsageError):
        DRAWS[family](BenchmarkNoise(1), EXACT.astype(np.uint64))


@pytest.mark.parametrize("family", ["choice", "subset"])
@pytest.mark.parametrize("scores", [np.arange(19), np.zeros((30, 2), dtype=int)])
def test_choose__raise_on_scores(scores, family):
    with refused("too-few-scores", error=UsageError):
        DRAWS[family](BenchmarkNoise(1), scores)


@pytest.mark.parametrize("gamma", [-0.1, 1.0, np.nan])
def test_choose_set__raise_on_gamma(gamma):
    with refused("gamma-out-of-range", "`gamma`", error=UsageError):
        DRAWS["subset"](BenchmarkNoise(1), EXACT, gamma=gamma)


def test_choose_set__data_named_beforehand_replay_and_draw_anew_for_other_scores():
    """The scores hang on earlier noise: what is reserved is the data."""

    def draw(scores):
        rehearsal = Rehearsal()
        DRAWS["subset"](rehearsal.of("part").on("data"), EXACT, epsilon=1e-9)
        noise = ReleaseNoise(KEY, draws=rehearsal.draws, requests={("part",): ("r1", "i1")})
        return set(DRAWS["subset"](noise.of("part").on("data"), scores, epsilon=1e-9)[0].tolist())

    assert draw(EXACT) == draw(EXACT)
    # The law is that of any 20 of 1000, so the same noise would choose the same.
    assert len(draw(EXACT) & draw(EXACT + 1)) < 10


def test_choose_set__takes_the_terms_of_its_event(monkeypatch):
    seen = []
    monkeypatch.setattr(door, "certified_set", lambda _, scores, **terms: seen.append(terms) or scores[:20])
    secretly("subset")
    assert seen == [
        {"epsilon": Fraction(0.01), "sensitivity": Fraction(8), "n_choices": 20, "gamma": Fraction(1, 2)}
    ]


def test_choose__no_budget_to_speak_of_still_chooses_different_entries():
    chosen, _ = DRAWS["choice"](BenchmarkNoise(1), np.arange(20), epsilon=1e-9)
    assert sorted(chosen) == list(range(20))


@pytest.mark.parametrize("draw", [secretly, lambda family, scores: DRAWS[family](BenchmarkNoise(1), scores)])
def test_choose__clear_winners_win_in_order(draw):
    scores = np.zeros(1000, dtype=np.int64)
    scores[100:120] = np.arange(20, 0, -1) * 10**8
    assert draw("choice", scores)[0].tolist() == list(range(100, 120))
    assert sorted(draw("subset", scores)[0].tolist()) == list(range(100, 120))


def test_poisson_sample__is_seeded_and_of_its_name():
    noise = BenchmarkNoise(1)
    first, again, other = (noise.poisson_sample(10_000, name=name, probability=0.3) for name in "aab")
    np.testing.assert_array_equal(first, again)
    # 10,000 draws: within 5 standard errors.
    assert first.mean() == pytest.approx(0.3, abs=0.023)
    assert (first & other).mean() == pytest.approx(0.09, abs=0.0145)
    rarer = noise.poisson_sample(10_000, name="a", probability=0.1)
    assert (first & rarer).mean() == pytest.approx(0.03, abs=0.0086)


def test_sample_without_replacement__has_its_size_whoever_is_in_it():
    sources = [BenchmarkNoise(1, replicate) for replicate in range(4000)]
    samples = np.array([noise.sample_without_replacement(5, name="a", n_chosen=2) for noise in sources])
    assert set(samples.sum(axis=1)) == {2}
    pairs, counts = np.unique(samples, axis=0, return_counts=True)
    assert len(pairs) == 10
    # Each pair in a tenth of 4,000 draws: within 5 standard errors.
    assert counts == pytest.approx(400, abs=95)


def test_sample_without_replacement__is_seeded_and_of_its_name():
    noise = BenchmarkNoise(1)
    options = {"n_chosen": 3000}
    first, again, other = (noise.sample_without_replacement(10_000, name=name, **options) for name in "aab")
    np.testing.assert_array_equal(first, again)
    # Independent samples share 900 of 10,000 units: within 5 standard errors.
    assert (first & other).sum() == pytest.approx(900, abs=105)
    poisson = noise.poisson_sample(10_000, name="a", probability=0.3)
    assert (first & poisson).sum() == pytest.approx(900, abs=126)
    fewer = noise.sample_without_replacement(10_000, name="a", n_chosen=1000)
    assert (first & fewer).sum() == pytest.approx(300, abs=70)


@pytest.mark.parametrize("noise", [Rehearsal(), ReleaseNoise(KEY, draws={}, requests={})])
def test_samples_and_generators__raise_in_a_release(noise):
    with refused("benchmark-noise-only", error=UsageError):
        noise.generator("deep point")
    with refused("sampling-in-release", error=UsageError):
        noise.poisson_sample(10, name="step 1", probability=0.5)
    with refused("sampling-in-release", error=UsageError):
        noise.sample_without_replacement(10, name="the sketch", n_chosen=5)


def test_generator__is_seeded_and_of_its_name_terms_and_part():
    noise = BenchmarkNoise(1)
    generators = [
        noise.generator("a", 1.0),
        noise.generator("a", 1.0),
        noise.generator("b", 1.0),
        noise.generator("a", 2.0),
        noise.of("outcomes").generator("a", 1.0),
    ]
    first, again, *others = (generator.random() for generator in generators)
    assert first == again
    assert len({first, *others}) == 4
