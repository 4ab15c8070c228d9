"""What a request claims, and what it does not know."""

import pytest

from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import noisy_entries

TERMS = {"epsilon": 1.0, "delta": 1e-6, "neighbours": "replace-one"}


@pytest.mark.parametrize(("protection", "expected"), [("full", 8.0), ("feature", 4.0), ("label", 8.0)])
def test_cross_claim__is_of_the_protection(protection, expected):
    """Entries of two haplotypes are at most 1 apart, while a row is as long as its norm allows, up to 2."""
    norms = {"coding": "frequency", "row_norm": 20.0, "outcome_norm": 2.0, "unit": "haplotype"}
    request = PrivacyRequest("haplotypes", 4, 3, 3.0, protection=protection, **TERMS, **norms)
    assert request.cross_claim.value == pytest.approx(expected)


@pytest.mark.parametrize("name", ["neighbours", "protection"])
def test_request__raise_on_unknown_terms(name):
    with pytest.raises(ValueError, match="'odd' is not a valid"):
        PrivacyRequest("haplotypes", 4, 3, 3.0, counts_outcomes=True, **TERMS | {name: "odd"})


def test_has_private_gram__raise_on_unknown_protection():
    request = PrivacyRequest("haplotypes", 4, 3, 3.0, protection="odd", **TERMS)
    with pytest.raises(ValueError, match="'odd' is not a valid"):
        assert request.has_private_gram


@pytest.mark.parametrize(
    "terms", [{"rows": "odd", "coding": "half"}, {"rows": "haplotypes", "coding": "odd"}]
)
def test_noisy_entries__raise_on_unknown_rows_or_coding(terms):
    with pytest.raises(ValueError, match="'odd' is not a valid"):
        noisy_entries(3, **terms)
