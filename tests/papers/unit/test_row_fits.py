"""Fits that read rows, at the budget of one of several outcomes."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.accounting.composition import totals
from dpgrs.privacy.accounting.events import DepthEvent
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs_papers.methods.row_fits import BOOSTED, TUKEY, boosted_request, fit_rows
from dpgrs_papers.methods.tukey import Status
from refused import refused

WEIGHTS, INTERCEPT = np.array([0.8, -0.5]), 0.3
RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, (3000, 2)) - 0.5
Y = X @ WEIGHTS + INTERCEPT + 0.1 * RNG.standard_normal(3000)
LARGEST_NORM = np.sqrt(2) / 2


def ask(**terms):
    return PrivacyRequest("haplotypes", 2, 1, 3.0, **{"epsilon": 1e4, "delta": 1e-6} | terms)


def fit(method, X=X, y=Y, *, request=None, n_fits=1, largest_norm=LARGEST_NORM, **options):
    terms = {"count_share": 0.05, "rows_per_coefficient": 2.0} | options
    noise, request = terms.pop("noise", BenchmarkNoise(1)), request or ask()
    fitter, terms = (TUKEY, terms) if method == "tukey" else (BOOSTED, {})
    known = {"request": request, "n_fits": n_fits, "largest_norm": largest_norm, "noise": noise}
    return fit_rows(fitter, X, y, **known, **terms)


every_method = pytest.mark.parametrize("method", ["tukey", "bas"])


@every_method
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_fit_rows__hardly_any_noise_is_least_squares(method, missing):
    """Missing outcomes, however many, move no coefficient."""
    y = np.where(np.random.default_rng(1).random(len(Y)) < missing, np.nan, Y)
    found = fit(method, y=y, rows_per_coefficient=8.0)
    assert found.status == Status.RELEASED
    np.testing.assert_allclose([*found.weights, found.intercept], [*WEIGHTS, INTERCEPT], atol=0.05)


def test_fit_rows__bas_does_not_shorten_rows_within_the_largest_norm():
    """Its weights are for rows as they come, whatever norm is claimed, as long as no row is longer."""
    short, long = (fit("bas", largest_norm=norm) for norm in (LARGEST_NORM, 2 * LARGEST_NORM))
    np.testing.assert_allclose(short.weights, long.weights, atol=0.03)
    clipped = fit("bas", largest_norm=LARGEST_NORM / 8)
    assert np.abs(clipped.weights - short.weights).max() > 0.1


def test_fit_rows__bas_takes_the_longest_rows_at_norm_1_with_half_of_its_square_in_the_intercept(monkeypatch):
    taken, found = [], SimpleNamespace(weights=np.zeros(3), events=())
    monkeypatch.setattr(
        "dpgrs_papers.methods.row_fits.private_boosted_adassp",
        lambda rows, *_, **__: taken.append(rows) or found,
    )
    fit("bas")
    np.testing.assert_allclose((taken[0][:, :-1] ** 2).sum(axis=1), 0.5)
    np.testing.assert_allclose(taken[0][:, -1] ** 2, 0.5)


@pytest.mark.parametrize("accounting", ["gdp", "paper"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("n_fits", [1, 4])
def test_fit_rows__bas_spends_its_part(accounting, neighbours, n_fits):
    request = ask(epsilon=2.0, accounting=accounting, neighbours=neighbours, unit="person")
    events = fit("bas", request=request, n_fits=n_fits).events
    spent = totals(events * n_fits, delta=1e-6).ledger
    assert spent <= 2.0 * (1 + 1e-9)
    assert spent > 1.999 or accounting == "paper"
    assert {(event.sensitivity.neighbours, event.sensitivity.unit) for event in events} == {
        (neighbours, "person")
    }


@pytest.mark.parametrize(("neighbours", "n_draws"), [("add-remove", 3), ("replace-one", 2)])
@pytest.mark.parametrize("n_fits", [1, 4])
def test_fit_rows__tukey_spends_its_part(neighbours, n_draws, n_fits):
    events = fit("tukey", request=ask(neighbours=neighbours), n_fits=n_fits).events
    assert len(events) == n_draws
    assert sum(event.epsilon for event in events) == pytest.approx(1e4 / n_fits)
    (deep,) = (event for event in events if isinstance(event, DepthEvent))
    assert deep.delta == pytest.approx(1e-6 / n_fits)


@pytest.mark.parametrize("accounting", ["gdp", "paper"])
def test_boosted_request__is_accounted_for_as_asked(accounting):
    asked = boosted_request(ask(epsilon=0.5, delta=1e-7, accounting=accounting), n_fits=3)
    assert (asked.epsilon, asked.delta, asked.accounting, asked.n_fits) == (0.5, 1e-7, accounting, 3)


@pytest.mark.parametrize(("unit", "n_rows"), [("haplotype", 1), ("person", 2)])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_boosted_request__a_unit_moves_by_all_of_its_rows(unit, n_rows, neighbours):
    request = boosted_request(ask(unit=unit, neighbours=neighbours), n_fits=3)
    of_one_row = boosted_request(ask(unit="haplotype", neighbours=neighbours), n_fits=3)
    claim, of_one = request.sensitivities["round"], of_one_row.sensitivities["round"]
    assert claim.value == n_rows * of_one.value
    assert (claim.unit, claim.neighbours) == (unit, neighbours)


def test_fit_rows__tukey_keeps_the_rows_of_a_unit_together():
    with refused("rows-not-of-whole-units", error=UsageError):
        fit("tukey", X[:41], Y[:41], request=ask(unit="person"))
    assert fit("tukey", X[:41], Y[:41], request=ask(unit="haplotype")).events


def test_fit_rows__a_count_share_is_of_the_epsilon_given():
    count = fit("tukey", request=ask(epsilon=8.0), n_fits=2, count_share=0.25).events[0]
    assert count.epsilon == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("n_rows", "epsilon", "status"), [(20, 1e4, Status.TOO_FEW_MODELS), (600, 0.5, Status.CHECK_FAILED)]
)
def test_fit_rows__without_a_model_predicts_nothing(n_rows, epsilon, status):
    options = {"request": ask(epsilon=epsilon), "rows_per_coefficient": 1.0}
    if status == Status.CHECK_FAILED:
        options["request"] = ask(epsilon=epsilon, neighbours="replace-one")
    found = fit("tukey", X[:n_rows], Y[:n_rows], **options)
    assert found.status == status
    assert (found.weights.tolist(), found.intercept) == ([0.0, 0.0], 0.0)
    assert found.events


@every_method
def test_fit_rows__same_noise_same_fit(method):
    request = ask(epsilon=20.0)
    one, again, other = (
        fit(method, request=request, noise=BenchmarkNoise(1, name), rows_per_coefficient=2.0)
        for name in ("a", "a", "b")
    )
    np.testing.assert_array_equal(one.weights, again.weights)
    assert (one.weights != other.weights).all()


@every_method
def test_fit_rows__raise_on_a_haplotype_where_a_row_is_a_person(method):
    """Half of a row can change the sign of its residual, which moves a round further than adding a row."""
    request = PrivacyRequest("people", 2, 1, 3.0, epsilon=1.0, delta=1e-6, unit="haplotype")
    with refused("unit-not-person", "`privacy.unit`", error=UsageError):
        fit(method, request=request)
