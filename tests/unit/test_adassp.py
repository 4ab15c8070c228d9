import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack
from dpgrs.linalg.clipped_statistics import LARGEST_CLIPPED_ROWS, clipped_gram, frequency_rows
from dpgrs.linalg.coding import GENOTYPE_STEP
from dpgrs.linalg.outcome_grid import clip_norms, grid_outcomes
from dpgrs.linalg.statistics import LARGEST_ROWS, coded_rows, cross_product, gram
from dpgrs.methods import adassp
from dpgrs.methods.adassp import (
    LARGEST_VARIANTS,
    adassp_request,
    eigenvalue_step,
    eigenvalue_steps,
    fit_adassp,
    private_adassp,
    private_smallest_eigenvalue,
)
from dpgrs.methods.ols import fit_ridge
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.accounting.accountant import gdp_mu
from dpgrs.privacy.audit.parts import Silence
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.privacy.sensitivity import smallest_eigenvalue_sensitivity
from random_cohorts import random_alleles, random_bits
from refused import refused
from row_enumeration import UNIT_OF_A_ROW, all_rows

D, L, N_HAPLOTYPES = 6, 3, 400


def statistics(bits=None, n_haplotypes=N_HAPLOTYPES):
    bits = random_bits(D, n_haplotypes) if bits is None else bits
    options = {"n_haplotypes": n_haplotypes, "rows": "haplotypes"}
    X = coded_rows(bits, **options)
    genetic = 2 * X[: len(X) // 2, 0]
    # Whole quarters in pairs of opposite sign: the outcomes' means are 0 on their grid.
    half = np.round((np.random.default_rng(4).standard_normal((L, len(genetic))) + genetic) * 4) / 4
    Y = np.hstack([half, -half])
    return gram(bits, **options), cross_product(bits, grid_outcomes(Y, bound=9.0), **options), len(X)


def request(**options):
    defaults = {"rows": "haplotypes", "n_variants": D, "n_outcomes": L, "outcome_bound": 9.0}
    return PrivacyRequest(**defaults | {"epsilon": 1.0, "delta": 1e-6} | options)


def rounded_eigenvalue(alleles, rows):
    """Return what the mechanism would release of the alleles without noise."""
    terms = request(n_variants=len(alleles), rows=rows, unit=UNIT_OF_A_ROW[rows])
    G = gram(pack(alleles), n_haplotypes=alleles.shape[1], rows=rows)
    return private_smallest_eigenvalue(G, request=adassp_request(terms), noise=Silence())[0]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_budget__thirds_of_what_the_count_leaves(neighbours):
    budget = adassp_request(request(neighbours=neighbours, gram_share=0.9)).budget
    assert budget["eigenvalue"] == budget["gram"] == budget["cross"]
    assert math.hypot(*budget.values()) == pytest.approx(gdp_mu(1.0, 1e-6), rel=1e-12)
    assert (budget["count"] > 0) == (neighbours == "add-remove")


def test_private_adassp__events_are_all_that_is_spent():
    result = private_adassp(*statistics(), request=request(), noise=BenchmarkNoise(1))
    names = [event.statistic for event in result.events]
    assert names == ["count", "gram", "cross product", "smallest eigenvalue"]
    assert math.hypot(*(event.mu for event in result.events)) <= gdp_mu(1.0, 1e-6) * (1 + 1e-15)


def test_fit_adassp__is_ridge_with_the_penalty_of_the_formula():
    exact = statistics()
    terms = request(epsilon=1.0)
    result = private_adassp(*exact, request=terms, noise=Silence())
    # The scales, written out anew: of X'X d (d + 1)/32 and of the eigenvalue d/4, twice for a person.
    mu = adassp_request(terms).budget["gram"]
    s_G = 2 * math.sqrt(D * (D + 1) / 32) / mu
    s = 2 * (D / 4) / mu
    smallest = np.linalg.eigvalsh(exact[0][:-1, :-1] / 4)[0]
    expected = math.sqrt(D * math.log(2 * D**2 / 0.05)) * s_G - max(0, smallest - 1.645 * s)
    assert expected > 0
    assert result.smallest_eigenvalue == pytest.approx(smallest, abs=1e-3)
    assert result.penalty == pytest.approx(expected, rel=2e-3)
    plain = fit_ridge(*exact, penalty=result.penalty / exact[2])
    np.testing.assert_allclose(fit_adassp(result).weights, plain.weights, rtol=0, atol=1e-8)


def test_fit_adassp__penalty_is_0_where_the_eigenvalue_is_beyond_the_noise():
    terms = request(epsilon=1e4, delta=0.1)
    result = private_adassp(*statistics(), request=terms, noise=BenchmarkNoise(1))
    assert result.smallest_eigenvalue > 1
    assert result.penalty == 0.0


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("d", [1, D, 300])
def test_fit_adassp__finite_also_with_constant_columns(d, epsilon):
    alleles = random_alleles(d, N_HAPLOTYPES)
    alleles[0] = 1
    exact = statistics(pack(alleles))
    result = private_adassp(*exact, request=request(n_variants=d, epsilon=epsilon), noise=BenchmarkNoise(1))
    assert np.isfinite(fit_adassp(result).weights).all()
    assert 0 <= result.penalty < math.inf


@pytest.mark.parametrize(("d", "n_max"), [(1, 4), (2, 4), (3, 3)])
def test_sensitivity__holds_for_all_small_cohorts(d, n_max):
    eigenvalues = {}
    rows = list(itertools.product([0, 1], repeat=d))
    for n in range(1, n_max + 1):
        for cohort in itertools.combinations_with_replacement(rows, n):
            eigenvalues[cohort] = rounded_eigenvalue(np.array(cohort).T, "haplotypes")
    for neighbours in ("add-remove", "replace-one"):
        claim = smallest_eigenvalue_sensitivity(
            d, rows="haplotypes", neighbours=neighbours, unit="haplotype"
        ).value
        largest = max(
            abs(value - eigenvalues[other])
            for cohort, value in eigenvalues.items()
            for other in others(cohort, rows, neighbours)
            if other in eigenvalues
        )
        assert largest <= claim


def others(cohort, rows, neighbours):
    for place in range(len(cohort)):
        rest = cohort[:place] + cohort[place + 1 :]
        if neighbours == "add-remove":
            yield rest
        else:
            yield from (tuple(sorted((*rest, row))) for row in rows)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("unit", ["haplotype", "person"])
@pytest.mark.parametrize("d", [2, 4])
def test_sensitivity__is_attained_with_orthogonal_rows(d, unit, neighbours):
    signs = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])[:d, :d]
    copies = 2 if unit == "person" else 1
    rest = np.tile(signs[1:], (10, 1))
    first = np.vstack([rest, np.tile(signs[0], (copies, 1))])
    second = np.vstack([rest, rest[:copies]]) if neighbours == "replace-one" else rest
    moved = rounded_eigenvalue((first.T + 1) // 2, "haplotypes") - rounded_eigenvalue(
        (second.T + 1) // 2, "haplotypes"
    )
    claim = smallest_eigenvalue_sensitivity(d, rows="haplotypes", neighbours=neighbours, unit=unit)
    assert moved == pytest.approx(claim.value, rel=1e-12)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(data=st.data(), d=st.integers(1, 12), rows=st.sampled_from(["haplotypes", "people"]))
