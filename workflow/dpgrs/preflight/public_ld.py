"""Problems of fits by linkage disequilibrium of public genotypes."""

from dpgrs.preflight.rules import BY_LD, FROM_FILES, GIVEN, SIMULATED, each, rules, without
from dpgrs.preflight.sites import GIVEN_FOR_NOTHING
from dpgrs.types import Bounds

# For a release, or for such fits.
REFERENCE_KEYS = ("public.reference", "public.keep", "public.origin")
OF_BENCHMARK = rules(
    {
        **each(REFERENCE_KEYS, GIVEN_FOR_NOTHING, None, BY_LD, SIMULATED),
        **each(
            REFERENCE_KEYS,
            "is for `mode: release` or `methods: {ld_methods}`, got {got} without. Leave it out.",
            *(None, without(BY_LD)),
        ),
    }
)
REFERENCE = rules(
    {
        "`public.reference` must be given for `methods: {own_ld_methods}`, got null. Name the genotypes of "
        "other people of the same ancestry, or use `methods: blup`.": (GIVEN, BY_LD, FROM_FILES),
    }
)
# A table of sites has no genotypes.
OF_RELEASE = rules(
    {
        "`public.sites` must be null for `methods: {own_ld_methods}`, got {got}. Leave it out: sites come "
        "from `public.reference`.": (None, BY_LD, FROM_FILES),
    }
)
# X'Y of rows that are not centred at public frequencies would hold the means of all columns.
BOUNDS = rules(
    {
        "`privacy.bounds` must be tight for `methods: {own_ld_methods}`, got {got}. Say `privacy: {bounds: "
        "tight}`.": (Bounds.TIGHT, BY_LD),
    }
)
