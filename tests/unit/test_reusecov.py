import math
from dataclasses import asdict, replace
from itertools import product

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.linalg.coding import CLIPPED_CROSS_STEP, CLIPPED_GRAM_STEP, CROSS_STEP, GRAM_STEP
from dpgrs.linalg.norms import budget_groups
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.statistics import coded_rows, cross_product, gram
from dpgrs.methods.ols import fit_ridge
from dpgrs.methods.requests import PrivacyRequest, request_grid
from dpgrs.methods.reusecov import fit_reusecov, private_statistics
from dpgrs.privacy.accounting.accountant import gdp_mu, split_budget
from dpgrs.privacy.audit.parts import Silence
from dpgrs.privacy.noise.sources import BenchmarkNoise
from random_cohorts import random_bits
from refused import refused

D, L, N_HAPLOTYPES = 6, 3, 400


def statistics(rows):
    bits, options = random_bits(D, N_HAPLOTYPES), {"n_haplotypes": N_HAPLOTYPES, "rows": rows}
    X = coded_rows(bits, **options)
    rng = np.random.default_rng(4)
    Y = rng.standard_normal((L, D)) @ (X - X.mean(axis=0)).T + rng.standard_normal((L, len(X)))
    Y -= Y.mean(axis=1, keepdims=True)
    return gram(bits, **options), cross_product(bits, grid_outcomes(Y, bound=9.0), **options), len(X)


def request(**options):
    defaults = {"rows": "haplotypes", "n_variants": D, "n_outcomes": L, "outcome_bound": 9.0}
    return PrivacyRequest(**defaults | {"epsilon": 1.0, "delta": 1e-6} | options)


def release(key=0, **options):
    terms = request(**options)
    return private_statistics(*statistics(terms.rows), request=terms, noise=BenchmarkNoise(1, key))


@pytest.mark.parametrize(
    ("terms", "shares"),
    [
        ({"counts_outcomes": False}, [0.2, 0, 0.2, 0.6, 0]),
        ({"counts_outcomes": False, "neighbours": "replace-one"}, [0, 0, 0.25, 0.75, 0]),
        ({}, [0.2, 0.2, 0.15, 0.45, 0]),
        ({"case_share": 0.2}, [0.2, 0.2, 0.15, 0.36, 0.09]),
        ({"neighbours": "replace-one"}, [0, 0.2, 0.2, 0.6, 0]),
        ({"neighbours": "replace-one", "protection": "label"}, [0, 0.2, 0, 0.8, 0]),
        ({"neighbours": "replace-one", "protection": "label", "case_share": 0.3}, [0, 0.2, 0, 0.56, 0.24]),
        ({"neighbours": "replace-one", "protection": "feature"}, [0, 0, 0.25, 0.75, 0]),
    ],
)
def test_budget__counts_of_outcomes_take_as_much_as_the_count(terms, shares):
    mus = request(**{"gram_share": 0.25, "count_share": 0.2, "counts_outcomes": True} | terms).budget
    assert list(mus) == ["count", "observed", "gram", "cross", "cases"]
    total = gdp_mu(1.0, 1e-6) ** 2
    assert [mu**2 / total for mu in mus.values()] == pytest.approx(shares)


def test_request__counts_of_outcomes_tell_draws_apart_where_there_are_any():
    plain, counted = request(), request(counts_outcomes=True)
    assert len(plain.key) < len(counted.key) == len(asdict(counted)) - 5
    with refused("counts-shape", "`observed`", error=UsageError):
        private_statistics(*statistics("haplotypes"), request=counted, noise=BenchmarkNoise(1))


