"""The variant set of a table: what it holds, and the exact sums that are made of it."""

import numpy as np
import pytest

from dpgrs.genotypes.bits import pack
from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Statistics
from dpgrs.io.table_variants import column_steps, write_table_variants
from dpgrs.io.tables.real_tables import RealTable
from dpgrs.io.variant_set import VariantSet
from dpgrs.linalg.coding import GENOTYPE_STEP, GRAM_STEP, OUTCOME_STEP
from dpgrs.linalg.covariates import fractional_statistics
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.statistics import cross_product, gram
from dpgrs.steps.compute_statistics import compute_statistics
from random_cohorts import random_bits
from step_settings import settings_for

N_ROWS, NAMES = 40, ["a", "b", "c", "d"]
LOW, HIGH, CENTRE = (
    np.array([-3.0, 0, 0, -1e300]),
    np.array([3.0, 255, 1, 1e300]),
    np.array([0.0, 60, 0.5, 0]),
)


def random_table(seed=1):
    values = np.random.default_rng(seed).standard_normal((N_ROWS, 4)) * [2, 100, 0.5, 4e299] + [
        0,
        128,
        0.5,
        0,
    ]
    return RealTable("table.csv", np.arange(N_ROWS).astype(str), NAMES, values)


def variant_set_of(path, table, ranges=(LOW, HIGH, CENTRE), **options):
    write_table_variants(path, table, ranges, **{"size": len(table.names), "seed": 1} | options)
    return VariantSet.open(path)


def test_variant_set__entries_are_the_values_within_their_ranges(tmp_path):
    table = random_table()
    variant_set = variant_set_of(tmp_path / "variants.zarr", table)
    assert variant_set.is_table
    middle, half = (LOW + HIGH) / 2, HIGH / 2 - LOW / 2
    wanted = np.clip((table.values - middle) / half, -1, 1)
    entries = variant_set.genotypes().T * DOSAGE_STEP
    assert np.abs(entries - wanted).max() <= DOSAGE_STEP / 2
    assert np.abs(entries).max() == 1
    assert variant_set.variants["id"].tolist() == NAMES
    assert variant_set.sample_id.tolist() == table.row_id.tolist()
    assert np.allclose(variant_set.frequency, (CENTRE - LOW) / (HIGH - LOW))
    assert (
        variant_set.attributes["counts"]["n_clipped"]
        == ((table.values < LOW) | (table.values > HIGH)).sum()
        > 0
    )


def test_variant_set__smaller_ones_are_part_of_larger_ones_whatever_the_order_of_columns(tmp_path):
    table, order = random_table(), [2, 0, 3, 1]
    larger = variant_set_of(tmp_path / "larger", table, size=3)
    smaller = variant_set_of(tmp_path / "smaller", table, size=2)
    assert larger.variants["id"].iloc[larger.of_size(2)].tolist() == smaller.variants["id"].tolist()
    turned = table.of_columns([NAMES[j] for j in order])
    other = variant_set_of(
        tmp_path / "other", turned, tuple(bound[order] for bound in (LOW, HIGH, CENTRE)), size=2
    )
    assert set(other.variants["id"]) == set(smaller.variants["id"])


def test_steps__every_row_is_by_itself():
    values = random_table().values.T
    steps, _ = column_steps(values, low=LOW, high=HIGH)
    alone = [column_steps(values[:, [i]], low=LOW, high=HIGH)[0] for i in range(N_ROWS)]
    assert np.array_equal(np.hstack(alone), steps)


def test_statistics__are_the_exact_sums_of_entries_on_the_grid(tmp_path):
    table, rng = random_table(), np.random.default_rng(3)
    variant_set = variant_set_of(tmp_path / "variants.zarr", table, size=4)
    is_training = rng.random(N_ROWS) < 0.7
    Y = rng.standard_normal((2, N_ROWS))
    Outcomes(("y", "z"), {2: Y, 4: Y}, {}, is_training, "people").save(tmp_path / "outcomes.zarr")
    settings = settings_for(
        "compute-statistics", cohort={"source": "table"}, outcomes={"count": [2]}, variants={"size": [2, 4]}
    )
    compute_statistics(
        settings, variant_set.path, tmp_path / "outcomes.zarr", output=tmp_path / "statistics.npz"
    )
    found = Statistics.load(tmp_path / "statistics.npz")
    # Integers of Python, whose sums have no end.
    X = np.column_stack([variant_set.genotypes().T.astype(object), np.full(N_ROWS, 2**11)])[is_training]
    assert np.array_equal(found.gram, X.T @ X)
    units = grid_outcomes(Y, bound=3).astype(object)[:, is_training]
    assert np.array_equal(found.cross[4], units @ X)
    part = found.clipped[4, 2]
    centred = X[:, :-1] - np.rint((2 * variant_set.frequency - 1) / GENOTYPE_STEP).astype(int)
    lengths = np.sqrt((centred.astype(float) ** 2).sum(axis=1)) * GENOTYPE_STEP
    assert (lengths > part.row_norm).any()
    assert np.trace(part.gram[:-1, :-1]) * GENOTYPE_STEP**2 <= is_training.sum() * part.row_norm**2


def test_statistics__genotypes_as_a_table_give_those_of_people(tmp_path):
    bits = random_bits(5, 2 * N_ROWS)
    alleles = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, : 2 * N_ROWS]
    assert np.array_equal(pack(alleles), bits)
    dosages = (alleles[:, ::2] + alleles[:, 1::2]).T.astype(float)
    table = RealTable("t", np.arange(N_ROWS).astype(str), list("abcde"), dosages)
    ranges = np.zeros(5), np.full(5, 2.0), np.ones(5)
    variant_set = variant_set_of(tmp_path / "variants.zarr", table, ranges)
    Y = {5: grid_outcomes(np.random.default_rng(2).standard_normal((2, N_ROWS)), bound=3)}
    everybody = np.ones(N_ROWS, dtype=bool)
    options = {"Y": Y, "columns": {5: np.arange(5)}, "is_selected": everybody}
    sums, cross = fractional_statistics(variant_set.genotypes(), covariates=None, **options)
    people = {"n_haplotypes": 2 * N_ROWS, "rows": "people"}
    assert np.array_equal(sums * GENOTYPE_STEP**2, gram(bits, **people) * GRAM_STEP)
    wanted = cross_product(bits, Y[5], **people) / 2 * OUTCOME_STEP
    assert np.array_equal(cross[5] * GENOTYPE_STEP * OUTCOME_STEP, wanted)


@pytest.mark.parametrize("value", [-1e300, 1e300, 5e-324])
def test_steps__no_value_leaves_the_grid(value):
    steps, _ = column_steps(np.array([[value]]), low=np.array([-1e-3]), high=np.array([1e-3]))
    assert 0 <= steps[0, 0] <= 2 / DOSAGE_STEP
