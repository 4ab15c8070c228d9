"""What a statement says was done after the noise; a check of it says the same anew."""

import re
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.methods.blup_hedged import share_in_words
from dpgrs.methods.blup_ld import mismatch_in_words
from dpgrs.methods.covariate_regression import STEPS as OF_REGRESSION
from dpgrs.methods.public_effects import correlations_in_words
from dpgrs.methods.registry import METHODS, named
from dpgrs.methods.reusecov import SMALLEST_KNOWN
from dpgrs.study.method_choice import DEFAULT, REASONS, reason_in_words
from dpgrs.types import Missing, Protection

if TYPE_CHECKING:
    from dpgrs.linalg.linear_fit import LinearFit

AT_LEAST_ONE_ROW = "The number of rows is taken as at least 1."
RESCALED = (
    "The number of rows on which an outcome is known is taken as at least 1, at least "
    f"{SMALLEST_KNOWN} standard deviations of its noise, and at most all rows.",
    "X'Y of an outcome is multiplied by the number of rows over those on which it is known.",
)
OF_GENOTYPES = "The number of rows and X'X are those of the public genotypes, without noise."
COUNTED_IN_PUBLIC = "The number of rows with an outcome is that of the public outcomes, at least 1."
BY_OUTCOMES = ("The fit takes the public outcomes themselves.",)
ROUNDED = "Weights are rounded to 10 significant digits."
MAPPED = (
    "What was released is of components of the outcomes, {names}; the weights of these are mapped back to "
    "outcomes by their public loadings."
)
CONSTANT = "The constant of a prediction follows from its weights and from noisy or public means."
START = (
    "The prior mean of effects is that of public files, listed among the public inputs, times a genetic "
    "correlation (docs/explanation/public_effects.md)."
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
OF_ACCURACY = (
    "R^2 = 1 - RSS/TSS and MSE = RSS/n of noisy sums over people held out, TSS about 0.",
    "AUC, R^2 on other scales, odds ratios and calibration of people held out are withheld: no sensitivity "
    "of theirs is proved.",
)


def post_processing(
    method: str,
    fit: dict,
    *,
    protection: Protection | str,
    missing_outcomes: Missing | str | None,
    choice: Sequence[str] = (),
    components: Sequence[str] = (),
    found: Sequence[str] = (),
    has_accuracy: bool = False,
    is_adjusted: bool = False,
    has_moments: bool = False,
) -> list[str]:
    """List the post-processing of the draws, in words.

    `fit` are the settings of the fit as a statement has them, `choice` is from `choice_in_words`,
    `components` are those that were released in place of outcomes, `found` is from `found_in_words`,
    `has_accuracy` is whether accuracy was drawn, `is_adjusted` whether a regression on covariates came
    before, and `has_moments` whether second moments of rows were drawn.
    """
    row, counts = METHODS[method], ()
    if protection == Protection.FEATURE:
        counts = (COUNTED_IN_PUBLIC, RESCALED[1], *(BY_OUTCOMES if row.takes_outcomes else ()))
    else:
        is_public, is_counted = protection == Protection.LABEL, missing_outcomes == Missing.COUNTED
        counts = (OF_GENOTYPES if is_public else AT_LEAST_ONE_ROW, *(RESCALED if is_counted else ()))
    return [
        *choice,
        *(OF_REGRESSION if is_adjusted else ()),
        *counts,
        *(
            step({**fit, "method": method, "has_moments": has_moments}) if callable(step) else step
            for step in named(row.steps)
        ),
        ROUNDED,
        CONSTANT,
        *([MAPPED.format(names=", ".join(components))] if components else ()),
        *found,
        *(OF_ACCURACY if has_accuracy else ()),
    ]


def found_in_words(fitted: "LinearFit", names: Sequence[str]) -> tuple[str, ...]:
    """Return what a fit found out about the public files that it used, in words."""
    lines = () if fitted.mismatch is None else (mismatch_in_words(fitted.mismatch),)
    if fitted.public_share is not None:
        lines += (share_in_words(fitted.public_share),)
    if fitted.correlations is None:
        return lines
    return (*lines, START, correlations_in_words(names, fitted.correlations))


def is_post_processing(
    said: list[str], method: str, fit: dict, *, outcomes: Sequence[str], **known: Any
) -> bool:
    """Return whether a list is as `post_processing` gives it, whatever chose the method and a fit found."""
    is_chosen = method in REASONS and method != DEFAULT and said[:1] == [reason_in_words(method)]
    known |= {"choice": said[:is_chosen], "found": _found_of(said, method, fit, outcomes)}
    return said == post_processing(method, fit, **known)


def _found_of(said: list[str], method: str, fit: dict, outcomes: Sequence[str]) -> list[str]:
    """Return the lines that a fit may have found out, each once, as written but for their numbers."""
    kinds = []
    if METHODS[method].takes_ld:
        kinds += [[mismatch_in_words(one) for one in product((0, 0.5), repeat=2)], [share_in_words(0.5)]]
    if "effects" in fit:
        kinds += [[START], [correlations_in_words(outcomes, np.full(len(outcomes), 0.5))]]
    forms = [set(map(_form, texts)) for texts in kinds]
    return [line for form in forms for line in [line for line in said if _form(line) in form][:1]]


def _form(line: str) -> str:
    """Return a line but for its numbers, digits in names too; in time of its length, whatever it is."""
    return NUMBER.sub("#", line)
