"""Coverage of the 95 % intervals of the noise-aware BLUP, on 20 cohorts of its own model, 400 at h2 = 0.8.

All seeds are fixed, so a result never changes. An interval hits or misses together with those of its cohort:
the cohorts are the sample. The bars of docs/explanation/blup.md are on the coverage of a cohort on average;
its mean over the cohorts may pass a bar by as much as Student's t allows with probability 1e-6 if the bar
itself is the truth. A law that keeps the bars then fails a test with probability 1e-6 at most, to the extent
that means of 20 are normal. The controls, intervals too wide or too narrow by a third, must fail.
"""

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from dpgrs.linalg.attenuation import clip_slopes
from dpgrs.linalg.coding import column_moments, grid_frequency
from dpgrs.linalg.denoising import denoised_means, noisy_spectrum
from dpgrs.linalg.norms import outcome_norm, row_norm_of
from dpgrs.linalg.steering import steer
from dpgrs.methods.blup import fit_blup
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics
from dpgrs.methods.steered import steered_request, steering_of

N_TRIALS, FALSE_FAILURE = 20, 1e-6
N_ROWS, N_VARIANTS = 3000, 60
NOISE = 12.0  # standard deviation of an entry of X'X, in the cases of full protection
FEW = {"n_outcomes": 10, "bars": (0.93, 0.97)}
ONE = {"n_outcomes": 1, "bars": (0.91, 0.98)}
THREE = {"n_outcomes": 3, "bars": FEW["bars"]}
# Of 0/1 outcomes the stated heritability is that of the outcome, not of its liability.
PREVALENCE = 0.05
OF_BINARY = 0.5 * norm.pdf(norm.isf(PREVALENCE)) ** 2 / (PREVALENCE * (1 - PREVALENCE))


def haplotypes(rng, *, n_rows=N_ROWS, n_variants=N_VARIANTS, among=(0.05, 0.5)):
    """Return (n_rows, n_variants) alleles with linkage, in `half` coding."""
    frequencies = rng.uniform(*among, n_variants)
    chain = rng.standard_normal((n_rows, n_variants))
    for j in range(1, n_variants):
        chain[:, j] = 0.8 * chain[:, j - 1] + 0.6 * chain[:, j]
    thresholds = np.quantile(chain, 1 - frequencies, axis=0).diagonal()
    return (chain > thresholds) - 0.5


def cohort_coverage(seed, *, n_outcomes, width=1.0, **terms):
    """Return the share of effects that their intervals cover, in one cohort."""
    theta, fit = fitted_cohort(seed, n_outcomes=n_outcomes, **terms)
    return (np.abs(fit.weights - theta) < 1.96 * width * fit.standard_errors).mean()


def fitted_cohort(
    seed,
    *,
    n_outcomes,
    is_full,
    heritability,
    h2=0.5,
    noise=60.0,
    prevalence=None,
    is_clipped=False,
    is_steered=False,
):
    """Return the effects of a cohort of outcomes of true h2, and their fit.

    Outcomes with a prevalence are 0/1, of liabilities of this h2. Clipped ones are clipped by tight bounds,
    which the fit undoes.
    """
    rng = np.random.default_rng(seed)
    X = haplotypes(rng)
    centred = X - X.mean(axis=0)
    theta = rng.standard_normal((n_outcomes, N_VARIANTS)) * np.sqrt(h2 / centred.var(axis=0).sum())
    Y = theta @ centred.T + np.sqrt(1 - h2) * rng.standard_normal((n_outcomes, N_ROWS))
    if prevalence is not None:
        spread = np.sqrt(prevalence * (1 - prevalence))
        Y = ((norm.isf(prevalence) < Y) - prevalence) / spread
        theta = theta * (norm.pdf(norm.isf(prevalence)) / spread)
    cross_sd = noise * np.sqrt(n_outcomes)
    terms = {"cross_sd": cross_sd, "heritability": heritability}
    if is_clipped:
        bound = outcome_norm(n_outcomes, factor=1.05, bound=3.0)
        Y = np.clip(Y, -3, 3)
        Y *= np.minimum(1, bound / np.linalg.norm(Y, axis=0))
        prevalences = np.full(n_outcomes, np.nan if prevalence is None else prevalence)
        terms["slopes"] = clip_slopes(prevalences, bound=3.0, norm=bound, n_shared=n_outcomes)
    of_cross = cross_sd * rng.standard_normal((n_outcomes, N_VARIANTS))
    design = np.c_[X, np.full(N_ROWS, 0.5)]
    gram_sd = NOISE if is_full else 0.0
    upper = np.triu(rng.standard_normal((N_VARIANTS + 1,) * 2), k=1) * gram_sd
    gram = design.T @ design + upper + upper.T
    means = denoised_means(gram, N_ROWS, gram_sd=gram_sd)
    G_c = gram[:-1, :-1] - N_ROWS * np.outer(means, means)
    terms |= {"gram_sd": gram_sd, "means": means}
    if not is_steered:
        return theta, fit_blup(G_c, Y @ X + of_cross, N_ROWS, **terms)
    bounds = {"row_norm": np.sqrt(centred.var(axis=0).sum()), "rows": "haplotypes", "centre": means}
    spectrum = noisy_spectrum(G_c, gram_sd=gram_sd)
    steering = steer(spectrum, N_ROWS, noise_sd=cross_sd, **bounds)
    Z = (X - steering.centre) @ steering.matrix.T
    Z *= np.minimum(1, bounds["row_norm"] / np.linalg.norm(Z, axis=1, keepdims=True))
    assert len(steering.places) < N_VARIANTS  # along the others nothing is released
    of_cross[:, : len(steering.places)] += Y @ Z
    return theta, fit_blup(G_c, of_cross, N_ROWS, steering=steering, **terms)


