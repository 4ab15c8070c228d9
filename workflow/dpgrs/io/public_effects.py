"""Public effects of a study's variants, from scoring files and summary statistics, by position and alleles.

Effects are turned to the ALT allele; `dpgrs.io.scoring_files` reads the files.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.allele_matching import Places, is_ambiguous, match_pairs
from dpgrs.io.chromosomes import chromosome_name
from dpgrs.io.scoring_files import EffectsFile, known_rows, require_build


def match_effects(file: EffectsFile, sites: pd.DataFrame) -> tuple[np.ndarray, dict[str, int]]:
    """Return the effects of sites (contig, position, ref and alt), (n_sites,) float64, and counts.

    An effect is per copy of ALT, 0 if the file has none. Counts are ``matched`` and, of those left out at the
    place of a site, ``other alleles``, ``ambiguous`` (the same on both strands), ``repeated``, ``not
    additive`` and ``without effect``. A file that matches no site, or has known SNPs at the places of another
    genome build, is refused.
    """
    contigs = sites["contig"].astype(str).map(chromosome_name).to_numpy(dtype=object)
    refs, alts = (sites[name].str.upper().to_numpy(dtype=object) for name in ("ref", "alt"))
    ambiguous = np.array([is_ambiguous(*pair) for pair in zip(refs, alts, strict=True)], dtype=bool)
    site_places = Places(contigs, sites["position"].to_numpy(dtype=np.int64))
    values, times = np.zeros(len(sites)), np.zeros(len(sites), dtype=int)
    counts, known_snps = Counter(), []
    for rows in file.row_blocks():
        if rows.id is not None:
            known_snps.append(known_rows(rows.contig, rows.position, rows.id))
        effects = rows.effects[:, 0]
        used = np.flatnonzero(rows.position > 0)
        index, site = site_places.pairs(rows.contig[used], rows.position[used])
        row = used[index]
        is_additive = rows.is_additive[row]
        counts["not additive"] += int((~is_additive).sum())
        row, site = row[is_additive], site[is_additive]
        signs, _ = match_pairs(rows.effect_allele[row], rows.other_allele[row], refs[site], alts[site])
        has_other = ~ambiguous[site] & (signs == 0)
        is_without = ~ambiguous[site] & (signs != 0) & np.isnan(effects[row])
        is_used = ~(ambiguous[site] | has_other | is_without)
        counts["ambiguous"] += int(ambiguous[site].sum())
        counts["other alleles"] += int(has_other.sum())
        counts["without effect"] += int(is_without.sum())
        values[site[is_used]] = (signs * effects[row])[is_used]
        np.add.at(times, site[is_used], 1)
    require_build(file.path, file.build, known_snps)
    counts |= {"matched": int((times == 1).sum()), "repeated": int((times > 1).sum())}
    if not counts["matched"]:
        raise DpgrsError(
            "effects-of-other-variants",
            f"`{file.path}` must hold effects of the study's variants, got those of none of {len(sites)}. "
            "Take a file of the same chromosomes and genome build.",
        )
    return np.where(times == 1, values, 0.0), dict(counts)


def describe_counts(counts: Mapping[str, int], n_sites: int) -> str:
    """Return a sentence on the matched effects, from the counts of `match_effects`."""
    left_out = [f"{number} {name}" for name, number in sorted(counts.items()) if number and name != "matched"]
    words = f"{counts['matched']} of {n_sites} variants matched"
    return words + (f" (left out: {', '.join(left_out)})" if left_out else "")
