"""The genome builds of a release, told apart by the lengths of their chromosomes and by well-known SNPs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpgrs.errors import DpgrsError, must
from dpgrs.io.chromosomes import AUTOSOMES, accession_build, chromosome_name
from dpgrs.io.known_positions import PLACES, POSITIONS

if TYPE_CHECKING:
    from dpgrs.io.vcf.vcf import VcfHeader

KEY = "release.genome_build"
_POSITIONS = np.array(sorted(POSITIONS))
MEGABASE = 1e6
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


def genome_megabases(chromosomes: Iterable[str], genome_build: str | None) -> float:
    """Return the length of chromosomes; one of an unknown name is as long as the mean."""
    lengths = LENGTHS[genome_build or SIMULATED_BUILD]
    mean = sum(lengths.values()) / len(lengths)
    return sum(lengths.get(chromosome_name(name), mean) for name in chromosomes) / MEGABASE


def is_autosome(contig: str) -> bool:
    """Return whether the name of a chromosome is one of 1 to 22."""
    return chromosome_name(contig) in AUTOSOMES


class DeclaredBuild(NamedTuple):
    """The build that a VCF's header shows by the length of one chromosome, or by its accession."""

    path: Path
    chromosome: str
    length: int | None
    build: str

    @property
    def clue(self) -> str:
        """The entry of the header that shows the build, in words."""
        if self.length is None:
            return f"its contig {self.chromosome}"
        return f"the length {self.length} of chromosome {self.chromosome}"


def declared_builds(headers: "Mapping[str, VcfHeader]") -> list[DeclaredBuild]:
    """Return the builds that headers show, by chromosome, with or without ``chr``.

    There is one for each chromosome with the declared length of a known build, or whose name is an
    accession of one. A length of neither build shows nothing: PLINK writes the last position plus one, and
    `bcftools convert` 2^31 - 1.
    """
    declared = []
    for chromosome, header in headers.items():
        name = chromosome_name(chromosome)
        for contig, length in header.contigs.items():
            if chromosome_name(contig) != name:
                continue
            builds = [build for build, lengths in LENGTHS.items() if length and length == lengths.get(name)]
            if builds:
                declared.append(DeclaredBuild(header.path, chromosome, length, builds[0]))
            elif build := accession_build(contig):
                declared.append(DeclaredBuild(header.path, contig, None, build))
    return declared


def builds_of_header(header: "VcfHeader") -> dict[str, str]:
    """Return the builds that any contig of a header shows, with the clue."""
    declared = declared_builds(dict.fromkeys(map(chromosome_name, header.contigs), header))
    return {declaration.build: declaration.clue for declaration in reversed(declared)}


class BuildCheck:
    """Compares the positions of a file's variants with the build that `key` states for them.

    A known SNP at its place in a build is evidence for that build. Anywhere else it is none, for ids are
    renamed and merged. The file is refused if more SNPs are evidence for another build than for the stated
    one, a key of `LENGTHS`.
    """

    def __init__(self, path: Path | str, build: str, *, key: str = KEY) -> None:
        self._path = path
        self._build, self._key = build, key
        self._evidence: dict[str, dict[str, str]] = defaultdict(dict)  # build -> SNP -> its place

    def add(self, variants: Any) -> None:
        """Check variants, and refuse a position beyond the end of its chromosome.

        They are a data frame, or a dict of n_variants values each: contig (with or without ``chr``), position
        (1-based), id (ids with semicolons between them).
        """
        contigs, ids = (_column(variants[name]) for name in ("contig", "id"))
        positions = np.asarray(variants["position"], dtype=np.int64)
        for contig in contigs.unique() if hasattr(contigs, "unique") else dict.fromkeys(contigs):
            end = LENGTHS[self._build].get(chromosome_name(contig))
            if end is not None and positions.max() > end:
                self._refuse_beyond(positions[np.asarray(contigs == contig)], contig, end)
        # Few variants are left, which are checked one by one.
        near = np.isin(positions, _POSITIONS)
        for contig, position, names in zip(contigs[near], positions[near].tolist(), ids[near], strict=True):
            name, build = PLACES.get((chromosome_name(contig), position), (None, None))
            if name in names.split(";"):
                self._evidence[build][name] = f"{contig}:{position}"

    def finish(self) -> None:
        """Refuse the file if more of its known SNPs are evidence for another build than `build`."""
        build, snps = max(
            self._evidence.items(), key=lambda build_snps: len(build_snps[1]), default=(self._build, {})
        )
        if len(snps) <= len(self._evidence[self._build]):
            return
        shown = " and ".join(f"{name} at {site}" for name, site in list(snps.items())[:2])
        fix = "Correct it, or lift the positions over."
        if build not in LENGTHS:
            fix = f"Lift the positions over: it cannot be {build} (hg18)."
        domain = f"be the build of {self._path}, which has {shown} ({build})"
        raise DpgrsError("genome-build-differs", must(self._key, domain, self._build, fix))

    def _refuse_beyond(self, positions: np.ndarray, contig: str, end: int) -> None:
        beyond = positions[positions > end]
        if len(beyond):
            domain = f"be a build that has position {contig}:{beyond[0]} of {self._path}"
            got = f"{self._build}, whose chromosome {chromosome_name(contig)} ends at {end}"
            raise DpgrsError(
                "position-beyond-chromosome",
                must(self._key, domain, got, "Correct it, or lift the positions over."),
            )


def _column(column: Any) -> Any:
    """Return a column of a data frame as it is, and any other as an array of objects."""
    return column if hasattr(column, "unique") else np.asarray(column, dtype=object)
