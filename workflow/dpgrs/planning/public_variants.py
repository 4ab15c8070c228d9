"""Frequencies and linkage disequilibrium that a plan takes from public files."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.sites import choose_sites, read_chosen_sites, read_sites
from dpgrs.methods.planning import neutral_frequencies
from dpgrs.planning.ld_spectrum import assumed_spectrum
from dpgrs.study.cohort_files import n_chosen_reference_people
from dpgrs.study.public_files import load_ld
from dpgrs.study.public_panel import stored_residuals, stored_spectra
from dpgrs.study.shape import Shape
from dpgrs.study.table_cohort import is_table
from dpgrs.study.variant_terms import has_public_sites

if TYPE_CHECKING:
    import pandas as pd

    from dpgrs.config.study import StudyConfig
    from dpgrs.linalg.genome_prior import Spectrum
    from dpgrs.linalg.public_ld import PublicLd

# The assumed people of a panel that no setting names yet.
USUAL_PANEL = 2000


@dataclass(frozen=True)
class PlannedVariants:
    """The variants that a plan assumes, by number of variants."""

    frequencies: dict[int, np.ndarray]  # (n_variants,) float64, of ALT alleles
    of_frequencies: str  # where they come from
    of_ld: str  # the assumed linkage disequilibrium, in words
    ld: "dict[int, PublicLd]" = field(default_factory=dict)  # empty where variants are taken as independent
    spectra: "dict[int, Spectrum]" = field(default_factory=dict)  # along LD blocks; empty for tables
    of_spectra: str = ""  # where they come from
    # Variances that public scores leave of outcomes, if a run has measured them.
    residual_variances: dict[int, Sequence[float]] = field(default_factory=dict)


def planned_variants(
    config: "StudyConfig",
    people: int,  # the rarest neutral variant has an allele in one of them
) -> PlannedVariants:
    """Take frequencies and linkage disequilibrium from the public files of a study, as far as these exist.

    A file that cannot be read or has too few sites is a UsageError.
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
        raise UsageError(error.code, f"`public.sites`: {error}") from None
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


def _public_sites(config: "StudyConfig", *, size: int) -> "tuple[pd.DataFrame, str] | None":
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


def _linkage(config: "StudyConfig", sizes: Sequence[int]) -> "tuple[str, dict[int, PublicLd]]":
    """Return the assumed linkage disequilibrium in words, and by size if a run has measured it."""
    path = _folder(config) / "ld.npz"
    if config.public.sites or not path.is_file():
        return _independence(config), {}
    try:
        ld_by_size = load_ld(path)
    except DpgrsError as error:
        raise UsageError(error.code, f"`public.reference`: {error}") from None
    if not ld_by_size.keys() >= set(sizes):
        return _independence(config), {}
    ld = {size: ld_by_size[size][0] for size in sizes}
    n_rows = ld[max(sizes)].n_rows
    words = f"variants that go together as in the {n_rows} public rows of {path}"
    return f"{words}, whose ancestry is taken to be the cohort's", ld


def _spectra(config: "StudyConfig") -> "tuple[dict[int, Spectrum], str, dict[int, Sequence[float]]]":
    """Return the Spectrum along LD blocks of every size, its origin, and variances that scores leave."""
    sizes, path = config.variants.size, _folder(config) / "ld.npz"
    try:
        stored = stored_spectra(path) if path.is_file() else {}
    except DpgrsError as error:
        raise UsageError(error.code, f"`public.reference`: {error}") from None
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


def _independence(config: "StudyConfig") -> str:
    """Say that variants are taken as independent, and how to measure their linkage disequilibrium."""
    advice = (
        "with a `public.reference`, in a release or a benchmark of `blup-ld`, it is measured on its people"
    )
    if has_public_sites(config) and not config.public.sites:
        advice = f"ask Snakemake for {_folder(config) / 'ld.npz'} to plan with the LD of the public panel"
    return (
        f"independent variants, where correlated ones have mostly done better; {advice} (docs/how-to/plan.md)"
    )


def _folder(config: "StudyConfig") -> Path:
    return Path("results", config.study, "public")
