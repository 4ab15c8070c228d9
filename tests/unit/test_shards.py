"""Statistics of shards of people, added: those of all people at once, byte for byte."""

from dataclasses import replace
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.covariates import Covariates
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Statistics
from dpgrs.io.variant_set_parts import people_parts, rows_of_people, shard_of
from dpgrs.linalg import statistics
from dpgrs.linalg.statistics import half_units
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.selection.dp_kendall import genotype_pairs
from dpgrs.selection.kendall import genotype_scores, rank_weights
from dpgrs.steps import compute_statistics as step
from dpgrs.steps.add_statistics import add_statistics
from dpgrs.study import exact_statistics
from dpgrs.study.training_data import TrainingData
from dpgrs_papers.selection.dp_sis import genotype_sis_scores
from random_cohorts import random_bits
from refused import refused
from step_settings import settings_for
from variant_sets import variants_in_memory

D, N_PEOPLE, N_OUTCOMES = 7, 300, 3
BITS = random_bits(D, 2 * N_PEOPLE)
FREQUENCY = np.linspace(0.1, 0.7, D)
SIZES = {4: np.array([0, 2, 3, 6]), D: np.arange(D)}


@pytest.fixture
def study(request, tmp_path, monkeypatch):
    """The folder of outcomes of such a study of 300 people, some of them missing or beyond the bound."""
    rows = "haplotypes" if request.param == "haplotypes" else "people"
    genotypes = BITS
    if request.param == "dosages":
        genotypes = half_units(BITS, n_haplotypes=2 * N_PEOPLE, rows="people").astype(np.int16) * 1900
        genotypes = genotypes.astype(np.int16)
    known = {"of_size": SIZES.__getitem__, "frequency": FREQUENCY}
    variant_set = variants_in_memory(genotypes, n_haplotypes=2 * N_PEOPLE, **known)
    monkeypatch.setattr(step, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
    rng, n_rows = np.random.default_rng(2), N_PEOPLE * (2 if rows == "haplotypes" else 1)
    values = {size: 2 * rng.standard_normal((N_OUTCOMES, n_rows)) for size in SIZES}
    for Y in values.values():
        Y[1, ::5] = np.nan
    is_training = np.repeat(rng.random(N_PEOPLE) < 0.8, n_rows // N_PEOPLE)
    Outcomes(("a", "b", "c"), values, {}, is_training, rows).save(tmp_path / "outcomes.zarr")
    covariates = None
    if request.param == "covariates":
        covariates = tmp_path / "covariates.npz"
        units = rng.integers(-2000, 2001, (2, n_rows)).astype(np.int16)
        Covariates(("age", "sex"), units, np.zeros(2), np.ones(2), 3.0, rows).save(covariates)
    return SimpleNamespace(folder=tmp_path, covariates=covariates)


def sums(study, n_shards, *, bounds, mode="benchmark", outcome_budget="joint", **options):
    """Return the bytes of the statistics of all people, by so many shards."""
    privacy = {"bounds": bounds, "outcome_budget": outcome_budget}
    outcomes = {"bound": 2.5, "count": [1, N_OUTCOMES]}
    settings = settings_for("compute-statistics", mode=mode, outcomes=outcomes, privacy=privacy)
    whole, paths = study.folder / "whole.npz", [study.folder / f"{one}.npz" for one in range(n_shards)]
    options |= {"covariates": study.covariates, "shards": n_shards}
    if n_shards == 1:
        step.compute_statistics(
            settings, "variant_set", study.folder / "outcomes.zarr", output=whole, **options
        )
        return whole.read_bytes()
    for number, path in enumerate(paths, start=1):
        files = ("variant_set", study.folder / "outcomes.zarr")
        step.compute_statistics(settings, *files, shard=number, output=path, **options)
    add_statistics(paths, output=whole)
    return whole.read_bytes()


@pytest.mark.parametrize(
    ("study", "bounds"),
    [
        *product(["haplotypes", "people"], ["tight", "worst-case", "paper"]),
        *product(["dosages", "covariates"], ["tight"]),
    ],
    indirect=["study"],
)
@pytest.mark.parametrize("mode", ["benchmark", "release"])
def test_add_statistics__does_not_depend_on_shards_or_parts(study, monkeypatch, bounds, mode):
    whole = sums(study, 1, bounds=bounds, mode=mode)
    monkeypatch.setattr(exact_statistics, "LEAST_PART", 32)
    monkeypatch.setattr(exact_statistics, "PART_VALUES", 64)
    for n_shards in (1, 2, 7):
        assert sums(study, n_shards, bounds=bounds, mode=mode) == whole


@pytest.mark.parametrize("study", ["haplotypes"], indirect=True)
def test_add_statistics__without_gram_and_with_shards_of_nobody(study):
    options = {"bounds": "tight", "without_gram": True}
    assert sums(study, 40, **options) == sums(study, 1, **options)


@pytest.mark.parametrize("study", ["people"], indirect=True)
def test_plus__raise_on_other_terms(study):
    sums(study, 2, bounds="tight")
    first, second = (Statistics.load(study.folder / f"{one}.npz") for one in range(2))
    others = [
        replace(second, outcome_bound=3.0),
        replace(second, gram=None),
        replace(second, rows="haplotypes"),
        replace(second, columns={4: SIZES[4] + 1, D: SIZES[D]}),
        replace(second, origin={}),
        replace(second, clips=None),
        replace(second, clipped={}),
        replace(second, n_observed=second.n_observed[:2]),
        replace(second, clipped={key: replace(one, row_norm=1.0) for key, one in second.clipped.items()}),
    ]
    for other in others:
        with refused("added-statistics-differ"):
            first.plus(other)


@pytest.mark.parametrize("study", ["people"], indirect=True)
def test_add_statistics__raise_unless_everybody_is_there_once(study):
    sums(study, 3, bounds="tight")
    shards = [study.folder / f"{one}.npz" for one in range(3)]
    other = study.folder / "other.npz"
    settings = settings_for("compute-statistics", outcomes={"bound": 2.5, "count": [1, N_OUTCOMES]})
    files = ("variant_set", study.folder / "outcomes.zarr")
    # Of a cut into fewer, as an earlier run may have left it.
    step.compute_statistics(settings, *files, shard=1, shards=2, output=other)
    for wrong in (shards[:2], shards[1:], shards[::-1], [shards[0], *shards], [other, *shards[1:]]):
        with pytest.raises(DpgrsError, match="must be of"):
            add_statistics(wrong, output=study.folder / "wrong.npz")
    step.compute_statistics(settings, *files, output=other)
    with refused("shards-incomplete"):
        add_statistics([other], output=study.folder / "wrong.npz")
    assert not (study.folder / "wrong.npz").exists()


@pytest.mark.parametrize("study", ["people"], indirect=True)
def test_added__raise_where_sums_may_overflow(study):
    for bounds, most in (("tight", 2**23), ("worst-case", 2**25)):
        sums(study, 2, bounds=bounds)
        first, second = (Statistics.load(study.folder / f"{one}.npz") for one in range(2))
        exact_statistics.added([replace(first, n_rows=most - second.n_rows), second])
        with refused("too-many-rows", most, error=UsageError):
            exact_statistics.added([replace(first, n_rows=most - second.n_rows + 1), second])


@pytest.mark.parametrize("study", ["haplotypes", "people"], indirect=True)
@pytest.mark.parametrize("n_shards", [1, 2, 7])
def test_scores__are_sums_over_shards_of_people(study, n_shards):
    """DP-SIS's are X'Y itself; Kendall's add up by the ranks of all rows."""
    outcomes = Outcomes.load(study.folder / "outcomes.zarr")
    options, Y = {"rows": outcomes.rows}, np.where(outcomes.is_training, outcomes.values[D], np.nan)
    sums(study, n_shards, bounds="worst-case")
    cross, whole = Statistics.load(study.folder / "whole.npz").cross[D], {"n_haplotypes": 2 * N_PEOPLE}
    scores = genotype_sis_scores(
        BITS, Y, outcome_bound=2.5, is_selected=outcomes.is_training, **whole, **options
    )
    np.testing.assert_array_equal(np.abs(cross[:, :-1]), scores.values)
    weights, added = rank_weights(Y), 0
    for number in range(1, n_shards + 1):
        people = shard_of(N_PEOPLE, shard=number, n_shards=n_shards)
        words, rows = slice(people.start // 32, -(-people.stop // 32)), rows_of_people(people, **options)
        own = {"n_haplotypes": 2 * (people.stop - people.start)}
        added = added + genotype_scores(BITS[:, words], weights[:, rows], **own, **options)
    np.testing.assert_array_equal(added, genotype_scores(BITS, weights, **whole, **options))


@pytest.mark.parametrize("study", ["haplotypes", "people"], indirect=True)
def test_scores__do_not_depend_on_parts_of_outcomes(study, monkeypatch):
    outcomes = Outcomes.load(study.folder / "outcomes.zarr")
    options = {"n_haplotypes": 2 * N_PEOPLE, "rows": outcomes.rows}

    def scores():
        pairs = [one.outcome_scores for one in genotype_pairs(BITS, outcomes.values[D], **options)]
        return pairs, genotype_sis_scores(BITS, outcomes.values[D], outcome_bound=2.5, **options).values

    whole = scores()
    monkeypatch.setattr(statistics, "PART_ENTRIES", 2 * N_PEOPLE * 2)
    monkeypatch.setattr(statistics, "LEAST_OUTCOMES", 1)
    parts = list(statistics.outcome_parts(N_OUTCOMES, n_haplotypes=2 * N_PEOPLE))
    assert parts == [slice(0, 2), slice(2, 4)]
    for found, expected in zip(scores(), whole, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert len(list(statistics.outcome_parts(0, n_haplotypes=0))) == 1


def test_shard_of__cuts_people_into_whole_words():
    for n_people, n_shards in ((300, 1), (300, 7), (64, 3), (31, 2), (0, 1), (10_007, 6)):
        shards = [shard_of(n_people, shard=one, n_shards=n_shards) for one in range(1, n_shards + 1)]
        assert (shards[0].start, shards[-1].stop) == (0, n_people)
        for one, following in pairwise(shards):
            assert one.stop == following.start
            assert one.stop % 32 == 0 or one.stop == n_people
        lengths = [one.stop - one.start for one in shards]
        assert max(lengths) - min(lengths) <= 64
    with refused("shard-out-of-range", "`--shards`", "got 3", error=UsageError):
        shard_of(100, shard=3, n_shards=2)


def test_people_parts__are_whole_words_one_at_least():
    assert list(people_parts(slice(64, 300), 100)) == [slice(64, 160), slice(160, 256), slice(256, 300)]
    assert list(people_parts(slice(0, 40), 1)) == [slice(0, 32), slice(32, 40)]
    assert list(people_parts(slice(32, 32), 100)) == [slice(32, 32)]


def drawn_from(study, *, n_outcomes):
    """Ask for the exact sums of all outcomes, with so many in a budget."""
    data = TrainingData(study.folder / "outcomes.zarr", statistics=study.folder / "whole.npz")
    terms = {"rows": "people", "n_variants": D, "outcome_bound": 2.5, "epsilon": 1.0, "delta": 1e-6}
    return data.within_bounds(PrivacyRequest(n_outcomes=n_outcomes, **terms), N_OUTCOMES)


@pytest.mark.parametrize("study", ["people"], indirect=True)
def test_training_data__rows_that_were_clipped_over_other_outcomes_are_not_drawn_of(study):
    sums(study, 1, bounds="tight", mode="release")
    norm = drawn_from(study, n_outcomes=N_OUTCOMES).outcome_norm
    with refused("statistics-of-another-budget", "got 3"):
        drawn_from(study, n_outcomes=1)
    sums(study, 1, bounds="tight", mode="release", outcome_budget="separate")
    assert drawn_from(study, n_outcomes=1).outcome_norm < norm
    with refused("statistics-of-another-budget", "got 1"):
        drawn_from(study, n_outcomes=N_OUTCOMES)


@pytest.mark.parametrize("study", ["people"], indirect=True)
def test_training_data__of_clipped_rows_alone_is_read(study):
    """Whole rows are summed too, for fits without privacy, but no noise is drawn on them."""
    sums(study, 1, bounds="tight", mode="benchmark")
    whole = Statistics.load(study.folder / "whole.npz")
    data = TrainingData(study.folder / "outcomes.zarr", statistics=study.folder / "whole.npz")
    assert whole.gram is not None
    assert data.statistics.gram is None
    terms = {"rows": "people", "n_variants": D, "outcome_bound": 2.5, "epsilon": 1.0, "delta": 1e-6}
    request = PrivacyRequest(n_outcomes=N_OUTCOMES, **terms)
    exact = data.sums(data.within_bounds(request, N_OUTCOMES), N_OUTCOMES)
    np.testing.assert_array_equal(exact["gram"], whole.clipped[D, N_OUTCOMES].gram)
    with refused("statistics-not-tight", N_OUTCOMES, D, error=UsageError):
        data.sums(request, N_OUTCOMES)


@pytest.mark.parametrize("study", ["people"], indirect=True)
def test_training_data__a_shard_is_not_drawn_of(study):
    sums(study, 2, bounds="tight", mode="release")
    drawn_from(study, n_outcomes=N_OUTCOMES)
    (study.folder / "0.npz").replace(study.folder / "whole.npz")
    with refused("statistics-of-shard"):
        drawn_from(study, n_outcomes=N_OUTCOMES)


@pytest.mark.parametrize("study", ["people"], indirect=True)
def test_statistics__norms_of_another_version_are_refused(study):
    sums(study, 1, bounds="tight", mode="release")
    arrays = dict(np.load(study.folder / "whole.npz"))
    arrays |= {name: norms[:2] for name, norms in arrays.items() if name.endswith("/norms")}
    np.savez(study.folder / "whole.npz", **arrays)
    with refused("statistics-of-another-version"):
        Statistics.load(study.folder / "whole.npz")
