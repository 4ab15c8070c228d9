import numpy as np
from sklearn.metrics import mean_squared_error, r2_score

from dpgrs.evaluation.metrics import Means, SquaredErrors, mse, r_squared

RNG = np.random.default_rng(0)
Y = RNG.standard_normal((4, 60))
PREDICTION = Y + RNG.standard_normal((4, 60))


def test_metrics__equal_scikit_learn():
    expected = [(r2_score(y, p), mean_squared_error(y, p)) for y, p in zip(Y, PREDICTION, strict=True)]
    r2_and_mse = r_squared(Y, PREDICTION, training_mean=Y.mean(axis=1)), mse(Y, PREDICTION)
    np.testing.assert_allclose(np.transpose(r2_and_mse), expected)


def test_r_squared__is_zero_for_the_training_mean():
    mean = np.array([0.1, 0.2, 0.3, 0.4])
    prediction = np.repeat(mean[:, np.newaxis], 60, axis=1)
    np.testing.assert_allclose(r_squared(Y, prediction, training_mean=mean), 0, atol=1e-15)


def test_r_squared__constant_outcome():
    y = np.full((2, 5), 2.0)
    prediction = np.array([[2.0] * 5, [1.0] * 5])
    np.testing.assert_array_equal(r_squared(y, prediction, training_mean=[2.0, 2.0]), [1.0, 0.0])


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


def test_squared_errors__of_rows_in_parts_are_those_of_all():
    holes = Y.copy()
    holes[0, :20], holes[2] = np.nan, np.nan
    means = Means(4)
    for part in (slice(0, 13), slice(13, 13), slice(13, 60)):
        means.add(holes[:, part])
    assert means.n_rows == 60
    np.testing.assert_allclose(means.values, [holes[0, 20:].mean(), Y[1].mean(), np.nan, Y[3].mean()])
    centre = np.nan_to_num(means.values)
    found = SquaredErrors(centre)
    for part in (slice(0, 13), slice(13, 13), slice(13, 60)):
        found.add(holes[:, part], PREDICTION[:, part])
    np.testing.assert_allclose(found.mse, mse(holes, PREDICTION))
    np.testing.assert_allclose(found.r2, r_squared(holes, PREDICTION, training_mean=centre))
