"""Values of settings as a file or a command line has them: read by their types, checked, and worded."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from functools import cache
from typing import Any

import yaml
from jsonschema import Draft202012Validator, TypeChecker, ValidationError
from jsonschema.validators import extend

from dpgrs.config.schema import keys
from dpgrs.config.setting import Json
from dpgrs.config.study import PATHS

RENAMED = {"trials": "replicates", "panel": "variants"}
LONGEST_NAME, LONGEST_PATH = 255, 4095  # of Linux
QUOTED_PATTERN = """--config 'cohort={vcf: "d/chr{chrom}.vcf.gz", chromosomes: [1, 2]}'"""


@dataclass(frozen=True)
class Problem:
    """One fault of a configuration."""

    key: str  # dotted path of the key or section in doubt; for a misspelt key the one that was probably meant
    line: str  # the fault and how to mend it


def read_section(
    raw: Json, schema: Mapping[str, Any], prefix: str, problems: list[Problem]
) -> dict[str, Any]:
    """Read the keys of one section; faults are appended to `problems`, and defaults replace their values."""
    if not isinstance(raw, dict):
        if _scalar(raw) is not None:
            problems.append(Problem(prefix.rstrip("."), _not_a_section(raw, prefix.rstrip("."))))
        raw = {}
    problems += [_unknown_key(str(name), schema, prefix) for name in raw if name not in schema["properties"]]
    section = {}
    for name, key_schema in schema["properties"].items():
        if "properties" in key_schema:
            section[name] = read_section(raw.get(name), key_schema, f"{prefix}{name}.", problems)
            continue
        section[name] = coerce(raw.get(name, key_schema["default"]), key_schema)
        if name not in raw:
            continue  # a test checks that defaults are valid
        faults = _faults(section[name], f"{prefix}{name}") or _text_faults(section[name], f"{prefix}{name}")
        if faults:
            problems += faults
            section[name] = coerce(key_schema["default"], key_schema)
    return section


def coerce(
    raw_value: Json,  # from YAML or a command line
    schema: Mapping[str, Any],  # of one key, not of a section
) -> Any:
    """Bring a value to the type of its key, as far as that loses nothing; validation refuses misfits."""
    kinds = _kinds(schema)
    if isinstance(raw_value, str):
        raw_value = raw_value.strip()
    if "null" in kinds and _scalar(raw_value) is None:
        return None
    if "array" in kinds:
        entries = raw_value if isinstance(raw_value, list | tuple) else [raw_value]
        if len(entries) > schema.get("maxItems", len(entries)):
            return entries  # none is read: there may be millions
        return [coerce(entry, schema["items"]) for entry in entries]
    if "string" in kinds:
        # Not of 1.10, which YAML has made 1.1.
        is_plain = isinstance(raw_value, int | date) and not isinstance(raw_value, bool)
        return str(raw_value) if is_plain else raw_value
    if {"integer", "number"} & set(kinds):
        return _number(raw_value, is_integer="integer" in kinds)
    if "boolean" in kinds and isinstance(_scalar(raw_value), bool):
        return _scalar(raw_value)
    return raw_value


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    """Return the JSON types that a schema allows."""
    if "enum" in schema:
        return ["string", "null"] if None in schema["enum"] else ["string"]
    kinds = schema["type"]
    return kinds if isinstance(kinds, list) else [kinds]


def _scalar(raw_value: Json) -> Any:
    """Read text as a YAML file would; text that is no plain scalar stays as it is."""
    if not isinstance(raw_value, str):
        return raw_value
    try:
        read = yaml.safe_load(raw_value)
    except (yaml.YAMLError, ValueError, RecursionError):  # also of 2026-02-30, which YAML takes for a date
        return raw_value
    return read if read is None or isinstance(read, bool | int | float) else raw_value


def _number(raw_value: Json, *, is_integer: bool) -> Any:
    """Turn text and numbers into an int or a float; return anything else unchanged."""
    read = _scalar(raw_value)
    if isinstance(read, bool) or not isinstance(read, int | float | str):
        return raw_value
    if is_integer and isinstance(read, int):
        return read
    try:
        number = float(read)  # also of 1e-6, which YAML 1.1 takes for text
    except (ValueError, OverflowError):
        return raw_value
    return int(number) if is_integer and number.is_integer() else number + 0.0  # -0 is 0


def _is_finite_number(checker: TypeChecker, instance: Json) -> bool:
    return isinstance(instance, int | float) and not isinstance(instance, bool) and abs(instance) < math.inf


_Validator = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("number", _is_finite_number),
)


@cache
def _validators() -> dict[str, Any]:
    """Map the dotted path of every key to its validator, which takes longer to make than to use."""
    return {key: _Validator(schema) for key, schema in keys().items()}


def _faults(coerced: Json, key: str) -> list[Problem]:
    """Return the problems of one value, at most one for each entry of a list."""
    validator, errors = _validators()[key], {}
    schema = validator.schema
    most = schema.get("maxItems")
    if isinstance(coerced, list) and most is not None and len(coerced) > most:
        limit = f"a list of at most {most} entries"
        return [Problem(key, f"`{key}` must be {limit}, got {len(coerced)}. Give fewer.")]
    for error in validator.iter_errors(coerced):
        errors.setdefault(tuple(error.absolute_path), error)
    return [Problem(key, _fault_line(error, schema, key)) for error in errors.values()]


def _text_faults(coerced: Json, key: str) -> list[Problem]:
    """Return the problem of text that no file name or argument of a program can hold."""
    for text in coerced if isinstance(coerced, list) else [coerced]:
        requirement = None
        try:
            name = max(map(len, text.encode().split(b"/"))) if isinstance(text, str) else 0
            requirement = "text without a null character" if name and "\0" in text else None
        except UnicodeEncodeError:
            requirement, name = "text in Unicode", 0
        if key in PATHS and (name > LONGEST_NAME or len(text or "") > LONGEST_PATH):
            requirement = f"a path of at most {LONGEST_PATH} characters, {LONGEST_NAME} bytes a name"
        fix = "Correct it."
        if key in PATHS and re.match(r"[a-z][a-z0-9+.-]*://", text or ""):
            requirement, fix = "a path on this machine", "Download the file first."
        if requirement:
            return [Problem(key, f"`{key}` must be {requirement}, got {ascii(_show(text))[1:-1]}. {fix}")]
    return []


def _fault_line(error: ValidationError, schema: Mapping[str, Any], key: str) -> str:
    entry = "".join(f", entry {index + 1}," for index in error.absolute_path)
    requirement = {
        "uniqueItems": "a list without repeated entries",
        "minItems": "a list with at least one entry",
    }.get(error.validator) or domain(error.schema)
    if isinstance(error.instance, float) and "string" in _kinds(error.schema) and "enum" not in error.schema:
        requirement = f"{requirement}, in quotes where it reads as a number with a point"
    example = f"{key.rpartition('.')[2]}: {_show(schema['examples'][0])}"
    return f"`{key}`{entry} must be {requirement}, got {_show(error.instance)}. For example `{example}`."


def domain(schema: Mapping[str, Any]) -> str:
    """Say in words which values the schema of a key allows."""
    if "title" in schema:
        return schema["title"]
    if "enum" in schema:
        return "one of " + ", ".join(_show(choice) for choice in schema["enum"])
    words = {
        "array": lambda: f"a list, each entry {domain(schema['items'])}",
        "boolean": lambda: "true or false",
        "integer": lambda: "a whole number",
        "null": lambda: "null",
        "number": lambda: "a finite number",
        "string": lambda: "text",
    }
    limits = {
        "minimum": "of at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    bounds = [f"{phrase} {schema[limit]}" for limit, phrase in limits.items() if limit in schema]
    # null first, so that the bounds follow the kind that they belong to
    kinds = " or ".join(words[kind]() for kind in sorted(_kinds(schema), key="null".__ne__))
    return " ".join([kinds, " and ".join(bounds)]).strip()


def _unknown_key(name: str, schema: Mapping[str, Any], prefix: str) -> Problem:
    """Describe a key that the schema does not have, with the one that was probably meant."""
    key = f"{prefix}{name}"
    earlier = key.partition(".")[0]
    if earlier in RENAMED:
        return Problem(RENAMED[earlier], f"`{earlier}` is now `{RENAMED[earlier]}`.")
    if ":" in name:
        fix = f"Put a space after the colon: `{name.replace(':', ': ', 1)}`."
        return Problem(key, f"`{key}` is not a key. {fix}")
    if "." in name and name in keys():
        section, *inner = name.split(".")
        setting = ": {".join(inner) + f": {_show(keys()[name]['examples'][0])}" + "}" * (len(inner) - 1)
        fix = f"Write `{section}: {{{setting}}}`, or `--config '{section}={{{setting}}}'`."
        return Problem(name, f"`{key}` is not a key. {fix}")
    siblings = list(schema["properties"])
    close = [f"{prefix}{match}" for match in get_close_matches(name, siblings, n=1)]
    elsewhere = [path for path in keys() if path.rpartition(".")[2] == name]
    likely = (close or elsewhere or [None])[0]
    fix = f"Did you mean `{likely}`?" if likely else f"Keys here are {', '.join(siblings)}."
    return Problem(likely or key, f"`{key}` is not a key. {fix}")


def _not_a_section(raw: Json, key: str) -> str:
    """Describe a section that is no mapping; an unquoted pattern makes it arrive as one long text."""
    if not isinstance(raw, str) or not raw.startswith("{"):
        fix = f"For example `{key}: {{...}}`; The manual's page `settings` lists the keys."
    elif "{chrom}" in raw:
        fix = f"A pattern must be in double quotes: {_quoted(raw, key)}."
    else:
        fix = "YAML cannot read its braces: check brackets, quotes and a space after each colon."
    return f"`{key}` must be keys with values, got {_show(raw)}. {fix}"


def _quoted(raw: str, key: str) -> str:
    """Quote the patterns in a text that YAML could not read, or give an example where that does not help."""
    text = re.sub(r'(?<=: )([^\s",]*\{chrom\}[^\s",}]*)', r'"\1"', raw)
    try:
        is_readable = isinstance(yaml.safe_load(text), dict)
    except (yaml.YAMLError, ValueError, RecursionError):
        is_readable = False
    return f"--config '{key}={text}'" if is_readable else QUOTED_PATTERN


def _show(setting: Json) -> str:
    """Write a value as in a YAML file, in one line of readable length."""
    text = setting if isinstance(setting, str) else json.dumps(setting, ensure_ascii=False, default=str)
    text = " ".join(text.split()) or '""'
    return text if len(text) <= 80 else f"{text[:77]}..."
