"""Effects of single variants from noisy statistics, as association studies have them: post-processing.

Those of sums along a map with equal shares have LD that goes with them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.files import save_arrays
from dpgrs.linalg.coding import column_moments
from dpgrs.linalg.truncated_ld import truncated_ld
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.study.genome_maps import StoredMap


@dataclass(frozen=True)
class MarginalEffects:
    """Effects of a copy of the ALT allele on outcomes in their standard deviations."""

    beta: np.ndarray  # (n_outcomes, n_variants) float64; NaN of a variant without variance
    standard_error: np.ndarray  # as `beta`
    n_people: np.ndarray  # (n_outcomes,) int64, on whom each outcome is known, as released or public
    # As `beta`, how many people would give errors as large without noise, of sums along LD; None of others
    n_effective: np.ndarray | None = None


def marginal_effects(
    arrays: dict[str, np.ndarray], *, n: int, rows: Rows | str, cross_sd: np.ndarray
) -> MarginalEffects:
    """Divide X'Y by the variance that public frequencies say each variant has (docs/how-to/use_release.md).

    With v the variance of a row's copies, coded about public frequencies, under Hardy and Weinberg's law,
    y of mean 0 and variance 1, g its clip of slope b and mean square q by public constants, n_j rows on which
    it is known, and X'Y with noise of standard deviation s,

        beta = x'g / (b n_j v),    error = sqrt(n_j v q + s^2) / (b n_j v).

    Worst-case bounds do not centre genotypes: there x'g has the sum of g in it, by which a cut 0/1 outcome,
    or a centre a little off, would shift every effect by more than its error. Therefore none is given.

    The arrays are ``cross`` (n_outcomes, at least n_variants), ``frequency`` (n_variants,), ``slopes`` and
    ``squares`` (n_outcomes,), and perhaps ``observed`` (n_outcomes,), as in a bundle; `cross_sd` is
    (n_outcomes,) float64, of the noise on X'Y.
    """
    of_person = 2 if Rows(rows) == Rows.HAPLOTYPES else 1
    _, variance = column_moments(arrays["frequency"], rows=rows)
    variance = np.where(variance > 0, variance, np.nan)
    n_known = np.minimum(arrays.get("observed", n), n) * np.ones(len(arrays["cross"]))
    shown = (arrays["slopes"] * n_known)[:, np.newaxis] * variance
    sampled = (n_known * arrays["squares"])[:, np.newaxis] * variance
    beta = arrays["cross"][:, : len(variance)] / shown
    error = np.sqrt(sampled + np.square(cross_sd)[:, np.newaxis]) / shown
    return MarginalEffects(beta, error, np.rint(np.rint(n_known) / of_person).astype(np.int64))


# The arrays of a block in the file of LD. Rows are rows of the arrays of a bundle.
EIGENVECTORS, EIGENVALUES, ROWS = "eigenvectors", "eigenvalues", "rows"


def write_truncated_ld(
    path: Path | str,  # gets `EIGENVECTORS`, `EIGENVALUES` and `ROWS` of each block
    stored: "StoredMap",  # with equal shares
    sums: np.ndarray,  # (n_outcomes, n_directions) float64, as released
    rows: pd.DataFrame,  # from `dpgrs.release.pgs_catalog.file_rows`
    *,
    n_known: np.ndarray,  # (n_outcomes,) float64, people on whom each outcome is known, as released or public
    slopes: np.ndarray,  # (n_outcomes,) float64, of effects after the clip of outcomes
) -> dict[str, np.ndarray]:
    """Turn noisy sums into effects of single standardised variants, and write the LD that these have.

    The result has ``effects`` (n_outcomes, n_variants), ``noise_scale``, ``ld_score`` and ``attenuations``
    (n_variants,), and ``n_directions`` (), float64 in the order of the scoring files. Post-processing of
    released numbers and public files costs nothing.
    """
    file_positions = np.empty(len(rows), dtype=np.int64)
    file_positions[rows["row"].to_numpy()] = np.arange(len(rows))
    effects = np.empty((len(sums), len(rows)))
    noise_scale, ld_score, attenuations = np.empty((3, len(rows)))
    shares = []

    def blocks() -> Iterator[tuple[str, np.ndarray]]:
        first_variant = first_sum = 0
        for contig, attenuation in zip(stored.contigs, stored.attenuations, strict=True):
            chromosome = stored.chromosome(contig)
            of_contig = file_positions[first_variant : first_variant + chromosome.n_variants]
            of_sums = sums[:, first_sum : first_sum + chromosome.n_directions]
            direction_effects = of_sums / (attenuation * (n_known * slopes)[:, np.newaxis])
            blocks_with_entries = zip(chromosome.blocks, chromosome.entries(), strict=True)
            for number, (block, entries) in enumerate(blocks_with_entries, start=1):
                of_block, ld = of_contig[block.columns], truncated_ld(block.loadings)
                effects[:, of_block] = (
                    direction_effects[:, entries] / np.sqrt(block.shares) @ block.loadings.T
                )
                noise_scale[of_block], ld_score[of_block] = ld.noise_scale, ld.ld_score
                name = f"{contig.removeprefix('chr')}/{number}"
                yield f"{name}/{ROWS}", of_block
                yield f"{name}/{EIGENVALUES}", ld.eigenvalues
                yield f"{name}/{EIGENVECTORS}", ld.eigenvectors
                shares.append(block.shares)
            attenuations[of_contig] = attenuation
            first_variant += chromosome.n_variants
            first_sum += chromosome.n_directions

    save_arrays(path, blocks())
    shares = np.unique(np.concatenate(shares))
    if len(shares) > 1:
        raise DpgrsError(
            "unequal-shares",
            "The map of a genome must have equal shares for effects of single variants, got others. Make it "
            "again: dpgrs measure-ld",
        )
    return {
        "effects": effects,
        "noise_scale": noise_scale,
        "ld_score": ld_score,
        "attenuations": attenuations,
        "n_directions": np.rint(1 / shares[0]),
    }


def genome_effects(arrays: dict[str, np.ndarray], *, n: int, noise_sd: np.ndarray) -> MarginalEffects:
    """Return effects of a copy of the ALT allele, with errors sqrt(noise_scale/n_eff).

    The arrays of `write_truncated_ld` go with ``frequency``, ``slopes``, ``squares`` and perhaps
    ``observed``, as in a bundle; `noise_sd` is (n_outcomes,) float64, of the sums. A variant that no
    direction shows has NaN.
    """
    n_known = np.minimum(arrays.get("observed", n), n) * np.ones(len(arrays["effects"]))
    noise = arrays["n_directions"] * np.square(noise_sd[:, np.newaxis] / arrays["attenuations"])
    sampled = (n_known * arrays["squares"])[:, np.newaxis]
    n_effective = np.square(n_known * arrays["slopes"])[:, np.newaxis] / (sampled + noise)
    frequency = arrays["frequency"]
    deviations = np.sqrt(2 * frequency * (1 - frequency))
    noise_scale = np.where(arrays["noise_scale"] > 0, arrays["noise_scale"], np.nan)
    return MarginalEffects(
        arrays["effects"] / deviations,
        np.sqrt(noise_scale / n_effective) / deviations,
        np.rint(n_known).astype(np.int64),
        n_effective,
    )
