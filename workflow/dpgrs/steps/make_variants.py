"""The variants of a study from the stores of its chromosomes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs.errors import DpgrsError
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.selection import select_variants
from dpgrs.io.site_variants import take_sites
from dpgrs.io.sites import read_chosen_sites
from dpgrs.io.variant_filters import MUCH_MISSING, poorly_called, write_counts
from dpgrs.io.variant_set_writer import write_variant_set
from dpgrs.study.variant_terms import filters_of, linkage_of

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

READS = ("seed", "cohort.rows", "variants", "public.genotypes.sha256")


def make_variants(
    settings: "StudyConfig",
    stores: list[Path],
    *,
    sites: Path | None = None,
    qc: Path | None = None,
    output: Path,
) -> dict[str, Any]:
    """Choose the variants of a study from haplotype stores.

    Returns a dict of counts, in a benchmark with `warnings` about missing alleles, if there are any. Raises
    DpgrsError if genotypes that count as public are not the published ones, or nothing is left to choose
    from.

    Parameters
    ----------
    stores : haplotype stores, one per chromosome, in genome order.
    sites : public sites of a release, all of which are taken. Without them, the filters use the genotypes
        of the cohort.
    qc : table to write of all variants, each with the reason why it was left out; without public sites
        only.
    output : store of the study's variants to write.
    """
    stores = [HaplotypeStore.open(store) for store in stores]
    _require_published(stores, settings.public.genotypes.sha256)
    if sites is not None:
        return write_variant_set(output, stores, take_sites(stores, read_chosen_sites(sites)))
    selection = select_variants(
        stores,
        size=max(settings.variants.size),
        seed=settings.seed,
        linkage=linkage_of(settings),
        **filters_of(settings.variants),
    )
    if qc:
        write_counts(qc, selection.counts)
    counts = write_variant_set(output, stores, selection)
    share = counts["n_filled"] / (counts["n_variants"] * stores[0].n_haplotypes)
    warnings = poorly_called(selection.counts)
    if share > MUCH_MISSING:
        warnings.append(
            f"Missing: {100 * share:.0f} % of the variants' alleles; `variants.missing` lowers it."
        )
    return counts | ({"warnings": warnings} if warnings else {})


def _require_published(stores: Sequence[HaplotypeStore], digests: Sequence[str]) -> None:
    """Refuse other genotypes than those that are taken as public; no digests take none as public.

    The digests of files are those that were noted as their stores were made: no file is read again.
    """
    files = [file for store in stores for file in store.source_files] if digests else []
    unpublished = sorted({file["file"] for file in files if file["sha256"] not in digests})
    if unpublished or {*digests} != {file["sha256"] for file in files}:
        domain = "be of the files of `public.genotypes.sha256`"
        got = f"another: {unpublished[0]}" if unpublished else "only some of them"
        raise DpgrsError(
            "genotypes-not-published", f"Genotypes must {domain}, got {got}. Restore the published ones."
        )
