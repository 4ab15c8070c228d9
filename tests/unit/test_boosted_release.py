"""Releases by boosted AdaSSP, of all variants or of chosen ones: charged, replayed, refused and bundled."""

import json
from fractions import Fraction

import numpy as np
import pytest
import yaml

from dpgrs.errors import DpgrsError
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.trials import load_labelled, save_labelled
from dpgrs.methods import boosted_adassp
from dpgrs.methods.boosted_adassp import BoostedRequest, private_boosted_adassp
from dpgrs.methods.chosen_requests import request_of_rows
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.noise.base import data_digest
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal, ReleaseNoise
from dpgrs.privacy.statement.boosting_rounds import gather_rounds
from dpgrs.release.claim_check import smallest_delta
from dpgrs.release.verify import verify_release
from dpgrs.study.released import load_released
from forged_releases import STATEMENT, seal
from ledger_requests import KEY
from outcome_files import changed_outcomes, write_outcomes
from screening_cohorts import N_VARIANTS, NAMES, cohort, frequencies

every_method = pytest.mark.parametrize("method", ["bas", "k-bas"])


def settings(study, method, **privacy):
    return study.settings(method, pure_epsilon="2", accounting="gdp", **privacy)


def change_outcomes(study):
    """Give one person another value of the last outcome."""
    with changed_outcomes(study.root / "outcomes.zarr") as outcomes:
        for values in outcomes.values.values():
            values[-1, 0] += 1.0


def test_release__raise_on_other_people_without_a_number(study):
    outcomes = Outcomes.load(study.root / "outcomes.zarr")
    write_outcomes(study.root / "outcomes.zarr", outcomes.of_rows(slice(1, None)))
    config = settings(study, "bas")
    for step in (study.sum_up, study.release):
        with pytest.raises(DpgrsError, match="must be of the same people, got others") as raised:
            step(config)
        assert not any(map(str.isdigit, str(raised.value)))


