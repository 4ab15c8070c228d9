"""What the steps hand on: a right core with the wrong bound, budget, rows or n would still be wrong."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Statistics, load_labelled, save_labelled
from dpgrs.linalg.coding import CLIPPED_GRAM_STEP, OUTCOME_STEP
from dpgrs.linalg.ld_estimation import public_ld
from dpgrs.linalg.outcome_grid import clipped_outcomes
from dpgrs.linalg.statistics import coded_rows
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.methods.reusecov import NoisyStatistics, fit_reusecov
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.noise.study_key import VARIABLE
from dpgrs.steps import compute_statistics as statistics_step
from dpgrs.steps.draw import draw
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.study.public_files import save_ld
from dpgrs.study.released import load_released
from dpgrs.study.settings import resolve
from draws import SHARED, draw_seeded, fit_as_released, sections_of
from ledger_requests import create_fixed_key, new_ledger
from random_cohorts import random_bits
from refused import refused
from step_settings import settings_for
from variant_sets import variants_in_memory

FROM_STATISTICS = methods_that("is_post_processing")

N_VARIANTS, N_HAPLOTYPES, SIZES = 5, 200, {2: np.array([1, 4]), 5: np.arange(5)}
TERMS = {"neighbours": "add-remove", "unit": "haplotype", "delta": 1e-5}
TERMS |= {"gram_share": 0.3, "count_share": 0.1}
FREQUENCY = np.array([0.1, 0.5, 0.3, 0.45, 0.2])
GRID = {"protections": ["full"], "accountings": ["gdp", "paper"], "epsilons": [1.0, 3.0]}
GRID |= {"sizes": [2, 5], "counts": [1, 3]}


@pytest.fixture
def statistics(tmp_path, monkeypatch):
    """Statistics of half of the rows, written by the step; outcomes beyond the bound, some missing."""
    rng = np.random.default_rng(7)
    bits = random_bits(N_VARIANTS, N_HAPLOTYPES)
    known = {"of_size": SIZES.__getitem__, "frequency": FREQUENCY}
    variant_set = variants_in_memory(bits, n_haplotypes=N_HAPLOTYPES, **known)
    monkeypatch.setattr(statistics_step, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
    values = {size: 2 * rng.standard_normal((3, N_HAPLOTYPES)) for size in SIZES}
    for Y in values.values():
        Y[2, ::3] = np.nan
    is_training = np.repeat(rng.random(N_HAPLOTYPES // 2) < 0.5, 2)
    Outcomes(("a", "b", "c"), values, {}, is_training, "haplotypes").save(tmp_path / "outcomes.zarr")
    path = tmp_path / "statistics.npz"
    settings = settings_for("compute-statistics", outcomes={"bound": 1.5, "count": 3})
    statistics_step.compute_statistics(settings, "variant_set", tmp_path / "outcomes.zarr", output=path)
    X = coded_rows(bits, n_haplotypes=N_HAPLOTYPES, rows="haplotypes", is_selected=is_training)
    outcomes = tmp_path / "outcomes.zarr"
    return SimpleNamespace(
        path=path, outcomes=outcomes, X=X, Y={size: Y[:, is_training] for size, Y in values.items()}
    )


def release(statistics, tmp_path, *, replicate=1, **changes):
    output, files = tmp_path / f"noisy{replicate}.npz", {"statistics": statistics.path}
    terms = GRID | TERMS | {"outcome_bound": 1.5} | changes
    return draw_seeded(statistics.outcomes, output, files=files, replicate=replicate, **terms)


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


def test_draw__releases_what_was_requested(statistics, tmp_path):
    released = release(statistics, tmp_path)
    requests = [label["request"] for label, _ in released]
    cells = {(r["accounting"], r["epsilon"], r["n_variants"], r["n_outcomes"]) for r in requests}
    assert len(released) == len(cells) == 16
    expected = TERMS | {"rows": "haplotypes", "outcome_bound": 1.5, "protection": "full"}
    assert all({name: request[name] for name in expected} == expected for request in requests)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_draw__n_is_noisy_exactly_where_it_is_private(statistics, tmp_path, neighbours):
    released = release(statistics, tmp_path, neighbours=neighbours)
    n = [label["n"] for label, _ in released]
    assert [len(label["events"]) for label, _ in released] == [3 if neighbours == "add-remove" else 2] * 16
    assert (set(n) == {len(statistics.X)}) == (neighbours == "replace-one")
    # The diagonal of the Gram matrix is n/4 and must not tell the exact n.
    assert all((4 * np.diag(arrays["gram"]) == label["n"]).all() for label, arrays in released)


def test_draw__every_request_replicate_and_seed_has_noise_of_its_own(statistics, tmp_path):
    exact = Statistics.load(statistics.path)
    draws = []
    for key in ({"replicate": 1}, {"replicate": 2}, {"replicate": 1, "seed": 2}):
        for label, arrays in release(statistics, tmp_path, **key):
            upper = np.triu_indices(label["request"]["n_variants"] + 1, k=1)
            noise = arrays["gram"][upper] - exact.gram_of_size(label["request"]["n_variants"])[upper] / 4
            draws.append(tuple(np.round(noise[:5] / label["events"][1]["sigma"], 6)))
    assert len(set(draws)) == len(draws) == 48


def test_fit_weights__private_fits_see_released_numbers_alone(statistics, tmp_path):
    released = release(statistics, tmp_path)
    found = fitted(tmp_path, ["reusecov-gauss"], penalty=0.3, statistics=statistics.path)
    fits = [arrays for label, arrays in found if label["reported"]]
    assert len(fits) == len(released)
    for (label, arrays), fit in zip(released, fits, strict=True):
        noisy = NoisyStatistics(arrays["gram"], arrays["cross"], label["n"], slopes=arrays["slopes"])
        np.testing.assert_array_equal(fit["weights"], fit_reusecov(noisy, penalty=0.3).weights)


# Releases

DATASET = {"accession": "phs000001", "consent": "c1", "version": "v1"}
ONE = {"protections": ["full"], "accountings": ["gdp"], "epsilons": [1.0], "sizes": [5], "counts": [3]}


@pytest.fixture
def released(statistics, tmp_path, monkeypatch):
    """A function that releases the statistics and returns the path, and the ledger."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "key" / "study.key"))
    monkeypatch.chdir(tmp_path)  # Snakemake's records are looked for here
    create_fixed_key()
    account = Account("full", "haplotype", "add-remove")
    ledger = new_ledger(tmp_path, account=account, mu_squared="9")
    (tmp_path / "sites.tsv").write_text("sites")

    def make(name="noisy.npz", outcomes=statistics.outcomes, **changes):
        path = tmp_path / name
        terms = sections_of(**ONE | TERMS | {"outcome_bound": 1.5, "ledger": str(ledger.path)} | changes)
        settings = settings_for("draw", mode="release", dataset=DATASET, **terms)
        options = {"sites": tmp_path / "sites.tsv", "output": path, "events": path.with_suffix(".json")}
        draw(settings, outcomes, mechanism=SHARED, statistics=statistics.path, **options)
        return path

    return make, ledger


