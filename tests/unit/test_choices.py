"""Private choices through the door: in rounds, on data that a rehearsal knows, by either law."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.noise import BenchmarkNoise, Rehearsal, ReleaseNoise
from dpgrs.privacy.noise_source import data_digest
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.privacy.study_key import StudyKey

L2 = Sensitivity(2.0, "l2", "add-remove", "person", "docs/proofs/gram.md")
EACH = replace(L2, norm="linf")
NORMAL = {"name": "gram", "step": 0.25, "sensitivity": L2, "mu": 0.5}
KEY, OTHER_KEY = StudyKey(bytes(range(32))), StudyKey(bytes(32))
EXACT = np.arange(1000)
MADE_OF = data_digest(EXACT)
ROUNDS = {"name": "best", "n_entries": 30, "sensitivity": EACH, "epsilon": 8.0, "n_choices": 5}


def distance_to_chosen(chosen):
    """Score entries by how far they are from the last that was chosen, in thirds."""
    return abs(np.arange(30) - (chosen[-1] if len(chosen) else 10)) * 50, Fraction(1, 3)


def in_rounds(score=distance_to_chosen, *, data=MADE_OF, reserved=MADE_OF, key=KEY, **options):
    rehearsal = Rehearsal()
    rehearsal.of("part").on(reserved).choose_in_rounds(score, **ROUNDS | options)
    noise = ReleaseNoise(key, draws=rehearsal.draws, requests={("part",): "r1"})
    return noise.of("part").on(data).choose_in_rounds(score, **ROUNDS | options)


def test_choose_in_rounds__scores_hang_on_earlier_choices():
    seeded = BenchmarkNoise(1).on(MADE_OF).choose_in_rounds(distance_to_chosen, **ROUNDS)
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


def test_choose_in_rounds__rounds_share_no_noise():
    """Equal scores after another choice, or in another unit, are another round."""

    def flat(chosen, second=Fraction(1)):
        return np.zeros(30, dtype=np.int64), second if len(chosen) else Fraction(1)

    keys = [StudyKey(bytes([number] * 32)) for number in range(200)]
    chosen = np.array([in_rounds(flat, key=key, n_choices=2)[0] for key in keys])
    # Of 200 independent pairs: within 5 standard errors.
    assert abs(np.corrcoef(chosen.T)[0, 1]) < 0.36
    halved = [
        in_rounds(lambda chosen: flat(chosen, Fraction(1, 2)), key=key, n_choices=2)[0] for key in keys[:40]
    ]
    np.testing.assert_array_equal(np.array(halved)[:, 0], chosen[:40, 0])
    assert (np.array(halved)[:, 1] == chosen[:40, 1]).mean() < 0.3


def test_choose__a_rehearsal_takes_the_first_entries():
    source = Rehearsal().on(MADE_OF)
    of_set = {"name": "best", "step": 1.0, "sensitivity": EACH, "epsilon": 8.0, "n_choices": 5}
    for chosen, event in [
        source.choose_in_rounds(distance_to_chosen, **ROUNDS),
        source.choose(np.arange(30), **of_set),
        source.choose_set(np.arange(30), **of_set),
    ]:
        assert (chosen.tolist(), event.n_choices) == ([0, 1, 2, 3, 4], 5)


def test_choose_in_rounds__raise_on_other_data_than_reserved():
    with pytest.raises(DpgrsError, match="was not reserved"):
        in_rounds(data=data_digest(EXACT + 1))


@pytest.mark.parametrize("source", [BenchmarkNoise(1), Rehearsal()])
def test_choose_in_rounds__raise_without_data(source):
    with pytest.raises(UsageError, match="Name what the scores are made of"):
        source.choose_in_rounds(distance_to_chosen, **ROUNDS)


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
    with pytest.raises(UsageError, match="The best must be") as refused:
        Rehearsal().on(MADE_OF).choose_in_rounds(lambda chosen: scored, **ROUNDS)
    assert not any(private in str(refused.value) for private in ("29", "71", "0.014", "922337"))


def test_choose_in_rounds__first_scores_are_marked_with_the_data():
    """Data that `on` left out, or another code, under one digest."""
    rehearsal = Rehearsal()
    rehearsal.on(MADE_OF).choose_in_rounds(distance_to_chosen, **ROUNDS)

    def other_unit(chosen):
        return distance_to_chosen(chosen)[0], Fraction(1, 4)

    noise = ReleaseNoise(KEY, draws=rehearsal.draws, requests={(): "r1"}).on(MADE_OF)
    with pytest.raises(DpgrsError, match="was not reserved"):
        noise.choose_in_rounds(other_unit, **ROUNDS)


def test_on__data_named_before_stay_named():
    rehearsal = Rehearsal()
    rehearsal.on("a").on("c").choose_in_rounds(distance_to_chosen, **ROUNDS)
    noise = ReleaseNoise(KEY, draws=rehearsal.draws, requests={(): "r1"}).on("b").on("c")
    with pytest.raises(DpgrsError, match="was not reserved"):
        noise.choose_in_rounds(distance_to_chosen, **ROUNDS)
    with pytest.raises(TypeError):
        Rehearsal().on()


def test_on__draws_after_noise_are_reserved_by_their_data():
    def two_steps(noise):
        first, _ = noise.gaussian(EXACT, **NORMAL)
        return noise.gaussian(first // 2, **NORMAL | {"name": "second"})[0]

    def run(key=KEY, made_of=MADE_OF):
        rehearsal = Rehearsal()
        two_steps(rehearsal.of("part").on(MADE_OF))
        noise = ReleaseNoise(key, draws=rehearsal.draws, requests={("part",): "r1"})
        return two_steps(noise.of("part").on(made_of))

    assert run().tolist() == run().tolist()
    assert np.mean(run() != run(OTHER_KEY)) > 0.8
    with pytest.raises(DpgrsError, match="was not reserved"):
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
        noise = ReleaseNoise(KEY, draws=rehearsal.draws, requests={("part",): "r1"})
        return draw(noise.of("part").on(MADE_OF), statistic)[0]

    np.testing.assert_array_equal(secret(EXACT), secret(EXACT))
    for other in (EXACT + 1, EXACT[::-1]):
        assert np.mean(secret(other) - other != secret(EXACT) - EXACT) > 0.8


def test_data_digest__tells_types_shapes_and_values_apart():
    whole = np.arange(4)
    others = [whole.astype(float), whole.reshape(2, 2), whole[::-1], whole.astype(bool), whole[:0]]
    assert len({data_digest(array) for array in [whole, *others]}) == 6
    assert data_digest(whole, whole) != data_digest(whole)
    assert data_digest(whole[::-1]) == data_digest(np.array([3, 2, 1, 0]))


def test_gumbel__is_for_benchmarks_alone_and_shares_no_noise():
    options = {"sensitivity": EACH, "epsilon": 0.01, "n_choices": 20, "name": "best", "step": 0.25}
    chosen, event = BenchmarkNoise(1).choose(EXACT, **options, law="gumbel")
    assert event.family == "gumbel choice"
    assert np.mean(chosen != BenchmarkNoise(1).choose(EXACT, **options)[0]) > 0.8
    with pytest.raises(UsageError, match="is not drawn exactly"):
        Rehearsal().choose(EXACT, **options, law="gumbel")
