import math
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.methods.chosen_exactly import with_intercept
from dpgrs.methods.chosen_requests import ScreeningTerms, screened_request
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.registry import METHODS
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.accounting.events import ChoiceEvent, DepthEvent, GaussianEvent, GumbelEvent, LaplaceEvent
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal
from dpgrs.selection import dp_kendall
from dpgrs.selection.screening_data import ScreeningData
from dpgrs.types import Neighbours, Selection
from dpgrs_papers.methods import row_fits
from dpgrs_papers.methods.boosted_adassp import clip_rows
from dpgrs_papers.methods.tukey import Status, private_tukey
from dpgrs_papers.selection import votes
from dpgrs_papers.tabular.compositions import ENOUGH_MODELS, TableRequest, fit_method
from dpgrs_papers.tabular.table_methods import table_methods
from refused import refused

REQUEST = TableRequest(epsilon=2.0, delta=1e-5, k=2)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((6000, 6))
# Columns 1 and 4 count, the others do not.
Y = 1.0 * X[:, 4] - 0.6 * X[:, 1] + 0.5 + 0.2 * RNG.standard_normal(6000)
COUNT, SCREENING = 0.1, 0.1  # 5 % of epsilon each
TABULAR = table_methods()
DRAWING = (
    (dp_kendall, "_choose_for_each"),
    (votes, "private_sublasso"),
    (row_fits, "private_boosted_adassp"),
    (row_fits, "private_tukey"),
)
neighbours = pytest.mark.parametrize("relation", list(Neighbours))


def fit(name, request=REQUEST, *, key=(1,)):
    return fit_method(X, Y, method=TABULAR[name], request=request, noise=BenchmarkNoise(*key))


def test_table_methods__are_rows_of_the_registry_that_need_no_ranges():
    names = {"ols", "bas", "tukey", "lasso"}
    names |= {f"{letter}-{fit}" for letter in "kl" for fit in ("ols", "bas", "tukey")}
    assert set(TABULAR) == names | {"nondp"}
    assert all(TABULAR[name] is METHODS[name] for name in names)
    assert TABULAR["nondp"] is METHODS["ols"]


@pytest.mark.parametrize("name", TABULAR)
def test_fit_method__predicts(name):
    fitted = fit(name)
    assert fitted.status == Status.RELEASED
    residual = Y - fitted.predict(X)
    assert 1 - residual.var() / Y.var() > dict.fromkeys(["bas", "k-bas", "l-bas"], 0.5).get(name, 0.9)


@pytest.mark.parametrize("name", [name for name in TABULAR if TABULAR[name].is_screened])
def test_fit_method__weights_are_0_but_for_what_was_chosen_and_the_intercept(name):
    fitted = fit(name)
    assert set(fitted.chosen) == {1, 4}
    assert set(np.flatnonzero(fitted.weights)) == {1, 4, 6}


def cost(events):
    """The epsilons and the squared mu of events, by family."""
    pure = {LaplaceEvent, ChoiceEvent, DepthEvent}
    epsilon = sum(event.epsilon for event in events if any(isinstance(event, kind) for kind in pure))
    return epsilon, sum(event.mu**2 for event in events if isinstance(event, GaussianEvent))


@pytest.mark.parametrize("name", ["l-bas", "k-bas"])
@pytest.mark.parametrize(("law", "kind"), [("permute-and-flip", ChoiceEvent), ("gumbel", GumbelEvent)])
def test_fit_method__chooses_by_the_law_that_is_asked_for(name, law, kind):
    fitted = fit(name, replace(REQUEST, law=Selection(law)))
    (choice,) = (event for event in fitted.events if isinstance(event, ChoiceEvent))
    assert type(choice) is kind
    assert choice.epsilon == pytest.approx(SCREENING)


