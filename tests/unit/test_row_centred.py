"""Rows less their own mean, as the PRIMO paper has them: statistics, claims and fits."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpgrs.genotypes.bits import pack
from dpgrs.io.replicates import load_labelled
from dpgrs.linalg.clipped_statistics import HALF
from dpgrs.linalg.coding import CLIPPED_CROSS_STEP, CLIPPED_GRAM_STEP, GENOTYPE_STEP, OUTCOME_STEP
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.row_centred import centred_rows, row_centred_statistics
from dpgrs.linalg.statistics import coded_rows
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import private_statistics
from dpgrs.preflight.checks import problems
from dpgrs.privacy.audit.parts import Silence
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.privacy.sensitivity import cross_sensitivity, gram_sensitivity
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.study.settings import resolve
from draws import draw_all
from random_cohorts import random_alleles
from row_enumeration import RELATIONS, UNIT_OF_A_ROW, all_rows
from step_settings import settings_for
from step_studies import N_VARIANTS, Study

D, N = 6, 400
ALLELES = random_alleles(D, N)
BITS, OPTIONS = pack(ALLELES), {"n_haplotypes": N, "rows": "haplotypes"}
Y = grid_outcomes(np.random.default_rng(4).standard_normal((3, N)), bound=3.0)
TERMS = {"rows": "haplotypes", "unit": "haplotype", "n_variants": D, "n_outcomes": 3, "outcome_bound": 3.0}
TERMS |= {
    "epsilon": 5.0,
    "delta": 1e-6,
    "accounting": "paper",
    "gram_share": 0.5,
    "neighbours": "replace-one",
}
UNIT = {"rows": "haplotypes", "unit": UNIT_OF_A_ROW["haplotypes"]}
REQUEST = PrivacyRequest(**TERMS, coding="row-centred")


def centred(row):
    """Return a row in `half` coding less its mean, as it is summed, in units of the grid."""
    return centred_rows(np.reshape(row, (-1, 1)).astype(np.int16) * HALF)[0].astype(np.int64)


def sums(is_selected=None):
    is_selected = np.ones(N, dtype=bool) if is_selected is None else is_selected
    return row_centred_statistics(BITS, Y, **OPTIONS, is_selected=is_selected)


def test_row_centred_statistics__are_sums_over_centred_rows():
    is_selected = np.arange(N) % 3 > 0
    G, V = sums(is_selected)
    X = coded_rows(BITS, **OPTIONS)[is_selected]
    X = X - X.mean(axis=1, keepdims=True)
    # A rounded entry is off by a step at most.
    off = 2 * GENOTYPE_STEP * len(X)
    np.testing.assert_allclose(G[:-1, :-1] * CLIPPED_GRAM_STEP, X.T @ X, atol=off)
    expected = Y[:, is_selected] * OUTCOME_STEP @ X
    np.testing.assert_allclose(V[:, :-1] * CLIPPED_CROSS_STEP, expected, atol=3 * off)
    assert not G[-1, :-1].any()
    assert not G[:-1, -1].any()
    assert G[-1, -1] * CLIPPED_GRAM_STEP == len(X) / 4


def test_row_centred_statistics__rows_add_up_one_by_one():
    parts = [sums(np.arange(N) == row) for row in range(0, N, 40)]
    together = sums(np.arange(N) % 40 == 0)
    for found, expected in zip(map(sum, zip(*parts, strict=True)), together, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("d", range(1, 8))
@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_centred_rows__are_not_longer_than_before(rows, d):
    largest = Fraction(d, 4) if rows == "haplotypes" else d
    for alleles in itertools.islice(all_rows(d, rows), 3**5):
        half = 2 * np.reshape(alleles, (d, -1)).sum(axis=1) - (1 if rows == "haplotypes" else 2)
        length = sum(int(entry) ** 2 for entry in centred(half))
        assert length * Fraction(GENOTYPE_STEP) ** 2 <= largest


def _signs(d):
    return [np.array(row) for row in itertools.product([-1, 1], repeat=d)]


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_gram_sensitivity__whole_bounds_all_pairs_of_centred_rows(d, neighbours):
    """By the entries of the upper triangle that are released, and by the matrix as a whole."""
    claim = gram_sensitivity(d, **UNIT, neighbours=neighbours, is_whole=True).value
    found = [np.outer(row, row) * CLIPPED_GRAM_STEP for row in map(centred, _signs(d))]
    if neighbours == "add-remove":
        differences = found
    else:
        differences = [one - other for one, other in itertools.combinations(found, 2)]
    largest = max(map(np.linalg.norm, differences))
    upper = max(np.linalg.norm(one[np.triu_indices(d)]) for one in differences)
    assert upper <= largest <= claim
    if d == 4:
        assert largest == pytest.approx(claim, rel=1e-12)


@pytest.mark.parametrize("protection", ["full", "feature", "label"])
@pytest.mark.parametrize("d", [1, 2, 4, 5])
def test_cross_sensitivity__holds_for_centred_rows(d, protection):
    terms = UNIT | {"neighbours": "replace-one", "outcome_bound": 3.0, "protection": protection}
    claim = cross_sensitivity(d, 1, **terms).value
    rows = [centred(row) * GENOTYPE_STEP for row in _signs(d)]
    outcomes = (-3.0, 3.0)
    pairs = itertools.product(rows, outcomes, rows, outcomes)
    moved = [
        np.linalg.norm(x * y - z * w)
        for x, y, z, w in pairs
        if protection == "full" or (protection == "feature" and y == w) or (protection == "label" and x is z)
    ]
    assert max(moved) <= claim
    if d in (2, 4):
        assert max(moved) == pytest.approx(claim, rel=1e-12)


def test_private_gram__has_noise_on_all_of_the_upper_triangle_and_no_intercept():
    G, V = sums()
    sd = REQUEST.noise_sd["gram"]
    assert sd == pytest.approx(math.sqrt(2) * D / 4 / REQUEST.budget["gram"])
    draws = [
        private_statistics(G, V, N, request=REQUEST, noise=BenchmarkNoise(seed, "row-centred")).gram
        for seed in range(200)
    ]
    noise = np.array(draws) - G * CLIPPED_GRAM_STEP
    assert not noise[:, -1].any()
    np.testing.assert_array_equal(noise, noise.transpose(0, 2, 1))
    # 4,200 normal numbers: the limit is more than five standard errors wide.
    upper = noise[:, *np.triu_indices(D)]
    assert upper.std() == pytest.approx(sd, rel=0.06)
    assert (upper.std(axis=0) > sd / 2).all()


@pytest.mark.parametrize("penalty", [0.05, 5.0])
def test_fit_released__is_the_papers_formula(penalty):
    """A plain solution of the noisy equations, with negative eigenvalues, that predicts from centred rows."""
    G, V = sums()
    request = replace(REQUEST, epsilon=0.2)
    noisy = private_statistics(G, V, N, request=request, noise=BenchmarkNoise(1, "row-centred"))
    fit = fit_released("reusecov-gauss", noisy, request=request, terms=FitTerms(penalty))
    matrix = noisy.gram[:-1, :-1] / N + penalty * np.eye(D)
    assert np.linalg.eigvalsh(noisy.gram[:-1, :-1])[0] < 0
    W = np.linalg.solve(matrix, noisy.cross.T / N)
    X = coded_rows(BITS, **OPTIONS)
    predicted = (X - X.mean(axis=1, keepdims=True)) @ W
    np.testing.assert_allclose(fit.predict(X), predicted.T, atol=1e-9)


def test_fit_released__joint_projection_of_centred_rows_keeps_what_can_be():
    """Without noise nothing lies outside of the ball of all columns."""
    request = PrivacyRequest(**TERMS | {"protection": "feature"}, coding="row-centred")
    G, V = sums()
    exact = private_statistics(G, V, N, request=request, noise=Silence())
    terms = {"request": request, "terms": FitTerms(0.1, is_joint=True), "outcomes": Y * OUTCOME_STEP}
    plain, moved = (
        fit_released(name, exact, **terms).weights for name in ("reusecov-gauss", "reusecov-proj")
    )
    np.testing.assert_allclose(moved, plain, rtol=1e-6, atol=1e-9)


def test_draw__naive_within_the_papers_bounds(tmp_path, monkeypatch):
    """With hardly any noise it is ReuseCov, whose X'X it draws for each outcome."""
    study = Study(tmp_path, monkeypatch)
    settings = study.settings("naive", bounds="paper").changed(mode="benchmark")
    statistics = study.sum_up(settings, count=1)
    grid = {"protections": ["full"], "accountings": ["gdp"], "epsilons": [1e4], "delta": 1e-5}
    grid |= {"sizes": [N_VARIANTS], "counts": [1], "neighbours": "replace-one", "unit": "person"}
    methods = ["reusecov-gauss", "naive"]
    drawn = draw_all(tmp_path, methods, statistics=statistics, **grid, gram_share=0.3, count_share=0.1)
    weights = tmp_path / "weights.npz"
    settings = settings_for("fit-weights", methods=methods, regression={"lambda": 0})
    fit_weights(settings, drawn.values(), output=weights, seconds=tmp_path / "seconds.tsv")
    fits = {label["method"]: LinearFit.of(arrays) for label, arrays in load_labelled(weights)}
    assert {label["request"]["coding"] for label, _ in load_labelled(drawn["reusecov-statistics"])} == {
        "row-centred"
    }
    for fit in fits.values():
        np.testing.assert_allclose(fit.weights.sum(axis=1), 0, atol=1e-9)
    first, second = (fit.predict(study.X) for fit in fits.values())
    np.testing.assert_allclose(first, second, atol=0.05)


@pytest.mark.parametrize(
    ("changes", "got"),
    [
        ({}, []),
        ({"methods": ["ols", "naive", "reusecov-ellipsoid", "dp-sgd", "tukey"]}, []),
        ({"methods": ["blup", "reusecov-gauss", "adassp"]}, ["for `methods: blup, adassp`"]),
        ({"mode": "release"}, ["in a release"]),
    ],
)
def test_problems__of_the_papers_bounds(changes, got):
    study = {"methods": ["reusecov-gauss"], "privacy": {"bounds": "paper"}} | changes
    lines = [line for line in problems(resolve(study)) if line.startswith("`privacy.bounds`")]
    fix = "Say `privacy: {bounds: worst-case}`."
    assert lines == [
        f"`privacy.bounds` must be tight or worst-case {where}, got paper. {fix}" for where in got
    ]
