"""Check how many numbers were drawn, and the public loadings of outcomes: weights follow from components.

How many numbers were drawn tells whether they are of outcomes or of components, and of how many.
"""

from pathlib import Path
from typing import Any

import numpy as np

from dpgrs.statement.draws import (
    ACCURACY,
    CASES,
    CHOICE,
    COUNT,
    CROSS,
    EIGENVALUE,
    GENOME,
    GRAM,
    KNOWN,
    MOMENTS,
    SUBSET,
)
from dpgrs.statement.methods import stated_method
from dpgrs.types import Rows
from dpgrs.verify.covariate_check import FILE as COVARIATES
from dpgrs.verify.covariate_check import is_adjusted, stated_inputs, stated_values
from dpgrs.verify.folder_check import file_digest, read_rows
from dpgrs.verify.scoring_check import column_numbers, read_scoring_file

FILE, STATED = "outcome_loadings.tsv", "loadings of the outcomes on components"
# A public input where rows are clipped in `frequency` coding.
ROW_NORM = "norm of a row of genotypes"
KINDS = ("outcomes", "components")  # without and with loadings
# Components of ancestry, along which sums of a genome are taken, too.
MOST_AXES = 32
SUMS_OF_ACCURACY = 3  # of an outcome: rows, and squares with and without the prediction
# A share of the largest weight of an outcome; weights are rounded to ten digits.
TOLERANCE = 1e-8
# The largest share of an outcome's variance in components, with room for rounded loadings.
LARGEST_SHARE = 1.05


def entry_problems(statement: dict[str, Any], files: dict[str, Path]) -> list[str]:
    """List errors in the loadings and the sizes of draws of a bundle that has no other errors."""
    digests = [file_digest(files[FILE])] if FILE in files else []
    if stated_values(statement, STATED) != digests:
        return [f"{FILE} must be there with the digest in the public inputs, or in neither"]
    if not digests:
        return _size_problems(statement, files, n_drawn=len(statement["data_domain"]["outcomes"]))
    try:
        _, *lines = read_rows(files[FILE])
        loadings = {name: list(map(float, cells)) for name, *cells in lines}
        L = np.array([loadings.pop(name) for name in statement["data_domain"]["outcomes"]])
    except (ValueError, LookupError):
        L = np.empty(0)
    if L.ndim != 2 or loadings or not np.isfinite(L).all():
        return [f"{FILE} must have a line of numbers for each outcome and no other"]
    if np.abs(L).max(initial=0) > LARGEST_SHARE or (L**2).sum(axis=1).max(initial=0) > LARGEST_SHARE:
        return [f"{FILE} must have loadings whose squares add up to at most 1 for an outcome"]
    if problems := _size_problems(statement, files, n_drawn=L.shape[1]):
        return problems
    scores = (read_scoring_file(files[score["file"]]) for score in statement["scores"])
    W = np.array([column_numbers(score.numbers) for score in scores])
    if not _are_sums(W, L):
        return ["the weights of the outcomes must be sums of weights of components, by their loadings"]
    return []


def _are_sums(W: np.ndarray, L: np.ndarray) -> bool:
    """Return whether weights of each outcome are sums of weights of components by its row of loadings."""
    # Otherwise huge weights of one outcome would hide errors in the others.
    largest = np.abs(W).max(axis=1, keepdims=True)
    largest[largest == 0] = 1
    with np.errstate(all="ignore"):
        W, L = W / largest, L / largest
        L = L / np.maximum(np.abs(L).max(axis=0), np.finfo(float).tiny)  # the sums are the same
    if not np.isfinite(L).all():
        return False
    return bool(np.abs(W - L @ np.linalg.lstsq(L, W, rcond=None)[0]).max() <= TOLERANCE)


def choices_of(statement: dict[str, Any]) -> dict[str, int]:
    """Return how many variants the method chose for an outcome, by name; empty if it takes all."""
    return {mechanism["outcome"]: mechanism["n_choices"] for mechanism in choice_parts(statement)}


