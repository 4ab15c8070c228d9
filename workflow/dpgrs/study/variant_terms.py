"""What the settings say of the variants that a study may take."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dpgrs.genotypes.linkage import LinkageLimit
from dpgrs.methods.registry import METHODS

if TYPE_CHECKING:
    from dpgrs.config.cohort import Variants
    from dpgrs.config.study import StudyConfig

# Minor-allele frequency for maps of genomes: rarer alleles cannot be standardised by a panel.
RAREST = 0.01
FILTERS = ("maf", "missing", "hwe", "ambiguous", "multiallelic", "classes")


def filters_of(variants: "Variants") -> dict[str, Any]:
    """Return the fields of a `dpgrs.io.variant_filters.VariantFilters` that the section `variants` states."""
    return {name: getattr(variants, name) for name in FILTERS}


def linkage_of(settings: "StudyConfig") -> LinkageLimit | None:
    """Return the LinkageLimit of a study's variants; None if variants are thinned only at random."""
    r2, window = settings.variants.ld_r2, settings.variants.ld_window
    return None if r2 is None else LinkageLimit(r2, window, settings.cohort.rows)


def takes_ld(methods: Iterable[str]) -> bool:
    """Return whether a method of a study uses linkage disequilibrium of public genotypes."""
    return any(METHODS[name].takes_ld for name in methods)


def takes_map(methods: Iterable[str]) -> bool:
    """Return whether a method of a study is fitted along a public map of the genome."""
    return any(METHODS[name].takes_map for name in methods)


def takes_matrix(methods: Iterable[str]) -> bool:
    """Return whether a method of a study uses matrices of public linkage disequilibrium."""
    return any(METHODS[name].takes_ld and not METHODS[name].takes_map for name in methods)


def gives_truncated_ld(config: "StudyConfig") -> bool:
    """Return whether a release has effects of single variants along directions, and LD beside its bundle."""
    is_equal = config.privacy.direction_shares == "equal"
    return config.mode == "release" and config.release.statistics and is_equal


def most_variants(name: str, n_covariates: int = 0) -> float:
    """Return how many variants a method takes beside covariates and the intercept; infinity without a limit.

    A method that chooses variants first is fitted on few of any number.
    """
    method = METHODS[name]
    is_limited = method.most_columns and not method.is_screened
    return method.most_columns - n_covariates - 1 if is_limited else math.inf


def has_public_sites(config: "StudyConfig") -> bool:
    """Return whether public genotypes or tables decide on the sites of a study, and on their frequencies."""
    return config.mode == "release" or takes_ld(config.methods)
