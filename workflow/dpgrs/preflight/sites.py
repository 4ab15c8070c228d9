"""Problems of the sites of a release: no public source, filters that no release has or need genotypes."""

from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError, must
from dpgrs.io.sites import RELEASED, SITE_COLUMNS, read_sites
from dpgrs.preflight.genome_builds import table_problems

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

# The values that read no genotypes.
SITE_KEYS = ("cohort.source", "public.sites", "public.frequencies", "variants.size", "release.genome_build")
OFF = {"variants.missing": 1, "variants.hwe": 0, "variants.ld_r2": None}


def given_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse a public file beside a simulated cohort."""
    if inspection["cohort.source"] != "simulate" or inspection[key] is None:
        return []
    fix = "It brings a reference of its own."
    return [must(key, "be left out for a simulated cohort", inspection[key], fix)]


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


def filter_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse a filter that no release has."""
    setting, released_setting = (
        ", ".join([*choices] if isinstance(choices, list | tuple) else [choices])
        for choices in (inspection[key], RELEASED[key.removeprefix("variants.")])
    )
    if setting == released_setting:
        return []
    got = f"{setting}: users of scores could not match the others"
    return [must(key, f"be {released_setting} in a release", got, "Leave it out.")]


def genotype_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse a filter that needs genotypes of a reference where there are only sites."""
    if inspection["public.sites"] is None or inspection[key] == OFF[key]:
        return []
    return [
        f"`{key}` needs genotypes of a public reference, got {inspection[key]:g} with `public.sites`. "
        "Give `public.reference`, or leave it out: the cohort's own genotypes may not decide."
    ]
