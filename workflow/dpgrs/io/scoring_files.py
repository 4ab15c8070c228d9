"""Files of effects of variants: scoring files of the PGS Catalog, and summary statistics (GWAS-SSF).

Columns are recognised by the names of the two formats: https://www.pgscatalog.org/downloads/#dl_ftp_scoring
and https://github.com/EBISPOT/gwas-summary-statistics-standard
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dpgrs.errors import DpgrsError, shown
from dpgrs.io.chromosomes import accession_build, chromosome_name
from dpgrs.io.effect_cells import mapped, numbers_in, one_allele, positions_in, texts_of
from dpgrs.io.effect_types import (
    ADDITIVE,
    DOSAGE_COLUMNS,
    TYPE_COLUMN,
    effect_types,
    truth_of,
    type_of,
)
from dpgrs.io.effect_types import COLUMNS as TYPE_COLUMNS
from dpgrs.io.effects_head import Head, head_of
from dpgrs.io.genome_builds import KEY, LENGTHS, BuildCheck
from dpgrs.io.known_positions import POSITIONS
from dpgrs.io.tables.plain_columns import NotPlainError, plain_blocks
from dpgrs.io.tables.tables import (
    MISSING,
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
# Columns of a harmonised file, in another build than its own.
HARMONISED = {"contig": {"hm_chr"}, "position": {"hm_pos"}, "inferred": {"hm_inferotherallele"}}
NEEDED = {"contig": "chr_name", "position": "chr_position", "effect_allele": "effect_allele"}
ROWS_AT_A_TIME = 2**18
# Bytes on disk: a larger file is read row by row.
LARGEST_AT_ONCE = 2**26


@dataclass(frozen=True)
class EffectsFile:
    """A file of effects whose columns are recognised."""

    path: Path | str
    build: str | None  # `GRCh37`, `GRCh38` or None, of the study
    columns: dict[str, int]  # by the keys of `COLUMNS`
    weights: dict[str, int]  # columns of scores, see `dpgrs.io.effects_head.Head.weight_columns`
    types: dict[str, int]  # columns by the names of `dpgrs.io.effect_types.COLUMNS`
    names: list[str]  # the first line of the table
    remarks: dict[str, str]  # of its head, by name in lower case

    @property
    def scores(self) -> tuple[str, ...]:
        """The scores whose weights the file has, see `Head.weight_columns`."""
        return tuple(self.weights) or ("",)

    @property
    def is_marginal(self) -> bool:
        """Whether effects are of one variant at a time; the weights of a score go together."""
        return not self.weights and DOSAGE_COLUMNS[0] not in self.types

    def row_blocks(self) -> Iterator["EffectRows"]:
        """Yield the rows in blocks, in the order of the file; refuse a row of another length."""
        used = sorted({*self.columns.values(), *self.weights.values(), *self.types.values()})
        cells = _all_at_once(self.path, used)
        if cells is not None:
            yield self._rows(cells, 1)
            return
        rows, first = rows_of(self.path), 1
        header_of(rows, self.path)
        while block := list(islice(rows, ROWS_AT_A_TIME)):
            yield self._rows({column: [row[column] for _, row in block] for column in used}, first)
            first += len(block)

    def _rows(self, cells: Mapping[int, Any], first: int) -> "EffectRows":
        texts = {column: texts_of(values) for column, values in cells.items()}
        by_name = {name: texts[column] for name, column in self.columns.items()}
        n_rows = len(by_name["position"])
        effect_allele = mapped(by_name["effect_allele"], str.upper)
        numbers = {name: numbers_in(by_name[name]) for name in NUMBERS if name in by_name}
        types, dosage_weights = self._types(texts, n_rows, first)
        return EffectRows(
            contig=mapped(by_name["contig"], self._contig),
            position=positions_in(by_name["position"]),
            effect_allele=effect_allele,
            other_allele=self._other_allele(by_name, effect_allele),
            effects=self._effects(texts, numbers, n_rows),
            frequency=numbers.get("frequency", np.full(n_rows, np.nan)),
            id=mapped(by_name["id"], str) if "id" in self.columns else None,
            accessions=frozenset(mapped(by_name["accession"], str) if "accession" in by_name else ()),
            types=types,
            dosage_weights=dosage_weights,
            first=first,
        )

    def _contig(self, text: str) -> str:
        """Return the plain name of a chromosome; an accession must be of the file's build."""
        build = accession_build(text)
        if build and self.build and build != self.build:
            raise DpgrsError(
                "contig-of-another-build",
                f"`{self.path}` must be of the genotypes' genome build, {self.build}, got {shown(text)} of "
                f"{build}. Take the file that is harmonised to that build.",
            )
        return chromosome_name(text)

    def _other_allele(self, texts: Mapping[str, Any], effect_allele: np.ndarray) -> np.ndarray:
        """Return the other allele, the inferred one if none is stated, (n_rows,) object array of str."""
        stated = np.full(len(effect_allele), "", dtype=object)
        if "other_allele" in texts:
            stated = mapped(texts["other_allele"], one_allele)
        if "inferred" not in texts:
            return stated
        inferred = mapped(texts["inferred"], one_allele)
        is_inferred = (stated == "") & (inferred != effect_allele)
        return np.where(is_inferred, inferred, stated)

    def _effects(
        self, texts: Mapping[int, Any], numbers: Mapping[str, np.ndarray], n_rows: int
    ) -> np.ndarray:
        """Return what a copy adds in each score, (n_rows, n_scores) float64, NaN if none is stated."""
        if self.weights or not self.is_marginal:
            none = [np.full(n_rows, np.nan)]
            return np.stack([numbers_in(texts[column]) for column in self.weights.values()] or none, axis=1)
        effect = np.full(n_rows, np.nan)
        if "ratio" in numbers:
            np.log(numbers["ratio"], out=effect, where=numbers["ratio"] > 0)
        if "beta" in numbers:
            effect = np.where(np.isnan(numbers["beta"]), effect, numbers["beta"])
        return effect[:, np.newaxis]

    def _types(
        self, texts: Mapping[int, Any], n_rows: int, first: int
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return how copies of each row add up, and weights of dosages: (n_rows,) and (n_rows, 3) or None."""
        flags = {
            name: mapped(texts[column], partial(truth_of, path=self.path, column=name)).astype(bool)
            for name, column in self.types.items()
            if name not in (TYPE_COLUMN, *DOSAGE_COLUMNS)
        }
        stated = mapped(texts[self.types[TYPE_COLUMN]], type_of) if TYPE_COLUMN in self.types else None
        has_weights, dosage_weights = np.zeros(n_rows, dtype=bool), None
        if DOSAGE_COLUMNS[0] in self.types:
            cells = [texts[self.types[name]] for name in DOSAGE_COLUMNS]
            dosage_weights = np.stack([numbers_in(column) for column in cells], axis=1)
            is_stated = np.stack(
                [mapped(column, lambda text: text not in MISSING) for column in cells], axis=1
            )
            is_number, has_weights = ~np.isnan(dosage_weights), is_stated.any(axis=1).astype(bool)
            if len(bad := np.flatnonzero(has_weights & ~is_number.all(axis=1))):
                raise DpgrsError(
                    "dosage-effects-incomplete",
                    f"`{self.path}`, row {first + bad[0]}: {', '.join(DOSAGE_COLUMNS)} must be three finite "
                    "numbers or all be empty. Correct the cells, or remove the row.",
                )
        return effect_types(n_rows, flags=flags, stated=stated, has_weights=has_weights), dosage_weights


@dataclass(frozen=True)
class EffectRows:
    """Rows of a file of effects."""

    contig: np.ndarray  # (n_rows,) object array of str, without `chr`
    position: np.ndarray  # (n_rows,) int64, 1-based, 0 if there is none
    effect_allele: np.ndarray  # (n_rows,) object array of str in capitals, empty if not stated
    other_allele: np.ndarray  # likewise
    # (n_rows, n_scores) float64, per copy of the effect allele, NaN if none is stated; odds and hazard ratios
    # are logarithms
    effects: np.ndarray
    frequency: np.ndarray  # (n_rows,) float64, of the effect allele, NaN if not stated
    id: np.ndarray | None  # (n_rows,) object array of str, None if the file has no such column
    accessions: frozenset[str]  # the scores that rows are of, as far as a column states it
    types: np.ndarray  # (n_rows,) object array of str, see `dpgrs.io.effect_types.effect_types`
    # (n_rows, 3) float64, of 0, 1 and 2 copies, NaN if none are stated; None without columns
    dosage_weights: np.ndarray | None
    first: int  # the number of the first row, from 1 below the names

    @property
    def is_additive(self) -> np.ndarray:
        """Whether every copy of a single allele adds the same, (n_rows,) bool."""
        return self.types == ADDITIVE


_KNOWN = np.array(sorted(POSITIONS))


def open_effects(
    path: Path | str, *, build: str | None, head: Head | None = None, several: bool = False
) -> EffectsFile:
    """Recognise the columns of a file of effects, plain or gzipped, from its head.

    `build` is the study's genome build, None if unknown; `several` allows weights of several scores. A
    file without a column of a place, an allele or an effect, or of another genome build, is refused.
    """
    head = head or head_of(path)
    names, remarks = head
    columns = {}
    header = [plain_name(name) for name in names]
    all_aliases = COLUMNS
    if build and head.harmonised_build == build:
        all_aliases = COLUMNS | HARMONISED
    elif head.own_build and head.own_build != build and (build or head.own_build not in LENGTHS):
        expected = (
            f"the genotypes' genome build, {build}" if build else f"genome build {' or '.join(LENGTHS)}"
        )
        raise DpgrsError(
            "stated-build-differs",
            f"`{path}` must be of {expected}, got {shown(head.stated_build)}. Take the file that is "
            "harmonised to that build.",
        )
    for name, aliases in all_aliases.items():
        column = find_column(header, aliases)
        if column is not None:
            columns[name] = column
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
            "harmonised-build-differs",
            f"`{path}` must have positions of the genotypes' genome build, {build}, got those of "
            f"{shown(head.harmonised_build)}. Take the file that is harmonised to that build.",
        )
    if lacking:
        raise DpgrsError(
            "effect-columns-missing",
            f"`{path}`: must name columns of place, allele and effect, got none for {', '.join(lacking)}. "
            "Take a harmonised scoring file of the PGS Catalog, or summary statistics in GWAS-SSF.",
        )
    if len(weights) > 1 and not (several and not any(some)):
        reason = "one column of weights beside weights of dosages" if several else "one column of weights"
        raise DpgrsError(
            "effect-columns-ambiguous",
            f"`{path}` must have {reason}, got {len(weights)}: "
            f"{', '.join(shown(names[column]) for column in weights.values())}. Leave one.",
        )
    return EffectsFile(path, build, columns, weights, types, names, remarks)


def require_build(
    path: Path | str, build: str | None, known_snps: Sequence[Mapping[str, np.ndarray]], *, key: str = KEY
) -> None:
    """Refuse positions of another genome build than `key` states; only GRCh37 and GRCh38 can be checked.

    `known_snps` are from `known_rows`.
    """
    if build not in LENGTHS:
        return
    check = BuildCheck(path, build, key=key)
    for snps in known_snps:
        if len(snps["position"]):
            check.add(snps)
    check.finish()


def known_rows(contig: np.ndarray, position: np.ndarray, ids: np.ndarray) -> dict[str, np.ndarray]:
    """Return the few variants at places of well-known SNPs, as `BuildCheck` takes them."""
    near = np.isin(position, _KNOWN)
    return {"contig": contig[near], "position": position[near], "id": ids[near]}


def _all_at_once(path: Path | str, used: list[int]) -> dict[int, Any] | None:
    """Return columns of a table by index; None if its rows must be read one by one."""
    try:
        if Path(path).stat().st_size > LARGEST_AT_ONCE:
            return None
        blocks = [columns for columns, _ in plain_blocks(path, used)]
    except (OSError, NotPlainError):
        return None
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {
        column: pa.chunked_array([chunk for array in arrays for chunk in array.chunks]).combine_chunks()
        for column, arrays in zip(used, zip(*blocks, strict=True), strict=False)
    }
    # A line of only blanks is no row.
    return None if not columns or pc.any(pc.equal(columns[used[0]], "")).as_py() else columns
