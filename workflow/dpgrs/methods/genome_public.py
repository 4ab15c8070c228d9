"""Public effects of single variants as further entries of a genome's LD blocks.

Let m be public effects of standardised variants of a block, and s = Sigma^-1/2 m. Along an orthonormal
direction u of the block, with x = u'Sigma^1/2 theta of a phenotype, whose variance is h p,

    u's = b x + N(0, A (1 - rho^2) p + w),   b = rho sqrt(A/h),

where A is the variance of the file's signal over p, w its noise, and rho its genetic correlation with the
phenotype. Therefore u's/b is an entry as in `dpgrs.methods.genome_fit`, with the noise

    (w/A + (1 - rho^2) p) h/rho^2 + h2_b/n_panel.

The directions of the map come first; along them, both entries are averaged by their noise. The other
eigenvectors of Sigma^1/2 Q Sigma^1/2 along which the signal counts come next. s gives A and w, c gives h, and
both give rho, by the likelihood over the map's directions, whose LD is known best. The prior probability that
a file has no correlation is `NONE`.

If a file lacks variants, m is filled in from the others by the block's LD. Then s is Pr Sigma^1/2 theta
with the noise w Pr, for the projection Pr = Sigma^1/2_.o Sigma_oo^-1 Sigma^1/2_o. of the variants o that it
has. With a = u'Pr u, u's/a has the noise w/a and what other directions add, about (1/a - 1) A p.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from dpgrs.linalg.genome_map import GenomeMap, LazyBlock, LdBlock
from dpgrs.linalg.genome_prior import STEERING_EXPONENT
from dpgrs.methods.blup_model import HERITABILITIES
from dpgrs.methods.genome_fit import BlockEntries, GenomeEntries
from dpgrs.methods.public_effects import NONE

# Genetic correlations that are compared.
CORRELATIONS = np.linspace(-0.98, 0.98, 99)
# Below, what a file shows is left out; a direction that the map lacks, if A p is below this share of w.
LEAST_SIGNAL = 0.25
LEAST_SHOWN, LEAST_CORRELATION = 0.05, 0.02


@dataclass(frozen=True, eq=False)
class PublicBlock:
    """The entries of a file of public effects along all directions of a block, the map's directions first."""

    directions: np.ndarray  # (n_variants, n_variants) float64, u by columns
    variances: np.ndarray  # (n_variants,) float64 >= 0, p
    entries: np.ndarray  # (n_variants,) float64, u's/a
    shown: np.ndarray  # (n_variants,) float64 in [0, 1], a


@dataclass(frozen=True, eq=False)
class PublicEntries:
    """The entries of a file of public effects along a genome."""

    blocks: tuple[PublicBlock, ...]
    signal: float  # A
    noise: float  # w


def public_entries(genome: GenomeMap, effects: np.ndarray) -> PublicEntries:
    """Turn (n_variants,) public effects per copy of ALT, 0 where there is none, into entries of blocks."""
    blocks, first = [], 0
    scale = _variance_scale(genome)
    for chromosome in genome.chromosomes:
        of_chromosome = effects[first : first + chromosome.n_variants]
        blocks += [
            _public_block(block, of_chromosome[block.columns] * block.deviations, scale)
            for block in chromosome.blocks
        ]
        first += chromosome.n_variants
    of_maps = [block.loadings.shape[1] for c in genome.chromosomes for block in c.blocks]
    shown_blocks = [_shown_along_map(block, n_map) for block, n_map in zip(blocks, of_maps, strict=True)]
    p, s, a = (np.concatenate(arrays) for arrays in zip(*shown_blocks, strict=True))
    signal, noise = _signal_and_noise(p, np.square(s) * a) if len(p) else (0.0, 1.0)
    return PublicEntries(tuple(blocks), signal, noise)