@neighbours
@pytest.mark.parametrize("name", TABULAR)
def test_fit_method__events_are_the_budget(name, relation):
    request = replace(REQUEST, neighbours=relation)
    budget, fitted = request.budget(TABULAR[name]), fit(name, request)
    is_private = "bas" in name or "tukey" in name
    counts = ("tukey" in name or name == "l-bas") and relation == Neighbours.ADD_REMOVE
    screens = name.startswith(("k-", "l-")) and is_private
    assert budget["count"] == pytest.approx(COUNT if counts else 0)
    assert budget["screening"] == pytest.approx(SCREENING if screens else 0)
    assert sum(budget.values()) == pytest.approx(request.epsilon if is_private else 0)
    epsilon, mu_squared = cost(fitted.events)
    assert epsilon == pytest.approx(sum(budget.values()) - (budget["fit"] if "bas" in name else 0))
    assert (mu_squared > 0) == ("bas" in name)
    assert sum(isinstance(event, ChoiceEvent) for event in fitted.events) == screens
    assert {event.sensitivity.neighbours for event in fitted.events} == (
        {relation} if epsilon + mu_squared else set()
    )


def test_fit_method__shares_are_as_asked_for():
    request = replace(REQUEST, count_share=0.2, screening_share=0.3)
    budget = request.budget(TABULAR["k-tukey"])
    assert list(budget.values()) == pytest.approx([0.4, 0.6, 1.0])
    count, choice, *fitted = fit("k-tukey", request).events
    assert count.epsilon == budget["count"]
    assert choice.epsilon == budget["screening"]
    assert sum(event.epsilon for event in fitted) == budget["fit"]


@neighbours
def test_tukey__is_the_mechanism_alone(relation):
    request = replace(REQUEST, neighbours=relation, rows_per_coefficient=1.5)
    alone = private_tukey(with_intercept(X), Y, request=request.tukey, noise=BenchmarkNoise(1))
    fitted = fit("tukey", request)
    np.testing.assert_array_equal(fitted.weights, alone.weights)
    assert fitted.events == alone.events
    assert fitted.n_models == alone.n_models


def test_nondp__is_least_squares_whatever_the_units_and_the_rank():
    scaled = np.column_stack([X * 10.0 ** np.arange(-22, 20, 7), X[:, 0] * 1e-12, np.zeros(len(X))])
    request = replace(REQUEST, epsilon=1e-3)
    fitted = fit_method(scaled, Y, method=TABULAR["nondp"], request=request, noise=BenchmarkNoise(1))
    exact = with_intercept(X) @ np.linalg.lstsq(with_intercept(X), Y, rcond=None)[0]
    np.testing.assert_allclose(fitted.predict(scaled), exact, atol=1e-8)
    assert fitted.events == ()


def test_nondp__without_rows_has_weights_of_0():
    fitted = fit_method(X[:0], Y[:0], method=TABULAR["nondp"], request=REQUEST, noise=BenchmarkNoise(1))
    assert fitted.weights.tolist() == [0.0] * 7


def test_l_bas__a_row_has_a_key_of_its_features_and_its_outcome(monkeypatch):
    seen = []

    def spy(X, y, *, unit_keys, **terms):
        seen.extend(unit_keys)
        return np.arange(2), "chosen"

    monkeypatch.setattr("dpgrs_papers.selection.votes.private_sublasso", spy)
    x, y = X[[0, 0, 1, 0]], Y[[0, 1, 0, 0]]
    fit_method(x, y, method=TABULAR["l-bas"], request=REQUEST, noise=BenchmarkNoise(1))
    first, other_outcome, other_features, same = seen
    assert first == same
    assert len({first, other_outcome, other_features}) == 3


def test_k_bas__is_fitted_and_predicts_on_clipped_rows_of_the_chosen_columns():
    fitted = fit("k-bas")
    rows = clip_rows(with_intercept(X[:, fitted.chosen]))
    np.testing.assert_array_equal(fitted.predict(X), rows @ fitted.weights[[*fitted.chosen, 6]])