def test_sensitivity__holds_for_larger_rows(data, d, rows):
    per_row = 1 if rows == "haplotypes" else 2
    n_haplotypes = data.draw(st.integers(1, 20)) * per_row
    size = d * (n_haplotypes + per_row)
    drawn = np.frombuffer(data.draw(st.binary(min_size=size, max_size=size)), dtype=np.uint8) & 1
    alleles = drawn.reshape(d, -1)
    added, first = rounded_eigenvalue(alleles, rows), rounded_eigenvalue(alleles[:, :-per_row], rows)
    second = rounded_eigenvalue(alleles[:, per_row:], rows)
    options = {"rows": rows, "unit": UNIT_OF_A_ROW[rows]}
    claim = smallest_eigenvalue_sensitivity(d, neighbours="add-remove", **options).value
    assert 0 <= added - first <= claim
    claim = smallest_eigenvalue_sensitivity(d, neighbours="replace-one", **options).value
    assert abs(first - second) <= claim


def error_of_factorisations(d, step, *, trace):
    """Return c of docs/proofs/smallest_eigenvalue.md."""
    return 5 * (d + 3) * 2.0**-53 * (trace + d * step / 2)


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
@pytest.mark.parametrize("d", [1, 2, 3, 100, 401, 4095, LARGEST_VARIANTS])
def test_eigenvalue_step__divides_a_row_and_leaves_room_for_floating_point(d, rows):
    squared_norm = d / 4 if rows == "haplotypes" else d
    step = eigenvalue_step(d, rows=rows)
    assert math.frexp(step)[0] == 0.5
    assert (squared_norm / step).is_integer()
    assert step <= squared_norm / 2048 <= 2 * step
    assert error_of_factorisations(d, step, trace=LARGEST_ROWS * squared_norm) < step / 2


