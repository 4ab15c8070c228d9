from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.events import DepthEvent
from dpgrs.privacy.noise import sources as door
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal, ReleaseNoise
from dpgrs.privacy.sensitivity import Sensitivity
from ledger_requests import KEY
from refused import refused

SENSITIVITY = Sensitivity(1.0, "linf", "add-remove", "person", "tukey/1")
GROUPS = {"name": "groups of units", "n_groups": 5}


def test_assign_groups__is_seeded_and_of_its_name_data_numbers_and_part():
    noise = BenchmarkNoise(1).on("data")
    first, again, *others = (
        noise.assign_groups(1000, **GROUPS),
        noise.assign_groups(1000, **GROUPS),
        noise.assign_groups(1000, **GROUPS | {"name": "others"}),
        noise.assign_groups(1000, **GROUPS | {"n_groups": 6}),
        noise.of("outcomes").assign_groups(1000, **GROUPS),
        BenchmarkNoise(2).on("data").assign_groups(1000, **GROUPS),
    )
    np.testing.assert_array_equal(first, again)
    assert all((first != other).mean() > 0.7 for other in others)
    # Nor with other numbers of units and groups, whose draws could follow each other.
    assert (noise.assign_groups(1001, **GROUPS)[:1000] != first).mean() > 0.7
    more = noise.assign_groups(1000, **GROUPS | {"n_groups": 10})
    assert min((more // 2 != first).mean(), (more % 5 != first).mean()) > 0.7
    np.testing.assert_array_equal(Rehearsal().on("data").assign_groups(3, **GROUPS), [0, 0, 0])


def test_assign_groups__of_a_release_are_of_all_that_they_are_asked_with():
    def groups(n_units=1000, *, part="a", identity="i1", data="data", **other):
        noise = ReleaseNoise(KEY, draws={}, requests={(part,): ("r1", identity)})
        return noise.of(part).on(data).assign_groups(n_units, **GROUPS | other)

    first = groups()
    np.testing.assert_array_equal(groups(), first)
    others = [
        groups(part="b"),
        groups(identity="i2"),
        groups(data="other data"),
        groups(name="others"),
        groups(1001)[:1000],
        groups(n_groups=10) // 2,
        groups(n_groups=10) % 5,
    ]
    assert all((first != other).mean() > 0.7 for other in others)


def test_assign_groups__of_one_and_of_as_many_as_there_are_words():
    for source in (BenchmarkNoise(1).on("data"), Rehearsal().on("data")):
        assert source.assign_groups(3, name="groups", n_groups=1).tolist() == [0, 0, 0]
    wide = [BenchmarkNoise(1).on("data").assign_groups(100, name="g", n_groups=n) for n in (2**31, 2**32)]
    assert wide[0].max() < 2**31 <= wide[1].max()
    counted = BenchmarkNoise(1).on("data").assign_groups(100, name="g", n_groups=np.int64(2**32))
    np.testing.assert_array_equal(counted, wide[1])


def test_assign_groups__raise_where_nothing_is_reserved():
    noise = ReleaseNoise(KEY, draws={}, requests={}).on("data")
    with refused("noise-not-reserved"):
        noise.assign_groups(10, **GROUPS)


@pytest.mark.parametrize("source", [BenchmarkNoise(1), Rehearsal()])
def test_assign_groups__raise_without_data_and_on_numbers(source):
    with refused("groups-without-data", error=UsageError):
        source.assign_groups(10, **GROUPS)
    for n_groups in (0, 2**32 + 1):
        with refused("number-of-groups", "`n_groups`", n_groups, error=UsageError):
            source.on("data").assign_groups(10, name="groups", n_groups=n_groups)


@pytest.mark.parametrize(
    ("terms", "fault"),
    [
        (
            {"sensitivity": replace(SENSITIVITY, norm="l2")},
            ("sensitivity-norm", "got l2"),
        ),
        ({"sensitivity": replace(SENSITIVITY, value=2.0**48)}, ("noise-too-large",)),
        ({"epsilon": 0.0}, ("share-not-positive", "got 0.0")),
    ],
)
def test_deep_point__raise_on_claims(terms, fault):
    options = {"sensitivity": SENSITIVITY, "epsilon": 1.0} | terms
    with refused(*fault, error=UsageError):
        Rehearsal().deep_point(np.zeros((8, 1)), name="deep point", delta=1e-5, is_safe=True, **options)


def deep_point(noise, models, **terms):
    terms = {"epsilon": 1.0, "delta": 1e-5, "is_safe": True} | terms
    return noise.deep_point(models, name="deep point", sensitivity=SENSITIVITY, **terms)[0]


@pytest.mark.parametrize("moved", [1.0, 2.0, 0.75])
def test_deep_point__is_likelier_by_its_event(moved, monkeypatch):
    """By e^(epsilon/2) where it is deeper by as much as one unit moves a depth."""
    seen, models = [], np.zeros((8, 3))
    monkeypatch.setattr(door, "certified_deep_point", lambda stream, models, *, rate: seen.append(rate))
    terms = {"name": "deep point", "sensitivity": replace(SENSITIVITY, value=moved), "delta": 1e-5}
    terms |= {"epsilon": 0.3, "is_safe": True}
    rehearsal = Rehearsal()
    rehearsal.deep_point(models, **terms)
    secret = ReleaseNoise(KEY, draws=rehearsal.draws, requests={(): ("r1", "i1")})
    events = [source.deep_point(models, **terms)[1] for source in (secret, BenchmarkNoise(1))]
    assert [rate * Fraction(moved) for rate in seen] == [Fraction(0.3) / 2] * 2
    common = {"statistic": "deep point", "step": 1.0, "entries": 3, "epsilon": 0.3, "delta": 1e-5}
    common["sensitivity"] = terms["sensitivity"]
    assert events == [
        DepthEvent(source="release", request="r1", **common),
        DepthEvent(source="benchmark", **common),
    ]


MODELS = np.arange(80.0).reshape(80, 1) * 1e9


def test_deep_point__is_reserved_by_its_models():
    rehearsal = Rehearsal()
    assert deep_point(rehearsal, MODELS) is None
    reserved = [ReleaseNoise(KEY, draws=rehearsal.draws, requests={(): ("r1", "i1")}) for _ in range(2)]
    assert len(deep_point(reserved[0], MODELS)) == 1
    with refused("noise-not-reserved"):
        deep_point(reserved[1], MODELS + 1)


def test_deep_point__is_drawn_anew_for_other_models_of_the_same_data():
    """Where a point lies within its depth hangs on the noise alone."""

    def draw(models):
        rehearsal = Rehearsal()
        deep_point(rehearsal.on("data"), models)
        return deep_point(
            ReleaseNoise(KEY, draws=rehearsal.draws, requests={(): ("r1", "i1")}).on("data"), models
        )

    assert draw(MODELS) == draw(MODELS)
    assert draw(MODELS)[0] != draw(MODELS + 1)[0] - 1


def test_deep_point__seeded_is_of_its_terms():
    first, again, *others = (
        deep_point(BenchmarkNoise(seed), MODELS, **terms)
        for seed, terms in [(1, {}), (1, {}), (2, {}), (1, {"epsilon": 1.001}), (1, {"delta": 1e-6})]
    )
    assert first == again
    assert len({tuple(point) for point in [first, *others]}) == 4
    assert deep_point(BenchmarkNoise(1), MODELS, is_safe=False) is None
