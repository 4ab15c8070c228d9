"""What the steps hand on: a right core with the wrong bound, budget, rows or n would still be wrong."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.io.trials import Outcomes, Statistics, load_labelled, save_labelled
from dpgrs.privacy.ledger_entries import Account
from dpgrs.privacy.study_key import VARIABLE, create_study_key
from dpgrs.regression.reusecov import NoisyStatistics, fit_reusecov
from dpgrs.regression.statistics import OUTCOME_STEP, coded_rows
from dpgrs.steps import statistics as statistics_step
from dpgrs.steps.fit import fit_weights
from dpgrs.steps.noise import add_noise, release_statistics
from dpgrs.steps.released import load_released
from ledger_requests import new_ledger
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
    outcomes = tmp_path / "outcomes.npz"
    return SimpleNamespace(
        path=path, outcomes=outcomes, X=X, Y={size: Y[:, is_training] for size, Y in values.items()}
    )


def release(statistics, tmp_path, *, trial=1, **changes):
    output = tmp_path / f"noisy{trial}.npz"
    add_noise(
        statistics.path,
        statistics.outcomes,
        output=output,
        events=tmp_path / "events.json",
        trial=trial,
        seed=1,
        **GRID | TERMS | changes,
    )
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
    options |= {"statistics": statistics.path, "output": tmp_path / "weights.npz"}
    fit_weights(tmp_path / "noisy1.npz", **options)
    fits = [arrays for label, arrays in load_labelled(tmp_path / "weights.npz") if label["reported"]]
    assert len(fits) == len(released)
    for (label, arrays), fit in zip(released, fits, strict=True):
        noisy = NoisyStatistics(arrays["gram"], arrays["cross"], label["n"], events=())
        np.testing.assert_array_equal(fit["weights"], fit_reusecov(noisy, penalty=0.3).weights)


# Releases

DATASET = {"accession": "phs000001", "consent": "c1", "dataset_version": "v1"}
ONE = {"protections": ["full"], "accountings": ["gdp"], "epsilons": [1.0], "sizes": [5], "counts": [3]}


@pytest.fixture
def released(statistics, tmp_path, monkeypatch):
    """A function that releases the statistics and returns the path, and the ledger."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "key" / "study.key"))
    create_study_key()
    account = Account("full", "haplotype", "add-remove")
    ledger = new_ledger(tmp_path, account=account, mu_squared="9")
    (tmp_path / "sites.tsv").write_text("sites")

    def make(name="noisy.npz", outcomes=statistics.outcomes, **changes):
        path = tmp_path / name
        identity = {"dataset": DATASET, "genotypes": {"seed": 1}, "outcomes": {"source": "file"}}
        options = {"sites": tmp_path / "sites.tsv", "ledger": ledger.path, "identity": identity}
        options |= {"output": path, "events": path.with_suffix(".json")}
        release_statistics(statistics.path, outcomes, **options, **ONE | TERMS | changes)
        return path

    return make, ledger


def test_release_statistics__loads_back_as_what_the_ledger_charged_for(released):
    make, ledger = released
    path, book = make(), ledger.read()
    label, noisy = load_released(path, book)
    (record,) = json.loads(path.with_suffix(".json").read_text())
    assert record == {"events": label["events"], "requests": label["requests"]}
    assert label["outcomes"] == ["a", "b", "c"]
    assert noisy.cross.shape == (3, 5)
    assert [len(part) for part, _ in label["requests"]] == [1, 4]
    assert set(book.outputs) == set(book.requests)


def test_release_statistics__separate_budgets_leave_other_outcomes_unchanged(released, statistics, tmp_path):
    make, ledger = released
    (_, two), (_, three) = (
        load_labelled(make(name, counts=[count], outcome_budget="separate"))[0]
        for name, count in [("two.npz", 2), ("three.npz", 3)]
    )
    np.testing.assert_array_equal(two["cross"], three["cross"][:2])
    np.testing.assert_array_equal(two["gram"], three["gram"])
    # Genotypes, two outcomes, and one more.
    assert len(ledger.read().requests) == 4


def test_release_statistics__joint_budget_keeps_the_gram_matrix_and_draws_the_rest_anew(released):
    make, ledger = released
    (_, two), (_, three) = (load_labelled(make(f"{count}.npz", counts=[count]))[0] for count in (2, 3))
    np.testing.assert_array_equal(two["gram"], three["gram"])
    assert (two["cross"] != three["cross"][:2]).mean() > 0.9
    assert len(ledger.read().requests) == 3


@pytest.mark.parametrize("name", ["gram", "cross"])
def test_load_released__raise_on_numbers_that_are_not_the_ledgers(released, tmp_path, name):
    make, ledger = released
    ((label, arrays),) = load_labelled(make())
    forged = arrays | {name: arrays[name] + 1.0}
    save_labelled(tmp_path / "forged.npz", [(label, forged)])
    with pytest.raises(DpgrsError, match="must be what the ledger charged for"):
        load_released(tmp_path / "forged.npz", ledger.read())


def test_load_released__raise_on_names_and_claims_that_are_not_the_ledgers(released, tmp_path):
    make, ledger = released
    ((label, arrays),) = load_labelled(make(outcome_budget="separate"))
    (genotypes, first, second, third), events = label["requests"], label["events"]
    swapped = [genotypes, [first[0], second[1]], [second[0], first[1]], third]
    louder = [*events[:-1], events[-1] | {"sigma": 2 * events[-1]["sigma"]}]
    forgeries = [
        {"outcomes": ["b", "a", "c"], "requests": [genotypes, second, first, third]},
        {"requests": swapped},
        {"events": louder},
    ]
    for forgery in forgeries:
        save_labelled(tmp_path / "forged.npz", [(label | forgery, arrays)])
        with pytest.raises(DpgrsError, match="must be what the ledger charged for"):
            load_released(tmp_path / "forged.npz", ledger.read())


def test_load_released__raise_on_a_benchmark(statistics, released, tmp_path):
    _, ledger = released
    release(statistics, tmp_path, **ONE)
    with pytest.raises(DpgrsError, match="must hold the statistics of one release, got a benchmark's"):
        load_released(tmp_path / "noisy1.npz", ledger.read())
