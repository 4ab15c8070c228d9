"""What is measured of copies and their source, by numbers that are known."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.genotypes.bits import pack
from dpgrs.io.store_writer import StoreWriter
from dpgrs.simulation.resampling import CopyingModel, resample_store
from dpgrs_papers.imitation.likeness import compare_stores
from refused import refused

N_VARIANTS, N_PEOPLE = 60, 40


def write(path, alleles):
    n_variants, n_haplotypes = alleles.shape
    sites = {"contig": ["1"] * n_variants, "position": np.arange(1, n_variants + 1) * 400}
    sites |= {name: [value] * n_variants for name, value in (("id", "."), ("ref", "A"), ("alt", "C"))}
    with StoreWriter.create(path, sample_id=[f"p{i}" for i in range(n_haplotypes // 2)]) as writer:
        writer.append(sites, pack(alleles))
        writer.attributes.update(source={"file": "1.vcf.gz", "sha256": "0" * 64})
    return path


@pytest.fixture
def alleles():
    """Alleles of two populations, which differ at every variant by some 0.4."""
    draws = np.random.Generator(np.random.PCG64(2))
    frequency = np.repeat([[0.3, 0.7]], N_PEOPLE, axis=1)
    return (draws.random((N_VARIANTS, 2 * N_PEOPLE)) < frequency).astype(np.uint8)


def measured(*stores, **options):
    return {one.name: (one.source, one.copies) for one in compare_stores(*stores, **options)}


def test_compare__of_a_store_with_itself(alleles, tmp_path):
    store = write(tmp_path / "a", alleles)
    found = measured(store, store)
    assert found["mean frequency"] == pytest.approx((alleles.mean(),) * 2)
    assert found["largest difference of a frequency"][1] == 0
    for name, (source, copies) in found.items():
        if name.startswith("mean r^2"):
            assert copies == source or np.isnan([copies, source]).all()
    distance = (alleles.T[:, None] != alleles.T[None]).mean(axis=2)
    np.fill_diagonal(distance, 1)
    median, _ = found["distance to the nearest of the source, median"]
    assert median == pytest.approx(np.median(distance.min(axis=1)))
    assert found["share equal to one of the source"] == (0, 1)


def test_compare__tells_copies_that_are_people_of_the_source(alleles, tmp_path):
    source = write(tmp_path / "a", alleles)
    resample_store(source, tmp_path / "still", people=90, seed=1, model=CopyingModel(1e-12, 0))
    assert measured(source, tmp_path / "still")["share equal to one of the source"] == (0, 1)
    resample_store(source, tmp_path / "mixed", people=90, seed=1, model=CopyingModel(1e9))
    found = measured(source, tmp_path / "mixed")
    assert found["share equal to one of the source"] == (0, 0)
    # Of a copy that goes over at every variant little is anybody's.
    assert found["distance to the nearest of the source, median"][1] > 0.2
    assert found["largest difference of a frequency"][1] < 0.25


def test_compare__tells_how_populations_differ(alleles, tmp_path):
    source, other = write(tmp_path / "a", alleles), write(tmp_path / "b", alleles[:, ::-1])
    table = pd.DataFrame({"sample": [f"p{i}" for i in range(N_PEOPLE)]})
    for name, labels in (("right", ["x"] * 20 + ["y"] * 20), ("mixed", ["x", "y"] * 20)):
        table.assign(population=labels).to_csv(tmp_path / name, sep="\t", index=False)
    source_fst, mixed_fst = measured(source, other, populations=(tmp_path / "right", tmp_path / "mixed"))[
        "F_ST of x and y"
    ]
    # s^2 / (p (1 - p) + s^2 / 2) with p = 0.5 and s^2 = 2 (0.2)^2.
    assert source_fst == pytest.approx(0.08 / 0.29, abs=0.06)
    assert abs(mixed_fst) < 0.03


def test_compare__raise_on_other_variants_and_other_populations(alleles, tmp_path):
    source, other = write(tmp_path / "a", alleles), write(tmp_path / "b", alleles[:-1])
    with refused("variants-differ"):
        compare_stores(source, other)
    table = pd.DataFrame({"sample": [f"p{i}" for i in range(N_PEOPLE)]})
    for name in ("x", "y"):
        table.assign(population=name).to_csv(tmp_path / name, sep="\t", index=False)
    with refused("populations-differ"):
        compare_stores(source, source, populations=(tmp_path / "x", tmp_path / "y"))


def test_store_compare__by_the_command_line(alleles, tmp_path):
    store = str(write(tmp_path / "a", alleles))
    found = CliRunner().invoke(main, ["store", "compare", store, store])
    assert found.exit_code == 0, found.output
    assert "mean frequency" in found.output
    assert found.output.splitlines()[0].split() == ["measure", "source", "copies"]
