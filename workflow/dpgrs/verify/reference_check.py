"""Score public people by what a bundle publishes, and hold the sums over them against its own."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import unpack
from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.io.covariates import Covariates
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.variant_set import VariantSet
from dpgrs.verify.folder_check import read_rows
from dpgrs.verify.scoring_check import column_numbers

if TYPE_CHECKING:
    from dpgrs.verify.scoring_check import ScoringFile

# Sums have 12 digits, weights 10.
TOLERANCE = 1e-6
VARIANTS_AT_ONCE = 1000


def score_people(
    scores: "Sequence[ScoringFile]", covariates: Path | None, folder: Path
) -> tuple[np.ndarray, np.ndarray]:
    """Return outcomes, NaN if missing, and scores without the constant of public people.

    Both are (n_outcomes, n_rows) float64. `covariates` is the table of the weights of covariates; the folder
    has ``variants.zarr``, ``replicate1/outcomes.zarr`` and, with covariates, ``covariates.npz``. People who
    lack a site, or have other outcomes or covariates, are refused.
    """
    variant_set, outcomes = (
        VariantSet.open(folder / "variants.zarr"),
        Outcomes.load(folder / "replicate1" / "outcomes.zarr"),
    )
    if len(outcomes.names) != len(scores) or len(outcomes.values) != 1:
        raise DpgrsError(
            "public-outcomes-missing",
            f"`{folder}` must hold the outcomes of the release, got others. Name its public people.",
        )
    (Y,) = outcomes.values.values()
    variants = variant_set.variants
    keys = zip(
        variants["contig"].astype(str).str.removeprefix("chr"),
        variants["position"].astype(str),
        variants["alt"],
        variants["ref"],
        strict=True,
    )
    columns = {"\t".join(key): column for column, key in enumerate(keys)}
    weights = np.zeros((len(scores), len(variants)))
    for row, score in zip(weights, scores, strict=True):
        site_columns = [columns.get(site, -1) for site in score.sites.splitlines()]
        if -1 in site_columns:
            absent = score.sites.splitlines()[site_columns.index(-1)].replace("\t", ":")
            raise DpgrsError(
                "public-sites-missing", f"`{folder}` must hold every site, got none of {absent}. Add it."
            )
        row[site_columns] = column_numbers(score.numbers)
    s = np.zeros_like(Y)
    for first in range(0, len(variants), VARIANTS_AT_ONCE):
        block = slice(first, first + VARIANTS_AT_ONCE)
        s += weights[:, block] @ _copies(variant_set, block, is_people=outcomes.rows == "people")
    if covariates is not None:
        s += _of_covariates(covariates, Covariates.load(folder / "covariates.npz"))
    return Y, s


def sum_problems(names: Sequence[str], lines: list[list[str]], Y: np.ndarray, s: np.ndarray) -> list[str]:
    """Compare stated sums with the sums that the weights give for the public people of `score_people`."""
    return [
        f"the sums of {name} must be those of its weights and these public people"
        for name, cells, y, score in zip(names, lines, Y, s, strict=True)
        if not _are_sums(list(map(float, cells)), y[np.isfinite(y)], score[np.isfinite(y)])
    ]


def _are_sums(stated: list[float], y: np.ndarray, s: np.ndarray) -> bool:
    summands = np.array([np.ones(len(y)), y, y * y, s, s * s, s * y])
    return bool(
        np.all(np.abs(stated - summands.sum(axis=1)) <= TOLERANCE * (1 + np.abs(summands).sum(axis=1)))
    )


def _copies(variant_set: VariantSet, block: slice, *, is_people: bool) -> np.ndarray:
    """Return copies of ALT, (n_variants, n_rows) float64."""
    if variant_set.has_dosages:
        return variant_set.dosages(block) * DOSAGE_STEP
    alleles = unpack(variant_set.haplotypes(block), variant_set.n_haplotypes).astype(np.float64)
    return alleles[:, 0::2] + alleles[:, 1::2] if is_people else alleles


def _of_covariates(path: Path, covariates: Covariates) -> np.ndarray:
    """Return the part of scores by covariates, (n_outcomes, n_rows), from entries b/B z of a clipped z."""
    header, *lines = read_rows(path)
    weight, scale, bound = (header.index(name) for name in ("weight", "scale", "bound"))
    n = len(covariates.names)
    if [line[1] for line in lines[:n]] != list(covariates.names):
        raise DpgrsError(
            "public-covariates-missing",
            "The public people must have the covariates of the release, got others. Name these.",
        )
    largest = 1 if covariates.rows == "people" else 1 / 2
    per_entry = [float(line[weight]) * float(line[scale]) * float(line[bound]) / largest for line in lines]
    return np.reshape(per_entry, (-1, n)) @ (covariates.units * DOSAGE_STEP)
