"""How large an experiment is: parts, replicates and grid, as `config/experiments/experiments.yaml` says."""

import json
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from dpgrs.errors import UsageError

RESOURCES = {"threads": 1, "mem_mb": 2000, "runtime": 60}
KEYS = {"parts", "replicates", "settings", "cut", "quick", *RESOURCES}
OF_FORM = {"rule", "parts", "replicates", "settings"}


class Form(StrEnum):
    """How much of an experiment is run."""

    CUT = "cut"  # the default: all, but what takes days, by the rule that stands there
    WHOLE = "whole"
    QUICK = "quick"


class Plan(NamedTuple):
    """An experiment in one form."""

    name: str  # of the experiment and its module
    form: Form
    part_files: dict[str, list[str]]  # by part, relative to the folder of data
    replicates: int  # of each part
    settings: dict  # JSON values, with `seed`
    rule: str  # which parts of the whole are left out, and why; empty if none are
    resources: dict  # `threads`, `mem_mb` and `runtime` of a replicate

    @property
    def page_json(self) -> str:
        """The JSON that a page is made from."""
        page_json = {"form": self.form, "parts": list(self.part_files), "replicates": self.replicates}
        return json.dumps({**page_json, "rule": self.rule, "settings": self.settings})


def read_plans(path: Path | str, form: Form | str) -> dict[str, Plan]:
    """Read all plans of a file such as experiments.yaml, by name; refuse keys that are unknown or lack."""
    import yaml

    raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return {
        name: _plan(name, raw_plan, Form(form), raw["seed"]) for name, raw_plan in raw["experiments"].items()
    }


def _plan(name: str, raw: dict, form: Form, seed: int) -> Plan:
    form_settings = raw.get(form, {})
    for where, given_keys, allowed in ((name, raw, KEYS), (f"{name}.{form}", form_settings, OF_FORM)):
        if unknown := set(given_keys) - allowed:
            raise UsageError(
                "plan-key-unknown",
                f"`{where}` must hold keys of {', '.join(sorted(allowed))}, "
                f"got {', '.join(sorted(unknown))}. Correct it.",
            )
    if missing := {"parts", "replicates"} - {*raw} or (
        form_settings and form == Form.CUT and {"rule"} - {*form_settings}
    ):
        raise UsageError(
            "plan-key-missing", f"`{name}` must have {', '.join(sorted(missing))}, got none. Add it."
        )
    part_files = {part_name: _listed(files) for part_name, files in raw["parts"].items()}
    chosen = form_settings.get("parts", list(part_files))
    if unknown := set(chosen) - set(part_files):
        raise UsageError(
            "plan-part-unknown",
            f"`{name}.{form}.parts` must be of its parts, got {', '.join(sorted(unknown))}. Correct it.",
        )
    return Plan(
        name=name,
        form=form,
        part_files={part_name: part_files[part_name] for part_name in chosen},
        replicates=form_settings.get("replicates", raw["replicates"]),
        settings={"seed": seed} | raw.get("settings", {}) | form_settings.get("settings", {}),
        rule=form_settings.get("rule", ""),
        resources={key: raw.get(key, value) for key, value in RESOURCES.items()},
    )


def _listed(files: str | list[str] | None) -> list[str]:
    if files is None:
        return []
    return [files] if isinstance(files, str) else list(files)
