"""What a file says of a fit beside its weights, and how long it took."""

import time

# What a label says of a method without privacy.
NO_PRIVACY = dict.fromkeys(["neighbours", "unit", "accounting", "epsilon", "delta"])


def fit_label(method, request, n_outcomes):
    """Return the label of a private fit: its method, the terms of its request and the number of outcomes."""
    terms = {term: request[term] for term in ("protection", *NO_PRIVACY, "n_variants")}
    return {"method": method, "reported": True, "n_outcomes": n_outcomes} | terms


def timed(function, *arguments, **options):
    """Return what a function returns, and the seconds that it took."""
    start = time.perf_counter()
    result = function(*arguments, **options)
    return result, time.perf_counter() - start
