"""What a bundle says of covariates: their weights, their public constants and where components come from."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.files import written_digest
from dpgrs.linalg.coding import entry_scale
from dpgrs.statement.content import PublicInput
from dpgrs.statement.files import COVARIATES, LOADINGS
from dpgrs.statement.words import COVARIATES_INPUT
from dpgrs.study.table_settings import (
    covariate_constants,
    covariate_identity,
    covariate_names,
)
from dpgrs.verify.covariate_check import REGRESSION_NORM, REGRESSION_OUTCOMES, REGRESSION_WEIGHTS

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.methods.covariate_regression import CovariateRequest


def covariate_weights(
    weights: np.ndarray, outcomes: Sequence[str], *, settings: "StudyConfig"
) -> pd.DataFrame | None:
    """Return the weights of covariates per unit of their raw values; None without covariates.

    `weights` belong to the columns of X, (n_outcomes, n_covariates) float64. Columns of the result are
    outcome, covariate, weight, centre, scale and bound, the last in units of the scale. Another number of
    covariates than the settings name is refused.
    """
    covariates = settings.covariates
    names, constants = covariate_names(covariates), covariate_constants(covariates)
    if weights.shape != (len(outcomes), len(names)):
        raise DpgrsError(
            "covariate-weights-shape",
            f"The noisy statistics must be of {len(names)} covariates, got {weights.shape[1]}. "
            "Run the study again.",
        )
    if not covariates.has_any:
        return None
    # Components are scaled by their loadings.
    centre, scale = np.zeros(len(names)), np.ones(len(names))
    if constants is not None:
        centre[: len(constants)], scale[: len(constants)] = constants["centre"], constants["scale"]
    per_unit = entry_scale(bound=covariates.bound, rows=settings.cohort.rows) / scale
    return pd.DataFrame(
        {
            "outcome": np.repeat(list(outcomes), len(names)),
            "covariate": np.tile(names, len(outcomes)),
            "weight": (weights * per_unit).ravel(),
            "centre": np.tile(centre, len(outcomes)),
            "scale": np.tile(scale, len(outcomes)),
            "bound": covariates.bound,
        }
    )


def covariate_inputs(settings: "StudyConfig", loadings: Path | None) -> Iterator[PublicInput]:
    """Yield the public inputs of covariates; `loadings` is the file of public loadings, if any."""
    for stated in covariate_identity(settings.covariates).values():
        bound, chosen = f"{stated['bound']:g} standard deviations", "chosen in the configuration"
        yield PublicInput(COVARIATES_INPUT, ", ".join(stated["names"]), f"columns of the study, {COVARIATES}")
        yield PublicInput("bound of covariates", bound, chosen)
        if "scales" in stated:
            origin = f"a table of the curator, {COVARIATES}"
            yield PublicInput("centre and scale of covariates", stated["scales"], origin)
    if loadings is not None:
        origin = f"people of the public reference, {LOADINGS}"
        yield PublicInput("loadings of principal components", written_digest(loadings), origin)


def regression_inputs(request: "CovariateRequest") -> Iterator[PublicInput]:
    """Yield the public inputs of a regression on covariates: all on which its sensitivity depends."""
    constants = "public constants"
    yield PublicInput(REGRESSION_NORM, f"{request.row_norm:g}", constants)
    yield PublicInput(REGRESSION_OUTCOMES, f"{request.outcome_norm:g}", "chosen in the configuration")
    weights = f"{request.square_weight} and {request.known_weight}"
    yield PublicInput(REGRESSION_WEIGHTS, weights, f"{constants}, in steps of 2^-28")


def with_regression(label: dict[str, Any], regression: dict[str, Any] | None) -> dict[str, Any]:
    """Return the label of the draws, with the draws of a regression on covariates put first."""
    if regression is None:
        return label
    return label | {name: [*regression[name], *label[name]] for name in ("events", "requests")}