def is_within(coverages, bars):
    n = len(coverages)
    slack = student.isf(FALSE_FAILURE, n - 1) * np.std(coverages, ddof=1) / np.sqrt(n)
    return bars[0] - slack <= np.mean(coverages) <= bars[1] + slack


CASES = [
    pytest.param(FEW, {"is_full": False, "heritability": None}, id="label, 10 outcomes"),
    pytest.param(ONE, {"is_full": False, "heritability": None}, id="label, 1 outcome"),
    pytest.param(
        {"n_outcomes": 10, "bars": ONE["bars"]}, {"is_full": True, "heritability": 0.5}, id="full, h2 stated"
    ),
    pytest.param(
        FEW, {"is_full": True, "heritability": 0.5, "is_steered": True, "noise": 150.0}, id="steered"
    ),
    pytest.param(THREE, {"is_full": True, "heritability": 0.5, "is_clipped": True}, id="clipped"),
    pytest.param(
        THREE,
        {"is_full": True, "heritability": OF_BINARY, "is_clipped": True, "prevalence": PREVALENCE},
        id="clipped 0/1 outcomes",
    ),
]


# Of one outcome they do not show it; by day one case does for all.
CONTROLS = [
    CASES[0],
    *(pytest.param(*case.values, id=case.id, marks=pytest.mark.nightly) for case in CASES[2:]),
]


@pytest.mark.parametrize(("size", "terms"), CASES)
def test_intervals__cover_as_documented(size, terms):
    coverages = [cohort_coverage(seed, n_outcomes=size["n_outcomes"], **terms) for seed in range(N_TRIALS)]
    assert is_within(coverages, size["bars"])


def test_intervals__cover_where_heritability_is_high_and_noise_hides_it():
    """The noise leaves h2 to its prior: one that pulls it to the middle covers 0.92 here, which must fail.

    That is how far the prior by EM fell short, so many cohorts are needed to see it.
    """
    terms = {"is_full": False, "heritability": None, "h2": 0.8, "noise": 120.0}
    coverages = [cohort_coverage(seed, n_outcomes=FEW["n_outcomes"], **terms) for seed in range(400)]
    assert is_within(coverages, FEW["bars"])


@pytest.mark.parametrize("width", [2 / 3, 4 / 3])
@pytest.mark.parametrize(("size", "terms"), CONTROLS)
def test_intervals__of_a_wrong_width_do_not(size, terms, width):
    seeds = range(N_TRIALS)
    coverages = [cohort_coverage(s, n_outcomes=size["n_outcomes"], width=width, **terms) for s in seeds]
    assert not is_within(coverages, size["bars"])


