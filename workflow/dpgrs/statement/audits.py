"""What a privacy statement says of the audits of its mechanisms."""

from fractions import Fraction

from dpgrs.errors import DpgrsError
from dpgrs.privacy.accounting.exact_numbers import text_above, text_below

DIGITS = 4
# What `dpgrs audit --json` says of a case beside its mechanism and its terms.
RESULTS = (
    "loss",
    "claimed",
    "observed",
    "delta",
    "claimed_epsilon",
    "observed_epsilon",
    "draws",
    "confidence",
    "false_guesses",
    "power",
    "parts",
    "is_within_claim",
)
# In whose audit rows are turned before they are summed, beside that of plain X'Y.
STEERED = "steered statistics"
# What is released by a function that is not called after it.
FUNCTIONS = {"Kendall's correlations": "private_kendall"}


def mechanism_of(statistic):
    """Return the name of the ``private_*`` function that releases a statistic."""
    return FUNCTIONS.get(statistic, f"private_{statistic.replace(' ', '_')}")


def summarise_audits(findings, *, statistics, draws, seed):
    """Sum audits up: of each mechanism, the case whose observed loss came closest to the claim.

    Losses are rounded to `DIGITS` digits, since processors differ in the last ones, a claim up and what was
    observed down.

    Parameters
    ----------
    findings : list of dict, from ``dpgrs audit --json``.
    statistics : the names of all statistics that were released with noise.
    draws : int, of each input, that were asked for.
    seed : int, public, of the noise.

    Returns
    -------
    dict, the section ``audit`` of a statement.

    Raises
    ------
    DpgrsError
        If a mechanism is missing, lost more than it claims, or was run another number of times.
    """
    require_audited(findings, statistics=statistics)
    by_mechanism = {}
    for finding in findings:
        by_mechanism.setdefault(finding["mechanism"], []).append(finding)
    if {finding["draws"] for finding in findings} != {draws}:
        raise DpgrsError(
            f"The audits must have `release.audit_draws` = {draws} draws, got others. Run the study again."
        )
    return {
        "draws": draws,
        "confidence": text_below(Fraction(repr(findings[0]["confidence"])), digits=15),
        "seed": seed,
        "mechanisms": [_summary(name, cases) for name, cases in by_mechanism.items()],
    }


def drawn_statistics(identities):
    """Return the names of all statistics that requests draw, by their identities."""
    return [draw["statistic"] for identity in identities for draw in identity["draws"]]


def require_audited(findings, *, statistics):
    """Refuse audits that leave out a mechanism, or by which one lost more than it claims.

    Parameters
    ----------
    findings, statistics : as in `summarise_audits`.
    """
    missing = {mechanism_of(name) for name in statistics} - {finding["mechanism"] for finding in findings}
    broken = {finding["mechanism"] for finding in findings if not finding["is_within_claim"]}
    if missing or broken:
        what, names = ("missing for", missing) if missing else ("beyond its claim in", broken)
        raise DpgrsError(
            f"The audits must cover every mechanism of a release and stay within its claim, got one {what} "
            f"{', '.join(sorted(names))}. Run `dpgrs audit` and release nothing before it passes."
        )


def _summary(mechanism, cases):
    closest = max(cases, key=lambda case: case["observed"] / case["claimed"])
    terms = {name: value for name, value in closest.items() if value and name not in ("mechanism", *RESULTS)}
    return {
        "mechanism": mechanism,
        "cases": len(cases),
        "terms": terms,
        "loss": closest["loss"],
        "claimed": text_above(Fraction(closest["claimed"]), digits=DIGITS),
        "observed": text_below(Fraction(closest["observed"]), digits=DIGITS),
        "within_claim": True,
    }
