"""What a benchmark counts of the values and rows that are clipped, and a release does not."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.genotypes.bits import pack
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import ClipCounts, Statistics
from dpgrs.linalg import clipped_statistics as core
from dpgrs.linalg.norms import outcome_norm
from dpgrs.reporting.data import ClippedRows
from dpgrs.steps import compute_statistics as step
from dpgrs.steps import render_report as report
from dpgrs.study import exact_statistics
from random_cohorts import half_coded, random_alleles
from step_settings import settings_for
from variant_sets import variants_in_memory

N_VARIANTS, N_HAPLOTYPES, N_OUTCOMES, BOUND = 7, 150, 12, 1.5
FREQUENCY = np.array([0.1, 0.25, 0.5, 0.375, 0.125, 0.75, 0.625])  # on the grid of the coding


@pytest.fixture(params=["haplotypes", "people"])
def study(request, tmp_path, monkeypatch):
    """VariantSet and outcomes, some of them missing or far beyond the bound."""
    monkeypatch.setattr(core, "ROW_BLOCK", 64)
    alleles = random_alleles(N_VARIANTS, N_HAPLOTYPES)
    known = {"of_size": np.arange, "frequency": FREQUENCY}
    variant_set = variants_in_memory(pack(alleles), n_haplotypes=N_HAPLOTYPES, **known)
    monkeypatch.setattr(step, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
    rng = np.random.default_rng(3)
    n_rows = N_HAPLOTYPES if request.param == "haplotypes" else N_HAPLOTYPES // 2
    values = {size: rng.standard_normal((N_OUTCOMES, n_rows)) for size in (4, N_VARIANTS)}
    for Y in values.values():
        Y[2, ::3], Y[3, 0], Y[4, :9] = np.nan, np.inf, BOUND
    is_training = rng.random(n_rows) < 0.7
    names = tuple(f"y{i}" for i in range(N_OUTCOMES))
    Outcomes(names, values, {}, is_training, request.param).save(tmp_path / "outcomes.zarr")
    X = half_coded(alleles, rows=request.param)[is_training, :-1]
    centre = (FREQUENCY - 0.5) * (1 if request.param == "haplotypes" else 2)
    return SimpleNamespace(
        folder=tmp_path, X=X - centre, Y={size: Y[:, is_training] for size, Y in values.items()}
    )


def compute(study, *, mode="benchmark", counts=(N_OUTCOMES,), **privacy):
    output, outcomes = study.folder / "statistics.npz", {"bound": BOUND, "count": counts}
    privacy = {"outcome_clip": 1.0} | privacy
    settings = settings_for("compute-statistics", mode=mode, outcomes=outcomes, privacy=privacy)
    step.compute_statistics(settings, "variant_set", study.folder / "outcomes.zarr", output=output)
    return output


def test_compute_statistics__counts_values_beyond_the_bound(study):
    clips = Statistics.load(compute(study, bounds="worst-case")).clips

    assert clips.rows == {}
    assert set(clips.values) == {4, N_VARIANTS}
    for size, Y in study.Y.items():
        expected = [sum(abs(value) > BOUND for value in values) for values in Y.tolist()]
        assert clips.values[size].tolist() == expected
        assert min(expected) > 0


@pytest.mark.parametrize("budget", ["joint", "separate"])
def test_compute_statistics__counts_rows_beyond_tight_norms(study, budget):
    options = {"counts": [1, 10, N_OUTCOMES], "bounds": "tight", "outcome_budget": budget}
    saved = Statistics.load(compute(study, **options))

    for count in (10, N_OUTCOMES):
        Y = np.nan_to_num(np.clip(study.Y[4][:count], -BOUND, BOUND))
        lengths = np.linalg.norm(Y, axis=0) / (1 + 0.5 / count)
        # The norm of an outcome by itself is not below its bound here.
        assert saved.clips.rows[4, count][1] == (np.sum(lengths > np.sqrt(count)) if budget == "joint" else 0)
    for (size, count), (n_genotypes, _) in saved.clips.rows.items():
        row_norm = saved.clipped[size, count].row_norm
        assert n_genotypes == np.sum(np.linalg.norm(study.X[:, :size], axis=1) > row_norm) > 0


def test_compute_statistics__clips_are_factors_of_root_mean_squares(study):
    plain, wider = (
        Statistics.load(compute(study, bounds="tight", **clips)).clipped
        for clips in ({}, {"genotype_clip": 2.0, "outcome_clip": 1.25})
    )
    assert set(wider) == {(4, N_OUTCOMES), (N_VARIANTS, N_OUTCOMES)}
    for key, part in wider.items():
        assert part.row_norm == pytest.approx(2 * plain[key].row_norm, abs=1e-3)
        assert part.outcome_norm == pytest.approx(1.25 * np.sqrt(N_OUTCOMES))
        assert plain[key].outcome_norm == pytest.approx((1 + 0.5 / N_OUTCOMES) * np.sqrt(N_OUTCOMES))


def test_outcome_norm__is_wider_for_few_outcomes_within_their_bound():
    assert outcome_norm(1, factor=1.05, bound=BOUND) == BOUND
    assert outcome_norm(1, factor=1.05, bound=3.0) == 1.5
    assert outcome_norm(4, factor=1.05, bound=BOUND) == pytest.approx(1.125 * 2)
    assert outcome_norm(4, factor=1.25, bound=BOUND) == pytest.approx(1.25 * 2)
    assert outcome_norm(10, factor=1.05, bound=BOUND) == pytest.approx(1.05 * np.sqrt(10))
    assert outcome_norm(4, factor=1.05, bound=1.0) == 2.0


@pytest.mark.parametrize("bounds", ["worst-case", "tight"])
def test_compute_statistics__a_release_counts_nothing(study, bounds, monkeypatch):
    counted = dict(np.load(compute(study, bounds=bounds)))

    def refuse(*arguments, **options):
        raise AssertionError("counted")

    for name in ("_clip_counts", "count_long_rows", "long_rows"):
        monkeypatch.setattr(exact_statistics, name, refuse)
    path = compute(study, mode="release", bounds=bounds)

    released = dict(np.load(path))
    assert {name.partition("/")[0] for name in counted.keys() - released.keys()} >= {"clipped_values"}
    assert not [name for name in released if name.startswith(("clipped_values", "clipped_rows"))]
    assert Statistics.load(path).clips is None
    for name, array in released.items():
        np.testing.assert_array_equal(array, counted[name])


@pytest.mark.parametrize("bounds", ["tight", "paper"])
@pytest.mark.parametrize("counts", [[1, 3], [3, 1]])
def test_compute_statistics__one_gram_for_all_numbers_of_outcomes(study, bounds, counts, monkeypatch):
    n_products, plain = [], core._add_gram
    monkeypatch.setattr(core, "_add_gram", lambda X, G: n_products.append(len(X)) or plain(X, G))
    monkeypatch.setattr("dpgrs.linalg.alike_rows.LEAST", 1000)
    path = compute(study, bounds=bounds, counts=counts)
    assert len(n_products) == 2 * 3  # of two variant sets, in three blocks

    saved = Statistics.load(path)
    with np.load(path) as arrays:
        own = {name for name in arrays if name.startswith("clipped/") and name.endswith("/gram")}
    assert own == {f"clipped/{size}/{counts[0]}/gram" for size in (4, N_VARIANTS)}
    for size in (4, N_VARIANTS):
        assert saved.clipped[size, 1].gram is saved.clipped[size, 3].gram
        for count in counts:
            alone = Statistics.load(compute(study, bounds=bounds, counts=[count])).clipped[size, count]
            np.testing.assert_array_equal(saved.clipped[size, count].gram, alone.gram)
            np.testing.assert_array_equal(saved.clipped[size, count].cross, alone.cross)


def test_clipping__shares_of_rows_as_pages_show_them():
    clips = ClipCounts({4: np.array([9]), 7: np.array([5])}, {(7, 1): [30, 10], (7, 12): [30, 50]})
    statistics = SimpleNamespace(clips=clips, n_rows=100, n_observed=np.array([90]))

    clipping = report._clipping(statistics, 7)

    assert (clipping.values.tolist(), clipping.n_known.tolist()) == ([5], [90])
    assert clipping.rows == [ClippedRows(7, 12, 0.3, 0.5), ClippedRows(7, 1, 0.3, 0.1)]
    statistics.clips = None
    assert report._clipping(statistics, 7) is None
