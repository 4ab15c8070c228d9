"""Public effects of a study's variants, for fits that start from them."""

from pathlib import Path

import numpy as np

from dpgrs.io import public_effects
from dpgrs.io.files import file_digest
from dpgrs.io.scoring_files import open_effects
from dpgrs.io.sites import read_chosen_sites
from dpgrs.io.variant_set import VariantSet
from dpgrs.study.public_effects_files import save_effects

# The files are inputs: their list is for the note, as one more of them must not be missed.
READS = ("variants.size", "release.genome_build", "public.effects")


def match_effects(
    settings, effects: list[Path], *, sites: Path | None = None, variant_set: Path | None = None, output: Path
):
    """Match effects of public files with the variants of a study, by position and alleles.

    Parameters
    ----------
    settings : StudyConfig
    effects : scoring files or summary statistics.
    sites : public sites, if the study has them.
    variant_set : the variant set, if the study has no public sites.
    output : table to write of the effects for every number of variants, per copy of ALT.

    Returns
    -------
    dict of each file's name to what was matched, in words.

    Raises
    ------
    DpgrsError
        As in `dpgrs.io.public_effects.match_effects`.
    """
    variants = _variants(sites, variant_set)
    files, found = [], []
    for path in effects:
        file = open_effects(path, build=settings.release.genome_build)
        values, counts = public_effects.match_effects(file, variants)
        matched = public_effects.describe_counts(counts, len(variants))
        about = {"name": path.name, "digest": file_digest(path), "matched": matched}
        files.append(about | {"is_marginal": file.is_marginal})
        found.append(values)
    rank, found = variants["rank"].to_numpy(), np.array(found)
    save_effects(output, files, {size: found[:, rank < size] for size in settings.variants.size})
    return {one["name"]: one["matched"] for one in files}


def _variants(sites, variant_set):
    """Return all variants of the study, in genome order, with their rank."""
    if sites is not None:
        return read_chosen_sites(sites)
    variant_set = VariantSet.open(variant_set)
    return variant_set.variants.assign(rank=variant_set.variant_rank)
