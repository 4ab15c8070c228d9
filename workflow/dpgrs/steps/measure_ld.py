"""Linkage disequilibrium of public genotypes, for fits that take it in place of the cohort's own."""

import hashlib
from pathlib import Path

import numpy as np

from dpgrs.io.panel import Panel
from dpgrs.linalg.clipped_statistics import GENOTYPE_STEP, frequency_rows
from dpgrs.linalg.norms import row_norm_of
from dpgrs.linalg.public_ld import public_ld
from dpgrs.study.public_ld_files import save_ld
from dpgrs.types import Rows

READS = ("cohort.rows", "panel.size", "privacy.genotype_clip")


def measure_ld(settings, panel: Path, *, output: Path):
    """Estimate how public genotypes go together, of rows that are clipped as a cohort's are.

    Parameters
    ----------
    settings : Settings
    panel : the panel of a public reference, at the sites of the study.
    output : linkage disequilibrium of every panel size.

    Returns
    -------
    dict of the numbers of rows, blocks and principal components of the largest panel.
    """
    panel, rows = Panel.open(panel), Rows(settings.cohort.rows)
    found = {}
    for size in settings.panel.size:
        columns = panel.of_size(size)
        frequency, genotypes = panel.frequency[columns], panel.genotypes(columns)
        norm = row_norm_of(frequency, rows=rows, factor=settings.privacy.genotype_clip)
        options = {"row_norm": norm, "n_haplotypes": panel.n_haplotypes, "rows": rows}
        X = frequency_rows(genotypes, frequency, **options)
        places = {name: panel.variants[name].to_numpy()[columns] for name in ("contig", "position")}
        n_alleles = 2 if rows == Rows.HAPLOTYPES else 1
        ld = public_ld(X * GENOTYPE_STEP, **places, rows_per_person=n_alleles)
        found[size] = ld, hashlib.sha256(np.ascontiguousarray(X).tobytes()).hexdigest()
    save_ld(output, found)
    ld, _ = found[max(found)]
    return {"n_rows": ld.n_rows, "n_blocks": len(ld.starts), "n_components": len(ld.components)}
