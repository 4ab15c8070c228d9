"""The Tukey mechanism by release noise: what is drawn, repeated and refused."""

from dataclasses import replace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.privacy.digests import json_digest
from dpgrs.privacy.ledger.charging import release
from dpgrs.privacy.noise.sources import Rehearsal, ReleaseNoise
from dpgrs.privacy.noise.study_key import StudyKey
from dpgrs.types import Exactness
from dpgrs_papers.methods import tukey
from dpgrs_papers.methods.tukey import (
    Status,
    TukeyRequest,
    models_of_groups,
    private_deep_point,
    private_tukey,
)
from ledger_requests import ACCOUNT, DATASET, KEY, new_ledger
from refused import refused

REQUEST = TukeyRequest(epsilon=4.0, delta=1e-5, rows_per_coefficient=3.0)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((1500, 2))
Y = X @ [1.0, -2.0] + 0.1 * RNG.standard_normal(1500)
# What a release's noise is drawn for; a ledger would have made the id.
PART, REQUESTS = (), {(): ("request 1", "identity 1")}
both_relations = pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])


def rehearse(mechanism):
    rehearsal = Rehearsal()
    mechanism(rehearsal)
    return rehearsal.draws


def draw(mechanism, *, key=KEY, requests=REQUESTS):
    noise = ReleaseNoise(key, draws=rehearse(mechanism), requests=requests)
    result = mechanism(noise)
    noise.require_exhausted()
    return result, noise.outputs[PART]


def mechanism_of(request=REQUEST, X=X, y=Y):
    return lambda noise: private_tukey(X, y, request=request, noise=noise)


@both_relations
def test_release_noise__draws_what_was_rehearsed_and_the_same_again(neighbours):
    mechanism = mechanism_of(replace(REQUEST, neighbours=neighbours))
    (fit, outputs), (again, same) = draw(mechanism), draw(mechanism)
    assert fit.status == Status.RELEASED
    np.testing.assert_allclose(fit.weights, [1.0, -2.0], atol=0.1)
    assert (fit.weights.tobytes(), outputs) == (again.weights.tobytes(), same)
    assert [event.statistic for event in fit.events][-2:] == ["safe step", "deep point"]
    assert all(event.source == "release" and event.request == "request 1" for event in fit.events)
    assert all(event.exactness in list(Exactness) for event in fit.events)
    assert len(outputs) == len(fit.events)


@pytest.mark.parametrize(
    "terms", [{"key": StudyKey(bytes(32))}, {"requests": {(): ("request 1", "identity 2")}}]
)
def test_release_noise__is_another_for_another_key_or_request(terms):
    mechanism = mechanism_of(replace(REQUEST, neighbours="replace-one"))
    (one, _), (other, _) = draw(mechanism), draw(mechanism, **terms)
    assert (one.weights != other.weights).all()


def test_release_noise__groups_are_secret_and_of_the_data():
    request = replace(REQUEST, neighbours="replace-one")

    def models(noise, data):
        return models_of_groups(X, Y, n_models=200, request=request, noise=noise.on(data))

    def noise(key):
        return ReleaseNoise(key, draws={PART: []}, requests=REQUESTS)

    first, again, other_data, other_key = (
        models(noise(key), data)
        for key, data in [(KEY, "a"), (KEY, "a"), (KEY, "b"), (StudyKey(bytes(32)), "a")]
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other_data).any(axis=1).all()
    assert (first != other_key).any(axis=1).all()


def test_private_tukey__other_features_or_outcomes_have_other_groups(monkeypatch):
    """After a noisy count nothing else tells draws for other data apart."""
    seen = []
    monkeypatch.setattr(
        tukey, "fit_models", lambda *arrays, n_models: seen.append(arrays[2]) or np.zeros((n_models, 2))
    )
    request = replace(REQUEST, neighbours="replace-one")
    drawn = []
    for data in ((X, Y), (X, Y), (X + 1, Y), (X, Y + 1)):
        draw(mechanism_of(request, *data))
        drawn.append(seen[-1].tolist())
    first, again, *others = drawn
    assert again == first
    assert all(other != first for other in others)


@pytest.mark.parametrize(
    ("status", "delta", "n_rows"), [("check failed", 1e-300, 1500), ("too few models", 1e-5, 30)]
)
def test_release_noise__without_a_model_costs_are_the_same(status, delta, n_rows):
    request = replace(REQUEST, delta=delta)
    fits = [draw(mechanism_of(request, X[:n_rows] + i, Y[:n_rows])) for i in range(2)]
    for fit, outputs in fits:
        assert (fit.status, fit.weights) == (status, None)
        assert sum(event.epsilon for event in fit.events) == pytest.approx(REQUEST.epsilon)
        # Nothing of the point is noted that was not released.
        assert outputs[-1] == json_digest(None).hex()


def test_release_noise__changed_models_are_refused():
    def point(models):
        return lambda noise: private_deep_point(models, epsilon=2.0, request=REQUEST, noise=noise)

    models = np.arange(200.0)[:, np.newaxis]
    noise = ReleaseNoise(KEY, draws=rehearse(point(models)), requests=REQUESTS)
    with refused("noise-not-reserved"):
        point(models * 2.0)(noise)


@both_relations
def test_release__is_refused_for_its_delta_before_anything_is_reserved(tmp_path, neighbours):
    account = replace(ACCOUNT, neighbours=neighbours)
    ledger = new_ledger(tmp_path, account=account, pure_epsilon="10")
    before = ledger.path.read_bytes()

    def identify(part):
        return {"mechanism": "tukey", "dataset_version": "v1"} | DATASET

    with refused("benchmark-noise-charged", error=UsageError):
        release(
            mechanism_of(replace(REQUEST, neighbours=neighbours)),
            identify=identify,
            account=account,
            ledger=ledger,
            study_key=KEY,
        )
    assert ledger.path.read_bytes() == before
