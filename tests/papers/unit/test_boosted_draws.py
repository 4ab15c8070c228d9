"""Draws of boosted AdaSSP in a study: what names its data, and which weights they give."""

import numpy as np
import pytest

from dpgrs.methods.chosen_requests import request_of_rows
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.digests import data_digest
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal, ReleaseNoise
from dpgrs_papers.methods.boosted_adassp import BoostedRequest, private_boosted_adassp
from ledger_requests import KEY
from refused import refused
from screening_cohorts import N_VARIANTS, NAMES, cohort, frequencies


def test_draws__after_the_first_round_need_named_data():
    """Without it the second round is made of noise that no rehearsal knows."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 2)), rng.standard_normal(50)
    request = BoostedRequest(epsilon=1.0, delta=1e-6, rounds=2)

    def draw(make):
        rehearsal = Rehearsal()
        private_boosted_adassp(X, y, request=request, noise=make(rehearsal))
        noise = ReleaseNoise(
            KEY, draws=rehearsal.draws, requests=dict.fromkeys(rehearsal.draws, ("r1", "i1"))
        )
        fit = private_boosted_adassp(X, y, request=request, noise=make(noise))
        noise.require_exhausted()
        return fit

    with refused("noise-not-reserved"):
        draw(lambda noise: noise)
    fit = draw(lambda noise: noise.on(data_digest(X, y)))
    assert len(set(fit.sums.ravel())) == 4


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize("bounds", ["worst-case", "tight"])
def test_draw__weights_are_of_genotypes_as_they_are(rows, bounds):
    """Rows are scaled by one public number, not each to norm 1: predictions are linear."""
    data = cohort(rows)
    terms = {"n_variants": N_VARIANTS, "n_outcomes": 1, "outcome_bound": 3.0, "epsilon": 1e4}
    request = request_of_rows(
        PrivacyRequest(rows, delta=1e-6, **terms),
        frequency=frequencies() if bounds == "tight" else None,
        factor=10.0,
    )
    options = {"noise": BenchmarkNoise(1), "outcome_names": NAMES, "frequency": frequencies()}
    fit = mechanism_of("bas").draw(data, request=request, **options).fit
    X = data.training_rows
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), data.Y[:, data.is_training].T)[0]
    np.testing.assert_allclose(fit.weights, exact[:-1].T, atol=0.1)
    assert fit.chosen is None
