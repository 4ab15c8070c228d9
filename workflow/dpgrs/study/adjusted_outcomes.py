"""Outcomes less their covariates' part: by effects that a ledger has, or by exact ones in benchmarks."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.outcomes import CHUNK, Outcomes
from dpgrs.linalg.coding import GENOTYPE_STEP
from dpgrs.linalg.covariate_regression import (
    exact_effects,
    explained_part,
    intercept_units,
    with_intercept,
)
from dpgrs.methods.genome_moments import private_genome_moments
from dpgrs.methods.genome_sums import map_terms
from dpgrs.methods.registry import REGRESSION
from dpgrs.privacy.ledger.charging import require_unchanged
from dpgrs.study.exact_statistics import exact_statistics
from dpgrs.study.genome_people import people_moments, sums_digest
from dpgrs.study.later_draws import LaterRequest
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.io.covariates import Covariates
    from dpgrs.privacy.ledger.ledger import Ledger
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.study.draws import Draw


def adjusted_parts(
    outcomes: Outcomes, covariates: "Covariates", effects: np.ndarray
) -> Iterator[dict[int, np.ndarray]]:
    """Yield outcomes of some rows at a time less their covariates' part, each row by itself.

    `effects`, (n_outcomes, n_covariates + 1) float64, are on their grid.
    """
    for start in range(0, len(outcomes.is_training), CHUNK[1]):
        rows = slice(start, start + CHUNK[1])
        units = covariates.of_rows(rows).units
        explained = explained_part(
            with_intercept(units, bound=covariates.bound, rows=covariates.rows), effects
        )
        adjusted = {id(values): values[:, rows] - explained for values in outcomes.values.values()}
        yield {size: adjusted[id(values)] for size, values in outcomes.values.items()}


def effects_without_privacy(outcomes: Outcomes, covariates: "Covariates") -> np.ndarray:
    """Regress outcomes of the training rows on covariates by least squares, as a reference for benchmarks."""
    units = with_intercept(covariates.units, bound=covariates.bound, rows=covariates.rows)
    values = np.asarray(outcomes.values[next(iter(outcomes.values))])
    return exact_effects(units[:, outcomes.is_training], values[:, outcomes.is_training])


def adjustment_identity(outcomes: Outcomes) -> dict[str, Any]:
    """Return what identifies the regression that adjusted outcomes; empty of outcomes as they are."""
    if outcomes.covariate_effects is None:
        return {}
    return {"adjusted_by": list(outcomes.adjusted_by)}


def require_adjusted(planned_draw: "Draw", ledger: "Ledger") -> None:
    """Refuse outcomes that are not adjusted as the study says, by effects that the ledger charged for."""
    outcomes = planned_draw.data.outcomes
    is_regression = planned_draw.mechanism.name == REGRESSION
    is_needed = planned_draw.settings.covariates.adjusts_first and not is_regression
    is_adjusted = outcomes.covariate_effects is not None
    charged_digests = {*ledger.read().outputs.values()}
    if is_needed != is_adjusted or (is_adjusted and not {*outcomes.adjusted_by} <= charged_digests):
        raise DpgrsError(
            "adjustment-differs",
            f"The outcomes must {'' if is_needed else 'not '}be adjusted for covariates, by effects that the "
            "ledger charged for where they are. Nothing was charged. Remove them and run the study again.",
        )
    if is_adjusted and not outcomes.adjusted_by:
        raise DpgrsError(
            "adjustment-not-released",
            "The outcomes must be adjusted by released effects, got exact ones. Nothing was charged. Remove "
            "them and run the study again.",
        )


def require_same_genotypes(
    planned_draw: "Draw", later: LaterRequest, *, identify: Callable[..., dict[str, Any]], **charging: Any
) -> bool:
    """Refuse a regression on covariates if the ledger has what is drawn of genotypes next on other people, or
    by another version of the mechanisms.

    The number of rows, X'X and second moments of rows do not depend on the regression. They are summed here
    only if the ledger may have them. `identify` takes a part, a mechanism and its request; `charging` are
    account, ledger and study key. The result is whether the ledger has their request. Without a map, as in a
    step that runs by itself, second moments are not compared.
    """
    mechanism, request, data = later.mechanism, later.request, planned_draw.data
    identity = identify(("genotypes",), mechanism, request)
    requests = charging["ledger"].read().requests.values()
    if not any(earlier.identity | identity == earlier.identity for earlier in requests):
        return False
    if request.ld_share is not None and not data.has_ld:
        return True
    gram, moments = None, None
    if request.ld_share is not None:
        stored = data.genome(map_terms(request))
        moments = people_moments(data.variant_set, data.outcomes, stored)
    if "gram" in mechanism.draws["genotypes"]:
        exact = exact_statistics(planned_draw.settings, data.variant_set, data.outcomes)
        gram = exact.clipped[request.n_variants, later.n_outcomes].gram

    def rehearsed(noise: "NoiseSource") -> None:
        mechanism.draw_genotypes(gram, data.n_training, request=request, noise=noise)
        if moments is not None:
            options = {
                "request": request,
                "noise": noise.of("genotypes"),
                "made_with": sums_digest(stored, None),
            }
            private_genome_moments(moments, stored.genome, **options)

    return require_unchanged(rehearsed, identify=lambda release_part: identity, **charging)


def effects_of_fit(effects: np.ndarray, covariates: "Covariates") -> np.ndarray:
    """Return effects whose first column is a row's constant, of which a person of two rows has the sum."""
    first = intercept_units(bound=covariates.bound, rows=covariates.rows) * GENOTYPE_STEP
    constant = effects[:, :1] * first / (2 if covariates.rows == Rows.HAPLOTYPES else 1)
    return np.hstack([constant, effects[:, 1:]])
