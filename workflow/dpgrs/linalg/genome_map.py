"""A public linear map of a whole genome: what a private pass sums along, and what a fit needs of it.

Rows of a person on chromosome c are z = [sqrt(q_f) f ; T_b (x_b - B_b f)] for its LD blocks b, with
T_b = diag(sqrt q) V' Sigma_b^-1/2 diag(1/sqrt(2 p (1 - p))). The axes f = A (x - a), of unit variance, are
components of ancestry, and one chromosome carries them. Dosages x are in units of 2^-12, and so are their
centres a_j = rint(2^12 2 p_j). All of it is public: `dpgrs.linalg.genome_prior` makes it from a reference
panel.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

# Dosages, axes and effects of axes; entries of T, loadings and gains.
DOSAGE_STEP, MAP_STEP = 2.0**-12, 2.0**-24
EXACT = 2.0**53  # integers below which float64 is exact
EXACT_SINGLE = 2.0**24  # and float32
LARGEST_CENTRED = 2.0**16  # of dosages less their centres: any int16 less a centre, in units of `DOSAGE_STEP`


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
    # (n_variants, n_directions) float64, Sigma^1/2 V with the eigenvectors V of Sigma^1/2 Q Sigma^1/2: the
    # mean of an entry is loadings' theta.
    loadings: np.ndarray
    # (n_variants, n_variants) float64 symmetric, Sigma^1/2: Sigma is the covariance of x - B f over
    # `deviations`.
    root: np.ndarray
    deviations: np.ndarray  # (n_variants,) float64 > 0, sqrt(2 p (1 - p))
    heritability: float  # h2_b, of the block; h2_b/n_panel is what the panel's chance adds to each entry

    @property
    def columns(self) -> slice:
        """The variants of the block among the chromosome's."""
        return slice(self.first, self.stop)

    @property
    def n_directions(self) -> int:
        """The number of directions that have a share."""
        return len(self.shares)

    @property
    def score_loadings(self) -> np.ndarray:
        """By these, products of effects and entries are covariances of scores and phenotypes.

        They are (n_variants, n_directions) float64.
        """
        return self.loadings


class LazyBlock(LdBlock):
    """An LdBlock whose matrices are made or read when they are taken, and not kept."""

    def __init__(self, take: Callable[[str], np.ndarray], **other_fields: Any) -> None:
        """Keep a function that returns a matrix by its name, and the other fields."""
        vars(self).update(other_fields, _take=take)

    @property
    def matrix(self) -> np.ndarray:
        """As in `LdBlock`, like the other matrices."""
        return self._take("matrix")

    @property
    def loadings(self) -> np.ndarray:
        return self._take("loadings")

    @property
    def root(self) -> np.ndarray:
        return self._take("root")


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
    row_norm: float  # R_c, R_c^2 = sum of the shares of the chromosome and its axes
    pruned: np.ndarray  # (n_pruned,) int64, ascending: the variants of which axes are made
    axis_loadings: np.ndarray  # (n_pruned, n_axes) int64, A of these variants in units of `MAP_STEP`
    # (n_scores, n_variants) int64, weights of dosages in units of `MAP_STEP`: public scores that are
    # subtracted from phenotypes before their clip. None without any.
    score_weights: np.ndarray | None = None

    @property
    def n_variants(self) -> int:
        """The number of variants of the chromosome."""
        return len(self.centre)

    @property
    def n_directions(self) -> int:
        """The length of z, also the number of entries of S: axes first, then block after block."""
        return len(self.axis_gains) + sum(block.n_directions for block in self.blocks)

    def entries(self) -> Iterator[slice]:
        """Yield the places of each block's directions among the entries of S of this chromosome."""
        first = len(self.axis_gains)
        for block in self.blocks:
            yield slice(first, first + block.n_directions)
            first += block.n_directions


