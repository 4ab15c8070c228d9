"""X'Y of rows that are turned and stretched by a public rule, so that its noise falls where it hurts least.

Instead of X'Y, with any orthonormal directions u_k that are public or released,

    S = sum_i clip_R(z_i) y_i',   z_ik = t_k u_k'(x_i - m),

the rows clipped at the norm R of those of X'Y: it has the same sensitivity (docs/proofs/steered.md). Along
u_k the noise of S, of standard deviation sigma, is that of an X'Y of sigma/t_k. The gains t_k spend the mean
square of a row, sum_k t_k^2 w_k = R^2 with w_k the variance of u_k'x, where a fit gains most by it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.clipped_statistics import (
    LARGEST_CLIPPED_ROWS,
    ROW_BLOCK,
    frequency_rows,
    half_coded,
    row_blocks,
)
from dpgrs.linalg.coding import GENOTYPE_STEP, OUTCOME_STEP
from dpgrs.linalg.outcome_grid import clip_norms
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.linalg.denoising import NoisySpectrum

# The assumed share of an outcome's variance that effects explain, before anything about them is known.
# The drawn numbers depend on these constants: change one only together with `MECHANISM_VERSION`.
HERITABILITY = 0.5
# Rows and means are at most 2 w sqrt(d) apart, w = 1 (haplotypes) or 2 (people). With gains of at most
# 2^14/(w sqrt(d)) on a grid of 2^-24 all sums of products stay below 2^53, and turned rows below 2^31.
MATRIX_STEP, LARGEST_STRETCH = 2.0**-24, 2.0**14
GAIN_BITS = 12
LARGEST_SUM = 2**53


@dataclass(frozen=True)
class Steering:
    """A public affine map of rows."""

    matrix: np.ndarray  # (n_directions, n_variants) float64, t_k u_k': multiples of a power of 2
    # (n_directions,) int64, which eigenvectors these are, eigenvalues ascending; others have no gain.
    places: np.ndarray
    centre: np.ndarray  # (n_variants,) float64, m: multiples of `GENOTYPE_STEP`

    @property
    def gains(self) -> np.ndarray:
        """What rows are multiplied by along each direction, (n_directions,) float64 > 0."""
        return np.linalg.norm(self.matrix, axis=1)

    @property
    def directions(self) -> np.ndarray:
        """Directions of length 1, (n_directions, n_variants) float64."""
        return self.matrix / self.gains[:, np.newaxis]


def steer(
    spectrum: "NoisySpectrum",  # of a Gram matrix that is public or released
    n: float,  # > 0, number of rows, public or released
    *,
    row_norm: float,  # > 0, R
    noise_sd: float,  # >= 0, sigma
    rows: Rows,
    centre: np.ndarray | None = None,  # (n_variants,) means of the rows, public or released; None takes 0
) -> Steering:
    """Choose the gains of which a fit expects to predict best.

    With a_k and b_k the moments of a direction, as in `dpgrs.methods.blup_model`, t2 = h2 n/tr(G), s2 = 1-h2,
    D_k = t2 b_k + s2 a_k and q_k = t_k^2 w_k, BLUP explains t2^2 a_k^3/(D_k + sigma^2 w_k/q_k) of the squares
    of an outcome along u_k. Under sum q_k = R^2 the whole is largest at

        q_k = max(0, c a_k^2 - sigma^2 w_k)/D_k.

    The result is without a direction where nothing is seen of the genotypes.
    """
    d, width = len(spectrum.first), n_alleles(rows)
    centre = np.zeros(d) if centre is None else np.clip(centre, -width, width)
    # Plus 0.0: the ledger's digests tell minus zero, a rounding of last digits, from zero, here and below.
    centre = np.rint(centre / GENOTYPE_STEP) * GENOTYPE_STEP + 0.0
    largest = np.argsort(-spectrum.first, kind="stable")
    indices = largest[spectrum.first[largest] > 0] if spectrum.trace > 0 else largest[:0]
    if not len(indices):
        return Steering(np.empty((0, d)), indices, centre)
    a, b, t2 = spectrum.first[indices], spectrum.second[indices], HERITABILITY * n / spectrum.trace
    D, w = t2 * b + (1 - HERITABILITY) * a, a / n
    # The level c at which the first k of them spend all: the last k of which the least one has any is right.
    level = (row_norm**2 + np.cumsum(noise_sd**2 * w / D)) / np.cumsum(a**2 / D)
    last = np.flatnonzero(level * a**2 > noise_sd**2 * w).max(initial=0)
    q = np.maximum(level[last] * a**2 - noise_sd**2 * w, 0)[: last + 1] / D[: last + 1]
    if last == 0:
        q[0] = row_norm**2  # by the formula, if it were exact behind much noise
    # A last digit that another machine works out otherwise is to change nothing.
    largest_gain = LARGEST_STRETCH / (width * np.sqrt(d))
    mantissa, exponent = np.frexp(np.minimum(np.sqrt(q / w[: last + 1]), largest_gain))
    gains = np.ldexp(np.floor(mantissa * 2**GAIN_BITS), exponent - GAIN_BITS)
    directions = spectrum.vectors[:, indices[: last + 1]].T
    # An eigenvector has no sign of its own: its largest entry is positive.
    signs = np.sign(directions[np.arange(last + 1), np.abs(directions).argmax(axis=1)])
    matrix = directions  # a copy of some eigenvectors, perhaps of many: in place
    matrix *= signs[:, np.newaxis]
    matrix *= gains[:, np.newaxis]
    matrix /= MATRIX_STEP
    np.rint(matrix, out=matrix)
    matrix *= MATRIX_STEP
    matrix += 0.0
    is_there = matrix.any(axis=1)
    return Steering(matrix[is_there], indices[: last + 1][is_there], centre)


def n_alleles(rows: Rows) -> int:
    """Return how many alleles a row has of a variant: how far apart two of its entries can be."""
    return 1 if Rows(rows) == Rows.HAPLOTYPES else 2


@dataclass(frozen=True, eq=False)
class SteerableRows:
    """Rows of X and Y of which S is summed, once the directions are known."""

    genotypes: np.ndarray  # (n_variants, n_words) uint64, or (n_variants, n_rows) int16 dosages
    Y: np.ndarray  # (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`, clipped
    n_haplotypes: int
    rows: Rows
    is_selected: np.ndarray  # (n_rows,) bool
    row_norm: float  # > 0, public: R
    outcome_bound: float  # > 0, public: of every entry of Y
    # (n_variants,) public frequencies for `frequency` coding, in which rows are clipped at R before they are
    # turned, too; None for `half` coding.
    frequency: np.ndarray | None = None

    def __post_init__(self) -> None:
        largest = self.row_norm / GENOTYPE_STEP * self.outcome_bound / OUTCOME_STEP * ROW_BLOCK
        if len(self.is_selected) > LARGEST_CLIPPED_ROWS or largest > LARGEST_SUM:
            raise UsageError(
                "sums-not-exact",
                f"Sums of steered rows are exact for at most {LARGEST_CLIPPED_ROWS} rows and an "
                f"`outcomes.bound` of {LARGEST_SUM * self.outcome_bound / largest:.0f}, got "
                f"{self.outcome_bound}. Lower the bound, or split the rows.",
            )

    def sums(self, steering: Steering) -> np.ndarray:
        """Sum S over the selected rows, a block of people at a time.

        The result is (n_outcomes, n_variants + 1) int64 in units of `CLIPPED_CROSS_STEP`: a column for each
        direction, and 0 in all others: what is drawn has the same shape whatever was drawn before. It raises
        UsageError if a gain or the centre is beyond the bounds on which the proof rests.
        """
        width, d = n_alleles(self.rows), len(self.genotypes)
        largest = LARGEST_STRETCH / (width * np.sqrt(d)) + np.sqrt(d) * MATRIX_STEP
        # Comparisons with NaN are False.
        is_bounded = np.abs(steering.centre).max(initial=0) <= width
        if not (is_bounded and steering.gains.max(initial=0) <= largest):
            raise UsageError(
                "steering-out-of-bounds",
                "Gains and the centre of steered rows must be within their public bounds, got others. Take "
                "them from `steer`.",
            )
        S, n_used = np.zeros((len(self.Y), len(self.genotypes) + 1), dtype=np.int64), len(steering.places)
        row_options = {"n_haplotypes": self.n_haplotypes, "rows": self.rows, "covariates": None}
        for block_genotypes, block, options in row_blocks(self.genotypes, self.is_selected, **row_options):
            Z = steered_rows(self._coded(block_genotypes, **options), steering, row_norm=self.row_norm)
            Y = self.Y[:, block][:, options["is_selected"]]
            S[:, :n_used] += (Y.astype(np.float64) @ Z.astype(np.float64)).astype(np.int64)
        return S

    def _coded(self, genotypes: np.ndarray, *, is_selected: np.ndarray, **options: Any) -> np.ndarray:
        if self.frequency is None:
            del options["covariates"]
            return half_coded(genotypes, is_selected=is_selected, **options).T
        options |= {"row_norm": self.row_norm, "is_selected": is_selected}
        return frequency_rows(genotypes, self.frequency, **options)


def steered_rows(
    X: np.ndarray,  # (n_rows, n_variants) int16 in units of `GENOTYPE_STEP`
    steering: Steering,
    *,
    row_norm: float,  # > 0, public: no row that is returned is longer
) -> np.ndarray:
    """Turn, stretch, clip and round rows, each by itself.

    The result is (n_rows, n_directions) int64 in units of `GENOTYPE_STEP`.
    """
    centred = (X - steering.centre / GENOTYPE_STEP).T
    # Sums of integers below 2^53: the same in any order, so that no row depends on the rows beside it.
    Z = np.rint(steering.matrix / MATRIX_STEP @ centred * MATRIX_STEP).astype(np.int64)
    clip_norms(Z, norm=row_norm, step=GENOTYPE_STEP)
    return Z.T
