"""The variant set: the variants of the study, taken from the chromosomes' stores, without missing alleles."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import PEOPLE_OF_WORD
from dpgrs.genotypes.dosages import half_coded
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.io.covariates import Covariates
    from dpgrs.io.outcomes import Outcomes


TABLE_KIND = "table"  # of the options of a variant set that `dpgrs.io.table_variants` wrote


class VariantSet(HaplotypeStore):
    """A haplotype store of the study's variants, in genome order, from which smaller sets are taken."""

    @classmethod
    def open(cls, path: Path | str) -> Self:
        variant_set = super().open(path)
        if "variant_rank" not in variant_set._group:
            raise DpgrsError(
                "not-a-variant-set",
                f"`{path}` is a haplotype store, but not of a study's variants. "
                "Make one: dpgrs make-variants",
            )
        return variant_set

    @cached_property
    def variant_rank(self) -> np.ndarray:
        """Each variant's number in the thinning order, (n_variants,) int32."""
        return self._read("variant_rank")

    @cached_property
    def frequency(self) -> np.ndarray:
        """ALT allele frequency among the known alleles of the cohort, (n_variants,) float64."""
        return self._read("variant_frequency")

    @property
    def is_table(self) -> bool:
        """Whether its columns come from a table of real numbers."""
        return self.attributes.get("options", {}).get("kind") == TABLE_KIND

    def genotypes(
        self, selection: slice | np.ndarray = slice(None), people: slice = slice(None)
    ) -> np.ndarray:
        """Return the genotypes of variants as `dpgrs.linalg` takes them: (n_selected, n_words) uint64 bits.

        A variant set with dosages gives (n_selected, n_samples) int16 in `half` coding, in units of
        `dpgrs.genotypes.dosages.DOSAGE_STEP`. The people begin with a whole word of haplotypes, as those of
        `people_parts` do.
        """
        if self.has_dosages:
            return half_coded(self.dosages(selection, people))
        first, last, _ = people.indices(self.n_samples)
        assert first % PEOPLE_OF_WORD == 0
        return self.haplotypes(selection, slice(first // PEOPLE_OF_WORD, -(-last // PEOPLE_OF_WORD)))

    def of_size(self, size: int) -> np.ndarray:
        """Return the (size,) indices of the variant set of `size` variants, in genome order.

        Variant sets are nested: the variant set of one size is part of every larger one.
        """
        if not 1 <= size <= self.n_variants:
            raise DpgrsError(
                "size-out-of-range",
                f"`size` must be from 1 to {self.n_variants}, the variants of `{self.path}`, got {size}. "
                "Change it.",
            )
        return np.flatnonzero(self.variant_rank < size)


def check_same_people(variant_set: Any, outcomes: "Outcomes", covariates: "Covariates | None" = None) -> None:
    """Refuse outcomes and covariates of more or fewer people than a variant set, before numpy shows how many.

    The message has no number: numbers of people are private.
    """
    n_rows = (
        variant_set.n_haplotypes if Rows(outcomes.rows) == Rows.HAPLOTYPES else variant_set.n_haplotypes // 2
    )
    sizes = {len(outcomes.is_training)} | ({covariates.units.shape[1]} if covariates is not None else set())
    if sizes != {n_rows}:
        raise DpgrsError(
            "people-differ",
            "Variants, outcomes and covariates must be of the same people, got others. Make them again from "
            "the same genotypes: dpgrs make-variants, make-outcomes, make-covariates",
        )
