"""The JSON schema of a study's settings, made from the classes of its sections."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, Literal, get_args, get_origin

from dpgrs.config.setting import Section, is_section, without_none
from dpgrs.config.study import AUTO, StudyConfig

JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


@cache
def load_schema() -> dict[str, Any]:
    """Return the schema of all settings; do not change it."""
    from dpgrs.methods.registry import METHODS  # which jobs need not wait for

    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A study of dpgrs"}
    schema |= _section_schema(StudyConfig)
    schema["properties"]["methods"]["items"] = {"enum": [*METHODS, AUTO]}
    return schema


@cache
def keys() -> dict[str, dict[str, Any]]:
    """Map the dotted path of every key that holds a value to its schema, in order."""
    properties = {}
    for key in StudyConfig.marks("description"):
        schema = load_schema()
        for name in key.split("."):
            schema = schema["properties"][name]
        properties[key] = schema
    return properties


def _section_schema(section: type[Section]) -> dict[str, Any]:
    """Return the schema of a section; its docstrings describe it, those of other packages last."""
    docstrings = [vars(cls).get("__doc__") for cls in reversed(section.__mro__) if is_section(cls)]
    metadata = section.metadata()
    return {
        "description": " ".join(" ".join(filter(None, docstrings[1:])).split()),
        "type": "object",
        "additionalProperties": False,
        "properties": {
            key: {"default": {}} | _section_schema(kind) if is_section(kind) else _schema(kind, metadata[key])
            for key, kind in section.types().items()
        },
    }


def _schema(kind: type, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a key."""
    described = {
        "description": metadata["description"],
        "default": _as_json(metadata["default"]),
        "examples": [_as_json(metadata["example"])],
    }
    kind, is_optional = without_none(kind)
    if get_origin(kind) is tuple:
        described |= _with_null({"type": "array"}, is_optional)
        described |= {"items": _value_schema(get_args(kind)[0]) | metadata["limits"]}
        described |= {"uniqueItems": True, "maxItems": metadata["max_items"]}
        return described | ({} if metadata["may_be_empty"] else {"minItems": 1})
    return described | _with_null(_value_schema(kind) | metadata["limits"], is_optional)


def _value_schema(kind: type) -> dict[str, Any]:
    if get_origin(kind) is Literal:
        return {"enum": [str(choice) for choice in get_args(kind)]}
    if issubclass(kind, StrEnum):
        return {"enum": [choice.value for choice in kind]}
    return {"type": JSON_TYPES[kind]}


def _with_null(schema: dict[str, Any], is_optional: bool) -> dict[str, Any]:
    if not is_optional:
        return schema
    if "enum" in schema:
        return schema | {"enum": [*schema["enum"], None]}
    return schema | {"type": [schema["type"], "null"]}


def _as_json(setting: str | float | bool | tuple | None) -> Any:
    return [_as_json(entry) for entry in setting] if isinstance(setting, tuple) else setting
