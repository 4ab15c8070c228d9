"""Audit every registered mechanism: the privacy loss that it claims, and the loss observed."""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.evaluation.audits import accuracy_cases
from dpgrs.methods.audits.covariates import covariate_cases
from dpgrs.methods.registry import METHODS, fitter_of
from dpgrs.privacy.audit.audit import AuditCase, alarm_probability, audit
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal, ReleaseNoise
from dpgrs.privacy.noise.study_key import StudyKey
from dpgrs.release.audits import RESULTS
from dpgrs.reporting.text_table import text_table
from dpgrs.selection.registry import SELECTORS, chooser_of

if TYPE_CHECKING:
    from dpgrs.privacy.noise.base import NoiseSource

# Runs a mechanism, a function of a noise source, with the noise that further arguments name.
WithNoise = Callable[..., Any]
# What an audit must be able to catch: noise too small by this factor.
CONTROL_FACTOR = math.sqrt(2)
# Columns of the table, with their formats.
COLUMNS = {
    **dict.fromkeys(["mechanism", "neighbours", "unit", "rows", "accounting", "budget", "loss"], ""),
    **dict.fromkeys(["claimed", "observed"], ".3f"),
    "delta": "g",
    **dict.fromkeys(["claimed_epsilon", "observed_epsilon"], ".3f"),
}


def seeded_noise(
    seed: int,  # public; release noise has a key made of it, as nobody's data are audited
    *,
    mode: str,  # release or benchmark
) -> WithNoise:
    """Return how to run a mechanism with the noise of a mode; another seed gives other draws."""
    if mode == "benchmark":
        return lambda run, *key: run(BenchmarkNoise(seed, "audit", *key))
    return keyed_noise(StudyKey(hashlib.sha256(f"audit {seed}".encode()).digest()))


def keyed_noise(study_key: StudyKey) -> WithNoise:
    """Return how to run a mechanism with release noise under a throwaway key, uncharged; see `run_audit`."""
    # The draws of a mechanism do not depend on its noise: one rehearsal serves all draws of an input.
    rehearse = lru_cache(maxsize=1)(_rehearse)

    def run_with_key(run: "Callable[[NoiseSource], Any]", *key: str | int) -> Any:
        draws, identity = rehearse(run), f"audit {key}"
        requests = dict.fromkeys(draws, (identity, identity))
        return run(ReleaseNoise(study_key, draws=draws, requests=requests))

    return run_with_key


def noise_of(case: AuditCase, seed: int, *, mode: str) -> WithNoise:
    """Return `seeded_noise` for a case; benchmark noise for a mechanism that no release draws."""
    return seeded_noise(seed, mode=mode if case.is_for_releases else "benchmark")


def _rehearse(run: "Callable[[NoiseSource], Any]") -> dict[tuple[str, ...], list]:
    rehearsal = Rehearsal()
    run(rehearsal)
    return rehearsal.draws


@cache
def all_cases() -> tuple[AuditCase, ...]:
    """Return the AuditCases of all mechanisms; made once, as it takes seconds."""
    fitters = [fitter_of(name) for name, row in METHODS.items() if row.code]
    choosers = [chooser_of(name) for name, row in SELECTORS.items() if row.is_private]
    builders = [each.audit_cases for each in (*fitters, *choosers)] + [covariate_cases, accuracy_cases]
    # Many fitters have the same cases.
    return tuple({case.name: case for builder in builders for case in builder()}.values())


def choose_cases(
    mechanisms: Sequence[str] = (),  # names of private_* functions; empty means all
    *,
    of_releases: bool = False,  # whether to leave out mechanisms that a release cannot draw
) -> list[AuditCase]:
    """Return the audit cases of mechanisms; a UsageError names a mechanism without any."""
    cases = all_cases()
    mechanism_names = sorted({case.mechanism for case in cases})
    for name in mechanisms:
        if name not in mechanism_names:
            raise UsageError(
                "mechanism-unknown",
                f"`--mechanism` must be one of: {', '.join(mechanism_names)}, got {name}. Change it.",
            )
    return [
        case
        for case in cases
        if (not mechanisms or case.mechanism in mechanisms) and (case.is_for_releases or not of_releases)
    ]