SCORE_WEIGHTS = "score_weights"
# Of a ChromosomeMap, all but its blocks; files of maps without scores lack their weights.
_LIGHT = tuple(field.name for field in fields(ChromosomeMap) if field.name not in ("blocks", SCORE_WEIGHTS))


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
    # The phenotypes of which a public score is subtracted, in the order of `score_weights`, and the variance
    # that is left of each, as the panel's people have it.
    scored: tuple[str, ...] = ()
    residual_variances: tuple[float, ...] = ()

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

    def deviations(self, names: Sequence[str]) -> np.ndarray:
        """Return the standard deviations of phenotypes as they are clipped, (n_names,) float64."""
        return np.sqrt(np.append(self.residual_variances, 1.0)[score_rows(self.scored, names)])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that the private pass and the draw use."""
        total = MapDigest(self.clip, self.n_axes, self.scored)
        for chromosome in self.chromosomes:
            total.add_chromosome(chromosome)
            for block in chromosome.blocks:
                total.add_matrix(block.matrix)
        return total.of_clip(is_joint=self.is_clipped_jointly)


class ScoreVariances(NamedTuple):
    """Variances of scores among the people of a panel."""

    of_scores: np.ndarray  # (n_rows,) float64
    of_chromosomes: np.ndarray  # (n_rows,) float64, of the chromosomes' parts of a score, added up
    n_people: int


class MapDigest:
    """The digest of a map that is seen once, block by block, before it is known how rows are clipped."""

    def __init__(self, clip: float, n_axes: int, scored: Sequence[str] = ()) -> None:
        clip_and_axes = [float(clip).hex(), n_axes]
        heads = (json.dumps([*clip_and_axes, is_joint, *scored]) for is_joint in (False, True))
        self._totals = [hashlib.sha256(head.encode()) for head in heads]

    def add_chromosome(self, chromosome: ChromosomeMap) -> None:
        """Add a chromosome, whose matrices follow."""
        bounds = [(block.first, block.stop) for block in chromosome.blocks]
        self._add(json.dumps([chromosome.contig, float(chromosome.row_norm).hex(), bounds]).encode())
        for name in ("centre", "axis_effects", "axis_gains", "pruned", "axis_loadings"):
            self.add_matrix(getattr(chromosome, name))
        if chromosome.score_weights is not None:
            self.add_matrix(chromosome.score_weights)

    def add_matrix(self, matrix: np.ndarray) -> None:
        """Add T of a block, or another array of integers."""
        self._add(json.dumps(matrix.shape).encode())
        self._add(np.ascontiguousarray(matrix, dtype="<i8").data)

    def of_clip(self, *, is_joint: bool) -> str:
        """Return the digest if rows of all chromosomes are clipped together, or if they are not."""
        return self._totals[is_joint].hexdigest()

    def _add(self, content: Any) -> None:
        for total in self._totals:
            total.update(content)


def score_rows(scored: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Return the row of each phenotype among `score_weights`, -1 without a score: (n_names,) int64."""
    return np.array([scored.index(name) if name in scored else -1 for name in names], dtype=np.int64)


def genome_axes(loadings: Iterable[np.ndarray], dosages: Iterable[np.ndarray]) -> np.ndarray:
    """Return the axes f = rint(A (x - a)) of people, (n_people, n_axes) int64 in units of `DOSAGE_STEP`.

    Both are by chromosome: (n_pruned, n_axes) int64 A, and (n_people, n_pruned) x - a of the pruned variants,
    whole numbers in units of `DOSAGE_STEP`.
    """
    sums = sum(_exact_products(x, A) for A, x in zip(loadings, dosages, strict=True))
    half = round(1 / MAP_STEP) // 2
    return (sums + half) // (2 * half)


def _exact_products(dosages: np.ndarray, loadings: np.ndarray) -> np.ndarray:
    """Return dosages times loadings, int64: by float64 where every partial sum is an integer that it holds.

    Which one depends only on the loadings, as dosages less their centres have at most 17 bits.
    """
    is_exact = np.abs(loadings.astype(np.float64)).sum(axis=0).max(initial=0) * LARGEST_CENTRED < EXACT / 2
    dtype = np.float64 if is_exact else np.int64
    return (dosages.astype(dtype) @ loadings.astype(dtype)).astype(np.int64)


def short_rows(matrix: np.ndarray) -> np.ndarray:
    """Round the rows of a block's T so that its products with numbers of alleles are exact in float32.

    The matrix is (n_directions, n_variants) int64. Each row of the result has multiples of a power of two, in
    units of which its absolute values add up to less than 2^23.
    """
    short = np.array(matrix, dtype=np.int64)
    for row in short:
        exact = row.copy()
        # With fewer bits off, the sum would be too large.
        shift = max(0, int(2 * np.abs(exact).sum()).bit_length() - int(EXACT_SINGLE).bit_length())
        row[:] = _rounded(exact, shift)
        while 2 * np.abs(row >> shift).sum() >= EXACT_SINGLE:
            shift += 1
            row[:] = _rounded(exact, shift)
    return short


def _rounded(entries: np.ndarray, shift: int) -> np.ndarray:
    """Return integers rounded to multiples of 2^shift."""
    return (entries + (1 << shift >> 1) >> shift) << shift


