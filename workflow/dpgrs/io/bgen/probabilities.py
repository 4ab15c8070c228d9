"""The probabilities of variants of a BGEN, inflated and decoded."""

import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from isal import isal_zlib

from dpgrs.errors import DpgrsError
from dpgrs.io.bgen import _kernels as kernels
from dpgrs.io.bgen.blocks import PLAIN, ZLIB, BgenFile, BgenHeader, Variant
from dpgrs.io.vcf.text import COPY_AGAIN, record_error

_DAMAGE = f"its probabilities are damaged. {COPY_AGAIN}"


class Probabilities:
    """The probabilities of variants of a BGEN."""

    def __init__(self, path: Path, header: BgenHeader, variants: Sequence[Variant]) -> None:
        self._path, self._header, self._variants = path, header, variants

    def calls(self, records: np.ndarray | Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return (n, 2 n_samples) alleles and (n, n_samples) phase; see `ListedVariants`."""
        variants = [self._variants[record] for record in records]
        has_few = max((len(variant.alleles) for variant in variants), default=0) <= np.iinfo(np.int8).max
        shape = len(records), 2 * self._header.n_samples
        alleles = np.empty(shape, dtype=np.int8 if has_few else np.int16)
        is_phased = np.empty((len(records), self._header.n_samples), dtype=bool)
        with BgenFile(self._path) as file:
            for row, variant in enumerate(variants):
                is_phased[row] = self._decode(file, variant, kernels.decode_calls, alleles[row])
        return alleles, is_phased

    def dosages(self, records: np.ndarray, alleles: np.ndarray) -> np.ndarray:
        """Return (n, n_samples) dosages, -1 if missing."""
        dosages = np.empty((len(records), self._header.n_samples))
        with BgenFile(self._path) as file:
            for row, record, allele in zip(dosages, records, alleles, strict=True):
                self._decode(file, self._variants[record], kernels.decode_dosages, int(allele), row)
        return dosages

    def _decode(self, file: BgenFile, variant: Variant, decode: Callable[..., int], *target: Any) -> bool:
        """Decode a variant; return whether it has phase."""
        block, n_samples, n_alleles = self._block(file, variant), self._header.n_samples, len(variant.alleles)
        begin = 10 + n_samples
        if len(block) < begin:
            raise self._error(variant, _DAMAGE)
        ploidy = np.frombuffer(block, dtype=np.uint8, count=n_samples, offset=8)
        is_phased, n_bits = block[begin - 2], block[begin - 1]
        sizes = struct.unpack_from("<IH", block)
        if sizes != (n_samples, n_alleles) or is_phased > 1 or not 1 <= n_bits <= 32:
            raise self._error(variant, _DAMAGE)
        n_values = kernels.count_values(ploidy, n_alleles, is_phased)
        if n_values < 0:
            raise self._error(variant, "calls must have one allele or two, got others. Leave the record out.")
        if len(block) != begin + -(-n_values * n_bits // 8):
            raise self._error(variant, _DAMAGE)
        if n_bits != 8:  # whose kernel looks at no byte behind the probabilities
            block += bytes(kernels.PADDING)
        raw = np.frombuffer(block, dtype=np.uint8, offset=begin)
        bad = decode(raw, ploidy, n_alleles, is_phased == 1, n_bits, *target)
        if bad != kernels.ALL_TAKEN:
            problem = f"the probabilities of sample {bad + 1} add up to more than 1. Mend the record."
            raise self._error(variant, problem)
        return is_phased == 1

    def _block(self, file: BgenFile, variant: Variant) -> bytes:
        """Return the block of a variant's probabilities, inflated."""
        block = file.read(variant.data, variant.end - variant.data)
        if self._header.compression == PLAIN:
            return block
        size = int.from_bytes(block[:4], "little")
        inflate = _inflate_zlib if self._header.compression == ZLIB else _inflate_zstd
        try:
            block = (
                inflate(memoryview(block)[4:], size) if size <= self._largest(len(variant.alleles)) else b""
            )
        except (isal_zlib.error, RuntimeError, ValueError, MemoryError):
            block = b""
        if len(block) != size:
            raise self._error(variant, _DAMAGE)
        return block

    def _largest(self, n_alleles: int) -> int:
        """Return the most bytes that the probabilities of a variant take: 32 bits each."""
        n_values = max(n_alleles * (n_alleles + 1) // 2 - 1, 2 * (n_alleles - 1))
        return 10 + self._header.n_samples * (1 + 4 * n_values)

    def _error(self, variant: Variant, problem: str) -> DpgrsError:
        return record_error(self._path, None, f"{variant.contig}\t{variant.position}".encode(), problem)


def _inflate_zlib(packed: bytes, size: int) -> bytes:
    stream = isal_zlib.decompressobj()
    block = stream.decompress(packed, size + 1)
    if not stream.eof:
        raise ValueError
    return block


def _inflate_zstd(packed: bytes, size: int) -> bytes:
    from numcodecs.zstd import Zstd

    return Zstd().decode(packed)
