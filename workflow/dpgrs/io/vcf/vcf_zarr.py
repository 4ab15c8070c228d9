"""Genotypes from a VCF Zarr, the form that bio2zarr makes of a VCF: a folder, or a zip of it.

The arrays: https://github.com/sgkit-dev/vcf-zarr-spec. Zarr 2 and 3.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.dosage_fields import DS, FIELDS, dosages_of, settled_copies
from dpgrs.io.listed_reader import NO_ALLELE, ListedReader
from dpgrs.io.vcf.records import PROVISIONAL, BadRecordError, sample_place
from dpgrs.io.vcf.text import COPY_AGAIN, record_error
from dpgrs.io.vcf.vcf import VcfHeader, require_names

# The largest chunk of calls that stays in memory while its variants are read; others are decoded each time.
HELD_BYTES = 2**28
MAKE = "Make it of a VCF: vcf2zarr convert a.vcf.gz a.vcz"

_NEEDED = {
    "variant_position": 1,
    "variant_contig": 1,
    "variant_allele": 2,
    "contig_id": 1,
    "sample_id": 1,
}
_CALLS, _PHASES, _MASK = ("call_genotype", "call_genotype_phased", "call_genotype_mask")
_FIELDS = tuple(f"call_{name}" for name in FIELDS)
_FILL = 0x7F800002  # the NaN of what a vector of fewer numbers leaves out
_BLOSC_HEAD, _BLOSC_SIZE = 16, slice(12, 16)
# What only a VCF leaves: bio2zarr also reads PLINK files, whose REF may have been chosen by the people.
_OF_A_VCF = ("vcf_meta_information", "vcf_header")


def read_header(path: Path) -> VcfHeader:
    """Read the samples and contigs of a VCF Zarr.

    A store that is missing, damaged or no VCF Zarr, and sample ids that are absent, no names or not distinct,
    raise a DpgrsError.
    """
    with opened(path) as group:
        samples = tuple(map(str, group["sample_id"][:].tolist()))
        names = group["contig_id"][:].tolist()
        lengths = group["contig_length"][:].tolist() if "contig_length" in group else [-1] * len(names)
    if not samples:
        raise DpgrsError("no-samples", f"`{path}` has no samples. {MAKE}")
    require_names(path, samples, remedy="Rename them in its VCF: bcftools reheader -s names.txt")
    lengths = (int(length) if length > 0 else None for length in lengths)
    return VcfHeader(path, samples, dict(zip(names, lengths, strict=True)))


def first_site(path: Path) -> tuple[str, int] | None:
    """Return (contig, position) of the first variant, or None if there is none."""
    with opened(path) as group:
        if not group["variant_position"].shape[0]:
            return None
        contig = group["contig_id"][:].tolist()[int(group["variant_contig"][0])]
        return contig, int(group["variant_position"][0])


def count_variants(path: Path) -> int:
    """Return the number of variants."""
    with opened(path) as group:
        return group["variant_position"].shape[0]


def has_provisional_ref(path: Path) -> bool:
    """Return whether REF of any variant may have been chosen by the people.

    ``INFO/PR`` says so; a store that was not made from a VCF may always have such a REF.
    """
    with opened(path) as group:
        if not any(name in group.attrs for name in _OF_A_VCF):
            return True
        name = f"variant_{PROVISIONAL}"
        return name in group and bool(group[name][:].any())


@contextmanager
def opened(path: Path, *, is_new: bool = True) -> Iterator[Any]:
    """Open a VCF Zarr as a zarr.Group, named in every error; `is_new` requires all arrays that it needs."""
    import zarr
    from zarr.storage import LocalStore, ZipStore

    if not path.exists():
        raise UsageError("file-missing", f"`{path}` is not there. Mend the path, or fetch the file.")
    if path.is_file() and not is_zipfile(path):
        raise _damage(path)
    try:
        with ZipStore(path, mode="r") if path.is_file() else LocalStore(path, read_only=True) as store:
            group = zarr.open_group(store, mode="r")
            if is_new:
                _require_arrays(path, group)
            yield group
    except DpgrsError:
        raise
    except Exception as error:  # of zarr, of its codecs and of zip files, which have no class in common
        raise _damage(path) from error


class _VcfZarrVariants:
    """The arrays of a VCF Zarr; see `ListedVariants`."""

    def __init__(self, header: VcfHeader) -> None:
        self._path, self.calls_as_dosages = header.path, 0
        path = self._path
        with opened(path) as group:
            self._names = np.array(group["contig_id"][:].tolist(), dtype=object)
            numbers = group["variant_contig"][:].astype(np.int64)
            if path.is_dir():  # a zip has checksums of its own
                _require_whole_chunks(path, group)
            if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(self._names):
                raise _damage(path)
            self._contigs = self._names[numbers]
        self.contigs = list(dict.fromkeys(self._contigs.tolist()))

    def records(self, contigs: list[str]) -> pd.DataFrame:
        mine = np.flatnonzero(np.isin(self._contigs.astype(str), contigs))
        with opened(self._path, is_new=False) as group:
            alleles = _read_rows(group["variant_allele"], mine).tolist()
            ids = (
                _read_rows(group["variant_id"], mine).tolist() if "variant_id" in group else ["."] * len(mine)
            )
            columns = {
                "contig": self._contigs[mine],
                "position": _read_rows(group["variant_position"], mine).astype(np.int64),
                "id": [id_ or "." for id_ in ids],
                "ref": [ref for ref, *_ in alleles],
                "alt": [",".join(filter(None, alts)) or "." for _, *alts in alleles],
                "filter": _filters(group, mine),
            }
        # Zarr reads a chunk that is not there as one without letters.
        if not all(columns["ref"]):
            raise _damage(self._path)
        self._records = table = pd.DataFrame(columns, index=mine)
        self._n_alts = np.zeros(len(self._contigs), dtype=np.int64)
        self._n_alts[mine] = [len(list(filter(None, alts))) for _, *alts in alleles]
        is_bad = (table["position"] < 1).to_numpy()
        if is_bad.any():
            raise self._error(mine[is_bad.argmax()], "`POS` must be a whole number from 1. Mend the record.")
        return table

    def calls(self) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        genotypes, phases = _Chunks(_CALLS), _Chunks(_PHASES)

        def read(records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            with opened(self._path, is_new=False) as group:
                if _CALLS not in group:
                    raise DpgrsError(
                        "no-calls", f"`{self._path}` has no calls. Read its dosages: `field: DS`"
                    )
                calls = genotypes.take(group, records)
                shape = calls.shape[:2]
                has_phases = phases.name in group
                is_phased = phases.take(group, records) if has_phases else np.zeros(shape, dtype=bool)
            self._require_listed(calls, records)
            if calls.shape[2] == 1:
                calls = np.concatenate([calls, np.full_like(calls, NO_ALLELE)], axis=2)
            return np.ascontiguousarray(calls[:, :, :2]).reshape(len(records), -1), is_phased

        return read

    def dosages(self) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        read_calls, chunks = self.calls(), {name: _Chunks(f"call_{name}") for name in FIELDS}

        def read(records: np.ndarray, alleles: np.ndarray) -> np.ndarray:
            numbers, inverse = np.unique(records, return_inverse=True)
            with opened(self._path, is_new=False) as group:
                has_calls = _CALLS in group
                fields = {
                    name: array.take(group, numbers) for name, array in chunks.items() if array.name in group
                }
                n_samples = group["sample_id"].shape[0]
            calls = read_calls(numbers)[0] if has_calls else np.full((len(numbers), 2 * n_samples), -1)
            dosages = np.empty((len(records), n_samples))
            for row, record in enumerate(numbers):
                mine = np.flatnonzero(inverse == row)
                record_fields = {name: _numbers_of(values[row]) for name, values in fields.items()}
                dosages[mine] = self._record_dosages(record, calls[row], record_fields, alleles[mine])
            return dosages

        return read

    def _record_dosages(
        self,
        record: int,
        calls: np.ndarray,
        fields: dict[str, tuple[np.ndarray, np.ndarray]],
        alleles: np.ndarray,
    ) -> np.ndarray:
        """Return (n_rows, n_samples) dosages of alleles of a record, -1 if missing; count its calls."""
        first, second = calls[0::2], calls[1::2]
        is_one = (second == NO_ALLELE) & (first >= 0)
        is_without_calls = (calls < 0).all()  # as of a record without GT
        copies = np.where(is_one, 1, np.where((second == NO_ALLELE) | is_without_calls, 0, 2))
        second = np.where(is_one, first, second)
        n_alts = int(self._n_alts[record])
        values, counts = ({name: pair[i] for name, pair in fields.items()} for i in (0, 1))
        if DS in values:
            values[DS] = values[DS][:, :n_alts]
        try:
            copies = settled_copies(copies, self._contigs[record], n_alts, counts)
            dosages = dosages_of(values, counts, copies, self._contigs[record], n_alts)[alleles - 1]
        except BadRecordError as problem:
            raise self._error(record, str(problem)) from None
        by_calls = (first == alleles[:, np.newaxis]) + (second == alleles[:, np.newaxis]).astype(float)
        by_calls[:, (first < 0) | (second < 0)] = -1
        is_by_call = np.isnan(dosages)
        self.calls_as_dosages += int(np.count_nonzero(is_by_call & (by_calls >= 0)))
        return np.where(is_by_call, by_calls, dosages)

    def _require_listed(self, calls: np.ndarray, records: np.ndarray) -> None:
        is_bad = calls.max(axis=(1, 2), initial=-1) > self._n_alts[records]
        if is_bad.any():
            row = int(is_bad.argmax())
            sample = int(calls[row].max(axis=1).argmax())
            problem = "has an allele that the record does not list. Mend the record."
            raise self._error(records[row], f"the call of {sample_place(sample)} {problem}")
        is_long = (calls[:, :, 2:] != NO_ALLELE).any(axis=2)
        if is_long.any():
            row, sample = np.argwhere(is_long)[0]
            problem = f"the call of {sample_place(int(sample))} has more than two alleles. Mend the record."
            raise self._error(records[row], problem)

    def _error(self, record: int, problem: str) -> DpgrsError:
        site = self._records.loc[record]
        return record_error(self._path, None, f"{site['contig']}\t{site['position']}".encode(), problem)


class Reader(ListedReader):
    """The variants of one contig of a VCF Zarr; see `ListedReader`."""

    has_provisional_ref = staticmethod(has_provisional_ref)
    variants_of = _VcfZarrVariants


class _Chunks:
    """Rows of an array, of which a small chunk is kept in memory: its other rows are read next."""

    def __init__(self, name: str) -> None:
        self.name, self._number, self._chunk = name, None, None

    def take(self, group: Any, records: np.ndarray) -> np.ndarray:
        """Return the rows of (n,) ascending records."""
        array = group[self.name]
        step = array.chunks[0]
        if step * array.dtype.itemsize * int(np.prod(array.shape[1:])) > HELD_BYTES:
            return _read_rows(array, records)
        rows = np.empty((len(records), *array.shape[1:]), dtype=array.dtype)
        numbers = records // step
        for number in np.unique(numbers):
            if number != self._number:
                self._chunk, self._number = array[number * step : (number + 1) * step], number
            mine = numbers == number
            rows[mine] = self._chunk[records[mine] - number * step]
        return rows


def _numbers_of(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (n_samples, n_most) float64 numbers of a field of a record, and how many each sample has."""
    values = values.reshape(len(values), -1)
    with np.errstate(invalid="ignore"):  # a NaN of VCF Zarr signals, which numpy would put on the console
        numbers = values.astype(np.float64)
    is_left_out = np.zeros(values.shape, dtype=bool)
    if values.dtype == np.float32:
        is_left_out = values.view(np.uint32) == _FILL
    counts = np.where(np.isnan(numbers).all(axis=1), 0, (~is_left_out).sum(axis=1))
    return numbers, counts


