"""The keys of the configuration on which the fit of a release depends; it imports nothing but types.

Fits, the settings that steps read, seals, identities, the schema of statements, refits and the check of a
bundle take the keys from here. To add a key, add an entry here and describe the key in the class of its
section (`dpgrs.config`): fits find its value in `FitTerms.further`.
"""

from collections.abc import Mapping
from typing import Any


class FitKey:
    """A key of the configuration on which a fit depends."""

    def __init__(
        self,
        schema: Mapping[str, Any],  # JSON schema of its value in a statement
        *,
        # Values with which a fit uses draws for other outcomes: an outcome then has no budget of its own.
        joining: tuple[Any, ...],
        # The value at which identities, seals and statements leave the key out, so that those of earlier
        # releases stay as they are; empty of a key that all of them have.
        absent: tuple[Any, ...] = (),
        # The attribute of `FitTerms` that holds its value; None of a key in `FitTerms.further`.
        fit_field: str | None = None,
        # The keys that its value follows from, unless it stands in ``regression``.
        reads: tuple[str, ...] = (),
    ) -> None:
        self.schema, self.joining, self.absent = schema, joining, absent
        self.fit_field, self.reads = fit_field, reads


# A public reference of stated ancestry and of this many people is taken to match the cohort.
MATCHED_PEOPLE = 500
FIT_KEYS = {
    "lambda": FitKey({"type": "number"}, joining=(), fit_field="penalty"),
    "lambda_from": FitKey({"$ref": "#/$defs/text"}, joining=("evidence",), fit_field="rule"),
    "heritability": FitKey({"type": ["number", "null"]}, joining=(None,), fit_field="heritability"),
    "joint_projection": FitKey({"type": "boolean"}, joining=(True,), fit_field="is_joint"),
    # That the people of the public reference are stated to be of the cohort's ancestry, and that the fit
    # takes this into account.
    "same_ancestry": FitKey(
        {"const": True},
        joining=(),
        absent=(False,),
        fit_field="same_ancestry",
        reads=("cohort.source", "public.same_ancestry", "privacy.ld_share"),
    ),
    # The outcomes whose public scores were subtracted before they were clipped.
    "subtracted": FitKey(
        {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/text"}},
        joining=(),
        absent=([],),
        reads=("public.subtract",),
    ),
}


def regression_keys() -> dict[str, FitKey]:
    """Return the keys that stand in the section ``regression``, by name."""
    return {name: key for name, key in FIT_KEYS.items() if not key.reads}


def reads_of_fit() -> list[str]:
    """Return the dotted keys that the values of all keys follow from."""
    return [path for name, key in FIT_KEYS.items() for path in key.reads or (f"regression.{name}",)]


def stated(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that identities, seals and statements have."""
    return {name: setting for name, setting in settings.items() if setting not in FIT_KEYS[name].absent}


def value_of(name: str, fit: Mapping[str, Any]) -> Any:
    """Return the value of a key in settings, or in a fit as a statement has it."""
    return fit[name] if name in fit else FIT_KEYS[name].absent[0]


def regression_of(fit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `regression_keys` in a fit as a statement has it."""
    return {name: value_of(name, fit) for name in regression_keys()}


def further_inputs(fit: Mapping[str, Any]) -> dict[str, str]:
    """Return the public inputs that a statement names for keys without a term, as text by name."""
    further = [name for name, key in regression_keys().items() if key.fit_field is None and name in fit]
    return {f"regression.{name}": str(fit[name]) for name in further}
