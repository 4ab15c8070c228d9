"""The public constants that standardise outcomes and covariates."""

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dpgrs.errors import DpgrsError, listed
from dpgrs.io.tables.tables import (
    find_column,
    header_of,
    numbers_of,
    plain_name,
    rows_of,
)

CONSTANTS = ["centre", "scale", "is_binary", "origin", "population_prevalence"]
SMALLEST_SCALE, LARGEST_CONSTANT = 1e-100, 1e100
SCALE_COLUMNS = {
    "name": {"outcome", "covariate", "phenotype", "name"},
    "centre": {"centre", "center", "mean"},
    "scale": {"scale", "sd"},
    "prevalence": {"prevalence"},
    "origin": {"origin", "source"},
    "population": {"population_prevalence"},
}


def read_scales(path: Path | str, *, kind: str = "outcome") -> pd.DataFrame:
    """Return the public constants that standardise outcomes, or covariates, indexed by their names.

    The file has a line an outcome: `outcome` (or `covariate`, by `kind`), its name; `centre` and `scale` of a
    quantitative one, or `prevalence` p of a binary one, whose centre is p and whose scale is sqrt(p (1 - p));
    perhaps `origin`, where the constants come from, and `population_prevalence` of a 0/1 one whose cohort has
    another share of cases than the population.

    Columns of the result: centre, scale, is_binary, origin and population_prevalence, which is the prevalence
    if the population's is not stated, and NaN if neither is. An outcome twice, or without one of both forms,
    is refused.
    """
    rows = rows_of(path)
    header = [plain_name(name) for name in header_of(rows, path)]
    columns = {name: find_column(header, aliases) for name, aliases in SCALE_COLUMNS.items()}
    if columns["name"] is None:
        raise DpgrsError(
            "scale-column-missing",
            f"`{path}`, line 1: the column `{kind}` must be there. Name it in the first line.",
        )
    lines, scales = {}, []
    for line, cells in rows:
        cell = {name: "" if column is None else cells[column] for name, column in columns.items()}
        if cell["name"] in lines or not cell["name"]:
            got = f"that of line {lines[cell['name']]}" if cell["name"] else "none"
            raise DpgrsError(
                "scale-named-twice",
                f"`{path}`, line {line}: must name each {kind} once, got {got}. Correct it.",
            )
        lines[cell["name"]] = line
        scales.append(_scale(cell, path, line))
    return pd.DataFrame(scales, index=pd.Index(list(lines), name=kind, dtype=str), columns=CONSTANTS)


def binary_constants(names: Sequence[str], prevalence: float) -> pd.DataFrame:
    """Return constants, as from `constants_of`, of simulated 0/1 outcomes of one prevalence."""
    constants = (prevalence, math.sqrt(prevalence * (1 - prevalence)), True, "simulated", prevalence)
    index = pd.Index(list(names), name="outcome", dtype=str)
    return pd.DataFrame([constants] * len(index), index=index, columns=CONSTANTS)


def constants_of(
    names: Sequence[str], scales: pd.DataFrame, *, path: Path | str, kind: str = "outcome"
) -> pd.DataFrame:
    """Return the constants of outcomes in their order, from `read_scales`; refuse an outcome without them."""
    unknown = [name for name in names if name not in scales.index]
    if unknown:
        raise DpgrsError(
            "scale-missing",
            f"`{path}` must have a line for every {kind}, got none for {listed(unknown)}. "
            "Add centre and scale, or a prevalence.",
        )
    return scales.loc[list(names)]


def scales_digest(constants: pd.DataFrame) -> str:
    """Return the SHA-256 of public constants, in whatever order of lines, without where they come from."""
    values = constants[["centre", "scale", "is_binary"]].T.to_dict("list")
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _scale(cell: dict[str, str], path: Path | str, line: int) -> tuple[Any, ...]:
    """Return centre, scale, is_binary, origin and the population's prevalence of one line."""
    number = {}
    for name in ("centre", "scale", "prevalence", "population"):
        number[name] = float(numbers_of([cell[name]], [name], path, line)[0])
    is_binary = not math.isnan(number["prevalence"])
    is_given = [not math.isnan(number[name]) for name in ("centre", "scale")]
    if any(is_given) if is_binary else not all(is_given):
        raise DpgrsError(
            "scale-incomplete",
            f"`{path}`, line {line}: must have centre and scale, or prevalence alone (-9 is missing). Give "
            "one of the two.",
        )
    for name, column in (("prevalence", "prevalence"), ("population", "population_prevalence")):
        if not (math.isnan(number[name]) or SMALLEST_SCALE <= number[name] < 1):
            raise DpgrsError(
                "scale-prevalence-out-of-range",
                f"`{path}`, line {line}: the {column} must be between 0 and 1. Correct it.",
            )
    if not is_binary and not (
        SMALLEST_SCALE <= number["scale"] <= LARGEST_CONSTANT and abs(number["centre"]) <= LARGEST_CONSTANT
    ):
        raise DpgrsError(
            "constant-out-of-range",
            f"`{path}`, line {line}: the scale must be from {SMALLEST_SCALE} to {LARGEST_CONSTANT}, and the "
            "centre no larger. Correct it, or give values in another unit.",
        )
    p = number["prevalence"]
    # A centre written as -0 is 0, also in the digest.
    constants = (p, math.sqrt(p * (1 - p))) if is_binary else (number["centre"] + 0.0, number["scale"])
    population = p if math.isnan(number["population"]) else number["population"]
    return *constants, is_binary, cell["origin"], population
