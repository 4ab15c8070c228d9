import itertools
import json
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.special import expit, logit
from scipy.stats import binom, binomtest, norm

from dpgrs.cli.main import main
from dpgrs.errors import UsageError
from dpgrs.privacy.audit import audit as audits
from dpgrs.privacy.audit.audit import AuditCase, GaussianLoss, PureLoss, RangeLoss, alarm_probability, audit
from dpgrs.privacy.audit.parts import AuditedDraw, PartResult, audit_parts
from dpgrs.privacy.noise.study_key import StudyKey
from dpgrs.steps import audit as step
from dpgrs.steps.audit import (
    as_markdown,
    as_table,
    choose_cases,
    keyed_noise,
    noise_of,
    require_within_claims,
    run_audit,
    seeded_noise,
)
from refused import refused

CLAIMS = [GaussianLoss(1.5, delta=1e-3), PureLoss(1.5), RangeLoss(1.5)]
every_claim = pytest.mark.parametrize("claim", CLAIMS, ids=["gaussian", "pure", "range"])


def scripted_case(claim=CLAIMS[0]):
    """A mechanism whose output is its noise; a positive number says `second`."""
    return AuditCase(
        mechanism="private_script",
        terms={"neighbours": "add-remove"},
        pair=("first", "second"),
        claim=claim,
        run=lambda _, noise: noise,
        score=lambda output: output,
    )


def test_audit__counts_false_guesses_of_either_side():
    outputs = [-1, 1, 0, 1, 1, -1, 1, 0]
    result = audit(scripted_case(), lambda run, draw: run(outputs[draw]), n_draws=4)
    assert result.false_guesses == (2, 2)
    assert audit(scripted_case(), lambda run, draw: run(1), n_draws=4).false_guesses == (4, 0)
    assert audit(scripted_case(), lambda run, draw: run(-1), n_draws=4).false_guesses == (0, 4)


def test_audit__every_draw_has_its_own_number_and_each_input_its_turn():
    seen = []
    case = replace(scripted_case(), run=lambda exact, noise: seen.append((exact, noise)) or 1.0)
    audit(case, lambda run, draw: run(draw), n_draws=3)
    assert seen == [
        *zip(["first"] * 3, range(3), strict=True),
        *zip(["second"] * 3, range(3, 6), strict=True),
    ]


@pytest.mark.parametrize("n_errors", [0, 1, 17, 49, 50])
def test_audit__observed_follows_from_clopper_and_pearson(n_errors):
    outputs = [1] * n_errors + [-1] * (50 - n_errors) + [1] * 40 + [-1] * 10
    result = audit(scripted_case(), lambda run, draw: run(outputs[draw]), n_draws=50, confidence=0.98)
    # Each bound is one end of scipy's two-sided interval at the same 1 % per side.
    alpha, beta = (binomtest(k, 50).proportion_ci(0.98, method="exact").high for k in (n_errors, 10))
    assert result.observed == pytest.approx(max(norm.isf(alpha) + norm.isf(beta), 0))


def test_audit__a_guess_that_never_varies_shows_that_there_is_no_noise():
    """A choice between level scores without noise: the same on either input, which is no loss."""
    always = audit(scripted_case(), lambda run, draw: run(1), n_draws=1000)
    assert always.observed == 0
    assert always.is_constant
    assert not always.is_within_claim
    once = audit(scripted_case(), lambda run, draw: run(-1 if draw in (0, 1000) else 1), n_draws=1000)
    assert once.is_within_claim
    assert audit(scripted_case(), lambda run, draw: run(1), n_draws=999).is_within_claim


@pytest.mark.parametrize("constant", [-1, 1])
@pytest.mark.parametrize("side", [0, 1])
def test_audit__a_guess_that_never_varies_on_one_input_is_enough(side, constant):
    outputs = np.where(np.arange(2000) % 2, 1, -1)
    outputs[1000 * side : 1000 * (side + 1)] = constant
    assert audit(scripted_case(), lambda run, draw: run(outputs[draw]), n_draws=1000).is_constant


