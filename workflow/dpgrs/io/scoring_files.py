"""Files of effects of variants: scoring files of the PGS Catalog, and summary statistics (GWAS-SSF).

Columns are known by the names of the two formats [1]_ [2]_.

References
----------
.. [1] https://www.pgscatalog.org/downloads/#dl_ftp_scoring
.. [2] https://github.com/EBISPOT/gwas-summary-statistics-standard
"""

import codecs
import re
import zlib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from dpgrs.errors import DpgrsError, shown
from dpgrs.io.effects_head import head_of
from dpgrs.io.genome_builds import KEY, LENGTHS, BuildCheck
from dpgrs.io.known_positions import POSITIONS
from dpgrs.io.tables.tables import (
    BLANKS,
    REMARK,
    find_column,
    header_of,
    number_of,
    plain_name,
    rows_of,
)

COLUMNS = {
    "contig": {"chr_name", "chromosome", "chrom", "chr"},
    "position": {"chr_position", "base_pair_location", "position", "pos"},
    "effect_allele": {"effect_allele"},
    "other_allele": {"other_allele", "reference_allele"},
    "weight": {"effect_weight"},
    "beta": {"beta"},
    "ratio": {"odds_ratio", "or", "hazard_ratio", "hr"},
    "frequency": {"allelefrequency_effect", "effect_allele_frequency"},
    "id": {"rsid", "rs_id", "hm_rsid"},
}
NUMBERS = ("weight", "beta", "ratio", "frequency")
# Of a harmonised file, in another build than its own.
HARMONISED = {"contig": {"hm_chr"}, "position": {"hm_pos"}}
NEEDED = {"contig": "chr_name", "position": "chr_position", "effect_allele": "effect_allele"}
# What a row may say of how its effect adds up; no score of single alleles has it.
NOT_ADDITIVE = ("is_haplotype", "is_diplotype", "is_interaction", "is_dominant", "is_recessive")
ROWS_AT_A_TIME = 2**18
# Of a file on disk: a larger one is read row by row.
LARGEST_AT_ONCE = 2**26
_REMARK = re.compile(REMARK.pattern.encode())


@dataclass(frozen=True)
class EffectsFile:
    """A file whose names of columns are understood.

    Attributes
    ----------
    path : of the file.
    build : ``GRCh37``, ``GRCh38`` or None, of the study.
    columns : dict of the keys of `COLUMNS` to places.
    flags : list of int, places of the columns of `NOT_ADDITIVE`.
    names : list of str, the first line of the table.
    remarks : dict of what its head says, names in lower case.
    """

    path: str
    build: str | None
    columns: dict
    flags: list
    names: list
    remarks: dict

    @property
    def is_marginal(self):
        """Whether effects are of one variant at a time: a score alone has weights that go together."""
        return "weight" not in self.columns

    def parts(self):
        """Yield `EffectRows` after `EffectRows`, in the order of the file.

        Raises
        ------
        DpgrsError
            Damaged file, or a row of other columns than the first.
        """
        places = sorted({*self.columns.values(), *self.flags})
        cells = _all_at_once(self.path, self.names, places)
        if cells is not None:
            yield self._rows(cells, 1)
            return
        rows, first = rows_of(self.path), 1
        header_of(rows, self.path)
        while part := list(islice(rows, ROWS_AT_A_TIME)):
            yield self._rows({place: [row[place] for _, row in part] for place in places}, first)
            first += len(part)

    def _rows(self, cells, first):
        import pyarrow as pa

        texts = {place: pa.array(own, pa.string()) for place, own in cells.items()}
        of = {name: texts[place] for name, place in self.columns.items()}
        n_rows = len(of["position"])
        none = np.full(n_rows, np.nan)
        numbers = {name: _numbers(of[name]) if name in of else none for name in NUMBERS}
        ratio = numbers["ratio"]
        effect = np.log(ratio, out=none.copy(), where=ratio > 0)
        for name in ("beta", "weight"):
            if name in of:
                effect = np.where(np.isnan(numbers[name]), effect, numbers[name])
        blank = np.full(n_rows, "", dtype=object)
        flags = [_mapped(texts[place], lambda text: text.lower() == "true") for place in self.flags]
        return EffectRows(
            contig=_mapped(of["contig"], lambda text: text.removeprefix("chr")),
            position=_positions(of["position"]),
            effect_allele=_mapped(of["effect_allele"], str.upper),
            other_allele=_mapped(of["other_allele"], str.upper) if "other_allele" in of else blank,
            effect=effect,
            frequency=numbers["frequency"],
            id=_mapped(of["id"], str) if "id" in self.columns else None,
            is_additive=~np.any([np.zeros(n_rows, bool), *flags], axis=0).astype(bool),
            first=first,
        )


@dataclass(frozen=True)
class EffectRows:
    """Rows of a file of effects.

    Attributes
    ----------
    contig : (n_rows,) object array of str, without ``chr``.
    position : (n_rows,) int64, 1-based, 0 where there is none.
    effect_allele, other_allele : (n_rows,) object arrays of str in capitals, empty where not told.
    effect : (n_rows,) float64, per copy of the effect allele, NaN where none is told. Odds and hazard ratios
        are logarithms.
    frequency : (n_rows,) float64, of the effect allele, NaN where not told.
    id : (n_rows,) object array of str, None where the file has no such column.
    is_additive : (n_rows,) bool, whether copies of single alleles add up.
    first : int, the number of the first row, from 1 below the names.
    """

    contig: np.ndarray
    position: np.ndarray
    effect_allele: np.ndarray
    other_allele: np.ndarray
    effect: np.ndarray
    frequency: np.ndarray
    id: np.ndarray | None
    is_additive: np.ndarray
    first: int


