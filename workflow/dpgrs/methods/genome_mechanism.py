"""The mechanism of a whole genome: counts, and sums of people's rows along a public map, in one draw.

Second moments of rows within LD blocks are drawn beside the count, where a request has a share for them. The
map is made for one request (`map_terms`), as the noise steers it. Its fit is `dpgrs.methods.genome_stack`.
"""

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.fit_keys import MATCHED_PEOPLE
from dpgrs.linalg.attenuation import clip_moments, clip_slopes
from dpgrs.linalg.genome_map import DOSAGE_STEP, ChromosomeMap, GenomeMap, LdBlock, ScoreVariances
from dpgrs.linalg.genome_moments import ChromosomeMoments, moment_norm, n_moments
from dpgrs.linalg.genome_sums import ChromosomeSums
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.linalg.norms import budget_groups
from dpgrs.methods.fits import FitTerms
from dpgrs.methods.fitter import Fitter
from dpgrs.methods.genome_cohort_ld import with_cohort_ld
from dpgrs.methods.genome_fit import GenomeEffects, GenomeEntries, genome_entries, variant_weights
from dpgrs.methods.genome_moments import joint_moment_norm, private_genome_moments
from dpgrs.methods.genome_public import public_entries, with_public_entries
from dpgrs.methods.genome_shared import shared_causes
from dpgrs.methods.genome_sums import (
    MOST_ENTRIES,
    GenomeRequest,
    genome_request,
    map_terms,
    private_genome_sums,
    public_digest,
)
from dpgrs.methods.public_scores import with_public_scores
from dpgrs.methods.reusecov import (
    NoisyStatistics,
    draw_genotypes,
    private_outcome_counts,
    require_counts,
)
from dpgrs.methods.sum_mechanisms import SharedStatistics

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.privacy.audit.audit import AuditCase
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.study.training_data import TrainingData


