"""What every mechanism promises. A new one joins by its row in the registry, without a line here."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.evaluation.private_metrics import AccuracyRequest, accuracy_sums, private_accuracy
from dpgrs.io.covariates import Covariates
from dpgrs.io.replicates import load_labelled
from dpgrs.methods.mechanisms import all_mechanisms, mechanism_of
from dpgrs.methods.registry import METHODS, fitter_of, methods_that
from dpgrs.methods.sum_mechanisms import SharedStatistics
from dpgrs.privacy.accounting.events import (
    FAMILIES,
    MECHANISM_VERSION,
    GaussianEvent,
    LaplaceEvent,
    event_of,
)
from dpgrs.privacy.noise.sources import BenchmarkNoise, ReleaseNoise
from dpgrs.study.draws import draws_of
from dpgrs.study.released import load_released
from dpgrs.study.training_data import TrainingData
from genome_studies import sum_along_map
from refused import refused
from step_settings import settings_for
from step_studies import HaplotypeStudy, Study

EVERY = [(one, method) for one in all_mechanisms().values() for method in one.drawn_for(list(METHODS))]
NAMES_OF_EVERY = [" ".join(filter(None, (one.name, method))) for one, method in EVERY]
RELEASED = methods_that("may_be_released")
# What is counted in units, or in votes of their groups, moves by as much for a person of one row as of two.
COUNTED_IN_UNITS = ("docs/proofs/tukey.md", "docs/proofs/votes.md")


def study_for(mechanism):
    """Return the class of the study that a mechanism draws for: two rows a person, if it takes such rows."""
    return Study if "chromosomes" in mechanism.takes else HaplotypeStudy


class NotedNoise(BenchmarkNoise):
    """Notes the stream of every draw, and its noise in units of its scale."""

    def __init__(self, *key):
        super().__init__(*key)
        self.streams, self.scaled = [], []

    def _draw(self, statistic, event):
        noisy, event = super()._draw(statistic, event)
        self.scaled.append((noisy - statistic) * event.step / scale(event))
        return noisy, event

    def _digest(self, identity):
        digest = super()._digest(identity)
        # Secret samples are no noise: they have lists for identities, and stay at another budget.
        if isinstance(identity, dict):
            self.streams.append(digest)
        return digest


class UntouchedNoise(BenchmarkNoise):
    """Fails the test if a draw is begun."""

    def _digest(self, identity):
        raise AssertionError("Noise was drawn before the request was refused.")


def test_all_mechanisms__raise_on_one_that_inherits_a_name(monkeypatch):
    """Another package's class would draw in place of ReuseCov's, under its identities."""
    nameless = type("Nameless", (SharedStatistics,), {})
    monkeypatch.setattr(fitter_of("blup"), "mechanism", nameless, raising=False)
    with refused("mechanism-named-twice", SharedStatistics.name, "Nameless", error=UsageError):
        all_mechanisms()


def scale(event):
    return event.sigma if isinstance(event, GaussianEvent) else event.scale


class Asked:
    """A mechanism as a benchmark asks it to draw for a method, None where all methods share its draws."""

    def __init__(self, study, mechanism, method):
        self.study, self.mechanism, self.method = study, mechanism, method
        self.is_of_people = study.rows == "people"
        self.asked = {}

    def ask(self, **privacy):
        """Return the Draw under some settings of privacy, made once; as in a release, it can draw again."""
        # A person is one row, and no other unit.
        privacy |= {"unit": "person"} if self.is_of_people else {}
        key = tuple(sorted(privacy.items()))
        if key not in self.asked:
            self.asked[key] = self._ask(**privacy)
        return self.asked[key]

    def _ask(self, **privacy):
        known = METHODS[self.method].neighbours if self.method else None
        config = self.study.settings(self.method or "blup", **{"neighbours": known or "add-remove"} | privacy)
        covariates = None
        if "covariates" in self.mechanism.takes:
            covariates = self.study.root / "covariates.npz"
            units = np.arange(2 * len(self.study.X), dtype=np.int16).reshape(2, -1) % 600 - 300
            Covariates(("age", "sex"), units, np.zeros(2), np.ones(2), 3.0, "haplotypes").save(covariates)
            config = config.changed(covariates={"pcs": 2, "first": True, "share": 0.2})
        files = {
            "statistics": self.study.sum_up(config),
            "variant_set": "variant_set",
            "ld": self.study.root / "ld.npz",
            "covariates": covariates,
        }
        if self.is_of_people:
            files |= sum_along_map(self.study, config, count=3)
        data = TrainingData(self.study.root / "outcomes.zarr", **files)
        settings = settings_for("draw", config.changed(mode="benchmark"))
        (one,) = draws_of(settings, self.mechanism, [self.method], data)
        return one

    def draw(self, noise, **privacy):
        """Return the arrays that were drawn, and the events."""
        drawn = self.ask(**privacy).draw(noise)
        return list(self.mechanism.arrays(drawn).values()), drawn.events


class AskedAccuracy:
    """Charged metrics, the one other place that draws."""

    is_of_people = False

    def draw(self, noise, *, epsilon=1.0, unit="person"):
        bounds = {"outcome_bound": 3.0, "residual_bound": 3.0}
        terms = {"rows": "haplotypes", "n_outcomes": 3, "epsilon": epsilon, "delta": 1e-6, "unit": unit}
        X, Y = np.ones((64, 4), dtype=np.int64), np.random.default_rng(1).standard_normal((3, 64))
        sums = accuracy_sums(Y, X, np.ones((3, 5), dtype=np.int64), **bounds)
        noisy, events = private_accuracy(sums, request=AccuracyRequest(**bounds | terms), noise=noise)
        return [noisy], events


@pytest.fixture(params=EVERY, ids=NAMES_OF_EVERY)
def asked(request, tmp_path, monkeypatch):
    return Asked(study_for(request.param[0])(tmp_path, monkeypatch), *request.param)


@pytest.fixture(params=[*EVERY, None], ids=[*NAMES_OF_EVERY, "charged metrics"])
def drawing(request, tmp_path, monkeypatch):
    """All that draws: the mechanisms of the registry, and charged metrics."""
    if request.param is None:
        return AskedAccuracy()
    return Asked(study_for(request.param[0])(tmp_path, monkeypatch), *request.param)


@pytest.mark.parametrize("unit", ["haplotype", "person"])
def test_draw__events_hold_what_accounting_needs(drawing, unit):
    _, events = drawing.draw(BenchmarkNoise(1), unit=unit)
    assert events
    unit = "person" if drawing.is_of_people else unit
    for event in events:
        assert (event.sensitivity.unit, event.sensitivity.norm) == (unit, event.norm)
        assert event.version == MECHANISM_VERSION
        assert not any(isinstance(value, np.ndarray) for value in asdict(event).values())
        if event.family in FAMILIES:
            assert event_of(json.loads(json.dumps(event.as_dict()))) == event
        if isinstance(event, GaussianEvent | LaplaceEvent):
            share = event.mu if isinstance(event, GaussianEvent) else event.epsilon
            assert event.sensitivity.value / scale(event) <= share


def test_draw__same_key_same_bytes__other_key_other_noise(drawing):
    changes = []
    # At the second the Tukey mechanism draws for few rows; at the first choices of few variants differ.
    for epsilon in (16.0, 50.0):
        drawn = (drawing.draw(BenchmarkNoise(1, key), epsilon=epsilon) for key in (2, 2, 3, 4))
        first, again, *others = (arrays for arrays, _ in drawn)
        np.testing.assert_equal(first, again)
        changes += [not np.array_equal(*pair) for other in others for pair in zip(first, other, strict=True)]
    assert any(changes)


def test_draw__no_two_share_noise(drawing):
    """Also at another budget: equal noise at two scales would give the exact statistic away."""
    drawn = [NotedNoise(1), NotedNoise(1)]
    for noise, epsilon in zip(drawn, (1.0, 2.0), strict=True):
        drawing.draw(noise, epsilon=epsilon)
    streams = [stream for noise in drawn for stream in noise.streams]
    assert len(set(streams)) == len(streams) > 1
    for one, other in zip(*(noise.scaled for noise in drawn), strict=True):
        assert not np.allclose(one, other, atol=0.01)


def test_draw__a_person_of_two_rows_is_twice_as_much_to_hide(drawing):
    one, two = (drawing.draw(BenchmarkNoise(1), unit=unit)[1] for unit in ("haplotype", "person"))
    for own, both in zip(one, two, strict=True):
        is_one_row = drawing.is_of_people or own.sensitivity.proof in COUNTED_IN_UNITS
        times = 1 if is_one_row else 2
        # Some sensitivities hold a step of the grid, once.
        assert both.sensitivity.value == pytest.approx(times * own.sensitivity.value, rel=1e-3)


@pytest.mark.parametrize("epsilon", [math.inf, 0.0, -1.0])
def test_draw__is_refused_before_any_noise(drawing, epsilon):
    with pytest.raises(UsageError):
        drawing.draw(UntouchedNoise(1), epsilon=epsilon)


def test_mechanism__a_file_gives_the_request_and_what_was_drawn_again(asked):
    mechanism, one = asked.mechanism, asked.ask()
    drawn = one.draw(BenchmarkNoise(1))
    label = json.loads(json.dumps(one.label(drawn)))
    assert mechanism.request(label["request"]) == one.request
    restored = mechanism.restore(label, mechanism.arrays(drawn))
    np.testing.assert_equal(mechanism.arrays(restored), mechanism.arrays(drawn))


@pytest.fixture(params=RELEASED)
def released(request, tmp_path, monkeypatch):
    """Release by a method, within a budget of 4 for mu squared and for pure epsilon."""
    study = study_for(mechanism_of(request.param))(tmp_path, monkeypatch)
    return lambda epsilon: (
        study,
        study.settings(request.param, unit="person", pure_epsilon="4", epsilon=epsilon),
    )


def test_release__is_charged_what_was_drawn_and_repeats_it_for_nothing(released):
    study, config = released(2)
    first = study.release(config).read_bytes()
    before, book = study.ledger(config).path.read_bytes(), study.ledger(config).read()
    load_released(study.root / "noisy.npz", book)
    ((label, _),) = load_labelled(study.root / "noisy.npz")
    drawn = [event_of(event).cost for event in label["events"]]
    (account,) = book.budgets
    assert book.spent(account) == sum(drawn[1:], drawn[0])
    (study.root / "noisy.npz").unlink()
    assert study.release(config).read_bytes() == first
    assert study.ledger(config).path.read_bytes() == before


def test_release__over_budget_nothing_is_drawn_or_charged(released, monkeypatch):
    study, config = released(90)
    for name in ("_draw", "_choose", "_choose_set", "_deep_point"):
        monkeypatch.setattr(ReleaseNoise, name, lambda *_: pytest.fail("Noise was drawn."))
    before = study.ledger(config).path.read_bytes()
    with refused("budget-exceeded"):
        study.release(config)
    assert study.ledger(config).path.read_bytes() == before
