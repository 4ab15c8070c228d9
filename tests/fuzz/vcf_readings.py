"""One reading of a fuzzer's case, by any code: all it gives, or its error."""

import itertools
import re
from functools import cache
from inspect import isfunction, signature

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.vcf import records as vcf_records
from dpgrs.io.vcf.text import match_contig, record_error
from dpgrs.io.vcf.vcf import scanner_of

CONTIG = "1"
_NAMES = (b"1", b"chr1")
# What would be taken for a part of the text by code that leaves it.
_CANARY = b"\t0|1\n1\t9" * 20


class MemoryText:
    """A VCF in memory, for the place of `dpgrs.io.vcf.text.ContigText`, with bytes around it that lure.

    With an index the records are not counted: there is none.
    """

    def __init__(self, path, case):
        self._path, self._text, self._n_bytes = path, case.text, case.n_bytes
        self._start = re.match(rb"(#[^\n]*(\n|$))*", case.text).end()
        self.is_indexed = case.is_indexed

    def blocks(self):
        start = self._start
        while start < len(self._text):
            stop = self._text.find(b"\n", start + self._n_bytes - 1) + 1 or len(self._text)
            block = _CANARY + self._text[start:stop] + _CANARY
            yield np.frombuffer(bytearray(block), dtype=np.uint8), len(_CANARY), len(block) - len(_CANARY)
            start = stop

    def has(self, name):
        return name in _NAMES

    def record_error(self, number, line, problem):
        number += self._text.count(b"\n", 0, self._start)
        return record_error(self._path, None if self.is_indexed else number, line, problem)

    def require_complete(self, names, _):
        if not self.is_indexed:
            match_contig(self._path, CONTIG, [name.decode(errors="replace") for name in names])


def outcome(text, case, *, is_compiled, **options):
    """Return all that reading gives, in plain types, or the message of the error."""
    try:
        scanner = scanner_of(case.field)(
            text() if callable(text) else text,
            n_samples=case.n_samples,
            is_phase_required=case.is_phase_required,
            is_filter_kept=case.is_filter_kept,
            is_known_ref=case.is_known_ref,
            is_compiled=is_compiled,
        )
        batches = [
            ({name: list(values) for name, values in columns.items()}, *(plane.tolist() for plane in planes))
            for columns, *planes in scanner.rows(case.n_rows, **options)
        ]
    except DpgrsError as error:
        return str(error)
    return batches, scanner.n_records, dict(scanner.skipped), scanner.haploid_calls


def require_readable(result):
    """Refuse an error that is not one line of moderate length to be read on a screen."""
    if isinstance(result, str) and not (result.isprintable() and len(result) < 2000):
        raise AssertionError(f"message of {len(result)} characters: {result[:3000]!a}")


def share_parsers():
    """Let cases share cyvcf2's parsers, a thousand each: it keeps 40 kB of every parser for ever."""
    uses = itertools.count(1)
    shared = cache(vcf_records._call_parser)

    def parser(n_samples):
        if next(uses) % 1000 == 0:
            shared.cache_clear()
        return shared(n_samples)

    vcf_records._call_parser = parser


class OutOfBoundsError(Exception):
    """Compiled code would have read or written beside an array."""


class Guarded(np.ndarray):
    """An array that refuses places outside its bounds, negative ones too, which numpy takes from the end."""

    bounds = None  # of a part of the array; slices may not leave that either

    def __getitem__(self, key):
        self._require_inside(key)
        part = super().__getitem__(key)
        return part.view(np.ndarray) if isinstance(key, slice) else part  # slices are read by iteration

    def __setitem__(self, key, value):
        self._require_inside(key)
        super().__setitem__(key, value)

    def _require_inside(self, key):
        if isinstance(key, slice):
            low, high = self.bounds or (-np.inf, np.inf)
            is_inside = low <= key.start <= key.stop <= high
        elif isinstance(key, tuple):
            places = zip(key, self.shape, strict=True)
            is_inside = all(place == slice(None) or 0 <= place < size for place, size in places)
        else:
            low, high = self.bounds or (0, len(self))
            is_inside = low <= key < high
        if not is_inside:
            raise OutOfBoundsError(f"{key} of {self.bounds or self.shape}")


def guard(kernels):
    """Let every plain kernel guard its arrays; of a text that comes with a start and a stop, that part."""

    def guarded(kernel, *, is_part):
        return lambda text, *rest: kernel(_guard(text, rest[:2] if is_part else None), *map(_guard, rest))

    for name, kernel in list(vars(kernels).items()):
        if isfunction(kernel):
            names = [*signature(kernel).parameters]
            if names[:1] == ["text"] or name == "pack_allele":
                setattr(kernels, name, guarded(kernel, is_part=names[2:3] == ["stop"]))


def _guard(value, bounds=None):
    if not isinstance(value, np.ndarray):
        return value
    view = value.view(Guarded)
    view.bounds = bounds
    return view