def with_public_entries(
    seen: GenomeEntries,  # of one phenotype
    genome: GenomeMap,
    files: list[PublicEntries],
) -> tuple[GenomeEntries, float]:
    """Return entries joined with the file that a phenotype follows, and the genetic correlation with it."""
    h = _heritability(seen, files[0])
    estimates = [_correlation(seen, public, h) for public in files]
    correlation, _ = max(estimates, key=lambda estimate: estimate[1])
    if abs(correlation) < LEAST_CORRELATION or not h > 0:
        return seen, 0.0
    public = files[[estimate[0] for estimate in estimates].index(correlation)]
    chances = [block.heritability / genome.n_panel for c in genome.chromosomes for block in c.blocks]
    blocks = [
        _joined(block, of_file, public, correlation, h, chance)
        for block, of_file, chance in zip(seen.blocks, public.blocks, chances, strict=True)
    ]
    return replace(seen, blocks=tuple(blocks)), correlation


def _variance_scale(genome: GenomeMap) -> float:
    """Return p over the eigenvalues of Sigma^1/2 D^(2 + 2 e) Sigma^1/2, which all blocks share.

    It is 0 if axes of ancestry have all shares of a row; then nothing shows which file to follow.
    """
    pairs = [
        (block.variances, np.square(block.loadings * _roots(block)[:, np.newaxis]).sum(axis=0))
        for chromosome in genome.chromosomes
        for block in chromosome.blocks
    ]
    p, raw = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
    return float(p.sum() / raw.sum()) if len(raw) else 0.0


def _roots(block: LdBlock) -> np.ndarray:
    return block.deviations ** (1 + STEERING_EXPONENT)


def _public_block(block: LdBlock, m: np.ndarray, scale: float) -> PublicBlock:
    root, d = block.root, len(block.deviations)
    V = np.linalg.solve(root, block.loadings)
    scaled = root * _roots(block)
    p, U = np.linalg.eigh(scale * scaled @ scaled.T)
    # The map's directions have the largest p; the other eigenvectors remain.
    complement = U[:, : d - V.shape[1]]
    complement = np.linalg.qr(complement - V @ (V.T @ complement))[0]
    directions = np.hstack([V, complement])
    variances = np.concatenate([block.variances, p[: d - V.shape[1]]]).clip(min=0)
    return PublicBlock(directions, variances, *shown_entries(root, directions, m))


def shown_entries(
    root: np.ndarray,  # (n_variants, n_variants) float64, Sigma^1/2 of a block
    directions: np.ndarray,  # (n_variants, n_variants) float64, u by columns
    m: np.ndarray,  # (n_variants,) float64, public effects of standardised variants, 0 where there is none
) -> tuple[np.ndarray, np.ndarray]:
    """Return u's/a and a along all directions of a block, 0 where a file shows too little."""
    is_there = m != 0
    entries = np.zeros(len(m))
    if not is_there.any():
        return entries, np.zeros(len(m))
    root_columns = root[:, is_there]  # Sigma^1/2_.o
    half = np.linalg.solve(
        root_columns.T @ root_columns, np.column_stack([m[is_there], root_columns.T @ directions])
    )
    # Sigma^-1/2 of the effects that are filled in is Sigma^1/2_.o Sigma_oo^-1 m_o.
    s = directions.T @ (root_columns @ half[:, 0])
    shown = np.einsum("ok,ok->k", root_columns.T @ directions, half[:, 1:]).clip(0, 1)
    np.divide(s, shown, out=entries, where=shown >= LEAST_SHOWN)
    return entries, np.where(shown >= LEAST_SHOWN, shown, 0.0)


