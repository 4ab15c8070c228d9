"""The exact data of a replicate's training rows, from which mechanisms draw."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.covariates import Covariates
from dpgrs.io.outcomes import CHUNK, Outcomes
from dpgrs.io.replicates import Statistics, load_labelled
from dpgrs.io.variant_set import VariantSet, check_same_people
from dpgrs.linalg.attenuation import clip_slopes
from dpgrs.linalg.coding import OUTCOME_STEP, count_cases, count_known
from dpgrs.linalg.components import components_of, mapped_loadings
from dpgrs.linalg.outcome_grid import clipped_outcomes, largest_row_norm
from dpgrs.methods.mechanisms import mechanism_of_file, request_of
from dpgrs.selection.screening_data import ScreeningData
from dpgrs.study.genome_maps import StoredMap, stored_map
from dpgrs.study.public_files import load_ld
from dpgrs.study.training_rows import training_rows
from dpgrs.types import Coding, Protection

if TYPE_CHECKING:
    from dpgrs.linalg.public_ld import PublicLd
    from dpgrs.methods.drawn_choices import DrawnChoices
    from dpgrs.methods.requests import PrivacyRequest

Record = TypeVar("Record")


class TrainingData:
    """Files of a replicate, each read when it is needed, or their content as made in one process."""

    outcomes: Outcomes
    _paths: dict[str, Any]

    def __init__(
        self,
        outcomes: Path | str | Outcomes,
        *,
        statistics: Path | str | Statistics | None = None,
        variant_set: Path | str | VariantSet | None = None,
        choices: Path | str | None = None,
        ld: Path | str | None = None,
        chromosomes: Sequence[Path | str] = (),
        covariates: "Path | str | Covariates | None" = None,
        n_threads: int = 1,
    ) -> None:
        """Take paths, or the objects that were made of the files.

        Statistics are None for draws from rows only, the variant set for draws from sums only, `ld`, public
        linkage disequilibrium, and `covariates` for draws without them. `chromosomes` are sums along a map in
        it. `choices` are variants that were chosen for each outcome before; without them each draw chooses
        its own. Threads compare genotypes with outcomes; their number changes no byte.
        """
        self.outcomes = Outcomes.load(outcomes) if _is_path(outcomes) else outcomes
        self._paths = {"statistics": statistics, "variant_set": variant_set, "choices": choices, "ld": ld}
        self._paths["covariates"] = covariates
        self._chromosomes = chromosomes
        self._rows, self._components, self._maps, self._n_threads = {}, {}, {}, n_threads

    @cached_property
    def statistics(self) -> Statistics:
        """The exact sums; sums of a shard are refused, since the people in it depend on everybody."""
        sums = self._paths["statistics"]
        if _is_path(sums):
            sums = Statistics.load(sums, is_for_draws=True)
        if sums.people is not None:
            raise DpgrsError(
                "statistics-of-shard",
                "The statistics must be of all people, got those of a shard. "
                "Add the shards (add-statistics).",
            )
        return sums

    @cached_property
    def variant_set(self) -> VariantSet:
        """The genotypes, of the same people as the outcomes."""
        variant_set = self._paths["variant_set"]
        if _is_path(variant_set):
            variant_set = VariantSet.open(variant_set)
        check_same_people(variant_set, self.outcomes)
        return variant_set

    @cached_property
    def covariates(self) -> Covariates:
        """The covariates, of the same rows as the outcomes."""
        source = self._paths["covariates"]
        covariates = Covariates.load(source) if _is_path(source) else source
        if covariates is None or covariates.units.shape[1] != len(self.outcomes.is_training):
            raise DpgrsError(
                "covariates-of-other-people",
                "The covariates must be of the same people as the outcomes, got none or others. Make them "
                "again from the same genotypes (make-outcomes, make-covariates).",
            )
        return covariates

    def covariate_rows(self, n_outcomes: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield covariates in units and outcomes of some training rows at a time, a row in each column."""
        outcomes, covariates = self.outcomes, self.covariates
        values = outcomes.values[next(iter(outcomes.values))]
        for start in range(0, len(outcomes.is_training), CHUNK[1]):
            rows = slice(start, start + CHUNK[1])
            is_training = outcomes.is_training[rows]
            units = covariates.of_rows(rows).units[:, is_training]
            yield units, values[:n_outcomes, rows][:, is_training]

    def within_bounds(self, request: "PrivacyRequest", n_outcomes: int) -> "PrivacyRequest":
        """Add the norms at which rows were clipped, if they were, and the covariates among their columns.

        Rows that were clipped over other outcomes than the outcomes of a budget are refused.
        """
        clipped = self.statistics.clipped.get((request.n_variants, n_outcomes))
        if clipped is None:
            return request
        if clipped.n_shared not in (None, request.n_outcomes):
            raise DpgrsError(
                "statistics-of-another-budget",
                f"The statistics must be of rows clipped over the {request.n_outcomes} outcomes of a budget, "
                f"got {clipped.n_shared:g}. Compute them again: `privacy.outcome_budget` was another.",
            )
        return replace(
            request,
            coding=clipped.coding,
            row_norm=clipped.row_norm,
            outcome_norm=clipped.outcome_norm,
            n_covariates=self.statistics.n_covariates,
            covariate_bound=self.statistics.covariate_bound,
        )

    def with_public_outcomes(
        self, request: "PrivacyRequest", n_outcomes: int, *, keeps_split: bool
    ) -> "PrivacyRequest":
        """Bound rows of outcomes by the largest there is, if outcomes are public.

        With `keeps_split` the split of the budget stays that of settings only, which a ledger identifies
        again before outcomes are read.
        """
        if request.protection != Protection.FEATURE:
            return request
        values = self.drawn_outcomes(request)[:n_outcomes, self.outcomes.is_training]
        bounds = {"bound": request.outcome_bound, "norm": request.outcome_norm}
        Y = clipped_outcomes(values, n_shared=request.n_outcomes, **bounds)
        norm = largest_row_norm(Y, n_shared=request.n_outcomes)
        # Outcomes that are all missing have no length, and a sensitivity must be above 0.
        split_options = {"gram_share": request.share_of_gram} if keeps_split else {}
        return replace(request, outcome_norm=max(norm, OUTCOME_STEP), **split_options)

    def sums(self, request: "PrivacyRequest", n_outcomes: int) -> dict[str, Any]:
        """Return the exact statistics of a request, as keywords of the functions that draw.

        Sums whose rows or bounds are not the ones behind the sensitivities of the request are refused; sums
        of finer units are a UsageError.
        """
        statistics = self.statistics
        if (statistics.rows, statistics.outcome_bound) != (request.rows, request.outcome_bound):
            raise DpgrsError(
                "statistics-of-other-terms",
                f"The statistics must be of {request.rows} and outcomes within {request.outcome_bound}, got "
                f"{statistics.rows} within {statistics.outcome_bound}. Compute them again.",
            )
        if request.coding != Coding.HALF:
            clipped = statistics.clipped[request.n_variants, n_outcomes]
            gram, cross = clipped.gram, clipped.cross
        elif statistics.clipped or not _has_units(statistics, request):
            raise UsageError(
                "statistics-not-tight",
                f"The exact statistics must be within tight bounds, got none that are for {n_outcomes} "
                f"outcomes on {request.n_variants} variants. Compute them for these numbers.",
            )
        else:
            size = request.n_variants
            gram, cross = statistics.gram_of_size(size), statistics.cross[size]
        return {
            "gram": gram,
            "cross": cross[:n_outcomes],
            "n_rows": statistics.n_rows,
            "observed": statistics.n_observed[:n_outcomes],
        }

    def cases(self, request: "PrivacyRequest", n_outcomes: int) -> np.ndarray:
        """Return on how many training rows each 0/1 outcome is 1, 0 for others: (n_outcomes,) int64.

        Public constants tell which outcomes are 0/1. They standardise them, so that 1 lies above 0, and 0
        below.
        """
        outcomes, counts = self.outcomes, np.zeros(n_outcomes, dtype=np.int64)
        values, n_rows = outcomes.values[request.n_variants], CHUNK[1]
        for start in range(0, len(outcomes.is_training), n_rows):
            rows = slice(start, start + n_rows)
            counts += count_cases(values[:n_outcomes, rows][:, outcomes.is_training[rows]])
        return np.where(np.isnan(outcomes.prevalence[:n_outcomes]), 0, counts)

    def origin(self, n_variants: int) -> np.ndarray | None:
        """Return the zero of `frequency` coding in `half` coding; None if statistics are in the latter."""
        return self.statistics.origin.get(n_variants)

    def slopes(self, request: "PrivacyRequest", n_outcomes: int) -> np.ndarray:
        """Return how much clips leave of the effects on each of the first outcomes, by public constants."""
        clipped = self.statistics.clipped.get((request.n_variants, n_outcomes))
        # For public outcomes the request has the norm of the largest row, at which nothing was clipped.
        return self.slopes_of(request, n_outcomes, norm=None if clipped is None else clipped.outcome_norm)

    def slopes_of(self, request: "PrivacyRequest", n_outcomes: int, *, norm: float | None) -> np.ndarray:
        """Return the same for rows of outcomes that are clipped at a norm."""
        bounds = {"bound": request.outcome_bound, "norm": norm}
        prevalence = self.outcomes.prevalence
        if self.outcomes.loadings is not None:
            # Components of many outcomes are about normal, whatever these are.
            prevalence = np.full(n_outcomes, np.nan)
        return clip_slopes(prevalence[:n_outcomes], n_shared=request.n_outcomes, **bounds)

    @property
    def public_loadings(self) -> dict[str, np.ndarray]:
        """The map of components' weights back to outcomes, as keywords; empty if outcomes are drawn."""
        loadings = self.outcomes.loadings
        return {} if loadings is None else {"loadings": mapped_loadings(loadings)}

    def drawn_outcomes(self, request: "PrivacyRequest") -> np.ndarray:
        """Return outcomes, or their components if these are drawn: (n_drawn, n_rows) float64."""
        size, outcomes = request.n_variants, self.outcomes
        if outcomes.loadings is None:
            return outcomes.values[size]
        if size not in self._components:
            outcomes_and_loadings = outcomes.values[size], outcomes.loadings
            self._components[size] = components_of(*outcomes_and_loadings, bound=request.outcome_bound)
        return self._components[size]

    def rows(self, n_variants: int) -> ScreeningData:
        """Return the data of so many variants and all outcomes: draws take as many as are named."""
        if n_variants not in self._rows:
            files = self.outcomes, self.variant_set
            self._rows[n_variants] = training_rows(*files, n_variants, n_threads=self._n_threads)
        return self._rows[n_variants]

    def frequency(self, n_variants: int) -> np.ndarray:
        """Return the public frequencies of a number of variants, (n_variants,) float64."""
        return self.variant_set.frequency[self.variant_set.of_size(n_variants)]

    def ld(self, n_variants: int) -> "PublicLd":
        """Return the PublicLd of a number of variants."""
        return self._ld[n_variants][0]

    @cached_property
    def _ld(self) -> "dict[int, tuple[PublicLd, str]]":
        return load_ld(self._paths["ld"])

    @property
    def has_ld(self) -> bool:
        """Whether there is public linkage disequilibrium, or a map."""
        return self._paths["ld"] is not None

    def genome(self, request_terms: Mapping[str, Any]) -> StoredMap:
        """Return the public map of a genome for the terms of a request."""
        key = json.dumps(request_terms, sort_keys=True)
        if key not in self._maps:
            self._maps[key] = stored_map(self._paths["ld"], request_terms)
        return self._maps[key]

    def chromosomes(self, made_with: str, kind: type[Record]) -> list[Record]:
        """Return the exact sums, or second moments of rows, of all chromosomes along a map."""
        return load_chromosomes(self._chromosomes, made_with, kind)

    @property
    def n_training(self) -> int:
        """How many rows are trained on."""
        return int(self.outcomes.is_training.sum())

    def observed(self, n_variants: int, n_outcomes: int) -> np.ndarray:
        """Return on how many training rows each of the first outcomes is known, (n_outcomes,) int64."""
        return count_known(self.outcomes.values[n_variants][:n_outcomes, self.outcomes.is_training])

    def choices(self, request: "PrivacyRequest", n_outcomes: int) -> "DrawnChoices | None":
        """Return the choices that were drawn before for a ScreenedRequest, or None."""
        return self._choices.get((request, n_outcomes))

    @cached_property
    def _choices(self) -> "dict[tuple[PrivacyRequest, int], DrawnChoices]":
        if self._paths["choices"] is None:
            return {}
        return {
            (request_of(label), label["n_outcomes"]): mechanism_of_file(label).restore(label, arrays)
            for label, arrays in load_labelled(self._paths["choices"])
        }


def _has_units(statistics: Statistics, request: "PrivacyRequest") -> bool:
    """Tell whether statistics are in the units of a request."""
    return (statistics.gram_step, statistics.cross_step) == (request.gram_step, request.cross_step)


def _is_path(source: object) -> bool:
    return isinstance(source, str | PathLike)


def load_chromosomes(
    paths: Sequence[Path | str],
    made_with: str,
    kind: type[Record],  # ChromosomeSums, or ChromosomeMoments, which have a norm
) -> list[Record]:
    """Read the records of all chromosomes along one map."""
    has_norm = "norm" in kind.__annotations__

    def is_of_kind(label: dict[str, Any]) -> bool:
        return label["made_with"] == made_with and ("norm" in label) == has_norm

    records = [
        kind(**label, **arrays) for path in paths for label, arrays in load_labelled(path).of(is_of_kind)
    ]
    if not records:
        raise DpgrsError(
            "genome-sums-of-another-map",
            "Sums of a genome must be made along the map of this release, got others. Sum them up again: "
            "dpgrs sum-genome",
        )
    return records
