"""What a section of settings is made of: a frozen dataclass whose fields are settings."""

from dataclasses import field, fields
from enum import StrEnum
from functools import cache, reduce
from types import UnionType
from typing import Any, Literal, Self, Union, get_args, get_origin

from dpgrs.errors import DpgrsError


def setting(
    default: Any,
    description: str,
    *,
    example: Any,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    below: float | None = None,
    pattern: str | None = None,
    title: str | None = None,
    min_length: int | None = None,
    max_items: int | None = None,
    may_be_empty: bool = False,
    is_path: bool = False,
    benchmarks_only: str = "",
) -> Any:
    """Describe one setting; limits, pattern and title of a list are those of its entries.

    Parameters
    ----------
    default : value as in a file of settings.
    description : one or more sentences for the manual and `dpgrs settings`.
    example : value as in a file of settings.
    minimum, maximum : inclusive limits of a number.
    above, below : exclusive limits of a number.
    pattern : regular expression of a text; `title` names it in messages.
    min_length : least number of characters of a text.
    max_items : largest number of entries of a list.
    may_be_empty : whether a list may have no entry.
    is_path : whether the text, or each entry of a list, is the path of a file.
    benchmarks_only : why a release refuses any value but the default.
    """
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
    def metadata(cls) -> dict[str, dict]:
        """Map the keys of the section to what `setting` states of them."""
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
    def of(cls, values: dict, place: str = "") -> Self:
        """Make a section of nested JSON values, which may lack keys; `place` is its dotted path."""
        types, section = cls.types(), object.__new__(cls)
        unknown = [f"{place}{key}" for key in values if key not in types]
        if unknown:
            raise DpgrsError(
                f"Settings that a step wrote must have keys of this dpgrs, got {', '.join(unknown)}. Remove "
                "the results of the study and run it again, or use the version that wrote them."
            )
        attributes = {
            _attribute(key): _typed(types[key], value, f"{place}{key}.") for key, value in values.items()
        }
        section.__dict__.update(attributes, _place=place)
        return section

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"`{self._place}{name}` must be among the settings that the step READS.")

    def __setstate__(self, state: dict) -> None:
        # Otherwise pickle, which has no `_place` yet, would ask `__getattr__` for this method without end.
        self.__dict__.update(state)

    def as_dict(self) -> dict:
        """Return the section as nested JSON values."""
        present = vars(self)
        return {key: as_json(present[name]) for key in self.types() if (name := _attribute(key)) in present}

    def value(self, key: str) -> Any:
        """Return the value of a dotted key."""
        return reduce(getattr, map(_attribute, key.split(".")), self)

    def changed(self, **changes: Any) -> Self:
        """Return the section with other values of some keys; a dict changes keys of a section within."""
        values = {name: value for name, value in vars(self).items() if name != "_place"}
        for key, value in changes.items():
            inner = getattr(self, key, None)
            is_within = isinstance(inner, Section) and isinstance(value, dict)
            values[key] = inner.changed(**value) if is_within else value
        return self.of({name.removesuffix("_"): value for name, value in values.items()}, self._place)


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


def _typed(kind: Any, value: Any, place: str) -> Any:
    """Bring a JSON value to the type of its key."""
    if value is None or isinstance(value, Section):
        return value
    kind, _ = without_none(kind)
    if is_section(kind):
        return kind.of(value, place)
    if get_origin(kind) is tuple:
        return tuple(_typed(get_args(kind)[0], entry, place) for entry in value)
    if get_origin(kind) is Literal:
        kind = type(get_args(kind)[0])
    return kind(value) if issubclass(kind, StrEnum) else value


def as_json(value: Any) -> Any:
    """Return a value as a file of settings has it."""
    if isinstance(value, Section):
        return value.as_dict()
    if isinstance(value, tuple):
        return [as_json(entry) for entry in value]
    return value.value if isinstance(value, StrEnum) else value