def _shown_along_map(block: PublicBlock, n_map: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return p, entries and a along the map's directions: LD along others is known less well."""
    is_shown = (block.shown > 0) & (np.arange(len(block.shown)) < n_map)
    return block.variances[is_shown], block.entries[is_shown], block.shown[is_shown]


def _signal_and_noise(p: np.ndarray, squares: np.ndarray) -> tuple[float, float]:
    """Return A and w at which numbers of these squares are most probable as N(0, A p + w)."""
    size, mean = squares.mean(), p.mean()

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        A, w = np.exp(logs) * size / np.array([mean, 1])
        variances = A * p + w
        slopes = (1 - squares / variances) / variances / 2
        return (np.log(variances) + squares / variances).mean() / 2, np.array(
            [(slopes * A * p).mean(), (slopes * w).mean()]
        )

    optimum = minimize(loss, np.log([0.5, 0.5]), jac=True, method="L-BFGS-B", bounds=[(-20, 5)] * 2)
    A, w = np.exp(optimum.x) * size / np.array([mean, 1])
    return float(A), float(w)


def _map_entries(entries: GenomeEntries, public: PublicEntries) -> tuple[np.ndarray, ...]:
    """Return p, c, N, and the entries and shares of a file along the map's directions of all blocks."""
    by_block = [
        (
            of_file.variances[: len(block.noise)],
            block.entries[0],
            block.noise * entries.factors[0],
            of_file.entries[: len(block.noise)],
            of_file.shown[: len(block.noise)],
        )
        for block, of_file in zip(entries.blocks, public.blocks, strict=True)
    ]
    return tuple(np.concatenate(arrays) for arrays in zip(*by_block, strict=True))


def _heritability(entries: GenomeEntries, public: PublicEntries) -> float:
    """Return the most probable h, of which p is for a heritability of 1/2."""
    p, c, N, _, _ = _map_entries(entries, public)
    variances = 2 * HERITABILITIES[:, np.newaxis] * p + N
    log_likelihood = -(np.log(variances) + np.square(c) / variances).sum(axis=1) / 2
    return float(2 * HERITABILITIES[np.argmax(log_likelihood)])


def _correlation(entries: GenomeEntries, public: PublicEntries, h: float) -> tuple[float, float]:
    """Return the posterior mean of rho, and the logarithm of how much more probable c is with the file."""
    p, c, N, s, a = _map_entries(entries, public)
    p, c, N, s, a = (numbers[a > 0] for numbers in (p, c, N, s, a))
    if not len(p) or public.signal * p.sum() <= 0:
        return 0.0, -np.inf
    of_file = (public.signal * p + public.noise) / a
    covariances = CORRELATIONS[:, np.newaxis] * np.sqrt(public.signal * h) * p
    variances = h * p + N - np.square(covariances) / of_file
    residuals = c - covariances / of_file * s
    log_likelihood = -(np.log(variances) + np.square(residuals) / variances).sum(axis=1) / 2
    is_none = np.arange(len(CORRELATIONS)) == len(CORRELATIONS) // 2
    prior = np.where(is_none, NONE, (1 - NONE) / (len(CORRELATIONS) - 1))
    posterior = softmax(log_likelihood + np.log(prior))
    return float(posterior @ CORRELATIONS), float(log_likelihood.max() - log_likelihood[is_none][0])


def _joined(
    block: BlockEntries, of_file: PublicBlock, public: PublicEntries, rho: float, h: float, chance: float
) -> BlockEntries:
    """Return the entries of a block and of a file together, in the units of the phenotype."""
    a = np.where(of_file.shown > 0, of_file.shown, 1.0)
    p, n_map = of_file.variances, len(block.noise)
    # With the signal of other directions that a file shows along this one.
    noise = public.noise / public.signal / a + (1 / a - 1) * p + (1 - rho**2) * p
    noise = noise * h / rho**2 + chance
    entries = of_file.entries * np.sqrt(h / public.signal) / rho
    is_of_map = np.arange(len(p)) < n_map
    is_shown = (of_file.shown > 0) & (is_of_map | (public.signal * p >= LEAST_SIGNAL * public.noise))
    precision = np.where(is_shown, 1 / noise, 0.0)
    of_sums = np.zeros_like(precision)
    of_sums[:n_map] = 1 / block.noise
    sums = np.zeros_like(entries)
    sums[:n_map] = block.entries[0]
    total = precision + of_sums
    is_seen = total > 0
    joined = (precision * entries + of_sums * sums)[is_seen] / total[is_seen]
    fields = {name: getattr(block.block, name) for name in ("first", "stop", "deviations", "heritability")}
    fields |= {"shares": np.ones(len(joined)), "variances": of_file.variances[is_seen]}
    joined_block = LazyBlock(partial(_matrix, block.block, of_file.directions[:, is_seen]), **fields)
    return replace(block, block=joined_block, noise=1 / total[is_seen], entries=joined[np.newaxis])


def _matrix(block: LdBlock, directions: np.ndarray, name: str) -> np.ndarray:
    """Return a matrix of a block by its name, with loadings along other directions than the map's."""
    return block.root @ directions if name == "loadings" else getattr(block, name)