def _read_rows(array: Any, rows: np.ndarray) -> np.ndarray:
    """Return ascending rows of an array; it reads all rows between the first and the last."""
    if not len(rows):
        return array[:0]
    return array[int(rows[0]) : int(rows[-1]) + 1][rows - rows[0]]


def _filters(group: Any, mine: np.ndarray) -> np.ndarray:
    """Return FILTER of variants: ``PASS``, or ``failed`` if any filter is not passed."""
    if "variant_filter" not in group or "filter_id" not in group:
        return np.full(len(mine), "PASS", dtype=object)
    is_filter = np.array([name != "PASS" for name in group["filter_id"][:].tolist()], dtype=bool)
    is_failed = _read_rows(group["variant_filter"], mine)[:, is_filter].any(axis=1)
    return np.where(is_failed, "failed", "PASS").astype(object)


def _require_arrays(path: Path, group: Any) -> None:
    """Refuse a group without the arrays, or with arrays of other variants or samples."""
    lacking = [name for name in _NEEDED if name not in group]
    calls = [name for name in (_CALLS, *_FIELDS) if name in group]
    lacking += [] if calls else [_CALLS]
    if lacking:
        raise DpgrsError("not-a-vcf-zarr", f"`{path}` is no VCF Zarr: it has no `{lacking[0]}`. {MAKE}")
    shapes = {name: group[name].shape for name in _NEEDED}
    n_variants, n_samples = shapes["variant_position"][:1], shapes["sample_id"][:1]
    is_whole = (
        all(len(shapes[name]) == n for name, n in _NEEDED.items())
        and all(shapes[name][:1] == n_variants for name in ("variant_contig", "variant_allele"))
        and all(group[name].shape[:2] == n_variants + n_samples for name in calls)
        and (_CALLS not in calls or len(group[_CALLS].shape) == 3)
    )
    if not is_whole:
        raise _damage(path)


