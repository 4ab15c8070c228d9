"""Check how many numbers were drawn, and the public loadings of outcomes: weights follow from components.

How many numbers were drawn tells whether they are of outcomes or of components, and of how many.
"""

import csv
import hashlib
from collections import Counter

import numpy as np

from dpgrs.release.covariate_check import FILE as COVARIATES
from dpgrs.release.draw_check import ACCURACY, BY_METHOD, COUNT, GRAM, KNOWN, Scope
from dpgrs.release.folder_check import read_text
from dpgrs.release.scoring_check import read_scoring_file
from dpgrs.types import Rows

FILE, STATED = "outcome_loadings.tsv", "loadings of the outcomes on components"
CROSS = "cross product"
# A public input where rows are clipped in `frequency` coding.
ROW_NORM = "norm of a row of genotypes"
KINDS = ("outcomes", "components")  # without and with loadings
SUMS_OF_ACCURACY = 3  # of an outcome: rows, and squares with and without the prediction
# Of the largest weight; weights are rounded to ten digits.
TOLERANCE = 1e-8
# Of an outcome's variance of 1, what components carry, but for roundings of loadings that were printed.
LARGEST_SHARE = 1.05


def entry_problems(statement, files):
    """List what is wrong with the loadings, or the size of a draw, of a bundle in which nothing else is.

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
        return _size_problems(statement, files, n_drawn=len(statement["data_domain"]["outcomes"]))
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
    if problems := _size_problems(statement, files, n_drawn=L.shape[1]):
        return problems
    scores = [read_scoring_file(files[score["file"]]) for score in statement["scores"]]
    W = np.array([list(map(float, score.numbers)) for score in scores])
    rest = W - L @ np.linalg.lstsq(L, W, rcond=None)[0]
    if not np.abs(rest).max() <= TOLERANCE * np.abs(W).max():
        return ["the weights of the outcomes must be sums of weights of components, by their loadings"]
    return []


def _size_problems(statement, files, *, n_drawn):
    """Check of how many numbers draws are, X'Y and counts of outcomes of so many outcomes or components."""
    n_columns, n_outcomes = statement["data_domain"]["n_variants"], len(statement["data_domain"]["outcomes"])
    if COVARIATES in files:
        _, *lines = csv.reader(read_text(files[COVARIATES]).splitlines(), delimiter="\t")
        n_columns += len({name for _, name, *_ in lines})
    # The upper triangle with the intercept, whose square is public; of alleles in two codes all squares are.
    is_coded = any(one["name"] == ROW_NORM for one in statement["public_inputs"])
    has_squares = is_coded or statement["guarantee"]["rows"] == Rows.PEOPLE
    triangle = n_columns * (n_columns + (3 if has_squares else 1)) // 2
    each = f"of {n_drawn} {KINDS[FILE in files]}"
    wanted = {
        (COUNT.statistic, Scope.ALL): (1, "of all rows"),
        (KNOWN, Scope.BUDGET): (n_drawn, each),
        (KNOWN, Scope.EACH): (n_outcomes, each),
        (CROSS, Scope.BUDGET): (n_drawn * n_columns, each),
        (GRAM.statistic, Scope.ALL): (triangle, "a triangle"),
        (ACCURACY.statistic, ACCURACY.scope): (SUMS_OF_ACCURACY * n_outcomes, f"of {n_outcomes} outcomes"),
    }
    if not any("n_choices" in part for part in statement["mechanisms"]):
        wanted |= {
            (CROSS, Scope.EACH): (n_outcomes * n_columns, each),
            (GRAM.statistic, Scope.EACH): (n_outcomes * triangle, "a triangle of each outcome"),
        }
    known = {(one.statistic, one.scope) for one in (*BY_METHOD[statement["method"]], ACCURACY)}
    drawn = Counter()
    for part in statement["mechanisms"]:
        drawn[part["statistic"]] += part["entries"]
    return [
        f"the {name} must be {number} numbers, {words}, got {drawn[name]}"
        for (name, scope), (number, words) in wanted.items()
        if (name, scope) in known and name in drawn and drawn[name] != number
    ]
