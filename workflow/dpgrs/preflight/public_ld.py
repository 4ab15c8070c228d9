"""Problems of fits by linkage disequilibrium of public genotypes."""

from typing import TYPE_CHECKING

from dpgrs.errors import must
from dpgrs.methods.registry import methods_that
from dpgrs.preflight.sites import given_problems
from dpgrs.study.variant_terms import takes_ld
from dpgrs.types import Bounds

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

# For a release, or for such fits.
REFERENCE_KEYS = ("public.reference", "public.keep", "public.origin")


def unused_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse a key that a benchmark would ignore."""
    setting = inspection[key]
    if setting is None:
        return []
    if takes_ld(inspection["methods"]):
        return given_problems(inspection, key)
    taking = ", ".join(methods_that("takes_ld"))
    return [f"`{key}` is for `mode: release` or `methods: {taking}`, got {setting} without. Leave it out."]


def reference_problems(inspection: "Inspection") -> list[str]:
    """Ask for public genotypes."""
    if not _needs_reference(inspection) or inspection["public.reference"] is not None:
        return []
    taking = _taking(inspection)
    fix = "Name the genotypes of other people of the same ancestry, or use `methods: blup`."
    return [must("public.reference", f"be given for `methods: {taking}`", "null", fix)]


def site_problems(inspection: "Inspection") -> list[str]:
    """Refuse a table of sites, which has no genotypes."""
    sites = inspection["public.sites"]
    if sites is None or not _needs_reference(inspection):
        return []
    taking = _taking(inspection)
    fix = "Leave it out: sites come from `public.reference`."
    return [must("public.sites", f"be null for `methods: {taking}`", sites, fix)]


def bounds_problems(inspection: "Inspection") -> list[str]:
    """Refuse rows that are not centred at public frequencies: X'Y would hold the means of all columns."""
    got = inspection["privacy.bounds"]
    if got == Bounds.TIGHT or not takes_ld(inspection["methods"]):
        return []
    taking = _taking(inspection)
    fix = "Say `privacy: {bounds: tight}`."
    return [must("privacy.bounds", f"be tight for `methods: {taking}`", got, fix)]


def _taking(inspection: "Inspection") -> str:
    """Name the methods of a study that take it."""
    taking = methods_that("takes_ld")
    return ", ".join(name for name in inspection["methods"] if name in taking)


def _needs_reference(inspection: "Inspection") -> bool:
    return takes_ld(inspection["methods"]) and inspection["cohort.source"] != "simulate"
