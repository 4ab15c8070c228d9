import pytest
import yaml

from dpgrs.release.registry import to_registry_yaml
from release_data import make_statement, make_terms

# The fields of the registry's schema that a record may have, and the values of its enumerations in use.
FIELDS = {
    "basic": {
        *("name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region"),
        *("data_product_sector", "publication_date"),
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        *("privacy_unit", "privacy_unit_details", "number_of_privacy_units", "privacy_parameters"),
        "privacy_parameters_details",
    },
    "deployment_model": {
        *("model_name", "model_name_details", "trust_assumptions", "actors", "release_type"),
        *("release_type_details", "data_source_type", "data_source_type_details", "access_type"),
        "access_type_details",
    },
    "implementation": {
        *("preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing"),
        *("justification", "utility", "additional_information"),
    },
    "administrative": {"evidence_sources", "status", "registry_authors", "tier"},
}


def test_to_registry_yaml__fields_of_the_registry(tmp_path):
    record = yaml.safe_load(to_registry_yaml(make_statement(tmp_path)))
    assert set(record) == {"url_slug", "deployment"}
    deployment = record["deployment"]
    assert set(deployment) == set(FIELDS)
    for section, fields in FIELDS.items():
        assert set(deployment[section]) <= fields
    assert deployment["basic"]["data_curators"] == [
        {"data_curator_name": "Institute of Tests", "data_curator_type": "Nonprofit"}
    ]
    assert deployment["basic"]["data_product_type"] == "Machine learning model"
    assert deployment["basic"]["publication_date"] == "2026-11-21"
    assert deployment["dp_variant"]["variant_name"] == "Approximate DP"
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert deployment["administrative"] == {
        "status": "Draft",
        "registry_authors": ["Institute of Tests"],
        "tier": 3,
    }


def test_to_registry_yaml__says_what_the_statement_says(tmp_path):
    statement = make_statement(tmp_path, make_terms(epsilon=0.5), preprocessing=("a count, charged",))
    implementation = yaml.safe_load(to_registry_yaml(statement))["deployment"]["implementation"]
    for mechanism in statement["mechanisms"]:
        assert mechanism["sigma"] in implementation["mechanisms"]
    assert implementation["preprocessing_and_hyperparameter_tuning"] == "- a count, charged"
    assert implementation["post_processing"].count("\n") + 1 == len(statement["post_processing"])
    assert implementation["utility"] == "Withheld."
    deployment = yaml.safe_load(to_registry_yaml(statement))["deployment"]
    assert all(
        line in deployment["deployment_model"]["trust_assumptions"] for line in statement["assumptions"]
    )


def test_to_registry_yaml__no_folded_text(tmp_path):
    accuracy = ({"name": "R^2", "value": "0.1", "cost": "none"},)
    text = to_registry_yaml(make_statement(tmp_path, accuracy=accuracy))
    styles = {token.style for token in yaml.scan(text) if hasattr(token, "style")}
    assert styles <= {None, "", "|", "'", '"'}
    assert "- R^2: 0.1 (cost: none)" in yaml.safe_load(text)["deployment"]["implementation"]["utility"]


@pytest.mark.parametrize(("neighbours", "is_public"), [("add-remove", False), ("replace-one", True)])
def test_to_registry_yaml__what_is_public_stays_whatever_its_origin(tmp_path, neighbours, is_public):
    """The curator says where public files come from: no word of theirs makes these noisy."""
    statement = make_statement(tmp_path, make_terms(neighbours=neighbours))
    said = "released with noise, charged"
    for one in statement["public_inputs"]:
        one["origin"] = said
    variant = yaml.safe_load(to_registry_yaml(statement))["deployment"]["dp_variant"]
    assert [line.removeprefix("- ") for line in variant["unprotected_quantities"].splitlines()] == [
        f"{one['name']}: {one['value']} ({said})"
        for one in statement["public_inputs"]
        if is_public or one["name"] != "number of rows"
    ]