def mapped_rows(
    chromosome: ChromosomeMap,
    dosages: np.ndarray,  # (n_people, n_variants) x - a, whole numbers in units of `DOSAGE_STEP`
    axes: np.ndarray,  # (n_people, n_axes) int64, of `genome_axes`
) -> np.ndarray:
    """Return the rows z of people on a chromosome before their clip, (n_people, n_directions) float64."""
    entries = [mapped_axes(chromosome, axes)]
    for block in chromosome.blocks:
        effects = chromosome.axis_effects[block.columns]
        entries.append(mapped_block(block.matrix, dosages[:, block.columns], axes, effects))
    return np.hstack(entries)


def mapped_axes(chromosome: ChromosomeMap, axes: np.ndarray) -> np.ndarray:
    """Return the entries of the axes in rows z, (n_people, 0) of a chromosome that does not carry them."""
    gains = chromosome.axis_gains * MAP_STEP
    return axes[:, : len(gains)] * DOSAGE_STEP * gains


def mapped_block(
    matrix: np.ndarray,  # T of the block
    dosages: np.ndarray,  # (n_people, n_variants) of the block, as in `mapped_rows`
    axes: np.ndarray,
    effects: np.ndarray,  # (n_variants, n_axes) int64, of the axes
) -> np.ndarray:
    """Return the entries of a block in rows z, (n_people, n_directions) float64."""
    x = dosages * DOSAGE_STEP
    if axes.shape[1]:
        x -= axes * DOSAGE_STEP @ (effects * DOSAGE_STEP).T
    return x @ matrix.T * MAP_STEP


def chromosome_arrays(
    chromosome: ChromosomeMap, blocks_with_matrices: Iterable[LdBlock]
) -> Iterator[tuple[str, Any]]:
    """Yield a ChromosomeMap as arrays and numbers by name, of which `chromosome_of` makes it again.

    Its own blocks may lack their matrices. What only a fit uses has single precision, to which
    `dpgrs.linalg.genome_prior` rounds it.
    """
    blocks = chromosome.blocks
    for name in _LIGHT:
        yield name, getattr(chromosome, name)
    if chromosome.score_weights is not None:
        yield SCORE_WEIGHTS, chromosome.score_weights
    yield "bounds", np.array([0, *(block.stop for block in blocks)])
    yield "heritabilities", np.array([block.heritability for block in blocks])
    yield "deviations", np.concatenate([block.deviations for block in blocks])
    yield "block_directions", np.array([block.n_directions for block in blocks])
    for name in ("shares", "variances"):
        yield name, np.concatenate([getattr(block, name) for block in blocks])
    for number, block in enumerate(blocks_with_matrices):
        is_short = np.abs(block.matrix).max(initial=0) < 2**31
        yield f"block{number}_matrix", block.matrix.astype(np.int32 if is_short else np.int64)
        for name in ("loadings", "root"):
            yield f"block{number}_{name}", getattr(block, name).astype(np.float32)


def chromosome_of(arrays: Mapping[str, Any]) -> ChromosomeMap:
    """Return the ChromosomeMap of what `chromosome_arrays` gave; matrices are taken when they are used."""
    bounds, cuts = arrays["bounds"].tolist(), np.cumsum([0, *arrays["block_directions"]]).tolist()
    deviations, shares, variances = (arrays[name] for name in ("deviations", "shares", "variances"))
    blocks = [
        LazyBlock(
            partial(_stored_matrix, arrays, number),
            first=bounds[number],
            stop=bounds[number + 1],
            shares=shares[cuts[number] : cuts[number + 1]],
            variances=variances[cuts[number] : cuts[number + 1]],
            deviations=deviations[bounds[number] : bounds[number + 1]],
            heritability=float(heritability),
        )
        for number, heritability in enumerate(arrays["heritabilities"])
    ]
    map_fields = {name: arrays[name] for name in _LIGHT}
    map_fields |= {"contig": str(map_fields["contig"]), "row_norm": float(map_fields["row_norm"])}
    map_fields |= {SCORE_WEIGHTS: arrays[SCORE_WEIGHTS]} if SCORE_WEIGHTS in [*arrays] else {}
    return ChromosomeMap(blocks=tuple(blocks), **map_fields)


def _stored_matrix(arrays: Mapping[str, Any], number: int, name: str) -> np.ndarray:
    return arrays[f"block{number}_{name}"].astype(np.int64 if name == "matrix" else np.float64)