@pytest.mark.parametrize(("outcome_budget", "shares"), [("joint", [1, 3]), ("separate", [1, 1])])
def test_request_grid__is_every_combination(outcome_budget, shares):
    terms = {"rows": "people", "outcome_bound": 3.0, "delta": 1e-6, "neighbours": "add-remove"}
    terms |= {"protections": ["full"], "accountings": ["gdp", "paper"], "epsilons": [1.0, 2.0]}
    grid = request_grid(**terms, sizes=[4, 8], counts=[1, 3], outcome_budget=outcome_budget)
    terms = [(one.accounting, one.epsilon, one.n_variants, count) for one, count in grid]
    assert terms == list(product(["gdp", "paper"], [1.0, 2.0], [4, 8], [1, 3]))
    assert [one.n_outcomes for one, _ in grid[:2]] == shares


def test_budget_groups__every_outcome_is_in_one():
    outcomes = list("abcdef")
    groups = [outcomes[group] for group in budget_groups(6, n_shared=2)]
    assert groups == [["a", "b"], ["c", "d"], ["e", "f"]]


def test_private_statistics__events_are_all_that_is_spent():
    noisy = release()
    assert [event.statistic for event in noisy.events] == ["count", "gram", "cross product"]
    assert [event.entries for event in noisy.events] == [1, D * (D + 1) // 2, L * D]
    assert math.hypot(*(event.mu for event in noisy.events)) <= gdp_mu(1.0, 1e-6) * (1 + 1e-15)
    assert all(event.sensitivity.unit == "person" for event in noisy.events)


def test_private_statistics__same_request_same_bytes():
    first, second = release(), release()
    assert first.gram.tobytes() == second.gram.tobytes()
    assert first.cross.tobytes() == second.cross.tobytes()
    assert first.n == second.n
    assert (release(key=1).cross != first.cross).all()


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_private_statistics__noise_where_it_belongs(rows, neighbours):
    noisy = release(rows=rows, neighbours=neighbours)
    exact_gram, exact_cross, n_rows = statistics(rows)
    difference = noisy.gram - exact_gram * GRAM_STEP
    np.testing.assert_array_equal(noisy.gram, noisy.gram.T)
    is_public = np.zeros((D + 1, D + 1), dtype=bool)
    is_public[np.diag_indices(D + 1)] = rows == "haplotypes"
    is_public[-1, -1] = True
    np.testing.assert_array_equal(noisy.gram[is_public], noisy.n / 4)
    assert (difference[~is_public] != 0).mean() > 0.9  # a draw may round to 0
    assert (noisy.cross != exact_cross[:, :-1] * CROSS_STEP).all()
    assert (noisy.n != n_rows) == (neighbours == "add-remove")


def test_private_statistics__public_entries_do_not_come_from_the_data():
    exact_gram, cross, n_rows = statistics("haplotypes")
    wrong = exact_gram + np.diag(np.arange(D + 1))
    terms = request()
    noisy = [
        private_statistics(G, cross, n_rows, request=terms, noise=BenchmarkNoise(1)).gram
        for G in (exact_gram, wrong)
    ]
    np.testing.assert_array_equal(*noisy)


def test_private_statistics__noisy_count_is_at_least_one():
    exact_gram, cross, _ = statistics("haplotypes")
    counts = [
        private_statistics(exact_gram, cross, 0, request=request(), noise=BenchmarkNoise(1, key)).n
        for key in range(8)
    ]
    assert min(counts) == 1
    assert max(counts) > 1


def test_private_statistics__separate_budgets_leave_other_outcomes_alone():
    exact_gram, cross, n_rows = statistics("haplotypes")
    terms = request(n_outcomes=1)
    names = ["a", "b", "c"]
    data = {"request": terms, "noise": BenchmarkNoise(1)}
    whole = private_statistics(exact_gram, cross, n_rows, outcome_names=names, **data)
    part = private_statistics(exact_gram, cross[[2, 0]], n_rows, outcome_names=["c", "a"], **data)
    assert part.gram.tobytes() == whole.gram.tobytes()
    np.testing.assert_array_equal(part.cross, whole.cross[[2, 0]])
    # Every outcome has (epsilon, delta) of its own, with noise of its own.
    assert len(whole.events) == 2 + 3
    for event in whole.events[2:]:
        budget = math.hypot(*(event.mu for event in (*whole.events[:2], event)))
        assert budget == pytest.approx(gdp_mu(1.0, 1e-6), rel=1e-12)
    noise = whole.cross - cross[:, :-1] * CROSS_STEP
    assert len(set(noise[:, 0])) == 3


def test_private_statistics__raise_on_other_shapes():
    exact_gram, cross, n_rows = statistics("haplotypes")
    with refused("statistics-shape", "got 6", error=UsageError):
        private_statistics(exact_gram, cross, n_rows, request=request(n_outcomes=4), noise=BenchmarkNoise(1))
    for wrong in [(exact_gram[1:, 1:], cross[:, 1:]), (exact_gram, cross[:, 1:])]:
        with refused("statistics-shape", error=UsageError):
            private_statistics(*wrong, n_rows, request=request(), noise=BenchmarkNoise(1))


def test_private_statistics__label_leaves_public_genotypes_as_they_are():
    noisy = release(protection="label", neighbours="replace-one")
    exact_gram, cross, n_rows = statistics("haplotypes")
    np.testing.assert_array_equal(noisy.gram, exact_gram * GRAM_STEP)
    assert noisy.n == n_rows
    assert [event.statistic for event in noisy.events] == ["cross product"]
    assert noisy.events[0].mu == pytest.approx(gdp_mu(1.0, 1e-6))
    assert np.all(noisy.cross != cross[:, :-1] * CROSS_STEP)


def test_private_statistics__feature_draws_both():
    noisy = release(protection="feature", neighbours="replace-one")
    assert [event.statistic for event in noisy.events] == ["gram", "cross product"]
    # A row moves X'Y by sqrt(d) B sqrt(l), and a person has two.
    assert noisy.events[1].sensitivity.value == pytest.approx(2 * math.sqrt(D * L) * 9.0)


def test_private_statistics__frequency_coding_has_its_own_grid_and_norm():
    terms = request(coding="frequency", row_norm=1.25)
    size = (D + 1, D + 1)
    exact = np.zeros(size, dtype=np.int64), np.zeros((L, D + 1), dtype=np.int64), 100
    noisy = private_statistics(*exact, request=terms, noise=BenchmarkNoise(1))
    assert [event.step for event in noisy.events] == [1.0, CLIPPED_GRAM_STEP, CLIPPED_CROSS_STEP]
    # The diagonal has noise of its own, but for the intercept's entry.
    assert np.all(np.diag(noisy.gram)[:-1] != noisy.n / 4)
    assert noisy.gram[-1, -1] == noisy.n / 4
    assert noisy.events[2].sensitivity.value == pytest.approx(2 * 1.25 * 9.0 * math.sqrt(L))


@pytest.mark.parametrize("terms", [{}, {"coding": "frequency", "row_norm": 1.0, "outcome_norm": 2.0}])
@pytest.mark.parametrize("counts_outcomes", [False, True])
@pytest.mark.parametrize("protection", ["full", "feature", "label"])
def test_request__noise_sd_is_that_of_the_events(protection, counts_outcomes, terms):
    terms |= {"neighbours": "replace-one", "counts_outcomes": counts_outcomes}
    terms = request(protection=protection, **terms)
    exact = np.zeros((D + 1,) * 2, dtype=np.int64), np.zeros((L, D + 1), dtype=np.int64), 100
    known = np.zeros(L, dtype=np.int64)
    noisy = private_statistics(*exact, request=terms, noise=BenchmarkNoise(1), observed=known)
    drawn = {event.statistic: event.sigma for event in noisy.events}
    statistics = {"observed": "outcome counts", "gram": "gram", "cross": "cross product"}
    statistics |= {"cases": "case counts"}
    expected = {name: drawn.get(statistic, 0.0) for name, statistic in statistics.items()}
    assert terms.noise_sd == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("terms", "fault"),
    [
        *(
            ({name: share}, ("share-out-of-range", f"privacy.{name}"))
            for name in ("gram_share", "count_share")
            for share in (0.0, 1.0, -0.1, math.nan)
        ),
        (
            {"counts_outcomes": True, "count_share": 0.5},
            ("count-share-too-large", "`privacy.count_share`"),
        ),
        ({"protection": "none"}, ("protection-missing",)),
        *(({"protection": side}, ("neighbours-not-replace-one", side)) for side in ("feature", "label")),
        *(
            (terms, ("row-norm-with-other-coding", "`row_norm`", "`frequency`"))
            for terms in ({"coding": "frequency"}, {"row_norm": 0.1})
        ),
    ],
)
def test_request__raise_on(terms, fault):
    with refused(*fault, error=UsageError):
        request(**terms)


