"""The noisy statistics of a release as files of its bundle: arrays, and effects of single variants."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from dpgrs.io.files import save_arrays
from dpgrs.linalg.attenuation import clip_moments
from dpgrs.methods.mechanisms import request_of
from dpgrs.release.marginal_effects import genome_effects, marginal_effects, write_truncated_ld
from dpgrs.release.pgs_catalog import CHROMOSOMES, file_rows
from dpgrs.release.plain_tables import rounded, write_table
from dpgrs.statement.effects_metadata import case_counts_of, metadata, notes_of
from dpgrs.statement.files import file_stems
from dpgrs.types import Coding
from dpgrs.verify.statistics_check import ARRAYS, META, OF_TRUNCATED_LD, is_raised, whole_people

if TYPE_CHECKING:
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.methods.reusecov import NoisyStatistics
    from dpgrs.release.marginal_effects import MarginalEffects
    from dpgrs.study.genome_maps import StoredMap

DIGITS, P_DIGITS = 10, 6


@dataclass(frozen=True)
class ReleasedStatistics:
    """The published part of the statistics that a release drew.

    Columns of X are in the order of the scoring files, covariates and the intercept last
    (docs/how-to/use_release.md). There are no effects if X'Y is of components, or of genotypes that are not
    centred.
    """

    arrays: dict[str, np.ndarray]
    effects: "MarginalEffects | None"  # in the order of the scoring files
    sites: pd.DataFrame  # in that order, as from `dpgrs.release.pgs_catalog.file_rows`


def released_statistics(
    label: dict[str, Any], noisy: "NoisyStatistics", sites: pd.DataFrame, *, scales: pd.DataFrame | None
) -> ReleasedStatistics:
    """Take only the outputs of the mechanisms, and public constants.

    Label and statistics are from `load_released`, of a method that has statistics; sites are contig,
    position, id, ref, alt and public frequency, by column of X. X'Y, and where they are private X'X, its
    smallest eigenvalue and counts of outcomes and cases, are outputs of mechanisms that were charged; all
    else is public or follows from them.
    """
    request, rows = request_of(label), file_rows(sites)
    columns = np.append(rows["row"].to_numpy(), np.arange(len(sites), request.n_columns))
    arrays = _public_arrays(request, noisy, sites, rows, scales)
    arrays |= {"cross": noisy.cross[:, columns]}
    if request.has_private_gram:
        columns = np.append(columns, request.n_columns)
        arrays["gram"] = noisy.gram[np.ix_(columns, columns)]
    if request.has_private_outcome_counts:
        arrays["observed"] = noisy.observed
    if noisy.cases is not None:
        # For other outcomes the count is only noise.
        arrays["cases"] = np.where(_prevalence(noisy, scales) > 0, noisy.cases, 0.0)
    if hasattr(noisy, "smallest_eigenvalue"):
        arrays["smallest_eigenvalue"] = np.array(noisy.smallest_eigenvalue)
    effects = None
    if noisy.loadings is None and request.coding == Coding.FREQUENCY:
        sds = _noise_sds(label, "cross product", len(noisy.cross))
        effects = marginal_effects(arrays, n=noisy.n, rows=request.rows, cross_sd=sds)
    return ReleasedStatistics(arrays, effects, rows)


def released_genome_effects(
    label: dict[str, Any],
    noisy: "NoisyStatistics",
    sites: pd.DataFrame,
    *,
    scales: pd.DataFrame | None,
    stored: "StoredMap",
    truncated_ld: Path,
) -> ReleasedStatistics:
    """Take effects of single variants of sums along a map with equal shares, and write their LD.

    Parameters are as in `released_statistics`; `stored` is the map, and `truncated_ld` the file of LD to
    write. Costs nothing: the draws were charged, and the map is public.
    """
    request, rows = request_of(label), file_rows(sites)
    arrays = _public_arrays(request, noisy, sites, rows, scales)
    if request.has_private_outcome_counts:
        arrays["observed"] = noisy.observed
    n_known = np.minimum(arrays.get("observed", noisy.n), noisy.n) * np.ones(len(noisy.cross))
    options = {"n_known": n_known, "slopes": arrays["slopes"]}
    arrays |= write_truncated_ld(truncated_ld, stored, noisy.cross, rows, **options)
    sds = _noise_sds(label, "genome sums", len(noisy.cross))
    effects = genome_effects(arrays, n=noisy.n, noise_sd=sds)
    return ReleasedStatistics(arrays, effects, rows)


def _public_arrays(
    request: "PrivacyRequest",
    noisy: "NoisyStatistics",
    sites: pd.DataFrame,
    rows: pd.DataFrame,
    scales: pd.DataFrame | None,
) -> dict[str, np.ndarray]:
    clips = {"bound": request.outcome_bound, "norm": request.outcome_norm, "n_shared": request.n_outcomes}
    slopes, squares = clip_moments(_prevalence(noisy, scales), **clips)
    frequency = sites["frequency"].to_numpy()[rows["row"]]
    return {"frequency": frequency, "slopes": slopes, "squares": squares}


def _prevalence(noisy: "NoisyStatistics", scales: pd.DataFrame | None) -> np.ndarray:
    """Return the public prevalence of each 0/1 outcome, NaN of others and of components."""
    if scales is None or noisy.loadings is not None:
        return np.full(len(noisy.cross), np.nan)
    return np.where(scales["is_binary"], scales["centre"], np.nan)


def _noise_sds(label: dict[str, Any], statistic: str, n_drawn: int) -> np.ndarray:
    """Return the standard deviation of the noise on each outcome; one draw is of all of a budget."""
    sds = [event["sigma"] for event in label["events"] if event["statistic"] == statistic]
    return np.repeat(sds, n_drawn // len(sds))


def write_statistics(folder: Path, statistics: ReleasedStatistics, statement: dict[str, Any]) -> None:
    """Write the statistics into the folder of a bundle."""
    outcomes, counts = statement["data_domain"]["outcomes"], case_counts_of(statement)
    arrays = folder / ARRAYS
    arrays.parent.mkdir()
    arrays_by_name, is_floor = sorted(statistics.arrays.items()), is_raised(statement, statistics.arrays)
    save_arrays(arrays, {name: np.asarray(array, dtype="<f8", order="C") for name, array in arrays_by_name})
    if statistics.effects is None:
        return
    for index, (name, stem) in enumerate(zip(outcomes, file_stems(outcomes), strict=True)):
        path = arrays.with_name(f"{stem}.tsv.gz")
        columns = effect_columns(statistics, index)
        write_table(path, columns, columns.values())
        text = metadata(
            path.name,
            path.read_bytes(),
            outcome=name,
            n_people=int(statistics.effects.n_people[index]),
            genome_build=statement["data_domain"]["genome_build"],
            published=statement["curation"]["publication_date"],
            counts=counts.get(name),
            is_floor=is_floor[index],
            notes=notes_of(statement),
        )
        path.with_name(path.name + META).write_text(text, encoding="utf-8", newline="\n")


def effect_columns(statistics: ReleasedStatistics, index: int) -> dict[str, np.ndarray]:
    """Return the columns of the effects on an outcome, as GWAS-SSF 1.0 has them."""
    effects = statistics.effects
    is_there = np.isfinite(effects.standard_error[index])
    rows = statistics.sites[is_there]
    beta, error = effects.beta[index, is_there], effects.standard_error[index, is_there]
    # On both sides; p itself may be below what float64 holds.
    log_p = -(np.log(2) + norm.logsf(abs(beta / error))) / np.log(10)
    chromosomes = {name: rank + 1 for rank, name in enumerate(CHROMOSOMES)}
    columns = {
        "chromosome": rows["chr_name"].map(chromosomes).to_numpy(),
        "base_pair_location": rows["chr_position"].to_numpy(),
        "effect_allele": rows["effect_allele"].to_numpy(),
        "other_allele": rows["other_allele"].to_numpy(),
        "beta": rounded(beta, DIGITS),
        "standard_error": rounded(error, DIGITS),
        "effect_allele_frequency": statistics.arrays["frequency"][is_there],
        "neg_log_10_p_value": rounded(np.maximum(log_p, 0.0), P_DIGITS),
    }
    if effects.n_effective is None:
        return columns | {"n": np.full(len(rows), effects.n_people[index])}
    further = {name: rounded(statistics.arrays[name][is_there], DIGITS) for name in OF_TRUNCATED_LD}
    return columns | {"n": whole_people(effects.n_effective[index, is_there])} | further
