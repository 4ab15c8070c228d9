"""What a release reads again of its noisy statistics: what the ledger charged for, and public constants."""

import numpy as np
import pytest

from dpgrs.io.replicates import Statistics, load_labelled, save_labelled
from dpgrs.methods.registry import methods_that
from dpgrs.study.released import load_released
from draws import fit_as_released
from refused import refused
from step_studies import N_VARIANTS

RELEASED = methods_that("may_be_released")

# Where zero lies, by the frequencies of the public panel: drawn by nobody.
PUBLIC = {"origin", "slopes"}


def released(study, method, **privacy):
    """Release by a method; return the path, its label and arrays, and what the ledger says."""
    config = study.settings(method, pure_epsilon="2", missing="counted", accounting="gdp", **privacy)
    path = study.release(config)
    return config, path, *load_labelled(path)[0], study.ledger(config).read()


@pytest.mark.parametrize("method", RELEASED)
def test_load_released__raise_on_any_other_number(study, method):
    _, path, label, arrays, book = released(study, method)
    load_released(path, book)
    forged = [(label, arrays | {name: arrays[name] + 1}) for name in arrays.keys() - PUBLIC]
    forged += [(label | {"n": label["n"] + 1}, arrays)] if label["n"] is not None else []
    assert len(forged) > 2
    for one in forged:
        save_labelled(path, [one])
        with refused("statistics-not-charged"):
            load_released(path, book)


@pytest.mark.parametrize("method", ["reusecov-gauss", "adassp"])
def test_load_released__knows_where_zero_lies(study, method):
    config, path, label, arrays, book = released(study, method, bounds="tight")
    origin = Statistics.load(study.root / "statistics.npz").origin[N_VARIANTS]
    assert origin.any()
    np.testing.assert_array_equal(arrays["origin"], origin)
    _, noisy = load_released(path, book)
    fit = fit_as_released(label, noisy, config)
    untold = fit_as_released(label, type(noisy)(**vars(noisy) | {"origin": None}), config)
    np.testing.assert_array_equal(fit.weights, untold.weights)
    x = np.linspace(-1, 1, N_VARIANTS)
    np.testing.assert_allclose(fit.at(x + origin), untold.at(x), rtol=0, atol=1e-12)
