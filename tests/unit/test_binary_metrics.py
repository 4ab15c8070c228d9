import numpy as np
import pytest
from scipy.stats import binomtest, norm
from scipy.stats.contingency import odds_ratio as scipy_odds_ratio
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from dpgrs.evaluation import binary_metrics
from dpgrs.evaluation.binary_metrics import (
    NO_PREVALENCE,
    SEPARATED,
    TOO_FEW,
    TOO_FEW_FOR_TENTHS,
    binary_measures,
    fit_logistic,
    quantitative_measures,
)
from dpgrs.evaluation.intervals import Estimate, added_r2, area_under_curve, liability_r2, odds_ratio, share


def cohort(n, *, explained=0.2, by_covariates=0.0, prevalence=0.3, seed=0):
    """Return 0/1 outcomes of a normal liability, scores and two covariates that scores hang together with."""
    rng = np.random.default_rng(seed)
    g, noise = rng.standard_normal((2, n))
    C = rng.standard_normal((n, 2))
    liability = np.sqrt(explained) * g + np.sqrt(by_covariates) * C[:, 0]
    liability += np.sqrt(1 - explained - by_covariates) * noise
    return (liability > norm.isf(prevalence)).astype(float), g + 0.4 * C[:, 0], C


def by_name(measures):
    return {one.measure: one for one in measures}


def measured(y, score, **options):
    options = {"risk": norm.cdf(score - 1), "prevalence": 0.3} | options
    return by_name(binary_measures(y, score, **options))


def r2_of(y, columns):
    columns = np.column_stack([np.ones(len(y)), columns])
    rest = y - columns @ np.linalg.lstsq(columns, y)[0]
    return 1 - rest.var() / y.var()


@pytest.mark.parametrize("count", [0, 1, 30, 100])
def test_share__is_the_interval_of_wilson(count):
    expected = binomtest(count, 100).proportion_ci(method="wilson")
    assert share(count, 100) == pytest.approx((count / 100, *expected))


def test_odds_ratio__is_that_of_scipy():
    found = scipy_odds_ratio([[15, 5], [30, 50]], kind="sample")
    assert odds_ratio((15, 5), (30, 50)) == pytest.approx((found.statistic, *found.confidence_interval()))


def test_odds_ratio__without_a_case_is_finite():
    expected = 0.5 * 50.5 / (5.5 * 30.5)
    assert odds_ratio((0, 5), (30, 50)).value == pytest.approx(expected)


def test_added_r2__is_the_difference_of_two_fits():
    y, score, C = cohort(300, by_covariates=0.2)
    assert added_r2(y, score).value == pytest.approx(np.corrcoef(y, score)[0, 1] ** 2)
    expected = r2_of(y, np.column_stack([C, score])) - r2_of(y, C)
    assert added_r2(y, score, C).value == pytest.approx(expected)
    # Repeated covariates say nothing new.
    assert added_r2(y, score, np.column_stack([C, C, np.ones(300)])).value == pytest.approx(expected)


def test_added_r2__of_normal_numbers_has_the_variance_of_olkin_and_finn():
    rng = np.random.default_rng(1)
    n, a, b = 400_000, 0.5, 0.6  # semi-partial correlation, and that of y with the covariate
    c, s, e = rng.standard_normal((3, n))
    y = b * c + a * s + np.sqrt(1 - a**2 - b**2) * e
    found = added_r2(y, s + 0.7 * c, c[:, np.newaxis])
    root_error = np.sqrt(((1 - a**2) ** 2 - b**2 * (1 - 2 * a**2)) / n)
    assert np.sqrt(found.high) - np.sqrt(found.value) == pytest.approx(1.96 * root_error, rel=0.02)


def test_added_r2__of_a_score_that_tells_nothing_reaches_down_to_0():
    y, score, _ = cohort(500, explained=0.0)
    found = added_r2(y, score)
    assert found.low == 0 < found.value < found.high


def test_added_r2__without_variation_is_missing():
    y, score, C = cohort(100)
    for missing in (added_r2(np.ones(100), score), added_r2(y, np.full(100, 0.3)), added_r2(y, C[:, 0], C)):
        assert np.isnan(missing).all()
    assert np.isnan(added_r2(y[:4], score[:4], C[:4])).all()


def test_liability_r2__is_the_share_of_liability_whatever_the_share_of_cases():
    y, score, _ = cohort(2_000_000, explained=0.1, prevalence=0.05)
    score = score - 0.4 * cohort(2_000_000, explained=0.1, prevalence=0.05)[2][:, 0]
    cases, controls = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    both = np.concatenate([cases, controls[: len(cases)]])
    for people, case_share in ((slice(None), y.mean()), (both, 0.5)):
        observed = added_r2(y[people], score[people])
        found = liability_r2(observed, prevalence=0.05, case_share=case_share)
        assert found.value == pytest.approx(0.1, rel=0.05)
        assert found.low < found.value < found.high
    assert added_r2(y[both], score[both]).value > 0.08 > 0.03 > added_r2(y, score).value


def test_liability_r2__without_ascertainment_is_that_of_dempster_and_lerner():
    observed = Estimate(0.02, 0.01, 0.03)
    factor = 0.1 * 0.9 / norm.pdf(norm.isf(0.1)) ** 2
    expected = np.multiply(observed, factor)
    assert liability_r2(observed, prevalence=0.1, case_share=0.1) == pytest.approx(expected)


