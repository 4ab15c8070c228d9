"""The public sites of a release."""

from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.io import sites
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.variant_filters import VariantFilters, write_counts
from dpgrs.study.variant_terms import filters_of, linkage_of

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

READS = (
    "seed",
    "cohort.chromosomes",
    "cohort.rows",
    "variants",
    "public.sites",
    "public.frequencies",
    # The people of the stores: for the provenance note of the sites.
    "public.reference",
    "public.keep",
)


def choose_sites(settings: "StudyConfig", stores: list[Path] = (), *, qc: Path, output: Path) -> None:
    """Choose the sites of a release from public tables or stores.

    Parameters
    ----------
    stores : haplotype stores of the public reference, one per chromosome, unless tables list the sites.
    qc : table to write of all candidate sites, each with the reason why it was left out.
    output : the table of sites to write.
    """
    public, filters = settings.public, filters_of(settings.variants)
    stores = [HaplotypeStore.open(store) for store in stores] if public.sites is None else []
    if stores:
        measured = VariantFilters(missing=filters["missing"], hwe=filters["hwe"])
        candidates = sites.reference_sites(stores, filters=measured)
    else:
        candidates = sites.read_sites(public.sites, frequencies=public.frequencies)
    chosen, counts = sites.choose_sites(
        candidates,
        chromosomes=settings.cohort.chromosomes,
        stores=stores,
        linkage=linkage_of(settings),
        size=max(settings.variants.size),
        seed=settings.seed,
        **filters,
    )
    sites.write_sites(output, chosen)
    write_counts(qc, counts)
