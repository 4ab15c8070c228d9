"""Settings that contradict sums along a public map of the genome."""

from dpgrs.preflight.copies import COPIES
from dpgrs.preflight.rules import ALONG_MAP, FROM_FILES, GIVEN, Each, is_given, rules, without
from dpgrs.study.variant_terms import RAREST, takes_map
from dpgrs.types import Rows

RULES = rules(
    {
        "`cohort.rows` must be people for `methods: {map_methods}`, got {got}. Say `rows: people`.": (
            Rows.PEOPLE,
            ALONG_MAP,
        ),
        # Noise is steered for a public number before anything private is read.
        "`cohort.planned_people` must be given for `methods: {map_methods}`, got null. State about how many "
        "people you expect, from public knowledge.": (
            GIVEN,
            ALONG_MAP,
            FROM_FILES,
            without(is_given(COPIES)),
        ),
        # Rarer alleles cannot be standardised by a panel.
        f"`variants.maf` must be at least {RAREST} for `methods: {{map_methods}}`, got {{got}}. Raise it, "
        "or leave it out.": (lambda maf: maf >= RAREST, ALONG_MAP),
        "`privacy.direction_shares` must go with `methods: {map_methods}`, got {got}. Leave it out.": (
            "steered",
            without(ALONG_MAP),
        ),
        "`privacy.ld_share` must go with `methods: {map_methods}`, got {got}. Leave it out.": (
            *(None, without(ALONG_MAP)),
        ),
        "`privacy.ld_share` must be null with `public.effects`, got {got}. Leave out one of them.": (
            None,
            ALONG_MAP,
            is_given("public.effects"),
        ),
        **{
            f"`methods` must be a method without a map of the genome with `{key}`, got {{got}}. Take "
            "`blup`.": (Each(lambda name: not takes_map([name])), is_given(key))
            for key in ("cohort.part", "cohort.sums")
        },
    }
)
