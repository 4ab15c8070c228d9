"""Choices for each outcome, and what is released of the chosen variants: what it is, costs and hangs on."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from dpgrs.linalg.coding import GENOTYPE_STEP
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.methods.chosen import fit_chosen, private_choices, private_chosen_statistics
from dpgrs.methods.chosen_exactly import fit_chosen_exactly
from dpgrs.methods.chosen_requests import ScreeningTerms, screened_request
from dpgrs.methods.fits import FitTerms
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.accounting.accountant import gdp_epsilon
from dpgrs.privacy.accounting.composition import _zcdp_epsilon, total_cost
from dpgrs.privacy.accounting.exact_numbers import root_above
from dpgrs.privacy.noise.sources import BenchmarkNoise, ReleaseNoise
from dpgrs.privacy.noise.study_key import StudyKey
from dpgrs.selection.dp_kendall import pairs_of
from dpgrs.selection.greedy_kendall import greedy_kendall
from dpgrs_papers.methods import row_mechanisms
from dpgrs_papers.methods.row_fits import BOOSTED, TUKEY, RowFit
from dpgrs_papers.methods.row_mechanisms import fit_chosen_rows
from dpgrs_papers.selection import dp_sis
from screening_cohorts import CAUSAL, HUGE, N_VARIANTS, NAMES, cohort, frequencies

BLUP = FitTerms(0.0)
NOISE = BenchmarkNoise(1)
SIS = {"selector": "sis"}
# A factor of tight bounds that shortens no row of two variants.
UNCLIPPED = 3.0
every_rows = pytest.mark.parametrize("rows", ["haplotypes", "people"])
every_bounds = pytest.mark.parametrize("bounds", ["worst-case", "tight"])


def ask(
    rows="people",
    *,
    bounds="worst-case",
    n_outcomes=3,
    n_choices=2,
    share=0.5,
    screening=(),
    factor=1.0,
    **terms,
):
    request = PrivacyRequest(rows, N_VARIANTS, n_outcomes, 5.0, **HUGE | terms)
    terms = ScreeningTerms(n_choices=n_choices, share=share, **dict(screening))
    frequency = frequencies() if bounds == "tight" else None
    return screened_request(request, terms, frequency=frequency, factor=factor)


def choose(data, request, *, names=NAMES, noise=NOISE):
    return private_choices(data, **request.choosing, noise=noise, outcome_names=names)


def draw(data, chosen, request, *, names=NAMES, noise=NOISE):
    options = {"request": request.statistics, "noise": noise, "outcome_names": names}
    frequency = frequencies() if request.coding == "frequency" else None
    return private_chosen_statistics(data, chosen, frequency=frequency, **options)


def fit(data, chosen, request, method, *, names=NAMES, noise=NOISE):
    """Fit by `blup` from sums, or by a method of rows; return the fit and statuses."""
    if method == "blup":
        drawn = draw(data, chosen, request, names=names, noise=noise)
        options = {"request": request.statistics, "terms": BLUP, "n_variants": N_VARIANTS}
        return fit_chosen(drawn, method, **options), None
    options = {"n_fits": request.n_outcomes, "noise": noise, "outcome_names": names}
    of_tukey = {"count_share": 0.1, "rows_per_coefficient": 4.0}
    fitter, own = (TUKEY, of_tukey) if method == "tukey" else (BOOSTED, {})
    options |= own
    frequency = frequencies() if request.coding == "frequency" else None
    found, fits = fit_chosen_rows(fitter, data, chosen, request=request.rest, frequency=frequency, **options)
    return found, [one.status for one in fits]


@every_rows
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_private_choices__with_hardly_any_noise_are_the_greedy_ones(rows, missing):
    data = cohort(rows, missing=missing)
    chosen, _ = choose(data, ask(rows, n_choices=5, epsilon=1e7))
    greedy = [greedy_kendall(pairs_of(data)[number], n_choices=5) for number in range(3)]
    np.testing.assert_array_equal(chosen, greedy)
    assert chosen[:, 0].tolist() == [first for first, _ in CAUSAL]


@every_rows
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_private_choices__sets_with_hardly_any_noise_are_the_highest_products(rows, missing):
    """Products are over the training rows; a row without the outcome adds nothing."""
    data = cohort(rows, missing=missing)
    chosen, events = choose(data, ask(rows, n_choices=3, epsilon=1e7, screening=SIS))
    X = data.rows_of(np.arange(N_VARIANTS), data.is_training)
    Y = np.nan_to_num(data.Y[:, data.is_training])
    highest = np.argsort(-np.abs(Y @ X), axis=1)[:, :3]
    np.testing.assert_array_equal(chosen, np.sort(highest, axis=1))
    for number, own in enumerate(highest):
        terms = {"n_choices": 3, "outcome_bound": 5.0}
        np.testing.assert_array_equal(dp_sis.Sis().choose_exactly(data, number, **terms), own)
    assert {event.family for event in events} == {"subset"}


@pytest.mark.parametrize(("neighbours", "factor"), [("add-remove", 1), ("replace-one", 2)])
@pytest.mark.parametrize(("unit", "n_rows"), [("haplotype", 1), ("person", 2)])
def test_private_choices__sets_have_the_sensitivity_of_the_unit(neighbours, factor, unit, n_rows):
    request = ask("haplotypes", neighbours=neighbours, unit=unit, epsilon=1.0, screening=SIS)
    _, events = choose(cohort("haplotypes", n_people=50), request)
    for event in events:
        # Genotypes of a haplotype row are 1/2 at most, outcomes 5.
        assert event.sensitivity.value == factor * n_rows * 0.5 * 5.0
        assert (event.sensitivity.neighbours, event.sensitivity.unit) == (neighbours, unit)
        assert event.statistic == "products with the outcome"


def test_sis_scores__another_bound_has_scores_of_its_own():
    data = cohort(n_people=50)
    narrow, wide = (dp_sis.study_scores(data, bound) for bound in (0.5, 5.0))
    assert (narrow.outcome_bound, wide.outcome_bound) == (0.5, 5.0)
    assert (narrow.values != wide.values).any()
    assert dp_sis.study_scores(data, 0.5) is narrow


def test_private_choices__test_rows_are_never_looked_at():
    data = cohort()
    kept = np.repeat(data.is_training, 2)
    others = data.genotypes.copy()
    alleles = np.unpackbits(others.view(np.uint8), axis=1, bitorder="little")
    alleles[:, : len(kept)][:, ~kept] ^= 1
    others = np.packbits(alleles, axis=1, bitorder="little").view(np.uint64)
    changed = replace(data, genotypes=others)
    request = ask(epsilon=10.0)
    np.testing.assert_array_equal(choose(changed, request)[0], choose(data, request)[0])
    chosen, _ = choose(data, request)
    for method in ("blup", "bas", "tukey"):
        one, other = (fit(which, chosen, request, method)[0] for which in (data, changed))
        np.testing.assert_array_equal(one.weights, other.weights)


def exact_sums(data, chosen, number, *, origin, unit):
    """Return X'X with the intercept and X'y of the training rows, the plain way."""
    X = data.rows_of(chosen, data.is_training) - origin[chosen]
    X = np.column_stack([X, np.full(len(X), 0.5)])
    y = grid_outcomes(data.Y[[number]], bound=5.0)[0, data.is_training] * unit
    return X.T @ X, X.T[:-1] @ y


@every_rows
@every_bounds
def test_private_chosen_statistics__are_sums_of_the_chosen_over_all_training_rows(rows, bounds):
    """Rows without the outcome count in X'X and n, and add nothing to X'y."""
    data, request = cohort(rows, missing=0.3), ask(rows, bounds=bounds, factor=UNCLIPPED)
    chosen = np.array([[5, 0], [1, 2], [7, 3]])
    drawn = draw(data, chosen, request)
    assert abs(drawn.n - data.is_training.sum()) <= 5
    origin = np.zeros(N_VARIANTS) if drawn.origin is None else drawn.origin
    for number, own in enumerate(chosen):
        G, v = exact_sums(data, own, number, origin=origin, unit=2.0**-16)
        noise_sd = request.statistics.noise_sd
        np.testing.assert_allclose(drawn.gram[number], G, atol=6 * noise_sd["gram"] + 2)
        np.testing.assert_allclose(drawn.cross[number], v, atol=6 * noise_sd["cross"])
    assert noise_sd["gram"] < 2


@every_rows
@every_bounds
@pytest.mark.parametrize("method", ["blup", "bas", "tukey"])
def test_fits__with_hardly_any_noise_are_near_least_squares(rows, bounds, method):
    data, request = cohort(rows), ask(rows, bounds=bounds, factor=UNCLIPPED)
    chosen, _ = choose(data, request)
    found, statuses = fit(data, chosen, request, method)
    exact = fit_chosen_exactly(data, chosen)
    X = data.rows_of(np.arange(N_VARIANTS), np.ones(len(data.is_training), dtype=bool))
    np.testing.assert_allclose(found.predict(X), exact.predict(X), atol=0.25)
    assert statuses in (None, ["released"] * 3)
    assert found.standard_errors is None
    # Zero of every variant lies at its public mean, where bounds are tight.
    mean = (frequencies() - 0.5) * {"people": 2, "haplotypes": 1}[rows]
    np.testing.assert_allclose(found.means, mean if bounds == "tight" else 0, atol=2**-12)
    if method == "blup":  # whose sums are of rows on a grid
        assert not np.fmod(found.means, GENOTYPE_STEP).any()
    for fitted in (found, exact):
        np.testing.assert_array_equal(fitted.chosen, np.sort(CAUSAL, axis=1))
        for weights, own in zip(fitted.weights, CAUSAL, strict=True):
            assert set(np.flatnonzero(weights)) == set(own)


def test_fit_chosen_exactly__is_least_squares_of_rows_with_the_outcome():
    data, chosen = cohort(missing=0.4), np.array([[1, 4], [2, 6], [0, 7]])
    found = fit_chosen_exactly(data, chosen)
    for number, own in enumerate(chosen):
        is_known = ~np.isnan(data.Y[number])
        X = np.column_stack([data.rows_of(own, is_known), np.ones(is_known.sum())])
        expected = np.linalg.solve(X.T @ X, X.T @ data.Y[number, is_known])
        fitted = [*found.weights[number, own], found.intercept[number]]
        np.testing.assert_allclose(fitted, expected, rtol=1e-9)


@pytest.mark.parametrize("accounting", ["gdp", "paper"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("n_outcomes", [1, 3])
@pytest.mark.parametrize("selector", ["kendall", "sis"])
@every_bounds
def test_events__are_never_above_the_budget(accounting, neighbours, n_outcomes, selector, bounds):
    """Of all outcomes under a joint budget, and of each under separate ones."""
    terms = {"accounting": accounting, "neighbours": neighbours, "epsilon": 2.0}
    terms["screening"] = {"selector": selector}
    data, request = cohort(), ask(bounds=bounds, n_outcomes=n_outcomes, share=0.3, **terms)
    chosen, choices = choose(data, request)
    drawn = draw(data, chosen, request)
    n_shared = len(drawn.events) - 2 * len(NAMES)
    assert n_shared == (neighbours == "add-remove")
    shared, own = drawn.events[:n_shared], np.reshape(drawn.events[n_shared:], (3, 2))
    for first in range(0, 3, n_outcomes):
        group = slice(first, first + n_outcomes)
        cost = total_cost([*shared, *choices[group], *chain.from_iterable(own[group])])
        spent = gdp_epsilon(root_above(cost.mu_squared), 1e-6) + float(cost.pure_epsilon)
        assert spent <= 2.0 * (1 + 1e-9)
        if accounting == "gdp":
            assert spent == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize("law", ["permute-and-flip", "gumbel"])
@pytest.mark.parametrize("n_choices", [2, 7])
def test_events__choices_by_zcdp_keep_to_their_epsilon_and_delta(law, n_choices):
    request = ask(n_choices=n_choices, epsilon=2.0, screening={"composition": "zcdp", "law": law})
    _, events = choose(cohort(), request)
    bounded_range = 1 / 4 if law == "gumbel" else 1
    for event in events:
        rho = n_choices * float(event.epsilon_each) ** 2 / 2 * bounded_range
        adds_up = event.epsilon <= request.choices.epsilon
        assert adds_up == ((law, n_choices) != ("gumbel", 7))
        assert adds_up or _zcdp_epsilon(rho, request.choices.delta) <= request.choices.epsilon


@every_bounds
@pytest.mark.parametrize("method", ["blup", "bas", "tukey"])
def test_outcome__does_not_hang_on_the_others_under_separate_budgets(bounds, method):
    data, request = cohort(missing=0.1), ask(bounds=bounds, n_outcomes=1, epsilon=20.0)
    chosen, _ = choose(data, request)
    found, _ = fit(data, chosen, request, method)
    assert found.weights.any(axis=1).all() or method == "tukey"
    for number, name in enumerate(NAMES):
        alone = replace(data, Y=data.Y[[number]])
        own, _ = choose(alone, request, names=[name])
        np.testing.assert_array_equal(own[0], chosen[number])
        one, _ = fit(alone, own, request, method, names=[name])
        np.testing.assert_array_equal(one.weights[0], found.weights[number])
        assert one.intercept[0] == found.intercept[number]


def test_draws__of_outcomes_share_no_noise_and_repeat():
    """Three times the same outcome under three names."""
    data, request = cohort(), ask(epsilon=0.01)
    data = replace(data, Y=data.Y[[0, 0, 0]])
    chosen = np.tile([[2, 5]], (3, 1))
    drawn, again, other = (draw(data, chosen, request, noise=BenchmarkNoise(seed)) for seed in (1, 1, 2))
    for name in ("gram", "cross"):
        one, two, three = getattr(drawn, name)
        assert not np.isin(one, [two, three]).any() or name == "gram"
        np.testing.assert_array_equal(getattr(again, name), getattr(drawn, name))
        assert (getattr(other, name) != getattr(drawn, name)).mean() > 0.8
    noisy = [gram[np.triu_indices(3)][:-1] for gram in drawn.gram]
    assert len(set(np.concatenate(noisy))) == 15
    tight_choices = [tuple(row) for row in choose(data, ask(n_choices=7, epsilon=0.01))[0]]
    assert len(set(tight_choices)) == 3


@pytest.mark.parametrize("method", ["bas", "tukey"])
def test_fit_chosen_rows__outcomes_share_no_noise(method):
    data, request = cohort(), ask(epsilon=400.0)
    data, chosen = replace(data, Y=data.Y[[0, 0, 0]]), np.tile([[1, 4]], (3, 1))
    found, statuses = fit(data, chosen, request, method)
    assert statuses == ["released"] * 3
    assert len(set(found.weights[:, 1])) == 3


def test_fit_chosen_rows__a_failed_check_is_a_status_and_no_weights():
    data, request = cohort(n_people=400), ask(epsilon=0.9, neighbours="replace-one")
    found, statuses = fit(data, np.array([[1, 4]] * 3), request, "tukey")
    assert statuses == ["check failed"] * 3
    assert not found.weights.any()
    X = data.rows_of(np.arange(N_VARIANTS), data.is_training)
    assert not found.predict(X).any()


@pytest.mark.parametrize("method", ["blup", "bas", "tukey"])
def test_fits__of_constant_variants_and_empty_outcomes_are_finite(method):
    data = cohort(n_people=300)
    bits, Y = data.genotypes.copy(), data.Y.copy()
    bits[:3] = 0
    Y[0], Y[1, data.is_training] = np.nan, 1.0
    data, request = replace(data, genotypes=bits, Y=Y), ask(epsilon=2.0)
    chosen, _ = choose(data, request)
    for picked in (chosen, np.array([[0, 1]] * 3)):
        found, _ = fit(data, picked, request, method)
        exact = fit_chosen_exactly(data, picked)
        for fitted in (found, exact):
            assert np.isfinite(fitted.weights).all()
            assert np.isfinite(fitted.intercept).all()
    assert not exact.weights[0].any()


def test_kendall_scores__chunks_of_outcomes_do_not_matter():
    data = cohort(missing=0.2)
    apart = [pairs_of(replace(data, Y=data.Y[[number]]))[0].outcome_scores for number in range(3)]
    np.testing.assert_array_equal(apart, [one.outcome_scores for one in pairs_of(data)])


def test_genotype_digest__marks_the_training_rows_alone():
    data = cohort("haplotypes")
    for is_marked in (True, False):
        bits = data.genotypes.copy()
        row = np.flatnonzero(data.is_training == is_marked)[0]
        bits[0, row // 64] ^= np.uint64(1) << np.uint64(row % 64)
        assert (replace(data, genotypes=bits).genotype_digest != data.genotype_digest) == is_marked
    fewer = data.is_training & (np.arange(len(data.is_training)) > np.flatnonzero(data.is_training)[0])
    assert replace(data, is_training=fewer).genotype_digest != data.genotype_digest


def test_source__is_of_the_training_rows_genotypes_and_outcome():
    def groups(data):
        noise = ReleaseNoise(StudyKey(bytes(32)), draws={}, requests={("outcomes", "a"): ("r1", "i1")})
        return data.source(noise, "a", 0).assign_groups(200, name="groups", n_groups=5).tolist()

    data = cohort(n_people=50)
    # One person has no ALT allele and no outcome.
    data.genotypes[:, 0] &= ~np.uint64(3)
    data.is_training[0], data.Y[:, 0] = True, np.nan
    others = [replace(data, genotypes=data.genotypes.copy(), Y=data.Y.copy()) for _ in range(4)]
    others[0].Y[1] *= 2
    others[1].Y[0] *= 2
    others[2].genotypes[0, 0] ^= np.uint64(3)
    is_other = np.arange(50) > 0
    others[3] = replace(data, is_training=data.is_training & is_other)
    assert [groups(other) == groups(data) for other in others] == [True, False, False, False]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_events__are_of_every_draw(neighbours):
    request = ask(neighbours=neighbours, counts_outcomes=True, epsilon=2.0)
    drawn = draw(cohort(missing=0.3), np.array([[5, 0], [1, 2], [7, 3]]), request)
    own = ["gram", "outcome counts", "cross product"] * 3
    assert [event.statistic for event in drawn.events] == ["count"] * (neighbours == "add-remove") + own


@every_rows
@every_bounds
def test_fit_chosen_rows__takes_rows_for_no_longer_than_they_are_clipped(monkeypatch, rows, bounds):
    norms = []

    def fit_rows(*_, largest_norm, **__):
        norms.append(largest_norm)
        return RowFit(np.zeros(2), 0.0, "released", ())

    monkeypatch.setattr(row_mechanisms, "fit_rows", fit_rows)
    request = ask(rows, bounds=bounds)
    fit(cohort(rows, n_people=50), np.zeros((3, 2), dtype=int), request, "bas")
    # Genotypes lie within 1/2 of zero, or 1 for people.
    half = np.sqrt(2) * {"haplotypes": 0.5, "people": 1.0}[rows]
    assert norms == [pytest.approx(half if bounds == "worst-case" else request.rest.row_norm)] * 3
