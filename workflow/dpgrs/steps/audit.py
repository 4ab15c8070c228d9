"""Audit every mechanism that has joined, and say what was claimed and what was seen."""

import hashlib
import math
from dataclasses import asdict
from functools import cache, lru_cache

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.evaluation.audits import accuracy_cases
from dpgrs.methods.audits.covariates import covariate_cases
from dpgrs.methods.registry import METHODS, named
from dpgrs.privacy.audit.audit import alarm_probability, audit
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal, ReleaseNoise
from dpgrs.privacy.noise.study_key import StudyKey
from dpgrs.reporting.text_table import text_table
from dpgrs.selection.registry import SELECTORS
from dpgrs.selection.registry import named as named_by_selector
from dpgrs.statement.audits import RESULTS

# What an audit must be able to catch: noise too small by this factor.
CONTROL_FACTOR = math.sqrt(2)
# Columns of the table, with their formats.
COLUMNS = {
    **dict.fromkeys(["mechanism", "neighbours", "unit", "rows", "accounting", "budget", "loss"], ""),
    **dict.fromkeys(["claimed", "observed"], ".3f"),
    "delta": "g",
    **dict.fromkeys(["claimed_epsilon", "observed_epsilon"], ".3f"),
}


def seeded_noise(seed, *, mode):
    """Return how to run a mechanism with the noise of a mode; another seed gives other draws.

    Parameters
    ----------
    seed : int, public. The key of release noise is made of it, as the statistics of an audit are nobody's.
    mode : ``release`` or ``benchmark``.

    Returns
    -------
    function, see `run_audit`.
    """
    if mode == "benchmark":
        return lambda run, *key: run(BenchmarkNoise(seed, "audit", *key))
    return keyed_noise(StudyKey(hashlib.sha256(f"audit {seed}".encode()).digest()))


def keyed_noise(study_key):
    """Return how to run a mechanism with release noise under a throwaway key, uncharged; see `run_audit`."""
    # What a mechanism draws does not hang on its noise: one rehearsal serves all draws of an input.
    rehearse = lru_cache(maxsize=1)(_rehearse)

    def run_with_key(run, *key):
        draws, identity = rehearse(run), f"audit {key}"
        requests = dict.fromkeys(draws, (identity, identity))
        return run(ReleaseNoise(study_key, draws=draws, requests=requests))

    return run_with_key


def noise_of(case, seed, *, mode):
    """Return `seeded_noise` for a case: of a benchmark where a release draws none, whatever the mode."""
    return seeded_noise(seed, mode=mode if case.is_for_releases else "benchmark")


def _rehearse(run):
    rehearsal = Rehearsal()
    run(rehearsal)
    return rehearsal.draws


@cache
def all_cases():
    """Return the AuditCases of all that draws noise, a tuple; made once, as it takes seconds."""
    of_methods = dict.fromkeys(row.audits for row in METHODS.values() if row.audits)
    of_selectors = dict.fromkeys(row.audits for row in SELECTORS.values() if row.audits)
    builders = [*map(named, of_methods), *map(named_by_selector, of_selectors)]
    builders += [covariate_cases, accuracy_cases]
    return tuple(case for builder in builders for case in builder())


def choose_cases(mechanisms=(), *, of_releases=False):
    """Return the audit cases of mechanisms.

    Parameters
    ----------
    mechanisms : sequence of str, names of ``private_*`` functions; empty means all.
    of_releases : bool, whether to leave out what a release cannot draw.

    Returns
    -------
    list of AuditCase

    Raises
    ------
    UsageError
        For a mechanism that has no case.
    """
    cases = all_cases()
    known = sorted({case.mechanism for case in cases})
    for name in mechanisms:
        if name not in known:
            raise UsageError(f"`--mechanism` must be one of: {', '.join(known)}, got {name}. Change it.")
    return [
        case
        for case in cases
        if (not mechanisms or case.mechanism in mechanisms) and (case.is_for_releases or not of_releases)
    ]


def run_audit(case, with_noise, *, draws, confidence):
    """Audit one case.

    Parameters
    ----------
    case : AuditCase
    with_noise : function (run, name of the case, number of a draw) -> run(noise source). Different names or
        numbers must give independent noise.
    draws : int > 0, of each of the two inputs.
    confidence : float in (0, 1), of the observed loss.

    Returns
    -------
    dict of the case's terms, the loss claimed and observed, both as an epsilon at ``delta`` too, ``power``,
    the chance that this audit catches noise too small by `CONTROL_FACTOR`, ``parts``, a dict for each
    statistic by itself (`PartResult`), and ``is_within_claim``, which is of the parts too.
    """
    options = {"n_draws": draws, "confidence": confidence}
    claim = case.claim
    result = audit(case, lambda run, draw: with_noise(run, case.name, draw), **options)
    return {
        "mechanism": case.mechanism,
        **case.terms,
        "loss": claim.symbol,
        "claimed": claim.value,
        "observed": result.observed,
        "delta": claim.delta,
        "claimed_epsilon": claim.epsilon(claim.value),
        "observed_epsilon": claim.epsilon(result.observed),
        "draws": draws,
        "confidence": confidence,
        "false_guesses": result.false_guesses,
        "power": alarm_probability(claim, claim.error_rates(CONTROL_FACTOR), **options),
        "parts": [asdict(part) | {"is_within_claim": part.is_within_claim} for part in result.parts],
        "is_within_claim": result.is_within_claim,
    }


def require_within_claims(findings):
    """Fail if a mechanism loses more than it claims.

    Raises
    ------
    DpgrsError
        With the names of the mechanisms.
    """
    broken = sorted({finding["mechanism"] for finding in findings if not finding["is_within_claim"]})
    if broken:
        raise DpgrsError(
            f"The privacy loss must be at most what is claimed, and is more in: {', '.join(broken)}. "
            "Release nothing with these mechanisms, and report this."
        )


def as_table(findings):
    """Lay findings out in columns, as text.

    Parameters
    ----------
    findings : list of dict from `run_audit`, of the same numbers of draws and confidence; not empty.

    Returns
    -------
    str, a table and what the audits can see.
    """
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


def as_markdown(findings):
    """Lay findings out as the table of docs/measurements/audits.md; parameters as in `as_table`."""
    head = ["mechanism", "terms", "loss", "claimed", "observed"]
    lines = [head, ["---"] * len(head), *(markdown_row(finding) for finding in findings)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def markdown_row(finding):
    """Return the cells of a finding in `as_markdown`, of which the last is what was observed."""
    terms = {name: value for name, value in finding.items() if name not in ("mechanism", *RESULTS) and value}
    named = [value if name in COLUMNS else f"{name} {value}" for name, value in terms.items()]
    figures = [f"{finding[name]:.2f}" for name in ("claimed", "observed")]
    return [f"`{finding['mechanism']}`", ", ".join(named), finding["loss"], *figures]


def _rows(finding):
    """Return the row of a case and, where it has several statistics, one for each of them by itself."""
    yield _row(finding)
    if len(finding["parts"]) > 1:
        for part in finding["parts"]:
            yield _row(part | {"mechanism": f"  {part['name']}", "loss": finding["loss"]})


def _row(finding):
    cells = [format(finding[name], spec) if name in finding else "" for name, spec in COLUMNS.items()]
    return [*cells, "within claim" if finding["is_within_claim"] else "EXCEEDS CLAIM"]
