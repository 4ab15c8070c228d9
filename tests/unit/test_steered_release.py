"""Steered X'Y of a study: the rows that are summed, and releases whose data change."""

import json

import numpy as np
import pytest

from audit_data import make_finding
from dpgrs.genotypes.bits import pack
from dpgrs.io.replicates import load_labelled, save_labelled
from dpgrs.linalg import steering
from dpgrs.linalg.clipped_statistics import frequency_rows, half_coded
from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.steering import Steering, steered_rows
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.privacy.accounting.exact_numbers import exact_values
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.steps import draw as draw_step
from dpgrs.study import training_data
from dpgrs.study.draws import draws_of
from dpgrs.study.released import load_released
from dpgrs.study.training_data import TrainingData
from dpgrs.verify.bundle import verify_release
from forged_releases import edit_statement, finding_of
from outcome_files import changed_outcomes
from refused import refused
from step_settings import settings_for
from step_studies import N_PEOPLE, N_VARIANTS, Study

METHODS = ["blup-steered", "blup-ld"]


@pytest.fixture
def study(tmp_path, monkeypatch):
    (tmp_path / "private").mkdir(mode=0o700)
    return Study(tmp_path / "private", monkeypatch)


def change_outcomes(study, change):
    """Change outcomes in the file: a callable takes their values and who is trained on."""
    with changed_outcomes(study.root / "outcomes.zarr") as outcomes:
        change(outcomes.values[N_VARIANTS], outcomes.is_training)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bounds", ["tight", "worst-case"])
@pytest.mark.parametrize("outcome_budget", ["joint", "separate"])
def test_exact__sums_rows_within_their_bounds_by_brute_force(study, method, bounds, outcome_budget):
    def change(values, is_training):
        values *= 4  # beyond the bound of 3, and the norm
        values[1, ::5] = np.nan
        is_training[::7] = False

    change_outcomes(study, change)
    config = study.settings(method, bounds=bounds, outcome_budget=outcome_budget, missing="counted")
    files = {"statistics": study.sum_up(config), "variant_set": "variant_set", "ld": study.root / "ld.npz"}
    data = TrainingData(study.root / "outcomes.zarr", **files)
    mechanism = mechanism_of(method)
    (one,) = draws_of(settings_for("draw", config), mechanism, [None], data)
    request, outcomes = mechanism.terms(one.request), data.outcomes
    exact = mechanism.exact(one.request, data=data, names=one.names, settings=one.settings)
    assert exact["digest"] == data.rows(N_VARIANTS).genotype_digest
    assert (exact["gram"] is None) == (method == "blup-ld")
    assert exact.get("ld") is (data.ld(N_VARIANTS) if method == "blup-ld" else None)
    rng = np.random.default_rng(1)
    turned = Steering(
        np.rint(rng.standard_normal((3, N_VARIANTS)) * 2**24) / 2**24, np.arange(3), np.zeros(4)
    )
    found = exact["rows"].sums(turned)
    bits, options = data.rows(N_VARIANTS).genotypes, {"n_haplotypes": 2 * N_PEOPLE, "rows": "people"}
    if bounds == "tight":
        row_norm = one.request.row_norm
        X = frequency_rows(bits, data.frequency(N_VARIANTS), row_norm=row_norm, **options)
    else:
        row_norm = np.sqrt(N_VARIANTS)
        X = half_coded(bits, **options).T
    assert request.row_bound == pytest.approx(row_norm)
    Z = steered_rows(X, turned, row_norm=row_norm * (1 - 1e-12))
    groups = [[0, 1, 2]] if outcome_budget == "joint" else [[0], [1], [2]]
    wanted = np.zeros((3, N_VARIANTS + 1), dtype=np.int64)
    values = outcomes.values[N_VARIANTS]
    for row in np.flatnonzero(outcomes.is_training):
        for group in groups:
            y = np.trunc(np.clip(np.nan_to_num(values[group, row]), -3, 3) / OUTCOME_STEP)
            length = np.linalg.norm(y) * OUTCOME_STEP
            if one.request.outcome_norm is not None and length > one.request.outcome_norm:
                y = np.trunc(y * (one.request.outcome_norm / length) * (1 - 2.0**-48))
            wanted[group, :3] += np.outer(y, Z[row]).astype(np.int64)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("what", ["genotype", "outcome", "known", "rows"])
