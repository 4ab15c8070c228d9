"""The training rows, for what chooses variants or fits by rows: genotypes in any form, and outcomes."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.genotypes.blocks import variant_blocks
from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.linalg.attenuation import clip_slopes
from dpgrs.linalg.coding import CALL_STEP, count_known
from dpgrs.linalg.statistics import CodedRows, coded_rows, is_fractional, selected_haplotypes
from dpgrs.privacy.digests import InBlocks, data_digest
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.privacy.noise.base import NoiseSource


@dataclass(frozen=True, eq=False)
class ScreeningData:
    """Genotypes and outcomes of the training rows."""

    # (n_variants, n_words) uint64 bits, or StoredGenotypes of this shape; for dosages and for a table
    # (n_variants, n_rows) int16.
    genotypes: np.ndarray
    Y: np.ndarray  # (n_outcomes, n_rows) float64, NaN where missing and outside the training
    is_training: np.ndarray  # (n_rows,) bool
    n_haplotypes: int
    rows: Rows
    # (n_people,) str; selectors divide people into groups by it. None if no selector does.
    sample_id: np.ndarray | None = None
    # (n_outcomes,) float64, public, for 0/1 outcomes, NaN for others; None takes all as normal.
    prevalence: np.ndarray | None = None
    # Whether the columns come from a table. DPKendall compares only the order of their values.
    is_table: bool = False
    n_threads: int = 1  # threads that compare genotypes with outcomes; it changes no score

    @cached_property
    def in_memory(self) -> Self:
        """The same with all genotypes in memory."""
        is_held = isinstance(self.genotypes, np.ndarray)
        return self if is_held else replace(self, genotypes=np.asarray(self.genotypes))

    @property
    def row_step(self) -> float:
        """The step of which all entries of the rows are multiples, a float."""
        return DOSAGE_STEP if is_fractional(self.genotypes) else CALL_STEP

    @cached_property
    def training_rows(self) -> np.ndarray:
        """The training rows of all variants in `half` coding: (n_training, n_variants) float64."""
        return self.rows_of(np.arange(len(self.genotypes)), self.is_training)

    @property
    def rows_by_index(self) -> CodedRows:
        """The training rows as CodedRows, each computed on access, of genotypes in memory."""
        options = {"n_haplotypes": self.n_haplotypes, "rows": self.rows, "is_selected": self.is_training}
        return CodedRows(self.genotypes, **options)

    def rows_of(self, chosen: np.ndarray, is_selected: np.ndarray) -> np.ndarray:
        """Return the rows of chosen variants in `half` coding: (n_selected, n_choices) float64."""
        options = {"n_haplotypes": self.n_haplotypes, "rows": self.rows, "is_selected": is_selected}
        return coded_rows(self.genotypes[chosen], **options)

    def slopes(self, n_outcomes: int, *, bound: float, norm: float | None) -> np.ndarray:
        """Return the slopes that clips leave of effects on the first outcomes, (n_outcomes,) float64."""
        prevalence = np.full(n_outcomes, np.nan) if self.prevalence is None else self.prevalence[:n_outcomes]
        return clip_slopes(prevalence, bound=bound, norm=norm, n_shared=1)

    def unit_keys(self, rows_per_unit: int) -> list[str]:
        """Return a public name of every training unit, a list of str, in the order of rows."""
        n_alleles = 1 if self.rows == Rows.PEOPLE else 2
        people = np.repeat(np.asarray(self.sample_id, dtype=str), n_alleles)[self.is_training]
        if rows_per_unit == n_alleles:
            return people[::n_alleles].tolist()
        return [f"{name} {position % 2 + 1}" for position, name in enumerate(people)]

    def n_known(self, number: int) -> np.ndarray:
        """Return the number of training rows on which an outcome is known, (1,) int64."""
        return count_known(self.Y[[number]])

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """Results that a selector computes for all outcomes at once, a dict by a key of the selector."""
        return {}

    @cached_property
    def genotype_digest(self) -> str:
        """The digest of the training rows' genotypes, str."""
        if is_fractional(self.genotypes):
            return data_digest(self.genotypes * self.is_training, self.is_training)
        mask = pack(selected_haplotypes(self.is_training, n_haplotypes=self.n_haplotypes, rows=self.rows))
        blocks = (block & mask for _, block in variant_blocks(self.genotypes))
        return data_digest(InBlocks(mask.dtype, self.genotypes.shape, blocks), self.is_training)

    def source(self, noise: "NoiseSource", name: str, number: int) -> "NoiseSource":
        """Return the noise source of all draws for the outcome of that name and number."""
        y = np.where(np.isnan(self.Y[number]), np.nan, self.Y[number])
        return noise.of("outcomes", name).on(self.genotype_digest, data_digest(y))
