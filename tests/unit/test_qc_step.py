import numpy as np
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.io.files import file_digest, read_table, save_arrays
from dpgrs.io.genotype_summary import GenotypeSummary
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.steps import summarise_genotypes as qc
from dpgrs.steps.make_variants import make_variants
from random_cohorts import random_alleles
from refused import refused
from step_settings import settings_for
from vcf_files import record, vcf_text, write_text

N_PEOPLE = 60
LOOSE = {"missing": 1, "ambiguous": "keep", "multiallelic": "keep"}


@pytest.fixture
def cohort(tmp_path):
    """Two chromosomes of 60 people of three populations, one of them too small, and some missing alleles."""
    samples = tuple(f"p{i}" for i in range(N_PEOPLE))
    stores = []
    for seed, chromosome in enumerate(("1", "2")):
        alleles = random_alleles(50, 2 * N_PEOPLE, seed=seed).astype(str)
        alleles[::7, 3] = "."
        calls = [" ".join(f"{a}|{b}" for a, b in row.reshape(-1, 2)) for row in alleles]
        records = [record(1000 * (i + 1), one, contig=chromosome) for i, one in enumerate(calls)]
        vcf = write_text(tmp_path / f"{chromosome}.vcf", vcf_text(*records, samples=samples))
        ingest_chromosome(vcf, chromosome=chromosome, store=tmp_path / f"{chromosome}.zarr")
        stores.append(tmp_path / f"{chromosome}.zarr")
    names = ["A"] * 30 + ["B"] * 25 + ["C"] * 5
    lines = [f"{sample}\t{name}" for sample, name in zip(samples, names, strict=True)]
    return stores, write_text(tmp_path / "populations.tsv", "\n".join(["sample\tpopulation", *lines]) + "\n")


def summary(tmp_path, stores, populations, **filters):
    settings = settings_for("summarise-genotypes", variants=LOOSE | {"maf": 0.05} | filters)
    qc.summarise_genotypes(settings, stores, populations=populations, output=tmp_path / "summary.npz")
    return GenotypeSummary.load(tmp_path / "summary.npz")


def test_summarise_genotypes__of_all_where_there_are_few(tmp_path, cohort):
    found = summary(tmp_path, *cohort)
    assert (found.names.tolist(), found.sizes.tolist()) == (["A", "B"], [30, 25])
    assert 90 <= found.n_variants <= 100  # few of the random variants go with each other by chance
    assert found.population.tolist() == ["A"] * 30 + ["B"] * 25 + ["C"] * 5
    assert found.fst.shape == (2, 2)
    np.testing.assert_allclose(found.observed, found.expected, rtol=0.1)
    assert found.n_pairs.sum() == 2 * 50 * 49 / 2
    assert np.isfinite(found.decay[found.n_pairs >= 20]).all()
    # The known calls of person 1, whose second allele is missing at every seventh variant.
    assert np.isfinite(found.heterozygosity).all()
    assert np.isfinite(found.components).all()


def test_summarise_genotypes__of_some_where_there_are_many(tmp_path, cohort, monkeypatch):
    whole = summary(tmp_path, *cohort)
    for name, most in (("MOST_PEOPLE", 20), ("MOST_VARIANTS", 30), ("DECAY_VARIANTS", 10)):
        monkeypatch.setattr(qc, name, most)
    found = summary(tmp_path, *cohort)
    assert (found.n_variants, found.n_known, len(found.heterozygosity)) == (30, N_PEOPLE, 20)
    assert found.n_pairs.sum() <= 2 * 10 * 9 / 2 < whole.n_pairs.sum()
    assert found.sizes.tolist() == [size for size in found.sizes if size >= qc.FEWEST_MEMBERS]


def test_summarise_genotypes__without_populations_or_on_one_chromosome_alone(tmp_path, cohort):
    stores, _ = cohort
    found = summary(tmp_path, stores[:1], None)
    assert (len(found.names), len(found.population), found.fst.shape) == (0, 0, (0, 0))


def test_genotype_summary__raise_on_another_file(tmp_path):
    save_arrays(tmp_path / "x.npz", {"weights": np.zeros(2)})
    with refused("not-a-genotype-summary"):
        GenotypeSummary.load(tmp_path / "x.npz")