class GenomeStatistics(SharedStatistics):
    """The count, perhaps second moments, and for each budget counts of outcomes and sums of chromosomes."""

    name = "genome-statistics"
    request_kind = GenomeRequest
    takes = ("ld", "chromosomes")
    audited = ("private_genome_sums",)
    draws = MappingProxyType({"genotypes": ("count", "moments"), "outcomes": ("observed", "cross")})

    def terms(self, request: "PrivacyRequest") -> GenomeRequest:
        return genome_request(request)

    def key(self, method: str | None) -> tuple[str, ...]:
        return (self.name,)

    def asked(
        self,
        request: "PrivacyRequest",
        *,
        method: str,
        data: "TrainingData",
        n_outcomes: int,
        settings: "StudyConfig",
    ) -> GenomeRequest:
        genome = data.genome(map_terms(request)).genome
        norms = {"outcome_norm": genome.clip, "n_directions": genome.n_directions}
        if request.ld_share is not None:
            norms["moment_norm"] = joint_moment_norm(genome)
            if n_moments(genome) > MOST_ENTRIES:
                raise UsageError(
                    "too-many-moments",
                    f"The map must have at most {MOST_ENTRIES} pairs of directions within blocks for second "
                    f"moments, got {n_moments(genome)}. Leave out `privacy.ld_share`.",
                )
        return replace(genome_request(request), **norms)

    def exact(
        self,
        request: GenomeRequest,
        *,
        data: "TrainingData",
        names: Sequence[str],
        settings: "StudyConfig",
    ) -> dict[str, Any]:
        stored = data.genome(map_terms(request))
        effects = data.outcomes.covariate_effects
        made_with = public_digest(stored.digest, n=stored.planned_rows, covariate_effects=effects)
        all_sums = data.chromosomes(made_with, ChromosomeSums)
        moments = None if request.ld_share is None else data.chromosomes(made_with, ChromosomeMoments)
        return {
            "genome": stored.genome,
            "sums": [sums.of_outcomes(slice(len(names))) for sums in all_sums],
            "moments": moments,
            "made_with": made_with,
            "n_rows": data.n_training,
            "observed": data.observed(request.n_variants, len(names)),
            "request": request,
            "outcome_names": names,
            "slopes": genome_slopes(
                request,
                data.outcomes.prevalence[: len(names)],
                deviations=stored.genome.deviations(names),
            ),
        }

    def zeros(self, request: "PrivacyRequest", n_outcomes: int) -> dict[str, Any]:
        sums_request = genome_request(request)
        genome = _empty_genome(sums_request)
        made_with = public_digest(genome.digest, n=1)
        has_moments = request.ld_share is not None
        return {
            "genome": genome,
            "sums": [_zero_sums(genome.chromosomes[0], n_outcomes, made_with)],
            "moments": [_zero_moments(genome, made_with)] if has_moments else None,
            "made_with": made_with,
            "n_rows": 1,
            "observed": np.zeros(n_outcomes, dtype=np.int64),
        }

    def draw(
        self,
        genome: GenomeMap,
        sums: Sequence[ChromosomeSums],
        n_rows: int,
        *,
        request: "PrivacyRequest",
        noise: "NoiseSource",
        made_with: str,
        moments: Sequence[ChromosomeMoments] | None = None,
        outcome_names: Sequence[str] | None = None,
        observed: np.ndarray | None = None,
        slopes: np.ndarray | None = None,
    ) -> NoisyStatistics:
        """Release the number of rows, on how many each outcome is known, and sums along the map.

        Second moments of rows within LD blocks are released, too, if the request has a share for them.

        Parameters
        ----------
        genome : GenomeMap, public.
        sums : ChromosomeSums of all chromosomes and outcomes, exact.
        n_rows, request, noise, outcome_names, observed : as in `dpgrs.methods.reusecov.private_statistics`.
        made_with : str, `dpgrs.methods.genome_sums.public_digest` of what the sums are made with.
        moments : ChromosomeMoments of all chromosomes, exact; None if the request has no share for them.
        slopes : (n_outcomes,) float64, public, as in `NoisyStatistics`.

        Returns
        -------
        NoisyStatistics, whose `cross` has a column for each direction.

        Privacy
        -------
        The composition of `private_count`, `private_outcome_counts` (docs/proofs/count.md),
        `private_genome_moments` (docs/proofs/genome_moments.md) and `private_genome_sums`
        (docs/proofs/genome.md), one GaussianEvent each. Public: the request, the map.
        """
        sums_request, n_outcomes = genome_request(request), len(sums[0].variants)
        names = outcome_names or [str(number) for number in range(n_outcomes)]
        if n_outcomes != len(names) or n_outcomes % sums_request.n_outcomes:
            raise UsageError(
                "genome-sums-shape",
                f"Sums of a genome must be of {len(names)} outcomes, {sums_request.n_outcomes} a budget, got "
                f"{n_outcomes}. Sum them up again.",
            )
        is_counted = sums_request.has_private_outcome_counts
        if is_counted:
            require_counts(observed, n_outcomes=n_outcomes)
        n, _, events = draw_genotypes(None, n_rows, request=sums_request, noise=noise)
        noisy_moments = None
        if sums_request.ld_share is not None:
            options = {"request": sums_request, "noise": noise.of("genotypes"), "made_with": made_with}
            noisy_moments, event = private_genome_moments(moments, genome, **options)
            events += (event,)
        cross, counts = np.empty((n_outcomes, sums_request.n_directions)), np.empty(n_outcomes)
        for group in budget_groups(n_outcomes, n_shared=sums_request.n_outcomes):
            outcomes = noise.of("outcomes", *names[group])
            if is_counted:
                counts[group], event = private_outcome_counts(
                    observed[group], request=sums_request, noise=outcomes
                )
                events += (event,)
            group_sums = [contig_sums.of_outcomes(group) for contig_sums in sums]
            options = {"request": sums_request, "noise": outcomes, "made_with": made_with}
            cross[group], event = private_genome_sums(group_sums, genome, **options)
            events += (event,)
        return NoisyStatistics(
            None,
            cross,
            n,
            events,
            observed=counts if is_counted else None,
            slopes=slopes,
            moments=noisy_moments,
        )

    def arrays(self, drawn: NoisyStatistics) -> dict[str, np.ndarray]:
        return super().arrays(drawn) | ({} if drawn.moments is None else {"moments": drawn.moments})

    def restore(self, label: dict[str, Any], arrays: dict[str, np.ndarray]) -> NoisyStatistics:
        return NoisyStatistics(**{"gram": None} | arrays, n=label["n"])

    def outputs(
        self, drawn: NoisyStatistics, names: Sequence[str], request: "PrivacyRequest"
    ) -> dict[tuple[str, ...], tuple]:
        # No request draws a public n, but weights depend on it.
        of_all = (drawn.n, *(() if drawn.moments is None else (drawn.moments,)))
        is_drawn = request.has_private_count or drawn.moments is not None
        by_part = {("genotypes",): of_all} if is_drawn else {}
        for group in budget_groups(len(names), n_shared=request.n_outcomes):
            counts = () if drawn.observed is None else (drawn.observed[group],)
            by_part["outcomes", *names[group]] = (drawn.n, *counts, drawn.cross[group])
        return by_part


