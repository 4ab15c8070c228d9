"""Public effects of a study's variants, for fits that start from them."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.io import public_effects
from dpgrs.io.files import file_digest
from dpgrs.io.scoring_files import open_effects
from dpgrs.io.sites import read_chosen_sites
from dpgrs.io.variant_set import VariantSet
from dpgrs.study.public_files import save_effects

if TYPE_CHECKING:
    import pandas as pd

    from dpgrs.config.study import StudyConfig

# The files are inputs: their list is for the note, as one more of them must not be missed.
READS = ("variants.size", "release.genome_build", "public.effects")


def match_effects(
    settings: "StudyConfig",
    effects: list[Path],
    *,
    sites: Path | None = None,
    variant_set: Path | None = None,
    output: Path,
) -> dict[str, str]:
    """Match effects of public files with the variants of a study, by position and alleles.

    Returns a dict of each file's name to its matched variants, in words. Raises DpgrsError as in
    `dpgrs.io.public_effects.match_effects`.

    Parameters
    ----------
    effects : scoring files or summary statistics.
    sites : public sites, if the study has them.
    variant_set : the variant set, if the study has no public sites.
    output : table to write of the effects for every number of variants, per copy of ALT.
    """
    variants = _variants(sites, variant_set)
    files, effects_by_file = [], []
    for path in effects:
        file = open_effects(path, build=settings.release.genome_build)
        file_effects, counts = public_effects.match_effects(file, variants)
        matched = public_effects.describe_counts(counts, len(variants))
        file_label = {"name": path.name, "digest": file_digest(path), "matched": matched}
        files.append(file_label | {"is_marginal": file.is_marginal})
        effects_by_file.append(file_effects)
    rank, effects_by_file = variants["rank"].to_numpy(), np.array(effects_by_file)
    save_effects(output, files, {size: effects_by_file[:, rank < size] for size in settings.variants.size})
    return {file_entry["name"]: file_entry["matched"] for file_entry in files}


def _variants(sites: Path | None, variant_set: Path | None) -> "pd.DataFrame":
    """Return all variants of the study, in genome order, with their rank."""
    if sites is not None:
        return read_chosen_sites(sites)
    variant_set = VariantSet.open(variant_set)
    return variant_set.variants.assign(rank=variant_set.variant_rank)
