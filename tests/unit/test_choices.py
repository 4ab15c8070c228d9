"""Private choices through the door: in rounds, on data that a rehearsal knows, by either law."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.privacy.digests import canonical, data_digest, json_digest, statistic_digest
from dpgrs.privacy.noise import sources as door
from dpgrs.privacy.noise.rounds import answered
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal, ReleaseNoise
from dpgrs.privacy.noise.study_key import StudyKey
from dpgrs.privacy.sensitivity import Sensitivity
from refused import refused

L2 = Sensitivity(2.0, "l2", "add-remove", "person", "gram/1")
EACH = replace(L2, norm="linf")
NORMAL = {"name": "gram", "step": 0.25, "sensitivity": L2, "mu": 0.5}
KEY, OTHER_KEY = StudyKey(bytes(range(32))), StudyKey(bytes(32))
EXACT = np.arange(1000)
MADE_OF = data_digest(EXACT)
ROUNDS = {"name": "best", "n_entries": 30, "sensitivity": EACH, "epsilon": 8.0, "n_choices": 5}


def distance_to_chosen(chosen):
    """Score entries by how far they are from the last that was chosen, in thirds."""
    return abs(np.arange(30) - (chosen[-1] if len(chosen) else 10)) * 50, Fraction(1, 3)


def in_rounds(score=distance_to_chosen, *, key=KEY):
    rehearsal = Rehearsal()
    answered(rehearsal.of("part").on(MADE_OF).choose_in_rounds(**ROUNDS), score)
    noise = ReleaseNoise(key, draws=rehearsal.draws, requests={("part",): ("r1", "i1")})
    return answered(noise.of("part").on(MADE_OF).choose_in_rounds(**ROUNDS), score)


def test_choose_in_rounds__scores_hang_on_earlier_choices():
    seeded = answered(BenchmarkNoise(1).on(MADE_OF).choose_in_rounds(**ROUNDS), distance_to_chosen)
    for chosen, _ in [in_rounds(), seeded]:
        assert len(set(chosen.tolist())) == 5
        # At 8/5 epsilon a choice, 50/3 steps beyond the next are e^6 to 1; the ends are far apart.
        assert abs(np.diff(chosen)).min() > 10


def test_choose_in_rounds__replay_and_fresh_noise():
    def flat(chosen):
        return np.zeros(30, dtype=np.int64), Fraction(1)

    first, event = in_rounds(flat)
    assert in_rounds(flat)[0].tolist() == first.tolist()
    assert event.request == "r1"
    assert in_rounds(flat, key=OTHER_KEY)[0].tolist() != first.tolist()
    # A code that scores otherwise draws other noise, also on the same data.
    assert in_rounds(lambda chosen: (flat(chosen)[0] + 1, Fraction(1)))[0].tolist() != first.tolist()


def test_choose_in_rounds__rounds_share_no_noise(monkeypatch):
    """Equal scores after another choice, or in another unit, are another round."""

    def flat(chosen, second=Fraction(1)):
        return np.zeros(30, dtype=np.int64), second if len(chosen) else Fraction(1)

    keys = []
    monkeypatch.setattr(door, "canonical", lambda key: keys.append(canonical(key)) or keys[-1])
    chosen, _ = in_rounds(flat)
    assert len(keys) == len(set(keys)) == 5
    halved, _ = in_rounds(lambda chosen: flat(chosen, Fraction(1, 2)))
    assert halved[0] == chosen[0]
    assert (halved[1:] != chosen[1:]).any()


# Of three entries the best is offered first, second or last, and those before it decline.
P_FLIP = np.mean((1 - np.exp(-1)) ** np.arange(3))


@pytest.mark.parametrize(
    ("kind", "law", "p_best"),
    [
        (BenchmarkNoise, "permute-and-flip", P_FLIP),
        (ReleaseNoise, "permute-and-flip", P_FLIP),
        (BenchmarkNoise, "gumbel", np.e / (np.e + 2)),
    ],
)
def test_choose__by_the_law_of_its_event(kind, law, p_best):
    # At epsilon 1, four units (16 steps) above the others are e to 1: twice the sensitivity.
    scores, n_draws = np.array([0, 16, 0]), 1000
    options = {"sensitivity": EACH, "epsilon": 1.0, "n_choices": 1, "name": "best", "step": 0.25, "law": law}
    rehearsal = Rehearsal()
    if kind is ReleaseNoise:
        rehearsal.choose(scores, **options)

    def source(number):
        if kind is BenchmarkNoise:
            return BenchmarkNoise(number)
        return ReleaseNoise(KEY, draws=rehearsal.draws, requests={(): ("r1", f"i{number}")})

    chosen = np.array([source(number).choose(scores, **options)[0][0] for number in range(n_draws)])
    # Within 5 standard errors; the keys are fixed.
    assert (chosen == 1).mean() == pytest.approx(p_best, abs=5 * np.sqrt(p_best * (1 - p_best) / n_draws))
    assert (chosen == 0).mean() == pytest.approx((1 - p_best) / 2, abs=0.07)


def test_choose__a_rehearsal_takes_the_first_entries():
    source = Rehearsal().on(MADE_OF)
    of_set = {"name": "best", "step": 1.0, "sensitivity": EACH, "epsilon": 8.0, "n_choices": 5}
    for chosen, event in [
        answered(source.choose_in_rounds(**ROUNDS), distance_to_chosen),
        source.choose(np.arange(30), **of_set),
        source.choose_set(np.arange(30), **of_set),
    ]:
        assert (chosen.tolist(), event.n_choices) == ([0, 1, 2, 3, 4], 5)


def test_choose_in_rounds__that_is_not_run_to_its_end_leaves_a_release_unfinished():
    rehearsal = Rehearsal()
    answered(rehearsal.on(MADE_OF).choose_in_rounds(**ROUNDS), distance_to_chosen)
    noise = ReleaseNoise(KEY, draws=rehearsal.draws, requests={(): ("r1", "i1")})
    choice, chosen = noise.on(MADE_OF).choose_in_rounds(**ROUNDS), np.empty(0, dtype=np.int64)
    next(choice)
    for n_chosen in (0, 1, 2):
        chosen = choice.send(distance_to_chosen(chosen))
        assert len(chosen) == n_chosen
    with refused("noise-left-undrawn"):
        noise.require_exhausted()


@pytest.mark.parametrize("source", [BenchmarkNoise(1), Rehearsal()])
def test_choose_in_rounds__raise_without_data(source):
    with refused("choice-without-data", error=UsageError):
        answered(source.choose_in_rounds(**ROUNDS), distance_to_chosen)


@pytest.mark.parametrize(
    "scored",
    [
        (np.arange(29), Fraction(1, 71)),
        (np.arange(30) / 71, Fraction(1, 71)),
        (np.arange(30), 1 / 71),
        (np.arange(30), Fraction(-1, 71)),
        (np.arange(30, dtype=np.uint64) + np.uint64(2**63), Fraction(1, 71)),
    ],
)
def test_choose_in_rounds__raise_on_scores_of_another_form_and_quote_none(scored):
    with pytest.raises(UsageError, match="The best must be") as caught:
        answered(Rehearsal().on(MADE_OF).choose_in_rounds(**ROUNDS), lambda chosen: scored)
    assert not any(private in str(caught.value) for private in ("29", "71", "0.014", "922337"))


def test_choose_in_rounds__first_scores_are_marked_with_the_data():
    """Data that `on` left out, or another code, under one digest."""
    rehearsal = Rehearsal()
    answered(rehearsal.on(MADE_OF).choose_in_rounds(**ROUNDS), distance_to_chosen)

    def other_unit(chosen):
        return distance_to_chosen(chosen)[0], Fraction(1, 4)

    def other_scores(chosen):
        return distance_to_chosen(chosen)[0] + 1, Fraction(1, 3)

    noise = ReleaseNoise(KEY, draws=rehearsal.draws, requests={(): ("r1", "i1")}).on(MADE_OF)
    for other in (other_unit, other_scores):
        with refused("noise-not-reserved"):
            answered(noise.choose_in_rounds(**ROUNDS), other)


def test_parts_and_data__belong_to_the_source_that_was_asked_for():
    whole = BenchmarkNoise(1)
    before = whole.gaussian(EXACT, **NORMAL)[0].tolist()
    whole.of("part")
    assert whole.gaussian(EXACT, **NORMAL)[0].tolist() == before
    whole.on(MADE_OF)
    with refused("choice-without-data", error=UsageError):
        answered(whole.choose_in_rounds(**ROUNDS), distance_to_chosen)


def test_json_digest__does_not_hang_on_the_order_of_keys():
    assert json_digest({"a": 1, "b": 2}) == json_digest({"b": 2, "a": 1}) != json_digest({"b": 1, "a": 2})


@pytest.mark.parametrize("named", [("b", "c"), ("a", "d"), ("c",)])
def test_on__data_named_before_stay_named(named):
    rehearsal = Rehearsal()
    answered(rehearsal.on("a").on("c").choose_in_rounds(**ROUNDS), distance_to_chosen)
    noise = ReleaseNoise(KEY, draws=rehearsal.draws, requests={(): ("r1", "i1")})
    for digest in named:
        noise = noise.on(digest)
    with refused("noise-not-reserved"):
        answered(noise.choose_in_rounds(**ROUNDS), distance_to_chosen)
    with pytest.raises(TypeError):
        Rehearsal().on()


def test_on__draws_after_noise_are_reserved_by_their_data():
    def two_steps(noise):
        first, _ = noise.gaussian(EXACT, **NORMAL)
        return noise.gaussian(first // 2, **NORMAL | {"name": "second"})[0]

    def run(key=KEY, made_of=MADE_OF):
        rehearsal = Rehearsal()
        two_steps(rehearsal.of("part").on(MADE_OF))
        noise = ReleaseNoise(key, draws=rehearsal.draws, requests={("part",): ("r1", "i1")})
        return two_steps(noise.of("part").on(made_of))

    assert run().tolist() == run().tolist()
    assert np.mean(run() != run(OTHER_KEY)) > 0.8
    with refused("noise-not-reserved"):
        run(made_of=data_digest(EXACT + 1))


@pytest.mark.parametrize(
    "draw",
    [
        lambda noise, exact: noise.gaussian(exact, **NORMAL),
        lambda noise, exact: noise.laplace(
            exact, name="sum", step=0.25, sensitivity=replace(L2, norm="l1"), epsilon=0.5
        ),
    ],
    ids=["gaussian", "laplace"],
)
def test_on__other_statistics_of_the_same_data_draw_anew(draw):
    """Later code that sums up otherwise meets other noise: two outputs would be solved for the statistic."""

    def secret(statistic):
        rehearsal = Rehearsal()
        draw(rehearsal.of("part").on(MADE_OF), EXACT)
        noise = ReleaseNoise(KEY, draws=rehearsal.draws, requests={("part",): ("r1", "i1")})
        return draw(noise.of("part").on(MADE_OF), statistic)[0]

    np.testing.assert_array_equal(secret(EXACT), secret(EXACT))
    for other in (EXACT + 1, EXACT[::-1]):
        assert np.mean(secret(other) - other != secret(EXACT) - EXACT) > 0.8


def test_data_digest__tells_types_shapes_and_values_apart():
    whole = np.arange(4)
    others = [whole.astype(float), whole.reshape(2, 2), whole[::-1], whole.astype(bool), whole[:0]]
    assert len({data_digest(array) for array in [whole, *others]}) == 6
    assert data_digest(whole, whole) != data_digest(whole)
    # By which steered releases are replayed, of any version.
    assert data_digest(np.array(3)) == data_digest(np.array([3]))
    assert data_digest(np.zeros(4, dtype=int)) != data_digest(np.zeros(4))  # the same bytes
    assert data_digest(whole[::-1]) == data_digest(np.array([3, 2, 1, 0]))


def test_choices__defaults_and_limits():
    terms = {"name": "best", "step": 1.0, "sensitivity": EACH, "epsilon": 1.0}
    assert len(BenchmarkNoise(1).choose(EXACT, **terms)[0]) == 1
    assert len(BenchmarkNoise(1).choose_set(EXACT, **terms, n_choices=3, gamma=0)[0]) == 3


def test_gumbel__is_for_benchmarks_alone_and_shares_no_noise():
    options = {"sensitivity": EACH, "epsilon": 0.01, "n_choices": 20, "name": "best", "step": 0.25}
    chosen, event = BenchmarkNoise(1).choose(EXACT, **options, law="gumbel")
    assert event.family == "gumbel choice"
    assert np.mean(chosen != BenchmarkNoise(1).choose(EXACT, **options)[0]) > 0.8
    with refused("noise-not-exact", error=UsageError):
        Rehearsal().choose(EXACT, **options, law="gumbel")


def test_release_noise__outputs_are_the_digests_of_what_was_drawn():
    def all_draws(noise):
        sums = {"name": "sum", "step": 0.25, "sensitivity": replace(L2, norm="l1"), "epsilon": 0.5}
        of_set = {"name": "best", "step": 1.0, "sensitivity": EACH, "epsilon": 8.0, "n_choices": 5}
        return [
            noise.gaussian(EXACT, **NORMAL)[0],
            noise.laplace(EXACT, **sums)[0],
            noise.choose(EXACT, **of_set)[0],
            noise.choose_set(EXACT, **of_set)[0],
        ]

    rehearsal = Rehearsal()
    all_draws(rehearsal.of("part"))
    noise = ReleaseNoise(KEY, draws=rehearsal.draws, requests={("part",): ("r1", "i1")})
    with refused("noise-left-undrawn"):
        noise.require_exhausted()
    drawn = all_draws(noise.of("part"))
    noise.require_exhausted()
    assert noise.outputs == {("part",): [statistic_digest(one) for one in drawn]}
