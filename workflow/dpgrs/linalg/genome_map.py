"""A public linear map of a whole genome: what a private pass sums along, and what a fit needs of it.

Rows of a person on chromosome c are z = [sqrt(q_f) f ; T_b (x_b - B_b f)] for its LD blocks b, with
T_b = diag(sqrt q) V' Sigma_b^-1/2 diag(1/sqrt(2 p (1 - p))). The axes f = A (x - a), of unit variance, are
components of ancestry, and one chromosome carries them. Dosages x are in units of 2^-12, and so are their
centres a_j = rint(2^12 2 p_j). All of it is public: `dpgrs.linalg.genome_prior` makes it from a reference
panel.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

# Dosages, axes and effects of axes; entries of T, loadings and gains.
DOSAGE_STEP, MAP_STEP = 2.0**-12, 2.0**-24


@dataclass(frozen=True, eq=False)
class LdBlock:
    """A linkage block: a public linear map of its variants, and what a fit needs of it."""

    first: int  # its variants among the chromosome's are first to stop - 1
    stop: int
    matrix: np.ndarray  # (n_directions, n_variants) int64, T_b in units of `MAP_STEP`
    shares: np.ndarray  # (n_directions,) float64 > 0, q_k: shares of the mean square of a row
    # (n_directions,) float64, p_k: the prior variance of V' Sigma^1/2 theta along each direction, where the
    # whole genome explains h2 of a phenotype's variance of 1.
    variances: np.ndarray
    vectors: np.ndarray  # (n_variants, n_directions) float64, V: eigenvectors of Sigma^1/2 Q Sigma^1/2
    # (n_variants, n_variants) float64 symmetric, Sigma^1/2: Sigma is the covariance of x - B f over
    # `deviations`.
    root: np.ndarray
    deviations: np.ndarray  # (n_variants,) float64 > 0, sqrt(2 p (1 - p))
    heritability: float  # h2_b, of the block; h2_b/n_panel is what the panel's chance adds to each entry

    @property
    def columns(self) -> slice:
        """The variants of the block among the chromosome's."""
        return slice(self.first, self.stop)

    @cached_property
    def loadings(self) -> np.ndarray:
        """Sigma^1/2 V, (n_variants, n_directions) float64: the mean of an entry is loadings' theta."""
        return self.root @ self.vectors


@dataclass(frozen=True, eq=False)
class ChromosomeMap:
    """The LD blocks of a chromosome, in order and without gaps, and its part of the axes."""

    contig: str
    centre: np.ndarray  # (n_variants,) int64, a_j = rint(2^12 2 p_j)
    blocks: tuple[LdBlock, ...]
    axis_effects: np.ndarray  # (n_variants, n_axes) int64, B in units of `DOSAGE_STEP`
    # (n_axes,) int64, sqrt(q_f) in units of `MAP_STEP`, 0 for an axis whose share is 0; empty in all
    # chromosomes but the one that carries the axes.
    axis_gains: np.ndarray
    row_norm: float  # R_c, R_c^2 = sum of the shares of the chromosome, with those of its axes
    pruned: np.ndarray  # (n_pruned,) int64, ascending: the variants of which axes are made
    axis_loadings: np.ndarray  # (n_pruned, n_axes) int64, A of these variants in units of `MAP_STEP`

    @property
    def n_variants(self) -> int:
        """The number of variants of the chromosome."""
        return len(self.centre)

    @property
    def n_directions(self) -> int:
        """The length of z, also the number of entries of S: axes first, then block after block."""
        return len(self.axis_gains) + sum(len(block.matrix) for block in self.blocks)

    def entries(self) -> Iterator[slice]:
        """Yield the places of each block's directions among the entries of S of this chromosome."""
        first = len(self.axis_gains)
        for block in self.blocks:
            yield slice(first, first + len(block.matrix))
            first += len(block.matrix)


