"""Statistics of steered rows: what is drawn by them, and BLUP from what was drawn."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack
from dpgrs.linalg.clipped_statistics import frequency_rows
from dpgrs.linalg.coding import OUTCOME_STEP, column_moments
from dpgrs.linalg.denoising import denoised_means, noisy_spectrum
from dpgrs.linalg.ld_estimation import public_ld
from dpgrs.linalg.norms import row_norm_of
from dpgrs.linalg.steering import SteerableRows, Steering, steer
from dpgrs.methods.blup import fit_blup
from dpgrs.methods.blup_ld import blup_ld, fit_blup_ld, ld_request
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.reusecov import private_statistics
from dpgrs.methods.steered import private_steered_statistics, steered_request
from dpgrs.privacy.audit.parts import Silence
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal
from refused import refused
from steered_data import DIGEST, FREQUENCY, D, N, exact_gram, ld_of, linked_bits, request_of, steerable


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def bits(rng):
    return linked_bits(rng)


@pytest.mark.parametrize("is_clipped", [True, False])
def test_private_steered_statistics__draws_as_claimed_along_what_was_released(rng, bits, is_clipped):
    request = steered_request(request_of(is_clipped=is_clipped, counts_outcomes=True))
    rows, noise = steerable(rng, bits, request, is_clipped=is_clipped), Silence()
    options = {"request": request, "digest": DIGEST, "observed": np.array([N, N - 9])}
    drawn = private_steered_statistics(
        exact_gram(bits, is_clipped=is_clipped), rows, N, noise=noise, **options
    )
    assert [one.statistic for one in noise.events] == ["count", "gram", "outcome counts", "cross product"]
    assert [one.mu for one in noise.events] == [
        request.budget[name] for name in ("count", "gram", "observed", "cross")
    ]
    assert drawn.events == tuple(noise.events)
    assert noise.events[-1].sensitivity.proof == "docs/proofs/steered.md"
    assert request.row_bound == pytest.approx(1.0 if is_clipped else np.sqrt(D) / 2)
    assert noise.events[-1].entries == 2 * D  # however many directions there are
    n_used = len(drawn.steering.places)
    np.testing.assert_array_equal(drawn.cross, rows.sums(drawn.steering)[:, :-1] * request.cross_step)
    assert not drawn.cross[:, n_used:].any()
    np.testing.assert_array_equal(drawn.observed, [N, N - 9])
    assert (drawn.n, drawn.gram.shape) == (N, (D + 1, D + 1))
    # With other noise it is another.
    first, second = (
        private_steered_statistics(
            exact_gram(bits, is_clipped=is_clipped), rows, N, noise=BenchmarkNoise(seed), **options
        )
        for seed in (1, 2)
    )
    assert not np.array_equal(first.steering.matrix, second.steering.matrix)


def test_private_steered_statistics__on_public_genotypes_draws_no_gram_matrix(rng, bits):
    request = ld_request(request_of())
    rows, noise = steerable(rng, bits, request), Silence()
    options = {"request": request, "digest": DIGEST, "ld": ld_of(bits)}
    drawn = private_steered_statistics(None, rows, N, noise=noise, **options)
    assert [one.statistic for one in noise.events] == ["count", "cross product"]
    assert drawn.gram is None
    np.testing.assert_array_equal(drawn.steering.centre, np.zeros(D))
    # Clipped outcomes count with more noise, so that fewer directions are worth it.
    noisier = private_steered_statistics(None, rows, N, noise=Silence(), slopes=np.full(2, 0.002), **options)
    assert len(noisier.steering.places) < len(drawn.steering.places)
    np.testing.assert_array_equal(noisier.slopes, np.full(2, 0.002))


def test_private_steered_statistics__outcomes_with_budgets_of_their_own_do_not_steer_each_other(rng, bits):
    request = ld_request(request_of(n_outcomes=1))
    options = {"request": request, "digest": DIGEST, "ld": ld_of(bits)}
    rows = steerable(rng, bits, request)
    plain, other = (
        private_steered_statistics(None, rows, N, noise=Silence(), slopes=slopes, **options)
        for slopes in (None, np.array([1.0, 0.002]))
    )
    np.testing.assert_array_equal(plain.steering.matrix, other.steering.matrix)


@pytest.mark.parametrize("n_outcomes", [1, 2])
@pytest.mark.parametrize("changed", ["genotypes", "outcome", "known", "rows"])
def test_private_steered_statistics__marks_all_that_x_y_is_made_of(rng, bits, n_outcomes, changed):
    """By the outcomes of each budget alone (docs/proofs/steered.md); without names they are numbered."""
    request = ld_request(request_of(n_outcomes=n_outcomes, counts_outcomes=True))
    whole, ld = steerable(rng, bits, request), ld_of(bits)

    def marks(*, digest=DIGEST, Y=whole.Y, known=N - 9, n_rows=N):
        options = {"request": request, "noise": Rehearsal(), "digest": digest, "ld": ld}
        options["observed"] = np.array([N, known])
        private_steered_statistics(None, replace(whole, Y=Y), n_rows, **options)
        draws = options["noise"].draws.items()
        return {part[1:]: drawn[-1][1] for part, drawn in draws if part[0] == "outcomes"}

    other = whole.Y.copy()
    other[1, 5] += 1
    changes = {"genotypes": {"digest": "1" * 64}, "outcome": {"Y": other}, "known": {"known": N - 8}}
    before, after = marks(), marks(**changes.get(changed, {"n_rows": N - 1}))
    budgets = [("0", "1")] if n_outcomes == 2 else [("0",), ("1",)]
    assert [*before] == [*after] == budgets
    moved = [names for names in budgets if before[names] != after[names]]
    assert moved == (budgets if changed in ("genotypes", "rows") else budgets[-1:])


@pytest.mark.parametrize("wrong", ["gram", "observed"])
def test_private_steered_statistics__raise_on_other_shapes_before_any_draw(rng, bits, wrong):
    request, noise = steered_request(request_of(counts_outcomes=True)), Silence()
    gram, observed = exact_gram(bits), np.array([N, N])
    if wrong == "gram":
        gram = np.pad(gram, (0, 1))
    else:
        observed = observed[:1]
    options = {"request": request, "noise": noise, "digest": DIGEST, "observed": observed}
    with pytest.raises(UsageError, match="must be"):
        private_steered_statistics(gram, steerable(rng, bits, request), N, **options)
    assert noise.events == []


@pytest.mark.parametrize("wrong", ["covariates", "outcomes"])
def test_private_steered_statistics__raise_on_other_shapes_without_a_number_of_rows(rng, bits, wrong):
    terms = {"n_covariates": 1, "covariate_bound": 3.0} if wrong == "covariates" else {}
    request = steered_request(request_of(**terms))
    gram, names = np.zeros((request.n_columns + 1,) * 2, dtype=np.int64), ["a", "b"]
    rows, noise = steerable(rng, bits, request), Silence()
    if wrong == "outcomes":
        rows = replace(rows, Y=rows.Y[:1])
    options = {"request": request, "noise": noise, "digest": DIGEST, "outcome_names": names}
    with refused("steered-rows-shape", error=UsageError) as caught:
        private_steered_statistics(gram, rows, N, **options)
    assert str(N) not in str(caught.value)
    assert noise.events == []


def test_private_steered_statistics__is_steered_by_the_noisy_numbers(rng, bits):
    noise = BenchmarkNoise(6)
    request = steered_request(request_of())
    rows, gram_sd = steerable(rng, bits, request), request.noise_sd["gram"]
    drawn = private_steered_statistics(exact_gram(bits), rows, N, request=request, noise=noise, digest=DIGEST)
    assert drawn.n != N
    assert np.abs(drawn.gram - exact_gram(bits) * request.gram_step)[:-1].min() > 0
    centre = denoised_means(drawn.gram, drawn.n, gram_sd=gram_sd)
    G_c = drawn.gram[:-1, :-1] - drawn.n * np.outer(centre, centre)
    terms = {"row_norm": request.row_bound, "noise_sd": request.noise_sd["cross"], "rows": "haplotypes"}
    wanted = steer(noisy_spectrum(G_c, gram_sd=gram_sd), drawn.n, **terms, centre=centre)
    np.testing.assert_array_equal(drawn.steering.matrix, wanted.matrix)
    np.testing.assert_array_equal(drawn.steering.centre, wanted.centre)
    # By a public Gram matrix, it is the noisy number of rows.
    request, ld = ld_request(request_of(epsilon=2)), ld_of(bits)
    options = {"request": request, "digest": DIGEST, "ld": ld, "slopes": np.array([0.5, 1.0])}
    drawn = private_steered_statistics(None, rows, N, noise=noise, **options)
    assert abs(drawn.n - N) > 5
    terms["noise_sd"] = request.noise_sd["cross"] * np.sqrt((4 + 1) / 2)
    wanted = steer(ld.spectrum(drawn.n), drawn.n, **terms)
    np.testing.assert_array_equal(drawn.steering.matrix, wanted.matrix)
    assert not np.array_equal(wanted.matrix, steer(ld.spectrum(N), N, **terms).matrix)


@pytest.mark.parametrize("has_gram", [True, False])
def test_private_steered_statistics__steering_follows_from_what_was_released_or_public(rng, bits, has_gram):
    """Whatever the rows of the cohort: these are empty, and the noise is the same."""
    request = (steered_request if has_gram else ld_request)(request_of())
    whole, ld = steerable(rng, bits, request), None if has_gram else ld_of(bits)
    options = {"request": request, "digest": DIGEST, "ld": ld, "noise": BenchmarkNoise(5)}
    gram = exact_gram(bits) if has_gram else None
    nobody = replace(whole, Y=np.zeros_like(whole.Y), is_selected=np.zeros(N, dtype=bool))
    drawn, other = (private_steered_statistics(gram, rows, N, **options) for rows in (whole, nobody))
    for one, same in zip(asdict(drawn.steering).values(), asdict(other.steering).values(), strict=True):
        np.testing.assert_array_equal(one, same)
    assert not np.array_equal(drawn.cross, other.cross)


def test_fit_blup__of_steered_rows_is_the_plain_formula(rng):
    X = rng.standard_normal((N, D)) * np.geomspace(0.5, 2, D)
    G, h2, sd = X.T @ X, 0.4, 7.0
    _, U = np.linalg.eigh(G)
    places = np.array([5, 3, 4])
    M = np.array([3.0, 0.5, 1.5])[:, np.newaxis] * U[:, places].T
    # As another machine may give them.
    M[1] *= -1
    S = rng.standard_normal((2, 3)) * 40
    slopes, inflation = np.array([0.8, 0.8]), np.array([1.0, 1.0])
    steering = Steering(M, places, np.zeros(D))
    terms = {"gram_sd": 0.0, "heritability": h2, "slopes": slopes, "inflation": inflation}
    found = fit_blup(G, S, N, cross_sd=sd, steering=steering, **terms)
    t2, s2 = h2 * N / np.trace(G), 1 - h2
    covariance = M @ (t2 * G @ G + s2 * G) @ M.T + (sd / 0.8) ** 2 * np.eye(3)
    wanted = t2 * (S / 0.8) @ np.linalg.solve(covariance, M @ G)
    np.testing.assert_allclose(found.weights, wanted, rtol=1e-9)
    # What was not released is as uncertain as before.
    variance = t2 * np.eye(D) - t2**2 * G @ M.T @ np.linalg.solve(covariance, M @ G)
    np.testing.assert_allclose(found.standard_errors**2, np.tile(np.diag(variance), (2, 1)), rtol=1e-9)


@pytest.mark.parametrize(
    ("heritability", "terms", "has_errors"),
    [
        pytest.param(0.5, {}, True, id="given"),
        pytest.param(None, {}, False, id="h2 estimated"),
        pytest.param(0.5, {"row_norm": 1.0}, False, id="another norm"),
        pytest.param(0.5, {"epsilon": 1000}, False, id="little but the clip"),
        pytest.param(0.5, {"is_clipped": False}, False, id="no public frequencies"),
        pytest.param(0.5, {"n_outcomes": 1}, False, id="a budget for each outcome"),
    ],
)
def test_fits__give_standard_errors_where_these_are_calibrated(rng, bits, heritability, terms, has_errors):
    """With the cohort's Gram matrix and a stated heritability: docs/explanation/blup.md, public_ld.md."""
    ld, options = ld_of(bits), {"noise": BenchmarkNoise(2), "digest": DIGEST}
    fit_terms = FitTerms(0.0, heritability=heritability, ld={D: ld})
    is_clipped = terms.get("is_clipped", True)
    norm = {"row_norm": row_norm_of(FREQUENCY, rows="haplotypes", factor=1.0)} if is_clipped else {}
    request = steered_request(request_of(**{"epsilon": 0.5} | norm | terms))
    rows = steerable(rng, bits, request, is_clipped=is_clipped)
    origin = column_moments(FREQUENCY, rows="haplotypes")[0] if is_clipped else None

    def drawn(gram, request, **public):
        found = private_steered_statistics(gram, rows, N, request=request, **public, **options)
        return replace(found, origin=origin)

    noisy = drawn(exact_gram(bits, is_clipped=is_clipped), request)
    errors = fit_released("blup-steered", noisy, request=request, terms=fit_terms).standard_errors
    if has_errors:
        assert errors.shape == (2, D)
        assert (errors > 0).all()
    else:
        assert errors is None
    request = ld_request(request)
    assert blup_ld(drawn(None, request, ld=ld), request=request, terms=fit_terms).standard_errors is None


