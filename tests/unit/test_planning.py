import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.privacy.noise import BenchmarkNoise
from dpgrs.public_random import generator
from dpgrs.regression.planning import ExpectedFit, expected_fit, expected_noise_sd, neutral_frequencies
from dpgrs.regression.requests import PrivacyRequest
from dpgrs.regression.reusecov import NoisyStatistics, fit_reusecov, private_statistics
from dpgrs.regression.statistics import CROSS_STEP, GRAM_STEP, column_moments

PENALTY, HERITABILITY = 0.2, 0.5
N_SIMULATED = 10  # outcomes; each so many as a request says share a budget
FIT = {"penalty": PENALTY, "heritability": HERITABILITY}


def request_of(n_variants=30, *, rows="haplotypes", epsilon=5.0, n_outcomes=10, **terms):
    unit = "haplotype" if rows == "haplotypes" else "person"
    fixed = {"outcome_bound": 3.0, "delta": 1e-6, "unit": unit, "neighbours": "add-remove"}
    return PrivacyRequest(
        rows=rows, n_variants=n_variants, n_outcomes=n_outcomes, epsilon=epsilon, **fixed | terms
    )


def simulate(request, frequency, n_rows, *, repeat):
    """Draw rows of independent variants and their outcomes, as alleles and not by moments."""
    stream = generator(1, "planning", repeat)
    n_alleles = 1 if request.rows == "haplotypes" else 2
    X = stream.binomial(n_alleles, frequency, (n_rows, len(frequency))) - n_alleles / 2
    mean, variance = column_moments(frequency, rows=request.rows)
    effects = stream.standard_normal((N_SIMULATED, len(frequency)))
    effects *= np.sqrt(HERITABILITY / variance.sum())
    residual = stream.standard_normal((N_SIMULATED, n_rows)) * np.sqrt(1 - HERITABILITY)
    return X, effects, np.clip(effects @ (X - mean).T + residual, -3, 3)


def simulated_fit(request, frequency, n_rows, *, repeat):
    """Run the mechanism and the fit; return squared weights, squared noise of weights, and both R^2."""
    X, effects, Y = simulate(request, frequency, n_rows, repeat=repeat)
    X1 = np.hstack([X, np.full((n_rows, 1), 0.5)])
    gram = np.rint(X1.T @ X1 / GRAM_STEP).astype(np.int64)
    cross = np.rint(Y @ X1 / CROSS_STEP).astype(np.int64)
    noise = BenchmarkNoise(1, "test", repeat)
    exact = NoisyStatistics(gram * GRAM_STEP, cross[:, :-1] * CROSS_STEP, n_rows, ())
    fits = [
        fit_reusecov(statistics, penalty=PENALTY)
        for statistics in (private_statistics(gram, cross, n_rows, request=request, noise=noise), exact)
    ]
    mean, variance = column_moments(frequency, rows=request.rows)
    # Of all new people, whose moments are known.
    accuracies = [
        HERITABILITY - (fit.weights - effects) ** 2 @ variance - (fit.weights @ (fit.means - mean)) ** 2
        for fit in fits
    ]
    noisy, plain = (fit.weights for fit in fits)
    return np.array([*map(np.mean, (plain**2, (noisy - plain) ** 2, *accuracies))])


@pytest.mark.parametrize(
    ("n_rows", "terms"),
    [
        pytest.param(1500, {"epsilon": 50.0}, id="little noise"),
        pytest.param(1500, {"epsilon": 0.7, "n_outcomes": 1}, id="noise above all eigenvalues"),
        pytest.param(1500, {"epsilon": 1.5, "n_outcomes": 1, "gram_share": 0.02}, id="noisy means"),
        pytest.param(150, {"epsilon": 50.0}, id="few rows"),
        pytest.param(1500, {"epsilon": 4.0, "rows": "people"}, id="people"),
        pytest.param(1500, {"epsilon": 4.0, "neighbours": "replace-one"}, id="public count"),
        pytest.param(1500, {"epsilon": 4.0, "unit": "person", "gram_share": 0.9}, id="person of two rows"),
    ],
)
def test_expected_fit__agrees_with_simulation(n_rows, terms):
    request, frequency = request_of(**terms), neutral_frequencies(30, rarest=0.05)
    expected = expected_fit(request, n_rows=n_rows, frequency=frequency, **FIT)
    runs = [simulated_fit(request, frequency, n_rows, repeat=repeat) for repeat in range(20)]
    weight_square, noise_square, r2, r2_without_noise = np.mean(runs, axis=0)
    assert expected.weight_sd == pytest.approx(np.sqrt(weight_square), rel=0.03)
    assert expected.noise_sd == pytest.approx(np.sqrt(noise_square), rel=0.04)
    assert expected.r2 == pytest.approx(r2, abs=0.02)
    assert expected.r2_without_noise == pytest.approx(r2_without_noise, abs=0.01)


def first_order_noise(request, n, frequency):
    """The noise sd from X'X and from X'Y by docs/plan.md, first order, for haplotypes."""
    m, s = column_moments(frequency, rows=request.rows)
    outer, identity = np.outer(m, m), np.eye(len(s))
    inverse = np.diag(1 / (s + PENALTY))
    C = np.diag(HERITABILITY / s.sum() * s**2) + (1 - HERITABILITY) / n * (np.diag(s) + outer)
    W = inverse @ C @ inverse
    events = private_statistics(
        np.zeros((len(s) + 1,) * 2, dtype=np.int64),
        np.zeros((request.n_outcomes, len(s) + 1), dtype=np.int64),
        n,
        request=request,
        noise=BenchmarkNoise(0),
    ).events
    _, gram, cross = (event.sigma / n for event in events)
    straight = np.trace(W) * identity + W - 2 * np.diag(np.diag(W))
    centring = outer * np.trace(W) + (m @ W @ m) * identity + outer @ W + W @ outer
    from_gram = gram**2 * np.trace(inverse @ (straight + 4 * centring) @ inverse)
    from_cross = cross**2 * np.trace(inverse @ inverse)
    return np.sqrt(np.array([from_gram, from_cross]) / len(s))


