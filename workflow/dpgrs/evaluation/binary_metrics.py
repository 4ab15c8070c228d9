"""How well a score predicts a 0/1 outcome, with intervals: what readers of risk scores ask for."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, xlogy

from dpgrs.evaluation.intervals import (
    REACH,
    Estimate,
    added_r2,
    area_under_curve,
    liability_r2,
    odds_ratio,
    odds_ratio_of,
    ranks,
    share,
)

N_GROUPS = 10
FEWEST_OF_A_KIND = 10  # cases, and controls: of fewer no interval holds what it promises
FEWEST_IN_GROUPS = 10 * N_GROUPS
MOST_STEPS, TOLERANCE = 50, 1e-10
LARGEST_LOG_ODDS = 30.0  # beyond it cases and controls are separated
NOTHING = Estimate(np.nan, np.nan, np.nan)

TOO_FEW = f"fewer than {FEWEST_OF_A_KIND} cases or controls"
TOO_FEW_FOR_TENTHS = f"fewer than {FEWEST_IN_GROUPS} people"
SEPARATED = "no logistic regression: the score separates cases and controls, or does not vary"
NO_VARIATION = "the score or the outcome does not vary, or people are too few"
NO_PREVALENCE = "withheld: no prevalence is stated"
CALIBRATION = "calibration"


class Measure(NamedTuple):
    """One number about an outcome."""

    measure: str  # its name; `CALIBRATION` and a number for tenths of people by predicted risk
    value: float
    low: float = np.nan  # its interval; NaN if there is none
    high: float = np.nan
    expected: float = np.nan  # the mean predicted risk of such a tenth; NaN for all others
    note: str = ""  # why there is no value


class LogisticFit(NamedTuple):
    """The last coefficient of a logistic regression, its standard error, and the log likelihood."""

    slope: float
    error: float
    log_likelihood: float


def quantitative_measures(
    y: np.ndarray, score: np.ndarray, *, covariates: np.ndarray | None = None
) -> list[Measure]:
    """Measure a score of a quantitative outcome: how many people, and the R^2 that it adds to covariates.

    y and score are (n_people,), covariates (n_people, n_covariates) float64.
    """
    return [Measure("n", len(y)), _measure("r2_added", added_r2(y, score, covariates), NO_VARIATION)]


def binary_measures(
    y: np.ndarray,
    score: np.ndarray,
    *,
    risk: np.ndarray,
    covariates: np.ndarray | None = None,
    prevalence: float | None = None,
) -> list[Measure]:
    """Measure a score of a 0/1 outcome, y, with the predicted share of cases, `risk`, (n_people,) float64
    each.

    The score is of the genotypes only; the risk has covariates in it, (n_people, n_covariates) float64, and
    is cut at 0 and 1. The prevalence is of the population; None withholds the measures that depend on
    it.

    Measures are numbers of people and of cases, the prevalence; the area under the curve of the score
    (DeLong); R^2 that it adds to covariates, on the scale of 0 and 1, on that of liability, and Nagelkerke's;
    odds ratios, of a standard deviation of the score beside covariates (Wald), and of the tenth of highest
    scores against all others (Woolf); and for tenths of people by risk the share of cases (Wilson) with the
    mean risk.
    """
    y, n_cases = np.asarray(y, dtype=float), int(np.sum(y))
    counts = [Measure("n", len(y)), Measure("cases", n_cases)]
    if prevalence is not None:
        counts.append(Measure("prevalence", prevalence))
    if min(n_cases, len(y) - n_cases) < FEWEST_OF_A_KIND:
        return [*counts, *(_missing(name, TOO_FEW) for name in NAMES)]
    observed = added_r2(y, score, covariates)
    estimates = {"auc": area_under_curve(score[y == 1], score[y == 0]), "r2_added": observed}
    if prevalence is not None:
        estimates["r2_liability"] = liability_r2(observed, prevalence=prevalence, case_share=n_cases / len(y))
    estimates |= _of_logistic_regression(y, score, covariates)
    if len(y) >= FEWEST_IN_GROUPS:
        is_top = tenths(score) == N_GROUPS - 1
        estimates["or_top_tenth"] = odds_ratio(
            *(_cases_and_controls(y[group]) for group in (is_top, ~is_top))
        )
    notes = dict.fromkeys(NAMES, SEPARATED) | {"r2_added": NO_VARIATION, "or_top_tenth": TOO_FEW_FOR_TENTHS}
    notes["r2_liability"] = NO_PREVALENCE if prevalence is None else NO_VARIATION
    measures = [_measure(name, estimates.get(name, NOTHING), notes[name]) for name in NAMES[:-1]]
    return [*counts, *measures, *calibration(y, risk)]


def two_values(y: np.ndarray) -> tuple[float, float] | None:
    """Return the lower and the higher of the only two values of y, (n,) float64 without NaN; None for other
    numbers."""
    if not len(y):
        return None
    low, high = float(y.min()), float(y.max())
    return (low, high) if low < high and ((y == low) | (y == high)).all() else None


NAMES = ["auc", "r2_added", "r2_liability", "nagelkerke_added", "or_per_sd", "or_top_tenth", CALIBRATION]


def calibration(y: np.ndarray, risk: np.ndarray) -> list[Measure]:
    """Compare predicted and observed shares of cases in tenths of people by predicted risk.

    y is (n_people,) of 0 and 1, the risk float64, cut at 0 and 1 here. The lowest risk comes first; people of
    one risk share a tenth, so some may be missing. There is one measure without a value if there are too few
    people.
    """
    if len(y) < FEWEST_IN_GROUPS:
        return [_missing(CALIBRATION, TOO_FEW_FOR_TENTHS)]
    risk = np.clip(risk, 0.0, 1.0)
    groups, measures = tenths(risk), []
    for number in np.unique(groups):
        is_member = groups == number
        observed = share(int(y[is_member].sum()), int(is_member.sum()))
        measures.append(Measure(f"{CALIBRATION} {number + 1}", *observed, float(risk[is_member].mean())))
    return measures


def tenths(values: np.ndarray) -> np.ndarray:
    """Return the tenth of each value, (n,) int64 from 0; equal values are in one tenth."""
    return np.minimum(((ranks(values) - 0.5) / len(values) * N_GROUPS).astype(np.int64), N_GROUPS - 1)


def fit_logistic(X: np.ndarray, y: np.ndarray) -> LogisticFit | None:
    """Fit a logistic regression by Newton's method; return its last column, None if no fit is finite and
    unique.

    X is (n_people, n_columns) float64, a column of ones among them; y is (n_people,) of 0 and 1.
    """
    if np.linalg.matrix_rank(X) < X.shape[1]:
        return None
    coefficients = np.zeros(X.shape[1])
    for _ in range(MOST_STEPS):
        log_odds = X @ coefficients
        if np.abs(log_odds).max() > LARGEST_LOG_ODDS:
            return None
        p = expit(log_odds)
        information = (X.T * (p * (1 - p))) @ X
        step = np.linalg.solve(information, X.T @ (y - p))
        coefficients += step
        if np.abs(X @ step).max() < TOLERANCE:
            p = expit(X @ coefficients)
            error = np.sqrt(np.linalg.inv(information)[-1, -1])
            likelihood = float((xlogy(y, p) + xlogy(1 - y, 1 - p)).sum())
            return LogisticFit(float(coefficients[-1]), float(error), likelihood)
    return None


def _of_logistic_regression(
    y: np.ndarray, score: np.ndarray, covariates: np.ndarray | None
) -> dict[str, Estimate]:
    """Return the odds ratio of a standard deviation, and Nagelkerke's R^2; empty where there are none.

    The interval of the latter follows from the signed root of the likelihood ratio, about normal with
    variance 1.
    """
    n, spread = len(y), score.std()
    if not spread > 0:
        return {}
    columns_without = np.column_stack([np.ones(n), *_directions(covariates)])
    without, fit = (
        fit_logistic(columns, y)
        for columns in (columns_without, np.column_stack([columns_without, (score - score.mean()) / spread]))
    )
    if fit is None or without is None:
        return {}
    p = y.mean()
    nothing = n * (xlogy(p, p) + xlogy(1 - p, 1 - p))
    root = np.sign(fit.slope) * np.sqrt(max(0.0, 2 * (fit.log_likelihood - without.log_likelihood)))

    def added(ratio: float) -> float:
        scale = -np.expm1(2 * nothing / n) * np.exp(2 * (without.log_likelihood - nothing) / n)
        return float(-np.expm1(-ratio / n) / scale)

    ends = added((root - REACH) ** 2), added((root + REACH) ** 2)
    low = 0.0 if abs(root) <= REACH else min(ends)
    nagelkerke = Estimate(added(root**2), low, max(ends))
    return {"nagelkerke_added": nagelkerke, "or_per_sd": odds_ratio_of(fit.slope, fit.error)}


def _directions(covariates: np.ndarray | None) -> Iterator[np.ndarray]:
    """Yield orthogonal columns of mean 0 that span centred covariates, without any that are repeated."""
    if covariates is not None and covariates.shape[1]:
        U, s, _ = np.linalg.svd(covariates - covariates.mean(axis=0), full_matrices=False)
        yield from (U[:, s > 1e-10 * max(s[0], 1e-300)] * np.sqrt(len(U))).T


def _cases_and_controls(y: np.ndarray) -> tuple[int, int]:
    n_cases = int(y.sum())
    return n_cases, len(y) - n_cases


def _measure(name: str, estimate: Estimate, note: str) -> Measure:
    return _missing(name, note) if np.isnan(estimate.value) else Measure(name, *estimate)


def _missing(name: str, note: str) -> Measure:
    return Measure(name, *NOTHING, note=note)
