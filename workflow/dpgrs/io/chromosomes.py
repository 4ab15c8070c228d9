"""Names of human chromosomes: one function that reads them all, for genotypes, scores and settings."""

import re
from functools import lru_cache

AUTOSOMES = tuple(map(str, range(1, 23)))
PARTS_OF_X = ("XY", "PAR1", "PAR2")  # the pseudoautosomal regions, of which everybody has two copies
_SYNONYMS = {name: name for name in (*AUTOSOMES, "X", "Y", "MT")}
_SYNONYMS |= {"23": "X", "24": "Y", "25": "X", "26": "MT", "M": "MT"} | dict.fromkeys(PARTS_OF_X, "X")
# PLINK's numbers, as PLINK's own names.
_PARTS = {"25": "XY"} | {name: name for name in PARTS_OF_X}

_PREFIX = re.compile(r"chr", re.IGNORECASE)
_ACCESSION = re.compile(r"NC_0*(\d+)\.(\d+)", re.IGNORECASE)
_MITOCHONDRION = 12920
# Versions of the accessions of 1 to 22, X and Y in GRCh37; GRCh38 has the next one of each.
_GRCH37 = (10, 11, 11, 11, 9, 11, 13, 10, 11, 10, 9, 11, 10, 8, 9, 9, 10, 9, 9, 10, 8, 10, 10, 9)


@lru_cache(2**14)
def chromosome_name(text: str) -> str:
    """Return the plain name of a chromosome, whichever synonym a file or a user writes.

    Synonyms have ``chr`` in any case and leading zeros, or are a number of PLINK (23 to 26), a
    pseudoautosomal region (``XY``, ``PAR1``, ``PAR2``), or an accession of RefSeq. The result is ``1`` to
    ``22``, ``X``, ``Y`` or ``MT``; any other name loses ``chr``.

    Examples
    --------
    >>> [chromosome_name(text) for text in ("chr1", "01", "23", "PAR1", "chrM", "NC_000001.11")]
    ['1', '1', 'X', 'X', 'MT', '1']
    >>> chromosome_name("chrUn_KI270302v1")
    'Un_KI270302v1'
    """
    if accession := _ACCESSION.fullmatch(text):
        number = int(accession[1])
        number = 26 if number == _MITOCHONDRION else number if number <= len(_GRCH37) else 0
        return _SYNONYMS.get(str(number), text)
    return _SYNONYMS.get(_bare(text), text.removeprefix("chr"))


def part_of_x(text: str) -> str | None:
    """Return the pseudoautosomal region of a name (``XY``, ``PAR1``, ``PAR2``), or None."""
    return _PARTS.get(_bare(text))


def everybody_has_two(text: str) -> bool:
    """Return whether everybody has two copies of a chromosome, by its name."""
    return chromosome_name(text) in AUTOSOMES or part_of_x(text) is not None


def is_chromosome(name: str, requested: str) -> bool:
    """Return whether a file's name of a chromosome is the requested one; X includes its regions.

    Examples
    --------
    >>> is_chromosome("chr1", "01"), is_chromosome("PAR1", "X"), is_chromosome("X", "PAR1")
    (True, True, False)
    """
    if region := part_of_x(requested):
        return part_of_x(name) == region
    return chromosome_name(name) == chromosome_name(requested)


def accession_build(text: str) -> str | None:
    """Return the build of an accession of RefSeq, ``GRCh37`` or ``GRCh38``; None for any other name.

    Examples
    --------
    >>> accession_build("NC_000001.10"), accession_build("NC_000023.11"), accession_build("chr1")
    ('GRCh37', 'GRCh38', None)
    """
    accession = _ACCESSION.fullmatch(text)
    if not accession or not 1 <= int(accession[1]) <= len(_GRCH37):
        return None
    newer = int(accession[2]) - _GRCH37[int(accession[1]) - 1]
    return {0: "GRCh37", 1: "GRCh38"}.get(newer)


def _bare(text: str) -> str:
    bare = _PREFIX.sub("", text, count=1) if _PREFIX.match(text) else text
    return bare.upper().lstrip("0")