def _require_whole_chunks(path: Path, group: Any) -> None:
    """Refuse a folder with chunks that are cut, after which Blosc reads on in memory, or with some lost.

    Zarr writes no chunk that has only zeros. But where a call is missing, its chunk has other values.
    """
    for name in (*_NEEDED, _CALLS, _PHASES, _MASK, *_FIELDS):
        if name not in group or group[name].shards:
            continue
        if any(type(codec).__name__.startswith("Blosc") for codec in group[name].compressors):
            for chunk in _chunks_of(path / name):
                with (path / name / chunk).open("rb") as file:
                    size = int.from_bytes(file.read(_BLOSC_HEAD)[_BLOSC_SIZE], "little")
                if size != (path / name / chunk).stat().st_size:
                    raise _damage(path)
    if _MASK in group and _CALLS in group and group[_MASK].chunks == group[_CALLS].chunks:
        lost = _chunks_of(path / _MASK) - _chunks_of(path / _CALLS)
        if lost:
            raise _damage(path)


def _chunks_of(folder: Path) -> set[Path]:
    """Return the paths of the chunks of an array within its folder."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder) for file in files if file.name[0] != "." and file.name != "zarr.json"}


def _damage(path: Path) -> DpgrsError:
    return DpgrsError(
        "vcf-zarr-damaged",
        f"`{path}` is no VCF Zarr that can be read: it is cut short or damaged. {COPY_AGAIN}",
    )
