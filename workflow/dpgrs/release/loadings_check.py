"""Check the public loadings of outcomes in a bundle, and that weights follow from those of components.

How many numbers were drawn tells whether they are of outcomes or of components, and of how many.
"""

import csv
import hashlib

import numpy as np

from dpgrs.release.covariate_check import FILE as COVARIATES
from dpgrs.release.draw_check import BY_METHOD, Scope
from dpgrs.release.folder_check import read_text
from dpgrs.release.scoring_check import read_scoring_file

FILE, STATED = "outcome_loadings.tsv", "loadings of the outcomes on components"
CROSS = "cross product"
# Of the largest weight; weights are rounded to ten digits.
TOLERANCE = 1e-8
# Of an outcome's variance of 1, what components carry, but for roundings of loadings that were printed.
LARGEST_SHARE = 1.05


def loadings_problems(statement, files):
    """List what is wrong with the loadings of a bundle in which nothing else is.

    Parameters
    ----------
    statement : dict that fits the schema.
    files : dict of a file's name to its path, of the bundle.

    Returns
    -------
    list of str
    """
    stated = [one["value"] for one in statement["public_inputs"] if one["name"] == STATED]
    held = [hashlib.sha256(files[FILE].read_bytes()).hexdigest()] if FILE in files else []
    if stated != held:
        return [f"{FILE} must be there with the digest in the public inputs, or in neither"]
    if not held:
        return _entry_problems(statement, files, n_drawn=len(statement["data_domain"]["outcomes"]))
    try:
        _, *lines = csv.reader(read_text(files[FILE]).splitlines(), delimiter="\t")
        loadings = {name: list(map(float, own)) for name, *own in lines}
        L = np.array([loadings.pop(name) for name in statement["data_domain"]["outcomes"]])
    except (ValueError, LookupError, csv.Error):
        L = np.empty(0)
    if L.ndim != 2 or loadings or not np.isfinite(L).all():
        return [f"{FILE} must have a line of numbers for each outcome and no other"]
    if np.abs(L).max(initial=0) > LARGEST_SHARE or (L**2).sum(axis=1).max(initial=0) > LARGEST_SHARE:
        return [f"{FILE} must have loadings whose squares add up to at most 1 for an outcome"]
    if problems := _entry_problems(statement, files, n_drawn=L.shape[1]):
        return problems
    scores = [read_scoring_file(files[score["file"]]) for score in statement["scores"]]
    W = np.array([list(map(float, score.numbers)) for score in scores])
    rest = W - L @ np.linalg.lstsq(L, W, rcond=None)[0]
    if not np.abs(rest).max() <= TOLERANCE * np.abs(W).max():
        return ["the weights of the outcomes must be sums of weights of components, by their loadings"]
    return []


def _entry_problems(statement, files, *, n_drawn):
    """Check that products with all variants and covariates were drawn of so many outcomes or components."""
    if not any((one.statistic, one.scope) == (CROSS, Scope.BUDGET) for one in BY_METHOD[statement["method"]]):
        return []
    n_columns = statement["data_domain"]["n_variants"]
    if COVARIATES in files:
        _, *lines = csv.reader(read_text(files[COVARIATES]).splitlines(), delimiter="\t")
        n_columns += len({name for _, name, *_ in lines})
    found = sum(part["entries"] for part in statement["mechanisms"] if part["statistic"] == CROSS)
    if found == n_drawn * n_columns:
        return []
    kind = "components" if FILE in files else "outcomes"
    return [f"the {CROSS}s must be {n_drawn * n_columns} numbers, of {n_drawn} {kind}, got {found}"]
