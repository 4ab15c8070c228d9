"""Check accuracy, counts, cases and measures: their form, and what they follow from.

Noisy counts of people held out are beside a charged accuracy, measures with intervals are of public people.
"""

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from math import exp, hypot, isfinite, pi, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from dpgrs.statement.draws import ACCURACY, CASES, COUNT, KNOWN
from dpgrs.statement.words import ALL_CASES, AT_FLOOR, NO_CASES
from dpgrs.types import Missing, Rows
from dpgrs.verify.covariate_check import FILE as COVARIATES
from dpgrs.verify.covariate_check import stated_inputs
from dpgrs.verify.draw_check import FREE, has_statistics
from dpgrs.verify.folder_check import read_rows
from dpgrs.verify.input_check import MEASURED_ON, OUTCOME_BOUND, SCALES, constants_of_outcomes
from dpgrs.verify.statistics_check import (
    ARRAYS,
    LEAST_SDS,
    floors,
    prevalences,
    read_statistics,
    rows_of,
    sigmas_of,
)

CONSTANTS, SUMS = "constants.tsv", "accuracy_sums.tsv"
SUM_COLUMNS = ["outcome", "n", "outcome_sum", "outcome_squares", "score_sum", "score_squares", "products"]
# No float64 has more digits.
NUMBER = re.compile(r"-?(0|[1-9]\d{0,400})(\.\d{1,400})?", re.ASCII)
STATED = re.compile(r"R\^2 (-?\d{1,400}\.\d{4}|nan), mean squared error (\d{1,400}\.\d{4}|nan)", re.ASCII)
# Of people who are not public: what was drawn, or that it tells nothing.
R2_WITH_NOISE = r"R\^2 -?\d{1,400}\.\d{4} with noise of standard deviation \d{1,400}\.\d{4}"
ERROR_WITH_NOISE = r"mean squared error -?\d{1,400}\.\d{4} with \d{1,400}\.\d{4}"
COUNT_WITH_NOISE = r"(, -?\d{1,400}\.\d %s with \d{1,400}\.\d)?"
COUNTS_WITH_NOISE = "".join(COUNT_WITH_NOISE % what for what in ("rows", "cases", "controls"))
TOLD = f"{R2_WITH_NOISE}, {ERROR_WITH_NOISE}{COUNTS_WITH_NOISE}"
DRAWN = re.compile(f"{TOLD}|withheld: the noise drowns it", re.ASCII)
IN_PUBLIC = f"{FREE}, measured on {{}} people of the public reference"  # its cost
# Stated to four digits; what it follows from has ten.
ABSOLUTE, RELATIVE = Fraction(1, 10**4), Fraction(1, 10**8)


def read_constants(
    statement: dict[str, Any], files: dict[str, Path]
) -> tuple[list[list[str]] | None, list[str]]:
    """Return the constants of predictions, a list of text for each outcome, and problems.

    An outcome has the constant of a person and, if rows are haplotypes, of one of these. Constants are None
    if the table is missing or malformed.
    """
    is_haplotypes = statement["guarantee"]["rows"] == "haplotypes"
    columns = ["outcome", "constant", *["haplotype_constant"][: int(is_haplotypes)]]
    return _read_table(CONSTANTS, columns, statement, files)