@pytest.mark.parametrize(("n_rows", "status"), [(len(X), Status.CHECK_FAILED), (40, Status.TOO_FEW_MODELS)])
def test_fit_method__no_model_is_an_outcome_and_spends_its_budget(n_rows, status):
    request = replace(REQUEST, rows_per_coefficient=15.0)
    terms = {"method": TABULAR["k-tukey"], "request": request, "noise": BenchmarkNoise(1)}
    fitted = fit_method(X[:n_rows], Y[:n_rows], **terms)
    assert (fitted.status, fitted.weights, fitted.predict(X)) == (status, None, None)
    assert cost(fitted.events)[0] == pytest.approx(request.epsilon)


def test_k_tukey__draws_among_models_of_all_rows():
    request, fitted = replace(REQUEST, neighbours=Neighbours.REPLACE_ONE), []
    for n in (23, 24, 6000):
        terms = {"method": TABULAR["k-tukey"], "request": request, "noise": BenchmarkNoise(1)}
        fitted.append(fit_method(X[:n], Y[:n], **terms))
    assert [one.n_models for one in fitted] == [7, 8, 1000]
    assert [one.status == Status.TOO_FEW_MODELS for one in fitted] == [True, False, False]


@pytest.mark.parametrize(
    ("n_low", "expected"), [(-5.0, 1.0), (3000.0, 1.0), (4500.0, 1.5), (6000.0, 2.0), (1e9, 2.0)]
)
def test_rows_per_coefficient__as_many_up_to_two_as_leave_enough_models(n_low, expected):
    assert ENOUGH_MODELS == 1000
    assert REQUEST.per_coefficient(n_low, 3) == expected
    assert replace(REQUEST, rows_per_coefficient=0.5).per_coefficient(n_low, 3) == 0.5


@neighbours
def test_selector__a_count_is_paid_once_where_it_or_the_fitter_needs_it(relation, monkeypatch):
    seen = []

    def first_columns(*_, k, n_low, epsilon, **__):
        seen.append((n_low, epsilon))
        return np.arange(k), "chosen"

    monkeypatch.setattr("dpgrs_papers.selection.votes.private_sublasso", first_columns)
    request = replace(REQUEST, neighbours=relation)
    has_count = relation == Neighbours.ADD_REMOVE
    for name in ("l-bas", "l-tukey"):
        fitted = fit(name, request)
        assert sum(event == "chosen" for event in fitted.events) == 1
        counts = [event for event in fitted.events if getattr(event, "statistic", "") == "count of units"]
        assert len(counts) == has_count
    margin = math.log(1 / 2e-4) / COUNT
    for n_low, epsilon in seen:
        assert n_low == (pytest.approx(6000 - margin, abs=40 / COUNT) if has_count else 6000)
        assert epsilon == pytest.approx(SCREENING)


def test_least_rows__of_models_times_coefficients():
    request = replace(REQUEST, rows_per_coefficient=2.5)
    expected = {
        **dict.fromkeys(["nondp", "ols"], 7),
        **dict.fromkeys(["lasso", "k-ols", "l-ols"], 3),
        "bas": 0,
        "tukey": 140,
        "l-bas": 0,
        "l-tukey": 60,
        "k-bas": 0,
        "k-tukey": 60,
    }
    assert {name: request.least_rows(method, 6) for name, method in TABULAR.items()} == expected
    assert REQUEST.least_rows(TABULAR["k-tukey"], 6) == 24


def test_fit_method__same_key_same_weights():
    first, again, other = (fit("k-tukey", key=key).weights for key in [(1,), (1,), (2,)])
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("k", [6, 7])
def test_fit_method__raise_where_nothing_is_left_to_choose(k):
    with refused("number-of-choices", "`k`", error=UsageError):
        fit("k-tukey", replace(REQUEST, k=k))


def test_fit_method__raise_on_shapes():
    with refused("outcome-array-rows", error=UsageError):
        fit_method(X, Y[1:], method=TABULAR["nondp"], request=REQUEST, noise=BenchmarkNoise(1))


def test_fit_method__a_release_by_tukey_cannot_be_charged():
    request, rehearsal = replace(REQUEST, neighbours=Neighbours.REPLACE_ONE), Rehearsal()
    fit_method(X, Y, method=TABULAR["tukey"], request=request, noise=rehearsal)
    with refused("benchmark-noise-charged", error=UsageError):
        [event.charge for event, _ in rehearsal.draws[()]]


