"""The draw of second moments of a genome: noisy covariances of people's rows within public LD blocks."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.genome_map import GenomeMap
from dpgrs.linalg.genome_moments import (
    MOMENT_STEP,
    ChromosomeMoments,
    moment_norm,
    moment_weights,
    moments_by_chromosome,
)
from dpgrs.methods.genome_sums import GenomeRequest, in_map_order
from dpgrs.privacy.accounting.exact_numbers import root_above

if TYPE_CHECKING:
    from dpgrs.privacy.accounting.events import GaussianEvent
    from dpgrs.privacy.noise.base import NoiseSource


def joint_moment_norm(genome: GenomeMap) -> float:
    """Return D, a float that is not below the root of the sum of D_c^2 over all chromosomes."""
    return root_above(sum(Fraction(moment_norm(chromosome)) ** 2 for chromosome in genome.chromosomes))


def moment_statistic(
    moments: Sequence[ChromosomeMoments], genome: GenomeMap, *, made_with: str
) -> np.ndarray:
    """Return weighted moments over all chromosomes, in the order of the map, whatever the order given.

    The result is (n_moments,) int64 in units of `MOMENT_STEP`. It raises UsageError unless there are moments
    of each chromosome once, all made with the public terms of this release.
    """
    ordered = in_map_order(moments, genome, name="Second moments")
    norms, sizes = map(moment_norm, genome.chromosomes), moments_by_chromosome(genome)
    if any(
        (contig_moments.made_with, contig_moments.norm, len(contig_moments.entries))
        != (made_with, norm, size)
        for contig_moments, norm, size in zip(ordered, norms, sizes, strict=True)
    ):
        raise UsageError(
            "moments-of-another-map",
            "Second moments must be made with the map of this release, got others. Sum them up again.",
        )
    return np.concatenate([contig_moments.entries for contig_moments in ordered]) * moment_weights(genome)


def private_genome_moments(
    moments: Sequence[ChromosomeMoments],
    genome: GenomeMap,
    *,
    request: GenomeRequest,
    noise: "NoiseSource",
    made_with: str,
) -> "tuple[np.ndarray, GaussianEvent]":
    """Release second moments of people's rows within the LD blocks of a public map.

    Parameters
    ----------
    moments : ChromosomeMoments of each chromosome, in any order.
    genome : GenomeMap, public, or made from earlier releases.
    request : GenomeRequest, with a norm of moments.
    noise : NoiseSource
    made_with : str, `dpgrs.methods.genome_sums.public_digest` of this release.

    Returns
    -------
    (n_moments,) float64, block after block the upper triangle, row by row, and the event.

    Privacy
    -------
    Unit a person, neighbours as requested. Sensitivity `genome_moments_sensitivity`:
    docs/proofs/genome_moments.md. All chromosomes are one GaussianEvent. Public: all of the request, the map.

    Raises
    ------
    UsageError
        If the moments or the map do not match the request.
    """
    statistic, weights = moment_statistic(moments, genome, made_with=made_with), moment_weights(genome)
    if not joint_moment_norm(genome) <= request.moment_norm:
        raise UsageError(
            "moment-norm-too-large",
            f"The norm of second moments of the map must be at most {request.moment_norm}, got more. Ask for "
            "what the map has.",
        )
    noisy, event = noise.gaussian(
        statistic,
        name="genome moments",
        step=MOMENT_STEP,
        sensitivity=request.moment_claim,
        mu=request.budget["moments"],
    )
    return noisy * MOMENT_STEP / weights, event
