"""Audits of DPKendall's choices, with controls that must be caught.

Keys are fixed, so a result never changes. Under other keys an honest mechanism would fail its test with a
probability below 1e-8, and a control with halved noise with one below 1e-9, by the exact laws of the guesses
(`test_rates__*`). Noise too small by sqrt(2) is not caught in every case: some show 5/6 of a claim.
"""

import numpy as np
import pytest

from audit_controls import (
    SpoiledNoise,
    broken,
    draws_that_show_halved,
    require_error_rates,
    run_audit,
    with_each_noise,
    with_noise_of_most,
)
from dpgrs.privacy.audit.audit import alarm_probability
from dpgrs.privacy.sensitivity import kendall_sensitivity
from dpgrs.steps.audit import choose_cases
from nightly import rest_at_night

CASES = {case.name: case for case in choose_cases(["private_kendall"])}
# Both laws, first and second choices, both relations of neighbours.
BY_DAY = [
    "private_kendall, add-remove, person, haplotypes, both choices, permute-and-flip",
    "private_kendall, replace-one, person, people, table, first choice, permute-and-flip, fractional",
    "private_kendall, replace-one, person, people, second choice, gumbel",
]
OF_RELEASES = [name for name, case in CASES.items() if case.is_for_releases]
every_case = pytest.mark.parametrize("name", CASES)


@pytest.mark.parametrize(
    ("name", "mode"), rest_at_night(with_each_noise(CASES), with_noise_of_most(CASES, BY_DAY))
)
def test_private_kendall__loses_no_more_than_claimed(name, mode):
    result = run_audit(CASES[name], mode=mode)
    assert result.is_within_claim
    require_error_rates(result)


@pytest.mark.parametrize("name", rest_at_night(OF_RELEASES, [name for name in OF_RELEASES if name in BY_DAY]))
def test_private_kendall__halved_release_noise_is_caught(name):
    case = broken(CASES[name], SpoiledNoise, 2)
    assert not run_audit(case, mode="release", n_draws=draws_that_show_halved(case)).is_within_claim


@every_case
def test_rates__of_alarms(name):
    claim = CASES[name].claim
    assert alarm_probability(claim, claim.error_rates()) < 1e-8
    assert 1 - alarm_probability(claim, claim.error_rates(2)) < 1e-9


@every_case
def test_rates__show_most_of_the_claim(name):
    """All but the rare carriers of a case, and the tables to which no row can do both at once."""
    claim = CASES[name].claim
    seen = claim.observed(*claim.error_rates()) / claim.value
    assert 5 / 6 * (1 - 1e-12) <= seen <= 1 + 1e-12


@pytest.mark.parametrize(
    ("name", "largest"),
    [
        (
            "private_kendall, add-remove, person, people, table, first choice, permute-and-flip, fractional",
            1.5,
        ),
        (
            "private_kendall, replace-one, person, people, table, first choice, permute-and-flip, fractional",
            2,
        ),
    ],
)
def test_fractional_tables__attain_the_sensitivity(name, largest):
    pair = CASES[name].pair
    assert all(exact.features.dtype == np.int16 for exact in pair)
    first, second = (exact.pairs.outcome_scores / (exact.n_rows - 1) for exact in pair)
    assert max(abs(second) - abs(first)) == largest
    request = pair[0].request
    assert (
        largest
        == kendall_sensitivity("sign", neighbours=request.neighbours, rows="people", unit="person").value
    )
