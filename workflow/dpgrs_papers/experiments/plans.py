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
    """An experiment in one form.

    Attributes
    ----------
    name : str, of the experiment and its module.
    form : Form
    parts : dict of part to its files, a list of str relative to the folder of data.
    replicates : int, of each part.
    settings : dict of JSON values, with `seed`.
    rule : str, what is left out of the whole and why; empty where nothing is.
    resources : dict of `threads`, `mem_mb` and `runtime` of a replicate.
    """

    name: str
    form: Form
    parts: dict
    replicates: int
    settings: dict
    rule: str
    resources: dict

    @property
    def terms(self):
        """What a page is made from, as JSON."""
        terms = {"form": self.form, "parts": list(self.parts), "replicates": self.replicates}
        return json.dumps({**terms, "rule": self.rule, "settings": self.settings})


def read_plans(path, form):
    """Read all plans.

    Parameters
    ----------
    path : of experiments.yaml: `seed`, and for each name of `experiments` its plan.
    form : Form

    Returns
    -------
    dict of name to Plan

    Raises
    ------
    UsageError
        For an unknown key, or one that lacks.
    """
    import yaml

    raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return {name: _plan(name, one, Form(form), raw["seed"]) for name, one in raw["experiments"].items()}


def _plan(name, raw, form, seed):
    own = raw.get(form, {})
    for where, found, known in ((name, raw, KEYS), (f"{name}.{form}", own, OF_FORM)):
        if unknown := set(found) - known:
            raise UsageError(
                "plan-key-unknown",
                f"`{where}` must hold keys of {', '.join(sorted(known))}, got {', '.join(sorted(unknown))}. "
                "Correct it.",
            )
    if missing := {"parts", "replicates"} - {*raw} or (own and form == Form.CUT and {"rule"} - {*own}):
        raise UsageError(
            "plan-key-missing", f"`{name}` must have {', '.join(sorted(missing))}, got none. Add it."
        )
    parts = {part: _listed(files) for part, files in raw["parts"].items()}
    chosen = own.get("parts", list(parts))
    if unknown := set(chosen) - set(parts):
        raise UsageError(
            "plan-part-unknown",
            f"`{name}.{form}.parts` must be of its parts, got {', '.join(sorted(unknown))}.",
        )
    return Plan(
        name=name,
        form=form,
        parts={part: parts[part] for part in chosen},
        replicates=own.get("replicates", raw["replicates"]),
        settings={"seed": seed} | raw.get("settings", {}) | own.get("settings", {}),
        rule=own.get("rule", ""),
        resources={key: raw.get(key, value) for key, value in RESOURCES.items()},
    )


def _listed(files):
    if files is None:
        return []
    return [files] if isinstance(files, str) else list(files)
