"""The regression on covariates that adjusted outcomes, and its check against study and ledger."""

from typing import TYPE_CHECKING, Any

from dpgrs.errors import DpgrsError
from dpgrs.methods.registry import REGRESSION

if TYPE_CHECKING:
    from dpgrs.io.outcomes import Outcomes
    from dpgrs.privacy.ledger.ledger import Ledger
    from dpgrs.study.draws import Draw


def adjustment_identity(outcomes: "Outcomes") -> dict[str, Any]:
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
