import numpy as np
import pandas as pd
import pysam
import pytest

from dpgrs.errors import UsageError
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.io.variant_set_writer import alternate_frequency, site_names
from dpgrs.io.vcf.vcf import read_header
from dpgrs.simulation.cohorts import simulate_cohort
from dpgrs.steps.simulate_cohort import simulate_cohort as simulate_step
from refused import refused
from step_settings import settings_for

SMALL = {"chromosomes": [21, "chr22"], "people": 31, "length": 20_000, "seed": 4}


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cohort")
    simulate_cohort(folder, **SMALL)
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_simulate_cohort__files(cohort):
    assert sorted(contents(cohort)) == [
        "21.vcf.gz",
        "21.vcf.gz.tbi",
        "chr22.vcf.gz",
        "chr22.vcf.gz.tbi",
        "populations.tsv",
        "populations.tsv.sha256",
    ]
    table = pd.read_csv(cohort / "populations.tsv", sep="\t")
    assert table.columns.tolist() == ["sample", "population", "super_population"]
    assert table["population"].value_counts().to_dict() == {"YRI": 11, "CEU": 10, "CHB": 10}
    for name in ("21", "chr22"):
        header = read_header(cohort / f"{name}.vcf.gz")
        assert list(header.contigs) == [name]
        assert list(header.samples) == table["sample"].tolist()
    assert (table["sample"].iloc[0], table["sample"].iloc[-1]) == ("sim0001", "sim0031")


def test_simulate_cohort__positions_and_alleles(cohort):
    with pysam.VariantFile(str(cohort / "21.vcf.gz")) as file:
        length = file.header.contigs["21"].length
        records = [(record.pos, *record.alleles) for record in file.fetch("21")]
    positions = np.array([position for position, *_ in records])
    assert length == 46_709_983
    assert len(records) > 20
    assert (np.diff(positions) > 0).all()
    assert 3 * length // 4 < positions[0] <= positions[-1] <= 3 * length // 4 + 20_000
    assert {allele for _, *alleles in records for allele in alleles} <= set("ACGT")


def test_simulate_cohort__same_seed_same_bytes(cohort, tmp_path):
    simulate_cohort(tmp_path / "again", **SMALL)
    assert contents(tmp_path / "again") == contents(cohort)
    simulate_cohort(tmp_path / "other", **SMALL | {"seed": 5})
    assert contents(tmp_path / "other")["21.vcf.gz"] != contents(cohort)["21.vcf.gz"]


def test_simulate_cohort__chromosome_does_not_depend_on_the_others(cohort, tmp_path):
    simulate_cohort(tmp_path, **SMALL | {"chromosomes": ["chr22"]})
    assert contents(tmp_path)["chr22.vcf.gz"] == contents(cohort)["chr22.vcf.gz"]


def test_simulate_cohort__reference_is_of_other_people_of_the_same_populations(tmp_path):
    options = SMALL | {"people": 10, "reference_people": 7}
    table = simulate_cohort(tmp_path / "cohort", reference=tmp_path / "reference", **options)
    assert len(table) == 10
    stores = []
    for folder, n_people in (("cohort", 10), ("reference", 7)):
        store = tmp_path / f"{folder}.zarr"
        counts = ingest_chromosome(tmp_path / folder / "21.vcf.gz", chromosome="21", store=store)
        assert (counts["skipped"], counts["missing_alleles"]) == ({}, 0)
        stores.append(HaplotypeStore.open(store))
        assert stores[-1].n_samples == n_people
    cohort, reference = stores
    assert not set(cohort.sample_id) & set(reference.sample_id)
    # Rare alleles are somebody's own: each cohort has sites that the other has not, and most are shared.
    sites = [set(site_names(store.variants)) for store in stores]
    assert sites[0] - sites[1]
    assert sites[1] - sites[0]
    assert len(sites[0] & sites[1]) > len(sites[0]) / 3
    assert all(alternate_frequency(store).min() > 0 for store in stores)


@pytest.mark.parametrize("model", ["OutOfAfrica_4J17", "AncientEurasia_9K19", "Zigzag_1S14"])
def test_simulate_cohort__other_models(tmp_path, model):
    table = simulate_cohort(tmp_path, chromosomes=[1], people=9, length=1_000, seed=1, model=model)
    assert table["population"].value_counts().max() - table["population"].value_counts().min() <= 1


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"model": "OutOfAtlantis"}, ("demographic-model-unknown", "`model`", "got OutOfAtlantis")),
        ({"chromosomes": ["X"]}, ("not-an-autosome", "`chromosomes`", "got X")),
        ({"people": 2}, ("people-fewer-than-populations", "`people`")),
        ({"length": 0}, ("length-out-of-range", "`length`")),
        ({"length": 10**8}, ("length-out-of-range", "`length`")),
    ],
)
def test_simulate_cohort__raise_on_domain(tmp_path, changes, fault):
    with refused(*fault, error=UsageError):
        simulate_cohort(tmp_path / "c", **SMALL | changes)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("output", "reference", "got"),
    [("21.vcf", None, "21.vcf"), ("21.vcf.gz", "public/22.vcf.gz", "22.vcf.gz")],
)
def test_simulate_cohort_step__raise_on_files_that_the_chromosome_does_not_name(
    tmp_path, output, reference, got
):
    files = {"output": tmp_path / output, "populations": tmp_path / "populations.tsv"}
    files["reference"] = reference and tmp_path / reference
    with refused("simulated-vcf-name", got, error=UsageError):
        simulate_step(settings_for("simulate-cohort"), **files)
    assert list(tmp_path.iterdir()) == []
