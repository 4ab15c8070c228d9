"""Haplotypes as bits: haplotype h = 2 * person + phase is bit h % 64 of word h // 64, padding bits are 0."""

import numpy as np

WORD_BITS = 64
PEOPLE_OF_WORD = WORD_BITS // 2
EVEN_BITS = np.uint64(0x5555555555555555)


def word_count(n_haplotypes: int) -> int:
    """Return the number of 64-bit words that hold `n_haplotypes` bits."""
    return -(-n_haplotypes // WORD_BITS)


def pack(alleles: np.ndarray) -> np.ndarray:
    """Return (..., n_haplotypes) alleles, 0 and 1 or bool, as (..., word_count(n_haplotypes)) uint64 words.

    Examples
    --------
    >>> pack(np.array([1, 0, 1], dtype=np.uint8)).tolist()
    [5]
    """
    packed = np.packbits(np.asarray(alleles, dtype=bool), axis=-1, bitorder="little")
    missing_bytes = word_count(np.shape(alleles)[-1]) * 8 - packed.shape[-1]
    padded = np.pad(packed, [(0, 0)] * (packed.ndim - 1) + [(0, missing_bytes)])
    return np.ascontiguousarray(padded).view("<u8").astype(np.uint64, copy=False)


def unpack(words: np.ndarray, n_haplotypes: int) -> np.ndarray:
    """Return (..., n_words) words as (..., n_haplotypes) uint8 of 0 and 1; the inverse of `pack`."""
    as_bytes = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(as_bytes, axis=-1, count=n_haplotypes, bitorder="little")


def phases_swapped(words: np.ndarray) -> np.ndarray:
    """Exchange the two haplotypes of every person: neighbouring bits of (..., n_words) uint64 are swapped."""
    return (words & EVEN_BITS) << np.uint64(1) | words >> np.uint64(1) & EVEN_BITS


def bit_counts(words: np.ndarray) -> np.ndarray:
    """Return the (n,) int64 numbers of 1 bits of (n, n_words) uint64."""
    return np.bitwise_count(words).sum(axis=-1, dtype=np.int64)


def genotype_counts(
    haplotypes: np.ndarray, missing: np.ndarray | None = None, *, n_haplotypes: int
) -> np.ndarray:
    """Return the (n_variants, 3) int64 people with no, one and two ALT alleles; others are left out.

    Planes are (n_variants, n_words) uint64: bit 1 if the haplotype carries ALT, and if the allele is unknown;
    `missing` is None if all are known.
    """
    unknown = np.zeros_like(haplotypes) if missing is None else missing | phases_swapped(missing)
    known_alt = haplotypes & ~unknown
    n_people = (n_haplotypes - bit_counts(unknown)) // 2
    n_twice = bit_counts(known_alt & phases_swapped(known_alt)) // 2
    n_once = bit_counts(known_alt) - 2 * n_twice
    counts = np.stack([n_people - n_once - n_twice, n_once, n_twice], axis=1)
    assert counts.shape == (len(haplotypes), 3)
    return counts
