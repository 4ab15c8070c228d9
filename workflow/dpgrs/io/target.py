"""Genotype files whose people are to be scored: one pass, in pieces of whole places of the genome.

All forms of `dpgrs.io.genotype_files`, one file or several, of one chromosome or many each.
"""

from typing import NamedTuple

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import unpack
from dpgrs.io.chromosomes import chromosome_name
from dpgrs.io.genome_builds import is_autosome
from dpgrs.io.genotype_files import as_paths, genotype_header
from dpgrs.io.genotype_forms import VCF, form_named, form_of
from dpgrs.io.vcf.records import WITHOUT_LETTERS
from dpgrs.io.vcf.vcf import VcfHeader

MISSING_STEPS = 2**16 - 1
LISTED_ROWS = 2**16
# Of the bits of a batch, and the least and most rows of one.
BATCH_BYTES, FEWEST_ROWS, MOST_ROWS = 2**26, 64, 2**14
SITE = ("contig", "position", "id", "ref", "alt")


class Piece(NamedTuple):
    """Consecutive variants, one row for each ALT; no place is in two pieces.

    Attributes
    ----------
    path : pathlib.Path, of their file.
    columns : dict of (n_rows,) arrays: contig (without ``chr``), position, id, ref and alt in capitals. ALT
        may be no letters, such as ``*``; stores have none of these.
    calls : function from (n,) ascending rows to (n, n_people) calls. int8: copies of ALT, or -1 and -2 where
        one of two alleles is missing and the other is REF or ALT, and further below 0 where both are. uint16:
        dosages in units of `DOSAGE_STEP`, `MISSING_STEPS` where missing.
    """

    path: object
    columns: dict
    calls: object


