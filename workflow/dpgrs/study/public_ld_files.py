"""Public linkage disequilibrium: of a variant set, and its files."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.io.replicates import load_labelled, save_labelled
from dpgrs.linalg.clipped_statistics import GENOTYPE_STEP, frequency_rows
from dpgrs.linalg.norms import row_norm_of
from dpgrs.linalg.public_ld import PublicLd, public_ld
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.io.variant_set import VariantSet


def ld_of_variants(
    variant_set: "VariantSet", sizes: Iterable[int], *, rows: Rows, factor: float
) -> dict[int, tuple[PublicLd, str]]:
    """Estimate linkage disequilibrium of a public panel, and the SHA-256 of its rows, by number of variants.

    `factor` is `privacy.genotype_clip`, since rows are clipped as a cohort's are.
    """
    ld_by_size, rows = {}, Rows(rows)
    for size in sizes:
        columns = variant_set.of_size(size)
        frequency, genotypes = variant_set.frequency[columns], variant_set.genotypes(columns)
        norm = row_norm_of(frequency, rows=rows, factor=factor)
        options = {"row_norm": norm, "n_haplotypes": variant_set.n_haplotypes, "rows": rows}
        X = frequency_rows(genotypes, frequency, **options)
        loci = {name: variant_set.variants[name].to_numpy()[columns] for name in ("contig", "position")}
        n_alleles = 2 if rows == Rows.HAPLOTYPES else 1
        ld = public_ld(X * GENOTYPE_STEP, **loci, rows_per_person=n_alleles)
        ld_by_size[size] = ld, hashlib.sha256(np.ascontiguousarray(X).tobytes()).hexdigest()
    return ld_by_size


def save_ld(path: Path | str, found: Mapping[int, tuple[PublicLd, str]]) -> None:
    """Write linkage disequilibrium of variant sets, as from `ld_of_variants`."""
    save_labelled(path, ld_items(found))


def ld_items(
    found: Mapping[int, tuple[PublicLd, str]],
) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Yield linkage disequilibrium of variant sets, a label and arrays for each."""
    for size, (ld, digest) in found.items():
        arrays = {f"block{number}": block for number, block in enumerate(ld.blocks)}
        arrays |= {"starts": ld.starts, "components": ld.components}
        yield {"n_variants": size, "n_rows": ld.n_rows, "digest": digest}, arrays


def load_ld(path: Path | str) -> dict[int, tuple[PublicLd, str]]:
    """Read what `save_ld` wrote; maps of genomes in the same file stay there."""
    ld_by_size = {}
    for label, arrays in load_labelled(path).of(lambda label: "n_variants" in label):
        blocks = tuple(arrays[f"block{number}"] for number in range(len(arrays["starts"])))
        ld = PublicLd(np.asarray(arrays["starts"]), blocks, arrays["components"], label["n_rows"])
        ld_by_size[label["n_variants"]] = ld, label["digest"]
    return ld_by_size