def test_fit_logistic__is_that_of_scikit_learn():
    y, score, C = cohort(400, by_covariates=0.2)
    X = np.column_stack([C, score])
    model = LogisticRegression(C=1e12, tol=1e-10, max_iter=1000).fit(X, y)
    fit = fit_logistic(np.column_stack([np.ones(400), X]), y)
    assert fit.slope == pytest.approx(model.coef_[0, -1], rel=1e-5)
    expected = -log_loss(y, model.predict_proba(X)[:, 1], normalize=False)
    assert fit.log_likelihood == pytest.approx(expected)


def test_fit_logistic__of_a_group_is_the_two_by_two_table():
    y, group = np.repeat([1, 1, 0, 0], [15, 30, 5, 50]), np.repeat([1, 0, 1, 0], [15, 30, 5, 50])
    fit = fit_logistic(np.column_stack([np.ones(100), group]), y)
    assert fit.slope == pytest.approx(np.log(15 * 50 / (5 * 30)))
    assert fit.error == pytest.approx(np.sqrt(1 / 15 + 1 / 50 + 1 / 5 + 1 / 30))


def test_binary_measures__nagelkerke_is_the_difference_of_two_models():
    y, score, C = cohort(400, by_covariates=0.2)
    ones = np.ones((400, 1))

    def nagelkerke(columns):
        model = LogisticRegression(C=1e12, tol=1e-10, max_iter=1000).fit(columns, y)
        nothing = log_loss(y, np.full(400, y.mean()))
        gain = nothing - log_loss(y, model.predict_proba(columns)[:, 1])
        return (1 - np.exp(-2 * gain)) / (1 - np.exp(-2 * nothing))

    found = measured(y, score, covariates=C)["nagelkerke_added"]
    assert found.value == pytest.approx(nagelkerke(np.column_stack([C, score])) - nagelkerke(C))
    assert measured(y, score)["nagelkerke_added"].value == pytest.approx(
        nagelkerke(np.column_stack([ones, score]))
    )


def test_binary_measures__are_of_cases_and_controls():
    y, score, _ = cohort(1000)
    found = measured(y, score)
    assert (found["n"].value, found["cases"].value) == (1000, y.sum())
    assert found["auc"][1:4] == area_under_curve(score[y == 1], score[y == 0])
    top = score >= np.sort(score)[900]
    expected = odds_ratio((y[top].sum(), 100 - y[top].sum()), (y[~top].sum(), 900 - y[~top].sum()))
    assert found["or_top_tenth"][1:4] == pytest.approx(expected)
    # A score in other units has the same standard deviation.
    assert found["or_per_sd"].value == pytest.approx(measured(y, 7 * score + 3)["or_per_sd"].value)


def test_binary_measures__calibration_is_of_tenths_by_risk():
    rng = np.random.default_rng(0)
    risk = rng.uniform(size=20_000)
    y = (rng.uniform(size=20_000) < risk).astype(float)
    found = [one for name, one in measured(y, risk, risk=2 * risk - 0.5).items() if "calibration" in name]
    assert [one.measure for one in found[1:-1]] == [f"calibration {number}" for number in range(3, 9)]
    # A quarter of all is cut at either end: equal risks share the tenth of their middle.
    assert (found[0].expected, found[-1].expected) == (0, 1)
    assert found[0].value == pytest.approx(0.125, abs=0.02)
    whole = [one for one in binary_measures(y, risk, risk=risk) if one.measure.startswith("calibration")]
    assert len(whole) == 10
    assert all(abs(one.value - one.expected) < 0.06 for one in whole)
    assert all(one.low < one.value < one.high for one in whole)


@pytest.mark.parametrize("covariates", [False, True])
def test_binary_measures__intervals_hold_the_truth(covariates):
    options = {"by_covariates": 0.2 * covariates}

    def of(n, seed):
        y, score, C = cohort(n, seed=seed, **options)
        return measured(y, score, **({"covariates": C} if covariates else {}))

    truth, n_repeats = of(400_000, 10**6), 200
    hits = dict.fromkeys(binary_metrics.NAMES[:-1], 0)
    for seed in range(n_repeats):
        found = of(300, seed)
        for name in hits:
            hits[name] += found[name].low <= truth[name].value <= found[name].high
    # Of 200 at 95 %, fewer than 170 have a chance of 1e-7.
    assert min(hits.values()) >= 170
    assert min(hits.values()) < n_repeats


def test_binary_measures__says_what_is_withheld_and_why():
    y, score, _ = cohort(300)
    assert measured(y, score, prevalence=None)["r2_liability"].note == NO_PREVALENCE
    few = measured(y[:90], score[:90])
    assert few["or_top_tenth"].note == few["calibration"].note == TOO_FEW_FOR_TENTHS
    assert np.isfinite(few["or_per_sd"].value)
    for alone in (measured(np.zeros(300), score), measured(np.ones(300), score)):
        assert {alone[name].note for name in binary_metrics.NAMES} == {TOO_FEW}
        assert all(np.isnan(one.value) for one in alone.values() if one.note)
    separated = measured(y, y)
    assert separated["or_per_sd"].note == separated["nagelkerke_added"].note == SEPARATED
    assert separated["auc"].value == 1
    assert measured(y, np.zeros(300))["or_per_sd"].note == SEPARATED


def test_quantitative_measures__are_n_and_what_the_score_adds():
    _, score, C = cohort(300)
    found = by_name(quantitative_measures(score, C[:, 0]))
    assert found["n"].value == 300
    assert found["r2_added"][1:4] == added_r2(score, C[:, 0])
