from pathlib import Path

import pandas as pd
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.io.genome_builds import (
    CHROMOSOMES,
    LENGTHS,
    SIMULATED_BUILD,
    BuildCheck,
    DeclaredBuild,
    declared_builds,
    genome_megabases,
)
from dpgrs.io.vcf.vcf import VcfHeader, read_header


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


def test_genome_megabases__is_the_length_of_the_chromosomes():
    assert genome_megabases(("chr21", "22"), "GRCh37") == pytest.approx(48.129895 + 51.304566)
    assert genome_megabases(("scaffold",), None) == pytest.approx(genome_megabases(("8",), None), rel=0.2)


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


# rs3094315 and rs7555566 on 1, rs2835370 on 21.
PLACES = {
    "NCBI36": (("1", 742429, "rs3094315"), ("1", 14677461, "rs7555566"), ("21", 36807495, "rs2835370")),
    "GRCh37": (("1", 752566, "rs3094315"), ("1", 14804874, "rs7555566"), ("21", 37885625, "rs2835370")),
    "GRCh38": (("1", 817186, "rs3094315"), ("1", 14478378, "rs7555566"), ("21", 36513327, "rs2835370")),
}


def judge(rows, *, build="GRCh38"):
    """Check rows of contig, position and id, in two tables; return the message, or None."""
    table = pd.DataFrame(rows, columns=["contig", "position", "id"]).astype({"contig": "str", "id": "str"})
    check = BuildCheck("a.vcf", build)
    try:
        check.add(table.iloc[:1])
        check.add(table.iloc[1:])
        check.finish()
    except DpgrsError as error:
        return str(error)


@pytest.mark.parametrize("build", LENGTHS)
@pytest.mark.parametrize("prefix", ["", "chr"])
def test_build_check__nothing_of_the_stated_build(build, prefix):
    rows = [(prefix + contig, *rest) for contig, *rest in PLACES[build]]
    assert judge(rows, build=build) is None
    assert (
        judge([(f"{prefix}1", LENGTHS[build]["1"], "."), ("GL000192.1", 2**31 - 1, ".")], build=build) is None
    )


@pytest.mark.parametrize("prefix", ["", "chr"])
def test_build_check__known_snps_of_another_build(prefix):
    rows = [(prefix + contig, *rest) for contig, *rest in PLACES["GRCh37"]]
    assert judge(rows) == (
        "`release.genome_build` must be the build of a.vcf, which has "
        f"rs3094315 at {prefix}1:752566 and rs7555566 at {prefix}1:14804874 (GRCh37), got GRCh38. "
        "Correct it, or lift the positions over."
    )
    assert judge(rows[2:]) == (
        "`release.genome_build` must be the build of a.vcf, which has "
        f"rs2835370 at {prefix}21:37885625 (GRCh37), got GRCh38. Correct it, or lift the positions over."
    )


@pytest.mark.parametrize("build", LENGTHS)
def test_build_check__known_snps_of_a_build_that_cannot_be_stated(build):
    message = judge(PLACES["NCBI36"], build=build)
    assert f"at 1:14677461 (NCBI36), got {build}." in message
    assert message.endswith(" Lift the positions over: it cannot be NCBI36 (hg18).")


@pytest.mark.parametrize("ids", ["rs1;rs3094315", "rs3094315;rs1", "rs1;rs3094315;rs2"])
def test_build_check__lists_of_ids(ids):
    assert "has rs3094315 at 1:752566 (GRCh37)" in judge([("1", 752566, ids)])


@pytest.mark.parametrize(
    "row",
    [
        ("1", 752566, "."),
        ("1", 752566, "rs30943150"),
        ("1", 752567, "rs3094315"),
        ("2", 752566, "rs3094315"),
        ("1", 14804874, "rs3094315"),
    ],
)
def test_build_check__nothing_of_other_ids_and_other_places(row):
    assert judge([row]) is None


def test_build_check__most_known_snps_decide():
    ours, theirs = PLACES["GRCh38"], PLACES["GRCh37"]
    assert judge([theirs[0], ours[1]]) is None
    assert judge([theirs[0], *ours[1:]]) is None
    assert "rs7555566 at 1:14804874 and rs2835370" in judge([ours[0], *theirs[1:]])
    # A record for each of its alleles counts once.
    assert judge([theirs[0], theirs[0], ours[1]]) is None


@pytest.mark.parametrize("build", LENGTHS)
@pytest.mark.parametrize("prefix", ["", "chr"])
def test_build_check__position_beyond_the_end(build, prefix):
    end = LENGTHS[build]["22"]
    rows = [(f"{prefix}1", end + 9, "."), *((f"{prefix}22", end + i, ".") for i in (0, 2, 1))]
    assert judge(rows, build=build) == (
        f"`release.genome_build` must be a build that has position {prefix}22:{end + 2} of a.vcf, "
        f"got {build}, whose chromosome 22 ends at {end}. Correct it, or lift the positions over."
    )


def test_build_check__no_variants():
    assert judge([]) is None
