"""What a draw charges later: accuracies that are new are counted before the first charge."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.outcomes import Outcomes
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.accounting.accountant import gdp_epsilon
from dpgrs.privacy.noise.sources import Rehearsal
from dpgrs.study.after_regression import LaterRequest, rehearse_later
from outcome_files import write_outcomes
from refused import refused
from step_studies import Study

REFUSED = "does not allow this release: cost epsilon"


@pytest.fixture
def study(tmp_path, monkeypatch):
    study = Study(tmp_path, monkeypatch)
    study.hold_out()
    return study


def charged(study, *, mu_squared):
    """Return settings of separate budgets with charged metrics, which cost so much for each outcome.

    The ledger allows a mu^2 of 4, and the other requests cost next to nothing.
    """
    config = study.settings("reusecov-gauss", outcome_budget="separate", epsilon=0.5)
    evaluation = {"metrics": "charged", "epsilon": gdp_epsilon(math.sqrt(mu_squared), 1e-6)}
    return config.changed(evaluation=evaluation, release={"audit_draws": 0})


def n_accuracies(study, config):
    requests = study.ledger(config).read().requests.values()
    return sum(request.identity["mechanism"] == "accuracy" for request in requests)


def require_refusal(study, config, *, count=3):
    """Draw for so many outcomes, and require that the budget refuses it and the ledger stays as it is."""
    ledger = study.ledger(config).path
    before = ledger.read_bytes()
    with pytest.raises(DpgrsError, match=REFUSED):
        study.release(config, count=count, study_settings=config)
    assert ledger.read_bytes() == before


@pytest.mark.parametrize("mu_squared", [1.2, 1.5])
def test_draw__counts_the_accuracy_of_outcomes_that_were_never_measured(study, mu_squared):
    """The first outcome was measured; the second was only drawn, and is drawn again beside the third."""
    config = charged(study, mu_squared=mu_squared)
    study.measure(config, study.release(config, count=1, study_settings=config))
    path = study.root / "outcomes.zarr"
    outcomes = Outcomes.load(path).of_rows(slice(None))
    values = {size: of_size[[1, 2, 0]] for size, of_size in outcomes.values.items()}
    write_outcomes(path, replace(outcomes, names=("b", "c", "a"), values=values))
    study.release(config, count=1)
    if mu_squared == 1.5:
        # Two accuracies do not fit beside the first one; a single one would.
        require_refusal(study, config, count=2)
        return
    study.measure(config, study.release(config, count=2, study_settings=config))
    assert n_accuracies(study, config) == 3


def test_draw__counts_no_accuracy_that_was_measured(study):
    config = charged(study, mu_squared=1.2)
    study.measure(config, study.release(config, count=2, study_settings=config))
    # 2.4 are spent, and 1.2 are left for the third.
    study.measure(config, study.release(config, study_settings=config))
    assert n_accuracies(study, config) == 3
    before = study.ledger(config).path.read_bytes()
    study.measure(config, study.release(config, study_settings=config))
    assert study.ledger(config).path.read_bytes() == before


def test_draw__counts_the_accuracy_of_weights_by_another_fit(study):
    config = charged(study, mu_squared=1.2)
    study.measure(config, study.release(config, count=2, study_settings=config))
    require_refusal(study, config.changed(regression={"lambda": 0.5}))
    study.measure(config, study.release(config, study_settings=config))
    assert n_accuracies(study, config) == 3


# Methods whose weights of one outcome depend on no draw of another, and further settings.
SEPARATE = {
    "reusecov-gauss": {},
    "reusecov-ellipsoid": {},
    "blup": {"regression": {"heritability": 0.3}},
    "adassp": {},
    "k-blup": {},
}


@pytest.mark.parametrize("method", SEPARATE)
@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_draw__people_held_out_are_compared_before_a_further_outcome_is_charged(study, method, names):
    """Their outcomes changed, which no draw depends on, in the same order as before and in another."""
    config = study.settings(method, pure_epsilon="4", outcome_budget="separate", epsilon=0.5)
    evaluation = {"metrics": "charged", "epsilon": 0.5, "residual_bound": 3.0}
    config = config.changed(evaluation=evaluation, release={"audit_draws": 0}, **SEPARATE[method])
    study.measure(config, study.release(config, count=1, study_settings=config))
    path, ledger = study.root / "outcomes.zarr", study.ledger(config).path
    outcomes, before = Outcomes.load(path).of_rows(slice(None)), ledger.read_bytes()
    ((size, values),) = outcomes.values.items()
    values = values[["abc".index(name) for name in (*names, "c")]]
    changed = values.copy()
    changed[names.index("a"), int((~outcomes.is_training).argmax())] += 1
    write_outcomes(path, replace(outcomes, names=(*names, "c"), values={size: changed}))
    with refused("data-changed-under-version"):
        study.release(config, count=2, study_settings=config)
    assert ledger.read_bytes() == before
    write_outcomes(path, replace(outcomes, names=(*names, "c"), values={size: values}))
    study.measure(config, study.release(config, count=2, study_settings=config))
    assert n_accuracies(study, config) == 2


@pytest.mark.parametrize(("epsilon", "n_outcomes"), [(0.007, 1000), (0.02, 10_000)])
def test_draw__the_scale_of_later_noise_is_that_of_all_variants(epsilon, n_outcomes):
    """Of 512 variants X'X has another share and rows have smaller norms: noise of X'Y would be in range."""
    terms = {"rows": "people", "coding": "frequency", "n_variants": 10_000, "n_outcomes": n_outcomes}
    terms |= {"outcome_bound": 3.0, "outcome_norm": math.sqrt(n_outcomes), "row_norm": math.sqrt(3000)}
    terms |= {"count_share": 0.02, "covariate_share": 0.1, "neighbours": "add-remove"}
    request = PrivacyRequest(**terms, epsilon=epsilon, delta=1e-6)
    later = LaterRequest(mechanism_of("blup"), request, n_outcomes)
    names = [f"y{i}" for i in range(n_outcomes)]
    regression = SimpleNamespace(data=SimpleNamespace(outcomes=SimpleNamespace(drawn_names=names)))
    with refused("noise-too-large", "cross product", error=UsageError):
        rehearse_later(regression, later, Rehearsal())
    later = replace(later, request=replace(request, epsilon=1.0))
    assert "gram" in rehearse_later(regression, later, Rehearsal())