class BlupGenome(Fitter):
    """BLUP and a mixture of effects along a map of the genome."""

    mechanism = GenomeStatistics

    def audit_cases(self) -> "list[AuditCase]":
        from dpgrs.methods.audits.genome import genome_cases

        return genome_cases()

    def fit(
        self, drawn: Any, *, request: "PrivacyRequest", terms: FitTerms, outcomes: np.ndarray | None = None
    ) -> LinearFit:
        return genome_weights(drawn, request=genome_request(request), terms=terms)


def genome_slopes(
    request: GenomeRequest, prevalence: np.ndarray, *, deviations: np.ndarray | None = None
) -> np.ndarray:
    """Return how much clips leave of the effects on each outcome, by public constants: (n_outcomes,)."""
    bounds = {"bound": request.outcome_bound, "norm": request.outcome_norm, "deviations": deviations}
    return clip_slopes(prevalence, n_shared=request.n_outcomes, **bounds)


def genome_weights(noisy: NoisyStatistics, *, request: GenomeRequest, terms: FitTerms) -> LinearFit:
    """Fit the weights of all variants from released statistics; post-processing costs nothing.

    Outcomes that are seen less clearly than others, as they are known of fewer people or lose more to the
    clip, have larger entries, with as much more noise. With second moments the fit has the LD of the cohort,
    and no scale from the panel's people, whose LD may be another. What public scores that were subtracted
    from outcomes add to entries is added again. Outcomes share causes where entries show it, but not with
    second moments, for which this is not derived, nor outcomes that follow public effects.
    """
    genome, slope = terms.genome(map_terms(request)), noisy.shown.max()
    factors = noisy.inflation * slope / noisy.shown
    unknown = np.full(request.n_outcomes, np.nan)
    bounds = {"bound": request.outcome_bound, "norm": request.outcome_norm}
    if genome.scored:
        bounds["deviations"] = genome.deviations(_names_of_scored(terms, len(factors)))[: len(unknown)]
    square = clip_moments(unknown, n_shared=request.n_outcomes, **bounds)[1].mean()
    bounds = np.cumsum([chromosome.n_directions for chromosome in genome.chromosomes])[:-1]
    sums = np.split(noisy.cross * factors[:, np.newaxis], bounds, axis=1)
    public, sampling = {"slope": slope, "residual": square / slope**2}, square / slope**2 / noisy.n
    entries = genome_entries(genome, sums, noisy.n, noise_sd=request.noise_sd["cross"], **public)
    if genome.scored:
        entries = with_public_scores(entries, genome, _names_of_scored(terms, len(factors)))
    if noisy.moments is not None:
        if terms.effects is not None:
            raise UsageError(
                "ld-share-with-public-effects",
                "`privacy.ld_share` must be null with `public.effects`. Leave one of them out.",
            )
        of_noise = {"moment_sd": request.moment_sd, "residual": public["residual"]}
        entries = with_cohort_ld(entries, genome, noisy.moments, noisy.n, **of_noise)
        terms, sampling = replace(terms, same_ancestry=False), None
    entries = replace(entries, factors=factors**2)
    weights, fit_fields = _fitted(entries, genome, terms, sampling=sampling)
    means = np.concatenate([chromosome.centre for chromosome in genome.chromosomes]) * DOSAGE_STEP - 1
    return LinearFit(weights, means, np.zeros(len(weights)), **fit_fields)