class ClippedRows:
    """A cohort whose rows are clipped by tight bounds, and what is released of it under full protection."""

    def __init__(self, seed, *, epsilon, n_outcomes=10, h2=0.5, **cohort):
        self.rng = rng = np.random.default_rng(seed)
        X = haplotypes(rng, **cohort)
        self.frequency = X.mean(axis=0) + 0.5
        X -= X.mean(axis=0)
        (self.n_rows, n_variants), shape = X.shape, (n_outcomes, X.shape[1])
        self.effects = rng.standard_normal(shape) * np.sqrt(h2 / X.var(axis=0).sum())
        Y = self.effects @ X.T + np.sqrt(1 - h2) * rng.standard_normal((n_outcomes, self.n_rows))
        norms = {
            "row_norm": row_norm_of(self.frequency, rows="haplotypes", factor=1.0),
            "outcome_norm": outcome_norm(n_outcomes, factor=1.05, bound=3.0),
        }
        self.X = clipped(X, norms["row_norm"])
        self.Y = clipped(np.clip(Y, -3, 3).T, norms["outcome_norm"]).T
        clip = {"bound": 3.0, "norm": norms["outcome_norm"], "n_shared": n_outcomes}
        self.slopes = clip_slopes(np.full(n_outcomes, np.nan), **clip)
        terms = {"rows": "haplotypes", "unit": "haplotype", "coding": "frequency", "epsilon": epsilon}
        terms |= {"n_variants": n_variants, "n_outcomes": n_outcomes, "outcome_bound": 3.0, "delta": 1e-6}
        self.request = PrivacyRequest(**terms, **norms)

    def fit(self, *, is_steered):
        design, stated = np.c_[self.X, np.full(self.n_rows, 0.5)], FitTerms(0.0, heritability=0.5)
        upper = np.triu(self.rng.standard_normal((design.shape[1],) * 2)) * self.request.noise_sd["gram"]
        upper[-1, -1] = 0
        gram = design.T @ design + upper + np.triu(upper, 1).T
        origin = column_moments(grid_frequency(self.frequency), rows="haplotypes")[0]
        known = {"origin": origin, "slopes": self.slopes}
        request = steered_request(self.request) if is_steered else self.request
        cross = self.rng.standard_normal(self.effects.shape) * request.noise_sd["cross"]
        if not is_steered:
            noisy = NoisyStatistics(gram, cross + self.Y @ self.X, self.n_rows, **known)
            return fit_released("blup", noisy, request=request, terms=stated)
        steering = steering_of(gram, self.n_rows, request=request, slopes=self.slopes)
        Z = clipped((self.X - steering.centre) @ steering.matrix.T, request.row_norm)
        cross[:, : len(steering.places)] += self.Y @ Z
        noisy = NoisyStatistics(gram, cross, self.n_rows, steering=steering, **known)
        return fit_released("blup-steered", noisy, request=request, terms=stated)


def clipped(rows, norm):
    return rows * np.minimum(1, norm / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), norm / 2))


RARE = {"n_variants": 30, "among": (0.01, 0.05)}


@pytest.mark.parametrize("is_steered", [False, True])
@pytest.mark.parametrize(
    ("cohort", "n_given"),
    [
        pytest.param({"n_rows": 4000, "epsilon": 2.0}, N_TRIALS, id="noise"),
        pytest.param(RARE | {"n_rows": 4000, "epsilon": 0.7}, N_TRIALS, id="noise, rare variants"),
        pytest.param(RARE | {"n_rows": 20_000, "epsilon": 5.0}, 0, id="clip"),
    ],
)
def test_intervals__of_clipped_rows_cover_or_are_withheld(cohort, n_given, is_steered):
    """Those of the third case would cover 0.6: it is the clip, of which the model knows nothing, that errs.

    They may cover more than elsewhere: up to 0.99 in these cases, 0.995 with stronger linkage
    (docs/explanation/blup.md).
    """
    coverages = []
    for seed in range(N_TRIALS):
        released = ClippedRows(seed, **cohort)
        fit = released.fit(is_steered=is_steered)
        if fit.standard_errors is not None:
            coverages.append((np.abs(fit.weights - released.effects) < 1.96 * fit.standard_errors).mean())
    assert len(coverages) == n_given
    assert not coverages or is_within(coverages, (FEW["bars"][0], 0.99))
