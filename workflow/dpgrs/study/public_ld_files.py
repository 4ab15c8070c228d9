"""Public linkage disequilibrium: of a variant set, and its files."""

import hashlib

import numpy as np

from dpgrs.io.replicates import load_labelled, save_labelled
from dpgrs.linalg.clipped_statistics import GENOTYPE_STEP, frequency_rows
from dpgrs.linalg.norms import row_norm_of
from dpgrs.linalg.public_ld import PublicLd, public_ld
from dpgrs.types import Rows


def ld_of_variants(variant_set, sizes, *, rows, factor):
    """Estimate how genotypes of a public panel go together.

    Parameters
    ----------
    variant_set : VariantSet, of public people.
    sizes : list of int, of variant sets.
    rows : Rows
    factor : float, `privacy.genotype_clip`, since rows are clipped as a cohort's are.

    Returns
    -------
    dict of number of variants to (PublicLd, SHA-256 in hexadecimal of the rows that it is of).
    """
    found, rows = {}, Rows(rows)
    for size in sizes:
        columns = variant_set.of_size(size)
        frequency, genotypes = variant_set.frequency[columns], variant_set.genotypes(columns)
        norm = row_norm_of(frequency, rows=rows, factor=factor)
        options = {"row_norm": norm, "n_haplotypes": variant_set.n_haplotypes, "rows": rows}
        X = frequency_rows(genotypes, frequency, **options)
        places = {name: variant_set.variants[name].to_numpy()[columns] for name in ("contig", "position")}
        n_alleles = 2 if rows == Rows.HAPLOTYPES else 1
        ld = public_ld(X * GENOTYPE_STEP, **places, rows_per_person=n_alleles)
        found[size] = ld, hashlib.sha256(np.ascontiguousarray(X).tobytes()).hexdigest()
    return found


def save_ld(path, found):
    """Write linkage disequilibrium of variant sets.

    Parameters
    ----------
    path : the file.
    found : dict as from `ld_of_variants`.
    """
    items = []
    for size, (ld, digest) in found.items():
        arrays = {f"block{number}": block for number, block in enumerate(ld.blocks)}
        arrays |= {"starts": ld.starts, "components": ld.components}
        items.append(({"n_variants": size, "n_rows": ld.n_rows, "digest": digest}, arrays))
    save_labelled(path, items)


def load_ld(path):
    """Read what `save_ld` wrote."""
    found = {}
    for label, arrays in load_labelled(path):
        blocks = tuple(arrays[f"block{number}"] for number in range(len(arrays["starts"])))
        ld = PublicLd(np.asarray(arrays["starts"]), blocks, arrays["components"], label["n_rows"])
        found[label["n_variants"]] = ld, label["digest"]
    return found
