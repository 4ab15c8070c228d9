"""Genotype files whose people are to be scored: one pass, in pieces of whole positions of the genome.

All formats of `dpgrs.io.genotype_files`, one file or several, of one chromosome or many each.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import unpack
from dpgrs.io.chromosomes import chromosome_name
from dpgrs.io.genome_builds import is_autosome
from dpgrs.io.genotype_files import as_paths, genotype_headers, joined_header
from dpgrs.io.genotype_forms import VCF, Vcf, form_named, form_of
from dpgrs.io.vcf.records import WITHOUT_LETTERS
from dpgrs.io.vcf.vcf import VcfHeader

if TYPE_CHECKING:
    from dpgrs.io.haplotype_store import HaplotypeStore


MISSING_STEPS = 2**16 - 1
LISTED_ROWS = 2**16
# The bytes of the bits of a batch, and its least and most rows.
BATCH_BYTES, FEWEST_ROWS, MOST_ROWS = 2**26, 64, 2**14
SITE = ("contig", "position", "id", "ref", "alt")


class Piece(NamedTuple):
    """Consecutive variants, one row for each ALT; no position is in two pieces."""

    path: Path  # of their file
    # (n_rows,): contig (without `chr`), position, id, ref and alt in capitals; ALT may be no letters, such as
    # `*`, but in stores
    columns: dict[str, np.ndarray]
    # from (n,) ascending rows to (n, n_people) calls. int8: copies of ALT, or -1 and -2 if one of two alleles
    # is missing and the other is REF or ALT, and further below 0 if both are. uint16: dosages in units of
    # `DOSAGE_STEP`, `MISSING_STEPS` if missing
    calls: Callable[[np.ndarray], np.ndarray]


class Target:
    """The people of genotype files: VCFs, BCFs, ``.pgen`` or ``.bed`` of PLINK sets, or haplotype stores.

    `field` is ``GT``, calls, or ``DS``, dosages. Files of other people, or in another order, are refused.
    """

    def __init__(self, paths: Path | str | Sequence[Path | str], *, field: str = "GT") -> None:
        self.paths = as_paths(paths)
        self._stores = _stores_of(self.paths)
        self._headers = [] if self._stores else genotype_headers(self.paths)
        self.header = _header_of(self._stores) if self._stores else joined_header(self._headers)
        self.samples, self._field = self.header.samples, field
        self._options: dict[str, Any] = {
            "phased": "any",
            "keep_filtered": True,
            "field": field,
            "keeps_symbols": True,
        }
        self.begin()

    @property
    def n_alts_left_out(self) -> int:
        """The number of ALT alleles without letters that stores left out: REF is counted in place of each."""
        skipped = [store.attributes.get("counts", {}).get("skipped", {}) for store in self._stores]
        return sum(counts.get(reason, 0) for counts in skipped for reason in WITHOUT_LETTERS)

    def begin(self) -> None:
        """Count anew."""
        self.n_records = 0  # on the contigs that were read
        self.n_haploid = 0  # calls of one allele, which count twice
        self.n_calls_as_dosages = 0  # calls that stand for missing dosages

    def pieces(self, contigs: Collection[str]) -> Iterator[Piece]:
        """Yield the variants on some contigs, named without ``chr``.

        Variants that are not in the order of their positions, within a file or over several, are refused.
        """
        ends = {}
        for store in self._stores:
            for piece in self._store_pieces(store, contigs):
                _require_order(piece, ends)
                yield piece
        for header in self._headers:
            form = form_of(header.path)
            read = self._listed_pieces if form.is_listed else self._whole_pieces
            for piece in read(form, header, contigs):
                _require_order(piece, ends)
                yield piece

    @property
    def autosomes(self) -> set[str]:
        """The autosomes that headers name, without ``chr``; all of them if no header does."""
        named = {chromosome_name(contig) for contig in self.header.contigs}
        return {contig for contig in named if is_autosome(contig)} or set(map(str, range(1, 23)))

    def _store_pieces(self, store: "HaplotypeStore", contigs: Collection[str]) -> Iterator[Piece]:
        columns = _columns({name: store.variants[name] for name in SITE})
        ends, start = _group_ends(columns), 0
        while start < store.n_variants:
            stop = _last_end(ends, min(start + MOST_ROWS, store.n_variants), after=start)
            rows, missing = slice(start, stop), store.missing(slice(start, stop))
            bits = store.haplotypes(rows)
            steps = store.dosages(rows) if self._field == "DS" else None
            missing = np.zeros_like(bits) if missing is None else missing
            block = _Block({name: values[rows] for name, values in columns.items()}, bits, missing, steps)
            is_wanted = np.isin(block.columns["contig"].astype(str), list(contigs))
            if is_wanted.any():
                yield self._piece(store.path, block.rows(np.flatnonzero(is_wanted)))
            self.n_records += int(is_wanted.sum())
            start = stop

    def _listed_pieces(self, form: Vcf, header: VcfHeader, contigs: Collection[str]) -> Iterator[Piece]:
        reader = form.reader(header, None, **self._options)
        table = reader.sites(contigs)
        columns = _columns({name: table[name] for name in SITE})
        records, alleles = table["record"].to_numpy(), table["allele"].to_numpy()
        self.n_records += reader.n_records
        read, ends = reader.reader(), _group_ends(columns)

        def calls_from(first: int, rows: np.ndarray) -> np.ndarray:
            n_haploid, n_calls = reader.haploid_calls, reader.calls_as_dosages
            values = read(records[first + rows], alleles[first + rows])
            self.n_haploid += reader.haploid_calls - n_haploid
            self.n_calls_as_dosages += reader.calls_as_dosages - n_calls
            return reader.steps(values, MISSING_STEPS) if self._field == "DS" else values

        start = 0
        while start < len(table):
            stop = _last_end(ends, min(start + LISTED_ROWS, len(table)), after=start)
            piece_columns = {name: values[start:stop] for name, values in columns.items()}
            yield Piece(header.path, piece_columns, partial(calls_from, start))
            start = stop

    def _whole_pieces(self, form: Vcf, header: VcfHeader, contigs: Collection[str]) -> Iterator[Piece]:
        reader = form.reader(header, frozenset(contigs), **self._options)
        n_rows = min(max(4 * BATCH_BYTES // len(self.samples), FEWEST_ROWS), MOST_ROWS)
        waiting = None
        for batch in reader.batches(n_rows):
            block = _Block(_columns(batch.columns), batch.haplotypes, batch.missing, batch.dosages)
            waiting = block if waiting is None else waiting.followed_by(block)
            ends = _group_ends(waiting.columns)
            # The last position may go on in the next batch.
            if len(ends) > 1:
                yield self._piece(header.path, waiting.rows(slice(0, ends[-2])))
                waiting = waiting.rows(slice(ends[-2], None))
        if waiting is not None:
            yield self._piece(header.path, waiting)
        self.n_records += reader.n_records
        self.n_haploid += reader.haploid_calls
        self.n_calls_as_dosages += reader.calls_as_dosages

    def _piece(self, path: Path, block: "_Block") -> Piece:
        return Piece(path, block.columns, lambda rows: block.calls(rows, len(self.samples)))


class _Block(NamedTuple):
    """Rows of variants with their planes."""

    columns: dict[str, np.ndarray]
    haplotypes: np.ndarray
    missing: np.ndarray
    dosages: np.ndarray | None

    def rows(self, rows: slice | np.ndarray) -> "_Block":
        columns = {name: values[rows] for name, values in self.columns.items()}
        planes = (None if plane is None else plane[rows] for plane in self[1:])
        return _Block(columns, *planes)

    def followed_by(self, other: "_Block") -> "_Block":
        columns = {name: np.concatenate([self.columns[name], other.columns[name]]) for name in self.columns}
        planes = (
            None if plane is None else np.concatenate([plane, other_plane])
            for plane, other_plane in zip(self[1:], other[1:], strict=True)
        )
        return _Block(columns, *planes)

    def calls(self, rows: np.ndarray, n_people: int) -> np.ndarray:
        if self.dosages is not None:
            is_missing = unpack(self.missing[rows], 2 * n_people)[:, ::2].astype(bool)
            return np.where(is_missing, np.uint16(MISSING_STEPS), self.dosages[rows])
        from dpgrs.io._call_kernels import calls_of_bits  # brings numba

        calls = np.empty((len(rows), n_people), dtype=np.int8)
        calls_of_bits(self.haplotypes, self.missing, rows, calls)
        return calls


def _stores_of(paths: list[Path]) -> "list[HaplotypeStore]":
    """Open haplotype stores, which are folders; [] of files. Their people must be the same."""
    from dpgrs.io.haplotype_store import HaplotypeStore

    folders = [path for path in paths if path.is_dir() and form_named(path) is VCF]
    for path in folders:
        if not ({"zarr.json", ".zgroup"} & {file.name for file in path.iterdir()}):
            raise DpgrsError(
                "not-a-haplotype-store", f"`{path}` is a folder, and no haplotype store. Name a file."
            )
    if not folders:
        return []
    stores = [HaplotypeStore.open(path) for path in paths]
    for store in stores[1:]:
        if not np.array_equal(store.sample_id, stores[0].sample_id):
            raise DpgrsError(
                "people-of-stores-differ",
                f"`{store.path}` must hold the same people in the same order as `{stores[0].path}`. Take the "
                "stores of one study.",
            )
    return stores


def _header_of(stores: "list[HaplotypeStore]") -> VcfHeader:
    contigs: dict[str, int | None] = {
        contig: None for store in stores for contig in store.variants["contig"].unique()
    }
    return VcfHeader(stores[0].path, tuple(map(str, stores[0].sample_id)), contigs)


def _columns(columns: Any) -> dict[str, np.ndarray]:
    """Return the columns of sites as arrays; texts repeat, and each is changed once."""
    import pandas as pd

    def mapped(name: str, function: Callable[[str], str]) -> np.ndarray:
        codes, texts = pd.factorize(np.asarray(columns[name], dtype=object))
        distinct = np.empty(len(texts), dtype=object)
        distinct[:] = [function(text) for text in texts]
        return distinct[codes]

    return {
        "contig": mapped("contig", chromosome_name),
        "position": np.asarray(columns["position"], dtype=np.int64),
        "id": np.asarray(columns["id"], dtype=object),
        "ref": mapped("ref", str.upper),
        "alt": mapped("alt", str.upper),
    }


def _group_ends(columns: dict[str, np.ndarray]) -> np.ndarray:
    """Return where the rows of each position end, (n_positions,) ascending."""
    contig, position = columns["contig"], columns["position"]
    n = len(position)
    is_new = (contig[1:] != contig[:-1]) | (position[1:] != position[:-1])
    return np.append(np.flatnonzero(is_new) + 1, n) if n else np.zeros(0, dtype=np.int64)


def _last_end(ends: np.ndarray, stop: int, *, after: int) -> int:
    """Return the last end up to `stop`, or the first end after `after` if a position has more rows."""
    last = np.searchsorted(ends, stop, side="right") - 1
    if last >= 0 and ends[last] > after:
        return int(ends[last])
    return int(ends[np.searchsorted(ends, after, side="right")])


def _require_order(piece: Piece, ends: dict[str, int]) -> None:
    """Refuse a piece that does not go on where the contig ended, and note where it ends now."""
    contigs, positions = piece.columns["contig"], piece.columns["position"]
    starts = np.flatnonzero(np.append(True, contigs[1:] != contigs[:-1]))
    for start, stop in zip(starts, np.append(starts[1:], len(contigs)), strict=True):
        run, contig = positions[start:stop], contigs[start]
        back = np.flatnonzero(np.diff(run) < 0)
        if run[0] <= ends.get(contig, 0) or len(back):
            at, end = (run[back[0] + 1], run[back[0]]) if len(back) else (run[0], ends[contig])
            raise DpgrsError(
                "positions-out-of-order",
                f"`{piece.path}` must hold variants in the order of positions, each place in one file alone, "
                f"got {contig}:{at} after {contig}:{end}. "
                "Sort it (bcftools sort, plink2 --sort-vars), or leave out the file that repeats it.",
            )
        ends[contig] = int(run[-1])