def plane(*values):
    return np.outer(values, values) / float(np.dot(values, values))


STEP = 2.0**-12
GRAMS = {
    "one direction empty": plane(1.0, 1.0) * 100,
    "nothing": np.zeros((3, 3)),
    "everything": np.diag([5.0, 7.0, 6.0]),
    "below the grid": np.diag([2.0**-14, 1.0]),
    "a half": np.diag([0.25 + 2.0**-13, 1.0]),
    "one": np.array([[2.0**8]]),
    "many rows": (lambda Z: Z.T @ Z)(np.random.default_rng(2).integers(-4, 4, (900, 12)) / 4),
}


@pytest.mark.parametrize("lie", [0.0, STEP, -STEP, 3.0, -1e3, 1e9])
@pytest.mark.parametrize("name", GRAMS)
def test_eigenvalue_steps__is_within_half_a_step_whatever_lapack_says(name, lie, monkeypatch):
    exact = float(np.linalg.eigvalsh(GRAMS[name])[0])
    honest = np.linalg.eigvalsh
    monkeypatch.setattr(np.linalg, "eigvalsh", lambda matrix: honest(matrix) + lie)
    steps = eigenvalue_steps(GRAMS[name], step=STEP)
    assert steps.dtype == np.int64
    assert steps >= 0
    assert abs(steps * STEP - exact) <= STEP * (0.5 + 1e-6)


@pytest.mark.parametrize("steps", range(12))
def test_eigenvalue_steps__bisects_to_the_step(steps, monkeypatch):
    monkeypatch.setattr(np.linalg, "eigvalsh", lambda matrix: np.full(len(matrix), np.nan))
    for rest in range(5):
        gram = (steps * np.eye(2) + rest * np.ones((2, 2))) * STEP
        assert eigenvalue_steps(gram, step=STEP) == steps


@pytest.mark.parametrize("failure", [np.linalg.LinAlgError, np.nan, np.inf])
def test_eigenvalue_steps__does_without_lapack(failure, monkeypatch):
    """Whether it converges hangs on the data, and must not be seen."""
    steps = eigenvalue_steps(GRAMS["everything"], step=STEP)

    def eigvalsh(matrix):
        if failure is np.linalg.LinAlgError:
            raise failure("Eigenvalues did not converge")
        return np.full(len(matrix), failure)

    monkeypatch.setattr(np.linalg, "eigvalsh", eigvalsh)
    assert eigenvalue_steps(GRAMS["everything"], step=STEP) == steps


@pytest.mark.parametrize("beyond", [-3.0, -1.0, 1.0, 3.0])
@pytest.mark.parametrize("d", [2, 50, 200])
def test_eigenvalue_steps__factorisations_decide_as_far_as_is_proven(d, beyond):
    """As many rows as there may be, all but a few of them equal: the eigenvalue is known exactly."""
    step, trace = eigenvalue_step(d, rows="haplotypes"), LARGEST_ROWS * d / 4
    bound = error_of_factorisations(d, step, trace=trace)
    # In units of 2^-20, which float64 holds beside the largest entries.
    smallest = round((2.5 * step + beyond * bound) * 2**20) / 2**20
    steps = eigenvalue_steps(np.full((d, d), LARGEST_ROWS / 4) + smallest * np.eye(d), step=step)
    assert abs(steps * step - smallest) <= step / 2 + bound
    if abs(smallest - 2.5 * step) > bound:
        assert steps == (3 if beyond > 0 else 2)


CLIPPED = {"coding": "frequency"}


def rounded_clipped(gram_of_cohort, rows, row_norm):
    """Return what the mechanism would release of an integer Gram matrix of clipped rows, without noise."""
    terms = request(
        n_variants=len(gram_of_cohort) - 1, rows=rows, unit=UNIT_OF_A_ROW[rows], row_norm=row_norm, **CLIPPED
    )
    return private_smallest_eigenvalue(gram_of_cohort, request=adassp_request(terms), noise=Silence())