def run_audit(
    case: AuditCase,
    with_noise: WithNoise,  # runs the case with the noise of its name and the number of a draw
    *,
    draws: int,  # > 0, of each of the two inputs
    confidence: float,  # in (0, 1), of the observed loss
) -> dict[str, Any]:
    """Return the case's terms, the losses claimed and observed, and whether the mechanism keeps its claim.

    Both losses are given as an epsilon at `delta`, too. `power` is the chance that this audit catches noise
    too small by `CONTROL_FACTOR`. `parts` has a dict for each statistic by itself (`PartResult`), to which
    `is_within_claim` applies as well.
    """
    options = {"n_draws": draws, "confidence": confidence}
    claim = case.claim
    audited = audit(case, lambda run, draw: with_noise(run, case.name, draw), **options)
    return {
        "mechanism": case.mechanism,
        **case.terms,
        "loss": claim.symbol,
        "claimed": claim.value,
        "observed": audited.observed,
        "delta": claim.delta,
        "claimed_epsilon": claim.epsilon(claim.value),
        "observed_epsilon": claim.epsilon(audited.observed),
        "draws": draws,
        "confidence": confidence,
        "false_guesses": audited.false_guesses,
        "power": alarm_probability(claim, claim.error_rates(CONTROL_FACTOR), **options),
        "parts": [
            asdict(statistic) | {"is_within_claim": statistic.is_within_claim} for statistic in audited.parts
        ],
        "is_within_claim": audited.is_within_claim,
    }


def require_within_claims(findings: Iterable[dict[str, Any]]) -> None:
    """Raise a DpgrsError that names the mechanisms that lose more than they claim."""
    broken = sorted({finding["mechanism"] for finding in findings if not finding["is_within_claim"]})
    if broken:
        raise DpgrsError(
            "claim-broken",
            f"The privacy loss must be at most the claimed one, and is more in: {', '.join(broken)}. "
            "Release nothing with these mechanisms, and report this.",
        )


def as_table(
    findings: Sequence[dict[str, Any]],  # not empty, from `run_audit` with the same draws and confidence
) -> str:
    """Return findings as a table in text, and the power of the audits."""
    first, power = findings[0], min(finding["power"] for finding in findings)
    return "\n".join(
        [
            text_table([*COLUMNS, "verdict"], [row for finding in findings for row in _rows(finding)]),
            "",
            f"{first['draws']} draws of each input; an observed loss is a lower bound at a confidence of "
            f"{first['confidence']}.",
            "Every audit would catch noise too small by sqrt(2) with a probability of at least "
            f"{min(math.floor(power * 1e6), 999_999) / 1e6}.",
        ]
    )


def as_markdown(
    findings: Sequence[dict[str, Any]],  # as of `as_table`
) -> str:
    """Return findings as the table of docs/measurements/audits.md."""
    head = ["mechanism", "terms", "loss", "claimed", "observed"]
    lines = [head, ["---"] * len(head), *(markdown_row(finding) for finding in findings)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def markdown_row(finding: dict[str, Any]) -> list[str]:
    """Return the cells of a finding in `as_markdown`; the last is the observed loss."""
    case_terms = {
        name: cell for name, cell in finding.items() if name not in ("mechanism", *RESULTS) and cell
    }
    named = [cell if name in COLUMNS else f"{name} {cell}" for name, cell in case_terms.items()]
    figures = [f"{finding[name]:.2f}" for name in ("claimed", "observed")]
    return [f"`{finding['mechanism']}`", ", ".join(named), finding["loss"], *figures]


def _rows(finding: dict[str, Any]) -> Iterator[list[str]]:
    """Return the row of a case and, where it has several statistics, one for each of them by itself."""
    yield _row(finding)
    if len(finding["parts"]) > 1:
        for statistic in finding["parts"]:
            yield _row(statistic | {"mechanism": f"  {statistic['name']}", "loss": finding["loss"]})


def _row(finding: dict[str, Any]) -> list[str]:
    cells = [format(finding[name], spec) if name in finding else "" for name, spec in COLUMNS.items()]
    return [*cells, "within claim" if finding["is_within_claim"] else "EXCEEDS CLAIM"]
