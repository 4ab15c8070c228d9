"""Sections of settings: frozen dataclasses whose fields are settings."""

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from enum import StrEnum
from functools import cache, reduce
from types import UnionType
from typing import Any, Literal, Self, TypeAlias, Union, get_args, get_origin

from dpgrs.errors import DpgrsError

# A value as a file of settings has it.
Json: TypeAlias = "str | float | bool | Sequence[Json] | Mapping[str, Json] | None"


def setting(
    default: Json,
    description: str,  # sentences for the manual and `dpgrs settings`
    *,
    example: Json,
    minimum: float | None = None,  # inclusive limits of a number
    maximum: float | None = None,
    above: float | None = None,  # exclusive limits of a number
    below: float | None = None,
    pattern: str | None = None,  # regular expression of a text
    title: str | None = None,  # names the pattern in messages
    min_length: int | None = None,  # characters of a text
    max_items: int | None = None,  # entries of a list
    may_be_empty: bool = False,  # whether a list may have no entry
    is_path: bool = False,  # whether the text, or each entry of a list, is the path of a file
    benchmarks_only: str = "",  # why a release refuses any value but the default
) -> Any:
    """Describe one setting; limits, pattern and title of a list apply to its entries."""
    limits = {
        "title": title,
        "pattern": pattern,
        "minLength": min_length,
        "minimum": minimum,
        "exclusiveMinimum": above,
        "maximum": maximum,
        "exclusiveMaximum": below,
    }
    return field(
        metadata={
            "default": default,
            "description": description,
            "example": example,
            "limits": {name: limit for name, limit in limits.items() if limit is not None},
            "max_items": max_items,
            "may_be_empty": may_be_empty,
            "is_path": is_path,
            "benchmarks_only": benchmarks_only,
        }
    )


class Section:
    """A section of settings. A step gets only the keys that it reads: any other raises an AttributeError."""

    @classmethod
    @cache
    def types(cls) -> dict[str, Any]:
        """Map the keys of the section to their types, in order."""
        return {field.name.removesuffix("_"): field.type for field in fields(cls)}

    @classmethod
    @cache
    def metadata(cls) -> dict[str, Mapping[str, Any]]:
        """Map the keys of the section to the terms that `setting` states."""
        return {field.name.removesuffix("_"): field.metadata for field in fields(cls)}

    @classmethod
    def marks(cls, name: str, prefix: str = "") -> dict[str, Any]:
        """Map the dotted paths of all settings that have a mark, such as ``is_path``, to it."""
        metadata, marked = cls.metadata(), {}
        for key, kind in cls.types().items():
            if is_section(kind):
                marked |= kind.marks(name, f"{prefix}{key}.")
            elif metadata[key][name]:
                marked[prefix + key] = metadata[key][name]
        return marked

    @classmethod
    def of(
        cls,
        json_values: Mapping[str, Json],  # nested, may lack keys
        path_prefix: str = "",  # dotted path of the section, with a point at its end
    ) -> Self:
        """Make a section of nested JSON values."""
        types, section = cls.types(), object.__new__(cls)
        unknown = [f"{path_prefix}{key}" for key in json_values if key not in types]
        if unknown:
            raise DpgrsError(
                "settings-of-another-version",
                f"Settings that a step wrote must have keys of this dpgrs, got {', '.join(unknown)}. Remove "
                "the results of the study and run it again, or use the version that wrote them.",
            )
        attributes = {
            _attribute(key): _typed(types[key], json_value, f"{path_prefix}{key}.")
            for key, json_value in json_values.items()
        }
        section.__dict__.update(attributes, _place=path_prefix)
        return section

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"`{self._place}{name}` must be among the settings that the step READS.")

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Otherwise pickle, which has no `_place` yet, would ask `__getattr__` for this method without end.
        self.__dict__.update(state)

    def as_dict(self) -> dict[str, Any]:
        """Return the section as nested JSON values."""
        present = vars(self)
        return {key: as_json(present[name]) for key in self.types() if (name := _attribute(key)) in present}

    def value(self, key: str) -> Any:
        """Return the value of a dotted key."""
        return reduce(getattr, map(_attribute, key.split(".")), self)

    def changed(self, **changes: Any) -> Self:
        """Return the section with other values of some keys; a dict changes keys of a section within."""
        attributes = {name: attribute for name, attribute in vars(self).items() if name != "_place"}
        for key, attribute in changes.items():
            inner = getattr(self, key, None)
            is_within = isinstance(inner, Section) and isinstance(attribute, dict)
            attributes[key] = inner.changed(**attribute) if is_within else attribute
        return self.of(
            {name.removesuffix("_"): attribute for name, attribute in attributes.items()}, self._place
        )


def is_section(kind: Any) -> bool:
    """Tell whether the type of a key is a section."""
    return isinstance(kind, type) and issubclass(kind, Section)


def without_none(kind: Any) -> tuple[Any, bool]:
    """Return the type of a setting without None, and whether it allows None."""
    if get_origin(kind) not in (Union, UnionType):
        return kind, False
    [kind] = [choice for choice in get_args(kind) if choice is not type(None)]
    return kind, True


def _attribute(key: str) -> str:
    return "lambda_" if key == "lambda" else key  # which Python reserves


def _typed(kind: Any, json_value: "Json | Section", path_prefix: str) -> Any:
    """Bring a JSON value to the type of its key."""
    if json_value is None or isinstance(json_value, Section):
        return json_value
    kind, _ = without_none(kind)
    if is_section(kind):
        return kind.of(json_value, path_prefix)
    if get_origin(kind) is tuple:
        return tuple(_typed(get_args(kind)[0], entry, path_prefix) for entry in json_value)
    if get_origin(kind) is Literal:
        kind = type(get_args(kind)[0])
    return kind(json_value) if issubclass(kind, StrEnum) else json_value


def as_json(attribute: "Json | Section") -> Any:
    """Return a value as a file of settings has it."""
    if isinstance(attribute, Section):
        return attribute.as_dict()
    if isinstance(attribute, tuple):
        return [as_json(entry) for entry in attribute]
    return attribute.value if isinstance(attribute, StrEnum) else attribute