def test_audit__of_parts_the_guess_may_be_the_same():
    part = AuditedDraw("sum", (-0.5, 0.5), sd=0.1)
    case = replace(scripted_case(), parts=(part,), score=lambda output: output[0])
    noise = np.random.default_rng(1).normal(0, 0.1, size=2000)
    options = {"n_draws": 1000, "confidence": 0.999}
    result = audit(case, lambda run, draw: run([(draw >= 1000) - 0.5 + noise[draw]]), **options)
    assert result.false_guesses == (0, 0)
    assert not result.is_constant


def test_audit__one_draw_shows_nothing():
    assert audit(scripted_case(), lambda run, draw: run(1), n_draws=1).observed == 0


@pytest.mark.parametrize("options", [{"n_draws": 0}, {"confidence": 1.0}, {"confidence": 0.0}])
def test_audit__raise_on_misuse(options):
    with refused("audit-terms", error=UsageError):
        audit(scripted_case(), lambda run, draw: run(1), **{"n_draws": 2} | options)


@every_claim
@pytest.mark.parametrize("factor", [0.5, 1, 2])
def test_losses__best_guess_shows_all_of_the_loss(claim, factor):
    assert claim.observed(*claim.error_rates(factor)) == pytest.approx(factor * claim.value)
    assert claim.error_rates() == claim.error_rates(1.0)


@every_claim
def test_losses__never_negative_and_finite_for_any_bound(claim):
    rates = np.array([1e-9, 0.3, 0.5, 0.9, 1.0])
    observed = claim.observed(rates[:, np.newaxis], rates)
    assert np.all(np.isfinite(observed))
    assert np.all(observed >= 0)
    np.testing.assert_allclose(observed, observed.T)
    assert observed[-1, -1] == 0


def test_pure_loss__takes_the_stronger_of_both_directions():
    assert PureLoss(1.0).observed(0.01, 0.5) == pytest.approx(math.log(0.5 / 0.01))
    assert PureLoss(1.0).observed(0.5, 0.01) == pytest.approx(math.log(0.5 / 0.01))


def test_range_loss__is_the_shift_of_the_odds():
    assert RangeLoss(1.0).observed(1 / 3, 1 / 4) == pytest.approx(math.log(2 * 3))


def test_losses__as_an_epsilon():
    assert GaussianLoss(1.0, delta=0.126937).epsilon(1.0) == pytest.approx(1.0, abs=1e-5)
    assert PureLoss(1.0).epsilon(0.7) == RangeLoss(1.0).epsilon(0.7) == 0.7
    assert PureLoss(1.0).delta == 0


@every_claim
@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_alarm_probability__equals_the_sum_over_all_counts(claim, confidence):
    n_draws, rates = 20, (0.1, 0.2)
    expected = 0.0
    for n_alpha, n_beta in itertools.product(range(n_draws + 1), repeat=2):
        outputs = [1] * n_alpha + [-1] * (n_draws - n_alpha) + [-1] * n_beta + [1] * (n_draws - n_beta)
        options = {"n_draws": n_draws, "confidence": confidence}
        result = audit(scripted_case(claim), lambda run, draw, told=outputs: run(told[draw]), **options)
        chance = binom.pmf(n_alpha, n_draws, rates[0]) * binom.pmf(n_beta, n_draws, rates[1])
        expected += 0 if result.is_within_claim else chance
    assert 0 < expected < 1
    assert alarm_probability(claim, rates, n_draws=n_draws, confidence=confidence) == pytest.approx(expected)


