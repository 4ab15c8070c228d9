"""A study in one process is that of its steps."""

import numpy as np
import pytest

from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import load_labelled
from dpgrs.io.table_variants import write_table_variants
from dpgrs.io.tables.real_tables import RealTable
from dpgrs.io.variant_set import VariantSet
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.steps.compute_statistics import compute_statistics
from dpgrs.steps.draw import draw
from dpgrs.study.in_process import draws_of_study, training_data
from dpgrs.study.settings import resolve
from step_settings import settings_for

N_ROWS, D, SEED, REPLICATE = 300, 4, 3, 2
RAW = {
    "seed": SEED,
    "cohort": {"source": "table"},
    "variants": {"size": [3, D]},
    "outcomes": {"count": [1, 2]},
    "screening": {"size": 2},
    "privacy": {"protection": ["full"], "accounting": ["gdp"], "epsilon": [2, 8]},
}


@pytest.fixture
def replicate(tmp_path):
    """VariantSet and outcomes of a made-up table, and their files."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, D))
    table = RealTable.numbered("made", list("abcd"), X)
    ranges = np.full(D, -4.0), np.full(D, 4.0), np.zeros(D)
    write_table_variants(tmp_path / "variants.zarr", table, ranges, size=D, seed=SEED)
    variant_set = VariantSet.open(tmp_path / "variants.zarr")
    Y = X[:, :2].T + rng.standard_normal((2, N_ROWS))
    is_training = np.arange(N_ROWS) % 5 > 0
    outcomes = Outcomes(("y1", "y2"), {3: Y, D: Y}, {}, is_training, "people")
    outcomes.save(tmp_path / "outcomes.zarr")
    return variant_set, outcomes


@pytest.mark.parametrize("methods", [["blup", "reusecov-gauss", "adassp"], ["bas", "k-blup"]])
def test_draws_of_study__are_those_of_the_steps(replicate, tmp_path, methods):
    config = resolve(RAW | {"methods": methods})
    paths = {"outcomes": tmp_path / "outcomes.zarr", "variant_set": tmp_path / "variants.zarr"}
    paths["statistics"] = tmp_path / "statistics.npz"
    compute_statistics(
        settings_for("compute-statistics", config),
        paths["variant_set"],
        paths["outcomes"],
        output=paths["statistics"],
    )
    draws, found = list(draws_of_study(config, training_data(config, *replicate))), {}
    for one in draws:
        drawn = one.draw(BenchmarkNoise(SEED, REPLICATE, *one.key, *one.request.key))
        found.setdefault(one.mechanism, []).append(one.mechanism.arrays(drawn))
    fitted = [(name, one.names, one.request) for one in draws for name in one.fitted]
    assert len(set(fitted)) == len(fitted) == len(methods) * 8
    for mechanism, arrays in found.items():
        draw(
            settings_for("draw", config),
            paths["outcomes"],
            mechanism=mechanism.name,
            method=[one for one in mechanism.drawn_for(methods) if one],
            **{name: paths[name] for name in mechanism.takes if name in paths},
            replicate=REPLICATE,
            output=tmp_path / "drawn.npz",
            events=tmp_path / "events.json",
        )
        for own, (_, stored) in zip(arrays, load_labelled(tmp_path / "drawn.npz"), strict=True):
            assert set(stored) == set(own)
            assert all(np.array_equal(stored[name], own[name]) for name in own)


def test_training_data__sums_only_where_a_method_takes_sums(replicate):
    for methods, has_sums in ((["k-tukey"], False), (["k-tukey", "blup"], True)):
        settings = resolve(RAW | {"methods": methods})
        data = training_data(settings, *replicate)
        assert data.variant_set is replicate[0]
        assert (data._paths["statistics"] is not None) == has_sums
