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
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from dpgrs.errors import DpgrsError, shown
from dpgrs.io.chromosomes import accession_build, chromosome_name
from dpgrs.io.effect_cells import mapped, numbers_in, one_allele, positions_in
from dpgrs.io.effect_types import (
    ADDITIVE,
    DOSAGE_COLUMNS,
    TYPE_COLUMN,
    effect_types,
    truth_of,
    type_of,
)
from dpgrs.io.effect_types import COLUMNS as TYPE_COLUMNS
from dpgrs.io.effects_head import head_of
from dpgrs.io.genome_builds import KEY, LENGTHS, BuildCheck
from dpgrs.io.known_positions import POSITIONS
from dpgrs.io.tables.tables import (
    MISSING,
    REMARK,
    find_column,
    header_of,
    plain_name,
    rows_of,
)

COLUMNS = {
    "contig": {"chr_name", "chromosome", "chrom", "chr"},
    "position": {"chr_position", "base_pair_location", "position", "pos"},
    "effect_allele": {"effect_allele"},
    "other_allele": {"other_allele", "reference_allele"},
    "beta": {"beta"},
    "ratio": {"odds_ratio", "or", "hazard_ratio", "hr"},
    "frequency": {"allelefrequency_effect", "effect_allele_frequency"},
    "id": {"rsid", "rs_id", "hm_rsid"},
    "accession": {"accession"},
}
NUMBERS = ("beta", "ratio", "frequency")
# Of a harmonised file, in another build than its own.
HARMONISED = {"contig": {"hm_chr"}, "position": {"hm_pos"}, "inferred": {"hm_inferotherallele"}}
NEEDED = {"contig": "chr_name", "position": "chr_position", "effect_allele": "effect_allele"}
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
    weights : dict of the scores of the file to places, see `dpgrs.io.effects_head.Head.weight_columns`.
    types : dict of the names of `dpgrs.io.effect_types.COLUMNS` to places.
    names : list of str, the first line of the table.
    remarks : dict of what its head says, names in lower case.
    """

    path: str
    build: str | None
    columns: dict
    weights: dict
    types: dict
    names: list
    remarks: dict

    @property
    def scores(self):
        """The scores whose weights the file has, a tuple of str, see `Head.weight_columns`."""
        return tuple(self.weights) or ("",)

    @property
    def is_marginal(self):
        """Whether effects are of one variant at a time: a score alone has weights that go together."""
        return not self.weights and DOSAGE_COLUMNS[0] not in self.types

    def parts(self):
        """Yield `EffectRows` after `EffectRows`, in the order of the file.

        Raises
        ------
        DpgrsError
            Damaged file, or a row of other columns than the first.
        """
        places = sorted({*self.columns.values(), *self.weights.values(), *self.types.values()})
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
        effect_allele = mapped(of["effect_allele"], str.upper)
        numbers = {name: numbers_in(of[name]) for name in NUMBERS if name in of}
        types, dosage_weights = self._types(texts, n_rows, first)
        return EffectRows(
            contig=mapped(of["contig"], self._contig),
            position=positions_in(of["position"]),
            effect_allele=effect_allele,
            other_allele=self._other_allele(of, effect_allele),
            effects=self._effects(texts, numbers, n_rows),
            frequency=numbers.get("frequency", np.full(n_rows, np.nan)),
            id=mapped(of["id"], str) if "id" in self.columns else None,
            accessions=frozenset(of["accession"].unique().to_pylist() if "accession" in of else ()),
            types=types,
            dosage_weights=dosage_weights,
            first=first,
        )

    def _contig(self, text):
        """Return the plain name of a chromosome; an accession must be of the file's build."""
        build = accession_build(text)
        if build and self.build and build != self.build:
            raise DpgrsError(
                f"`{self.path}` must be of the genotypes' genome build, {self.build}, got {shown(text)} of "
                f"{build}. Take the file that is harmonised to that build."
            )
        return chromosome_name(text)

    def _other_allele(self, of, effect_allele):
        """Return the other allele, the inferred one where none is stated, (n_rows,) object array of str."""
        found = np.full(len(effect_allele), "", dtype=object)
        if "other_allele" in of:
            found = mapped(of["other_allele"], one_allele)
        if "inferred" not in of:
            return found
        inferred = mapped(of["inferred"], one_allele)
        is_inferred = (found == "") & (inferred != effect_allele)
        return np.where(is_inferred, inferred, found)

    def _effects(self, texts, numbers, n_rows):
        """Return what a copy adds in each score, (n_rows, n_scores) float64, NaN where none is stated."""
        if self.weights or not self.is_marginal:
            none = [np.full(n_rows, np.nan)]
            return np.stack([numbers_in(texts[place]) for place in self.weights.values()] or none, axis=1)
        effect = np.full(n_rows, np.nan)
        if "ratio" in numbers:
            np.log(numbers["ratio"], out=effect, where=numbers["ratio"] > 0)
        if "beta" in numbers:
            effect = np.where(np.isnan(numbers["beta"]), effect, numbers["beta"])
        return effect[:, np.newaxis]

    def _types(self, texts, n_rows, first):
        """Return how copies of each row add up, and weights of dosages: (n_rows,) and (n_rows, 3) or None."""
        flags = {
            name: mapped(texts[place], partial(truth_of, path=self.path, column=name)).astype(bool)
            for name, place in self.types.items()
            if name not in (TYPE_COLUMN, *DOSAGE_COLUMNS)
        }
        stated = mapped(texts[self.types[TYPE_COLUMN]], type_of) if TYPE_COLUMN in self.types else None
        has_weights, dosage_weights = np.zeros(n_rows, dtype=bool), None
        if DOSAGE_COLUMNS[0] in self.types:
            cells = [texts[self.types[name]] for name in DOSAGE_COLUMNS]
            dosage_weights = np.stack([numbers_in(one) for one in cells], axis=1)
            is_stated = np.stack([mapped(one, lambda text: text not in MISSING) for one in cells], axis=1)
            is_number, has_weights = ~np.isnan(dosage_weights), is_stated.any(axis=1).astype(bool)
            if len(bad := np.flatnonzero(has_weights & ~is_number.all(axis=1))):
                raise DpgrsError(
                    f"`{self.path}`, row {first + bad[0]}: {', '.join(DOSAGE_COLUMNS)} must be three finite "
                    "numbers or all be empty. Correct the cells, or remove the row."
                )
        return effect_types(n_rows, flags=flags, stated=stated, has_weights=has_weights), dosage_weights


