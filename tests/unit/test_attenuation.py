"""What clips leave of effects on outcomes, by closed forms and by rows that the clip itself shrinks."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.stats import chi

from dpgrs.errors import UsageError
from dpgrs.linalg.attenuation import clip_moments, clip_slopes
from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.norms import outcome_norm
from dpgrs.linalg.outcome_grid import clipped_outcomes
from refused import refused

NORMAL = math.nan


@pytest.mark.parametrize(("bound", "norm"), [(3, 0.5), (3, 1.5), (3, 2.9), (0.6, 0.5)])
def test_clip_slopes__one_normal_outcome_keeps_the_share_within_its_norm(bound, norm):
    (slope,) = clip_slopes([NORMAL], bound=bound, norm=norm, n_shared=1)
    assert slope == pytest.approx(math.erf(norm / math.sqrt(2)), abs=1e-4)


@pytest.mark.parametrize("prevalence", [0.001, 0.05, 0.5, 0.95])
def test_clip_slopes__one_binary_outcome_keeps_the_slope_of_a_line(prevalence):
    low, high = -math.sqrt(prevalence / (1 - prevalence)), math.sqrt((1 - prevalence) / prevalence)
    clipped = np.clip([low, high], -1.5, 1.5)
    (slope,) = clip_slopes([prevalence], bound=3, norm=1.5, n_shared=1)
    assert slope == pytest.approx((clipped[1] - clipped[0]) / (high - low), rel=1e-3)


@pytest.mark.parametrize("n_outcomes", [2, 5, 9, 40])
def test_clip_slopes__normal_rows_by_the_law_of_their_length(n_outcomes):
    """Stein's lemma: the mean divergence, 1 within the norm and (l - 1)/l of norm/length beyond it."""
    norm = outcome_norm(n_outcomes, factor=1.05, bound=6)
    length = chi(n_outcomes)
    beyond = quad(lambda r: length.pdf(r) / r, norm, norm + 20)[0]
    expected = length.cdf(norm) + (n_outcomes - 1) / n_outcomes * norm * beyond
    slopes = clip_slopes([NORMAL] * n_outcomes, bound=6, norm=norm, n_shared=n_outcomes)
    np.testing.assert_allclose(slopes, expected, atol=1e-3)


def test_clip_slopes__mixed_outcomes_as_their_rows_are_clipped():
    """Two budgets: three outcomes each, whose rows are shrunk by the code that sums them."""
    prevalence = np.array([NORMAL, 0.05, 0.4, NORMAL, NORMAL, 0.01])
    stream, n_rows = np.random.default_rng(0), 400_000
    scale = np.sqrt(prevalence * (1 - prevalence))
    binary = ((stream.random((6, n_rows)) < prevalence[:, np.newaxis]) - prevalence[:, np.newaxis]) / scale[
        :, np.newaxis
    ]
    Y = np.where(np.isnan(binary), stream.standard_normal((6, n_rows)), binary)
    terms = {"bound": 3.0, "norm": 2.0, "n_shared": 3}
    clipped = clipped_outcomes(Y, **terms) * OUTCOME_STEP
    seen = (clipped * Y).sum(axis=1) / (Y * Y).sum(axis=1)
    # Of 4,000 cases in 400,000 the mean square is off by 1.6 %, and so is the share that it is held against.
    np.testing.assert_allclose(clip_slopes(prevalence, **terms), seen, rtol=0.01)


@pytest.mark.parametrize("bound", [0.8, 1.5])
def test_clip_slopes__binary_beside_a_normal_outcome_that_is_often_beyond_its_bound(bound):
    """By the law of the normal one; both values of the other are beyond the bound or at 1."""
    own, norm, law = min(1, bound), 1.05 * bound, stats.norm
    within = quad(lambda y: 2 * law.pdf(y) * min(1, norm / math.hypot(own, y)), 0, bound)[0]
    expected = own * (within + 2 * law.sf(bound) * norm / math.hypot(own, bound))
    slopes = clip_slopes([0.5, NORMAL], bound=bound, norm=norm, n_shared=2)
    assert slopes[0] == pytest.approx(expected, rel=1e-3)


def test_clip_slopes__hang_on_no_order_of_the_outcomes():
    prevalence, terms = np.array([NORMAL, 0.05, 0.4, 0.01]), {"bound": 3, "norm": 2, "n_shared": 4}
    slopes = clip_slopes(prevalence, **terms)
    for order in ([3, 2, 1, 0], [1, 0, 2, 3], [2, 3, 0, 1]):
        np.testing.assert_allclose(clip_slopes(prevalence[order], **terms), slopes[order], rtol=1e-9)


def test_clip_slopes__without_a_norm_the_bound_alone_attenuates():
    slopes = clip_slopes([NORMAL, 0.05], bound=3, norm=None, n_shared=2)
    assert slopes[0] == pytest.approx(math.erf(3 / math.sqrt(2)), abs=1e-9)
    odds = math.sqrt(0.05 / 0.95)
    assert slopes[1] == pytest.approx((3 + odds) / (odds + 1 / odds))


@pytest.mark.parametrize("prevalence", [0.0, 1.0, -0.1])
def test_clip_slopes__raise_on_prevalence(prevalence):
    with refused("prevalence-out-of-range", prevalence, error=UsageError):
        clip_slopes([0.5, prevalence], bound=3, norm=2, n_shared=2)


def test_clip_moments__of_one_normal_outcome():
    bound, law = 1.2, stats.norm
    within = law.cdf(bound) - law.cdf(-bound) - 2 * bound * law.pdf(bound)
    (slope,), (square,) = clip_moments([NORMAL], bound=3, norm=bound, n_shared=1)
    assert slope == clip_slopes([NORMAL], bound=3, norm=bound, n_shared=1)
    assert square == pytest.approx(within + 2 * bound**2 * law.sf(bound), abs=1e-4)


def test_clip_moments__of_a_wide_bound_as_of_none():
    terms = {"norm": 20.0, "n_shared": 400}
    narrow, wide = (clip_moments([NORMAL] * 400, bound=bound, **terms) for bound in (4.5, 1000))
    np.testing.assert_array_equal(narrow, wide)
    np.testing.assert_allclose(wide, clip_moments([NORMAL] * 400, bound=3.0, **terms), rtol=0.02)
