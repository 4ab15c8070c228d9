"""What public files tell a plan of the variants: frequencies, and how variants go together."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.sites import choose_sites, read_chosen_sites, read_sites
from dpgrs.methods.planning import neutral_frequencies
from dpgrs.planning.ld_spectrum import assumed_spectrum
from dpgrs.study.genome_maps import stored_residuals, stored_spectra
from dpgrs.study.public_ld_files import load_ld
from dpgrs.study.reference_size import n_chosen_reference_people
from dpgrs.study.shape import Shape
from dpgrs.study.table_cohort import is_table
from dpgrs.study.variant_terms import has_public_sites

# People of a panel that is not named yet.
USUAL_PANEL = 2000


@dataclass(frozen=True)
class PlannedVariants:
    """The variants of every number of variants, as a plan takes them.

    Attributes
    ----------
    frequencies : dict of number of variants to (n_variants,) float64, ALT allele frequencies.
    of_frequencies : str, where they come from.
    of_ld : str, what is assumed of linkage disequilibrium.
    ld : dict of number of variants to PublicLd; empty where variants are taken as independent.
    spectra : dict of number of variants to the Spectrum along LD blocks; empty for tables.
    of_spectra : str, where they come from.
    residual_variances : dict of number of variants to what public scores leave of outcomes, if a run has
        measured it.
    """

    frequencies: dict
    of_frequencies: str
    of_ld: str
    ld: dict = field(default_factory=dict)
    spectra: dict = field(default_factory=dict)
    of_spectra: str = ""
    residual_variances: dict = field(default_factory=dict)


def planned_variants(config, people):
    """Take frequencies and linkage disequilibrium from the public files of a study, as far as they are there.

    Parameters
    ----------
    config : StudyConfig.
    people : int, of whom the rarest neutral variant has an allele.

    Returns
    -------
    PlannedVariants

    Raises
    ------
    UsageError
        If a file cannot be read or has too few sites.
    """
    sizes = config.variants.size
    if is_table(config):
        words = "of 1/2, as of columns whose centres lie halfway in their ranges"
        return PlannedVariants(
            {size: np.full(size, 0.5) for size in sizes}, words, "none, and no R2 is planned"
        )
    try:
        sites = _public_sites(config, size=max(sizes))
    except DpgrsError as error:
        raise UsageError(f"`public.sites`: {error}") from None
    if sites is None:
        rarest = max(config.variants.maf, 1 / (2 * people))
        words = f"of neutral variants (density 1/p from {rarest:g} to {1 - rarest:g}), without a site list"
        frequencies = {size: neutral_frequencies(size, rarest=rarest) for size in sizes}
        of_ld, ld = _independence(config), {}
    else:
        listed, words = sites
        frequencies = {size: listed.loc[listed["rank"] < size, "frequency"].to_numpy() for size in sizes}
        of_ld, ld = _linkage(config, sizes)
    return PlannedVariants(frequencies, words, of_ld, ld, *_spectra(config))


def _public_sites(config, *, size):
    """Return the sites that the study will take and where they are, or None if none are there yet."""
    public, seed, maf = config.public, config.seed, config.variants.maf
    if public.sites:
        listed = read_sites(public.sites, frequencies=public.frequencies)
        chromosomes = config.cohort.chromosomes
        chosen, _ = choose_sites(listed, chromosomes=chromosomes, size=size, maf=maf, seed=seed)
        return chosen, f"of the {size} public sites chosen from {public.sites}"
    path = _folder(config) / "sites.tsv"
    if has_public_sites(config) and path.is_file():
        chosen = read_chosen_sites(path)
        if len(chosen) >= size:
            return chosen, f"of the public sites in {path}"
    return None


def _linkage(config, sizes):
    """Return what is assumed of linkage disequilibrium, and that of every size if a run has measured it."""
    path = _folder(config) / "ld.npz"
    if config.public.sites or not path.is_file():
        return _independence(config), {}
    try:
        found = load_ld(path)
    except DpgrsError as error:
        raise UsageError(f"`public.reference`: {error}") from None
    if not found.keys() >= set(sizes):
        return _independence(config), {}
    ld = {size: found[size][0] for size in sizes}
    n_rows = ld[max(sizes)].n_rows
    words = f"variants that go together as in the {n_rows} public rows of {path}"
    return f"{words}, whose ancestry is taken to be the cohort's", ld


def _spectra(config):
    """Return the Spectrum along LD blocks of every size, where they come from, and what scores leave."""
    sizes, path = config.variants.size, _folder(config) / "ld.npz"
    try:
        stored = stored_spectra(path) if path.is_file() else {}
    except DpgrsError as error:
        raise UsageError(f"`public.reference`: {error}") from None
    if stored.keys() >= set(sizes):
        spectra = {size: stored[size][0] for size in sizes}
        words = f"the {stored[max(sizes)][1]:,} people of the public panel in {path}"
        residuals = stored_residuals(path) if config.public.subtract else {}
        if any(residuals.values()):
            words += f", and outcomes less public scores of {', '.join(config.public.subtract)}"
        return spectra, words, residuals
    megabases = Shape(config).megabases
    n_panel = n_chosen_reference_people(config) or USUAL_PANEL
    spectra = {size: assumed_spectrum(size, megabases=megabases, n_panel=n_panel) for size in sizes}
    words = "a simulated population of European ancestry"
    return spectra, f"{words} on {megabases:,.0f} megabases, with a panel of {n_panel:,} people", {}


def _independence(config):
    """Say that variants are taken as independent, and how their linkage disequilibrium is had."""
    way = "with a `public.reference`, in a release or a benchmark of `blup-ld`, there is that of its people"
    if has_public_sites(config) and not config.public.sites:
        way = f"ask Snakemake for {_folder(config) / 'ld.npz'} to plan with that of the public panel"
    return f"independent variants, where correlated ones have mostly done better; {way} (docs/how-to/plan.md)"


def _folder(config):
    return Path("results", config.study, "public")
