"""What the steps hand on: a right core with the wrong bound, budget, rows or n would still be wrong."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.io.trials import Outcomes, Statistics, load_labelled
from dpgrs.regression.reusecov import NoisyStatistics, fit_reusecov
from dpgrs.regression.statistics import OUTCOME_STEP, coded_rows
from dpgrs.steps import statistics as statistics_step
from dpgrs.steps.fit import fit_weights
from dpgrs.steps.noise import add_noise
from random_cohorts import random_bits

N_VARIANTS, N_HAPLOTYPES, SIZES = 5, 200, {2: np.array([1, 4]), 5: np.arange(5)}
TERMS = {
    "neighbours": "add-remove",
    "unit": "haplotype",
    "delta": 1e-5,
    "gram_share": 0.3,
    "count_share": 0.1,
}
GRID = {"protections": ["full"], "accountings": ["gdp", "paper"], "epsilons": [1.0, 3.0]}
GRID |= {"sizes": [2, 5], "counts": [1, 3]}


@pytest.fixture
def statistics(tmp_path, monkeypatch):
    """Statistics of half of the rows, written by the step; outcomes beyond the bound, some missing."""
    rng = np.random.default_rng(7)
    bits = random_bits(N_VARIANTS, N_HAPLOTYPES)
    panel = SimpleNamespace(
        haplotypes=lambda: bits, of_size=SIZES.__getitem__, n_haplotypes=N_HAPLOTYPES, n_variants=N_VARIANTS
    )
    monkeypatch.setattr(statistics_step, "Panel", SimpleNamespace(open=lambda path: panel))
    values = {size: 2 * rng.standard_normal((3, N_HAPLOTYPES)) for size in SIZES}
    for Y in values.values():
        Y[2, ::3] = np.nan
    is_training = np.repeat(rng.random(N_HAPLOTYPES // 2) < 0.5, 2)
    Outcomes(("a", "b", "c"), values, {}, is_training, "haplotypes").save(tmp_path / "outcomes.npz")
    path = tmp_path / "statistics.npz"
    statistics_step.compute_statistics("panel", tmp_path / "outcomes.npz", output=path, outcome_bound=1.5)
    X = coded_rows(bits, n_haplotypes=N_HAPLOTYPES, rows="haplotypes", is_selected=is_training)
    return SimpleNamespace(path=path, X=X, Y={size: Y[:, is_training] for size, Y in values.items()})


def release(statistics, tmp_path, *, trial=1, **changes):
    output = tmp_path / f"noisy{trial}.npz"
    add_noise(statistics.path, output=output, trial=trial, seed=1, **GRID | TERMS | changes)
    return load_labelled(output)


def test_compute_statistics__training_rows_clipped_at_the_bound(statistics):
    saved = Statistics.load(statistics.path)
    n = len(statistics.X)
    assert (saved.n_rows, saved.outcome_bound, saved.rows) == (n, 1.5, "haplotypes")
    X = np.column_stack([statistics.X, np.full(n, 0.5)])
    np.testing.assert_array_equal(saved.gram / 4, X.T @ X)
    for size, Y in statistics.Y.items():
        clipped = np.nan_to_num(np.clip(Y, -1.5, 1.5))
        chosen = X[:, [*SIZES[size], -1]]
        np.testing.assert_allclose(
            saved.cross[size] * OUTCOME_STEP / 2, clipped @ chosen, atol=n * OUTCOME_STEP
        )
    np.testing.assert_array_equal(saved.n_observed, np.isfinite(statistics.Y[2]).sum(axis=1))


def test_add_noise__releases_what_was_requested(statistics, tmp_path):
    released = release(statistics, tmp_path)
    requests = [label["request"] for label, _ in released]
    cells = {(r["accounting"], r["epsilon"], r["n_variants"], r["n_outcomes"]) for r in requests}
    assert len(released) == len(cells) == 16
    expected = TERMS | {"rows": "haplotypes", "outcome_bound": 1.5, "protection": "full"}
    assert all({name: request[name] for name in expected} == expected for request in requests)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_add_noise__n_is_noisy_exactly_where_it_is_private(statistics, tmp_path, neighbours):
    released = release(statistics, tmp_path, neighbours=neighbours)
    n = [label["n"] for label, _ in released]
    assert [len(label["events"]) for label, _ in released] == [3 if neighbours == "add-remove" else 2] * 16
    assert (set(n) == {len(statistics.X)}) == (neighbours == "replace-one")
    # The diagonal of the Gram matrix is n/4 and must not tell the exact n.
    assert all((4 * np.diag(arrays["gram"]) == label["n"]).all() for label, arrays in released)


def test_add_noise__every_request_and_trial_has_noise_of_its_own(statistics, tmp_path):
    exact = Statistics.load(statistics.path)
    draws = []
    for trial in (1, 2):
        for label, arrays in release(statistics, tmp_path, trial=trial):
            upper = np.triu_indices(label["request"]["n_variants"] + 1, k=1)
            noise = arrays["gram"][upper] - exact.gram_of_size(label["request"]["n_variants"])[upper] / 4
            draws.append(tuple(np.round(noise[:5] / label["events"][1]["sigma"], 6)))
    assert len(set(draws)) == len(draws) == 32


def test_fit_weights__private_fits_see_released_numbers_alone(statistics, tmp_path):
    released = release(statistics, tmp_path)
    options = {"methods": ["reusecov-gauss"], "penalty": 0.3, "seconds": tmp_path / "seconds.tsv"}
    fit_weights(statistics.path, tmp_path / "noisy1.npz", output=tmp_path / "weights.npz", **options)
    fits = [arrays for label, arrays in load_labelled(tmp_path / "weights.npz") if label["reported"]]
    assert len(fits) == len(released)
    for (label, arrays), fit in zip(released, fits, strict=True):
        noisy = NoisyStatistics(arrays["gram"], arrays["cross"], label["n"], events=())
        np.testing.assert_array_equal(fit["weights"], fit_reusecov(noisy, penalty=0.3).weights)