def test_expected_fit__equals_first_order_where_noise_is_little():
    request, frequency = request_of(epsilon=20.0), neutral_frequencies(30, rarest=0.05)
    expected = expected_fit(request, n_rows=50_000, frequency=frequency, **FIT)
    from_gram, from_cross = first_order_noise(request, 50_000, frequency)
    assert expected.noise_sd_gram == pytest.approx(from_gram, rel=0.1)
    assert expected.noise_sd_cross == pytest.approx(from_cross, rel=0.01)


def test_expected_fit__first_order_fails_where_noise_exceeds_eigenvalues():
    """Why draws are needed: clipped eigenvalues keep the real fit from what first order fears."""
    request, frequency = request_of(epsilon=0.3), neutral_frequencies(30, rarest=0.05)
    expected = expected_fit(request, n_rows=1000, frequency=frequency, **FIT)
    assert first_order_noise(request, 1000, frequency)[0] > 3 * expected.noise_sd_gram


def test_expected_fit__without_noise_is_least_squares():
    """R^2 = h2 - (1 - h2) d/(n - d - 2) of least squares on n normal rows of known mean, about."""
    request, frequency = request_of(60, epsilon=1e4), np.full(60, 0.5)
    expected = expected_fit(request, n_rows=300, frequency=frequency, penalty=0.0, heritability=0.5)
    assert expected.r2_without_noise == pytest.approx(0.5 - 0.5 * 60 / 238, abs=0.02)
    assert expected.r2 == pytest.approx(expected.r2_without_noise, abs=0.01)


def test_expected_fit__heavy_penalty_predicts_the_mean():
    request = request_of(epsilon=1e4)
    expected = expected_fit(
        request, n_rows=1000, frequency=np.full(30, 0.3), penalty=1e9, heritability=HERITABILITY
    )
    assert expected.r2 == pytest.approx(0, abs=1e-6)
    assert expected.weight_sd == pytest.approx(0, abs=1e-6)


def test_expected_fit__more_budget_or_people_help():
    frequency = neutral_frequencies(30, rarest=0.01)

    def r2(n_rows=3000, **terms):
        return expected_fit(request_of(**terms), n_rows=n_rows, frequency=frequency, **FIT).r2

    assert r2(epsilon=1.0) < r2(epsilon=3.0) < r2(epsilon=10.0)
    assert r2(n_rows=1000) < r2() < r2(n_rows=20_000)
    assert r2(n_outcomes=20) < r2(n_outcomes=1)


def test_expected_fit__joint_outcomes_share_the_noise_of_the_cross_product():
    frequency = neutral_frequencies(30, rarest=0.01)
    one, nine = (
        expected_fit(request_of(n_outcomes=count), n_rows=3000, frequency=frequency, **FIT)
        for count in (1, 9)
    )
    assert nine.noise_sd_cross == pytest.approx(3 * one.noise_sd_cross)
    assert nine.noise_sd_gram == one.noise_sd_gram
    assert nine.noise_sd == pytest.approx(np.hypot(nine.noise_sd_gram, nine.noise_sd_cross))


@pytest.mark.parametrize("n_rows", [1, 2, 20])
def test_expected_fit__fewer_rows_than_variants(n_rows):
    expected = expected_fit(
        request_of(), n_rows=n_rows, frequency=neutral_frequencies(30, rarest=0.01), **FIT
    )
    assert isinstance(expected, ExpectedFit)
    assert np.isfinite(expected.noise_sd)
    assert expected.r2 <= HERITABILITY


def test_expected_fit__monomorphic_site_is_no_error():
    frequency = np.append(neutral_frequencies(28, rarest=0.01), [0.0, 1.0])
    assert np.isfinite(expected_fit(request_of(), n_rows=500, frequency=frequency, **FIT).r2)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"frequency": np.full(29, 0.5)}, "`frequency` must be 30 numbers from 0 to 1, got 29"),
        ({"frequency": np.full(30, 1.5)}, "got 30 from 1.5 to 1.5"),
        ({"n_rows": 0}, "`n_rows` must be at least 1, got 0"),
        ({"heritability": 1.1}, "`heritability` must be from 0 to 1, got 1.1"),
    ],
)
def test_expected_fit__raise_on_misuse(changed, message):
    asked = {"n_rows": 100, "frequency": np.full(30, 0.5), **FIT} | changed
    with pytest.raises(UsageError, match=message):
        expected_fit(request_of(), **asked)


def test_expected_noise_sd__is_that_of_the_fit_in_few_digits():
    frequency = neutral_frequencies(30, rarest=0.01)
    stated = expected_noise_sd(request_of(), n_rows=3000, frequency=frequency, penalty=PENALTY)
    expected = expected_fit(request_of(), n_rows=3000, frequency=frequency, **FIT)
    assert stated == float(f"{stated:.3g}")
    assert stated == pytest.approx(expected.noise_sd, rel=0.006)


def test_neutral_frequencies__have_density_one_over_p():
    frequency = neutral_frequencies(2000, rarest=0.02)
    assert np.all((frequency > 0.02) & (frequency < 0.98))
    assert np.all(np.diff(frequency) > 0)
    share = np.mean(frequency < 0.1)
    assert share == pytest.approx(np.log(0.1 / 0.02) / np.log(0.98 / 0.02), abs=1e-3)
