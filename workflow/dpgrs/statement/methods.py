"""The methods of a release as a statement and its check know them; a test holds them against the registry."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from dpgrs.statement import fit_steps
from dpgrs.types import Protection

FULL, FEATURE, LABEL = Protection.FULL, Protection.FEATURE, Protection.LABEL
RIDGE = ("lambda", "lambda_from")
# The selector of this package.
KENDALL = "kendall"

Step = str | Callable[[dict[str, Any]], str]


@dataclass(frozen=True, kw_only=True)
class StatedMethod:
    """Properties of a method; fields are as in `dpgrs.methods.registry.Method` but for three."""

    # What a statement says of its fit: each a text, or a function of the fit's settings.
    steps: tuple[Step, ...] = ()
    # Whether weights of an outcome always depend on the draws for all outcomes, and whether they never do.
    is_joint: bool = False
    is_separate: bool = False
    protections: tuple[Protection, ...] = (FULL,)
    reads: tuple[str, ...] = field(default=("heritability",))
    draws_from_rows: bool = False
    takes_covariates: bool = False
    takes_outcomes: bool = False
    takes_ld: bool = False
    takes_map: bool = False
    takes_effects: bool = False
    reads_ancestry: bool = False


METHODS = {
    "reusecov-gauss": StatedMethod(
        steps=fit_steps.RIDGE,
        protections=(FULL, FEATURE, LABEL),
        reads=RIDGE,
        takes_covariates=True,
    ),
    "reusecov-proj": StatedMethod(
        steps=fit_steps.PROJECTED,
        protections=(FEATURE, LABEL),
        reads=(*RIDGE, "joint_projection"),
        takes_covariates=True,
        takes_outcomes=True,
    ),
    "reusecov-ellipsoid": StatedMethod(
        steps=fit_steps.IN_ELLIPSOID, reads=(*RIDGE, "joint_projection"), takes_covariates=True
    ),
    "blup": StatedMethod(
        steps=fit_steps.BLUP,
        protections=(FULL, FEATURE, LABEL),
        takes_covariates=True,
        takes_outcomes=True,
        takes_effects=True,
    ),
    "blup-shared": StatedMethod(
        steps=fit_steps.SHARED_BLUP, is_joint=True, protections=(FULL, LABEL), takes_covariates=True
    ),
    "blup-steered": StatedMethod(steps=fit_steps.STEERED_BLUP, is_joint=True),
    "blup-ld": StatedMethod(
        steps=fit_steps.PUBLIC_LD_BLUP, is_joint=True, takes_ld=True, takes_effects=True, reads_ancestry=True
    ),
    "blup-hedged": StatedMethod(steps=fit_steps.HEDGED_BLUP, is_joint=True, takes_ld=True),
    "blup-genome": StatedMethod(
        steps=fit_steps.GENOME,
        is_joint=True,
        takes_ld=True,
        takes_map=True,
        takes_effects=True,
        reads_ancestry=True,
    ),
    "adassp": StatedMethod(steps=fit_steps.ADASSP, is_separate=True, reads=(), takes_covariates=True),
    "k-blup": StatedMethod(steps=fit_steps.CHOSEN_BLUP, is_separate=True, draws_from_rows=True),
}


@cache
def stated_method(name: str) -> StatedMethod | None:
    """Return the properties of a method, also if another installed package adds it; None if unknown."""
    if name in METHODS:
        return METHODS[name]
    # Methods of other packages and those that no release has: no statement of this package loads their rows.
    from dpgrs.methods.registry import METHODS as ROWS

    return _of_row(ROWS[name]) if name in ROWS else None


def _of_row(row: Any) -> StatedMethod:
    """Read a row of the registry, a `dpgrs.methods.registry.Method`."""
    module, _, attribute = (row.steps or "").partition(":")
    copied = {name: getattr(row, name) for name in StatedMethod.__dataclass_fields__ if hasattr(row, name)}
    copied["steps"] = getattr(importlib.import_module(module), attribute) if module else ()
    # Nothing is known about a function of another package.
    functions = (row.mechanism, row.fit, row.of_rows)
    is_unknown = any(":" in function for function in functions if function) or row.selector not in (
        None,
        KENDALL,
    )
    is_joint = is_unknown or row.takes_map or row.is_steered or (row.is_post_processing and row.takes_ld)
    is_separate = row.fits_each_outcome or not (is_joint or row.is_post_processing)
    return StatedMethod(**copied, is_joint=is_joint, is_separate=is_separate)
