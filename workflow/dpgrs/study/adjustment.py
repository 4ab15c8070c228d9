"""Whether a study first adjusts outcomes for covariates, and the share of the budget for it."""

from typing import TYPE_CHECKING, Any

from dpgrs.methods.registry import METHODS
from dpgrs.study.method_choice import outcome_counts_ahead
from dpgrs.study.people_terms import planned_people, training_rows

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig


def has_any(config: "StudyConfig") -> bool:
    """Return whether a study has covariates, from a table or from genotypes."""
    return config.covariates.file is not None or config.covariates.pcs > 0


def adjusts_first(config: "StudyConfig") -> bool:
    """Return whether outcomes of a resolved study are adjusted by a private regression before all else."""
    return bool(config.covariates.first) and has_any(config)


def with_adjustment(config: "StudyConfig") -> "StudyConfig":
    """Decide whether outcomes are adjusted first, and with what share, if the settings do not say."""
    first, share = config.covariates.first, config.covariates.share
    if first is None:
        rows = [METHODS[name] for name in config.methods]
        first = has_any(config) and not all(row.takes_covariates for row in rows)
        first = first and all(row.takes_adjusted(config.mode) for row in rows)
    config = config.changed(covariates={"first": first})
    if adjusts_first(config) and share is None:
        return config.changed(covariates={"share": _default_share(config)})
    return config


def column_terms(config: "StudyConfig") -> dict[str, Any]:
    """Return the terms of covariates that are columns of X, as keywords of a PrivacyRequest."""
    if adjusts_first(config):
        return {}
    from dpgrs.study.table_settings import covariate_terms  # pandas, for studies that ask

    return covariate_terms(config.covariates)


def share_terms(config: "StudyConfig") -> dict[str, Any]:
    """Return the share of the budget of a regression that comes first, as keywords of a PrivacyRequest.

    A resolved study without such a regression has no share.
    """
    return {"covariate_share": config.covariates.share}


def _default_share(config: "StudyConfig") -> float:
    # scipy and pandas, for studies that ask
    from dpgrs.methods.covariate_regression import default_share
    from dpgrs.privacy.accounting.accountant import gdp_mu
    from dpgrs.study.table_settings import covariate_terms

    privacy, people = config.privacy, planned_people(config)
    n_shared = max(outcome_counts_ahead(config)) if privacy.outcome_budget == "joint" else 1
    n_covariates = covariate_terms(config.covariates).get("n_covariates", 0)
    n_rows = None if people is None else training_rows(config, people)
    mu = gdp_mu(min(privacy.epsilon), privacy.delta)
    return default_share(n_covariates + 1, n_shared, mu=mu, n_rows=n_rows)