def accuracy_problems(
    statement: dict[str, Any], files: dict[str, Path], constants: list[list[str]] | None
) -> list[str]:
    """Compare accuracy with the outcomes, and accuracy on public people with sums and constants."""
    stated, problems = statement["accuracy"], []
    is_stated = isinstance(stated, list)
    is_public = is_stated and all(accuracy["cost"].startswith(FREE) for accuracy in stated)
    if is_public != (SUMS in files):
        return [f"{SUMS} must be there if and only if accuracy was measured on public people"]
    if is_stated and [accuracy["name"] for accuracy in stated] != statement["data_domain"]["outcomes"]:
        problems.append("the accuracy must be stated of each outcome, in their order")
    if not is_public:
        return problems + [
            f"the accuracy of {accuracy['name']} must be R^2 and mean squared error, each with its noise"
            for accuracy in (stated if is_stated else ())
            if not DRAWN.fullmatch(accuracy["value"])
        ]
    lines, faults = read_sums(statement, files)
    problems += faults
    if problems or constants is None:
        return problems
    rows_of_person = 2 if statement["guarantee"]["rows"] == Rows.HAPLOTYPES else 1
    for accuracy, (n, *_) in zip(stated, lines, strict=True):
        cost = IN_PUBLIC.format(Fraction(n) // rows_of_person)
        if accuracy["cost"] != cost:
            problems.append(
                f"the cost of the accuracy of {accuracy['name']} must be `{cost}`, got {accuracy['cost']}"
            )
    rows = zip(stated, lines, constants, strict=True)
    worked_out = (
        problem
        for accuracy, cells, constant in rows
        for problem in _accuracy_problems_of(accuracy, cells, Fraction(constant[-1]))
    )
    return [*problems, *worked_out]


def read_sums(statement: dict[str, Any], files: dict[str, Path]) -> tuple[list[list[str]] | None, list[str]]:
    """Read the sums over public people; as `read_constants`, of n, y, y^2, s, s^2 and s y."""
    return _read_table(SUMS, SUM_COLUMNS, statement, files)


def _accuracy_problems_of(stated: dict[str, Any], cells: list[str], constant: Fraction) -> list[str]:
    """Compare the stated accuracy of one outcome with its sums."""
    match, name = STATED.fullmatch(stated["value"]), stated["name"]
    if match is None:
        return [f"the accuracy of {name} must be R^2 and mean squared error to four digits"]
    n, y, yy, s, ss, sy = map(Fraction, cells)
    if n <= 0:
        return [] if set(match.groups()) == {"nan"} else [f"the accuracy of {name} must be nan: of nobody"]
    if "nan" in match.groups():
        return [f"the accuracy of {name} must be numbers, got {stated['value']}"]
    # Of y - (constant + s); R^2 compares with a prediction of 0.
    rss = yy - 2 * (constant * y + sy) + n * constant**2 + 2 * constant * s + ss
    r2 = 1 - rss / yy if yy else None
    worked_out = {"R^2": (match[1], r2), "mean squared error": (match[2], rss / n)}
    return [
        f"the {what} of {name} must be {Decimal(value.numerator) / value.denominator:.6g} by {SUMS} and "
        f"{CONSTANTS}, got {text}"
        for what, (text, value) in worked_out.items()
        if value is not None and abs(Fraction(text) - value) > ABSOLUTE + RELATIVE * abs(value)
    ]


def _read_table(
    name: str, columns: list[str], statement: dict[str, Any], files: dict[str, Path]
) -> tuple[list[list[str]] | None, list[str]]:
    """Return the cells of a table of numbers by outcome, without the outcomes' names, and its errors."""
    if name not in files:
        return None, []  # named already
    outcomes = statement["data_domain"]["outcomes"]
    header, *lines = read_rows(files[name])
    if header != columns or any(len(line) != len(columns) for line in lines):
        return None, [f"{name} must have the columns {', '.join(columns)}"]
    if [line[0] for line in lines] != outcomes:
        return None, [f"{name} must have a line for every outcome, in their order"]
    if not all(NUMBER.fullmatch(cell) for line in lines for cell in line[1:]):
        return None, [f"{name} must hold numbers as plain decimals"]
    return [line[1:] for line in lines], []


NUMBERS = re.compile(r"-?\d+\.\d+", re.ASCII)
NOISY_COUNTS = re.compile(r"(-?\d+\.\d) (rows|cases|controls) with (\d+\.\d)", re.ASCII)
SMALLEST_APART = 0.05
# Tolerances of numbers stated to one digit, and to four.
ONE_DIGIT, FOUR_DIGITS = 0.051, 0.000051


def count_problems(statement: dict[str, Any], files: dict[str, Path]) -> list[str]:
    """List counts of people held out, and their noise, that do not follow from the rest of a statement.

    The draws of the statement are in order.
    """
    sigmas = sigmas_of(statement, ACCURACY.statistic)
    if not sigmas:
        return []
    inputs = stated_inputs(statement)
    bound, scales = float(inputs[OUTCOME_BOUND]), constants_of_outcomes(files)
    return [
        f"the {what} of the people held out of {accuracy['name']} must {rule}"
        for accuracy in statement["accuracy"]
        for what, rule in _count_problems(
            accuracy["value"],
            sigmas.get(accuracy["name"], sigmas.get(None)),
            bound,
            scales.get(accuracy["name"]),
        )
    ]


def _count_problems(
    value: str, sigma: Any, bound: float, constants: tuple | None
) -> Iterator[tuple[str, str]]:
    counts = {what: (float(number), float(sd)) for number, what, sd in NOISY_COUNTS.findall(value)}
    apart = low = high = None
    if constants is not None and constants[2]:
        p = constants[0]
        low, high = (min(odds, bound**2) for odds in (p / (1 - p), (1 - p) / p))
        apart = high - low
    if apart is None or abs(apart) < SMALLEST_APART:
        for what in counts.keys() & {"cases", "controls"}:
            yield what, "be withheld: they do not follow from squares"
        counts = {what: count for what, count in counts.items() if what == "rows"}
    if counts and set(counts) not in ({"rows"}, {"rows", "cases", "controls"}):
        yield "counts", "be rows, alone or with cases and controls"
    if "rows" not in counts:
        return
    n, n_sd = counts["rows"]
    if abs(n_sd - sigma / bound) > ONE_DIGIT:
        yield "noise of the rows", f"be {sigma / bound:.1f}"
    r2, _, mse, _ = map(float, NUMBERS.findall(value)[:4])
    for what, sign, square in (("cases", 1, low), ("controls", -1, high)):
        # Where noise brings R^2 above 1 digits tell nothing of the sums.
        if what not in counts or mse <= 0 or r2 >= 1:
            continue
        number, sd = counts[what]
        if abs(sd - hypot(sigma, square * sigma / bound) / abs(apart)) > ONE_DIGIT:
            yield f"noise of the {what}", "be that of the sums"
        unexplained = max(1 - r2, 2 * FOUR_DIGITS)
        total = mse * n / unexplained
        slack = (
            total * (FOUR_DIGITS / max(abs(mse), FOUR_DIGITS) + FOUR_DIGITS / unexplained) + 10 * ONE_DIGIT
        )
        if abs(number - sign * (total - n * square) / apart) > 2 * abs(slack / apart) + 1:
            yield what, "follow from R^2, mean squared error and rows"


MEASURES = "measures.tsv"
MEASURE_COLUMNS = ["outcome", "measure", "value", "low", "high", "expected", "note"]
PLAIN_MEASURES, PREVALENCE = ("n", "cases"), "prevalence"
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
FEWEST_OF_A_KIND = 10  # cases, and controls, of whom there are measures


def measure_problems(statement: dict[str, Any], files: dict[str, Path]) -> list[str]:
    """Compare measures with the statement, constants of outcomes and the sums over the public people."""
    if MEASURES not in files:
        return []
    sums, _ = read_sums(statement, files)
    if sums is None:
        return [f"{MEASURES} must be there only beside {SUMS}"]
    measures, problems = read_measures(statement, files)
    if problems:
        return problems
    unit, scales = rows_of_unit(statement), constants_of_outcomes(files)
    outcomes = zip(measures.items(), sums, strict=True)
    return [
        f"the {name} of {outcome} in {MEASURES} must {rule}"
        for (outcome, lines), cells in outcomes
        for name, rule in _measure_problems(
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
    if MEASURES not in files or COVARIATES in files:  # scores have covariates in them there
        return []
    measures, _ = read_measures(statement, files)
    unit, problems = rows_of_unit(statement), []
    for (outcome, lines), y, score in zip(measures.items(), Y, s, strict=True):
        y, score = y[::unit], score.reshape(-1, unit).sum(axis=1)
        is_known = np.isfinite(y)
        if not is_known.any():
            continue
        worked_out, is_withheld = (
            {"r2_added": [_squared_correlation(y[is_known], score[is_known])] * 2},
            False,
        )
        if "auc" in lines:
            middle = (y[is_known].min() + y[is_known].max()) / 2
            groups = score[is_known & (y > middle)], score[is_known & (y < middle)]
            worked_out["auc"], is_withheld = _areas(*groups), min(map(len, groups)) < FEWEST_OF_A_KIND
        problems += [
            f"the {name} of {outcome} in {MEASURES} must be "
            f"{'withheld' if is_withheld else 'that of its weights and these public people'}"
            for name, (low, high) in worked_out.items()
            if (isfinite(low) and isfinite(lines[name][0]) == is_withheld)
            or lines[name][0] < low - TOLERANCE
            or lines[name][0] > high + TOLERANCE
        ]
    return problems


def rows_of_unit(statement: dict[str, Any]) -> int:
    """Return how many rows share an outcome, and count once in intervals: both of a measured person."""
    inputs = stated_inputs(statement)
    is_haplotypes = statement["guarantee"]["rows"] == Rows.HAPLOTYPES
    return 2 if is_haplotypes and inputs.get(MEASURED_ON) == "from a table" else 1


def read_measures(
    statement: dict[str, Any], files: dict[str, Path]
) -> tuple[dict[str, dict[str, list[float]]], list[str]]:
    """Return value, low, high and expected by outcome and measure, NaN if missing, and problems."""
    outcomes = statement["data_domain"]["outcomes"]
    header, *lines = read_rows(files[MEASURES])
    if header != MEASURE_COLUMNS or any(len(line) != len(MEASURE_COLUMNS) for line in lines):
        return {}, [f"{MEASURES} must have the columns {', '.join(MEASURE_COLUMNS)}"]
    measures = {outcome: {} for outcome in outcomes}
    for outcome, name, *cells, note in lines:
        if name in measures.setdefault(outcome, {}) or not all(
            not cell or NUMBER.fullmatch(cell) for cell in cells
        ):
            return {}, [f"{MEASURES} must hold each measure of {outcome} once, as plain decimals"]
        if (note in NOTES) != (not any(cells)) or not (cells[0] or note) or (note and note not in NOTES):
            return {}, [
                f"{MEASURES} must say of {outcome} in dpgrs's words why it has no {name}, and just then"
            ]
        measures[outcome][name] = [float(cell) if cell else float("nan") for cell in cells]
    if [line[0] for line in lines] != [outcome for outcome in outcomes for _ in measures[outcome]]:
        return {}, [f"{MEASURES} must have the lines of every outcome, in their order"]
    incomplete = [outcome for outcome, values in measures.items() if not _are_all(list(values))]
    return measures, [
        f"{MEASURES} must hold the measures of {outcome} that dpgrs gives" for outcome in incomplete
    ]


def _are_all(names: list[str]) -> bool:
    """Return whether names are the measures of a quantitative or of a 0/1 outcome, in order."""
    if names == QUANTITATIVE:
        return True
    names = [name for name in names if name != PREVALENCE]
    tenths = names[len(BINARY) :]
    numbers = [int(match[1]) for name in tenths if (match := CALIBRATION.fullmatch(name))]
    is_whole = tenths == ["calibration"] or (len(numbers) == len(tenths) > 0 and numbers == sorted(numbers))
    return names[: len(BINARY)] == BINARY and is_whole


def _measure_problems(
    lines: dict[str, list[float]], sums: list[float], *, constants: tuple | None, is_of_rows: bool
) -> Iterator[tuple[str, str]]:
    """Yield the names of measures of one outcome that are wrong, and what they must be."""
    n, y, yy, s, ss, sy = sums
    for name, (value, low, high, expected) in lines.items():
        is_plain = name in (*PLAIN_MEASURES, PREVALENCE)
        if not isfinite(value):
            continue
        largest = float("inf") if name in (*PLAIN_MEASURES, *ODDS_RATIOS) else 1.0
        if not 0 <= value <= largest or (not is_plain and not 0 <= low <= value <= high <= largest):
            yield name, "lie in its interval, and this where such numbers do"
        if isfinite(expected) != (CALIBRATION.fullmatch(name) is not None) or expected > 1:
            yield name, "have a mean risk from 0 to 1 if and only if it is of a tenth"
    if lines["n"][0] != n:
        yield "n", f"be {n:g}, as many as the sums are of"
    if "cases" in lines:
        yield from _measured_case_problems(lines, n, y, constants)
    elif constants is not None and constants[2]:
        yield "cases", "be there: its constants are those of a 0/1 outcome"
    r2 = lines["r2_added"][0]
    spread = (ss - s * s / n) * (yy - y * y / n) if n > 0 else 0.0
    if is_of_rows and isfinite(r2) and spread > 0 and abs((sy - s * y / n) ** 2 / spread - r2) > TOLERANCE:
        yield "r2_added", f"follow from {SUMS}"


def _measured_case_problems(
    lines: dict[str, list[float]], n: float, y: float, constants: tuple | None
) -> Iterator[tuple[str, str]]:
    n_cases, K = lines["cases"][0], lines.get(PREVALENCE, [float("nan")])[0]
    expected = float("nan") if constants is None else constants[3]
    if isfinite(K) != isfinite(expected) or abs(K - expected) > TOLERANCE * expected:
        rule = f"be {expected:g}, as in {SCALES}" if isfinite(expected) else "be in no line: none is stated"
        yield PREVALENCE, rule
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


def _squared_correlation(y: np.ndarray, s: np.ndarray) -> float:
    """Return it, or NaN of so few people, or of numbers that vary so little, that none may be stated."""
    deviations = y - y.mean(), s - s.mean()
    squares = [d @ d for d in deviations]
    least = [len(y) * (ALIKE * np.abs(numbers).max()) ** 2 for numbers in (y, s)]
    if len(y) <= 2 or squares[0] <= least[0] or squares[1] <= least[1]:
        return float("nan")
    return float((deviations[0] @ deviations[1]) ** 2 / (squares[0] * squares[1]))


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


# Of standard deviations, which have three digits.
THREE_DIGITS = 0.006


def case_problems(statement: dict[str, Any], files: dict[str, Path]) -> list[str]:
    """List errors in the cases and controls of a bundle that has no other errors."""
    stated = {counts["outcome"]: counts for counts in statement.get("case_counts", ())}
    if not stated:
        return []
    method, protection = statement["method"], statement["guarantee"]["protection"]
    if not has_statistics(method, protection):
        return [f"case_counts must not be there: {method} counts no cases under {protection} protection"]
    names = statement["data_domain"]["outcomes"]
    is_binary = ~np.isnan(prevalences(statement, files))
    binary_outcomes = [name for name, is_one in zip(names, is_binary, strict=False) if is_one]
    if [counts["outcome"] for counts in statement["case_counts"]] != binary_outcomes:
        return ["case_counts must have an entry for each 0/1 outcome, once, in their order, and for no other"]
    problems = [
        f"the {what} of {name} must {how}"
        for name, counts in stated.items()
        for what, how in _case_entry_problems(statement, counts)
    ]
    if problems or ARRAYS not in files:
        return problems
    arrays = read_statistics(statement, files)
    known_rows = np.minimum(rows_of(statement), arrays.get("observed", math.inf)) * np.ones(len(names))
    is_floor = arrays.get("observed", np.full(len(names), math.inf)) <= floors(statement)
    for name, noisy_cases, most, is_one, is_least in zip(
        names, arrays["cases"], known_rows, is_binary, is_floor, strict=True
    ):
        if not is_one and noisy_cases != 0:
            problems.append(f"{ARRAYS}: cases must be 0 for {name}, which is not 0/1")
        elif is_one:
            problems += _drawn_problems(
                name, stated[name], float(noisy_cases), float(most), is_floor=is_least
            )
    return problems


def _case_entry_problems(statement: dict[str, Any], entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Compare the numbers of an outcome with each other, with the rows, and with the noise that was drawn."""
    sigmas = {
        mechanism["statistic"]: float(mechanism["sigma"])
        for mechanism in statement["mechanisms"]
        if mechanism["outcome"] in (None, entry["outcome"])
    }
    n, is_counted = rows_of(statement), statement["data_domain"].get("missing_outcomes") == Missing.COUNTED
    if entry["known"] > n or not (is_counted or entry["known"] == n):
        yield "known rows", f"be {'at most ' * is_counted}{n}"
    if entry["cases"] + entry["controls"] != entry["known"]:
        yield "cases and controls", "add up to the known rows"
    known_sd = sigmas[KNOWN] if is_counted else sigmas.get(COUNT.statistic, 0.0)
    noise = {"known": known_sd, "cases": sigmas[CASES]}
    noise["controls"] = math.sqrt(sum(sd**2 for sd in noise.values()))
    for what, sd in noise.items():
        if not math.isclose(entry[f"{what}_sd"], sd, rel_tol=THREE_DIGITS):
            yield f"noise of the {what}", f"be {sd:.3g}"
    # Few rows may be fewer than the floor: known rows are then all of them.
    note, floor = entry.get("note", ""), round(max(1, LEAST_SDS * known_sd))
    if note.startswith(AT_FLOOR) and not (is_counted and entry["known"] <= floor):
        yield "note", "not be of a floor"
    elif is_counted and entry["known"] < min(floor, n) and not note.startswith(AT_FLOOR):
        yield "note", f"say that at least {floor} known rows are released"
    ends, note = {NO_CASES: 0, ALL_CASES: entry["known"]}, note.removeprefix(AT_FLOOR).strip()
    if note and ends.get(note) != entry["cases"]:
        yield "note", "be of cases at an end of what can be"


def _drawn_problems(
    name: str, entry: dict[str, Any], noisy: float, most: float, *, is_floor: bool
) -> list[str]:
    """Compare the stated numbers with the noisy numbers that they follow from."""
    n_known = round(most)
    exact = {"known": n_known, "cases": sorted((0, round(noisy), n_known))[1]}
    problems = [
        f"the {what} of {name} must follow from {ARRAYS}, got {entry[what]} for {number}"
        for what, number in exact.items()
        if entry[what] != number
    ]
    ends = {noisy < 0: NO_CASES, noisy > n_known: ALL_CASES}.get(True)
    note = " ".join(filter(None, (AT_FLOOR if is_floor else None, ends)))
    if entry.get("note", "") != note:
        problems.append(f"the note of {name} must be {note or 'left out'}, as {ARRAYS} says")
    return problems
