import pytest
import yaml
from jsonschema import Draft7Validator

from dpgrs.statement.deployments_registry import to_registry_yaml
from release_data import make_statement, make_terms

# What the registry's schema asks for: fields, their types, the values of its enumerations that are in use.
TEXT, TEXTS, DATE = {"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}, "date"


def one_of(*values):
    return {"enum": list(values)}


def fields(required=(), **properties):
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
    }


def texts(*names):
    return dict.fromkeys(names, TEXT)


SCHEMA = fields(
    ["url_slug", "status", "tier", "deployment"],
    url_slug=TEXT,
    status=one_of("Draft"),
    tier=one_of(1, 2, 3),
    deployment=fields(
        ["basic"],
        basic=fields(
            [
                *("name", "data_curators", "description", "intended_use", "data_product_type"),
                *("data_product_region", "publication_date"),
            ],
            data_curators=TEXTS,
            data_product_type=one_of("Machine learning model"),
            data_product_sector=one_of("Healthcare"),
            publication_date={"type": "string", "format": DATE},
            **texts("name", "description", "intended_use", "data_product_region"),
        ),
        dp_variant=fields(
            variant_name=one_of("Approximate DP"), **texts("data_domain", "unprotected_quantities")
        ),
        privacy_loss=fields(
            privacy_parameters=fields(epsilon={"type": "number"}, delta={"type": "number"}),
            privacy_parameters_details={},
            **texts("privacy_unit", "privacy_unit_details"),
        ),
        deployment_model=fields(
            model_name=one_of("Central"),
            release_type=one_of("One release"),
            data_source_type=one_of("Static"),
            access_type=one_of("Non-interactive"),
            **texts("model_name_details", "actors", "release_type_details", "access_type_details"),
        ),
        accounting=fields(**texts("post_processing", "composition")),
        implementation=fields(
            **texts("preprocessing_and_hyperparameter_tuning", "mechanisms", "justification")
        ),
        administrative=fields(["registry_authors"], registry_authors=TEXTS, **texts("sources", "notes")),
    ),
)


def test_to_registry_yaml__fields_of_the_registry(tmp_path):
    record = yaml.safe_load(to_registry_yaml(make_statement(tmp_path)))
    checker = Draft7Validator(SCHEMA, format_checker=Draft7Validator.FORMAT_CHECKER)
    assert [error.message for error in checker.iter_errors(record)] == []
    deployment = record["deployment"]
    assert set(deployment) == set(SCHEMA["properties"]["deployment"]["properties"])
    assert deployment["basic"]["data_curators"] == ["Institute of Tests"]
    assert deployment["basic"]["publication_date"] == "2026-11-21"
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert deployment["administrative"]["registry_authors"] == ["Institute of Tests"]


def test_to_registry_yaml__says_what_the_statement_says(tmp_path):
    statement = make_statement(tmp_path, make_terms(epsilon=0.5), preprocessing=("a count, charged",))
    deployment = yaml.safe_load(to_registry_yaml(statement))["deployment"]
    implementation = deployment["implementation"]
    for mechanism in statement["mechanisms"]:
        assert mechanism["sigma"] in implementation["mechanisms"]
    assert implementation["preprocessing_and_hyperparameter_tuning"] == "- a count, charged"
    accounting, notes = deployment["accounting"], deployment["administrative"]["notes"]
    assert accounting["post_processing"].count("\n") + 1 == len(statement["post_processing"])
    assert accounting["composition"] == statement["composition"]["theorem"]
    assert notes.startswith("- Accuracy: withheld.\n")
    assert all(line in notes for line in statement["not_protected"])
    assert all(line in deployment["deployment_model"]["actors"] for line in statement["assumptions"])


def test_to_registry_yaml__no_folded_text(tmp_path):
    accuracy = ({"name": "R^2", "value": "0.1", "cost": "none"},)
    text = to_registry_yaml(make_statement(tmp_path, accuracy=accuracy))
    styles = {token.style for token in yaml.scan(text) if hasattr(token, "style")}
    assert styles <= {None, "", "|", "'", '"'}
    assert "- R^2: 0.1 (cost: none)" in yaml.safe_load(text)["deployment"]["administrative"]["notes"]


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
