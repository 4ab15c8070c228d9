"""Check the noisy numbers of cases and controls of a bundle, by other code than what wrote them."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dpgrs.statement.words import ALL_CASES, AT_FLOOR, NO_CASES
from dpgrs.types import Missing
from dpgrs.verify.draw_check import CASES, COUNT, KNOWN, has_statistics
from dpgrs.verify.statistics_check import ARRAYS, LEAST_SDS, floors, prevalences, read_statistics, rows_of

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
        for what, how in _entry_problems(statement, counts)
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


def _entry_problems(statement: dict[str, Any], entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
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
