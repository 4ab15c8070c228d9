"""Controls of all audits: mechanisms whose noise is halved or absent, in all draws or one, must be caught.

They are made of the cases themselves, so that no case is without; by day one case of each mechanism has them.
Keys are fixed, so a result never changes. Under other keys a control of normal noise would fail its test,
since it is not caught, with a probability below 1e-9 (`test_rates__*` here and in test_audit.py), and one of
halved pure noise with that of the tests of its mechanism. A choice without noise is always the same, and
always caught.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from audit_controls import SpoiledNoise, broken, draws_that_show_halved, of_each_mechanism, run_audit
from dpgrs.errors import DpgrsError
from dpgrs.methods import steered
from dpgrs.privacy.audit import parts
from dpgrs.privacy.audit.audit import ENOUGH_TO_VARY, alarm_probability
from dpgrs.steps.audit import choose_cases
from nightly import rest_at_night

CASES = {case.name: case for case in choose_cases()}
ONE_EACH = of_each_mechanism(CASES)
every_case = pytest.mark.parametrize("name", rest_at_night(CASES, ONE_EACH))
# Every draw of every mechanism with normal noise.
DRAWS = [(name, number) for name, case in CASES.items() for number in range(len(case.parts))]
BY_DAY = [(name, number) for name, number in DRAWS if name in ONE_EACH]
STEERED = [name for name in CASES if name.startswith("private_steered_statistics")]
# Those in which the map hangs on what is private: on an X'X of their own, on the count.
TURNED_BY_X = [name for name in STEERED if "gram" not in CASES[name].terms]
TURNED_BY_N = [name for name in STEERED if "add-remove" in name]
ENOUGH, FEWER = ENOUGH_TO_VARY, 500  # draws that show normal noise that is halved, and that of a part


@every_case
def test_cases__halved_noise_is_caught(name):
    case = broken(CASES[name], SpoiledNoise, 2)
    assert not run_audit(case, n_draws=draws_that_show_halved(case)).is_within_claim


@every_case
def test_cases__absent_noise_is_caught_in_every_part(name):
    n_draws = parts.ENOUGH_TO_VARY if CASES[name].parts else ENOUGH
    result = run_audit(broken(CASES[name], SpoiledNoise, math.inf), n_draws=n_draws)
    assert not result.is_within_claim
    assert len(result.parts) == len(CASES[name].parts)
    assert all(part.is_constant and not part.is_within_claim for part in result.parts)


@pytest.mark.parametrize(("name", "number"), rest_at_night(DRAWS, BY_DAY))
def test_parts__a_statistic_with_halved_noise_is_caught(name, number):
    """The others are honest, and the likelihood ratio of all together may not show it."""
    case = broken(CASES[name], SpoiledNoise, 2, number=number)
    result = run_audit(case, n_draws=FEWER)
    assert not result.is_within_claim
    assert [part.is_within_claim for part in result.parts].index(False) == number
    assert [part.is_within_claim for part in result.parts].count(False) == 1
    assert not result.parts[number].is_constant


def test_parts__the_whole_alone_misses_a_count_without_noise():
    name = "private_adassp, add-remove, person, haplotypes, gdp, joint"
    result = run_audit(broken(CASES[name], SpoiledNoise, math.inf, number=0), n_draws=FEWER)
    assert result.observed <= result.case.claim.value
    assert not result.is_within_claim


@pytest.mark.parametrize(
    ("name", "is_of_x"), [(name, True) for name in TURNED_BY_X] + [(name, False) for name in TURNED_BY_N]
)
def test_steered__rows_turned_by_exact_statistics_are_caught(name, is_of_x, monkeypatch):
    """Gains and directions from the exact X'X, or the exact count, in place of the released one."""
    honest = steered.steering_of

    def run(exact, noise):
        def peeking(gram, n, *, request, **options):
            given = (exact.gram * request.gram_step, n) if is_of_x else (gram, exact.n_rows)
            return honest(*given, request=request, **options)

        monkeypatch.setattr(steered, "steering_of", peeking)
        return CASES[name].run(exact, noise)

    with pytest.raises(DpgrsError, match="not private"):
        run_audit(replace(CASES[name], run=run), n_draws=parts.ENOUGH_TO_VARY)


@pytest.mark.parametrize("entries", [np.s_[:, 0], np.s_[1, 2]], ids=["a direction", "an entry"])
@pytest.mark.parametrize("name", rest_at_night(STEERED, [name for name in STEERED if name in ONE_EACH]))
def test_steered__an_entry_without_noise_is_caught(name, entries, monkeypatch):
    honest = steered.draw_outcomes

    def lacking(cross, observed, *, request, **options):
        noisy, *others = honest(cross, observed, request=request, **options)
        noisy[entries] = (cross[:, :-1] * request.cross_step)[entries]
        return noisy, *others

    monkeypatch.setattr(steered, "draw_outcomes", lacking)
    result = run_audit(CASES[name], n_draws=parts.ENOUGH_TO_VARY)
    assert not result.is_within_claim
    assert {part.name for part in result.parts if part.is_constant} == {"cross"}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.parts])
def test_rates__halved_normal_noise(name):
    claim = CASES[name].claim
    assert 1 - alarm_probability(claim, claim.error_rates(2.0), n_draws=ENOUGH) < 1e-9


@pytest.mark.parametrize(("name", "number"), DRAWS)
def test_rates__parts(name, number):
    """Alarms of a part by itself, and the power of its control."""
    claim = CASES[name].parts[number].claim(1e-3)
    assert alarm_probability(claim, claim.error_rates(), n_draws=FEWER) < 1e-11
    assert alarm_probability(claim, claim.error_rates()) < 1e-11
    assert 1 - alarm_probability(claim, claim.error_rates(2.0), n_draws=FEWER) < 1e-9