@pytest.mark.parametrize("confidence", [0.9, 0.999, audits.CONFIDENCE])
def test_alarm_probability__of_honest_mechanisms_is_below_the_stated_rate(confidence):
    """All points of the trade-off curve that the claim allows, not the best guess alone."""
    options = {"n_draws": 300, "confidence": confidence}
    for alpha in np.linspace(0.001, 0.999, 25):
        gaussian = norm.cdf(norm.isf(alpha) - 1.5)
        pure = max(1 - math.exp(1.5) * alpha, math.exp(-1.5) * (1 - alpha))
        by_range = expit(-1.5 - logit(alpha))
        for claim, beta in zip(CLAIMS, (gaussian, pure, by_range), strict=True):
            assert alarm_probability(claim, (alpha, beta), **options) <= 1 - confidence


@pytest.mark.parametrize(
    "claim",
    [
        *(GaussianLoss(mu, delta=1e-3) for mu in np.linspace(1.3, 3, 9)),
        *(PureLoss(epsilon) for epsilon in np.linspace(1.5, 2, 6)),
        *(RangeLoss(r) for r in np.linspace(2, 6, 9)),
    ],
    ids=str,
)
def test_alarm_probability__power_as_the_module_says(claim):
    assert 1 - alarm_probability(claim, claim.error_rates(math.sqrt(2))) < 1e-6


def test_alarm_probability__too_few_draws_catch_nothing():
    claim = CLAIMS[0]
    assert alarm_probability(claim, claim.error_rates(math.sqrt(2)), n_draws=20) < 1e-6


def test_choose_cases__by_mechanism():
    assert {case.mechanism for case in choose_cases(["private_gram"])} == {"private_gram"}
    assert len(choose_cases()) > len(choose_cases(["private_gram"])) > 0
    with refused("mechanism-unknown", "private_gram", error=UsageError):
        choose_cases(["private_gram", "gram"])


@pytest.mark.parametrize("mode", ["release", "benchmark"])
def test_seeded_noise__differs_by_seed_case_and_draw(mode):
    (case, *_) = choose_cases(["private_gram"])
    keys = [(1, "a", 0), (2, "a", 0), (1, "b", 0), (1, "a", 1), (1, "a", 0)]
    *outputs, again = (
        seeded_noise(seed, mode=mode)(lambda noise: case.run(case.pair[0], noise), name, draw)[0]
        for seed, name, draw in keys
    )
    np.testing.assert_array_equal(outputs[0], again)
    assert len({output.tobytes() for output in outputs}) == 4


@pytest.mark.parametrize("mode", ["release", "benchmark"])
def test_noise_of__is_seeded_where_a_release_draws_none(mode):
    case = replace(scripted_case(), is_for_releases=False)
    assert noise_of(case, 1, mode=mode)(lambda noise: noise.source) == "benchmark"
    assert noise_of(scripted_case(), 1, mode=mode)(lambda noise: noise.source) == mode


def test_keyed_noise__is_release_noise_of_the_key():
    (case, *_) = choose_cases(["private_statistics"])
    events = []
    outputs = [
        keyed_noise(StudyKey(bytes([number]) * 32))(
            lambda noise: events.append(noise.source) or case.run(case.pair[0], noise), "case", 0
        )[0]
        for number in (1, 2)
    ]
    assert events == ["release"] * 4
    assert np.any(outputs[0] != outputs[1])


def findings_of(claim, *, n_errors):
    outputs = [1] * n_errors + [-1] * (100 - n_errors) + [1] * 100
    return run_audit(
        scripted_case(claim),
        lambda run, name, draw: run(outputs[draw]),
        draws=100,
        confidence=0.999,
    )


def test_as_table__says_what_was_claimed_and_seen():
    header, pure, gaussian, *_, sizes, power = as_table(
        [findings_of(PureLoss(9.0), n_errors=0), findings_of(GaussianLoss(0.1, delta=0.01), n_errors=5)]
    ).splitlines()
    assert header.split()[:2] == ["mechanism", "neighbours"]
    assert pure.split()[:4] == ["private_script", "add-remove", "epsilon", "9.000"]
    assert pure.endswith("within claim")
    assert gaussian.endswith("EXCEEDS CLAIM")
    assert sizes.startswith("100 draws of each input")
    assert power.endswith("at least 0.0.")


