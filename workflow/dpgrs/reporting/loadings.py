"""What components of the outcomes carry of each, by public loadings."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpgrs.io.tables.outcome_loadings import carried_shares
from dpgrs.reporting.rendering import Section

if TYPE_CHECKING:
    from dpgrs.reporting.data import ReportData
    from dpgrs.reporting.release_data import ReleaseData


def _carried(data: "ReportData | ReleaseData") -> Callable[[int], dict[str, Any]] | None:
    if data.loadings is None:
        return None
    shares = carried_shares(data.loadings)
    worst = shares.argmin()
    of_all = {"n_components": data.loadings.shape[1], "least": shares[worst], "worst": data.outcomes[worst]}
    return lambda outcome: of_all | {"share": shares[outcome]}


CARRIED = Section("What the components carry", "carried.html", _carried)
