"""The experiment on a simulated whole genome, with few people on two short chromosomes."""

import msprime
import numpy as np
import pandas as pd
import pytest

from dpgrs.linalg.genome_map import mapped_rows
from dpgrs.linalg.genome_moments import MOMENT_STEP, chromosome_moments
from dpgrs.linalg.genome_prior import genome_map
from dpgrs.methods.genome_fit import blup_effects, fit_variances, genome_entries, variant_weights
from dpgrs.methods.genome_moments import joint_moment_norm
from dpgrs.public_random import generator
from dpgrs_papers.experiments.genome_cohort import (
    HOTSPOT_WIDTH,
    RECOMBINATION,
    CohortSizes,
    hotspot_map,
    simulate_chromosome,
    write_chromosome,
)
from dpgrs_papers.experiments.genome_labels import RandomisedBins, best_bins
from dpgrs_papers.experiments.genome_study import (
    GenomeCohort,
    MapFits,
    Phenotypes,
    exact_sums,
    noisy_moments,
    reference_panel,
)
from genome_maps import slab_of
from study_runs import load_experiment

SIZES = {"--chromosomes": 4, "--only": 2, "--length": 200_000, "--train": 600, "--panel": 120, "--test": 100}
SIZES |= {"--other-panel": 80, "--epsilon": 10, "--replicates": 1}


def test_hotspot_map__has_the_rate_of_the_model():
    rates = hotspot_map(2_000_000, generator(1, "map"))
    assert isinstance(rates, msprime.RateMap)
    assert rates.mean_rate == pytest.approx(RECOMBINATION)
    widths = np.diff(rates.position)[1::2]
    assert (widths == HOTSPOT_WIDTH).all()
    assert (rates.rate[1::2] >= rates.rate[0]).all()


def test_simulate_chromosome__common_variants_of_two_populations():
    sizes = CohortSizes(train=20, panel=60, test=10, other_panel=30)
    chromosome = simulate_chromosome(1, seed=1, sizes=sizes, length=100_000)
    again = simulate_chromosome(1, seed=1, sizes=sizes, length=100_000)
    assert chromosome.typed.shape == chromosome.untyped.shape == (34, 120)
    assert chromosome.typed.max() == 2
    frequency = chromosome.typed[:, 20:80].mean(axis=1) / 2
    assert np.minimum(frequency, 1 - frequency).min() >= 0.01
    # Frequencies are alike within a population: its people are in one piece.
    of_test, of_others = (
        chromosome.typed[:, people].mean(axis=1) / 2 for people in (slice(80, 90), slice(90, 120))
    )
    assert np.square(of_test - frequency).mean() < np.square(of_others - frequency).mean()
    assert (np.diff(chromosome.typed_positions) > 0).all()
    assert not set(chromosome.typed_positions) & set(chromosome.untyped_positions)
    assert all(np.array_equal(a, b) for a, b in zip(chromosome, again, strict=True))


@pytest.fixture(scope="module")
def genome():
    return load_experiment("genome")


@pytest.fixture(scope="module")
def cohort(genome, tmp_path_factory):
    """A cohort of two short chromosomes."""
    sizes = CohortSizes(train=600, panel=120, test=100, other_panel=80)
    files = []
    for number in (1, 2):
        files.append(tmp_path_factory.mktemp("cohort") / f"{number}.npz")
        write_chromosome(files[-1], simulate_chromosome(number, seed=1, sizes=sizes, length=200_000))
    return GenomeCohort(tuple(files), sizes, n_train=300)


def test_sharing_causes__has_the_genetic_correlations_of_two_factors():
    rng = np.random.default_rng(1)
    genetic = rng.standard_normal((1, 12, 4000), dtype=np.float32)
    residuals = rng.standard_normal((1, 12, 300), dtype=np.float32)
    values, of_train = Phenotypes(genetic, genetic[..., :300] + residuals).sharing_causes(0, 0, 10)
    correlations = np.corrcoef(values)[np.triu_indices(10, 1)]
    assert correlations.min() == pytest.approx(0.61, abs=0.04)
    assert correlations.max() == pytest.approx(0.8, abs=0.04)
    np.testing.assert_allclose(of_train - values[:, :300], residuals[0, :10], atol=1e-5)


