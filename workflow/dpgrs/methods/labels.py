"""What a file says of a fit beside its weights, and how long it took."""

import time

from dpgrs.types import Protection

# What a label says of a method without privacy.
NO_PRIVACY = dict.fromkeys(["neighbours", "unit", "accounting", "epsilon", "delta"])


def fit_label(method, request, n_outcomes):
    """Return the label of a private fit: its method, the terms of its request and the number of outcomes."""
    terms = {term: request[term] for term in ("protection", *NO_PRIVACY, "n_variants")}
    return {"method": method, "reported": True, "n_outcomes": n_outcomes} | terms


def exact_label(method, n_variants, n_outcomes):
    """Return the label of a fit without privacy."""
    label = {"method": method, "protection": str(Protection.NONE), **NO_PRIVACY, "reported": True}
    return label | {"n_variants": n_variants, "n_outcomes": n_outcomes}


def timed(function, *arguments, **options):
    """Return what a function returns, and the seconds that it took."""
    start = time.perf_counter()
    result = function(*arguments, **options)
    return result, time.perf_counter() - start
