"""The first lines of a file of effects: the remarks above its table, and the names of its columns."""

import re
from pathlib import Path
from typing import NamedTuple

from dpgrs.io.genome_builds import LENGTHS
from dpgrs.io.tables.tables import BLANKS, header_of, plain_name, remarks_of, rows_of

# What states the build of a file's own positions; the second is of format 1.0 (2019-21).
BUILD_REMARKS = (
    *("genome_build", "original_genome_build", "genome_assembly", "reference_genome"),
    *("genomebuild", "assembly", "build"),
)
HARMONISED_BUILD = "hmpos_build"
# Assemblies by their numbers, of the Genome Reference Consortium (before it NCBI) and of UCSC.
BUILDS = {
    **{"38": "GRCh38", "37": "GRCh37", "36": "NCBI36", "35": "NCBI35"},
    **{"19": "GRCh37", "18": "NCBI36", "17": "NCBI35"},
}
NOT_STATED = {"", "nr", "na", "n/a", "none", "not reported", "unknown", "."}
WEIGHT = "effect_weight"
_WEIGHT_OF = re.compile(rf"#?{WEIGHT}[_.](.+)", re.IGNORECASE)
_BUILD = re.compile(r"(?:grch|hg|ncbi|hs|b|build|v)[ _.-]?(\d+)", re.IGNORECASE)


class Head(NamedTuple):
    """The first lines of a file of effects."""

    names: list[str]  # the first line of the table
    remarks: dict[str, str]  # of lines above it, by name in lower case

    @property
    def weight_columns(self) -> dict[str, int]:
        """The columns of weights by score: an empty name, or NAME of ``effect_weight_NAME``."""
        columns = {}
        for column, name in enumerate(self.names):
            if plain_name(name) == WEIGHT:
                columns[""] = column
            elif match := _WEIGHT_OF.fullmatch(name):
                columns[name if match[1] in columns else match[1]] = column
        return columns

    @property
    def stated_build(self) -> str:
        """The build of the file's own positions as the head writes it, empty if it states none."""
        stated = [self.remarks[name] for name in BUILD_REMARKS if name in self.remarks]
        return next((text for text in stated if build_of(text)), "")

    @property
    def own_build(self) -> str | None:
        """The build of the file's own positions, see `build_of`."""
        return build_of(self.stated_build)

    @property
    def harmonised_build(self) -> str | None:
        """The build of ``hm_chr`` and ``hm_pos``, see `build_of`."""
        return build_of(self.remarks.get(HARMONISED_BUILD, ""))

    @property
    def builds(self) -> list[str]:
        """The builds, of GRCh37 and GRCh38, in which the file states positions."""
        return [build for build in (self.own_build, self.harmonised_build) if build in LENGTHS]


def build_of(text: str) -> str | None:
    """Return the genome build that a text states: its name, the text if it is unknown, None if there is none.

    Examples
    --------
    >>> build_of("hg19"), build_of("GRCh38.p13"), build_of("b37 (hs37d5)"), build_of("hg18")
    ('GRCh37', 'GRCh38', 'GRCh37', 'NCBI36')
    >>> build_of("NR"), build_of("T2T-CHM13")
    (None, 'T2T-CHM13')
    """
    text = text.strip(BLANKS)
    if text.lower() in NOT_STATED:
        return None
    numbers = _BUILD.findall(f"b{text}" if text.isdecimal() else text)
    stated = {BUILDS[number] for number in numbers if number in BUILDS}
    return stated.pop() if len(stated) == 1 else text


def head_of(path: Path | str) -> Head:
    """Read the head of a file of effects."""
    return Head(header_of(rows_of(path), path), remarks_of(path))