def test_draw__loads_back_as_what_the_ledger_charged_for(released):
    make, ledger = released
    path, book = make(), ledger.read()
    label, noisy = load_released(path, book)
    (record,) = json.loads(path.with_suffix(".json").read_text())
    assert record == {"events": label["events"], "requests": label["requests"]}
    assert label["outcomes"] == ["a", "b", "c"]
    assert noisy.cross.shape == (3, 5)
    assert [len(part) for part, _ in label["requests"]] == [1, 4]
    assert set(book.outputs) == set(book.requests)


def test_draw__refuses_before_any_charge(released):
    make, ledger = released
    before = ledger.path.read_bytes()
    with refused("several-requests", "got 2", error=UsageError):
        make(epsilons=[1.0, 2.0])
    assert ledger.path.read_bytes() == before


def test_draw__separate_budgets_leave_other_outcomes_unchanged(released, statistics, tmp_path):
    make, ledger = released
    (_, two), (_, three) = (
        load_labelled(make(name, counts=[count], outcome_budget="separate"))[0]
        for name, count in [("two.npz", 2), ("three.npz", 3)]
    )
    np.testing.assert_array_equal(two["cross"], three["cross"][:2])
    np.testing.assert_array_equal(two["gram"], three["gram"])
    # Genotypes, two outcomes, and one more.
    assert len(ledger.read().requests) == 4


