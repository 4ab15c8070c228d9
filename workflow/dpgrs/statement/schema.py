"""The schema of privacy statements, and what does not fit it."""

import re
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.validators import extend

from dpgrs.errors import UsageError
from dpgrs.fit_keys import FIT_KEYS
from dpgrs.statement.conditions import CHECKED_FILES

SCHEMA = Path(__file__).parents[1] / "schemas/privacy_statement.schema.yaml"
FORMAT, FORMAT_VERSION = "dpgrs privacy statement", 5

# What every release rests on; each is named with its origin.
REQUIRED_INPUTS = (
    *("site list", "allele frequencies", "outcome bound", "number of rows", "seed"),
    CHECKED_FILES,
)


def problems_of(statement: Any) -> list[str]:
    """Return the errors of a statement by the schema; empty if it fits."""
    errors = sorted(
        _validator().iter_errors(statement), key=lambda error: (list(map(str, error.path)), error.message)
    )
    return [
        f"{error.json_path.removeprefix('$.')}: {textwrap.shorten(error.message, 200)}" for error in errors
    ]


def validate(statement: Any) -> None:
    """Check a statement against the schema; a UsageError has all problems, one a line."""
    problems = problems_of(statement)
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise UsageError(
            "statement-invalid",
            f"The privacy statement must fit {SCHEMA.name}, but\n{lines}\nCorrect these entries.",
        )


@cache
def definition(name: str | None) -> dict[str, Any]:
    """Return a definition of the schema that refers to no other; None for the whole schema."""
    schema = yaml.load(SCHEMA.read_text(encoding="utf-8"), yaml.CSafeLoader)
    fit = schema["properties"]["fit"]
    fit["properties"] |= {name: key.schema for name, key in FIT_KEYS.items()}
    fit["required"] = [name for name, key in FIT_KEYS.items() if not key.absent]
    return _inlined(schema if name is None else schema["$defs"][name], schema["$defs"])


@cache
def _validator() -> Draft202012Validator:
    kinds = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    return extend(Draft202012Validator, type_checker=kinds)(definition(None))


def _inlined(node: Any, definitions: dict[str, Any]) -> Any:
    """Replace references by their definitions; resolving them takes half of the time of a check."""
    if isinstance(node, list):
        return [_inlined(child, definitions) for child in node]
    if not isinstance(node, dict):
        return node
    keywords = {
        name: _inlined(child, definitions) for name, child in node.items() if name not in ("$ref", "$defs")
    }
    if isinstance(pattern := keywords.get("pattern"), str):
        keywords["pattern"] = re.sub(r"\$$", r"\\Z", pattern)  # Python's $ lets a line feed follow
    if "$ref" not in node:
        return keywords
    # A test holds that no keyword stands both beside a reference and in its definition.
    return _inlined(definitions[node["$ref"].removeprefix("#/$defs/")], definitions) | keywords
