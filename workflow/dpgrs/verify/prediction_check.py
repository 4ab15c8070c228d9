"""Check stated accuracy: its form, and that it follows from constants and sums where people are public."""

import csv
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from dpgrs.types import Rows
from dpgrs.verify.draw_check import FREE
from dpgrs.verify.folder_check import read_text

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


class Sums(NamedTuple):
    """Sums over the public people measured on, of one outcome y and its score s."""

    n: Fraction
    y: Fraction
    yy: Fraction
    s: Fraction
    ss: Fraction
    sy: Fraction


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
        for problem in _problems(accuracy, cells, Fraction(constant[-1]))
    )
    return [*problems, *worked_out]


def read_sums(statement: dict[str, Any], files: dict[str, Path]) -> tuple[list[list[str]] | None, list[str]]:
    """Read the sums over public people; as `read_constants`, of n, y, y^2, s, s^2 and s y."""
    return _read_table(SUMS, SUM_COLUMNS, statement, files)


def _problems(stated: dict[str, Any], cells: list[str], constant: Fraction) -> list[str]:
    """Compare the stated accuracy of one outcome with its sums."""
    match, name = STATED.fullmatch(stated["value"]), stated["name"]
    if match is None:
        return [f"the accuracy of {name} must be R^2 and mean squared error to four digits"]
    sums = Sums(*map(Fraction, cells))
    if sums.n <= 0:
        return [] if set(match.groups()) == {"nan"} else [f"the accuracy of {name} must be nan: of nobody"]
    if "nan" in match.groups():
        return [f"the accuracy of {name} must be numbers, got {stated['value']}"]
    # Of y - (constant + s); R^2 compares with a prediction of 0.
    rss = sums.yy - 2 * (constant * sums.y + sums.sy)
    rss += sums.n * constant**2 + 2 * constant * sums.s + sums.ss
    r2 = 1 - rss / sums.yy if sums.yy else None
    worked_out = {"R^2": (match[1], r2), "mean squared error": (match[2], rss / sums.n)}
    return [
        f"the {what} of {name} must be {_short(value)} by {SUMS} and {CONSTANTS}, got {text}"
        for what, (text, value) in worked_out.items()
        if value is not None and abs(Fraction(text) - value) > ABSOLUTE + RELATIVE * abs(value)
    ]


def _short(value: Fraction) -> str:
    """Write a number of any size in a few digits."""
    return f"{Decimal(value.numerator) / Decimal(value.denominator):.6g}"


def _read_table(
    name: str, columns: list[str], statement: dict[str, Any], files: dict[str, Path]
) -> tuple[list[list[str]] | None, list[str]]:
    """Return the cells of a table of numbers by outcome, without the outcomes' names, and its errors."""
    if name not in files:
        return None, []  # named already
    outcomes = statement["data_domain"]["outcomes"]
    try:
        header, *lines = csv.reader(read_text(files[name]).split("\n")[:-1], delimiter="\t")
    except (ValueError, csv.Error):  # empty, or no table
        header, lines = [], []
    if header != columns or any(len(line) != len(columns) for line in lines):
        return None, [f"{name} must have the columns {', '.join(columns)}"]
    if [line[0] for line in lines] != outcomes:
        return None, [f"{name} must have a line for every outcome, in their order"]
    if not all(NUMBER.fullmatch(cell) for line in lines for cell in line[1:]):
        return None, [f"{name} must hold numbers as plain decimals"]
    return [line[1:] for line in lines], []
