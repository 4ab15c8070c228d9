"""Settings as the manual and `dpgrs settings` describe them, read from the schema."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from dpgrs.config.reading import domain
from dpgrs.config.schema import keys, load_schema
from dpgrs.errors import UsageError
from dpgrs.study.implied_settings import IMPLIED
from dpgrs.study.settings import examine

NO_DEFAULT = object()  # null is a default, too


@dataclass(frozen=True)
class SettingHelp:
    """The description of one setting."""

    key: str  # dotted path, such as privacy.epsilon
    description: str  # one or more sentences, on one line
    values: str  # the values that it takes, in words
    default: str  # as a file of settings has it, and so the example
    example: str
    implied_defaults: dict[str, str]  # default by the setting that implies it, such as `mode: release`

    @property
    def facts(self) -> str:
        """Values, defaults and example, in sentences."""
        settings_by_default = {}
        for setting, default in self.implied_defaults.items():
            settings_by_default.setdefault(default, []).append(f"`{setting}`")
        implied = "".join(
            f" With {' or '.join(settings)} the default is `{default}`."
            for default, settings in settings_by_default.items()
        )
        values = f"{self.values[0].upper()}{self.values[1:]}"
        return f"{values}. Default: `{self.default}`. Example: `{self.example}`.{implied}"


def describe_settings(name: str | None = None) -> list[SettingHelp]:
    """Describe one setting, the settings of a section, or all, in the schema's order.

    A name that no setting has is a UsageError with the name that was probably meant.
    """
    schemas = {
        key: schema
        for key, schema in keys().items()
        if name is None or key == name or key.startswith(f"{name}.")
    }
    if not schemas:
        raise UsageError("setting-unknown", _unknown_name(name))
    return [_describe(key, schema) for key, schema in schemas.items()]


def describe_sections(schema: dict | None = None, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield each section of the settings, and its description on one line."""
    for name, definition in (schema or load_schema())["properties"].items():
        if "properties" in definition:
            yield f"{prefix}{name}", _on_one_line(definition["description"])
            yield from describe_sections(definition, f"{prefix}{name}.")


def _describe(key: str, schema: dict) -> SettingHelp:
    return SettingHelp(
        key=key,
        description=_on_one_line(schema["description"]),
        values=domain(schema),
        default=_as_yaml(schema["default"]),
        example=_as_yaml(schema["examples"][0]),
        implied_defaults=_implied_defaults(key),
    )


def _implied_defaults(key: str) -> dict[str, str]:
    """Return the defaults of a key that follow from other settings."""
    *section, last = key.split(".")
    defaults = {
        setting: (implied.get(section[0], {}) if section else implied).get(last, NO_DEFAULT)
        for setting, implied in IMPLIED.items()
    }
    return {setting: _as_yaml(value) for setting, value in defaults.items() if value is not NO_DEFAULT}


def _unknown_name(name: str) -> str:
    """Word that no setting has a name, as a file of settings with it is refused."""
    settings = None
    for key in reversed(name.split(".")):
        settings = {key: settings}
    _, problems = examine(settings)
    # A name within a key, such as `study.x`, makes the value of the key wrong, not its name.
    misspelt = [
        problem.line for problem in problems if "is not a key" in problem.line or "is now" in problem.line
    ]
    return misspelt[0] if misspelt else f"`{name}` is not a key. `dpgrs settings` lists all keys."


def _as_yaml(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
