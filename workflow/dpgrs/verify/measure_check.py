"""Check measures with intervals on public people: their form, and what follows of them from other files."""

import csv
import re
from collections.abc import Iterator
from math import exp, isfinite, pi, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from dpgrs.types import Rows
from dpgrs.verify.covariate_check import FILE as COVARIATES
from dpgrs.verify.folder_check import read_text
from dpgrs.verify.input_check import MEASURED_ON, SCALE_COLUMNS, SCALES
from dpgrs.verify.prediction_check import NUMBER, SUMS

FILE = "measures.tsv"
COLUMNS = ["outcome", "measure", "value", "low", "high", "expected", "note"]
COUNTS, STATED = ("n", "cases"), "prevalence"
QUANTITATIVE = ["n", "r2_added"]
ODDS_RATIOS = ["or_per_sd", "or_top_tenth"]
BINARY = ["n", "cases", "auc", "r2_added", "r2_liability", "nagelkerke_added", *ODDS_RATIOS]
CALIBRATION = re.compile(r"calibration ([1-9]|10)", re.ASCII)
NOTES = {
    "fewer than 10 cases or controls",
    "fewer than 100 people",
    "no logistic regression: the score separates cases and controls, or does not vary",
    "the score or the outcome does not vary, or people are too few",
    "withheld: no prevalence is stated",
}
# The tolerance for numbers of six digits, and for results computed from them.
TOLERANCE = 1e-5
# A share of the largest score: two scores within it are alike.
ALIKE = 1e-9


def measure_problems(
    statement: dict[str, Any], files: dict[str, Path], sums: list[list[str]] | None
) -> list[str]:
    """Compare measures with the statement, constants of outcomes and the sums over the public people.

    `sums` are from `dpgrs.verify.prediction_check.read_sums`, None if there are none.
    """
    if FILE not in files:
        return []
    if sums is None:
        return [f"{FILE} must be there only beside {SUMS}"]
    measures, problems = read_measures(statement, files)
    if problems:
        return problems
    unit, scales = rows_of_unit(statement), constants_of_outcomes(files)
    outcomes = zip(measures.items(), sums, strict=True)
    return [
        f"the {name} of {outcome} in {FILE} must {rule}"
        for (outcome, lines), cells in outcomes
        for name, rule in _problems(
            lines,
            [float(cell) / unit for cell in cells],
            constants=scales.get(outcome),
            is_of_rows=unit == 1 and COVARIATES not in files,
        )
    ]


def scored_problems(
    statement: dict[str, Any], files: dict[str, Path], Y: np.ndarray, s: np.ndarray
) -> list[str]:
    """Compare measures with public people who are scored anew.

    Y and s are (n_outcomes, n_rows) float64, from `dpgrs.verify.reference_check.score_people`.
    """
    if FILE not in files or COVARIATES in files:  # scores have covariates in them there
        return []
    measures, _ = read_measures(statement, files)
    unit, problems = rows_of_unit(statement), []
    for (outcome, lines), y, score in zip(measures.items(), Y, s, strict=True):
        y, score = y[::unit], score.reshape(-1, unit).sum(axis=1)
        is_known = np.isfinite(y)
        if not is_known.any():
            continue
        worked_out = {"r2_added": [_squared_correlation(y[is_known], score[is_known])] * 2}
        if "auc" in lines:
            middle = (y[is_known].min() + y[is_known].max()) / 2
            worked_out["auc"] = _areas(score[is_known & (y > middle)], score[is_known & (y < middle)])
        problems += [
            f"the {name} of {outcome} in {FILE} must be that of its weights and these public people"
            for name, (low, high) in worked_out.items()
            if isfinite(low)
            and isfinite(lines[name][0])
            and not low - TOLERANCE <= lines[name][0] <= high + TOLERANCE
        ]
    return problems


def rows_of_unit(statement: dict[str, Any]) -> int:
    """Return how many rows share an outcome, and count once in intervals: both of a measured person."""
    inputs = {public["name"]: public["value"] for public in statement["public_inputs"]}
    is_haplotypes = statement["guarantee"]["rows"] == Rows.HAPLOTYPES
    return 2 if is_haplotypes and inputs.get(MEASURED_ON) == "from a table" else 1


def read_measures(
    statement: dict[str, Any], files: dict[str, Path]
) -> tuple[dict[str, dict[str, list[float]]], list[str]]:
    """Return value, low, high and expected by outcome and measure, NaN if missing, and problems."""
    outcomes = statement["data_domain"]["outcomes"]
    try:
        header, *lines = csv.reader(read_text(files[FILE]).split("\n")[:-1], delimiter="\t")
    except (ValueError, csv.Error):  # empty, or no table
        header, lines = [], []
    if header != COLUMNS or any(len(line) != len(COLUMNS) for line in lines):
        return {}, [f"{FILE} must have the columns {', '.join(COLUMNS)}"]
    if list(dict.fromkeys(line[0] for line in lines)) != outcomes:
        return {}, [f"{FILE} must have the lines of every outcome, in their order"]
    measures = {outcome: {} for outcome in outcomes}
    for outcome, name, *cells, note in lines:
        if name in measures[outcome] or not all(not cell or NUMBER.fullmatch(cell) for cell in cells):
            return {}, [f"{FILE} must hold each measure of {outcome} once, as plain decimals"]
        if (note in NOTES) != (not any(cells)) or (note and note not in NOTES):
            return {}, [f"{FILE} must say of {outcome} in dpgrs's words why it has no {name}, and just then"]
        measures[outcome][name] = [float(cell) if cell else float("nan") for cell in cells]
    incomplete = [outcome for outcome, values in measures.items() if not _are_all(list(values))]
    return measures, [
        f"{FILE} must hold the measures of {outcome} that dpgrs gives" for outcome in incomplete
    ]


