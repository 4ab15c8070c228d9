"""The expected accuracy of a fit before anything is released, from public quantities only.

The real mechanism, with seeded noise, and the real fit run on the statistics of synthetic cohorts. Ridge with
a stated lambda is linear in X'Y, given its noisy Gram matrix: the means over effects, residuals and the noise
of X'Y have a closed form, and only Gram matrices are drawn. All other fits need drawn outcomes, too.
docs/explanation/plan.md derives it all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.linalg import genome_prior
from dpgrs.linalg.linear_fit import centred_gram, ridge_weights
from dpgrs.methods.fits import fit_released
from dpgrs.methods.genome_sums import map_terms, sensitivity_factor
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.registry import METHODS, is_ridge
from dpgrs.methods.synthetic_cohort import (
    SEED,
    SyntheticCohort,
    noisy_statistics,
    require_domain,
    synthetic_cohort,
    synthetic_panel,
)
from dpgrs.methods.synthetic_steering import steered
from dpgrs.privacy.accounting.accountant import LARGEST_EPSILON
from dpgrs.public_random import generator

if TYPE_CHECKING:
    from dpgrs.linalg.genome_prior import Spectrum
    from dpgrs.linalg.public_ld import PublicLd
    from dpgrs.methods.fits import FitTerms
    from dpgrs.methods.requests import PrivacyRequest

# The more variants, the less one draw differs from the next.
DRAWS_TIMES_VARIANTS, FEWEST_DRAWS, MOST_DRAWS = 1000, 2, 8
# For fits that need drawn outcomes: enough outcomes for a good mean, in no more fits than this.
OUTCOMES_DRAWN, FITS_TIMES_VARIANTS = 32, 3200
# The error of the counts of known outcomes is a mean over this many draws.
COUNTS_DRAWN = 1000
# More outcomes at once teach a fit nothing more about their common heritability.
MOST_OUTCOMES = 100
# Linear algebra differs in its last digits between processors; a statement must not.
STATED_DIGITS, STATED_HERITABILITY = 3, 0.5
# Noise of a map that is far below the chance of any sample.
NO_NOISE = 1e9


@dataclass(frozen=True)
class ExpectedFit:
    """The expected accuracy of an outcome's weights; standard deviations are root mean squares over variants.

    A fit along a map of the genome has None for them: its R^2 is a closed form.
    """

    weight_sd: float | None  # of a weight of the fit without noise, about 0
    noise_sd: float | None  # of the difference between a weight and what it would be without noise
    # noise_sd_gram and noise_sd_cross: what the noise of X'X (and of counts) and of X'Y adds to it; None
    # where the two cannot be told apart.
    noise_sd_gram: float | None
    noise_sd_cross: float | None
    r2: float  # R^2 in new people of the same population
    r2_sd: float | None  # how far that differs between draws of a cohort and its noise
    r2_without_noise: float  # of the same fit without noise


def expected_fit(
    method: str,
    request: "PrivacyRequest",  # its bounds are taken into account
    *,
    n_rows: int,  # >= 1, to train on: assumed, public, or released with noise
    frequency: np.ndarray,  # (n_variants,) in [0, 1], public ALT allele frequencies
    terms: "FitTerms",
    heritability: float,  # in [0, 1], share of an outcome's variance that the variants explain
    n_outcomes: int,  # >= 1, of the study
    # Of a panel of the cohort's ancestry, which fits on public LD need; None takes variants as independent.
    ld: "PublicLd | None" = None,
) -> ExpectedFit:
    """Work out the noise of a weight and R^2 of the fit of a method under a model of the cohort.

    Rows are independent, variants too or of the correlations of a panel, y = (x - mean)'theta + e with theta
    normal, of one variance for all variants, and Var(x'theta) = `heritability` = 1 - Var(e).

    The method is fitted from ReuseCov's statistics or from steered X'Y, without public outcomes. No data are
    read and nothing is spent: synthetic rows meet seeded noise. It raises UsageError if an argument is out of
    its domain.
    """
    model = {"n_rows": n_rows, "frequency": frequency, "heritability": heritability, "ld": ld}
    if is_ridge(method, terms.rule):
        return expected_ridge(request, penalty=terms.penalty, **model)
    model |= {"terms": terms, "n_outcomes": n_outcomes}
    weights, r2 = _drawn_fits(method, request, **model)
    # The largest epsilon leaves noise far below the chance of the sample.
    clean = replace(request, epsilon=LARGEST_EPSILON)
    clean_weights, clean_r2 = _drawn_fits(method, clean, **model)
    return ExpectedFit(
        weight_sd=_root_mean_square(clean_weights),
        noise_sd=_root_mean_square(weights - clean_weights),
        noise_sd_gram=None,
        noise_sd_cross=None,
        r2=float(r2.mean()),
        r2_sd=float(r2.mean(axis=1).std(ddof=1)),
        r2_without_noise=float(clean_r2.mean()),
    )


def expected_r2(
    method: str,
    request: "PrivacyRequest",
    *,
    n_rows: int,
    frequency: np.ndarray,
    terms: "FitTerms",
    heritability: float,
    n_outcomes: int,
    ld: "PublicLd | None" = None,
) -> float:
    """Return only the R^2 of `expected_fit`, in less time; arguments and errors as there."""
    model = {"n_rows": n_rows, "frequency": frequency, "heritability": heritability, "ld": ld}
    if is_ridge(method, terms.rule):
        return expected_ridge(request, penalty=terms.penalty, **model).r2
    _, r2 = _drawn_fits(method, request, terms=terms, n_outcomes=n_outcomes, **model)
    return float(r2.mean())


def expected_ridge(
    request: "PrivacyRequest",
    *,
    n_rows: int,
    frequency: np.ndarray,
    penalty: float,  # >= 0, per row
    heritability: float,
    ld: "PublicLd | None" = None,
) -> ExpectedFit:
    """Work out `expected_fit` of `fit_reusecov`, by closed forms but for the Gram matrix.

    `request`, `n_rows`, `frequency`, `heritability` and `ld`: as in `expected_fit`. It raises UsageError if
    an argument is out of its domain.
    """
    require_domain(request, n_rows=n_rows, frequency=frequency, heritability=heritability)
    ridge_options = {"penalty": penalty, "heritability": heritability}
    draws = []
    for number in range(_n_draws(request.n_variants)):
        cohort = synthetic_cohort(request, n_rows=int(n_rows), frequency=frequency, number=number, ld=ld)
        draws.append(_ridge_of_cohort(request, cohort, key=("plan", number), **ridge_options))
    *squares, r2, r2_without_noise = np.mean(draws, axis=0).tolist()
    # Rounding may leave a square of 0 just below it.
    weight, gram, cross = np.sqrt(np.maximum(squares, 0)).tolist()
    noise, r2_sd = float(np.hypot(gram, cross)), float(np.array(draws)[:, 3].std(ddof=1))
    return ExpectedFit(weight, noise, gram, cross, r2, r2_sd, r2_without_noise)


def expected_noise_sd(
    request: "PrivacyRequest",
    *,
    n_rows: int,
    frequency: np.ndarray,
    penalty: float,
    slopes: np.ndarray,  # (n_outcomes,) float64, the divisor of X'Y of each outcome
) -> float:
    """Return the expected noise sd of a weight, to `STATED_DIGITS` significant digits, for a statement.

    `request`, `n_rows`, `frequency` and `penalty`: as in `expected_ridge`; `n_rows` is the released count.
    The result is the root mean square over outcomes.
    """
    model = {"n_rows": n_rows, "frequency": frequency, "heritability": STATED_HERITABILITY}
    fit = expected_ridge(request, penalty=penalty, **model)
    noise_sd = np.hypot(fit.noise_sd_gram, fit.noise_sd_cross * _root_mean_square(1 / slopes))
    return float(f"{noise_sd:.{STATED_DIGITS}g}")


def expected_genome_fit(
    request: "PrivacyRequest",
    spectrum: "Spectrum",
    *,
    n_rows: int,
    heritability: float,
    is_equal: bool = False,  # whether directions with a share have the same one
    residual_variances: Sequence[float] = (),  # that public scores leave of outcomes
) -> ExpectedFit:
    """Work out R^2 of a fit along a map of the genome, which `dpgrs.linalg.genome_prior` states.

    The map is steered for `n_rows` people and for the heritability that all maps assume. `spectrum` is of a
    panel of the cohort's ancestry; `n_rows` and `heritability` are as in `expected_fit`.
    """
    request_terms = map_terms(request)
    options = {
        "n_phenotypes": request_terms["n_outcomes"],
        "sensitivity": sensitivity_factor(request_terms["neighbours"]),
    }
    options |= {"is_equal": is_equal}
    options["deviation"] = genome_prior.residual_deviation(residual_variances, request_terms["n_outcomes"])
    effects = spectrum.scaled(heritability / genome_prior.HERITABILITY)
    r2 = []
    for mu in (request_terms["mu"], NO_NOISE):
        noise = genome_prior.steered_noise(spectrum, n_rows, mu=mu, **options)
        D = effects.variances + noise.residual / n_rows + effects.chances
        r2.append(genome_prior.expected_r2(effects.variances, D, noise.shares, noise.tau, spectrum.counts))
    return ExpectedFit(None, None, None, None, r2[0], None, r2[1])


def neutral_frequencies(
    n_variants: int,
    *,
    rarest: float,  # in (0, 0.5), least minor-allele frequency
) -> np.ndarray:
    """Return ALT allele frequencies of neutral variants: density proportional to 1/p from `rarest` on.

    The result is (n_variants,) float64, the quantiles at (i + 1/2)/n_variants.
    """
    quantiles = (np.arange(n_variants) + 0.5) / n_variants
    return rarest * ((1 - rarest) / rarest) ** quantiles


def _n_draws(n_variants: int) -> int:
    return min(max(DRAWS_TIMES_VARIANTS // n_variants, FEWEST_DRAWS), MOST_DRAWS)


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _ridge_of_cohort(
    request: "PrivacyRequest",
    cohort: SyntheticCohort,
    *,
    penalty: float,
    heritability: float,
    key: tuple[str | int, ...],
) -> tuple:
    """Average over outcomes and the noise of X'Y, for one cohort and one draw of the other noise.

    C is the covariance of X'Y/n over outcomes, and w = f P (V + E_V)/n for a matrix P that depends only
    on the noisy Gram matrix. The factor f of an outcome depends on the noisy counts.

    The result is a tuple of three means of squares: of a weight, of its noise from X'X and from X'Y; R^2 with
    and without noise.
    """
    n, A, R, S = cohort.n, cohort.slope[:-1], cohort.root[:-1], cohort.covariance
    noisy = noisy_statistics(request, cohort, n_outcomes=COUNTS_DRAWN, key=key)
    P, shift = _solution(noisy.gram, noisy.n, cohort, penalty=penalty)
    factor = noisy.inflation / noisy.shown
    P, spread = P * factor.mean(), float(factor.var() / factor.mean() ** 2)
    P_exact, shift_exact = _solution(cohort.gram * n, n, cohort, penalty=penalty)
    P_exact = P_exact / noisy.shown.mean()

    effect_variance = heritability / S.trace()
    C = effect_variance * A @ A.T + (1 - heritability) / n * R @ R.T

    def r2(P: np.ndarray, shift: np.ndarray, C: np.ndarray, spread: float = 0.0) -> float:
        """Subtract the expected squared error from the variance of an outcome, which is 1."""
        explained = 2 * effect_variance * np.sum(S @ P * A.T)
        return explained - (1 + spread) * np.sum(P @ C @ P * (S + np.outer(shift, shift)))

    difference, noise_variance = P - P_exact, (request.noise_sd["cross"] / n) ** 2
    return (
        np.sum(P_exact @ C * P_exact) / len(C),
        (np.sum(difference @ C * difference) + spread * np.sum(P @ C * P)) / len(C),
        (1 + spread) * noise_variance * np.sum(P * P) / len(C),
        r2(P, shift, C + noise_variance * np.eye(len(C)), spread),
        r2(P_exact, shift_exact, C),
    )


def _solution(
    G: np.ndarray, n_used: float, cohort: SyntheticCohort, *, penalty: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return P with w = P V/n, and how far the means that are subtracted lie from the true ones."""
    G_c, used_mean = centred_gram(G, n_used)
    V = np.eye(len(used_mean)) * cohort.n
    return ridge_weights(G_c, V, n_used, penalty=penalty), used_mean - cohort.coded_mean


def _drawn_fits(
    method: str,
    request: "PrivacyRequest",
    *,
    n_rows: int,
    frequency: np.ndarray,
    terms: "FitTerms",
    heritability: float,
    n_outcomes: int,
    ld: "PublicLd | None",
) -> tuple[np.ndarray, np.ndarray]:
    """Fit synthetic outcomes of synthetic cohorts from noisy statistics.

    Effects, residuals and cohorts are the same for all requests, so that these compare.

    The results are `weights`, (n_draws, n_outcomes_drawn, n_variants) float64; `r2`, (n_draws,
    n_outcomes_drawn) float64.
    """
    require_domain(request, n_rows=n_rows, frequency=frequency, heritability=heritability)
    mechanism, is_joint = mechanism_of(method), n_outcomes == request.n_outcomes
    request = mechanism.terms(request)
    d, n_together = request.n_variants, min(n_outcomes, MOST_OUTCOMES)
    n_draws = _n_draws(d)
    n_sufficient = -(-OUTCOMES_DRAWN // (n_draws * n_together))
    n_repeats = min(n_sufficient, max(FITS_TIMES_VARIANTS // (d * n_draws), 1))
    weights, r2 = np.empty((n_draws, n_repeats, n_together, d)), np.empty((n_draws, n_repeats, n_together))
    for number in range(n_draws):
        cohort = synthetic_cohort(request, n_rows=int(n_rows), frequency=frequency, number=number, ld=ld)
        if METHODS[method].takes_ld:
            panel = synthetic_panel(request, ld, frequency=frequency, number=number)
            terms = replace(terms, ld={d: panel})
        for repeat in range(n_repeats):
            key = ("plan", number, repeat)
            noisy = noisy_statistics(request, cohort, n_outcomes=n_together, key=key)
            effects, cross, noise = _outcomes(cohort, n_together, heritability=heritability, key=key)
            if METHODS[method].is_steered:
                noisy = steered(noisy, cross, cohort, request=request, ld=terms.ld.get(d), is_joint=is_joint)
            else:
                noisy = replace(noisy, cross=cross[:, :-1])
            noisy = replace(noisy, cross=noisy.cross + request.noise_sd["cross"] * noise)
            fit = fit_released(method, noisy, request=request, terms=terms)
            error = cohort.explained(fit.weights - effects)
            weights[number, repeat] = fit.weights
            r2[number, repeat] = heritability - error - (fit.weights @ (fit.means - cohort.mean)) ** 2
    return weights.reshape(n_draws, -1, d), r2.reshape(n_draws, -1)


def _outcomes(
    cohort: SyntheticCohort, n_outcomes: int, *, heritability: float, key: tuple[str | int, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw effects of outcomes of just the heritability, X'Y with the intercept last, and standard noise."""
    stream = generator(SEED, "outcomes", *key)
    effects = stream.standard_normal((n_outcomes, len(cohort.mean)))
    effects *= np.sqrt(heritability / cohort.explained(effects))[:, np.newaxis]
    residual = stream.standard_normal((n_outcomes, cohort.root.shape[1])) @ cohort.root.T
    noise = stream.standard_normal(effects.shape)
    by_chance = np.sqrt(cohort.n * (1 - heritability)) * residual
    return effects, cohort.n * effects @ cohort.slope.T + by_chance, noise
