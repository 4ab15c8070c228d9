from pathlib import Path

import pytest

from dpgrs.io.genome_builds import CHROMOSOMES, LENGTHS, SIMULATED_BUILD, DeclaredBuild, declared_builds
from dpgrs.io.vcf import VcfHeader, read_header


def header(**contigs):
    return VcfHeader(Path("a.vcf"), ("A", "B"), contigs)


def test_lengths__are_those_of_the_catalogue_that_simulates():
    genome = pytest.importorskip("stdpopsim").get_species("HomSap").genome
    assert genome.assembly_name.partition(".")[0] == SIMULATED_BUILD
    catalogue = {chromosome.id: chromosome.length for chromosome in genome.chromosomes}
    assert LENGTHS["GRCh38"] == {name: catalogue[name] for name in CHROMOSOMES}


@pytest.mark.realdata
def test_lengths__are_those_of_1000_genomes(real_data):
    (path,) = (real_data / "1kg" / "phase3_chr1_region").glob("*.vcf.gz")
    contigs = read_header(path).contigs
    assert LENGTHS["GRCh37"] == {name: contigs[name] for name in CHROMOSOMES}


def test_lengths__tell_the_builds_apart():
    assert set(LENGTHS["GRCh37"].items()).isdisjoint(LENGTHS["GRCh38"].items())


@pytest.mark.parametrize("build", LENGTHS)
@pytest.mark.parametrize(("prefix", "asked"), [("", "chr"), ("chr", ""), ("", ""), ("chr", "chr")])
def test_declared_builds__every_chromosome_with_and_without_chr(build, prefix, asked):
    contigs = {f"{prefix}{name}": length for name, length in LENGTHS[build].items()}
    found = declared_builds({f"{asked}{name}": header(**contigs) for name in CHROMOSOMES})
    assert found == [
        DeclaredBuild(Path("a.vcf"), f"{asked}{name}", LENGTHS[build][name], build) for name in CHROMOSOMES
    ]


@pytest.mark.parametrize(
    "contigs",
    [
        {},
        {"21": None},
        {"22": LENGTHS["GRCh37"]["22"]},
        {"21": LENGTHS["GRCh37"]["22"]},
        # As PLINK and `bcftools convert` write them.
        {"21": LENGTHS["GRCh37"]["21"] - 50_000},
        {"21": 2**31 - 1},
    ],
)
def test_declared_builds__none_where_the_header_does_not_say(contigs):
    assert declared_builds({"21": header(**contigs)}) == []


def test_declared_builds__none_of_other_contigs():
    assert declared_builds({"MT": header(MT=16_569)}) == []