@pytest.mark.parametrize("row_norm", [0.3, 1.0, 1.7, 9.0])
@pytest.mark.parametrize("frequency", [(0.0, 0.0), (0.5, 0.5), (0.1, 0.97)])
@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_sensitivity__holds_for_all_small_cohorts_of_clipped_rows(rows, frequency, row_norm):
    """Every row in every cohort of up to three others, added and in the place of every other."""
    kinds, n_alleles = all_rows(2, rows), 1 if rows == "haplotypes" else 2
    coding = {"row_norm": row_norm, "n_haplotypes": n_alleles, "rows": rows}
    outer = [
        clipped_gram(frequency_rows(pack(np.reshape(row, (2, n_alleles))), np.array(frequency), **coding))
        for row in kinds
    ]
    worst = 0.0
    for size in range(4):
        for rest in itertools.combinations_with_replacement(outer, size):
            shared = sum(rest, np.zeros_like(outer[0]))
            released = [rounded_clipped(shared + one, rows, row_norm) for one in outer]
            without, event = rounded_clipped(shared, rows, row_norm)
            values = [value for value, _ in released]
            # Replace-one is the distance of two of them; add-remove that from none.
            worst = max(worst, max(values) - min(values), max(values) - without, without - min(values))
    assert worst <= event.sensitivity.value
    reach = min(row_norm, math.sqrt(2) * n_alleles)
    assert event.sensitivity.value <= reach**2 * (1 + 2 / 2048)
    if frequency == (0.0, 0.0) and row_norm == 1.0 and rows == "haplotypes":
        assert worst == 1.0  # attained by (1, 0) beside three of (0, 1)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(data=st.data(), d=st.integers(1, 10), row_norm=st.floats(0.1, 8))
def test_sensitivity__holds_for_any_clipped_rows_on_the_grid(data, d, row_norm):
    entry = st.integers(-(2**13), 2**13) | st.sampled_from([-(2**13), 0, 2**13])
    drawn = data.draw(st.lists(st.lists(entry, min_size=d, max_size=d), min_size=2, max_size=12))
    T = np.array(drawn).T
    clip_norms(T, norm=row_norm, step=GENOTYPE_STEP)
    both, first, second = (
        rounded_clipped(clipped_gram(X), "people", row_norm) for X in (T.T, T[:, :-1].T, T[:, 1:].T)
    )
    claim = both[1].sensitivity.value
    assert max(abs(both[0] - first[0]), abs(first[0] - second[0])) <= claim


@pytest.mark.parametrize("row_norm", [2.0**-4, 0.7, 11.0, 1000.0])
@pytest.mark.parametrize("d", [1, 3, 401, LARGEST_VARIANTS])
def test_eigenvalue_step__of_clipped_rows_leaves_room_for_floating_point(d, row_norm):
    for rows, largest in [("haplotypes", d), ("people", 4 * d)]:
        squared_norm = min(row_norm**2, largest)
        step = eigenvalue_step(d, rows=rows, row_norm=row_norm)
        assert math.frexp(step)[0] == 0.5
        assert step <= squared_norm / 2048 <= 2 * step
        assert error_of_factorisations(d, step, trace=LARGEST_CLIPPED_ROWS * squared_norm) < step / 2


def test_fit_adassp__origin_moves_what_is_predicted_from():
    drawn = private_adassp(*statistics(), request=request(), noise=BenchmarkNoise(1))
    origin = np.linspace(-0.3, 0.4, D)
    X = coded_rows(random_bits(D, 64, seed=1), n_haplotypes=64, rows="haplotypes")
    here, there = (fit_adassp(replace(drawn, origin=zero)) for zero in (None, origin))
    np.testing.assert_allclose(there.predict(X + origin), here.predict(X), rtol=0, atol=1e-12)


def test_private_smallest_eigenvalue__claims_the_step():
    _, event = private_smallest_eigenvalue(
        statistics()[0], request=adassp_request(request(unit="haplotype")), noise=BenchmarkNoise(1)
    )
    assert event.sensitivity.value == pytest.approx(D / 4 + eigenvalue_step(D, rows="haplotypes"), rel=1e-12)
    # Of clipped rows, whose squared norm no grid divides, once more.
    clipped = adassp_request(request(unit="haplotype", row_norm=1.3, **CLIPPED))
    _, event = private_smallest_eigenvalue(statistics()[0], request=clipped, noise=BenchmarkNoise(1))
    step = eigenvalue_step(D, rows="haplotypes", row_norm=1.3)
    assert event.sensitivity.value == pytest.approx(1.69 + 2 * step, rel=1e-12)


def test_private_smallest_eigenvalue__raise_on_too_many_variants(monkeypatch):
    terms = adassp_request(request(n_variants=LARGEST_VARIANTS + 1))
    with refused("too-many-columns-for-adassp", "got 4097", "4096", error=UsageError):
        private_smallest_eigenvalue(np.eye(2), request=terms, noise=BenchmarkNoise(1))
    monkeypatch.setattr(adassp, "LARGEST_VARIANTS", D)
    private_smallest_eigenvalue(statistics()[0], request=adassp_request(request()), noise=BenchmarkNoise(1))
