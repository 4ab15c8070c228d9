"""The experiment on a simulated whole genome, with few people on two short chromosomes."""

import msprime
import numpy as np
import pandas as pd
import pytest

from dpgrs.public_random import generator
from dpgrs_papers.experiments.genome_cohort import (
    HOTSPOT_WIDTH,
    RECOMBINATION,
    hotspot_map,
    read_chromosome,
    simulate_chromosome,
)
from study_runs import load_experiment

SIZES = {"--chromosomes": 4, "--only": 2, "--length": 200_000, "--train": 600, "--panel": 120, "--test": 100}


def test_hotspot_map__has_the_rate_of_the_model():
    rates = hotspot_map(2_000_000, generator(1, "map"))
    assert isinstance(rates, msprime.RateMap)
    assert rates.mean_rate == pytest.approx(RECOMBINATION)
    widths = np.diff(rates.position)[1::2]
    assert (widths == HOTSPOT_WIDTH).all()
    assert (rates.rate[1::2] >= rates.rate[0]).all()


def test_simulate_chromosome__common_variants_of_one_population():
    sizes = {"n_train": 20, "n_panel": 60, "n_test": 10, "length": 100_000}
    chromosome = simulate_chromosome(1, seed=1, **sizes)
    again = simulate_chromosome(1, seed=1, **sizes)
    assert chromosome.typed.shape == chromosome.untyped.shape == (90, 34)
    frequency = chromosome.typed[20:80].mean(axis=0) / 2
    assert np.minimum(frequency, 1 - frequency).min() >= 0.01
    assert (np.diff(chromosome.typed_positions) > 0).all()
    assert not set(chromosome.typed_positions) & set(chromosome.untyped_positions)
    assert all(np.array_equal(a, b) for a, b in zip(chromosome, again, strict=True))


def test_genome__makes_a_table_and_runs_nothing_again(tmp_path, capsys, monkeypatch):
    genome = load_experiment("genome")
    monkeypatch.setattr(genome, "ARCHITECTURES", genome.ARCHITECTURES[2:4])
    arguments = ["--folder", str(tmp_path), "--epsilon", "10", "--replicates", "1"]
    arguments += [str(value) for pair in SIZES.items() for value in pair]
    assert genome.main(arguments) == 0
    printed = capsys.readouterr().out
    table = pd.read_csv(tmp_path / "table.tsv", sep="\t")
    assert len(table) == 3 * len(genome.ARCHITECTURES)
    assert set(table["fit"]) == {"BLUP", "mixture", "stack"}
    assert table["r2"].between(0, 0.5).all()
    assert table["r2"].mean() > 0.1
    assert len(read_chromosome(tmp_path / "cohort" / "1.npz").typed) == 820
    made = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    assert genome.main(arguments) == 0
    assert capsys.readouterr().out == printed
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")} == made
