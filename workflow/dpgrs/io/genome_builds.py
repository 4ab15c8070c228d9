"""The genome builds of a release, told apart by the lengths of their chromosomes and by well-known SNPs."""

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpgrs.errors import DpgrsError, must
from dpgrs.io.chromosomes import AUTOSOMES, accession_build, chromosome_name
from dpgrs.io.known_positions import PLACES, POSITIONS

KEY = "release.genome_build"
_POSITIONS = np.array(sorted(POSITIONS))
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


def is_autosome(contig):
    """Tell whether a chromosome is one of 1 to 22, by its name; of an unknown name it is not known."""
    return chromosome_name(contig) in AUTOSOMES


class DeclaredBuild(NamedTuple):
    """The build that a VCF's header gives away by the length of one chromosome, or by its accession."""

    path: Path
    chromosome: str
    length: int | None
    build: str

    @property
    def clue(self):
        """What of the header gives the build away, a text."""
        if self.length is None:
            return f"its contig {self.chromosome}"
        return f"the length {self.length} of chromosome {self.chromosome}"


def declared_builds(headers):
    """List what headers say about their build.

    A length of neither build says nothing: PLINK writes the last position plus one, and `bcftools convert`
    2^31 - 1.

    Parameters
    ----------
    headers : dict of chromosome, with or without ``chr``, to the VcfHeader of the file that holds it.

    Returns
    -------
    list of DeclaredBuild, one for each chromosome whose declared length is that of a known build, or whose
    name is an accession of one.
    """
    found = []
    for chromosome, header in headers.items():
        name = chromosome_name(chromosome)
        for contig, length in header.contigs.items():
            if chromosome_name(contig) != name:
                continue
            builds = [build for build, lengths in LENGTHS.items() if length and length == lengths.get(name)]
            if builds:
                found.append(DeclaredBuild(header.path, chromosome, length, builds[0]))
            elif build := accession_build(contig):
                found.append(DeclaredBuild(header.path, contig, None, build))
    return found


def builds_of_header(header):
    """Return the builds that a header gives away by any of its contigs, a dict of build to the clue."""
    declared = declared_builds(dict.fromkeys(map(chromosome_name, header.contigs), header))
    return {one.build: one.clue for one in reversed(declared)}


class BuildCheck:
    """Holds the positions of a file's variants against the build that is stated for them.

    A known SNP at its place in a build speaks for that build. Anywhere else it says nothing, for ids are
    renamed and merged. The file is refused where more SNPs speak for another build than for the one stated.

    Parameters
    ----------
    path : of the file, for messages.
    build : str, a key of `LENGTHS`.
    key : str, what states it, for messages.
    """

    def __init__(self, path, build, *, key=KEY):
        self._path = path
        self._build, self._key = build, key
        self._found = defaultdict(dict)

    def add(self, variants):
        """Look at variants.

        Parameters
        ----------
        variants : data frame, or dict of n_variants values each: contig (with or without ``chr``), position
            (1-based), id (ids with semicolons between them).

        Raises
        ------
        DpgrsError
            A position beyond the end of its chromosome.
        """
        contigs, ids = (np.asarray(variants[name], dtype=object) for name in ("contig", "id"))
        positions = np.asarray(variants["position"], dtype=np.int64)
        for contig in dict.fromkeys(contigs):
            end = LENGTHS[self._build].get(chromosome_name(contig))
            if end is not None and positions.max() > end:
                self._refuse_beyond(positions[contigs == contig], contig, end)
        # Few are left to be looked at one by one.
        near = np.isin(positions, _POSITIONS)
        for contig, position, own in zip(contigs[near], positions[near].tolist(), ids[near], strict=True):
            name, build = PLACES.get((chromosome_name(contig), position), (None, None))
            if name in own.split(";"):
                self._found[build][name] = f"{contig}:{position}"

    def finish(self):
        """Judge by the known SNPs of all variants.

        Raises
        ------
        DpgrsError
            More of them speak for another build than for the one stated.
        """
        build, found = max(self._found.items(), key=lambda item: len(item[1]), default=(self._build, {}))
        if len(found) <= len(self._found[self._build]):
            return
        shown = " and ".join(f"{name} at {place}" for name, place in list(found.items())[:2])
        fix = "Correct it, or lift the positions over."
        if build not in LENGTHS:
            fix = f"Lift the positions over: it cannot be {build} (hg18)."
        wanted = f"be the build of {self._path}, which has {shown} ({build})"
        raise DpgrsError(must(self._key, wanted, self._build, fix))

    def _refuse_beyond(self, positions, contig, end):
        beyond = positions[positions > end]
        if len(beyond):
            wanted = f"be a build that has position {contig}:{beyond[0]} of {self._path}"
            got = f"{self._build}, whose chromosome {chromosome_name(contig)} ends at {end}"
            raise DpgrsError(must(self._key, wanted, got, "Correct it, or lift the positions over."))
