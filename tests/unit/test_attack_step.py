"""Who is attacked with what: roles, losses and labels, from files to the table."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import UsageError
from dpgrs.evaluation.attacks import advantage_bound
from dpgrs.genotypes.bits import pack
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Statistics, load_labelled, save_labelled
from dpgrs.linalg.coding import CROSS_STEP, GRAM_STEP
from dpgrs.linalg.linear_fit import centred_gram, ridge_weights
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.statistics import cross_product, gram
from dpgrs.steps import attack_replicate as attack_step
from dpgrs.steps.attack_replicate import ATTACKS
from outcome_files import write_outcomes
from refused import refused
from step_settings import settings_for

N_PEOPLE, N_VARIANTS, SIZES = 80, 6, {3: np.array([0, 2, 5]), 6: np.arange(6)}
TERMS = {"protection": "full", "neighbours": "add-remove", "accounting": "gdp", "epsilon": 1.0, "delta": 1e-6}
TERMS |= {"coding": "half"}
MUS = {"count": 0.3, "gram": 0.4, "cross product": 1.2}
NOTHING = {"protection": "none", "neighbours": None, "unit": None, "accounting": None, "epsilon": None}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write what the earlier steps of a replicate leave; the attack must find people by their names."""
    return write_replicate(tmp_path, monkeypatch)