@dataclass(frozen=True, eq=False)
class GenomeMap:
    """Public linear maps of all chromosomes, with one level of noise, and the clip that goes with them."""

    chromosomes: tuple[ChromosomeMap, ...]
    n_panel: int  # people of the reference panel
    level: float  # c, of q_k = max(0, c p_k - tau)/(p_k + v/n + h2_b/n_panel)
    clip: float  # C, the norm at which a row of phenotypes is clipped, in their standard deviations
    axis_shares: np.ndarray  # (n_axes,) float64 >= 0, q_f
    axis_variances: np.ndarray  # (n_axes,) float64, their p
    # Whether a person's rows of all chromosomes are clipped together, at the root of the sum of R_c^2, which
    # is 1; otherwise the row of each chromosome is clipped at its R_c.
    is_clipped_jointly: bool
    # (n_chromosomes,) float64 in (0, 1], by what the clip shortens effects, estimated from the panel's
    # people; fits divide S by it.
    attenuations: np.ndarray

    @property
    def n_axes(self) -> int:
        """The number k of components of ancestry."""
        return len(self.axis_shares)

    @property
    def n_variants(self) -> int:
        """The number of variants of the genome."""
        return sum(chromosome.n_variants for chromosome in self.chromosomes)

    @property
    def n_directions(self) -> int:
        """The number K of entries of S for one phenotype."""
        return sum(chromosome.n_directions for chromosome in self.chromosomes)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that the private pass and the draw use."""
        total = hashlib.sha256(
            json.dumps([float(self.clip).hex(), self.n_axes, self.is_clipped_jointly]).encode()
        )
        for chromosome in self.chromosomes:
            bounds = [(block.first, block.stop) for block in chromosome.blocks]
            head = [chromosome.contig, float(chromosome.row_norm).hex(), bounds]
            total.update(json.dumps(head).encode())
            arrays = [chromosome.centre, chromosome.axis_effects, chromosome.axis_gains]
            arrays += [chromosome.pruned, chromosome.axis_loadings]
            for array in (*arrays, *(block.matrix for block in chromosome.blocks)):
                total.update(json.dumps(array.shape).encode())
                total.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return total.hexdigest()


def genome_axes(loadings: Iterable[np.ndarray], dosages: Iterable[np.ndarray]) -> np.ndarray:
    """Return the axes f = rint(A (x - a)) of people, (n_people, n_axes) int64 in units of `DOSAGE_STEP`.

    Both are by chromosome: (n_pruned, n_axes) int64 A, and (n_people, n_pruned) x - a of the pruned variants,
    whole numbers in units of `DOSAGE_STEP`.
    """
    sums = sum(x.astype(np.int64) @ A for A, x in zip(loadings, dosages, strict=True))
    half = round(1 / MAP_STEP) // 2
    return (sums + half) // (2 * half)


def mapped_rows(
    chromosome: ChromosomeMap,
    dosages: np.ndarray,  # (n_people, n_variants) x - a, whole numbers in units of `DOSAGE_STEP`
    axes: np.ndarray,  # (n_people, n_axes) int64, of `genome_axes`
) -> np.ndarray:
    """Return the rows z of people on a chromosome before their clip, (n_people, n_directions) float64."""
    x = dosages.astype(np.float64) * DOSAGE_STEP
    if axes.shape[1]:
        x -= axes * DOSAGE_STEP @ (chromosome.axis_effects * DOSAGE_STEP).T
    of_axes = axes[:, : len(chromosome.axis_gains)] * DOSAGE_STEP * (chromosome.axis_gains * MAP_STEP)
    return np.hstack(
        [of_axes, *(x[:, block.columns] @ block.matrix.T * MAP_STEP for block in chromosome.blocks)]
    )


def chromosome_arrays(chromosome: ChromosomeMap) -> dict[str, Any]:
    """Return a ChromosomeMap as arrays and numbers by name, of which `chromosome_of` makes it again.

    What only a fit uses has single precision, to which `dpgrs.linalg.genome_prior` rounds it.
    """
    arrays = {field.name: getattr(chromosome, field.name) for field in fields(chromosome)}
    arrays |= {"blocks": len(chromosome.blocks)}
    for number, block in enumerate(chromosome.blocks):
        stored = {field.name: getattr(block, field.name) for field in fields(block)}
        # Eigenvectors and roots are rounded when they are made: single precision loses nothing.
        stored |= {name: stored[name].astype(np.float32) for name in ("vectors", "root")}
        arrays |= {f"block{number}_{name}": value for name, value in stored.items()}
    return arrays


def chromosome_of(arrays: Mapping[str, Any]) -> ChromosomeMap:
    """Return the ChromosomeMap of what `chromosome_arrays` gave."""
    blocks = []
    for number in range(int(arrays["blocks"])):
        stored = {field.name: arrays[f"block{number}_{field.name}"] for field in fields(LdBlock)}
        stored |= {name: stored[name].astype(np.float64) for name in ("vectors", "root")}
        stored |= {"first": int(stored["first"]), "stop": int(stored["stop"])}
        stored["heritability"] = float(stored["heritability"])
        blocks.append(LdBlock(**stored))
    whole = {field.name: arrays[field.name] for field in fields(ChromosomeMap)}
    whole |= {"contig": str(whole["contig"]), "blocks": tuple(blocks), "row_norm": float(whole["row_norm"])}
    return ChromosomeMap(**whole)