@pytest.mark.parametrize(("protection", "is_clipped"), [("add-remove", True), ("none", False)])
def test_exact_sums__are_those_of_a_release(genome, cohort, protection, is_clipped):
    """Norms and sums in single precision are those of `mapped_rows`."""
    panel = reference_panel(cohort, cohort.people.panel)
    setting = genome.Setting(protection, epsilon=10.0)
    public_map = genome_map(panel.prior, genome.noise_of(setting, cohort, panel)[0], panel.chromosomes)
    Y = generator(1, "outcomes").standard_normal((3, cohort.n_train))
    sums = exact_sums(cohort, panel, public_map, Y, is_clipped=is_clipped)
    rows = [
        mapped_rows(
            chromosome,
            simulated.typed[variants, cohort.people.train].T * 4096.0 - chromosome.centre,
            np.empty((cohort.n_train, 0)),
        )
        for chromosome, variants, simulated in zip(
            public_map.chromosomes, panel.variants, cohort.chromosomes(), strict=True
        )
    ]
    factor = [np.ones(cohort.n_train)] * 2
    if is_clipped:
        bounds = [chromosome.row_norm for chromosome in public_map.chromosomes]
        lengths = [np.linalg.norm(part, axis=1) for part in rows]
        if public_map.is_clipped_jointly:
            bounds, lengths = [np.linalg.norm(bounds)] * 2, [np.hypot(*lengths)] * 2
        factor = [np.minimum(1, bound / length) for bound, length in zip(bounds, lengths, strict=True)]
    for S, part, f in zip(sums, rows, factor, strict=True):
        np.testing.assert_allclose(S, (Y * f) @ part, atol=1e-4 * np.abs(S).max())


def test_noisy_moments__are_those_of_a_release_with_its_noise(genome, cohort):
    panel = reference_panel(cohort, cohort.people.panel)
    noise, _, _ = genome.noise_of(genome.Setting(epsilon=10.0), cohort, panel)
    public_map = genome_map(panel.prior, noise, panel.chromosomes)
    silent, product_sd = noisy_moments(cohort, panel, public_map, mu=1e9, seed=1)
    assert product_sd == pytest.approx(5 / 7 * joint_moment_norm(public_map) / 1e9)
    parts = zip(public_map.chromosomes, panel.variants, cohort.chromosomes(), strict=True)
    expected = []
    for chromosome, variants, simulated in parts:
        calls = simulated.typed[variants][:, cohort.people.train].T
        exact = chromosome_moments(
            [slab_of(calls)],
            chromosome,
            axes=np.zeros((0, cohort.n_train), dtype=np.int64),
            is_counted=np.ones(cohort.n_train, dtype=bool),
            made_with="",
        )
        expected.append(exact.entries * MOMENT_STEP)
    expected = np.concatenate(expected)
    np.testing.assert_allclose(silent, expected, atol=1e-4 * np.abs(expected).max())
    noisy, product_sd = noisy_moments(cohort, panel, public_map, mu=1.0, seed=1)
    assert np.std(noisy - silent) == pytest.approx(product_sd, rel=0.2)


def test_map_fits__share_decompositions_and_fit_as_a_release(genome, cohort):
    panel = reference_panel(cohort, cohort.people.panel)
    noise, noise_sd, _ = genome.noise_of(genome.Setting(epsilon=10.0), cohort, panel)
    public_map = genome_map(panel.prior, noise, panel.chromosomes)
    fits = MapFits(cohort, panel, public_map, noise, noise_sd=noise_sd)
    for seed in (1, 2):
        Y = generator(seed, "outcomes").standard_normal((1, cohort.n_train))
        sums = exact_sums(cohort, panel, public_map, Y)
        terms = {"n": cohort.n_train, "noise_sd": noise_sd, "slope": noise.slope, "residual": noise.residual}
        seen = genome_entries(public_map, sums, **terms)
        expected = variant_weights(public_map, blup_effects(seen, fit_variances(seen)))
        (score,) = fits.scores(sums, ("BLUP",))
        for part, other in zip(score.weights, expected, strict=True):
            np.testing.assert_allclose(part, other, atol=1e-3 * np.abs(other).max())