@pytest.fixture
def males(tmp_path):
    """The store of a chromosome X of 12 men and 8 women, with one variant that no woman is called at."""
    samples = tuple(f"p{i}" for i in range(20))
    alleles = random_alleles(30, 40, seed=1)
    pairs = alleles.reshape(30, 20, 2)
    calls = [[f"{a}" if i < 12 else f"{a}|{b}" for i, (a, b) in enumerate(row)] for row in pairs]
    calls[7][12:] = [".|."] * 8
    records = [record(1000 * (i + 1), " ".join(one), contig="X") for i, one in enumerate(calls)]
    vcf = write_text(tmp_path / "X.vcf", vcf_text(*records, samples=samples, contigs=("X",)))
    ingest_chromosome(vcf, chromosome="X", store=tmp_path / "X.zarr")
    return tmp_path / "X.zarr"


def variant_set_of(**filters):
    return settings_for("make-variants", variants=LOOSE | {"size": 20, "maf": 0} | filters)


LIKELY = "Likely cause: calls of one allele, as of males on X: with `cohort.rows: haplotypes` the second"


def test_make_variants__warns_of_missing_alleles_and_counts_them(tmp_path, males):
    paths = {"output": tmp_path / "variants.zarr", "qc": tmp_path / "qc.tsv"}
    found = make_variants(variant_set_of(missing=0.5), [males], **paths)
    known = 1 - (30 * 12 + 16) / (30 * 40)
    first, of_panel = found["warnings"]
    assert first.startswith(f"Missing: {100 * (1 - known):.0f} % of the alleles of chromosome X. {LIKELY}")
    assert of_panel == "Missing: 30 % of the variants' alleles; `variants.missing` lowers it."
    counts = read_table(paths["qc"])
    for name, share in (("call_rate", known), ("least_call_rate", 12 / 40), ("half_calls", 12 / 20)):
        np.testing.assert_allclose(counts[name], share)
    assert counts["missing"].tolist() == [1, 1]
    with refused("too-few-variants", "got 20", "`variants.missing`", LIKELY):
        make_variants(variant_set_of(missing=0.05), [males], output=tmp_path / "none.zarr")


def test_make_variants__without_missing_alleles_warns_of_nothing(tmp_path, cohort):
    stores, _ = cohort
    found = make_variants(variant_set_of(), stores, output=tmp_path / "variants.zarr")
    assert set(found) == {"n_variants", "n_usable", "n_filled"}


def test_make_variants__of_public_genotypes_takes_the_published_files_alone(tmp_path, cohort):
    (first, second), _ = cohort
    one, two, other = file_digest(tmp_path / "1.vcf"), file_digest(tmp_path / "2.vcf"), "0" * 64

    def make(stores, *digests):
        settings = settings_for("make-variants", variants=LOOSE | {"size": 20, "maf": 0}, public=of(digests))
        return make_variants(settings, stores, output=tmp_path / "variants.zarr")

    for stores, digests, got in (
        ([first, second], [one, other], "another: 2.vcf"),
        ([first, second], [one], "another: 2.vcf"),
        ([first], [one, two], "only some of them"),
    ):
        wanted = f"must be of the files of `public.genotypes.sha256`, got {got}. Restore the published ones."
        with pytest.raises(DpgrsError, match=wanted):
            make(stores, *digests)
        assert not (tmp_path / "variants.zarr").exists()
    (tmp_path / "2.vcf").write_text("as noted when it was read\n")
    assert make([first, second], two, one)["n_variants"] == 20


def of(digests):
    return {"genotypes": {"sha256": list(digests)}}


def test_summarise_genotypes__call_rates_of_all_variants_and_of_people(tmp_path, males):
    found = summary(tmp_path, [males], None, maf=0, missing=0.5)
    # Variants at 30 and 70 %; men at 50 %, women at 29 of 30.
    assert found.variant_calls.tolist() == [1, 29, 0, 0, 0, 0, 0, 0]
    assert found.person_calls.tolist() == [0, 12, 0, 0, 8, 0, 0, 0]
