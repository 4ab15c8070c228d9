"""Check the table of the weights of covariates in a bundle against its statement."""

import csv
import hashlib
import json
import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from dpgrs.statement.words import COVARIATES_INPUT

FILE, LOADINGS = "covariate_weights.tsv", "pca_loadings.tsv"
COLUMNS = ["outcome", "covariate", "weight", "centre", "scale", "bound"]
STATED_LOADINGS = "loadings of principal components"
BOUND, SCALES = "bound of covariates", "centre and scale of covariates"
FIRST_COMPONENT = "PC1"  # columns of a table come before it
MOST_UNSURE = 10  # columns with the scale of a 0/1 covariate that need be none


def covariate_problems(statement: dict[str, Any], files: dict[str, Path]) -> list[str]:
    """List the errors in the weights of covariates."""
    stated = _stated(statement, COVARIATES_INPUT)
    if bool(stated) != (FILE in files):
        return [f"{FILE} must be there if and only if the statement names covariates"]
    if not stated:
        return [f"{LOADINGS} must not be there without covariates"] if LOADINGS in files else []
    text = files[FILE].read_text(encoding="utf-8", errors="replace")
    try:
        header, *lines = csv.reader(text.splitlines(), delimiter="\t")
    except (ValueError, csv.Error):  # empty, or no table
        header, lines = [], []
    if header != COLUMNS or any(len(line) != len(COLUMNS) for line in lines):
        return [f"{FILE} must have the columns {', '.join(COLUMNS)}"]
    names = list(dict.fromkeys(line[1] for line in lines))
    outcomes = statement["data_domain"]["outcomes"]
    problems = []
    if [line[:2] for line in lines] != [[outcome, name] for outcome in outcomes for name in names]:
        problems.append(f"{FILE} must have a line for every outcome and covariate, in their order")
    if ", ".join(names) != stated[0]:
        problems.append(f"{FILE} must hold the covariates of the statement, {stated[0]}")
    if not all(_is_sound(line[2:]) for line in lines):
        problems.append(f"{FILE} must hold finite numbers, scales and bounds above 0")
    elif not problems:
        problems += _constant_problems(statement, lines[: len(names)])
    constants = {(name, *numbers) for _, name, _, *numbers in lines}
    digests = [hashlib.sha256(files[name].read_bytes()).hexdigest() for name in (LOADINGS,) if name in files]
    if _stated(statement, STATED_LOADINGS) != digests:
        problems.append(f"{LOADINGS} must be there with the digest in the public inputs, or in neither")
    if len(constants) != len(names):
        problems.append(f"{FILE} must give a covariate the same centre, scale and bound for every outcome")
    return problems


def _constant_problems(statement: dict[str, Any], lines: list[list[str]]) -> list[str]:
    """Compare bound, centres and scales, of one outcome's lines, with the public inputs.

    Columns of a table come first, and have constants of the curator; components are scaled by their loadings.
    """
    names = [name for _, name, *_ in lines]
    constants = [(float(centre), float(scale)) for *_, centre, scale, _ in lines]
    # Columns of a table may have the names of components.
    ends = {len(names), *(index for index, name in enumerate(names) if name == FIRST_COMPONENT)}
    of_table = [end for end in ends if {*constants[end:]} <= {(0.0, 1.0)}]
    candidates = [dict(zip(names[:end], constants[:end], strict=True)) for end in of_table]
    stated = _stated(statement, SCALES)
    is_right = {
        BOUND: all(
            _stated(statement, BOUND) == [f"{float(line[-1]):g} standard deviations"] for line in lines
        ),
        SCALES: any(
            stated in [[digest] for digest in _digests(candidate)] if candidate else not stated
            for candidate in candidates
        ),
    }
    return [f"{FILE} must have the {name} as stated" for name, holds in is_right.items() if not holds]


def _digests(constants: dict[str, tuple[float, float]]) -> Iterator[str]:
    """Yield the digests that centres and scales may have: the table does not say which are 0/1."""
    may_be = [name for name, (p, scale) in constants.items() if 0 < p < 1 and scale == math.sqrt(p * (1 - p))]
    for kinds in product([True, False], repeat=min(len(may_be), MOST_UNSURE)):
        is_binary = dict.fromkeys(may_be, True) | dict(zip(may_be, kinds, strict=False))
        values = {name: [*constant, is_binary.get(name, False)] for name, constant in constants.items()}
        yield hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _stated(statement: dict[str, Any], name: str) -> list[str]:
    return [public["value"] for public in statement["public_inputs"] if public["name"] == name]


def _is_sound(cells: list[str]) -> bool:
    try:
        weight, centre, scale, bound = map(float, cells)
    except ValueError:
        return False
    return all(map(math.isfinite, (weight, centre, scale, bound))) and scale > 0 and bound > 0
