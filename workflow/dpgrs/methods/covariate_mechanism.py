"""The mechanism of regressions on covariates: its request from a study, and its stored arrays."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.linalg.covariate_regression import RegressionSums, regression_sums, with_intercept
from dpgrs.linalg.norms import budget_groups, outcome_norm, row_norm_of
from dpgrs.linalg.outcome_grid import clipped_outcomes
from dpgrs.methods.chosen_requests import ScreeningTerms, screened_request
from dpgrs.methods.covariate_regression import (
    CovariateEffects,
    CovariateRequest,
    covariate_effects,
    private_covariate_regression,
)
from dpgrs.methods.registry import METHODS
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.sum_mechanisms import SharedStatistics
from dpgrs.privacy.accounting.events import event_of
from dpgrs.types import Coding, Protection

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.study.training_data import TrainingData


def covariate_request(
    request: PrivacyRequest, *, n_covariates: int, settings: "StudyConfig"
) -> CovariateRequest:
    """Return the terms of the regression that comes before a request of a study.

    If variants are chosen by pure epsilons, its share is of the budget that the choices leave; a benchmark of
    several methods uses the smallest of these budgets.
    """
    privacy, bound = settings.privacy, settings.covariates.bound
    request = PrivacyRequest(**{field.name: getattr(request, field.name) for field in fields(PrivacyRequest)})
    requests = [request]
    for name in settings.methods:
        if (selector := METHODS[name].selector) and not METHODS[name].is_non_private:
            requests.append(screened_request(request, ScreeningTerms.of(settings.screening, selector)).rest)
    smallest = min(requests, key=lambda candidate: candidate.epsilon)
    n_columns = n_covariates + 1
    norm_options = {"factor": privacy.genotype_clip, "n_covariates": n_columns, "covariate_bound": bound}
    request_fields = asdict(request) | {
        "n_variants": 0,
        "n_covariates": n_covariates,
        "covariate_bound": bound,
        "coding": Coding.FREQUENCY,
        "row_norm": row_norm_of(np.empty(0), rows=request.rows, **norm_options),
        "outcome_norm": outcome_norm(
            request.n_outcomes, factor=privacy.outcome_clip, bound=request.outcome_bound
        ),
        "case_share": None,
        "ld_share": None,
    }
    return CovariateRequest(**request_fields | {"epsilon": smallest.epsilon, "delta": smallest.delta})


class CovariateRegression(SharedStatistics):
    """The sums of a regression of outcomes on covariates, a vector for each budget, and its effects."""

    name = "covariate-regression"
    methods = ()
    # A release needs the variant set, for `require_same_genotypes`.
    takes = ("covariates", "variant_set")
    reads = (
        *("methods", "screening", "covariates"),
        *("privacy.bounds", "privacy.genotype_clip", "privacy.outcome_clip"),
    )
    kind, request_kind = CovariateEffects, CovariateRequest
    draws = MappingProxyType({"genotypes": (), "outcomes": ("covariates",)})

    def serves(self, method: str | None, request: PrivacyRequest) -> bool:
        return request.protection in (Protection.FULL, Protection.LABEL)

    def key(self, method: str | None) -> tuple[str, ...]:
        return (self.name,)

    def asked(
        self,
        request: PrivacyRequest,
        *,
        method: str,
        data: "TrainingData",
        n_outcomes: int,
        settings: "StudyConfig",
    ) -> CovariateRequest:
        return covariate_request(request, n_covariates=len(data.covariates.names), settings=settings)

    def exact(
        self,
        request: CovariateRequest,
        *,
        data: "TrainingData",
        names: Sequence[str],
        settings: "StudyConfig",
    ) -> dict[str, Any]:
        sums = _sums(request, data=data, n_outcomes=len(names))
        slopes = data.slopes_of(request, len(names), norm=request.outcome_norm)
        return {"sums": sums, "request": request, "outcome_names": names, "slopes": slopes}

    def zeros(self, request: CovariateRequest, n_outcomes: int) -> dict[str, Any]:
        size = request.n_entries
        shapes = ((size, size), (n_outcomes, size), (n_outcomes,))
        sums = RegressionSums(*(np.zeros(shape, dtype=np.int64) for shape in shapes))
        return {"sums": sums, "slopes": np.ones(n_outcomes)}

    def draw(
        self,
        sums: RegressionSums,
        *,
        request: CovariateRequest,
        noise: "NoiseSource",
        outcome_names: Sequence[str],
        slopes: np.ndarray,
    ) -> CovariateEffects:
        """Release the sums as `private_covariate_regression`, and estimate effects from them."""
        options = {"request": request, "noise": noise, "outcome_names": outcome_names}
        vectors, events = private_covariate_regression(sums, **options)
        effects = covariate_effects(vectors, request=request, slopes=slopes)
        return CovariateEffects(effects, vectors, events)

    def arrays(self, drawn: CovariateEffects) -> dict[str, np.ndarray]:
        return {"effects": drawn.effects, "vectors": drawn.vectors}

    def restore(self, label: dict[str, Any], arrays: dict[str, np.ndarray]) -> CovariateEffects:
        return CovariateEffects(**arrays, events=tuple(map(event_of, label["events"])))

    def outputs(
        self, drawn: CovariateEffects, names: Sequence[str], request: CovariateRequest
    ) -> dict[tuple[str, ...], tuple]:
        # Outputs include effects: their last digits differ by machine, and outcomes were adjusted on one.
        groups = budget_groups(len(names), n_shared=request.n_outcomes)
        return {
            ("outcomes", *names[group]): (vector, drawn.effects[group])
            for vector, group in zip(drawn.vectors, groups, strict=True)
        }


def _sums(request: CovariateRequest, *, data: "TrainingData", n_outcomes: int) -> RegressionSums:
    """Sum products of covariates and outcomes over the training rows."""
    covariates, chunk_sums = data.covariates, []
    bounds = {"bound": request.outcome_bound, "norm": request.outcome_norm, "n_shared": request.n_outcomes}
    for covariate_units, Y in data.covariate_rows(n_outcomes):
        units = with_intercept(covariate_units, bound=covariates.bound, rows=covariates.rows)
        clipped = clipped_outcomes(Y, **bounds)
        chunk_sums.append(regression_sums(units, clipped, ~np.isnan(Y), row_norm=request.row_norm))
    return RegressionSums(
        sum(chunk.gram for chunk in chunk_sums),
        sum(chunk.cross for chunk in chunk_sums),
        sum(chunk.known for chunk in chunk_sums),
    )
