"""What components of the outcomes carry of each, by public loadings."""

from dpgrs.io.tables.outcome_loadings import carried_shares
from dpgrs.reporting.rendering import Section


def _carried(data):
    if data.loadings is None:
        return None
    shares = carried_shares(data.loadings)
    worst = shares.argmin()
    known = {"n_components": data.loadings.shape[1], "least": shares[worst], "worst": data.outcomes[worst]}
    return lambda outcome: known | {"share": shares[outcome]}


CARRIED = Section("What the components carry", "carried.html", _carried)
