"""A prediction by what a bundle publishes is the prediction of the fit."""

import numpy as np
import pytest

from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.reusecov import NoisyStatistics
from dpgrs.release.constants import prediction_constants, published, reference_sums
from dpgrs_papers.methods.naive import fit_separately

N_VARIANTS, N_COMPONENTS = 5, 2


def make_fit(n_table, rng):
    d = N_VARIANTS + n_table + N_COMPONENTS
    weights, means, intercept = rng.normal(size=(3, d)), rng.normal(0, 0.3, d), rng.normal(size=3)
    return published(LinearFit(weights, means, intercept))


def test_prediction_constants__of_people():
    rng = np.random.default_rng(1)
    fit, copies = make_fit(1, rng), rng.integers(0, 3, (20, N_VARIANTS))
    others = rng.normal(size=(20, 1 + N_COMPONENTS))
    constants = prediction_constants(fit, n_variants=N_VARIANTS, n_components=N_COMPONENTS, rows="people")
    score = np.hstack([copies, others]) @ fit.weights.T
    np.testing.assert_allclose(score + constants.of_person, fit.predict(np.hstack([copies - 1, others])).T)
    assert constants.of_haplotype is None


def test_published__numbers_have_ten_digits_and_sums_twelve():
    third = np.full((1, 2), 200 / 3)
    fit = published(LinearFit(third, np.zeros(2), np.full(1, 1 / 3), standard_errors=third))
    assert fit.weights.tolist() == fit.standard_errors.tolist() == [[66.66666667] * 2]
    for rows, person in (("people", -133.0), ("haplotypes", -132.6666667)):
        constants = prediction_constants(fit, n_variants=2, n_components=0, rows=rows)
        assert constants.of_person.tolist() == [person]
    assert constants.of_haplotype.tolist() == [-66.33333334]
    sums = reference_sums(np.array([[1 / 3, np.nan]]), np.array([[1.0, 5.0]]))
    assert sums.tolist() == [[1.0, 0.333333333333, 0.111111111111, 1.0, 1.0, 0.333333333333]]


@pytest.mark.parametrize("n_table", [0, 1])
def test_prediction_constants__of_two_haplotypes(n_table):
    rng = np.random.default_rng(2)
    fit, alleles = make_fit(n_table, rng), rng.integers(0, 2, (2, 20, N_VARIANTS))
    components = rng.normal(size=(2, 20, N_COMPONENTS))
    table = rng.normal(size=(20, n_table))
    constants = prediction_constants(fit, n_variants=N_VARIANTS, n_components=N_COMPONENTS, rows="haplotypes")
    of_each = [
        fit.predict(np.hstack([one - 0.5, table, own])).T
        for one, own in zip(alleles, components, strict=True)
    ]
    parts = [np.hstack([one, table, own]) for one, own in zip(alleles, components, strict=True)]
    np.testing.assert_allclose(parts[0] @ fit.weights.T + constants.of_haplotype, of_each[0])
    # Covariates of a table say of a person what they say of either haplotype.
    of_table = slice(N_VARIANTS, N_VARIANTS + n_table)
    once = (table - fit.means[of_table]) @ fit.weights[:, of_table].T
    score = np.hstack([alleles.sum(axis=0), table, components.sum(axis=0)]) @ fit.weights.T
    np.testing.assert_allclose(score + constants.of_person, of_each[0] + of_each[1] - once)


def test_prediction_constants__a_covariate_counts_once_where_every_outcome_has_noisy_means_of_its_own():
    rng = np.random.default_rng(3)
    n, d, origin = 50, N_VARIANTS + 1, np.append(rng.normal(0, 0.3, N_VARIANTS), 0.0)
    grams, crosses = rng.normal(size=(3, d + 1, d + 1)), rng.normal(0, 30, size=(3, 1, d))
    grams = [gram @ gram.T * n for gram in grams]
    drawn = [NoisyStatistics(gram, cross, n) for gram, cross in zip(grams, crosses, strict=True)]
    fit = published(fit_separately(drawn, penalty=0.1, origin=origin))
    constants = prediction_constants(fit, n_variants=N_VARIANTS, n_components=0, rows="haplotypes")
    centres = [2 * gram[-2, -1] / n for gram in grams]
    person = np.repeat([[0.0, 1.0]], [N_VARIANTS, 1], axis=1)  # no copy of any allele
    of_a_row = fit.predict(person - np.append(np.full(N_VARIANTS, 0.5), 0.0))[:, 0]
    once = fit.weights[:, -1] * (1.0 - np.array(centres))
    np.testing.assert_allclose(person @ fit.weights.T + constants.of_person, [2 * of_a_row - once])


def test_reference_sums__leave_out_the_missing():
    Y, scores = np.array([[1.0, np.nan, -3.0]]), np.array([[2.0, 5.0, 4.0]])
    assert reference_sums(Y, scores).tolist() == [[2, -2, 10, 6, 20, -10]]


def test_published__rounds_alike_what_differs_in_the_last_digits():
    one = published(LinearFit(np.array([[0.1 + 0.2]]), np.zeros(1), np.zeros(1), np.array([[0.3]])))
    assert one.weights.item() == one.standard_errors.item() == 0.3