class Target:
    """The people of genotype files.

    Parameters
    ----------
    paths : path, or list of paths, of VCFs, BCFs, or the ``.pgen`` or ``.bed`` of PLINK sets; or the folders
        of haplotype stores.
    field : ``GT``, calls, or ``DS``, dosages.

    Attributes
    ----------
    samples : tuple of str
    header : dpgrs.io.vcf.vcf.VcfHeader, with the contigs of all files.
    n_records, n_haploid, n_calls_as_dosages : int, counted while they are read: records on the contigs asked
        for, calls of one allele, which count twice, and calls that stand for dosages that are not there.

    Raises
    ------
    DpgrsError
        Anything wrong with a header, or files of other people, or of these in another order.
    """

    def __init__(self, paths, *, field="GT"):
        self.paths = as_paths(paths)
        self._stores = _stores_of(self.paths)
        self.header = _header_of(self._stores) if self._stores else genotype_header(self.paths)
        self.samples, self._field = self.header.samples, field
        self._terms = {"phased": "any", "keep_filtered": True, "field": field, "keeps_symbols": True}
        self.begin()

    @property
    def n_alts_left_out(self) -> int:
        """How many ALT alleles without letters the stores left out: REF is counted in place of each."""
        skipped = [store.attributes.get("counts", {}).get("skipped", {}) for store in self._stores]
        return sum(counts.get(reason, 0) for counts in skipped for reason in WITHOUT_LETTERS)

    def begin(self):
        """Count anew."""
        self.n_records = self.n_haploid = self.n_calls_as_dosages = 0

    def pieces(self, contigs):
        """Yield `Piece` after `Piece`.

        Parameters
        ----------
        contigs : collection of str, without ``chr``; variants elsewhere are left out.

        Raises
        ------
        DpgrsError
            Anything wrong with a file; variants that are not in the order of their positions, within a file
            or over several.
        """
        ends = {}
        for store in self._stores:
            for piece in self._store_pieces(store, contigs):
                _require_order(piece, ends)
                yield piece
        for path in [] if self._stores else self.paths:
            form = form_of(path)
            read = self._listed_pieces if form.is_listed else self._whole_pieces
            for piece in read(form, path, contigs):
                _require_order(piece, ends)
                yield piece

    @property
    def autosomes(self):
        """The autosomes that headers name, without ``chr``, a set; all of them where no header does."""
        named = {chromosome_name(contig) for contig in self.header.contigs}
        return {contig for contig in named if is_autosome(contig)} or set(map(str, range(1, 23)))

    def _store_pieces(self, store, contigs):
        columns = _columns({name: store.variants[name] for name in SITE})
        ends, start = _group_ends(columns), 0
        while start < store.n_variants:
            stop = _last_end(ends, min(start + MOST_ROWS, store.n_variants), after=start)
            own, missing = slice(start, stop), store.missing(slice(start, stop))
            bits = store.haplotypes(own)
            steps = store.dosages(own) if self._field == "DS" else None
            missing = np.zeros_like(bits) if missing is None else missing
            part = _Part({name: values[own] for name, values in columns.items()}, bits, missing, steps)
            is_wanted = np.isin(part.columns["contig"].astype(str), list(contigs))
            if is_wanted.any():
                yield self._piece(store.path, part.rows(np.flatnonzero(is_wanted)))
            self.n_records += int(is_wanted.sum())
            start = stop

    def _listed_pieces(self, form, path, contigs):
        reader = form.reader(path, None, **self._terms)
        table = reader.sites(contigs)
        columns = _columns({name: table[name] for name in SITE})
        records, alleles = table["record"].to_numpy(), table["allele"].to_numpy()
        self.n_records += reader.n_records
        read, ends = reader.reader(), _group_ends(columns)

        def calls_from(first, rows):
            n_haploid, n_calls = reader.haploid_calls, reader.calls_as_dosages
            found = read(records[first + rows], alleles[first + rows])
            self.n_haploid += reader.haploid_calls - n_haploid
            self.n_calls_as_dosages += reader.calls_as_dosages - n_calls
            return reader.steps(found, MISSING_STEPS) if self._field == "DS" else found

        start = 0
        while start < len(table):
            stop = _last_end(ends, min(start + LISTED_ROWS, len(table)), after=start)
            own = {name: values[start:stop] for name, values in columns.items()}
            yield Piece(path, own, lambda rows, first=start: calls_from(first, rows))
            start = stop

    def _whole_pieces(self, form, path, contigs):
        reader = form.whole_reader(path, contigs, **self._terms)
        n_rows = min(max(4 * BATCH_BYTES // len(self.samples), FEWEST_ROWS), MOST_ROWS)
        held = None
        for batch in reader.batches(n_rows):
            part = _Part(_columns(batch.columns), batch.haplotypes, batch.missing, batch.dosages)
            held = part if held is None else held.followed_by(part)
            ends = _group_ends(held.columns)
            # The last place may go on in the next batch.
            if len(ends) > 1:
                yield self._piece(path, held.rows(slice(0, ends[-2])))
                held = held.rows(slice(ends[-2], None))
        if held is not None:
            yield self._piece(path, held)
        self.n_records += reader.n_records
        self.n_haploid += reader.haploid_calls
        self.n_calls_as_dosages += reader.calls_as_dosages

    def _piece(self, path, part):
        return Piece(path, part.columns, lambda rows: part.calls(rows, len(self.samples)))


class _Part(NamedTuple):
    columns: dict
    haplotypes: np.ndarray
    missing: np.ndarray
    dosages: np.ndarray | None

    def rows(self, rows):
        columns = {name: values[rows] for name, values in self.columns.items()}
        planes = (None if plane is None else plane[rows] for plane in self[1:])
        return _Part(columns, *planes)

    def followed_by(self, other):
        columns = {name: np.concatenate([self.columns[name], other.columns[name]]) for name in self.columns}
        planes = (
            None if one is None else np.concatenate([one, two])
            for one, two in zip(self[1:], other[1:], strict=True)
        )
        return _Part(columns, *planes)

    def calls(self, rows, n_people):
        if self.dosages is not None:
            is_missing = unpack(self.missing[rows], 2 * n_people)[:, ::2].astype(bool)
            return np.where(is_missing, np.uint16(MISSING_STEPS), self.dosages[rows])
        from dpgrs.io._call_kernels import calls_of_bits  # brings numba

        calls = np.empty((len(rows), n_people), dtype=np.int8)
        calls_of_bits(self.haplotypes, self.missing, rows, calls)
        return calls


def _stores_of(paths):
    """Open haplotype stores, which are folders; [] of files. Their people must be the same."""
    from dpgrs.io.haplotype_store import HaplotypeStore

    folders = [path for path in paths if path.is_dir() and form_named(path) is VCF]
    for path in folders:
        if not ({"zarr.json", ".zgroup"} & {own.name for own in path.iterdir()}):
            raise DpgrsError(f"`{path}` is a folder, and no haplotype store. Name a file.")
    if not folders:
        return []
    stores = [HaplotypeStore.open(path) for path in paths]
    for store in stores[1:]:
        if not np.array_equal(store.sample_id, stores[0].sample_id):
            raise DpgrsError(
                f"`{store.path}` must hold the same people in the same order as `{stores[0].path}`. Take the "
                "stores of one study."
            )
    return stores


def _header_of(stores):
    contigs = {contig: None for store in stores for contig in store.variants["contig"].unique()}
    return VcfHeader(stores[0].path, tuple(map(str, stores[0].sample_id)), contigs)


def _columns(columns):
    """Return the columns of sites as arrays; texts repeat, and each is changed once."""
    import pandas as pd

    def mapped(name, function):
        codes, texts = pd.factorize(np.asarray(columns[name], dtype=object))
        found = np.empty(len(texts), dtype=object)
        found[:] = [function(text) for text in texts]
        return found[codes]

    return {
        "contig": mapped("contig", chromosome_name),
        "position": np.asarray(columns["position"], dtype=np.int64),
        "id": np.asarray(columns["id"], dtype=object),
        "ref": mapped("ref", str.upper),
        "alt": mapped("alt", str.upper),
    }


def _group_ends(columns):
    """Return where the rows of each place end, (n_places,) ascending."""
    contig, position = columns["contig"], columns["position"]
    n = len(position)
    is_new = (contig[1:] != contig[:-1]) | (position[1:] != position[:-1])
    return np.append(np.flatnonzero(is_new) + 1, n) if n else np.zeros(0, dtype=np.int64)


def _last_end(ends, stop, *, after):
    """Return the last end up to `stop`, or the first end after `after` where a place is larger than that."""
    place = np.searchsorted(ends, stop, side="right") - 1
    return (
        int(ends[place])
        if place >= 0 and ends[place] > after
        else int(ends[np.searchsorted(ends, after, side="right")])
    )


def _require_order(piece, ends):
    """Refuse a piece that does not go on where the contig ended, and note where it ends now."""
    contigs, positions = piece.columns["contig"], piece.columns["position"]
    starts = np.flatnonzero(np.append(True, contigs[1:] != contigs[:-1]))
    for start, stop in zip(starts, np.append(starts[1:], len(contigs)), strict=True):
        own, contig = positions[start:stop], contigs[start]
        back = np.flatnonzero(np.diff(own) < 0)
        if own[0] <= ends.get(contig, 0) or len(back):
            at, end = (own[back[0] + 1], own[back[0]]) if len(back) else (own[0], ends[contig])
            raise DpgrsError(
                f"`{piece.path}` must hold variants in the order of positions, each place in one file alone, "
                f"got {contig}:{at} after {contig}:{end}. "
                "Sort it (bcftools sort, plink2 --sort-vars), or leave out the file that repeats it."
            )
        ends[contig] = int(own[-1])
