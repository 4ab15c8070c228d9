import math

import numpy as np
import pandas as pd
import pytest

from dpgrs.reporting.fits import Fit
from dpgrs.reporting.terms import (
    Terms,
    format_bound,
    format_count,
    format_r2,
    format_scientific,
    format_signed,
    promise,
    protected_in_words,
    typeset,
)


def terms(
    epsilon=1.0,
    *,
    unit="haplotype",
    rows="haplotypes",
    neighbours="add-remove",
    protection="full",
    method="blup",
):
    record = pd.Series({"delta": 1e-6, "unit": unit, "neighbours": neighbours})
    return Terms.of(Fit(method, protection, "gdp", epsilon), record, rows=rows, has_covariates=False)


def test_terms__two_haplotypes_of_a_person_are_a_group_of_two():
    found = terms(1.0)

    assert (found.right_guesses, found.person_right_guesses) == (55, 60)
    assert found.person_epsilon == 2.0
    assert found.person_delta == pytest.approx((1 + math.e) * 1e-6)


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_terms__a_person_as_unit_is_covered_as_they_stand(rows):
    found = terms(1.0, unit="person", rows=rows)

    assert (found.person_epsilon, found.person_delta) == (1.0, 1e-6)
    assert found.person_right_guesses == found.right_guesses == 55


@pytest.mark.parametrize(("method", "right"), [("blup", (59, 68)), ("tukey", (89, 99)), ("k-blup", (89, 99))])
def test_terms__guesses_follow_from_terms_alone_where_not_all_noise_is_normal(method, right):
    found = terms(2.0, method=method)
    assert (found.right_guesses, found.person_right_guesses) == right


def test_terms__words_follow_protection_and_neighbours():
    label = terms(protection="label", neighbours="replace-one")

    assert label.protected == "outcomes; genotypes count as public"
    assert (label.neighbours, label.changes) == ("replace-one", "one haplotype is replaced by another")


@pytest.mark.parametrize(
    ("protection", "words"),
    [
        ("full", "genotypes, covariates and outcomes"),
        ("feature", "genotypes and covariates; outcomes count as public"),
        ("label", "outcomes; genotypes and covariates count as public"),
    ],
)
def test_protected_in_words__covariates_go_with_the_genotypes(protection, words):
    assert protected_in_words(protection, has_covariates=True) == words
    said = promise(protection, "replace-one", "person", has_covariates=True)
    assert said == f"had the {words.partition(';')[0]} of any one person been replaced by others"


def test_terms__a_boundless_epsilon_overflows_to_infinity():
    found = terms(1000.0)

    assert (found.right_guesses, found.person_right_guesses) == (100, 100)
    assert found.person_delta == 1.0


SHOWN = {
    format_r2: [
        (0.12345, "0.123"),
        (-0.12345, "−0.123"),
        (-0.0001, "0.000"),
        (-17.5, "−17.500"),
        (-12345.6, "−12,346"),
        (np.float64(-1.234e9), "−1.23 × 10⁹"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
    format_scientific: [
        (1e-6, "10⁻⁶"),
        (3.7e-6, "3.7 × 10⁻⁶"),
        (2.718281828, "2.72"),
        (22026.4, "22,026"),
        (4.8517e8, "4.85 × 10⁸"),
        (2e10, "2 × 10¹⁰"),
        (0.0, "0"),
        (math.inf, "∞"),
    ],
    format_count: [(5008, "5,008")],
    # Never rounded down.
    format_bound: [
        (math.exp(0.7), "2.02"),
        (math.e, "2.72"),
        (2981.0, "2,990"),
        (math.exp(20), "4.86 × 10⁸"),
        (100, "100"),
        (math.inf, "∞"),
    ],
    format_signed: [(-0.5, "−0.5"), (1.2345, "1.23"), (-2.5e-7, "−2.5 × 10⁻⁷"), (0.0, "0")],
}


@pytest.mark.parametrize("shown_as", SHOWN)
def test_formats__of_numbers(shown_as):
    values, texts = zip(*SHOWN[shown_as], strict=True)
    assert tuple(map(shown_as, values)) == texts


def test_typeset__escapes_and_sets():
    assert typeset("e^2.5, mu^2 - delta of <epsilon>") == "e<sup>2.5</sup>, μ<sup>2</sup> − δ of &lt;ε&gt;"
    assert typeset("Phi(-mu), R^2 -0.5, (1, 0.1)-DP") == "Φ(−μ), R<sup>2</sup> −0.5, (1, 0.1)-DP"
