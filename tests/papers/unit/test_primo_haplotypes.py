"""Replicates of PRIMO's figures on haplotypes: cohort, public panel, and what is measured."""

import numpy as np
import pandas as pd
import pytest

from dpgrs.evaluation.split import per_row
from dpgrs.genotypes.bits import unpack
from dpgrs.simulation.resampling import resample_store
from dpgrs.types import Rows
from dpgrs_papers.experiments import primo_haplotypes
from dpgrs_papers.experiments.haplotype_variants import variants_of_people
from dpgrs_papers.experiments.primo_fits import PUBLIC, TIGHT
from vcf_files import record, vcf_text, write_text

N_PEOPLE, N_VARIANTS = 400, 12
SETTINGS = {"seed": 1, "sizes": [8], "counts": [1, 3], "heritability": 0.5, "epsilons": [50.0]}
SETTINGS |= {"methods": {"ours": ["blup"], TIGHT: ["blup", "blup-shared"], PUBLIC: ["blup", "blup-ld"]}}


@pytest.fixture
def files(tmp_path):
    """A VCF of common variants of chromosome 1, neighbours of which are alike."""
    draws = np.random.default_rng(1)
    of_ends = draws.random((2, 2 * N_PEOPLE))
    lines = []
    for place in range(N_VARIANTS):
        shade = of_ends[0] + (of_ends[1] - of_ends[0]) * place / N_VARIANTS
        alleles = (shade + 0.3 * draws.random(2 * N_PEOPLE) < 0.6).astype(int).reshape(-1, 2)
        lines.append(record(1000 * (place + 1), " ".join(f"{a}|{b}" for a, b in alleles), contig="1"))
    samples = tuple(f"p{i:03d}" for i in range(N_PEOPLE))
    return [write_text(tmp_path / "1.vcf", vcf_text(*lines, samples=samples))]


def test_run_replicate__has_a_line_for_each_method_and_again_the_same(files):
    rows = pd.DataFrame(primo_haplotypes.run_replicate("linear", 1, SETTINGS, files))
    own = rows[rows["which"] == "own"]
    lines = own[["terms", "method"]].drop_duplicates().itertuples(index=False, name=None)
    assert set(lines) == {(terms, method) for terms, all_ in SETTINGS["methods"].items() for method in all_}
    assert set(rows.loc[rows["method"] == "ridge", "terms"]) == {"none"}
    assert own.groupby(["terms", "method"]).size().eq(2).all()
    # Of h2 = 0.5; eight variants and 160 people or more to train on.
    assert own.loc[own["n_outcomes"] == 3, "r2"].between(0.2, 0.7).all()
    pd.testing.assert_frame_equal(
        rows, pd.DataFrame(primo_haplotypes.run_replicate("linear", 1, SETTINGS, files))
    )


def test_run_replicate__public_panel_changes_no_other_line(files):
    alone = SETTINGS | {"methods": {name: SETTINGS["methods"][name] for name in ("ours", TIGHT)}}
    both = pd.DataFrame(primo_haplotypes.run_replicate("linear", 1, SETTINGS, files))
    without = pd.DataFrame(primo_haplotypes.run_replicate("linear", 1, alone, files))
    pd.testing.assert_frame_equal(both[both["terms"] != PUBLIC], without)


def test_run_replicate__of_copies_has_as_many_people_and_no_public_panel(files, tmp_path):
    settings = SETTINGS | {"copies": {"many": 3000}}
    variant_set, outcomes = primo_haplotypes.make_cohort("many", 1, settings, files, tmp_path / "cohort")
    assert variant_set.n_samples == 3000
    assert outcomes.values[8].shape == (3, 6000)
    # Each is a mosaic of haplotypes of the file: those of four in five are whole.
    real, _ = primo_haplotypes.make_cohort("linear", 1, settings, files, tmp_path / "real")
    seen = {column.tobytes() for column in np.ascontiguousarray(alleles_of(real).T)}
    is_seen = [column.tobytes() in seen for column in np.ascontiguousarray(alleles_of(variant_set).T)]
    assert np.mean(is_seen) > 0.5
    rows = pd.DataFrame(primo_haplotypes.run_replicate("many", 1, settings, files))
    assert set(rows["terms"]) == {"none", "ours", TIGHT}


def test_make_cohort__of_a_generated_part_takes_people_of_the_generator(files, tmp_path, monkeypatch):
    made = []

    def imitate(source, output, *, people, seed):
        made.append((people, seed))
        return resample_store(source, output, people=people, seed=seed)

    monkeypatch.setattr(primo_haplotypes, "imitate_store", imitate)
    settings = SETTINGS | {"copies": {"many": 500, "generated-600": 600}}
    variant_set, _ = primo_haplotypes.make_cohort("many", 2, settings, files, tmp_path / "copies")
    assert (variant_set.n_samples, made) == (500, [])
    variant_set, _ = primo_haplotypes.make_cohort("generated-600", 2, settings, files, tmp_path / "generated")
    assert (variant_set.n_samples, made) == (600, [(600, 3)])


def alleles_of(variant_set):
    return unpack(variant_set.haplotypes(), variant_set.n_haplotypes)


def test_beside_public__cohort_and_variant_set_are_other_people_and_test_rows_stay(
    files, tmp_path, monkeypatch
):
    seen = {}
    measure = primo_haplotypes.measure

    def noted(variant_set, outcomes, *, configs, **options):
        values = outcomes.values[8][:, :]
        seen[tuple(configs)] = variant_set.sample_id, variant_set.frequency, values, outcomes.is_training
        return measure(variant_set, outcomes, configs=configs, **options)

    monkeypatch.setattr(primo_haplotypes, "measure", noted)
    primo_haplotypes.run_replicate("linear", 1, SETTINGS, files)
    everybody, frequency, values, is_trained_on = seen["ours", TIGHT]
    cohort, public, own_values, own_is_trained_on = seen[PUBLIC,]
    is_own = np.isin(everybody, cohort)
    is_training = is_trained_on[::2]
    # All who are left out were to be trained on: about half of these.
    assert is_training[~is_own].all()
    assert (~is_own).sum() == pytest.approx(is_training.sum() / 2, rel=0.2)
    rows = per_row(is_own, rows=Rows.HAPLOTYPES)
    np.testing.assert_array_equal(own_is_trained_on, is_trained_on[rows])
    np.testing.assert_array_equal(own_values, values[:, rows])
    # Public frequencies are not those of the cohort, which would be private.
    assert not np.isclose(public, frequency).any()


def test_variant_set_of_people__has_their_alleles_and_frequencies(files, tmp_path):
    variant_set, _ = primo_haplotypes.make_cohort("linear", 1, SETTINGS, files, tmp_path / "cohort")
    is_taken = np.arange(N_PEOPLE) % 3 == 0
    some = variants_of_people(variant_set, is_taken, tmp_path / "some")
    alleles = alleles_of(variant_set)[:, np.repeat(is_taken, 2)]
    np.testing.assert_array_equal(alleles_of(some), alleles)
    np.testing.assert_allclose(some.frequency, alleles.mean(axis=1))
    assert some.sample_id.tolist() == variant_set.sample_id[is_taken].tolist()
    pd.testing.assert_frame_equal(some.variants, variant_set.variants)
    np.testing.assert_array_equal(some.variant_rank, variant_set.variant_rank)
    given = variants_of_people(variant_set, ~is_taken, tmp_path / "others", frequency=some.frequency)
    np.testing.assert_array_equal(given.frequency, some.frequency)