def test_request__half_of_the_budget_may_be_of_counts_where_the_rows_are_public():
    request(counts_outcomes=True, count_share=0.5, neighbours="replace-one")


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("n_outcomes", [30, 1000])
def test_share_of_gram__is_by_the_sensitivities(neighbours, n_outcomes):
    terms = request(n_variants=300, n_outcomes=n_outcomes, neighbours=neighbours, unit="haplotype")
    ratio = math.sqrt(300) * terms.gram_claim.value / terms.cross_claim.value
    odds = terms.share_of_gram / (1 - terms.share_of_gram)
    rule = min(1, ratio ** (2 / 3) / 3)
    assert terms.share_of_gram == pytest.approx(rule / (1 + rule), rel=0.02)
    # Of two digits, to be stated by who releases other outcomes later.
    assert len(str(terms.share_of_gram)) <= len("0.12") + (terms.share_of_gram < 0.1)
    assert terms.budget["gram"] ** 2 / terms.budget["cross"] ** 2 == pytest.approx(odds)


def test_share_of_gram__hangs_on_no_scale_and_is_at_most_half():
    tight = {"coding": "frequency", "outcome_norm": 40.0, "n_variants": 100}
    share = request(row_norm=3.0, **tight).share_of_gram
    assert share == request(row_norm=9.0, rows="people", unit="person", **tight).share_of_gram
    assert 0 < share < 0.5
    assert request(n_outcomes=1, n_variants=4000).share_of_gram == 0.5
    assert request(gram_share=0.7).share_of_gram == 0.7
    # Rows at p(1-p) = 0.1 are as rows at 1/4 with longer outcomes.
    few = request(coding="frequency", row_norm=1.0, outcome_norm=9.0 * math.sqrt(L * 0.1 / 0.25))
    assert few.share_of_gram == pytest.approx(request().share_of_gram)


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_fit_reusecov__is_ridge_without_noise(rows):
    exact = statistics(rows)
    silent = private_statistics(*exact, request=request(rows=rows), noise=Silence())
    private, plain = fit_reusecov(silent, penalty=0.05), fit_ridge(*exact, penalty=0.05)
    # The outcomes have mean 0 up to their grid, which is all that the two fits treat differently.
    np.testing.assert_allclose(private.weights, plain.weights, atol=1e-5)
    np.testing.assert_array_equal(private.means, plain.means)
    np.testing.assert_array_equal(private.intercept, np.zeros(L))


