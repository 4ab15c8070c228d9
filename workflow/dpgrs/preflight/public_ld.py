"""What keeps a fit from resting on linkage disequilibrium of public genotypes."""

from dpgrs.errors import must
from dpgrs.methods.registry import methods_that
from dpgrs.study.panel_terms import takes_ld
from dpgrs.types import Bounds

# Of a release, or of such fits.
REFERENCE_KEYS = ("public.reference", "public.origin")


def unused_problems(inspection, key):
    """Refuse what a benchmark without such a fit would ignore."""
    value = inspection[key]
    if value is None or takes_ld(inspection["methods"]):
        return []
    taking = ", ".join(methods_that("takes_ld"))
    return [f"`{key}` is for `mode: release` or `methods: {taking}`, got {value} without. Leave it out."]


def reference_problems(inspection):
    """Ask for public genotypes."""
    if not takes_ld(inspection["methods"]) or inspection["cohort.source"] == "simulate":
        return []
    name = ", ".join(name for name in inspection["methods"] if takes_ld([name]))
    lines = []
    if inspection["public.reference"] is None:
        fix = "Name the genotypes of other people of the same ancestry, or use `methods: blup`."
        lines.append(must("public.reference", f"be given for `methods: {name}`", "null", fix))
    if inspection["public.sites"] is not None:
        fix = "Leave it out: sites come from `public.reference`."
        wanted = f"be null for `methods: {name}`"
        lines.append(must("public.sites", wanted, inspection["public.sites"], fix))
    return lines


def bounds_problems(inspection):
    """Refuse rows that are not centred at public frequencies: X'Y would hold the means of all columns."""
    got = inspection["privacy.bounds"]
    if got == Bounds.TIGHT or not takes_ld(inspection["methods"]):
        return []
    taking = ", ".join(methods_that("takes_ld"))
    fix = "Say `privacy: {bounds: tight}`."
    return [must("privacy.bounds", f"be tight for `methods: {taking}`", got, fix)]