_KNOWN = np.array(sorted(POSITIONS))


def open_effects(path, *, build, head=None):
    """Look at the head of a file of effects.

    Parameters
    ----------
    path : the file, plain or gzipped.
    build : ``GRCh37``, ``GRCh38`` or None, where that of the study is not known.
    head : Head, from `head_of`; None reads it.

    Returns
    -------
    EffectsFile

    Raises
    ------
    DpgrsError
        Missing or unreadable file, no column of a place, an allele or an effect, or another genome build.
    """
    head = head or head_of(path)
    names, remarks = head
    columns = {}
    header = [plain_name(name) for name in names]
    named = COLUMNS
    if build and head.harmonised_build == build:
        named = COLUMNS | HARMONISED
    elif head.own_build and head.own_build != build and (build or head.own_build not in LENGTHS):
        wanted = f"the genotypes' genome build, {build}" if build else f"genome build {' or '.join(LENGTHS)}"
        raise DpgrsError(
            f"`{path}` must be of {wanted}, got {shown(head.stated_build)}. Take the file that is harmonised "
            "to that build."
        )
    for name, aliases in named.items():
        place = find_column(header, aliases)
        if place is not None:
            columns[name] = place
    lacking = [example for name, example in NEEDED.items() if name not in columns]
    lacking += [] if columns.keys() & {"weight", "beta", "ratio"} else ["effect_weight, beta or odds_ratio"]
    if lacking:
        raise DpgrsError(
            f"`{path}`: must name columns of place, allele and effect, got none for {', '.join(lacking)}. "
            "Take a scoring file of the PGS Catalog, or summary statistics in GWAS-SSF."
        )
    flags = [header.index(name) for name in NOT_ADDITIVE if name in header]
    return EffectsFile(path, build, columns, flags, names, remarks)


def require_build(path, build, known, *, key=KEY):
    """Refuse positions of another genome build.

    Parameters
    ----------
    path : of the file, for messages.
    build : str or None, the build that is stated; nothing is known of others than GRCh37 and GRCh38.
    known : list of dicts, from `known_rows`.
    key : str, what states the build.

    Raises
    ------
    DpgrsError
    """
    if build not in LENGTHS:
        return
    check = BuildCheck(path, build, key=key)
    for part in known:
        if len(part["position"]):
            check.add(part)
    check.finish()


def known_rows(contig, position, ids):
    """Return the variants at places of well-known SNPs, as `BuildCheck` takes them; few are."""
    near = np.isin(position, _KNOWN)
    return {"contig": contig[near], "position": position[near], "id": ids[near]}


def _all_at_once(path, names, places):
    """Return columns of a table with tabs, dict of place to array; None where rows must be looked at."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    try:
        data = Path(path).read_bytes() if Path(path).stat().st_size <= LARGEST_AT_ONCE else b""
        if data[:2] == b"\x1f\x8b":
            from isal import igzip

            data = igzip.decompress(data)
        data = data.removeprefix(codecs.BOM_UTF8)
        at, end = 0, data.find(b"\n")
        while end >= 0 and _REMARK.match(data, at, end):
            at, end = end + 1, data.find(b"\n", end + 1)
        is_plain = end >= 0 and b'"' not in data and b"\r" not in data
        if not is_plain or data[at:end].decode().split("\t") != names:
            return None
        table = csv.read_csv(
            pa.py_buffer(data[at:]),
            read_options=csv.ReadOptions(use_threads=False, block_size=max(len(data), 1)),
            parse_options=csv.ParseOptions(delimiter="\t", quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types={name: pa.string() for name in names},
                include_columns=[names[place] for place in places],
                strings_can_be_null=False,
            ),
        )
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, pa.ArrowInvalid):
        return None
    columns = {place: column.combine_chunks() for place, column in zip(places, table.columns, strict=True)}
    # A line of blanks alone is no row.
    return None if pc.any(pc.equal(columns[places[0]], "")).as_py() else columns


def _mapped(texts, function):
    """Return what a function makes of texts, which mostly repeat, an object array."""
    texts = texts.dictionary_encode()
    values = [function(text.strip(BLANKS)) for text in texts.dictionary.to_pylist()]
    if not values:
        return np.zeros(0, dtype=object)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found[texts.indices.to_numpy(zero_copy_only=False).astype(np.int64)]


def _numbers(texts):
    """Return the numbers of texts, (n,) float64, NaN where there is none."""
    import pyarrow as pa

    try:
        numbers = texts.cast(pa.float64()).to_numpy(zero_copy_only=False).copy()
    except pa.ArrowInvalid:
        numbers = np.array([number_of(text.strip(BLANKS)) for text in texts.to_pylist()], dtype=float)
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers


def _positions(texts):
    """Return positions, (n,) int64, 0 where there is none."""
    import pyarrow as pa

    try:
        return np.maximum(texts.cast(pa.int64()).to_numpy(zero_copy_only=False), 0)
    except pa.ArrowInvalid:
        cells = (text.strip(BLANKS) for text in texts.to_pylist())
        return np.array(
            [int(text) if text.isdecimal() and len(text) < 12 else 0 for text in cells], dtype=np.int64
        )
