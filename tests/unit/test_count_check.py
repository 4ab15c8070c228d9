"""Noisy counts of people held out follow from what is stated beside them, and forged ones do not."""

import numpy as np
import pytest

from dpgrs.verify.accuracy_check import DRAWN, count_problems

SIGMA, BOUND, PREVALENCE = 20.0, 3.0, 0.2
LOW, HIGH = PREVALENCE / (1 - PREVALENCE), (1 - PREVALENCE) / PREVALENCE
N, TOTAL, RESIDUAL = 1000.0, 980.0, 882.0
CASES, CONTROLS = (TOTAL - N * LOW) / (HIGH - LOW), (N * HIGH - TOTAL) / (HIGH - LOW)
N_SD = SIGMA / BOUND
SDS = [np.hypot(SIGMA, square * N_SD) / (HIGH - LOW) for square in (LOW, HIGH)]
ACCURACY = "R^2 0.1000 with noise of standard deviation 0.0100, mean squared error 0.8820 with 0.0200"
ROWS = f", {N:.1f} rows with {N_SD:.1f}"
COUNTS = f"{ROWS}, {CASES:.1f} cases with {SDS[0]:.1f}, {CONTROLS:.1f} controls with {SDS[1]:.1f}"


def problems(folder, value, *, is_binary=True, prevalence=PREVALENCE, outcome=None):
    assert DRAWN.fullmatch(value)
    scale = np.sqrt(prevalence * (1 - prevalence))
    table = folder / "outcome_scales.tsv"
    table.write_text(f"outcome\tcentre\tscale\tis_binary\torigin\na\t{prevalence}\t{scale}\t{is_binary}\t\n")
    statement = {
        "mechanisms": [{"statistic": "accuracy", "sigma": f"{SIGMA}", "outcome": outcome}],
        "public_inputs": [{"name": "outcome bound", "value": f"{BOUND:g}"}],
        "accuracy": [{"name": "a", "value": value}],
    }
    return count_problems(statement, {"outcome_scales.tsv": table})


@pytest.mark.parametrize("outcome", [None, "a"])
def test_count_problems__none_where_counts_follow(tmp_path, outcome):
    for value in (ACCURACY, ACCURACY + ROWS, ACCURACY + COUNTS, "withheld: the noise drowns it"):
        assert problems(tmp_path, value, outcome=outcome) == []


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (f"{CASES:.1f} cases", "300.0 cases", "the cases of the people held out of a must follow from R^2"),
        (
            f"{CONTROLS:.1f} controls",
            "500.0 controls",
            "the controls of the people held out",
        ),
        (
            f"rows with {N_SD:.1f}",
            "rows with 1.0",
            "the noise of the rows of the people held out",
        ),
        (f"cases with {SDS[0]:.1f}", "cases with 0.1", "the noise of the cases"),
        (f"controls with {SDS[1]:.1f}", "controls with 0.1", "the noise of the controls"),
        (ROWS, "", "the counts of the people held out of a must be rows, alone or with cases and controls"),
    ],
)
def test_count_problems__of_forged_counts(tmp_path, old, new, line):
    value = (ACCURACY + COUNTS).replace(old, new)
    (found,) = problems(tmp_path, value)
    assert found.startswith(line)


@pytest.mark.parametrize("options", [{"is_binary": False}, {"prevalence": 0.5}])
def test_count_problems__of_cases_that_squares_do_not_tell(tmp_path, options):
    assert problems(tmp_path, ACCURACY + ROWS, **options) == []
    found = problems(tmp_path, ACCURACY + COUNTS, **options)
    assert len(found) == 2
    assert all("must be withheld" in line for line in found)


def test_count_problems__none_where_noise_brings_r2_above_1(tmp_path):
    value = ACCURACY.replace("R^2 0.1000", "R^2 1.0200").replace("error 0.8820", "error -0.0176")
    assert problems(tmp_path, value + COUNTS) == []