def test_as_markdown__names_terms_that_are_no_columns():
    finding = findings_of(PureLoss(9.0), n_errors=0) | {"observed": 2.456}
    finding = {"mechanism": "private_script", "neighbours": "add-remove", "coding": "frequency"} | finding
    assert as_markdown([finding]).splitlines() == [
        "| mechanism | terms | loss | claimed | observed |",
        "| --- | --- | --- | --- | --- |",
        "| `private_script` | add-remove, coding frequency | epsilon | 9.00 | 2.46 |",
    ]


def test_run_audit__finds_a_statistic_without_noise_by_itself():
    """AdaSSP's count or eigenvalue as it is, beside honest noise of all others."""
    (case, *_) = choose_cases(["private_adassp"])

    def run(exact, noise, left_out):
        released = case.run(exact, noise)
        released[left_out] = case.parts[left_out].exact[case.pair.index(exact)]
        return released

    for left_out in (0, 3):
        spoiled = replace(case, run=partial(run, left_out=left_out))
        options = {"draws": 120, "confidence": 0.999999}
        finding = run_audit(spoiled, seeded_noise(1, mode="benchmark"), **options)
        assert [part["is_within_claim"] for part in finding["parts"]].index(False) == left_out
        assert [part["is_constant"] for part in finding["parts"]].count(True) == 1
        assert not finding["is_within_claim"]
        _, whole, *parts, _, _, _ = as_table([finding]).splitlines()
        assert whole.startswith("private_adassp")
        assert [row.split()[0] for row in parts] == ["count", "gram", "cross", "smallest"]
        assert parts[left_out].endswith("EXCEEDS CLAIM")
        with refused("claim-broken"):
            require_within_claims([finding])


@pytest.mark.parametrize(("mu", "n_units"), [(0.1, 20), (0.5, 4), (0.6, 3), (1.9, 1), (2.1, 1), (9.0, 1)])
def test_part__so_many_units_as_are_worth_a_mu_of_about_2(mu, n_units):
    part = AuditedDraw("sum", ([0.0, 1.0], [3.0, 5.0]), sd=5 / mu)
    assert part.mu == pytest.approx(mu)
    assert part.n_units == n_units
    assert part.claim(1e-3).value == pytest.approx(mu * n_units)


@pytest.mark.parametrize("moved", [[3.0, 4.0], [-3.0, 4.0], [[0.0, -5.0]]])
@pytest.mark.parametrize("sd", [2.5, 5.0])
def test_audit_parts__counts_noise_that_passes_for_that_of_the_other_input(moved, sd):
    """By the distance along the way from one input to the other, in standard deviations."""
    moved = np.array(moved)
    part = AuditedDraw("sum", (np.ones(moved.shape), np.ones(moved.shape) + moved), sd=sd)
    assert part.n_units * part.mu == 2
    along, across = moved / 5, np.array([moved.ravel()[1], -moved.ravel()[0]]).reshape(moved.shape)
    # More than half of 2 in the direction of the other input: 3 and 5 of 30.
    far = [[1.1] * 3 + [0.9] * 20 + [-4.0] * 7, [-1.1] * 5 + [-0.9] * 20 + [4.0] * 5]
    outputs = [
        [[exact + sd * distance * along + 0.1 * number * across] for number, distance in enumerate(distances)]
        for exact, distances in zip(part.exact, far, strict=True)
    ]
    (result,) = audit_parts([part], outputs, delta=1e-3, confidence=0.98)
    alpha, beta = (binomtest(k, 30).proportion_ci(0.98, method="exact").high for k in (3, 5))
    assert result.claimed == 2
    assert result.observed == pytest.approx(norm.isf(alpha) + norm.isf(beta))


def test_audit_parts__numbers_that_are_the_same_show_nothing_in_few_draws():
    part = AuditedDraw("sum", (0.0, 1.0), sd=0.5)
    for n_draws in (99, 100):
        outputs = [[[exact]] * n_draws for exact in part.exact]
        (result,) = audit_parts([part], outputs, delta=1e-3, confidence=1 - 1e-9)
        assert result.is_constant == (n_draws == 100)


