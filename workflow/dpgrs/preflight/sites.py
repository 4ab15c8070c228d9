"""Problems of the sites of a release: no public source, filters that no release has or need genotypes."""

from typing import TYPE_CHECKING

from dpgrs.config.setting import as_json
from dpgrs.errors import DpgrsError, must
from dpgrs.io.sites import RELEASED, SITE_COLUMNS, read_sites
from dpgrs.preflight.genome_builds import table_problems
from dpgrs.preflight.rules import BY_LD, FROM_FILES, GIVEN, SIMULATED, as_text, each, is_given, rules, without
from dpgrs.types import Bounds

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

# The values that read no genotypes.
SITE_KEYS = ("cohort.source", "public.sites", "public.frequencies", "variants.size", "release.genome_build")
OFF = {"variants.missing": 1, "variants.hwe": 0, "variants.ld_r2": None}
PUBLIC_FILES = ("public.sites", "public.frequencies", "public.reference", "public.keep")
GIVEN_FOR_NOTHING = "must be left out for a simulated cohort, got {got}. It brings a reference of its own."
SIMULATED_FILES = rules(each(PUBLIC_FILES, GIVEN_FOR_NOTHING, None, SIMULATED))
FILTERS = rules(
    {
        **{
            f"`{f'variants.{name}'}` must be {as_text(as_json(value))} in a release, got {{got}}: users of "
            "scores could not match the others. Leave it out.": (as_json(value),)
            for (name, value) in RELEASED.items()
        },
        **{
            f"`{key}` needs genotypes of a public reference, got {{got}} with `public.sites`. Give "
            "`public.reference`, or leave it out: the cohort's own genotypes may not decide.": (
                off,
                is_given("public.sites"),
            )
            for (key, off) in OFF.items()
        },
    }
)


def source_problems(inspection: "Inspection") -> list[str]:
    """Ask for sites from one public source, and a word about it."""
    if inspection["cohort.source"] == "simulate":
        return []
    public, lines = inspection.config.public, []
    given_keys = [key for key in ("sites", "frequencies", "reference") if getattr(public, key) is not None]
    if ("sites" in given_keys) == ("reference" in given_keys):
        got = "both" if "sites" in given_keys else "neither"
        lines.append(
            f"`public.sites` or `public.reference` must be given for a release, got {got}. "
            "Sites and frequencies may not come from the cohort."
        )
    if "frequencies" in given_keys and "sites" not in given_keys:
        lines.append("`public.frequencies` must come with `public.sites`, got it without. Give the sites.")
    if public.keep and "reference" not in given_keys:
        lines.append(
            "`public.keep` must come with `public.reference`, got it without. Give the genotypes of its "
            "people."
        )
    if given_keys and not public.origin:
        lines.append("`public.origin` must say where the public sites come from, got null. Say it in words.")
    return lines


def site_problems(inspection: "Inspection") -> list[str]:
    """List the problems of the table of public sites."""
    path, size = inspection["public.sites"], max(inspection["variants.size"])
    if path is None or inspection["cohort.source"] == "simulate":
        return []
    try:
        sites = read_sites(path, frequencies=inspection["public.frequencies"])
    except DpgrsError as error:
        return [f"`public.sites`: {error}"]
    if len(sites) < size:
        domain = f"list at least `variants.size`, {size}, sites by {', '.join(SITE_COLUMNS)}"
        return [must("public.sites", domain, len(sites), "Add sites, or lower the size.")]
    return table_problems(sites, path=path, build=inspection["release.genome_build"])


# For a release, or for such fits.
REFERENCE_KEYS = ("public.reference", "public.keep", "public.origin")
LD_OF_BENCHMARK = rules(
    {
        **each(REFERENCE_KEYS, GIVEN_FOR_NOTHING, None, BY_LD, SIMULATED),
        **each(
            REFERENCE_KEYS,
            "is for `mode: release` or `methods: {ld_methods}`, got {got} without. Leave it out.",
            *(None, without(BY_LD)),
        ),
    }
)
LD_REFERENCE = rules(
    {
        "`public.reference` must be given for `methods: {own_ld_methods}`, got null. Name the genotypes of "
        "other people of the same ancestry, or use `methods: blup`.": (GIVEN, BY_LD, FROM_FILES),
    }
)
# A table of sites has no genotypes.
LD_OF_RELEASE = rules(
    {
        "`public.sites` must be null for `methods: {own_ld_methods}`, got {got}. Leave it out: sites come "
        "from `public.reference`.": (None, BY_LD, FROM_FILES),
    }
)
# X'Y of rows that are not centred at public frequencies would hold the means of all columns.
LD_BOUNDS = rules(
    {
        "`privacy.bounds` must be tight for `methods: {own_ld_methods}`, got {got}. Say `privacy: {bounds: "
        "tight}`.": (Bounds.TIGHT, BY_LD),
    }
)
