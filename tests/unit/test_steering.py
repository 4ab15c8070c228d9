"""Steered rows: gains by the rule, rows clipped each by itself, and their sum against brute force."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack
from dpgrs.linalg.clipped_statistics import LARGEST_CLIPPED_ROWS, frequency_rows, half_coded
from dpgrs.linalg.coding import CLIPPED_CROSS_STEP, GENOTYPE_STEP
from dpgrs.linalg.denoising import NoisySpectrum
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.steering import (
    HERITABILITY,
    LARGEST_STRETCH,
    MATRIX_STEP,
    SteerableRows,
    Steering,
    n_alleles,
    steer,
    steered_rows,
)
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.steered import steered_request
from dpgrs.privacy.sensitivity import cross_sensitivity, largest_row_norm
from refused import refused
from row_enumeration import RELATIONS, UNIT_OF_A_ROW, all_rows, largest_distance

N = 100


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def spectrum_of(rng, first, *, chance=0.0):
    first = np.sort(np.array(first, dtype=float))
    U = np.linalg.qr(rng.standard_normal((len(first), len(first))))[0]
    return NoisySpectrum(first, U, first, first**2 + chance * first, first.sum())


def explained(spectrum, n, squares, *, noise_sd):
    """Return the squares of an outcome that BLUP explains, with q_k = t_k^2 w_k of each direction."""
    a, b, t2 = spectrum.first, spectrum.second, HERITABILITY * n / spectrum.trace
    noise = noise_sd**2 * a / n / np.maximum(squares, 1e-300)
    return (t2**2 * a**3 / (t2 * b + (1 - HERITABILITY) * a + noise)).sum()


def squares_of(steering, spectrum, n):
    squares = np.zeros(len(spectrum.first))
    squares[steering.places] = steering.gains**2 * spectrum.first[steering.places] / n
    return squares


@pytest.mark.parametrize("noise_sd", [0.0, 3.0, 30.0, 300.0])
def test_steer__no_other_gains_explain_more(rng, noise_sd):
    spectrum, row_norm = spectrum_of(rng, [1, 2, 5, 20, 80], chance=4.0), 1.3
    found = squares_of(
        steer(spectrum, N, row_norm=row_norm, noise_sd=noise_sd, rows="haplotypes"), spectrum, N
    )
    assert row_norm**2 * (1 - 1e-3) <= found.sum() <= row_norm**2
    best = explained(spectrum, N, found, noise_sd=noise_sd)
    # By shares of the whole, which leave the sum as it is.
    start = np.full(5, 1.0)

    def loss(logits):
        shares = np.exp(logits - logits.max())
        return -explained(spectrum, N, row_norm**2 * shares / shares.sum(), noise_sd=noise_sd)

    other = minimize(loss, start, method="Nelder-Mead", options={"maxiter": 4000, "maxfev": 4000})
    assert best >= -other.fun * (1 - 1e-3)
    even = explained(spectrum, N, np.full(5, row_norm**2 / 5), noise_sd=noise_sd)
    plain = explained(spectrum, N, row_norm**2 * spectrum.first / spectrum.trace, noise_sd=noise_sd)
    assert best >= max(even, plain) * (1 - 1e-3)


def test_steer__much_noise_leaves_the_longest_direction_alone(rng):
    spectrum = spectrum_of(rng, [1, 2, 5, 20, 80])
    found = [
        len(steer(spectrum, N, row_norm=1.0, noise_sd=sd, rows="people").places) for sd in (0.1, 5, 1000)
    ]
    assert found[0] == 5 > found[1] > found[2] == 1
    assert steer(spectrum, N, row_norm=1.0, noise_sd=1000, rows="people").places.tolist() == [4]


def test_steer__directions_are_the_eigenvectors_and_their_gains_short_numbers(rng):
    spectrum = spectrum_of(rng, [3, 4, 5, 6])
    steering = steer(spectrum, N, row_norm=1.0, noise_sd=2.0, rows="haplotypes", centre=np.full(4, 0.1))
    cosines = (steering.directions * spectrum.vectors[:, steering.places].T).sum(axis=1)
    np.testing.assert_allclose(np.abs(cosines), 1, atol=1e-6)
    assert (steering.matrix % MATRIX_STEP == 0).all()
    assert (steering.centre % GENOTYPE_STEP == 0).all()
    # A last digit of the spectrum changes nothing.
    near = NoisySpectrum(
        *[value * (1 + 1e-15) for value in (spectrum.eigenvalues,)],
        spectrum.vectors,
        spectrum.first * (1 + 1e-15),
        spectrum.second * (1 - 1e-15),
        spectrum.trace,
    )
    again = steer(near, N, row_norm=1.0, noise_sd=2.0, rows="haplotypes", centre=np.full(4, 0.1))
    np.testing.assert_array_equal(again.matrix, steering.matrix)


@pytest.mark.parametrize("first", [[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]])
def test_steer__nothing_seen_of_the_genotypes_is_no_direction(first):
    """The trace says so, whatever single eigenvalues are."""
    first = np.array(first)
    nothing = NoisySpectrum(first, np.eye(3), first, first**2, 0.0)
    steering = steer(nothing, N, row_norm=1.0, noise_sd=1.0, rows="people")
    assert steering.matrix.shape == (0, 3)
    np.testing.assert_array_equal(steering.centre, np.zeros(3))
    assert steered_rows(np.ones((2, 3), dtype=np.int16), steering, row_norm=1.0).shape == (2, 0)


def test_steer__has_no_direction_along_which_nothing_is_seen(rng):
    steering = steer(spectrum_of(rng, [0, 1, 4]), N, row_norm=1.0, noise_sd=0.1, rows="people")
    assert steering.places.tolist() == [2, 1]


def test_steer__keeps_gains_and_centres_within_public_bounds(rng):
    """So that sums of products are exact and squares do not overflow, whatever was drawn."""
    spectrum = NoisySpectrum(np.r_[1e-12, 1.0], np.eye(2), np.r_[1e-12, 1.0], np.r_[0.0, 1.0], 1.0)
    steering = steer(spectrum, 1e9, row_norm=1.0, noise_sd=1e-9, rows="people", centre=np.array([1e6, -9.0]))
    largest = LARGEST_STRETCH / (2 * np.sqrt(2))
    assert (steering.gains <= largest * (1 + 1e-6)).all()
    assert steering.gains.max() == pytest.approx(largest, rel=1e-3)
    np.testing.assert_array_equal(steering.centre, [2, -2])


def random_steering(rng, d, rows, *, scale=1.0):
    """Return any directions with any gains that are allowed, and a centre."""
    U = np.linalg.qr(rng.standard_normal((d, d)))[0]
    gains = np.minimum(scale * np.exp(rng.normal(0, 2, d)), LARGEST_STRETCH / (n_alleles(rows) * np.sqrt(d)))
    centre = np.rint(rng.uniform(-0.3, 0.3, d) / GENOTYPE_STEP) * GENOTYPE_STEP
    matrix = np.rint(gains[:, np.newaxis] * U / MATRIX_STEP) * MATRIX_STEP
    return Steering(matrix, np.arange(d), centre)


@given(seed=st.integers(0, 2**32 - 1), row_norm=st.floats(0.1, 40.0), scale=st.sampled_from([0.01, 1.0, 1e6]))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_steered_rows__are_no_longer_than_their_norm_and_hang_on_no_other_row(seed, row_norm, scale):
    rng = np.random.default_rng(seed)
    steering = random_steering(rng, 6, "people", scale=scale)
    X = rng.integers(-(2**13), 2**13 + 1, (30, 6)).astype(np.int16)
    Z = steered_rows(X, steering, row_norm=row_norm)
    limit = (Fraction(row_norm) / Fraction(GENOTYPE_STEP)) ** 2
    assert all(sum(int(entry) ** 2 for entry in row) <= limit for row in Z)
    for number in (0, 17):
        np.testing.assert_array_equal(steered_rows(X[[number]], steering, row_norm=row_norm)[0], Z[number])
    # By exact fractions, where it was not clipped.
    exact = [
        [
            sum(
                Fraction(t) * (Fraction(int(x)) - Fraction(m) / Fraction(GENOTYPE_STEP))
                for t, x, m in zip(row, X[0], steering.centre, strict=True)
            )
            for row in steering.matrix
        ]
    ][0]
    if sum(round(one) ** 2 for one in exact) <= limit:
        assert Z[0].tolist() == [round(one) for one in exact]


def test_steered_rows__are_turned_about_their_centre():
    matrix, centre = np.array([[1.0, 0.5, 0.0], [0.0, -2.0, 1.0]]), np.array([0.25, 0.5, -0.125])
    X = np.array([[1, 0, -1], [0, 1, 1], [-1, -1, 0]])
    units, steering = (X / GENOTYPE_STEP).astype(np.int16), Steering(matrix, np.arange(2), centre)
    Z = steered_rows(units, steering, row_norm=100.0)
    np.testing.assert_array_equal(Z * GENOTYPE_STEP, (X - centre) @ matrix.T)


def rows_of(row, outcomes, rows, *, frequency, row_norm, outcome_norm):
    n_haplotypes = 1 if rows == "haplotypes" else 2
    bits = pack(np.reshape(row, (-1, n_haplotypes)))
    Y = grid_outcomes(np.reshape(outcomes, (-1, 1)).astype(float), bound=3.0, row_norm=outcome_norm)
    return SteerableRows(bits, Y, n_haplotypes, rows, np.ones(1, dtype=bool), row_norm, 3.0, frequency)


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize(
    ("frequency", "clip"),
    [(None, None), ([0.0, 0.0, 0.0], 100.0), ([0.1, 0.7, 0.4], 100.0), ([0.1, 0.7, 0.4], 0.7)],
)
def test_steered_sensitivity__is_not_exceeded_and_attained(rng, rows, frequency, neighbours, clip):
    d, outcome_norm = 3, 3.5
    terms = {"rows": rows, "neighbours": neighbours, "unit": UNIT_OF_A_ROW[rows], "epsilon": 1, "delta": 1e-6}
    if clip is not None:
        terms |= {"coding": "frequency", "row_norm": clip, "outcome_norm": outcome_norm}
    request = steered_request(PrivacyRequest(n_variants=d, n_outcomes=2, outcome_bound=3.0, **terms))
    claim = request.cross_claim
    frequency = None if frequency is None else np.array(frequency)
    clips = {"row_norm": request.row_bound, "outcome_norm": request.outcome_norm}
    everyone = list(itertools.product(all_rows(d, rows), [(9, 9), (-9, -9), (9, -9), (np.nan, 9)]))
    attained = 0.0
    for scale in (0.01, 1.0, 1e5):
        steering = random_steering(rng, d, rows, scale=scale)
        S = [
            rows_of(*one, rows, frequency=frequency, **clips).sums(steering)[:, :-1].ravel()
            for one in everyone
        ]
        worst = largest_distance(np.array(S) * CLIPPED_CROSS_STEP, neighbours)
        assert worst <= claim.value
        attained = max(attained, worst)
    assert attained == pytest.approx(claim.value, rel=2e-3)
    assert claim.proof == "docs/proofs/steered.md"


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize("is_clipped", [True, False])
def test_sums__are_those_of_turned_rows_in_blocks_of_people(rng, rows, is_clipped):
    n_haplotypes = 9000
    bits = pack(rng.random((3, n_haplotypes)) < np.array([[0.2], [0.5], [0.9]]))
    n_rows = n_haplotypes // n_alleles(rows)
    frequency, norm = (np.array([0.3, 0.5, 0.8]), 0.8) if is_clipped else (None, 5.0)
    Y, is_selected = rng.integers(-(2**17), 2**17, (2, n_rows)), rng.random(n_rows) < 0.7
    steering = random_steering(rng, 3, rows)
    steering = Steering(steering.matrix[[0, 2]], np.array([0, 2]), steering.centre)
    whole = SteerableRows(bits, Y, n_haplotypes, rows, is_selected, norm, 3.0, frequency)
    if is_clipped:
        options = {"row_norm": norm, "n_haplotypes": n_haplotypes, "rows": rows, "is_selected": is_selected}
        X = frequency_rows(bits, frequency, **options)
    else:
        X = half_coded(bits, n_haplotypes=n_haplotypes, rows=rows)[:, is_selected].T
    S = Y[:, is_selected] @ steered_rows(X, steering, row_norm=norm)
    np.testing.assert_array_equal(whole.sums(steering), np.column_stack([S, np.zeros((2, 2), dtype=int)]))


def steerable(rows="haplotypes", *, is_selected=(True,) * 4, row_norm=1.0, bound=3.0):
    n_haplotypes = 4 * n_alleles(rows)
    bits, Y = pack(np.ones((3, n_haplotypes))), np.ones((1, 4), dtype=np.int64)
    return SteerableRows(bits, Y, n_haplotypes, rows, np.array(is_selected), row_norm, bound)


def test_steerable_rows__refuse_what_sums_are_not_exact_for():
    """Blocks of 2^12 rows are summed below 2^53, in units of 2^-28; that many rows have a proof."""
    steerable(row_norm=64.0, bound=128.0)
    steerable(is_selected=np.ones(LARGEST_CLIPPED_ROWS, dtype=bool))
    with refused("sums-not-exact", "`outcomes.bound`", "128", error=UsageError):
        steerable(row_norm=np.nextafter(64, 65), bound=128.0)
    with refused("sums-not-exact", LARGEST_CLIPPED_ROWS, error=UsageError):
        steerable(is_selected=np.ones(LARGEST_CLIPPED_ROWS + 1, dtype=bool))


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize("row_norm", [None, 0.7, 1e9])
def test_largest_row_norm__is_not_above_that_of_the_claim(rows, row_norm):
    for d in (1, 2, 3, 7, 400):
        found = largest_row_norm(d, rows=rows, row_norm=row_norm)
        known = {"rows": rows, "neighbours": "add-remove", "unit": UNIT_OF_A_ROW[rows]}
        claim = cross_sensitivity(d, 1, outcome_bound=1.0, row_norm=row_norm, **known)
        assert found <= claim.value <= found * (1 + 1e-15)
        entry = n_alleles(rows)
        square = Fraction(d) * entry**2 / (4 if row_norm is None else 1)
        square = square if row_norm is None else min(square, Fraction(row_norm) ** 2)
        assert Fraction(found) ** 2 <= square


def test_steer__is_pinned():
    """What is drawn hangs on each constant: a change of one must raise `MECHANISM_VERSION`."""
    first, second = np.array([1.0, 4, 16]), np.array([2.0, 20, 300])
    spectrum = NoisySpectrum(first, np.eye(3), first, second, 21.0)
    terms = {"row_norm": 1.5, "noise_sd": 2.0, "rows": "haplotypes"}
    steering = steer(spectrum, 10, **terms, centre=np.array([0.1, 0, -0.3]))
    assert steering.places.tolist() == [2, 1, 0]
    assert (steering.matrix.sum(axis=1)).tolist() == [0.92529296875, 1.43896484375, 0.716552734375]
    assert (steering.centre * 2**12).tolist() == [410, 0, -1229]


def test_steer__directions_have_signs_of_their_own(rng):
    spectrum = spectrum_of(rng, [3, 4, 5, 6])
    turned, terms = replace(spectrum, vectors=-spectrum.vectors), {"row_norm": 1.0, "noise_sd": 2.0}
    one, other = (steer(each, N, **terms, rows="haplotypes") for each in (spectrum, turned))
    np.testing.assert_array_equal(one.matrix, other.matrix)


def test_steer__has_no_minus_zero_whose_bytes_are_others():
    """Its sign hangs on last digits, and the ledger knows an output by its bytes."""
    vectors = np.array([[1, -1e-17, 1e-17], [-1e-17, 1, 1e-17], [1e-17, -1e-17, 1]])
    first = np.array([1.0, 4, 16])
    spectrum = NoisySpectrum(first, vectors, first, first**2, 21.0)
    terms = {"row_norm": 1.5, "noise_sd": 0.1, "rows": "haplotypes"}
    steering = steer(spectrum, 10, **terms, centre=np.array([-1e-17, 1e-17, -1e-9]))
    assert steering.matrix.shape == (3, 3)
    assert (steering.matrix == 0).sum() == 6
    assert not np.signbit(steering.matrix[steering.matrix == 0]).any()
    assert not np.signbit(steering.centre).any()


@pytest.mark.parametrize("noise_sd", [1e8, 1e12, 1e100])
def test_steer__behind_any_noise_there_is_one_direction(rng, noise_sd):
    steering = steer(spectrum_of(rng, [1, 2, 9]), N, row_norm=0.5, noise_sd=noise_sd, rows="people")
    assert steering.places.tolist() == [2]
    assert steering.gains**2 * 9 / N == pytest.approx([0.25], rel=1e-3)


@pytest.mark.parametrize(
    "wrong", [{"matrix": 2.0**40}, {"matrix": np.nan}, {"centre": np.nan}, {"centre": 3.0}]
)
def test_sums__raise_on_a_steering_beyond_its_bounds(rng, wrong):
    steering = random_steering(rng, 3, "haplotypes")
    for name, value in wrong.items():
        array = getattr(steering, name).copy()
        array.flat[0] = value
        steering = replace(steering, **{name: array})
    with refused("steering-out-of-bounds", error=UsageError):
        steerable().sums(steering)


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_sums__take_a_steering_up_to_its_bounds(rows):
    whole, width = steerable(rows), n_alleles(rows)
    largest = LARGEST_STRETCH / (width * np.sqrt(3))

    def sums(gain, centre):
        return whole.sums(Steering(gain * np.eye(3), np.arange(3), np.full(3, centre)))

    for centre in (width, -width):
        sums(largest, centre)
    # Roundings make a row at most sqrt(3)/2 steps longer, and as much again is let pass.
    for beyond in [(largest + 2.5 * MATRIX_STEP, 0.0), (1.0, width + 2.0**-12), (1.0, -width - 2.0**-12)]:
        with refused("steering-out-of-bounds", error=UsageError):
            sums(*beyond)


def test_sums__without_a_direction_are_zero():
    found = steerable().sums(Steering(np.empty((0, 3)), np.empty(0, dtype=np.int64), np.zeros(3)))
    np.testing.assert_array_equal(found, np.zeros((1, 4)))
    assert found.dtype == np.int64
