"""What the settings of a study say of covariates and constants: all public, and no private file is read."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.loadings import component_names
from dpgrs.io.tables.outcome_loadings import OutcomeLoadings, read_outcome_loadings
from dpgrs.io.tables.outcome_scales import binary_constants, constants_of, read_scales, scales_digest
from dpgrs.linalg.components import components_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from dpgrs.config.outcomes import Covariates, Outcomes
    from dpgrs.config.study import StudyConfig


def scales_identity(path: Path | str | None) -> dict[str, str]:
    """Return the digest of the constants of outcomes; empty if there are none."""
    return {} if path is None else {"scales": scales_digest(read_scales(path))}


def outcome_constants(outcomes: "Outcomes", names: Sequence[str]) -> "DataFrame | None":
    """Return the public constants of the outcomes of a study, as from `constants_of`; None if there are none.

    A table of constants that cannot be read, or lacks an outcome, is refused.
    """
    path, prevalence = outcomes.scales, outcomes.prevalence
    if path is not None:
        return constants_of(names, read_scales(path), path=path)
    return None if prevalence is None else binary_constants(names, prevalence)


def outcome_loadings_identity(path: Path | str | None) -> dict[str, str]:
    """Return the digest of the loadings of outcomes; empty if there are none."""
    return {} if path is None else {"loadings": read_outcome_loadings(path).digest}


def require_exact_components(loadings: OutcomeLoadings, *, bound: float) -> None:
    """Raise a UsageError if no row of outcomes, all within a bound, maps to its components exactly."""
    # Of nobody: public numbers tell.
    components_of(np.empty((len(loadings.outcomes), 0)), loadings.values, bound=bound)


def drawn_counts(outcomes: "Outcomes") -> Sequence[int] | None:
    """Return how many outcomes, or components of these, are drawn together.

    A table of loadings that is missing or cannot be read is refused.
    """
    if outcomes.loadings is None:
        return outcomes.count
    return [len(read_outcome_loadings(outcomes.loadings).components)]


def table_columns(covariates: "Covariates") -> list[str]:
    """Return the columns of the table of covariates that a study uses: those named, or all with constants.

    A table of constants that is missing or cannot be read is refused.
    """
    if covariates.file is None:
        return []
    if covariates.scales is None:
        raise DpgrsError(
            "covariate-scales-missing",
            "`covariates.scales` must be given with `covariates.file`, got null. Give them.",
        )
    return covariates.columns or list(read_scales(covariates.scales, kind="covariate").index)


def covariate_names(covariates: "Covariates") -> list[str]:
    """Return the names of all covariates, principal components last; errors as in `table_columns`."""
    return [*table_columns(covariates), *component_names(covariates.pcs)]


def covariate_terms(covariates: "Covariates") -> dict[str, Any]:
    """Return the terms of covariates in a PrivacyRequest, as keywords.

    A table of constants that cannot be read counts for none: preflight names it.
    """
    if not covariates.has_any:
        return {}
    try:
        n_covariates = len(covariate_names(covariates))
    except DpgrsError:
        n_covariates = covariates.pcs
    return {"n_covariates": n_covariates, "covariate_bound": covariates.bound} if n_covariates else {}


def column_terms(config: "StudyConfig") -> dict[str, Any]:
    """Return the terms of covariates that are columns of X, as keywords of a PrivacyRequest."""
    return {} if config.covariates.adjusts_first else covariate_terms(config.covariates)


def covariate_constants(covariates: "Covariates") -> "DataFrame | None":
    """Return the constants of the table's columns, as from `constants_of`; None without a table."""
    if covariates.file is None:
        return None
    path, options = covariates.scales, {"kind": "covariate"}
    return constants_of(table_columns(covariates), read_scales(path, **options), path=path, **options)


def covariate_identity(covariates: "Covariates") -> dict[str, Any]:
    """Return what identifies the covariates of a release; empty if there are none."""
    if not covariates.has_any:
        return {}
    constants = covariate_constants(covariates)
    digest = {} if constants is None else {"scales": scales_digest(constants)}
    named = {"names": covariate_names(covariates), "bound": covariates.bound, "pcs": covariates.pcs}
    return {"covariates": named | digest}
