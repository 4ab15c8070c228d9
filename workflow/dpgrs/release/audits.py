"""What a privacy statement says of the audits of its mechanisms."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from dpgrs.errors import DpgrsError
from dpgrs.privacy.accounting.exact_numbers import text_above, text_below
from dpgrs.statement.audits import audited_function

DIGITS = 4
# What `dpgrs audit --json` says of a case beside its mechanism and its terms.
RESULTS = (
    *("loss", "claimed", "observed", "delta", "claimed_epsilon", "observed_epsilon", "draws", "confidence"),
    *("false_guesses", "power", "parts", "is_within_claim"),
)


def summarise_audits(
    findings: Sequence[dict[str, Any]], *, statistics: Iterable[str], draws: int, seed: int
) -> dict[str, Any]:
    """Sum audits up, the section ``audit`` of a statement: of each mechanism, the case closest to its claim.

    Findings are from ``dpgrs audit --json``, `statistics` are all that were released with noise, `draws` is
    their number for each input, as it was asked for. Losses are rounded to `DIGITS` digits, since processors
    differ in the last ones, a claim up and what was observed down. A DpgrsError says that a mechanism is
    missing, lost more than it claims, or was run another number of times.
    """
    require_audited(findings, statistics=statistics)
    by_mechanism = {}
    for finding in findings:
        by_mechanism.setdefault(finding["mechanism"], []).append(finding)
    if {finding["draws"] for finding in findings} != {draws}:
        raise DpgrsError(
            "audits-of-other-draws",
            f"The audits must have `release.audit_draws` = {draws} draws, got others. Run the study again.",
        )
    return {
        "draws": draws,
        "confidence": text_below(Fraction(repr(findings[0]["confidence"])), digits=15),
        "seed": seed,
        "mechanisms": [_summary(name, cases) for name, cases in by_mechanism.items()],
    }


def drawn_statistics(identities: Iterable[dict[str, Any]]) -> list[str]:
    """Return the names of all statistics that requests draw, by their identities."""
    return [draw["statistic"] for identity in identities for draw in identity["draws"]]


def require_audited(findings: Sequence[dict[str, Any]], *, statistics: Iterable[str]) -> None:
    """Refuse audits that leave out a mechanism, or show that one lost more than it claims."""
    missing = {audited_function(name) for name in statistics} - {finding["mechanism"] for finding in findings}
    broken = {finding["mechanism"] for finding in findings if not finding["is_within_claim"]}
    if missing or broken:
        what, names = ("missing for", missing) if missing else ("beyond its claim in", broken)
        raise DpgrsError(
            "audits-incomplete",
            f"The audits must cover every mechanism of a release and stay within its claim, got one {what} "
            f"{', '.join(sorted(names))}. Run `dpgrs audit` and release nothing before it passes.",
        )


def _summary(mechanism: str, cases: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a statement says of the cases of a mechanism."""
    closest = max(cases, key=lambda case: case["observed"] / case["claimed"])
    settings = {
        name: value for name, value in closest.items() if value and name not in ("mechanism", *RESULTS)
    }
    return {
        "mechanism": mechanism,
        "cases": len(cases),
        "terms": settings,
        "loss": closest["loss"],
        "claimed": text_above(Fraction(closest["claimed"]), digits=DIGITS),
        "observed": text_below(Fraction(closest["observed"]), digits=DIGITS),
        "within_claim": True,
    }
