"""Cases and controls of 0/1 outcomes, as a statement has them: post-processing of noisy counts."""

from math import hypot
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.methods.reusecov import SMALLEST_KNOWN
from dpgrs.statement.words import ALL_CASES, AT_FLOOR, NO_CASES

if TYPE_CHECKING:
    from dpgrs.methods.reusecov import NoisyStatistics

DIGITS = 3  # of a standard deviation
ROUNDING = 1e-6  # of a sigma, which is written as a decimal


def case_counts(
    label: dict[str, Any],
    noisy: "NoisyStatistics",
    *,
    is_binary: np.ndarray,  # (n_outcomes,) bool, public
) -> tuple[dict[str, Any], ...]:
    """Say how many of the rows trained on are cases and controls, of each 0/1 outcome.

    Cases that noise brought below 0 or above the rows on which the outcome is known are set to these, and a
    note says so; controls are the rest. A note also says where the known rows are the smallest number that is
    released. Label and statistics are from `load_released`. There are no entries where cases are not counted.
    Post-processing of counts as released costs nothing.
    """
    if noisy.cases is None:
        return ()
    sigmas = {event["statistic"]: event["sigma"] for event in label["events"]}
    cases_sd = sigmas["case counts"]
    known_sd = sigmas.get("outcome counts", sigmas.get("count", 0.0))
    n_known, is_floor = np.full(len(noisy.cases), noisy.n), np.zeros(len(noisy.cases), dtype=bool)
    if noisy.observed is not None:
        n_known = np.minimum(n_known, noisy.observed)
        is_floor = noisy.observed <= max(1.0, SMALLEST_KNOWN * known_sd) * (1 + ROUNDING)
    return tuple(
        _entry(
            label["outcomes"][index], noisy.cases[index], n_known[index], is_floor[index], cases_sd, known_sd
        )
        for index in np.flatnonzero(is_binary)
    )


def _entry(
    outcome: str, noisy: float, n_known: float, is_floor: bool, cases_sd: float, known_sd: float
) -> dict[str, Any]:
    n_known = round(n_known)
    cases = min(max(round(noisy), 0), n_known)
    notes = [*([AT_FLOOR] if is_floor else [])]
    if noisy < 0 or noisy > n_known:
        notes.append(NO_CASES if noisy < 0 else ALL_CASES)
    note = " ".join(notes)
    return {
        "outcome": outcome,
        "known": n_known,
        "known_sd": _rounded(known_sd),
        "cases": cases,
        "cases_sd": _rounded(cases_sd),
        "controls": n_known - cases,
        "controls_sd": _rounded(hypot(cases_sd, known_sd)),
        **({"note": note} if note else {}),
    }


def _rounded(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")
