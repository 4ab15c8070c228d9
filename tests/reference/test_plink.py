"""PLINK files that plink2 makes of a VCF, against that VCF."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from dosage_files import dosage_text
from dpgrs.genotypes.bits import unpack
from dpgrs.io.genotype_files import genotype_header, genotype_reader
from dpgrs.io.plink.plink import has_provisional_ref
from vcf_files import record, vcf_text, write_text

N_PEOPLE = 37
CALLS = ("0|0", "0|1", "1|0", "1|1", ".|.")
UNPHASED = ("0/0", "0/1", "1/1", "./.")

pytestmark = pytest.mark.skipif(shutil.which("plink2") is None, reason="plink2 is not installed")


def random_vcf(path, *, calls, seed, contigs=("1", "2", "X")):
    """Write a VCF of random calls, with multi-allelic, filtered and symbolic records."""
    rng = np.random.default_rng(seed)
    lines = []
    for position in range(1, 400):
        drawn = rng.choice(calls, N_PEOPLE)
        alt = rng.choice(["C", "C", "G,T", "<DEL>", "CTT", "c"])
        if alt == "G,T":
            drawn = [call.replace("1", "2") if rng.random() < 0.5 else call for call in drawn]
        contig, filter_ = rng.choice(contigs), rng.choice(["PASS", ".", "q10"], p=[0.8, 0.1, 0.1])
        lines.append((contig, position, " ".join(drawn), alt, filter_))
    texts = [record(p, calls, contig=c, alt=a, filter_=f) for c, p, calls, a, f in sorted(lines)]
    text = vcf_text(*texts, samples=[f"p{i}" for i in range(N_PEOPLE)], contigs=contigs)
    return write_text(path, text.replace("#CHROM", '##FILTER=<ID=q10,Description="low">\n#CHROM'))


def plink2(*arguments):
    subprocess.run(
        ["plink2", "--threads", "1", "--memory", "640", *map(str, arguments)], check=True, capture_output=True
    )


def read(path, contig, **options):
    reader = genotype_reader(path, contig, **options)
    batches = list(reader.batches(50))
    planes = [
        unpack(np.concatenate([batch[i] for batch in batches]), 2 * N_PEOPLE).reshape(-1, N_PEOPLE, 2)
        for i in (1, 2)
    ]
    variants = [tuple(row) for batch in batches for row in batch.variants.itertuples(index=False)]
    return (reader.n_records, dict(reader.skipped), reader.missing_alleles, variants), *planes


@pytest.mark.parametrize("contig", ["1", "2"])
@pytest.mark.parametrize("keep_filtered", [True, False])
def test_pgen__phased_bits_equal_those_of_the_vcf(tmp_path, contig, keep_filtered):
    vcf = random_vcf(tmp_path / "a.vcf", calls=CALLS, seed=1)
    plink2("--vcf", vcf, "--make-pgen", "--out", tmp_path / "a")
    options = {"phased": "required", "keep_filtered": keep_filtered}
    counts, haplotypes, missing = read(tmp_path / "a.pgen", contig, **options)
    expected = read(vcf, contig, **options)
    assert counts == expected[0]
    assert np.array_equal(haplotypes, expected[1])
    assert np.array_equal(missing, expected[2])
    header = genotype_header(tmp_path / "a.pgen")
    assert header.samples == genotype_header(vcf).samples
    assert header.contigs == genotype_header(vcf).contigs


@pytest.mark.parametrize("contig", ["1", "X"])
@pytest.mark.parametrize("form", ["pgen", "bed"])
def test_unphased__dosages_equal_those_of_the_vcf(tmp_path, form, contig):
    vcf = random_vcf(tmp_path / "a.vcf", calls=UNPHASED, seed=2)
    if form == "bed":  # PLINK 1 has neither FILTER nor a third allele
        plink2("--vcf", vcf, "--max-alleles", 2, "--var-filter", "--make-bed", "--out", tmp_path / "a")
        plink2("--vcf", vcf, "--max-alleles", 2, "--var-filter", "--export", "vcf", "--out", tmp_path / "b")
        vcf = tmp_path / "b.vcf"
    else:
        plink2("--vcf", vcf, "--make-pgen", "--out", tmp_path / "a")
    counts, haplotypes, missing = read(tmp_path / f"a.{form}", contig, phased="any")
    expected = read(vcf, contig, phased="any")
    assert counts == expected[0]
    assert np.array_equal(haplotypes.sum(axis=2), expected[1].sum(axis=2))
    assert np.array_equal(missing, expected[2])


def test_haploid__calls_count_twice(tmp_path):
    calls = [["0", "1", "1|1", ".", "0|1"][i % 5] for i in range(N_PEOPLE)]
    people = [f"p{i}" for i in range(N_PEOPLE)]
    vcf = write_text(
        tmp_path / "a.vcf",
        vcf_text(record(5_000_000, " ".join(calls), contig="X"), samples=people, contigs=("X",)),
    )
    plink2("--vcf", vcf, "--make-pgen", "--out", tmp_path / "a")
    (n_records, _, missing_alleles, _), haplotypes, _ = read(tmp_path / "a.pgen", "X", phased="any")
    assert (n_records, missing_alleles) == (1, 2 * calls.count("."))
    expected = {"0": [0, 0], "1": [1, 1], "1|1": [1, 1], ".": [0, 0], "0|1": [0, 1]}
    assert haplotypes[0].tolist() == [expected[call] for call in calls]


def test_pgen__ref_of_a_bed_is_provisional(tmp_path):
    vcf = random_vcf(tmp_path / "a.vcf", calls=UNPHASED, seed=3, contigs=("1", "2"))
    plink2("--vcf", vcf, "--max-alleles", 2, "--make-pgen", "--out", tmp_path / "a")
    plink2("--pfile", tmp_path / "a", "--make-bed", "--out", tmp_path / "a")
    plink2("--bfile", tmp_path / "a", "--make-pgen", "--out", tmp_path / "b")
    assert not has_provisional_ref(tmp_path / "a.pgen")
    assert has_provisional_ref(tmp_path / "b.pgen")


def test_pgen__dosages_are_those_of_the_vcf(tmp_path):
    rng, lines = np.random.default_rng(4), []
    for number in range(150):
        calls = rng.choice([*UNPHASED, "0/0", "0/1", "1/1"], N_PEOPLE)
        values = rng.choice(
            ["", ":.", ":0", ":2", *(f":{value:.3f}" for value in rng.uniform(0, 2, 6))], N_PEOPLE
        )
        fields = " ".join(map(str.__add__, map(str, calls), map(str, values)))
        lines.append(record(1000 + number, fields, format_="GT:DS"))
    names = [f"p{i}" for i in range(N_PEOPLE)]
    vcf = write_text(tmp_path / "a.vcf", dosage_text(*lines, samples=names))
    plink2("--vcf", vcf, "dosage=DS", "--vcf-half-call", "m", "--make-pgen", "--out", tmp_path / "a")
    found, wanted = (
        next(genotype_reader(path, "1", phased="any", field="DS").batches(150))
        for path in (tmp_path / "a.pgen", vcf)
    )
    assert np.array_equal(found.missing, wanted.missing)
    # plink2 rounds to 2^-14 before.
    assert np.abs(found.dosages.astype(int) - wanted.dosages).max() == 1
    assert found.variants.equals(wanted.variants)


def test_fixed_sites__rows_of_others_stay_in_files_whose_ref_is_the_more_frequent_allele(tmp_path):
    """A cohort and one person fewer, from one VCF, as plink2 orders the alleles of either."""
    rng, n_sites = np.random.default_rng(6), 300
    size = n_sites, N_PEOPLE
    values = np.clip(rng.binomial(2, 0.5, size) + rng.integers(-99, 99, size) / 512, 0, 2)
    values[0], values[1] = 0, 2
    samples = tuple(f"P{number}" for number in range(N_PEOPLE))
    lines = [
        record(position, " ".join(f"{UNPHASED[round(x)]}:{x:.9g}" for x in row), format_="GT:DS")
        for position, row in enumerate(values, 1)
    ]
    vcf = write_text(tmp_path / "a.vcf", dosage_text(*lines, samples=samples))
    sites = pd.DataFrame({"contig": "1", "position": range(1, n_sites + 1), "ref": "A", "alt": "C"})
    plink2("--vcf", vcf, "dosage=DS", "--make-pgen", "--out", tmp_path / "whole")
    rows, refs = {}, {}
    for name, people in (("all", samples), ("fewer", samples[1:])):
        out = tmp_path / name
        keep = write_text(tmp_path / f"{name}.txt", "\n".join(people) + "\n")
        plink2(
            "--pfile", tmp_path / "whole", "--keep", keep, "--maj-ref", "force", "--make-pgen", "--out", out
        )
        plink2("--pfile", out, "--make-bed", "--out", out)
        plink2("--pfile", out, "--export", "bgen-1.2", "bits=16", "ref-first", "--out", out)
        lines = out.with_suffix(".pvar").read_text().splitlines()
        refs[name] = [line.split("\t")[3] for line in lines if line[0] != "#"]
        for form, field in (("bed", "GT"), ("pgen", "GT"), ("pgen", "DS"), ("bgen", "DS")):
            reader = genotype_reader(f"{out}.{form}", "1", phased="any", field=field, sites=sites)
            (batch,) = reader.batches(n_sites)
            calls = unpack(batch.haplotypes, 2 * len(people)).reshape(n_sites, -1, 2).sum(axis=2)
            rows[name, form, field] = calls if field == "GT" else batch.dosages
    assert {*refs["all"]} == {"A", "C"}
    assert refs["all"] != refs["fewer"]
    for form, field in (("bed", "GT"), ("pgen", "GT"), ("pgen", "DS"), ("bgen", "DS")):
        np.testing.assert_array_equal(rows["all", form, field][:, 1:], rows["fewer", form, field])
    np.testing.assert_array_equal(rows["all", "bed", "GT"], rows["all", "pgen", "GT"])
    np.testing.assert_array_equal(rows["all", "pgen", "DS"], np.rint(values * 2**12))
