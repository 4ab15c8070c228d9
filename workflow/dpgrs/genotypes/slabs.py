"""A slab of genotypes: some people at all variants of a chromosome, in the form of a store."""

from dataclasses import dataclass

import numpy as np

from dpgrs.errors import UsageError


@dataclass(frozen=True, eq=False)
class GenotypeSlab:
    """Genotypes of diploid people at all variants of a chromosome.

    A person's genotype is missing where either allele is.
    """

    # (n_variants, n_words) uint64 haplotypes as bits; or (n_variants, n_people) int16 or uint16 dosages in
    # units of `DOSAGE_STEP`, a missing one in place of which the variant's public centre stands.
    genotypes: np.ndarray
    n_people: int
    missing: np.ndarray | None = None  # (n_variants, n_words) uint64, of bits: 1 if an allele is unknown

    def __post_init__(self) -> None:
        if self.has_dosages and self.missing is not None:
            raise UsageError(
                "missing-with-dosages",
                "`missing` must be None with dosages, got an array. Fill these by their centres.",
            )

    @property
    def has_dosages(self) -> bool:
        """Whether the genotypes are dosages."""
        return self.genotypes.dtype != np.uint64
