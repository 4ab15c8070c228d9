"""Settings that contradict sums along a public map of the genome."""

from typing import TYPE_CHECKING

from dpgrs.errors import must
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.preflight.copies import COPIES
from dpgrs.study.variant_terms import RAREST, takes_map
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection


def row_problems(inspection: "Inspection") -> list[str]:
    """Ask for people: a public map is of dosages."""
    rows = inspection["cohort.rows"]
    if not takes_map(inspection["methods"]) or rows == Rows.PEOPLE:
        return []
    return [must("cohort.rows", f"be people for `methods: {_mapped()}`", rows, "Say `rows: people`.")]


def planned_problems(inspection: "Inspection") -> list[str]:
    """Ask for a public number of people, for which noise is steered before anything private is read."""
    numbers = [inspection[key] for key in ("cohort.planned_people", COPIES)]
    is_public = any(numbers) or inspection["cohort.source"] == "simulate"
    if is_public or not takes_map(inspection["methods"]):
        return []
    fix = "State about how many people you expect, from public knowledge."
    return [must("cohort.planned_people", f"be given for `methods: {_mapped()}`", "null", fix)]


def frequency_problems(inspection: "Inspection") -> list[str]:
    """Refuse alleles that are too rare in a panel to be standardised by it."""
    maf = inspection["variants.maf"]
    if not takes_map(inspection["methods"]) or maf >= RAREST:
        return []
    fix = "Raise it, or leave it out."
    return [must("variants.maf", f"be at least {RAREST} for `methods: {_mapped()}`", maf, fix)]


def share_problems(inspection: "Inspection") -> list[str]:
    """Refuse shares of directions where no method sums along them."""
    shares = inspection["privacy.direction_shares"]
    if takes_map(inspection["methods"]) or shares == "steered":
        return []
    fix = "Leave it out."
    return [must("privacy.direction_shares", f"go with `methods: {_mapped()}`", shares, fix)]


def moment_problems(inspection: "Inspection") -> list[str]:
    """Refuse a share of second moments where no fit takes them, or along entries of public effects."""
    share, effects = inspection["privacy.ld_share"], inspection["public.effects"]
    is_along_map = takes_map(inspection["methods"])
    if share is None:
        return []
    if not is_along_map:
        return [must("privacy.ld_share", f"go with `methods: {_mapped()}`", share, "Leave it out.")]
    if effects:
        fix = "Leave out one of them."
        return [must("privacy.ld_share", "be null with `public.effects`", share, fix)]
    return []


def part_problems(inspection: "Inspection") -> list[str]:
    """Refuse sums of several centres, which are not along a map."""
    keys = [key for key in ("cohort.part", "cohort.sums") if inspection[key]]
    if not takes_map(inspection["methods"]) or not keys:
        return []
    taking = ", ".join(name for name in inspection["methods"] if METHODS[name].takes_map)
    domain = f"be a method without a map of the genome with `{keys[0]}`"
    return [must("methods", domain, taking, "Take `blup`.")]


def _mapped() -> str:
    return ", ".join(methods_that("takes_map"))