def test_fit_reusecov__formula():
    noisy = release(epsilon=20.0)
    fit = fit_reusecov(noisy, penalty=0.5)
    m = 2 * noisy.gram[:-1, -1] / noisy.n
    G_c = noisy.gram[:-1, :-1] - noisy.n * np.outer(m, m)
    assert np.linalg.eigvalsh(G_c).min() > 0
    expected = np.linalg.solve(G_c / noisy.n + 0.5 * np.eye(D), noisy.cross.T / noisy.n).T
    np.testing.assert_allclose(fit.weights, expected, rtol=1e-9)
    np.testing.assert_array_equal(fit.means, m)


def test_fit_reusecov__rescales_missing_outcomes():
    noisy = release(epsilon=20.0)
    # More than all rows are all rows.
    partial = replace(noisy, observed=np.array([1.1, 1 / 2, 1 / 4]) * noisy.n)
    full, partial = (fit_reusecov(one, penalty=0.5) for one in (noisy, partial))
    np.testing.assert_allclose(partial.weights, full.weights * [[1], [2], [4]])


def test_fit_reusecov__finite_under_overwhelming_noise():
    noisy = release(epsilon=1e-3, delta=1e-12)
    assert np.isfinite(fit_reusecov(noisy, penalty=0.0).weights).all()


