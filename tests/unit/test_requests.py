"""What a request claims, and what it does not know."""

import pytest

from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import noisy_entries
from dpgrs.study.input_files import TABLES
from dpgrs.study.people_terms import planned_people, training_rows
from dpgrs.study.requests import reads_of_ld
from dpgrs.study.settings import resolve
from dpgrs.study.step_settings import load_settings
from dpgrs.study.verbs import settings_read

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


@pytest.mark.parametrize(
    "change",
    [
        {"cohort": {"planned_people": 900}},
        {"cohort": {"simulation": {"people": 900}}},
        {"outcomes": {"test_share": 0.4}},
    ],
)
def test_reads_of_ld__of_maps_name_what_plans_their_rows(change):
    """Otherwise a map that was planned for another study has no note of it."""
    config, keys = resolve({}), reads_of_ld(has_maps=True)
    other = resolve(config.changed(**change).as_dict())
    planned, others = (training_rows(one, planned_people(one)) for one in (config, other))
    assert planned != others
    assert settings_read(config, "measure-ld", keys) != settings_read(other, "measure-ld", keys)


@pytest.mark.parametrize("has_maps", [False, True])
def test_reads_of_ld__are_all_that_the_step_asks_for(has_maps):
    text = settings_read(resolve({}), "measure-ld", reads_of_ld(has_maps=has_maps))
    assert load_settings(text, "measure-ld").variants.size == resolve({}).variants.size


def test_reads_of_ld__name_no_table():
    """Otherwise the note on a public map has a mark of a private file, and another table refuses the map."""
    keys = reads_of_ld(has_maps=True)
    assert [table for table in TABLES for key in keys if f"{table}.".startswith(f"{key}.")] == []