def choice_parts(statement: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the mechanisms that choose variants for a method."""
    row = stated_method(statement["method"])
    draws = row.draws if row else ()
    choices = {(line.statistic, line.family) for line in draws if line.family in (CHOICE, SUBSET)}
    return [
        mechanism
        for mechanism in statement["mechanisms"]
        if (mechanism["statistic"], mechanism["mechanism"]) in choices
    ]


def components_of(files: dict[str, Path]) -> list[str]:
    """Return the names of the components of a bundle whose loadings are sound; none without loadings."""
    return read_rows(files[FILE])[0][1:] if FILE in files else []


def columns_of(statement: dict[str, Any], files: dict[str, Path]) -> int:
    """Return how many columns the rows of X have: variants, and covariates that are no regression's."""
    n_covariates = 0 if is_adjusted(statement) else len(covariates_of(files))
    return statement["data_domain"]["n_variants"] + n_covariates


def covariates_of(files: dict[str, Path]) -> list[str]:
    """Return the names of the covariates of a bundle whose table is sound; none without one."""
    _, *lines = read_rows(files[COVARIATES]) if COVARIATES in files else [[]]
    return list(dict.fromkeys(name for _, name, *_ in lines))


def _directions(entries: int, n_outcomes: int, n_columns: int) -> int:
    """Return how many directions of a genome so many numbers are of, at most as many as there can be."""
    return min(max(entries // n_outcomes, 1), n_columns + MOST_AXES)


def _moments(entries: int, statement: dict[str, Any]) -> int:
    """Return of how many pairs of directions so many numbers are, at most as many as there can be.

    Each direction of a block makes a pair with itself. Axes are in no pair.
    """
    n_directions = min(
        (
            mechanism["entries"] // (1 if mechanism["outcome"] else len(statement["data_domain"]["outcomes"]))
            for mechanism in statement["mechanisms"]
            if mechanism["statistic"] == GENOME
        ),
        default=0,
    )
    most = n_directions * (n_directions + 1) // 2
    return min(max(entries, n_directions - MOST_AXES, 1), most)


def _size_problems(statement: dict[str, Any], files: dict[str, Path], *, n_drawn: int) -> list[str]:
    """Check how many numbers draws are; X'Y and counts are of `n_drawn` outcomes or components."""
    n_columns, n_outcomes = columns_of(statement, files), len(statement["data_domain"]["outcomes"])
    # The upper triangle with the intercept, whose square is public; of alleles in two codes all squares are.
    is_coded = ROW_NORM in stated_inputs(statement)
    has_squares = is_coded or statement["guarantee"]["rows"] == Rows.PEOPLE
    chosen = choices_of(statement)
    expected_statistics = {draws.statistic for draws in (*stated_method(statement["method"]).draws, ACCURACY)}
    problems = []
    for mechanism in statement["mechanisms"]:
        # A draw is of one outcome, or of all.
        is_own = mechanism["outcome"] is not None
        columns = chosen.get(mechanism["outcome"], n_columns)
        each = "of one outcome" if is_own else f"of {n_drawn} {KINDS[FILE in files]}"
        n_own = 1 if is_own else n_drawn
        sizes = {
            COUNT.statistic: (1, "of all rows"),
            KNOWN: (n_own, each),
            CASES: (n_own, each),
            CROSS: (n_own * columns, each),
            GRAM.statistic: (columns * (columns + (3 if has_squares else 1)) // 2, "a triangle"),
            EIGENVALUE: (1, "of X'X"),
            GENOME: (n_own * _directions(mechanism["entries"], n_own, n_columns), each),
            MOMENTS: (_moments(mechanism["entries"], statement), "of pairs of directions"),
            ACCURACY.statistic: (SUMS_OF_ACCURACY * (1 if is_own else n_outcomes), "of its outcomes"),
        }
        name = mechanism["statistic"]
        if name in sizes and name in expected_statistics and mechanism["entries"] != sizes[name][0]:
            number, words = sizes[name]
            problems.append(f"the {name} must be {number} numbers, {words}, got {mechanism['entries']}")
    return problems
