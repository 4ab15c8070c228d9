import numpy as np
import pandas as pd
import pytest

from dpgrs.reporting.fits import Fit, label_fits, reference, shown_private
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
        (private(0.5), "ReuseCovGauss (gdp), ε\u00a0=\u00a00.5"),
        (private(2.0, "paper", "label"), "ReuseCovGauss (label-private, paper), ε\u00a0=\u00a02"),
        (Fit("new-method", "none", "", None), "new-method (not private)"),
    ],
)
def test_fit__label(fit, label):
    assert fit.label == label


def test_reference__prefers_ridge():
    assert reference([OLS, RIDGE, private(1.0)]) == RIDGE
    assert reference([OLS, private(1.0)]) == OLS
    assert reference([private(1.0)]) is None


def test_shown_private__first_accounting_and_the_ends_of_the_epsilons():
    fits = [RIDGE] + [private(epsilon, name) for name in ("gdp", "paper") for epsilon in range(1, 10)]

    shown = shown_private(fits)

    assert len(shown) == 4
    assert {fit.accounting for fit in shown} == {"gdp"}
    assert (shown[0].epsilon, shown[-1].epsilon) == (1, 9)


def test_shown_private__every_protection_has_a_place():
    fits = [private(epsilon, protection=name) for name in ("full", "feature", "label") for epsilon in (1, 2)]

    assert shown_private(fits) == [private(2, protection=name) for name in ("full", "feature", "label")]


def test_fit__weights_and_metrics_agree():
    data = make_report_data()

    assert [Fit.of(weights) for weights in data.weights] == label_fits(data.metrics)[0]