def test_fit_reusecov__negative_eigenvalues_do_not_blow_up_the_weights():
    noisy = release(epsilon=0.2)
    m = 2 * noisy.gram[:-1, -1] / noisy.n
    eigenvalues = np.linalg.eigvalsh(noisy.gram[:-1, :-1] - noisy.n * np.outer(m, m)) / noisy.n
    penalty = -eigenvalues.min()  # the plain inverse is singular here
    assert penalty > 0.01
    norm = np.linalg.norm(fit_reusecov(noisy, penalty=penalty).weights)
    assert norm <= np.linalg.norm(noisy.cross / noisy.n) / penalty


@pytest.mark.parametrize("accounting", ["gdp", "paper"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    ("rows", "unit", "n_rows_of_unit"),
    [("haplotypes", "haplotype", 1), ("haplotypes", "person", 2), ("people", "person", 1)],
)
def test_private_statistics__every_draw_has_its_own_scale(rows, unit, n_rows_of_unit, neighbours, accounting):
    """The scales, written out from docs/explanation/methods.md, so that no wrong size or share slips by."""
    d, n_outcomes, bound, is_replaced = 7, 300, 2.0, neighbours == "replace-one"
    split = {"gram_share": 0.3, "count_share": 0.2}
    relation = {"rows": rows, "neighbours": neighbours, "unit": unit, "accounting": accounting}
    sizes = {"n_variants": d, "n_outcomes": n_outcomes, "outcome_bound": bound}
    terms = PrivacyRequest(**sizes, **relation, **split, epsilon=2.0, delta=1e-6)
    gram_squares = {
        ("haplotypes", False): d * (d + 1) / 32,
        ("haplotypes", True): (d + 1) ** 2 // 4 / 4,
        ("people", False): d * (2 * d + 3) / 4,
        ("people", True): d * d + d // 2,
    }
    cross = bound * math.sqrt(d * n_outcomes) * (2 if is_replaced else 1) / (2 if rows == "haplotypes" else 1)
    gram_sensitivity = math.sqrt(gram_squares[rows, is_replaced])
    sensitivities = {"count": 1.0, "gram": gram_sensitivity, "cross product": cross}
    shares = [0.0, 0.3, 0.7] if is_replaced else [0.2, 0.8 * 0.3, 0.8 * 0.7]
    mus = dict(zip(sensitivities, split_budget(2.0, 1e-6, shares=shares, accounting=accounting), strict=True))

    exact = np.zeros((d + 1, d + 1), dtype=int), np.zeros((n_outcomes, d + 1), dtype=int), 0
    noisy = private_statistics(*exact, request=terms, noise=BenchmarkNoise(1))
    scales = {event.statistic: event.sigma for event in noisy.events}
    if is_replaced:
        del sensitivities["count"]
    expected = {name: n_rows_of_unit * value / mus[name] for name, value in sensitivities.items()}
    assert list(scales) == list(expected)
    assert scales == pytest.approx(expected, rel=1e-9)
    # 2,100 draws: 8 % are more than 5 standard errors.
    assert noisy.cross.std() == pytest.approx(scales["cross product"], rel=0.08)