def test_fit__steered_rows_of_all_directions_alike_are_those_of_x_y(rng, bits):
    """With gains of 1 along all directions nothing is steered."""
    request = ld_request(request_of())
    ld = ld_of(bits)
    U = ld.spectrum(N).vectors
    V = rng.standard_normal((2, D)) * 30
    plain, _ = fit_blup_ld(ld, V, N, cross_sd=request.noise_sd["cross"])
    steering = Steering(U.T, np.arange(D), np.zeros(D))
    found, _ = fit_blup_ld(ld, V @ U, N, cross_sd=request.noise_sd["cross"], steering=steering)
    np.testing.assert_allclose(found.weights, plain.weights, rtol=1e-9)


def test_steered__predicts_better_than_x_y_where_noise_is_large(rng):
    """Of many outcomes at a small epsilon, on variants with much linkage disequilibrium."""
    d, n, n_outcomes = 12, 3000, 200
    alleles = rng.random((d, n)) < 0.4
    for variant in range(1, d):
        same = rng.random(n) < 0.85
        alleles[variant, same] = alleles[variant - 1, same]
    X = alleles.T - 0.4
    effects = rng.standard_normal((d, n_outcomes))
    genetic = X @ effects
    genetic /= genetic.std(axis=0)
    Y = np.sqrt(0.5) * genetic + np.sqrt(0.5) * rng.standard_normal((n, n_outcomes))
    norms = {"row_norm": 1.7, "outcome_norm": np.sqrt(n_outcomes)}
    terms = {"n_variants": d, "n_outcomes": n_outcomes, "epsilon": 2.0} | norms
    request = ld_request(request_of(**terms))
    bits, frequency, options = pack(alleles), np.full(d, 0.4), {"n_haplotypes": n, "rows": "haplotypes"}
    units = frequency_rows(bits, frequency, row_norm=1.7, **options)
    ld = public_ld(units * 2.0**-12, contig=np.full(d, "1"), position=np.arange(d), rows_per_person=2)
    gridded = np.trunc(Y.T / np.maximum(1, np.linalg.norm(Y, axis=1) / np.sqrt(n_outcomes)) / OUTCOME_STEP)
    everybody, norm = np.ones(n, dtype=bool), request.row_bound
    rows = SteerableRows(bits, gridded.astype(np.int64), n, "haplotypes", everybody, norm, 3.0, frequency)
    cross = np.column_stack([gridded.astype(np.int64) @ units, np.zeros(n_outcomes, dtype=np.int64)])
    errors = {}
    for is_steered in (False, True):
        if is_steered:
            drawn = private_steered_statistics(
                None, rows, n, request=request, noise=BenchmarkNoise(1), digest=DIGEST, ld=ld
            )
        else:
            drawn = private_statistics(None, cross, n, request=request, noise=BenchmarkNoise(1))
        known = {"cross_sd": request.noise_sd["cross"], "steering": drawn.steering}
        fit, _ = fit_blup_ld(ld, drawn.cross, drawn.n, **known)
        errors[is_steered] = ((X @ fit.weights.T - np.sqrt(0.5) * genetic) ** 2).mean()
    assert errors[True] < 0.95 * errors[False] < 0.95 * 0.5