def test_audit_parts__one_constant_number_of_either_input_is_enough():
    part = AuditedDraw("sum", ([0.0, 0.0], [0.0, 0.5]), sd=0.5)
    noisy = np.random.default_rng(1).normal(0, 0.5, size=(200, 2))
    spoiled = noisy * [0, 1]
    for first, is_constant in ((noisy, False), (spoiled, True)):
        outputs = [[numbers] for numbers in first], [[numbers] for numbers in noisy + part.exact[1]]
        for sides in (outputs, outputs[::-1]):
            (result,) = audit_parts([part], sides, delta=1e-3, confidence=0.999999)
            assert result.is_constant == is_constant


@pytest.mark.parametrize("observed", [0.9, 1.0, 1.1])
@pytest.mark.parametrize("is_constant", [False, True])
def test_part__is_within_its_claim_with_noise_and_no_more_loss(observed, is_constant):
    part = PartResult("gram", claimed=1.0, observed=observed, is_constant=is_constant)
    assert part.is_within_claim == (observed <= 1 and not is_constant)


def test_choose_cases__are_of_every_method_by_its_own_terms(monkeypatch):
    """Of two fitters with one function only the second had cases."""

    class NamedFitter:
        def __init__(self, name):
            self.name = name

        def audit_cases(self):
            return [replace(scripted_case(), terms={"method": self.name})]

    monkeypatch.setattr(step, "fitter_of", NamedFitter)
    step.all_cases.cache_clear()
    try:
        names = {case.terms.get("method") for case in choose_cases(["private_script"])}
    finally:
        step.all_cases.cache_clear()
    assert {"blup", "blup-genome"} <= names


def test_require_within_claims__names_the_broken():
    honest, broken = (findings_of(PureLoss(epsilon), n_errors=0) for epsilon in (9.0, 0.1))
    require_within_claims([honest])
    with refused("claim-broken"):
        require_within_claims([honest, broken])


def invoke(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_command__json_for_programs():
    result = invoke("-q", "audit", "--mechanism", "private_count", "--draws", 50, "--json")
    assert result.exit_code == 0, result.stderr
    findings = json.loads(result.stdout)
    assert {finding["mechanism"] for finding in findings} == {"private_count"}
    for finding in findings:
        assert finding["is_within_claim"] is True
        assert finding["draws"] == 50
        assert 0 <= finding["observed"] <= finding["claimed"]
        assert 0 <= finding["observed_epsilon"] <= finding["claimed_epsilon"]
    assert result.stderr == ""


def test_command__table_on_stdout_and_progress_on_stderr():
    result = invoke("audit", "--mechanism", "private_count", "--draws", 20, "--mode", "benchmark")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("within claim") == 2
    assert "Audits" in result.stderr
    assert "Audits" not in result.stdout


def test_command__exit_1_if_a_claim_is_exceeded(monkeypatch):
    lie = replace(choose_cases(["private_gram"])[0], claim=GaussianLoss(0.01, delta=1e-3))
    monkeypatch.setattr(step, "all_cases", lambda: [lie])
    result = invoke("audit", "--draws", 300)
    assert result.exit_code == 1
    assert "EXCEEDS CLAIM" in result.stdout
    assert result.stderr.splitlines()[-1].startswith("dpgrs: The privacy loss must be at most")


def test_command__exit_2_on_an_unknown_mechanism():
    result = invoke("audit", "--mechanism", "gram")
    assert result.exit_code == 2
    assert "`--mechanism` must be one of" in result.stderr


def test_command__defaults_are_those_of_the_module():
    defaults = {option.name: option.default for option in main.commands["audit"].params}
    assert defaults["draws"] == audits.N_DRAWS
    assert defaults["confidence"] == audits.CONFIDENCE
