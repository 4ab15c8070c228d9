"""The label of a fit in its file, beside the weights, and the run time of the fit."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpgrs.types import Protection

if TYPE_CHECKING:
    from dpgrs.linalg.linear_fit import LinearFit
    from dpgrs.methods.requests import PrivacyRequest

# The privacy terms in the label of a method without privacy.
NO_PRIVACY = dict.fromkeys(["neighbours", "unit", "accounting", "epsilon", "delta"])


def fit_label(method: str, request: "PrivacyRequest", n_outcomes: int) -> dict:
    """Return the label of a private fit: its method, the terms of its request and the number of outcomes."""
    request_fields = {field: request[field] for field in ("protection", *NO_PRIVACY, "n_variants")}
    return {"method": method, "reported": True, "n_outcomes": n_outcomes} | request_fields


def exact_label(method: str, n_variants: int, n_outcomes: int) -> dict[str, Any]:
    """Return the label of a fit without privacy."""
    label = {"method": method, "protection": str(Protection.NONE), **NO_PRIVACY, "reported": True}
    return label | {"n_variants": n_variants, "n_outcomes": n_outcomes}


def timed(
    function: Callable, *arguments: Any, **options: Any
) -> "tuple[LinearFit | tuple[dict, dict], float]":
    """Return what a function returns, and the seconds that it took."""
    start = time.perf_counter()
    output = function(*arguments, **options)
    return output, time.perf_counter() - start
