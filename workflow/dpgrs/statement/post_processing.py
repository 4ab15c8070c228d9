"""What a statement says was done after the noise; a check of it says the same anew."""

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from dpgrs.statement.findings import (
    causes_in_words,
    correlations_in_words,
    mismatch_in_words,
    share_in_words,
)
from dpgrs.statement.fit_steps import COVARIATE_REGRESSION
from dpgrs.statement.method_choice import DEFAULT, REASONS, reason_in_words
from dpgrs.statement.methods import stated_method
from dpgrs.types import Missing, Protection

AT_LEAST_ONE_ROW = "The number of rows is taken as at least 1."
RESCALED = (
    "The number of rows on which an outcome is known is taken as at least 1, at least 3 standard deviations "
    "of its noise, and at most all rows.",
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
    fit: dict[str, Any],
    *,
    protection: Protection | str,
    missing_outcomes: Missing | str | None,
    choice: Sequence[str] = (),
    components: Sequence[str] = (),
    fit_findings: Sequence[str] = (),
    has_accuracy: bool = False,
    is_adjusted: bool = False,
    has_moments: bool = False,
) -> list[str]:
    """List the post-processing of the draws, in words.

    `fit` are the settings of the fit as a statement has them, `choice` says why `methods: auto` took the
    method, `components` are released instead of outcomes if there are any, `fit_findings` say what the fit
    found out about public files. The others say whether accuracy was drawn, whether a regression on
    covariates came before, and whether second moments of rows were drawn.
    """
    stated, counts = stated_method(method), ()
    if protection == Protection.FEATURE:
        counts = (COUNTED_IN_PUBLIC, RESCALED[1], *(BY_OUTCOMES if stated.takes_outcomes else ()))
    else:
        is_public, is_counted = protection == Protection.LABEL, missing_outcomes == Missing.COUNTED
        counts = (OF_GENOTYPES if is_public else AT_LEAST_ONE_ROW, *(RESCALED if is_counted else ()))
    return [
        *choice,
        *(COVARIATE_REGRESSION if is_adjusted else ()),
        *counts,
        *(
            step({**fit, "method": method, "has_moments": has_moments}) if callable(step) else step
            for step in stated.words
        ),
        ROUNDED,
        CONSTANT,
        *([MAPPED.format(names=", ".join(components))] if components else ()),
        *fit_findings,
        *(OF_ACCURACY if has_accuracy else ()),
    ]


def is_post_processing(
    lines: list[str], method: str, fit: dict[str, Any], *, outcomes: Sequence[str], **options: Any
) -> bool:
    """Return whether a list is as `post_processing` gives it, whatever chose the method and a fit found."""
    is_chosen = method in REASONS and method != DEFAULT and lines[:1] == [reason_in_words(method)]
    options |= {"choice": lines[:is_chosen], "fit_findings": _found_of(lines, method, fit, outcomes)}
    return lines == post_processing(method, fit, **options)


def _found_of(lines: list[str], method: str, fit: dict[str, Any], outcomes: Sequence[str]) -> list[str]:
    """Return the lines that a fit may have found out, each once, as written but for their numbers."""
    kinds = []
    if stated_method(method).takes_ld:
        kinds += [
            [mismatch_in_words(mismatch) for mismatch in product((0, 0.5), repeat=2)],
            [share_in_words(0.5)],
        ]
    if stated_method(method).takes_map:
        kinds += [[causes_in_words(1)]]
    if "effects" in fit:
        kinds += [[START], [correlations_in_words(outcomes, np.full(len(outcomes), 0.5))]]
    forms = [set(map(_form, texts)) for texts in kinds]
    return [line for form in forms for line in [line for line in lines if _form(line) in form][:1]]


def _form(line: str) -> str:
    """Return a line but for its numbers, digits in names too; in time of its length, whatever it is."""
    return NUMBER.sub("#", line)
