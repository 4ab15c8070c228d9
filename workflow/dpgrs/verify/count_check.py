"""Check the noisy counts of people held out that a statement gives beside a charged accuracy."""

import re
from collections.abc import Iterator
from math import hypot
from pathlib import Path
from typing import Any

from dpgrs.verify.draw_check import ACCURACY
from dpgrs.verify.input_check import OUTCOME_BOUND
from dpgrs.verify.measure_check import constants_of_outcomes

NUMBERS = re.compile(r"-?\d+\.\d+", re.ASCII)
COUNTS = re.compile(r"(-?\d+\.\d) (rows|cases|controls) with (\d+\.\d)", re.ASCII)
SMALLEST_APART = 0.05
# Tolerances of numbers stated to one digit, and to four.
ONE_DIGIT, FOUR_DIGITS = 0.051, 0.000051


def count_problems(statement: dict[str, Any], files: dict[str, Path]) -> list[str]:
    """List counts of people held out, and their noise, that do not follow from the rest of a statement.

    The draws of the statement are in order.
    """
    sigmas = {
        mechanism.get("outcome"): float(mechanism["sigma"])
        for mechanism in statement["mechanisms"]
        if mechanism["statistic"] == ACCURACY.statistic
    }
    if not sigmas:
        return []
    inputs = {public["name"]: public["value"] for public in statement["public_inputs"]}
    bound, scales = float(inputs[OUTCOME_BOUND]), constants_of_outcomes(files)
    return [
        f"the {what} of the people held out of {accuracy['name']} must {rule}"
        for accuracy in statement["accuracy"]
        for what, rule in _problems(
            accuracy["value"],
            sigmas.get(accuracy["name"], sigmas.get(None)),
            bound,
            scales.get(accuracy["name"]),
        )
    ]


def _problems(value: str, sigma: Any, bound: float, constants: tuple | None) -> Iterator[tuple[str, str]]:
    counts = {what: (float(number), float(sd)) for number, what, sd in COUNTS.findall(value)}
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