@dataclass(frozen=True)
class EffectRows:
    """Rows of a file of effects.

    Attributes
    ----------
    contig : (n_rows,) object array of str, without ``chr``.
    position : (n_rows,) int64, 1-based, 0 where there is none.
    effect_allele, other_allele : (n_rows,) object arrays of str in capitals, empty where not told.
    effects : (n_rows, n_scores) float64, per copy of the effect allele, NaN where none is told. Odds and
        hazard ratios are logarithms.
    frequency : (n_rows,) float64, of the effect allele, NaN where not told.
    id : (n_rows,) object array of str, None where the file has no such column.
    accessions : frozenset of str, the scores that rows are of, as far as a column states it.
    types : (n_rows,) object array of str, see `dpgrs.io.effect_types.effect_types`.
    dosage_weights : (n_rows, 3) float64, of 0, 1 and 2 copies, NaN where none are told; None without columns.
    first : int, the number of the first row, from 1 below the names.
    """

    contig: np.ndarray
    position: np.ndarray
    effect_allele: np.ndarray
    other_allele: np.ndarray
    effects: np.ndarray
    frequency: np.ndarray
    id: np.ndarray | None
    accessions: frozenset
    types: np.ndarray
    dosage_weights: np.ndarray | None
    first: int

    @property
    def is_additive(self):
        """(n_rows,) bool, whether every copy of a single allele adds the same."""
        return self.types == ADDITIVE


_KNOWN = np.array(sorted(POSITIONS))


def open_effects(path, *, build, head=None, several=False):
    """Read the head of a file of effects.

    Parameters
    ----------
    path : the file, plain or gzipped.
    build : ``GRCh37``, ``GRCh38`` or None, where that of the study is not known.
    head : Head, from `head_of`; None reads it.
    several : bool, whether the file may have weights of several scores.

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
    weights = head.weight_columns
    types = {name: header.index(name) for name in TYPE_COLUMNS if name in header}
    lacking = [example for name, example in NEEDED.items() if name not in columns]
    some = [name in types for name in DOSAGE_COLUMNS]
    if any(some) and not all(some):
        lacking += [name for name in DOSAGE_COLUMNS if name not in types]
    if not weights and not any(some) and not columns.keys() & {"beta", "ratio"}:
        lacking.append("effect_weight, beta or odds_ratio")
    has_place = columns.keys() >= {"contig", "position"}
    if build and head.harmonised_build not in (None, build) and not has_place:
        raise DpgrsError(
            f"`{path}` must have positions of the genotypes' genome build, {build}, got those of "
            f"{shown(head.harmonised_build)}. Take the file that is harmonised to that build."
        )
    if lacking:
        raise DpgrsError(
            f"`{path}`: must name columns of place, allele and effect, got none for {', '.join(lacking)}. "
            "Take a harmonised scoring file of the PGS Catalog, or summary statistics in GWAS-SSF."
        )
    if len(weights) > 1 and not (several and not any(some)):
        reason = "one column of weights beside weights of dosages" if several else "one column of weights"
        raise DpgrsError(
            f"`{path}` must have {reason}, got {len(weights)}: "
            f"{', '.join(shown(names[place]) for place in weights.values())}. Leave one."
        )
    return EffectsFile(path, build, columns, weights, types, names, remarks)


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
