import numpy as np
import pytest
from sklearn.metrics import mean_squared_error, r2_score

from dpgrs.evaluation.metrics import mse, r_squared, r_squared_by_group

RNG = np.random.default_rng(0)
Y = RNG.standard_normal((4, 60))
PREDICTION = Y + RNG.standard_normal((4, 60))


def test_r_squared__equals_scikit_learn_about_its_own_mean():
    expected = [r2_score(y, p) for y, p in zip(Y, PREDICTION, strict=True)]
    np.testing.assert_allclose(r_squared(Y, PREDICTION, training_mean=Y.mean(axis=1)), expected)


def test_r_squared__is_zero_for_the_training_mean():
    mean = np.array([0.1, 0.2, 0.3, 0.4])
    prediction = np.repeat(mean[:, np.newaxis], 60, axis=1)
    np.testing.assert_allclose(r_squared(Y, prediction, training_mean=mean), 0, atol=1e-15)


def test_r_squared__constant_outcome():
    y = np.full((2, 5), 2.0)
    prediction = np.array([[2.0] * 5, [1.0] * 5])
    np.testing.assert_array_equal(r_squared(y, prediction, training_mean=[2.0, 2.0]), [1.0, 0.0])


def test_mse__equals_scikit_learn():
    expected = [mean_squared_error(y, p) for y, p in zip(Y, PREDICTION, strict=True)]
    np.testing.assert_allclose(mse(Y, PREDICTION), expected)


def test_metrics__leave_out_missing_values():
    holes = Y.copy()
    holes[0, :20] = np.nan
    mean = np.zeros(4)
    np.testing.assert_allclose(mse(holes, PREDICTION)[0], mse(Y[:1, 20:], PREDICTION[:1, 20:])[0])
    np.testing.assert_allclose(
        r_squared(holes, PREDICTION, training_mean=mean)[0],
        r_squared(Y[:1, 20:], PREDICTION[:1, 20:], training_mean=mean[:1])[0],
    )


def test_metrics__unobserved_outcome_is_nan():
    holes = Y.copy()
    holes[2] = np.nan
    np.testing.assert_array_equal(np.isnan(mse(holes, PREDICTION)), [False, False, True, False])
    r2 = r_squared(holes, PREDICTION, training_mean=np.zeros(4))
    np.testing.assert_array_equal(np.isnan(r2), [False, False, True, False])


def test_r_squared_by_group__equals_r_squared_of_the_rows():
    groups = np.repeat(["YRI", "CEU", "CHB"], [30, 20, 10])
    labels, n_rows, r2 = r_squared_by_group(Y, PREDICTION, groups)
    assert labels.tolist() == ["CEU", "CHB", "YRI"]
    assert n_rows.tolist() == [20, 10, 30]
    assert r2.shape == (3, 4)
    own_mean = Y[:, 30:50].mean(axis=1)
    expected = r_squared(Y[:, 30:50], PREDICTION[:, 30:50], training_mean=own_mean)
    assert r2[0] == pytest.approx(expected)


def test_r_squared_by_group__gives_no_credit_for_group_means():
    groups = np.repeat(["a", "b"], 30)
    shifted = np.where(groups == "a", 5.0, -5.0) + np.random.default_rng(2).standard_normal((1, 60))
    prediction = np.where(groups == "a", 5.0, -5.0)[np.newaxis]
    assert r_squared(shifted, prediction, training_mean=np.zeros(1))[0] > 0.9
    assert r_squared_by_group(shifted, prediction, groups)[2].max() < 0.1