@pytest.mark.parametrize(
    "terms",
    [
        *({"epsilon": value} for value in (0, -1, 9e-4, 10_001, math.inf, math.nan)),
        *({"delta": value} for value in (0, 1e-31, 1, math.nan)),
        {"k": 0},
        *({name: value} for name in ("count_share", "screening_share") for value in (0, 1)),
        *({"rows_per_coefficient": value} for value in (0, math.inf)),
    ],
)
def test_table_request__raise_on_a_bad_term(terms):
    with refused("field-out-of-domain", next(iter(terms)), error=UsageError):
        replace(REQUEST, **terms)


@pytest.mark.parametrize("terms", [{"epsilon": 1e-3}, {"epsilon": 10_000}, {"delta": 1e-30}, {"k": 1}])
def test_table_request__takes_the_ends_of_a_domain(terms):
    assert vars(replace(REQUEST, **terms)).items() >= terms.items()


def test_table_request__raise_where_no_share_is_left():
    with refused("shares-too-large", "got 1", error=UsageError):
        replace(REQUEST, count_share=0.5, screening_share=0.5)


@pytest.mark.parametrize("name", ["bas", "k-bas", "l-bas", "tukey"])
def test_fit_method__later_draws_are_named_by_all_data(name, monkeypatch):
    seen, on = [], BenchmarkNoise.on
    monkeypatch.setattr(BenchmarkNoise, "on", lambda self, digest: seen.append(digest) or on(self, digest))
    named = []
    for place in (None, "X", "y"):
        x, y = X[:600].copy(), Y[:600].copy()
        if place:
            {"X": x[0], "y": y}[place][0] += 0.25
        fit_method(x, y, method=TABULAR[name], request=REQUEST, noise=BenchmarkNoise(1))
        named.append(set(seen))
        seen.clear()
    first, other_rows, other_outcomes = named
    assert len(first) == (0 if name == "bas" else 1)
    assert not first & other_rows
    assert not first & other_outcomes
    assert not other_rows & other_outcomes


def draw_in_a_study(name):
    """Draw by the mechanism of a study of the same rows, their values on its grid; return the events."""
    everyone, ids = np.ones(len(Y), dtype=bool), np.arange(len(Y)).astype(str)
    columns = (X.T * 512).round().astype(np.int16)
    data = ScreeningData(columns, Y[np.newaxis], everyone, 2 * len(Y), "people", ids, is_table=True)
    request = PrivacyRequest("people", 6, 1, 3.0, 2.0, 1e-5)
    if METHODS[name].is_screened:
        request = screened_request(request, ScreeningTerms(n_choices=2, selector=METHODS[name].selector))
    own = {"count_share": 0.05, "rows_per_coefficient": 2.0} if "tukey" in name else {}
    own |= {"request": request, "outcome_names": ["y"], "frequency": None, "noise": BenchmarkNoise(1)}
    return mechanism_of(name, is_release=False).draw(data, **own).events


@pytest.mark.parametrize("name", [name for name, row in TABULAR.items() if row.reads_rows])
def test_fit_method__draws_by_the_functions_of_a_study_of_a_table(name, monkeypatch):
    """The same in the same order, but that choice and fit of a study have a count each."""
    called, found = [], []

    def note(function, *of, **terms):
        called.append(function.__name__)
        return function(*of, **terms)

    for module, place in DRAWING:
        monkeypatch.setattr(module, place, partial(note, getattr(module, place)))
    for draw in (draw_in_a_study, lambda name: fit(name).events):
        called.clear()
        statistics = Counter(event.statistic for event in draw(name))
        found.append((list(called), statistics))
    (of_study, in_study), (of_table, in_table) = found
    assert of_study == of_table
    assert len(of_study) == 1 + METHODS[name].is_screened
    assert in_study - in_table == Counter({"count of units": 1} if name == "l-tukey" else {})
    assert not in_table - in_study
