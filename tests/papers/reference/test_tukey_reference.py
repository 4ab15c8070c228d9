"""Volumes and checks of the Tukey mechanism against answers made by other code."""

import math

import numpy as np
import pytest

from dpgrs.privacy.noise.depth_sampler import DepthRegions
from dpgrs_papers.methods.tukey_check import largest_safe_step, safety_terms
from dpgrs_papers.methods.tukey_models import models_on_grid
from dpgrs_papers.types import DepthCheck

pytestmark = pytest.mark.realdata
# So fine that the points of a region are its volume but for the last digits of a float.
STEP = 2.0**-100


@pytest.fixture(scope="module")
def answers(real_data):
    path = real_data.parent / "reference" / "tukey.npz"
    if not path.is_file():
        pytest.skip(f"no reference answers at {path}")
    return np.load(path)


@pytest.fixture(scope="module")
def regions(answers):
    return DepthRegions(models_on_grid(answers["models"], STEP))


def test_regions__equal_reference_answers(answers, regions):
    log_unit = answers["models"].shape[1] * math.log(STEP)
    for name, counts in (("log_volume", regions.volumes), ("log_volume_exact", regions.shells)):
        found = [math.log(count) + log_unit for count in counts]
        np.testing.assert_allclose(found, answers[name], rtol=1e-12)


@pytest.mark.parametrize("check", DepthCheck)
@pytest.mark.parametrize("budget", ["a", "b"])
def test_largest_safe_step__equals_reference_answers(answers, regions, budget, check):
    epsilon, delta = answers[f"eps_delta_{budget}"]
    rate, limit = safety_terms(epsilon / 2, delta)
    step = largest_safe_step(regions, rate=rate, limit=limit, check=check)
    assert step == answers[f"kstar_{check}_{budget}"]