def test_draw__joint_budget_keeps_the_gram_matrix_and_draws_the_rest_anew(released):
    make, ledger = released
    (_, two), (_, three) = (load_labelled(make(f"{count}.npz", counts=[count]))[0] for count in (2, 3))
    np.testing.assert_array_equal(two["gram"], three["gram"])
    assert (two["cross"] != three["cross"][:2]).mean() > 0.9
    assert len(ledger.read().requests) == 3


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
        with refused("statistics-not-charged"):
            load_released(tmp_path / "forged.npz", ledger.read())


def test_load_released__raise_on_a_benchmark(statistics, released, tmp_path):
    _, ledger = released
    release(statistics, tmp_path, **ONE)
    with refused("statistics-of-benchmark"):
        load_released(tmp_path / "noisy1.npz", ledger.read())


RELAXED = {"protections": ["full", "feature", "label"], "accountings": ["gdp"], "epsilons": [3.0]}


def test_draw__every_protection_has_its_own_relation_and_bound(statistics, tmp_path):
    released = {
        (label["request"]["protection"], label["n_outcomes"], label["request"]["n_variants"]): (label, arrays)
        for label, arrays in release(statistics, tmp_path, **RELAXED)
    }
    assert len(released) == 12
    for (protection, count, size), (label, arrays) in released.items():
        request = label["request"]
        assert request["neighbours"] == ("add-remove" if protection == "full" else "replace-one")
        drawn = [event["statistic"] for event in label["events"]]
        wanted = {"full": ["count", "gram"], "feature": ["gram"], "label": []}[protection]
        assert drawn == [*wanted, "cross product"]
        if protection == "feature":
            clipped = np.nan_to_num(np.clip(statistics.Y[size][:count], -1.5, 1.5))
            largest = np.sqrt((clipped**2).sum(axis=0)).max()
            assert request["outcome_norm"] == pytest.approx(largest, abs=1e-3)
        if protection == "label":
            exact = Statistics.load(statistics.path)
            np.testing.assert_array_equal(arrays["gram"], exact.gram_of_size(size) / 4)


def fitted(tmp_path, methods, *, penalty=0.1, **files):
    settings = settings_for("fit-weights", methods=methods, regression={"lambda": penalty})
    files |= {"seconds": tmp_path / "seconds.tsv", "output": tmp_path / "weights.npz"}
    fit_weights(settings, [tmp_path / "noisy1.npz"], **files)
    return load_labelled(tmp_path / "weights.npz")


def measured_ld(statistics, path):
    """Write linkage disequilibrium of every second row, as of a public panel, and return the path."""
    found = {}
    for size, columns in SIZES.items():
        rows = statistics.X[::2, columns]
        places = {"contig": np.full(size, "1"), "position": np.arange(size)}
        found[size] = public_ld(rows - rows.mean(axis=0), **places, rows_per_person=1), "0" * 64
    save_ld(path, found)
    return path


def test_fit_weights__every_method_under_the_protections_that_it_has(statistics, tmp_path):
    release(statistics, tmp_path, **RELAXED)
    public = {"outcomes": statistics.outcomes, "ld": measured_ld(statistics, tmp_path / "ld.npz")}
    fits = fitted(tmp_path, list(FROM_STATISTICS), **public)
    cells = {(label["method"], label["protection"]) for label, _ in fits}
    assert cells == {
        (method, str(side)) for method in FROM_STATISTICS for side in METHODS[method].protections
    }
    assert len(fits) == 4 * len(cells)
    for label, arrays in fits:
        assert arrays["weights"].shape == (label["n_outcomes"], label["n_variants"])
        has_errors = (label["method"], label["protection"]) == ("blup", "label")
        assert ("standard_errors" in arrays) == has_errors


def compute_tight(statistics, tmp_path, *, counts=(1, 3), **privacy):
    outcomes, privacy = {"bound": 1.5, "count": counts}, {"bounds": "tight"} | privacy
    output = tmp_path / "tight.npz"
    settings = settings_for("compute-statistics", outcomes=outcomes, privacy=privacy)
    statistics_step.compute_statistics(settings, "variant_set", statistics.outcomes, output=output)
    return replace_path(statistics, output)


