"""What a bundle says of covariates: their weights, their public constants and where components come from."""

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.files import written_digest
from dpgrs.linalg.covariates import entry_scale
from dpgrs.privacy.statement.content import COVARIATES_INPUT, PublicInput
from dpgrs.release.bundle import COVARIATES, LOADINGS
from dpgrs.study.table_settings import (
    covariate_constants,
    covariate_identity,
    covariate_names,
    has_covariates,
)


def covariate_weights(weights, outcomes, *, settings):
    """Return the weights of covariates per unit of their raw values.

    Parameters
    ----------
    weights : (n_outcomes, n_covariates) float64, of the columns of X.
    outcomes : n_outcomes str
    settings : dict, the resolved configuration.

    Returns
    -------
    pandas.DataFrame of outcome, covariate, weight, centre, scale and bound, the last in units of the scale;
    None without covariates.

    Raises
    ------
    DpgrsError
        If there are not as many covariates as the settings name.
    """
    covariates = settings.covariates
    names, constants = covariate_names(covariates), covariate_constants(covariates)
    if weights.shape != (len(outcomes), len(names)):
        raise DpgrsError(
            f"The noisy statistics must be of {len(names)} covariates, got {weights.shape[1]}. "
            "Run the study again."
        )
    if not has_covariates(covariates):
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


def covariate_inputs(settings, loadings):
    """Yield the PublicInputs of covariates.

    Parameters
    ----------
    settings : dict, the resolved configuration.
    loadings : path of the public loadings, or None.
    """
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