@pytest.mark.parametrize("bounds", ["worst-case", "tight"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@every_method
def test_release__is_charged_bundled_and_replayed(study, method, neighbours, bounds):
    config = settings(study, method, neighbours=neighbours, bounds=bounds)
    noisy = study.release(config)
    first, files = noisy.read_bytes(), study.bundle(config, noisy)
    statement, ledger = study.statement(), study.ledger(config)
    drawn = [(one["statistic"], one["outcome"]) for one in statement["mechanisms"]]
    rounds = [f"boosted residuals, round {number}" for number in range(1, 101)]
    own = ["boosted smallest eigenvalue", "boosted gram", *rounds]
    for name in statement["data_domain"]["outcomes"]:
        boosted = [statistic for statistic, outcome in drawn if outcome == name and statistic in own]
        assert boosted == own
    gaussian = [one for one in statement["mechanisms"] if one["mechanism"] == "gaussian"]
    assert len(gaussian) == 3 * len(own) == len(drawn) - 3 * (method == "k-bas")
    mu_squared = sum((Fraction(one["sensitivity"]) / Fraction(one["sigma"])) ** 2 for one in gaussian)
    book = ledger.read()
    (account,) = book.budgets
    assert book.spent(account).mu_squared == mu_squared
    pure = book.spent(account).pure_epsilon
    assert float(pure) == pytest.approx(0.5 if method == "k-bas" else 0.0)
    assert statement["guarantee"]["epsilon"] == statement["composition"]["whole_study"]["epsilon"] == "2"
    assert 0.999e-6 < smallest_delta(mu_squared, 2 - pure) <= 1e-6
    before = ledger.path.read_bytes()
    noisy.unlink()
    assert study.release(config).read_bytes() == first
    assert study.bundle(config, noisy) == files
    assert ledger.path.read_bytes() == before


@every_method
def test_statement__says_what_the_method_took_and_counts_no_rows(study, method):
    config = settings(study, method, bounds="tight")
    study.bundle(config, study.release(config))
    statement = study.statement()
    public = {one["name"]: one["value"] for one in statement["public_inputs"]}
    assert public["number of rows"] == "not released"
    assert (public["rounds of boosted AdaSSP"], public["largest residual of a round"]) == ("100", "1")
    assert float(public["norm of a row of genotypes"]) > 0
    assert "lambda" not in public
    assert statement["expected_noise_sd"] is None
    assert all(score["standard_errors"] is None for score in statement["scores"])
    assert any("boosted AdaSSP" in step for step in statement["post_processing"])
    record = yaml.safe_load((study.root / "bundle" / "registry.yaml").read_text())["deployment"]
    assert record["implementation"]["mechanisms"].count("in each of 100 rounds") == 3
    assert "number of rows" not in json.dumps(record["dp_variant"])


@every_method
def test_release__changed_data_are_refused_before_any_draw(study, method, monkeypatch):
    config = settings(study, method)
    study.release(config)
    before = study.ledger(config).path.read_bytes()
    change_outcomes(study)
    monkeypatch.setattr(ReleaseNoise, "_draw", lambda *_: pytest.fail("Noise was drawn."))
    with pytest.raises(DpgrsError, match="data changed under the label 1"):
        study.release(config)
    assert study.ledger(config).path.read_bytes() == before


def test_release__code_that_sums_up_rounds_otherwise_is_not_stored(study, monkeypatch):
    config = settings(study, "bas")
    noisy = study.release(config)
    stored = noisy.read_bytes()
    honest = boosted_adassp.residual_sums
    monkeypatch.setattr(boosted_adassp, "residual_sums", lambda *data, **terms: honest(*data, **terms) // 2)
    with pytest.raises(DpgrsError, match="must give the stored bytes"):
        study.release(config)
    assert noisy.read_bytes() == stored


@every_method
def test_load_released__raise_on_other_weights(study, method):
    config = settings(study, method)
    noisy = study.release(config)
    ((label, arrays),) = load_labelled(noisy)
    book = study.ledger(config).read()
    load_released(noisy, book)
    for name in ("weights", "intercept", "chosen" if method == "k-bas" else "means"):
        save_labelled(noisy, [(label, arrays | {name: arrays[name] + 1})])
        with pytest.raises(DpgrsError, match="must be what the ledger charged for"):
            load_released(noisy, book)


def leave_out_a_round(mechanisms):
    del mechanisms[-1]


def claim_more_noise(mechanisms):
    mechanisms[-1]["sigma"] = "1000"


def name_another_outcome(mechanisms):
    mechanisms[-1]["outcome"] = "nobody's"


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (leave_out_a_round, "mu\\^2 = the sum over the mechanisms"),
        (claim_more_noise, "mu = sensitivity/sigma"),
        (name_another_outcome, "must serve an outcome of the release or all, got nobody's"),
    ],
)
def test_verify_release__forged_rounds(study, forge, message):
    config = settings(study, "bas")
    study.bundle(config, study.release(config))
    path = study.root / "bundle" / STATEMENT
    statement = json.loads(path.read_text())
    forge(statement["mechanisms"])
    path.write_text(json.dumps(statement))
    seal(path.parent)
    with pytest.raises(DpgrsError, match=message):
        verify_release(path.parent)


def test_draws__after_the_first_round_need_named_data():
    """Without it the second round is made of noise that no rehearsal knows."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 2)), rng.standard_normal(50)
    request = BoostedRequest(epsilon=1.0, delta=1e-6, rounds=2)

    def draw(make):
        rehearsal = Rehearsal()
        private_boosted_adassp(X, y, request=request, noise=make(rehearsal))
        noise = ReleaseNoise(KEY, draws=rehearsal.draws, requests=dict.fromkeys(rehearsal.draws, "id"))
        fit = private_boosted_adassp(X, y, request=request, noise=make(noise))
        noise.require_exhausted()
        return fit

    with pytest.raises(DpgrsError, match="boosted residuals, round 2 was not reserved"):
        draw(lambda noise: noise)
    fit = draw(lambda noise: noise.on(data_digest(X, y)))
    assert len(set(fit.sums.ravel())) == 4


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize("bounds", ["worst-case", "tight"])
def test_draw__weights_are_of_genotypes_as_they_are(rows, bounds):
    """Rows are scaled by one public number, not each to norm 1: predictions are linear."""
    data = cohort(rows)
    terms = {"n_variants": N_VARIANTS, "n_outcomes": 1, "outcome_bound": 3.0, "epsilon": 1e4}
    request = request_of_rows(
        PrivacyRequest(rows, delta=1e-6, **terms),
        frequency=frequencies() if bounds == "tight" else None,
        factor=10.0,
    )
    options = {"noise": BenchmarkNoise(1), "outcome_names": NAMES, "frequency": frequencies()}
    fit = mechanism_of("bas").draw(data, request=request, **options).fit
    X = data.training_rows
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), data.Y[:, data.is_training].T)[0]
    np.testing.assert_allclose(fit.weights, exact[:-1].T, atol=0.1)
    assert fit.chosen is None


def test_gather_rounds__keeps_what_differs_otherwise():
    one = {"statistic": "boosted residuals, round 1", "outcome": "a", "sigma": "2"}
    two, other = one | {"statistic": "boosted residuals, round 2"}, one | {"outcome": "b"}
    gram = {"statistic": "gram", "outcome": "a", "sigma": "2"}
    named = {"statistic": "boosted residuals"}
    assert gather_rounds([one, two, other, gram]) == [
        one | named | {"times": 2},
        other | named | {"times": 1},
        gram | {"times": 1},
    ]