def replace_path(statistics, path):
    return SimpleNamespace(**vars(statistics) | {"path": path})


def test_compute_statistics__tight_bounds_clip_rows_at_public_norms(statistics, tmp_path):
    saved = Statistics.load(compute_tight(statistics, tmp_path).path)
    assert set(saved.clipped) == {(2, 1), (2, 3), (5, 1), (5, 3)}
    for (size, count), part in saved.clipped.items():
        frequency = FREQUENCY[SIZES[size]]
        expected = np.sqrt(np.sum(frequency * (1 - frequency)))
        assert 0 <= expected - part.row_norm < CLIPPED_GRAM_STEP**0.5
        assert part.outcome_norm == pytest.approx((1 + 0.5 / count) * np.sqrt(count))
        X = statistics.X[:, SIZES[size]] + 0.5 - frequency
        X *= np.minimum(1, part.row_norm / np.linalg.norm(X, axis=1))[:, np.newaxis]
        G = np.column_stack([X, np.full(len(X), 0.5)])
        np.testing.assert_allclose(part.gram * CLIPPED_GRAM_STEP, G.T @ G, atol=len(X) * 2e-3)
        assert len(part.cross) == count
        np.testing.assert_allclose(saved.origin[size], frequency - 0.5, atol=2e-4)


def test_tight_bounds__reach_the_requests_and_the_fits(statistics, tmp_path):
    tight = compute_tight(statistics, tmp_path)
    released = release(tight, tmp_path, **RELAXED)
    saved = Statistics.load(tight.path)
    for label, arrays in released:
        request = label["request"]
        part = saved.clipped[request["n_variants"], label["n_outcomes"]]
        assert (request["coding"], request["row_norm"]) == ("frequency", part.row_norm)
        np.testing.assert_array_equal(arrays["origin"], saved.origin[request["n_variants"]])
    public = {"outcomes": statistics.outcomes, "ld": measured_ld(statistics, tmp_path / "ld.npz")}
    fits = fitted(tmp_path, list(FROM_STATISTICS), **public)
    assert all(np.isfinite(arrays["weights"]).all() for _, arrays in fits)
    # With hardly any noise and no clip the means are those of the training rows, told in half coding.
    loose = compute_tight(statistics, tmp_path, genotype_clip=50)
    release(loose, tmp_path, replicate=1, **RELAXED | {"epsilons": [5000.0], "protections": ["full"]})
    for label, arrays in fitted(tmp_path, ["reusecov-gauss"]):
        X = statistics.X[:, SIZES[label["n_variants"]]]
        np.testing.assert_allclose(arrays["means"], X.mean(axis=0), atol=0.1)


def test_tight_bounds__many_outcomes_are_clipped_together_or_each_by_itself(tmp_path):
    values = np.random.default_rng(5).standard_normal((12, 50))
    together, alone = (
        clipped_outcomes(values, bound=3.0, norm=norm, n_shared=n_shared) * OUTCOME_STEP
        for norm, n_shared in [(3.0, 12), (None, 1)]
    )
    assert np.linalg.norm(together, axis=0).max() <= 3.0
    np.testing.assert_allclose(alone, np.clip(values, -3, 3), atol=OUTCOME_STEP)


def test_draw__tight_bounds_are_in_the_identity_and_load_back(released, statistics, tmp_path):
    make, ledger = released
    tight = compute_tight(statistics, tmp_path, counts=[3])
    vars(statistics)["path"] = tight.path
    # With so little noise there is always something to fit.
    label, noisy = load_released(make(epsilons=[15.0]), ledger.read())
    np.testing.assert_array_equal(noisy.origin, Statistics.load(tight.path).origin[5])
    for request in ledger.read().requests.values():
        assert request.identity["coding"] == "frequency"
        assert request.identity["row_norm"] == exact_text(label["request"]["row_norm"])
    fit = fit_as_released(label, noisy, resolve({"methods": ["blup"], "regression": {"heritability": 0.4}}))
    assert fit.standard_errors.shape == fit.weights.shape == (3, 5)