def _names_of_scored(fit_terms: FitTerms, n_outcomes: int) -> tuple[str, ...]:
    """Return the names of outcomes of some of which public scores were subtracted."""
    if fit_terms.effects is None or len(fit_terms.effects.names) != n_outcomes:
        raise UsageError(
            "effects-of-other-outcomes",
            "A fit of outcomes less their public scores must have the public effects of these outcomes, got "
            "none or others. Name `public.effects` as they were.",
        )
    return fit_terms.effects.names


def _fitted(
    outcome_entries: GenomeEntries,
    genome: GenomeMap,
    fit_terms: FitTerms,
    *,
    sampling: float | None,  # as in `shared_causes`; None fits outcomes as if they shared no causes
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return weights, and the other fields of their LinearFit by name.

    The fit takes outcomes with public effects one by one.
    """
    from dpgrs.methods.genome_stack import fit_genome  # brings numba, which takes 0.3 s

    def panel_variances(effects: GenomeEffects) -> ScoreVariances:
        if fit_terms.panel_variances is None:
            raise DpgrsError(
                "panel-missing",
                "A fit of a genome must have the people of the public reference, as their ancestry is "
                "stated, got none. Name their variant set.",
            )
        return fit_terms.panel_variances(genome, variant_weights(genome, effects))

    is_scaled = fit_terms.same_ancestry and genome.n_panel >= MATCHED_PEOPLE
    options = {
        "heritability": fit_terms.heritability,
        "panel_variances": panel_variances if is_scaled else None,
    }
    fit_fields = {}

    def weights_of(entries: GenomeEntries) -> np.ndarray:
        causes = None
        if sampling is not None:
            stated = {"heritability": fit_terms.heritability, "n_panel": genome.n_panel}
            causes = shared_causes(entries, sampling=sampling, **stated)
        if causes is None:
            return np.hstack(variant_weights(genome, fit_genome(entries, **options).effects))
        fit_fields["n_factors"] = np.array(causes.n_factors)
        of_rows = (
            options if fit_terms.heritability is None else options | {"heritability": causes.heritability}
        )
        fit = fit_genome(causes.entries(entries), **of_rows)
        return np.hstack(variant_weights(genome, causes.effects(fit.effects)))

    if fit_terms.effects is None:
        return weights_of(outcome_entries), fit_fields
    files = [public_entries(genome, effects) for effects in fit_terms.effects.values]
    weights = np.empty((len(outcome_entries.of_axes), genome.n_variants))
    correlations, has_file = np.zeros(len(weights)), fit_terms.effects.is_for.any(axis=1)
    if not has_file.all():
        weights[~has_file] = weights_of(outcome_entries.of_rows(~has_file))
    for row in np.flatnonzero(has_file):
        followed = [files[number] for number in np.flatnonzero(fit_terms.effects.is_for[row])]
        joined, correlations[row] = with_public_entries(
            outcome_entries.of_rows(np.array([row])), genome, followed
        )
        weights[row] = weights_of(joined)
    return weights, fit_fields | {"correlations": correlations}


def _empty_genome(request: GenomeRequest) -> GenomeMap:
    """Return a map of one variant with the requested number of directions, to rehearse a draw."""
    K, nothing = request.n_directions, np.empty((0, 0))
    zeros, shares = np.zeros((K, 1), dtype=np.int64), np.full(K, 1 / K)
    block = LdBlock(0, 1, zeros, shares, shares, nothing, nothing, np.ones(1), 0.0)
    no_axes = np.zeros((1, 0), dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    chromosome = ChromosomeMap(
        "1", np.zeros(1, dtype=np.int64), (block,), no_axes, none, 1.0, none, no_axes[:0]
    )
    return GenomeMap((chromosome,), 1, 1.0, 1.0, np.zeros(0), np.zeros(0), False, np.ones(1))


def _zero_sums(chromosome: ChromosomeMap, n_outcomes: int, made_with: str) -> ChromosomeSums:
    zeros = np.zeros((n_outcomes, chromosome.n_variants), dtype=np.int64)
    return ChromosomeSums(chromosome.contig, zeros, zeros[:, :0], made_with)


def _zero_moments(genome: GenomeMap, made_with: str) -> ChromosomeMoments:
    (chromosome,) = genome.chromosomes
    entries = np.zeros(n_moments(genome), dtype=np.int64)
    return ChromosomeMoments(chromosome.contig, entries, made_with, moment_norm(chromosome))
