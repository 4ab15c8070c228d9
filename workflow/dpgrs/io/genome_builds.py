"""The genome builds of a release, told apart by the lengths of their chromosomes."""

from pathlib import Path
from typing import NamedTuple

CHROMOSOMES = (*map(str, range(1, 23)), "X")
# As the assemblies GCA_000001405.1 and GCA_000001405.15 have them; their patches changed no length.
LENGTHS = {
    "GRCh37": dict(
        zip(
            CHROMOSOMES,
            (
                *(249250621, 243199373, 198022430, 191154276, 180915260, 171115067, 159138663, 146364022),
                *(141213431, 135534747, 135006516, 133851895, 115169878, 107349540, 102531392, 90354753),
                *(81195210, 78077248, 59128983, 63025520, 48129895, 51304566, 155270560),
            ),
            strict=True,
        )
    ),
    "GRCh38": dict(
        zip(
            CHROMOSOMES,
            (
                *(248956422, 242193529, 198295559, 190214555, 181538259, 170805979, 159345973, 145138636),
                *(138394717, 133797422, 135086622, 133275309, 114364328, 107043718, 101991189, 90338345),
                *(83257441, 80373285, 58617616, 64444167, 46709983, 50818468, 156040895),
            ),
            strict=True,
        )
    ),
}
# The assembly of stdpopsim's human catalogue, which a test holds against it.
SIMULATED_BUILD = "GRCh38"


class DeclaredBuild(NamedTuple):
    """The build that a VCF's header gives away by the length of one chromosome."""

    path: Path
    chromosome: str
    length: int
    build: str


def declared_builds(headers):
    """List what headers say about their build.

    A length of neither build says nothing: PLINK writes the last position plus one, and `bcftools convert`
    2^31 - 1.

    Parameters
    ----------
    headers : dict of chromosome, with or without ``chr``, to the VcfHeader of the file that holds it.

    Returns
    -------
    list of DeclaredBuild, one for each chromosome whose declared length is that of a known build.
    """
    return [
        DeclaredBuild(header.path, chromosome, length, build)
        for chromosome, header in headers.items()
        for length in _declared_lengths(header, chromosome.removeprefix("chr"))
        for build, lengths in LENGTHS.items()
        if length == lengths.get(chromosome.removeprefix("chr"))
    ]


def _declared_lengths(header, bare):
    found = (header.contigs.get(name) for name in (bare, f"chr{bare}"))
    return [length for length in found if length is not None]
