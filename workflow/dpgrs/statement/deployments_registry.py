"""A privacy statement as a record of the Differential Privacy Deployments Registry.

The shape is that of `schemas/deployments-schema.yaml` in the registry's data repository [1]_ at commit
3e9c812 of 15 July 2026: strings are Markdown, `status` is Draft until the board has looked at it, tier 3
stands for a full record. NIST has proposed to host the registry [2]_, and its schema still changes.

References
----------
.. [1] https://github.com/opendp/deployments-registry-data
.. [2] https://opendp.org/2025/11/25/launching-the-differential-privacy-deployments-registry
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from dpgrs.statement.text import n_chosen
from dpgrs.statement.words import ROWS_INPUT


class _Dumper(yaml.CSafeDumper):
    """A writer of several lines as a block: the registry refuses text that YAML would fold."""


def _represent_text(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


def to_registry_yaml(statement: dict[str, Any]) -> str:
    """Convert a privacy statement to YAML."""
    record = {
        "url_slug": _slug(statement["curation"]),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": _basic(statement),
            "dp_variant": {
                "variant_name": "Approximate DP",
                "data_domain": _data_domain(statement),
                "unprotected_quantities": _items(_name_origin(statement)),
            },
            "privacy_loss": _privacy_loss(statement),
            "deployment_model": {
                "model_name": "Central",
                "actors": _items([statement["trust_model"], *statement["assumptions"]]),
                "release_type": "One release",
                "release_type_details": _release_details(statement),
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": _items(statement["post_processing"]) or "None.",
                "composition": statement["composition"]["theorem"],
            },
            "implementation": _implementation(statement),
            "administrative": {
                "notes": _notes(statement),
                "registry_authors": [statement["curation"]["curator"]],
            },
        },
    }
    return yaml.dump(record, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**20)


def _basic(statement: dict[str, Any]) -> dict[str, Any]:
    curation, domain = statement["curation"], statement["data_domain"]
    return {
        "name": curation["title"],
        "data_curators": [curation["curator"]],
        "description": f"Genomic risk scores: weights of {_variants(statement)} for "
        f"{len(domain['outcomes'])} outcomes, fitted to differentially private statistics.",
        "intended_use": curation["intended_use"],
        "data_product_type": "Machine learning model",
        "data_product_region": curation["region"],
        "data_product_sector": "Healthcare",
        "publication_date": curation["publication_date"],
    }


def _variants(statement: dict[str, Any]) -> str:
    number, n_sites = n_chosen(statement), statement["data_domain"]["n_variants"]
    return f"{n_sites} variants" if number is None else f"{number} of {n_sites} variants, chosen in private,"


def _data_domain(statement: dict[str, Any]) -> str:
    domain, guarantee = statement["data_domain"], statement["guarantee"]
    traits = "; ".join(map(_trait_in_words, statement["curation"].get("traits", ())))
    return (
        f"Genotypes of {guarantee['rows']} at {domain['n_variants']} public sites ({domain['genome_build']}, "
        f"SHA-256 {domain['site_digest']}) and {len(domain['outcomes'])} bounded outcomes"
        f"{traits and f', in the words of the curator: {traits}'}. {guarantee['contribution']}"
    )


def _trait_in_words(trait: dict[str, Any]) -> str:
    """Return what an outcome is in one line: its trait and terms, and of whom."""
    efo_ids, name = ", ".join(trait.get("efo_ids", ())), trait["outcome"]
    words = [f"{name} is {trait.get('reported_trait', name)}" + (f" ({efo_ids})" if efo_ids else "")]
    words += [", ".join(trait[field]) for field in ("cohorts", "countries") if field in trait]
    words += [trait[field] for field in ("ancestry", "doi") if field in trait]
    return ", ".join(words)


def _privacy_loss(statement: dict[str, Any]) -> dict[str, Any]:
    guarantee, person = statement["guarantee"], statement["guarantee"]["person"]
    return {
        "privacy_unit": guarantee["unit"].capitalize(),
        "privacy_unit_details": f"{guarantee['definition']} Neighbours: {guarantee['neighbours']}.\n"
        f"Conditions:\n{_items(statement['conditions'])}",
        "privacy_parameters": {
            "epsilon": float(guarantee["epsilon"]),
            "delta": float(guarantee["delta"]),
        },
        "privacy_parameters_details": f"{_privacy_parameters(guarantee)}. A person's "
        f"loss is at most ({person['epsilon']}, {person['delta']}). {guarantee['plain_language']}",
    }


def _privacy_parameters(guarantee: dict[str, Any]) -> str:
    pure = f", and pure epsilon {guarantee['pure_epsilon']}" if "pure_epsilon" in guarantee else ""
    return f"Gaussian differential privacy with mu {guarantee['mu']}{pure}"


def _release_details(statement: dict[str, Any]) -> str:
    ledger = statement["ledger"]
    return (
        f"{statement['release_type'].capitalize()}. A ledger counts all releases from the data set; after "
        f"this one they reach epsilon {ledger['spent']['epsilon']} at delta {ledger['delta']}, and mu^2 "
        f"{ledger['remaining']['mu_squared']} and pure epsilon {ledger['remaining']['pure_epsilon']} remain."
    )


def _implementation(statement: dict[str, Any]) -> dict[str, Any]:
    software = statement["software"]
    return {
        "preprocessing_and_hyperparameter_tuning": _items(statement["preprocessing"])
        or "No step before the noise saw private data; hyperparameters are public choices.",
        "mechanisms": _items(map(_mechanism, statement["mechanisms"]))
        + f"\n- Noise: {statement['randomness']}"
        + f"\n- Software: dpgrs {software['version']}, commit {software['commit'] or 'unknown'}.",
        "justification": "Gaussian noise has an exact accounting, and is drawn by integers, on a grid.",
    }


def _notes(statement: dict[str, Any]) -> str:
    accuracy = statement["accuracy"]
    if isinstance(accuracy, str):
        lines = ["Accuracy: withheld."]
    else:
        lines = [f"{item['name']}: {item['value']} (cost: {item['cost']})" for item in accuracy]
    return _items([*lines, *statement["not_protected"], statement["subgroups"]])


def _mechanism(draw: dict[str, Any]) -> str:
    claim = f"{draw['norm']} sensitivity {draw['sensitivity']} ({draw['proof']})"
    if draw["mechanism"] == "gaussian":
        size = f"standard deviation {draw['sigma']}, {draw['entries']} numbers, mu {draw['mu']}"
        return f"{draw['statistic']}: Gaussian mechanism, {draw['noise']}; {claim}, {size}"
    if draw["mechanism"] == "laplace":
        size = f"scale {draw['scale']}, {draw['entries']} numbers, epsilon {draw['epsilon']}"
        return f"{draw['statistic']}: Laplace mechanism, {draw['noise']}; {claim}, {size}"
    choice = f"choice of {draw['n_choices']} among {draw['entries']}"
    return f"{draw['statistic']}: {choice}, {draw['noise']}; {claim} of a score, epsilon {draw['epsilon']}"


def _name_origin(statement: dict[str, Any]) -> Iterator[str]:
    """List the data that are not protected: all but a noisy number of rows."""
    is_drawn = any(mechanism["statistic"] == "count" for mechanism in statement["mechanisms"])
    return (
        f"{public['name']}: {public['value']} ({public['origin']})"
        for public in statement["public_inputs"]
        if not (public["name"] == ROWS_INPUT and is_drawn)
    )


def _items(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _slug(curation: dict[str, Any]) -> str:
    words = f"{curation['title']} {curation['curator']} {curation['publication_date'][:4]}".lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-") or "release"