def _are_all(names: list[str]) -> bool:
    """Return whether names are the measures of a quantitative or of a 0/1 outcome, in order."""
    if names == QUANTITATIVE:
        return True
    names = [name for name in names if name != STATED]
    tenths = names[len(BINARY) :]
    numbers = [int(match[1]) for name in tenths if (match := CALIBRATION.fullmatch(name))]
    is_whole = tenths == ["calibration"] or (len(numbers) == len(tenths) > 0 and numbers == sorted(numbers))
    return names[: len(BINARY)] == BINARY and is_whole


def _problems(
    lines: dict[str, list[float]], sums: list[float], *, constants: tuple | None, is_of_rows: bool
) -> Iterator[tuple[str, str]]:
    """Yield the names of measures of one outcome that are wrong, and what they must be."""
    n, y, yy, s, ss, sy = sums
    for name, (value, low, high, expected) in lines.items():
        is_plain = name in (*COUNTS, STATED)
        if not isfinite(value):
            continue
        largest = float("inf") if name in (*COUNTS, *ODDS_RATIOS) else 1.0
        if not 0 <= value <= largest or (not is_plain and not 0 <= low <= value <= high <= largest):
            yield name, "lie in its interval, and this where such numbers do"
        if isfinite(expected) != (CALIBRATION.fullmatch(name) is not None) or expected > 1:
            yield name, "have a mean risk from 0 to 1 if and only if it is of a tenth"
    if lines["n"][0] != n:
        yield "n", f"be {n:g}, as many as the sums are of"
    if "cases" in lines:
        yield from _case_problems(lines, n, y, constants)
    elif constants is not None and constants[2]:
        yield "cases", "be there: its constants are those of a 0/1 outcome"
    r2 = lines["r2_added"][0]
    spread = (ss - s * s / n) * (yy - y * y / n) if n > 0 else 0.0
    if is_of_rows and isfinite(r2) and spread > 0 and abs((sy - s * y / n) ** 2 / spread - r2) > TOLERANCE:
        yield "r2_added", f"follow from {SUMS}"


def _case_problems(
    lines: dict[str, list[float]], n: float, y: float, constants: tuple | None
) -> Iterator[tuple[str, str]]:
    n_cases, K = lines["cases"][0], lines.get(STATED, [float("nan")])[0]
    expected = float("nan") if constants is None else constants[3]
    if isfinite(K) != isfinite(expected) or abs(K - expected) > TOLERANCE * expected:
        rule = f"be {expected:g}, as in {SCALES}" if isfinite(expected) else "be in no line: none is stated"
        yield STATED, rule
    if constants is not None and constants[2]:
        p, scale, *_ = constants
        if abs(n * p + scale * y - n_cases) > TOLERANCE * (1 + n):
            yield "cases", f"follow from {SUMS} and {SCALES}"
    on_liability, P = lines["r2_liability"], n_cases / n if n else 0.0
    if isfinite(on_liability[0]) and not (0 < K < 1 and 0 < P < 1):
        yield "r2_liability", "go with a prevalence"
    elif isfinite(on_liability[0]):
        expected = [_on_liability(r2, K, P) for r2 in lines["r2_added"][:3]]
        if any(
            abs(a - b) > 100 * TOLERANCE * (1e-3 + b) for a, b in zip(on_liability, expected, strict=False)
        ):
            yield "r2_liability", "follow from r2_added, the prevalence and the share of cases"


def _on_liability(observed: float, K: float, P: float) -> float:
    """Return R^2 on the scale of liability (Lee et al. 2012, equation 15)."""
    t = -NormalDist().inv_cdf(K)
    z = exp(-t * t / 2) / sqrt(2 * pi)
    moved = z / K * (P - K) / (1 - K)
    C = (K * (1 - K) / z) ** 2 / (P * (1 - P))
    scale = 1 + observed * moved * (moved - t) * C
    return min(1.0, observed * C / scale) if scale > 0 else float("nan")


def constants_of_outcomes(files: dict[str, Path]) -> dict[str, tuple[float, float, bool, float]]:
    """Return centre, scale, whether it is 0/1, and the population's prevalence or NaN, by outcome."""
    if SCALES not in files:
        return {}
    header, *lines = csv.reader(read_text(files[SCALES]).splitlines(), delimiter="\t")
    constants = {}
    for line in lines:
        name, centre, scale, kind = line[:4]
        prevalence = (
            line[len(SCALE_COLUMNS)] if len(header) > len(SCALE_COLUMNS) else centre * (kind == "True")
        )
        constants[name] = (float(centre), float(scale), kind == "True", float(prevalence or "nan"))
    return constants


def _squared_correlation(y: np.ndarray, s: np.ndarray) -> float:
    y, s = y - y.mean(), s - s.mean()
    spread = (y @ y) * (s @ s)
    return float((y @ s) ** 2 / spread) if spread > 0 else float("nan")


def _areas(cases: np.ndarray, controls: np.ndarray) -> list[float]:
    """Return the least and the largest share of pairs with the higher score for the case; NaN of no pair.

    Scores that differ only in their last digits may be in any order: sums are not added in one order.
    """
    if not (len(cases) and len(controls)):
        return [float("nan")] * 2
    controls = np.sort(controls)
    alike = ALIKE * max(np.abs(cases).max(), np.abs(controls).max())
    n_below = np.searchsorted(controls, cases - alike), np.searchsorted(controls, cases + alike, side="right")
    return [float(counts.sum() / (len(cases) * len(controls))) for counts in n_below]
