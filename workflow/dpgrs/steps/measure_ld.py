"""Linkage disequilibrium of public genotypes, for fits that use it instead of the cohort's own."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.io.replicates import save_labelled
from dpgrs.io.variant_set import VariantSet
from dpgrs.statement.files import file_stems
from dpgrs.study.public_files import effects_to_subtract, ld_items
from dpgrs.study.public_panel import ld_of_variants, map_items
from dpgrs.study.requests import requests_of

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

# Rules give of the sections what the study's methods take, see `dpgrs.study.requests.reads_of_ld`.
READS = ("cohort", "variants.size", "privacy", "outcomes", "covariates", "release", "public")


def measure_ld(
    settings: "StudyConfig",
    variant_set: Path,
    *,
    without_matrix: bool = False,
    planned_rows: int | None = None,
    outcomes_together: list[int] = (),
    effects: Path | None = None,
    output: Path,
) -> dict[str, int] | None:
    """Estimate linkage disequilibrium of public genotypes, with rows clipped as the cohort's are.

    Returns a dict of the numbers of rows, blocks and principal components of the most variants; None without
    matrices.

    Parameters
    ----------
    variant_set : the variant set of a public reference, at the sites of the study.
    without_matrix : leave out the matrices of LD, which fits of whole genomes do without.
    planned_rows : number of people who are planned to be trained on, for maps of whole genomes; none are made
        without it.
    outcomes_together : number of outcomes that are drawn together, for such maps.
    effects : public effects, for maps with public scores that are subtracted from outcomes.
    output : file to write of linkage disequilibrium for every number of variants, and of a map for every
        request.
    """
    panel, ld_by_size = VariantSet.open(variant_set), {}
    if not without_matrix:
        factor = settings.privacy.genotype_clip
        ld_by_size = ld_of_variants(panel, settings.variants.size, rows=settings.cohort.rows, factor=factor)
    maps = []
    if planned_rows is not None:
        requests = [
            request
            for request, _ in requests_of(settings, rows=settings.cohort.rows, counts=outcomes_together)
        ]
        options = {"n_summed": max(outcomes_together), "genome_build": settings.release.genome_build}
        options["has_equal_shares"] = settings.privacy.direction_shares == "equal"
        options["folder"] = output.parent
        if settings.public.subtract:
            outcomes = settings.public.subtract
            stems = dict(zip(outcomes, file_stems(outcomes), strict=True))
            options["subtracted"] = effects_to_subtract(effects, stems)
        maps = map_items(panel, requests, planned_rows=planned_rows, **options)
    save_labelled(output, chain(ld_items(ld_by_size), maps))
    if not ld_by_size:
        return None
    ld, _ = ld_by_size[max(ld_by_size)]
    return {"n_rows": ld.n_rows, "n_blocks": len(ld.starts), "n_components": len(ld.components)}