def test_genome__makes_a_table_and_runs_nothing_again(genome, tmp_path, capsys):
    arguments = ["--folder", str(tmp_path), "--parts", "main", "labels", "moments"]
    arguments += [str(value) for pair in SIZES.items() for value in pair]
    assert genome.main(arguments) == 0
    printed = capsys.readouterr().out
    assert (tmp_path / "genome.png").read_bytes().startswith(b"\x89PNG")
    table = pd.read_csv(tmp_path / "table.tsv", sep="\t")
    n_fits = {"add-remove": 9, "none": 2, "replace-one": 1, "sign": 1, "bins": 1}
    assert table.groupby("protection").size().to_dict() == {name: 3 * n for name, n in n_fits.items()}
    assert set(table["fit"]) == {"BLUP", "mixture", "stack"}
    assert table["r2"].between(0, 0.5).all()
    assert table["r2"].mean() > 0.1
    made = {
        path: path.stat().st_mtime_ns
        for path in tmp_path.rglob("*.*")
        if path.stem not in ("table", "genome")
    }
    assert genome.main(arguments) == 0
    assert capsys.readouterr().out == printed
    assert {path: path.stat().st_mtime_ns for path in made} == made


def test_genome__uses_public_effects_of_people_who_are_not_trained_on(genome, tmp_path):
    arguments = ["--folder", str(tmp_path), "--parts", "public"]
    arguments += [str(value) for pair in SIZES.items() for value in pair]
    with pytest.raises(SystemExit):
        genome.main([*arguments, "--only", "4"])
    assert genome.main(arguments) == 0
    table = pd.read_csv(tmp_path / "table.tsv", sep="\t")
    assert table.groupby("public").size().to_dict() == {"started from": 4, "subtracted": 4}
    assert table["r2"].between(0, 0.5).all()
    started, subtracted = (genome.Setting(public=public) for public in ("started from", "subtracted"))
    assert started.noise_name == subtracted.noise_name == genome.Setting().name
    assert len({started.name, subtracted.name, genome.Setting().name}) == 3


def test_randomised_bins__effective_people_and_slope():
    """Released numbers have the variance, slope and correlation that fits expect of them."""
    bins = RandomisedBins(1.5, np.array([-0.8, 0.3, 1.0]))
    rng = generator(1, "phenotypes")
    y = rng.standard_normal(400_000)
    released = bins.randomised(y, rng)
    # Standard errors of these means are about 0.001; six of them are a chance of 2e-9.
    assert released.var() == pytest.approx(bins.effective_share, abs=0.006)
    assert np.cov(released, y)[0, 1] == pytest.approx(bins.effective_share, abs=0.006)
    assert released.mean() == pytest.approx(0, abs=0.006)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_randomised_bins__two_are_randomised_response(epsilon):
    share = RandomisedBins(epsilon, np.zeros(1)).effective_share
    assert share == pytest.approx(2 / np.pi * np.tanh(epsilon / 2) ** 2)


def test_randomised_bins__reported_bins_are_private():
    """Chances of a report differ by e^epsilon at most between phenotypes, and by that much for some."""
    bins = RandomisedBins(1.0, np.array([-0.5, 0.7]))
    rng, n = generator(2, "phenotypes"), 200_000
    reported = [
        [np.mean(bins.randomised(np.full(n, y), rng) == value) for value in bins.released]
        for y in (-1.0, 0.0, 1.0)
    ]
    expected = np.where(np.eye(3), np.e, 1.0) / (np.e + 2)
    np.testing.assert_allclose(reported, expected, atol=0.007)  # six standard errors


@pytest.mark.parametrize(("epsilon", "n_bins"), [(1.0, 2), (3.0, 3)])
def test_best_bins__more_where_the_budget_is_larger(epsilon, n_bins):
    bins = best_bins(epsilon)
    assert len(bins.chances) == n_bins
    for width in (0.8, 1.25):
        assert bins.effective_share >= RandomisedBins(epsilon, bins.bounds * width).effective_share


def test_best_bins__hardly_lose_anything_with_a_large_budget():
    assert best_bins(10.0).effective_share > 0.95