def test_release__of_changed_data_is_refused_before_any_draw(study, method, what, monkeypatch):
    def hide(values, is_training):
        values[1, ::3] = np.nan
        is_training[-1] = False

    def change(values, is_training):
        if what == "outcome":
            values[0, 5] += 0.5
        if what == "known":
            values[1, 3] = 0.0  # it was missing, which is 0 in X'Y too
        if what == "rows":
            is_training[-1] = True
            values[:, -1] = 0.0

    change_outcomes(study, hide)
    config = study.settings(method, missing="counted")
    study.release(config)
    before = Ledger(study.ledger(config).path).path.read_bytes()
    change_outcomes(study, change)
    if what == "genotype":
        variant_set = training_data.VariantSet.open("variant_set")
        bits = variant_set.haplotypes().copy()
        bits[0] ^= pack(np.arange(2 * N_PEOPLE)[np.newaxis] == 4)[0]
        monkeypatch.setattr(variant_set, "haplotypes", lambda *selected: bits)
        monkeypatch.setattr(variant_set, "genotypes", lambda *selected: bits)
    with refused("data-changed-under-version"):
        study.release(config)
    assert study.ledger(config).path.read_bytes() == before


@pytest.mark.parametrize("method", METHODS)
def test_release__of_another_genotype_budget_is_another_request(study, method):
    """Equal budgets of X'Y do not make equal draws: it hangs on the numbers that were drawn before."""
    mechanism = mechanism_of(method)
    shares = ({"count_share": 0.01, "gram_share": 0.2}, {"count_share": 0.1, "gram_share": 0.12})
    configs = [study.settings(method, **one) for one in shares]
    files = {
        "statistics": study.sum_up(configs[0]),
        "variant_set": "variant_set",
        "ld": study.root / "ld.npz",
    }
    data = TrainingData(study.root / "outcomes.zarr", **files)
    settings = [settings_for("draw", config) for config in configs]
    draws = [next(draws_of(one, mechanism, [None], data)) for one in settings]
    first, second = (mechanism.drawn_before(one.request) for one in draws)
    assert first != second
    for one, before in zip(draws, (first, second), strict=True):
        budget = mechanism.terms(one.request).budget
        assert before == {"steered_by": {"count": budget["count"], "gram": budget["gram"]}}
    for config in configs:
        study.release(config)
    known = Ledger(study.ledger(configs[0]).path).read().requests.values()
    stated = [one.identity["steered_by"] for one in known if one.identity["part"][0] == "outcomes"]
    assert stated == [exact_values(one["steered_by"]) for one in (first, second)]


@pytest.mark.parametrize("method", METHODS)
def test_release__is_noted_in_the_ledger_before_it_is_stored(study, method, monkeypatch):
    """Of a run that is killed before it stores, a machine with other directions gives no second output."""
    config = study.settings(method, bounds="tight")
    stored = study.root / "noisy.npz"

    def killed(path, items):
        book = Ledger(study.ledger(config).path).read()
        assert book.requests.keys() == book.outputs.keys()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(draw_step, "save_labelled", killed)
        with pytest.raises(KeyboardInterrupt):
            study.release(config)
    assert not stored.exists()
    with monkeypatch.context() as patched:
        patched.setattr(steering, "HERITABILITY", 0.3)
        with refused("replay-differs"):
            study.release(config)
    assert not stored.exists()
    assert study.release(config).exists()


def test_write_release__raise_without_an_audit_of_turned_rows(study):
    config = study.settings("blup-steered", bounds="tight")
    noisy, path = study.release(config), study.root / "audit.json"
    config = config.changed(release={"audit_draws": 500})
    drawn = ["count", "gram", "cross product"]
    path.write_text(json.dumps([make_finding(name) for name in drawn]))
    with refused("audits-incomplete", "private_steered_statistics"):
        study.bundle(config, noisy, audit=path)
    path.write_text(json.dumps([make_finding(name) for name in [*drawn, "steered statistics"]]))
    study.bundle(config, noisy, audit=path)


def test_load_released__raise_on_another_public_number_of_rows(study):
    """It is drawn by no request, but weights hang on it."""
    config = study.settings("blup-ld", bounds="tight", neighbours="replace-one")
    path, book = study.release(config), Ledger(study.ledger(config).path).read()
    ((label, arrays),) = load_labelled(path)
    assert load_released(path, book)[0]["n"] == N_PEOPLE
    save_labelled(path, [(label | {"n": N_PEOPLE + 1}, arrays)])
    with refused("statistics-not-charged"):
        load_released(path, book)


@pytest.mark.parametrize("method", ["blup-steered", "blup-shared"])
def test_verify_release__finds_that_it_was_not_blup(study, method):
    """It draws the same numbers, but of other rows, or fits each outcome by itself."""
    config, folder = study.settings(method, bounds="tight"), study.root / "bundle"
    noisy = study.release(config)
    study.measure(config, noisy)
    study.bundle(config, noisy, is_measured=True)
    assert study.statement()["method"] == method
    assert verify_release(folder)["n_requests"] == 2
    edit_statement(folder, ["method"], "blup")
    assert "the post_processing must be what the method, its fit and" in finding_of(folder)
