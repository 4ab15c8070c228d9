"""Audits of mu on the trade-off curve, at worst-case neighbours, with a control that must fail.

Whoever guesses from an output which of two neighbours was the input makes errors of both kinds, with
probabilities alpha and beta; mu-GDP means Phi^-1(1 - alpha) - Phi^-1(beta) <= mu. The errors are counted over
draws and bounded from above by Clopper and Pearson at a confidence of 1 - 5e-7 each: an honest mechanism
fails its audit with a probability of at most 1e-6. Seeds are fixed, so a result never changes.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta, norm

from dpgrs.bits import pack
from dpgrs.privacy.noise import BenchmarkNoise
from dpgrs.privacy.sensitivity import cross_sensitivity, gram_sensitivity
from dpgrs.regression.reusecov import PrivacyRequest, private_statistics
from dpgrs.regression.statistics import cross_product, gram, grid_outcomes

N_DRAWS = 800
CONFIDENCE = 1 - 5e-7
TERMS = {"epsilon": 5.0, "delta": 0.01, "count_share": 0.4, "rows": "haplotypes", "unit": "person"}


class NoNoise:
    """What the attacker knows: the exact statistics of both candidates."""

    def gaussian(self, statistic, **_):
        return np.asarray(statistic), None


class HalvedNoise(BenchmarkNoise):
    """The control: half the noise that the claim needs."""

    def gaussian(self, statistic, *, sensitivity, **options):
        halved = replace(sensitivity, value=sensitivity.value / 2)
        return super().gaussian(statistic, sensitivity=halved, **options)


def cohort(*person):
    """Return the statistics of ten people and one more, whose two haplotypes and outcome rows are equal."""
    rows = [([h & 1, h >> 1 & 1, h >> 2 & 1], [0, 0]) for h in range(20)] + 2 * list(person)
    alleles, outcomes = (np.array(column).T.copy() for column in zip(*rows, strict=True))
    options = {"n_haplotypes": len(rows), "rows": "haplotypes"}
    Y = grid_outcomes(outcomes.astype(float), bound=3.0)
    return gram(pack(alleles), **options), cross_product(pack(alleles), Y, **options), len(rows)


PERSON = ([1, 1, 1], [3, 3])
# The worst cases of docs/proofs: the first pair is one for all statistics together.
CASES = [
    pytest.param("add-remove", (PERSON,), (), ("count",), id="count"),
    pytest.param("add-remove", (PERSON,), (), ("gram",), id="gram"),
    pytest.param("add-remove", (PERSON,), (), ("cross",), id="cross"),
    pytest.param("add-remove", (PERSON,), (), ("count", "gram", "cross"), id="together"),
    pytest.param("replace-one", (PERSON,), (([0, 0, 1], [3, 3]),), ("gram",), id="gram-replaced"),
    pytest.param("replace-one", (PERSON,), (([1, 1, 1], [-3, -3]),), ("cross",), id="cross-replaced"),
]


def released(statistics, noise, request, parts):
    """Run the mechanisms and return the numbers of `parts`, each in units of its sensitivity / mu."""
    noisy = private_statistics(*statistics, request=request, noise=noise)
    relation = request.relation
    values = {
        "count": np.array([noisy.n]) / 2,
        "gram": noisy.gram[np.triu_indices(4, k=1)] / gram_sensitivity(3, **relation).value,
        "cross": noisy.cross.ravel() / cross_sensitivity(3, 2, outcome_bound=3.0, **relation).value,
    }
    return np.concatenate([values[part] * request.budget[part] for part in parts])


def observed_mu(source, pair, request, parts):
    """Bound mu from below by the best test there is: a threshold halfway between the two exact statistics."""
    centres = [released(statistics, NoNoise(), request, parts) for statistics in pair]
    direction, middle = centres[0] - centres[1], (centres[0] + centres[1]) / 2
    errors = [0, 0]
    for draw in range(N_DRAWS):
        for side in (0, 1):
            output = released(pair[side], source(7, side, draw), request, parts)
            errors[side] += (side == 0) != ((output - middle) @ direction > 0)
    bounds = beta.ppf(CONFIDENCE, np.add(errors, 1), N_DRAWS - np.array(errors))
    return norm.isf(bounds).sum()


@pytest.mark.parametrize(("neighbours", "first", "second", "parts"), CASES)
@pytest.mark.parametrize("source", [BenchmarkNoise, HalvedNoise])
def test_private_statistics__audit(source, neighbours, first, second, parts):
    request = PrivacyRequest(n_variants=3, n_outcomes=2, outcome_bound=3.0, neighbours=neighbours, **TERMS)
    claim = math.hypot(*(request.budget[part] for part in parts))
    observed = observed_mu(source, (cohort(*first), cohort(*second)), request, parts)
    assert (observed > claim) == (source is HalvedNoise)
    # The audit is no formality: with honest noise it finds most of what is claimed.
    assert observed > 0.4 * claim
