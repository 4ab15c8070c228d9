"""The one draw of a genome: noisy sums of people's rows along the directions of a public map.

Chromosomes are summed one by one (`dpgrs.linalg.genome_sums`), and all are drawn together.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.genome_map import GenomeMap
from dpgrs.linalg.genome_moments import PRODUCT_WEIGHT, SLACK, SQUARE_WEIGHT
from dpgrs.linalg.genome_sums import SUM_STEP, ChromosomeSums
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.accounting.accountant import split_mu
from dpgrs.privacy.digests import data_digest, json_digest
from dpgrs.privacy.sensitivity import Sensitivity, genome_moments_sensitivity, genome_sensitivity
from dpgrs.types import Coding, Neighbours, Protection

if TYPE_CHECKING:
    from dpgrs.privacy.accounting.events import GaussianEvent
    from dpgrs.privacy.noise.base import NoiseSource

MOST_ENTRIES = 10**8  # of S, that fit into memory with their noise
# R: the squares of the chromosomes' norms add up to 1, but for roundings.
ROW_NORM = 1 + 2.0**-40
# D of any map is below: shares add up to 1, hence the sum of D_c^2 is at most 3 SLACK^2.
LARGEST_JOINT_NORM = 2 * SLACK


@dataclass(frozen=True, kw_only=True)
class GenomeRequest(PrivacyRequest):
    """The terms of a release of sums of a genome: `row_norm` is R, over all chromosomes.

    It raises UsageError unless genotypes and outcomes of people are protected, with norms on both, and if S
    would have too many entries.
    """

    n_directions: int  # K, of all chromosomes
    # D, public bound on second moments of a row; None before there is a map, or where none are drawn.
    moment_norm: float | None = None

    has_gram = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.protection != Protection.FULL:
            raise UsageError(
                "genome-protection",
                f"`privacy.protection` must be {Protection.FULL} for sums of a genome, got "
                f"{self.protection}. Change it.",
            )
        if self.outcome_norm is None:
            raise UsageError(
                "outcome-norm-missing",
                "`outcome_norm` must be given for sums of a genome, got None. State the clip.",
            )
        if self.n_directions * self.n_outcomes > MOST_ENTRIES:
            raise UsageError(
                "too-many-genome-sums",
                f"Sums of a genome must have at most {MOST_ENTRIES} entries, got {self.n_directions} "
                f"directions of {self.n_outcomes} outcomes. Release fewer outcomes together.",
            )

    @property
    def key(self) -> tuple[str, ...]:
        """The terms as a tuple of text; those of second moments are left out where there are none."""
        return super().key[: None if self.ld_share is not None else -1]

    @cached_property
    def budget(self) -> dict[str, float]:
        """The split of (epsilon, delta), with the mu of ``moments``."""
        budget = super().budget
        if self.ld_share is None:
            return budget | {"moments": 0.0}
        cross, moments = split_mu(budget["cross"], share=self.ld_share)
        return budget | {"cross": cross, "moments": moments}

    @cached_property
    def moment_claim(self) -> Sensitivity:
        """The sensitivity of second moments, weighted as they are drawn."""
        weights = {"square_weight": SQUARE_WEIGHT, "product_weight": PRODUCT_WEIGHT}
        return genome_moments_sensitivity(moment_norm=self.moment_norm, **weights, **self.relation)

    @property
    def moment_sd(self) -> float:
        """The standard deviation of the noise of a second moment of two directions."""
        return self.moment_claim.value / self.budget["moments"] / PRODUCT_WEIGHT

    @cached_property
    def cross_claim(self) -> Sensitivity:
        """The sensitivity of S, of the outcomes of one budget."""
        norms = {"row_norm": self.row_norm, "outcome_norm": self.outcome_norm, "step": SUM_STEP}
        return genome_sensitivity(self.n_directions, self.n_outcomes, **norms, **self.relation)

    @property
    def cross_step(self) -> float:
        return SUM_STEP


def map_terms(request: "PrivacyRequest") -> dict[str, Any]:
    """Return the terms of a request on which its public map depends, as JSON values."""
    planned = genome_request(request)
    return {
        "n_variants": planned.n_variants,
        "n_outcomes": planned.n_outcomes,
        "neighbours": str(planned.neighbours),
        "mu": float(planned.budget["cross"]),
    }


def sensitivity_factor(neighbours: str) -> float:
    """Return the sensitivity of the sums in units of the norms of a row: 2 where another row replaces it."""
    return 1.0 if Neighbours(neighbours) == Neighbours.ADD_REMOVE else 2.0


@lru_cache(maxsize=256)
def genome_request(request: "PrivacyRequest") -> GenomeRequest:
    """Return a GenomeRequest as far as it is known before there is a map: at most a direction a variant."""
    if isinstance(request, GenomeRequest):
        return request
    norms = {"coding": Coding.FREQUENCY, "row_norm": ROW_NORM}
    norms["outcome_norm"] = request.outcome_norm or math.sqrt(request.n_outcomes)
    if request.ld_share is not None:
        norms["moment_norm"] = LARGEST_JOINT_NORM
    return GenomeRequest(**asdict(request) | norms, n_directions=request.n_variants)


def public_digest(map_digest: str, *, n: float, covariate_effects: np.ndarray | None = None) -> str:
    """Digest all that sums of chromosomes are made with beside the data, SHA-256 in hexadecimal.

    `map_digest` is `GenomeMap.digest`, and `n` the number of people as planned or released. The effects,
    (n_outcomes, n_covariates + 1) float64, are public or released; None if outcomes are not adjusted. Sums
    with another digest belong to another release.
    """
    effects = np.zeros((0, 0)) if covariate_effects is None else covariate_effects
    effects = np.asarray(effects, dtype=np.float64)
    return json_digest(["genome sums", map_digest, float(n).hex(), data_digest(effects)]).hex()


def in_map_order(parts: Sequence[Any], genome: GenomeMap, *, name: str) -> list[Any]:
    """Return sums or moments of chromosomes in the order of the map; UsageError unless each is there once.

    The name stands in the message.
    """
    by_contig = {statistic.contig: statistic for statistic in parts}
    contigs = [chromosome.contig for chromosome in genome.chromosomes]
    if sorted(statistic.contig for statistic in parts) != sorted(contigs):
        raise UsageError(
            "chromosomes-differ",
            f"{name} must be of the chromosomes {', '.join(contigs)}, each once, got those of "
            f"{', '.join(statistic.contig for statistic in parts)}. Sum up what is missing.",
        )
    return [by_contig[contig] for contig in contigs]


def genome_statistic(sums: Sequence[ChromosomeSums], genome: GenomeMap, *, made_with: str) -> np.ndarray:
    """Return S over all chromosomes, in the order of the map, whatever the order of the sums.

    The result is (n_outcomes, n_directions) int64 in units of `SUM_STEP`, rounded down. It raises UsageError
    unless there is one sum for each chromosome, all made with the public terms of this release.
    """
    ordered = in_map_order(sums, genome, name="Sums")
    clips = {contig_sums.is_clipped_jointly for contig_sums in sums}
    if {contig_sums.made_with for contig_sums in sums} != {made_with} or clips != {genome.is_clipped_jointly}:
        raise UsageError(
            "sums-of-another-map",
            "Sums of chromosomes must be made with the map, its clip, the number of people and the effects "
            "of covariates of this release, got others. Sum them up again.",
        )
    pairs = zip(ordered, genome.chromosomes, strict=True)
    return np.concatenate(
        [contig_sums.direction_sums(chromosome) for contig_sums, chromosome in pairs], axis=1
    )


def private_genome_sums(
    sums: Sequence[ChromosomeSums],
    genome: GenomeMap,
    *,
    request: GenomeRequest,
    noise: "NoiseSource",
    made_with: str,
) -> "tuple[np.ndarray, GaussianEvent]":
    """Release S: people's rows along the directions of a public map, times their outcomes.

    Parameters
    ----------
    sums : ChromosomeSums of each chromosome, in any order, of the outcomes of one budget.
    genome : GenomeMap, public, or made from earlier releases.
    request : GenomeRequest
    noise : NoiseSource
    made_with : str, `public_digest` of this release.

    Returns
    -------
    (n_outcomes, n_directions) float64, in the order of the map, and the event.

    Privacy
    -------
    Unit a person, neighbours as requested. Sensitivity `genome_sensitivity`: docs/proofs/genome.md. All
    chromosomes and outcomes are one GaussianEvent. Public: all of the request, the map.

    Raises
    ------
    UsageError
        If the sums or the map do not match the request.
    """
    S = genome_statistic(sums, genome, made_with=made_with)
    square = sum(Fraction(chromosome.row_norm) ** 2 for chromosome in genome.chromosomes)
    is_short = square <= Fraction(request.row_norm) ** 2
    if S.shape != (request.n_outcomes, request.n_directions) or not is_short:
        raise UsageError(
            "genome-sums-shape",
            f"Sums of a genome must be of {request.n_outcomes} outcomes and {request.n_directions} "
            f"directions, and norms of chromosomes within {request.row_norm} together, got others. Ask for "
            "what the map has.",
        )
    noisy, event = noise.gaussian(
        S,
        name="genome sums",
        step=SUM_STEP,
        sensitivity=request.cross_claim,
        mu=request.budget["cross"],
    )
    return noisy * SUM_STEP, event