def write_replicate(folder, monkeypatch, *, rows="haplotypes", unit="haplotype", order=None, n_test=40):
    order = np.arange(N_PEOPLE) if order is None else order
    haplotypes = (2 * order[:, np.newaxis] + [0, 1]).ravel()
    row_order = haplotypes if rows == "haplotypes" else order
    n_rows = len(row_order)
    random = np.random.default_rng(4)
    alleles = random.integers(0, 2, (N_VARIANTS, 2 * N_PEOPLE)).astype(bool)[:, haplotypes]
    values = {size: random.standard_normal((2, n_rows))[:, row_order] for size in SIZES}
    is_training = np.repeat(np.arange(N_PEOPLE) >= n_test, n_rows // N_PEOPLE)[row_order]
    bits = pack(alleles)
    variant_set = SimpleNamespace(
        sample_id=np.array([f"person{i}" for i in order]),
        of_size=SIZES.__getitem__,
        genotypes=lambda columns: bits[columns],
        n_haplotypes=2 * N_PEOPLE,
    )
    monkeypatch.setattr(attack_step, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
    paths = {
        name: folder / f"{name}.npz" for name in ("variant_set", "outcomes", "statistics", "noisy", "weights")
    }
    write_outcomes(paths["outcomes"], Outcomes(("a", "b"), values, {}, is_training, rows))
    known = {"n_haplotypes": 2 * N_PEOPLE, "rows": rows, "is_selected": is_training}
    statistics = Statistics(
        gram=gram(bits, **known),
        cross={s: cross_product(bits[SIZES[s]], grid_outcomes(values[s], bound=3.0), **known) for s in SIZES},
        n_rows=int(is_training.sum()),
        n_observed=np.full(2, is_training.sum()),
        columns=SIZES,
        rows=rows,
        outcome_bound=3.0,
    )
    statistics.save(paths["statistics"])
    events = [{"statistic": name, "mu": mu, "sigma": 5.0, "source": "benchmark"} for name, mu in MUS.items()]
    noisy, weights = [], []
    for size in SIZES:
        G, V = statistics.gram_of_size(size) * GRAM_STEP, statistics.cross[size][:, :-1] * CROSS_STEP
        request = TERMS | {"unit": unit, "rows": rows, "n_variants": size, "n_outcomes": 2}
        named = {"request": request, "n_outcomes": 2, "n": 77, "events": events}
        noisy.append((named, {"gram": G, "cross": V}))
        G_c, means = centred_gram(G, statistics.n_rows)
        fit = {
            "weights": ridge_weights(G_c, V, statistics.n_rows, penalty=0.2),
            "means": means,
            "intercept": np.zeros(2),
        }
        label = {"n_variants": size, "n_outcomes": 2, "reported": True}
        weights.append((label | NOTHING | {"delta": None, "method": "ols"}, fit))
        weights.append((label | NOTHING | {"delta": None, "method": "ridge", "reported": False}, fit))
        weights += [
            (label | TERMS | {"unit": unit, "method": method}, fit)
            for method in ("reusecov-gauss", "blup", "naive")
        ]
    save_labelled(paths["noisy"], noisy)
    save_labelled(paths["weights"], weights)
    return paths


def attack(files, *, counts=(2,), replicate=1):
    output = files["variant_set"].with_name("attacks.tsv")
    settings = settings_for("attack-replicate", outcomes={"count": list(counts)}, regression={"lambda": 0.2})
    attack_step.attack_replicate(settings, **files, output=output, replicate=replicate)
    return pd.read_csv(
        output, sep="\t", keep_default_na=False, na_values={"epsilon": [""], "auc_bound": [""]}
    )


def test_attack_replicate__attacks_all_that_is_published(files):
    table = attack(files, counts=[1, 2], replicate=3)
    assert list(table) == ATTACKS
    assert set(table["replicate"]) == {3}
    cells = table.groupby(["attack", "method", "protection"]).size().to_dict()
    # Two variant sets, two targets; without privacy also two numbers of outcomes.
    exact, noisy = 2 * 2 * 2, 2 * 2
    assert cells == {
        ("gram", "", "none"): exact,
        ("gram", "", "full"): noisy,
        ("statistics", "", "none"): exact,
        ("statistics", "", "full"): noisy,
        ("weights", "ols", "none"): exact,
        ("weights", "reusecov-gauss", "full"): noisy,
        ("weights", "blup", "full"): noisy,
    }
    people = table[table["target"] == "person"]
    assert set(people["n_members"]) == set(people["n_others"]) == {40}
    # One fold of those held out, two haplotypes each.
    assert set(table["n_reference"]) == {40}
    numbers = table[["advantage", "advantage_low", "advantage_high", "tpr", "auc"]].to_numpy(dtype=float)
    assert np.isfinite(numbers).all()


@pytest.mark.parametrize(
    ("rows", "unit", "row_share", "targets"),
    [
        ("haplotypes", "haplotype", 1, {"haplotype": 1, "person": 2}),
        ("haplotypes", "person", 1 / 2, {"haplotype": 1, "person": 2}),
        ("people", "person", 1, {"person": 1}),
    ],
)
def test_attack_replicate__bound_is_that_of_the_target(tmp_path, monkeypatch, rows, unit, row_share, targets):
    table = attack(write_replicate(tmp_path, monkeypatch, rows=rows, unit=unit))
    mu = np.sqrt(sum(mu**2 for mu in MUS.values())) * row_share
    private = table[table["protection"] == "full"]
    for target, n_rows in targets.items():
        bounds = private.loc[private["target"] == target, "advantage_bound"].astype(float)
        np.testing.assert_allclose(bounds, advantage_bound(mu * n_rows), rtol=1e-10)
    assert set(table["target"]) == set(targets)
    assert set(table.loc[table["protection"] == "none", "advantage_bound"]) == {""}


def test_attack_replicate__order_of_people_changes_nothing(tmp_path, monkeypatch):
    first = attack(write_replicate(tmp_path, monkeypatch))
    shuffled = np.random.default_rng(2).permutation(N_PEOPLE)
    again = attack(write_replicate(tmp_path, monkeypatch, order=shuffled))
    pd.testing.assert_frame_equal(again, first, rtol=1e-9)


def test_attack_replicate__takes_so_many_of_either_side_by_their_names(tmp_path, monkeypatch):
    monkeypatch.setattr(attack_step, "MOST_PEOPLE", 12)
    first = attack(write_replicate(tmp_path, monkeypatch, n_test=20))
    assert set(first.loc[first["target"] == "person", "n_members"]) == {12}
    assert set(first.loc[first["target"] == "person", "n_others"]) == {12}
    # Half of those taken, two haplotypes each.
    assert set(first["n_reference"]) == {12}
    shuffled = np.random.default_rng(2).permutation(N_PEOPLE)
    again = attack(write_replicate(tmp_path, monkeypatch, n_test=20, order=shuffled))
    pd.testing.assert_frame_equal(again, first, rtol=1e-9)


def test_attack_replicate__too_few_held_out_leave_the_table_empty(tmp_path, monkeypatch):
    table = attack(write_replicate(tmp_path, monkeypatch, n_test=7))
    assert list(table) == ATTACKS
    assert table.empty


def test_attack_replicate__raise_on_the_noise_of_a_release(files):
    noisy = load_labelled(files["noisy"])
    noisy[0][0]["events"][1]["source"] = "release"
    save_labelled(files["noisy"], noisy)
    with refused("attack-on-release", error=UsageError):
        attack(files)
    assert not files["variant_set"].with_name("attacks.tsv").exists()
