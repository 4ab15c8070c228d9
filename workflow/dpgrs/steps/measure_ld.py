"""Linkage disequilibrium of public genotypes, for fits that take it in place of the cohort's own."""

from pathlib import Path

from dpgrs.io.variant_set import VariantSet
from dpgrs.study.public_ld_files import ld_of_variants, save_ld

READS = ("cohort.rows", "variants.size", "privacy.genotype_clip")


def measure_ld(settings, variant_set: Path, *, output: Path):
    """Estimate linkage disequilibrium of public genotypes, with rows clipped as the cohort's are.

    Parameters
    ----------
    settings : Settings
    variant_set : the variant set of a public reference, at the sites of the study.
    output : file to write of linkage disequilibrium for every number of variants.

    Returns
    -------
    dict of the numbers of rows, blocks and principal components of the most variants.
    """
    found = ld_of_variants(
        VariantSet.open(variant_set),
        settings.variants.size,
        rows=settings.cohort.rows,
        factor=settings.privacy.genotype_clip,
    )
    save_ld(output, found)
    ld, _ = found[max(found)]
    return {"n_rows": ld.n_rows, "n_blocks": len(ld.starts), "n_components": len(ld.components)}
