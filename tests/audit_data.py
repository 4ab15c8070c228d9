"""What audits of the mechanisms of `release_data` would have found."""

from dpgrs.release.audits import summarise_audits
from dpgrs.statement.audits import audited_function

STATISTICS = ("count", "gram", "cross product")
TERMS = {"neighbours": "add-remove", "unit": "person", "rows": "people", "accounting": "gdp"}


def make_finding(statistic="gram", *, claimed=1.85432, observed=1.5, **changed):
    """Return one case as `dpgrs audit --json` writes it."""
    finding = {
        "mechanism": audited_function(statistic),
        **TERMS,
        "loss": "mu",
        "claimed": claimed,
        "observed": observed,
        "delta": 0.001,
        "claimed_epsilon": 6.9,
        "observed_epsilon": 5.7,
        "draws": 500,
        "confidence": 0.999999,
        "false_guesses": [340, 1259],
        "power": 1.0,
        "parts": [],
        "is_within_claim": observed <= claimed,
    }
    return finding | changed


def make_audit():
    """Return the section ``audit`` of a statement."""
    findings = [make_finding(statistic) for statistic in STATISTICS]
    return summarise_audits(findings, statistics=STATISTICS, draws=500, seed=1)
