import numpy as np
import pandas as pd
import pytest

from dpgrs.reporting.fits import Fit, best_fits, fitting_rows, label_fits, reference, shown_private, thin
from report_data import make_report_data

OLS, RIDGE = (Fit(method, "none", "", None) for method in ("ols", "ridge"))


def private(epsilon, accounting="gdp", protection="full"):
    return Fit("reusecov-gauss", protection, accounting, epsilon)


def table(fits):
    return pd.DataFrame(fits).assign(epsilon=[np.nan if fit.epsilon is None else fit.epsilon for fit in fits])


def test_label_fits__codes_name_the_rows_whatever_their_order():
    fits = [private(4.0), RIDGE, private(1.0), private(4.0, "paper"), OLS, RIDGE, private(1.0)]

    labels, codes = label_fits(table(fits))

    assert [labels[code] for code in codes] == fits
    assert labels == [RIDGE, OLS, private(1.0), private(4.0), private(4.0, "paper")]


def test_label_fits__empty_words_and_missing_words_are_the_same_fit():
    rows = table([RIDGE, RIDGE]).assign(accounting=["", None])

    assert {Fit.of(row) for row in rows.itertuples()} == {RIDGE}


def test_label_fits__no_rows():
    fits, codes = label_fits(table([RIDGE]).iloc[:0])

    assert fits == []
    assert len(codes) == 0


@pytest.mark.parametrize(
    ("fit", "label"),
    [
        (RIDGE, "Ridge (not private)"),
        (private(0.5), "ReuseCovGauss (full, exact accounting), ε\u00a0=\u00a00.5"),
        (private(2.0, "paper", "label"), "ReuseCovGauss (label, paper’s accounting), ε\u00a0=\u00a02"),
        (Fit("new-method", "none", "", None), "new-method (not private)"),
        (Fit("s-blup, some scaling", "none", "", None), "DP-SIS + BLUP, some scaling (not private)"),
    ],
)
def test_fit__label(fit, label):
    assert fit.label == label
    assert fit.brief == label.replace(" accounting", "")


def test_reference__has_no_noise_and_prefers_gblup_and_least_squares_to_a_fixed_penalty():
    gblup = Fit("gblup", "none", "", None)
    assert reference([OLS, RIDGE, gblup, private(1.0)]) == gblup
    assert reference([RIDGE, OLS, private(1.0)]) == OLS
    assert reference([RIDGE, private(1.0)]) == RIDGE
    noisy = Fit("s-blup, some scaling", "none", "", None)
    assert reference([noisy, OLS]) == OLS
    assert reference([private(1.0)]) is reference([noisy]) is None


def test_shown_private__first_accounting_and_the_ends_of_the_epsilons():
    fits = [RIDGE] + [private(epsilon, name) for name in ("gdp", "paper") for epsilon in range(1, 10)]

    shown = shown_private(fits, np.zeros(len(fits)))

    assert len(shown) == 4
    assert {fit.accounting for fit in shown} == {"gdp"}
    assert (shown[0].epsilon, shown[-1].epsilon) == (1, 9)


def test_shown_private__every_protection_has_a_place():
    fits = [private(epsilon, protection=name) for name in ("full", "feature", "label") for epsilon in (1, 2)]

    assert shown_private(fits, np.zeros(6)) == [
        private(2, protection=name) for name in ("full", "feature", "label")
    ]


def test_shown_private__of_many_methods_the_best_of_every_protection_and_then_the_best():
    r2 = {"full": {"a": 0.1, "b": 0.3, "c": 0.28}, "feature": {"a": np.nan, "b": 0.2}, "label": {"a": -5}}
    fits = {Fit(name, p, "gdp", 1.0): value for p, values in r2.items() for name, value in values.items()}

    shown = shown_private(list(fits), list(fits.values()))

    assert [(fit.protection, fit.method) for fit in shown] == [
        ("full", "b"),
        ("full", "c"),
        ("feature", "b"),
        ("label", "a"),
    ]


def test_best_fits__one_without_privacy_and_one_per_protection():
    fits = [
        RIDGE,
        OLS,
        private(1.0),
        private(5.0),
        private(5.0, protection="label"),
        private(1.0, protection="feature"),
    ]

    found = best_fits(fits, [0.5, 0.4, -3.0, -7.0, 0.2, np.nan])

    assert found == [(RIDGE, 0.5), (fits[2], -3.0), (fits[4], 0.2)]


def test_fitting_rows__every_series_keeps_its_largest_epsilon():
    names = [f"method{i}" for i in range(20)]
    fits = [RIDGE] + [Fit(name, "full", "gdp", epsilon) for name in names for epsilon in (1.0, 2.0, 5.0)]

    assert fitting_rows(fits[:10]) == fits[:10]
    assert fitting_rows(fits) == [RIDGE] + [Fit(name, "full", "gdp", 5.0) for name in names]


def test_thin__evenly_and_with_the_last():
    assert thin([1, 10, 100, 1000, 5000], 3) == [1, 100, 5000]
    assert thin([1, 10, 100], 1) == [100]
    assert thin([1], 3) == [1]


def test_fit__weights_and_metrics_agree():
    data = make_report_data()

    assert [Fit.of(weights) for weights in data.weights] == label_fits(data.metrics)[0]
