"""A study in one process, of arrays: variant set, exact sums and draws of a replicate, without files between.

A run of the workflow takes the same functions, a job each, and so do the functions for notebooks
(`dpgrs.api`). It is only for benchmarks: nothing is charged.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.io.store_writer import StoreWriter
from dpgrs.io.table_variants import write_table_variants
from dpgrs.io.variant_set import VariantSet
from dpgrs.methods.mechanisms import mechanisms_of, takes_sums
from dpgrs.study.draws import Draw, draws_of
from dpgrs.study.exact_statistics import exact_statistics
from dpgrs.study.training_data import TrainingData

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.io.outcomes import Outcomes
    from dpgrs.io.tables.real_tables import RealTable


@contextmanager
def variants_of_table(table: "RealTable", ranges: Any, *, size: int, seed: int) -> Iterator[VariantSet]:
    """Hold columns of a table as a variant set in a temporary folder.

    The arguments are those of `dpgrs.io.table_variants.write_table_variants`.
    """
    with TemporaryDirectory() as folder:
        path = f"{folder}/variants.zarr"
        write_table_variants(path, table, ranges, size=size, seed=seed)
        yield VariantSet.open(path)


@contextmanager
def variants_of_haplotypes(alleles: np.ndarray, frequency: np.ndarray) -> Iterator[VariantSet]:
    """Hold haplotypes as a variant set in a temporary folder.

    `alleles` are (n_variants, n_haplotypes) of 0 and 1 or bool, the two of a person side by side; `frequency`
    is (n_variants,) float64, public.
    """
    n_variants, positions = len(alleles), np.arange(1, len(alleles) + 1)
    sites = {"position": positions, "id": positions.astype(str)}
    sites |= {name: [value] * n_variants for name, value in {"contig": "1", "ref": "A", "alt": "C"}.items()}
    with TemporaryDirectory() as folder:
        path, sample_id = f"{folder}/variants.zarr", np.arange(1, alleles.shape[1] // 2 + 1).astype(str)
        with StoreWriter.create(path, sample_id=sample_id) as writer:
            writer.append(sites, pack(alleles))
            writer.add_variant_array("variant_rank", np.arange(n_variants, dtype=np.int32))
            writer.add_variant_array("variant_frequency", frequency)
        yield VariantSet.open(path)


def training_data(
    settings: "StudyConfig", variant_set: VariantSet, outcomes: "Outcomes", *, ld: Path | str | None = None
) -> TrainingData:
    """Sum the training rows of a replicate, if a method of the whole study takes sums.

    `ld` is the path of public linkage disequilibrium, for a method that takes it.
    """
    sums = exact_statistics(settings, variant_set, outcomes) if takes_sums(settings.methods) else None
    return TrainingData(outcomes, statistics=sums, variant_set=variant_set, ld=ld)


def draws_of_study(settings: "StudyConfig", data: TrainingData) -> Iterator[Draw]:
    """Yield the Draws of a benchmark from which its methods are fitted; each makes its own choices."""
    for mechanism in mechanisms_of(settings.methods, is_release=False):
        for draw in draws_of(settings, mechanism, mechanism.drawn_for(settings.methods), data):
            if draw.fitted:
                yield draw
