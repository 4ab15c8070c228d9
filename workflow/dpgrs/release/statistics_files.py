"""The noisy statistics of a release as files of its bundle: arrays, and effects of single variants."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.stats import norm

from dpgrs.io.files import save_arrays
from dpgrs.linalg.attenuation import clip_moments
from dpgrs.methods.mechanisms import request_of
from dpgrs.release.effects_metadata import case_counts_of, metadata
from dpgrs.release.marginal_effects import marginal_effects
from dpgrs.release.pgs_catalog import CHROMOSOMES, file_rows, file_stems
from dpgrs.release.plain_tables import rounded, write_table
from dpgrs.release.statistics_check import ARRAYS, META, is_raised
from dpgrs.types import Coding

if TYPE_CHECKING:
    from dpgrs.methods.reusecov import NoisyStatistics
    from dpgrs.release.marginal_effects import MarginalEffects

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
    label: dict, noisy: "NoisyStatistics", sites: pd.DataFrame, *, scales: pd.DataFrame | None
) -> ReleasedStatistics:
    """Take of what was drawn the outputs of the mechanisms, and public constants, and nothing else.

    Parameters
    ----------
    label, noisy : from `dpgrs.study.released.load_released`, of a method that has statistics
        (`dpgrs.release.statistics_check.has_statistics`).
    sites : pandas.DataFrame of contig, position, id, ref, alt and public frequency, by column of X.
    scales : pandas.DataFrame of the public constants of outcomes; None where there are none.

    Returns
    -------
    ReleasedStatistics

    Privacy
    -------
    X'Y, and where they are private X'X, its smallest eigenvalue and counts of outcomes and cases, are the
    outputs of mechanisms that were charged; all else is public or follows from them.
    """
    request, rows, n_drawn = request_of(label), file_rows(sites), len(noisy.cross)
    columns = np.append(rows["row"].to_numpy(), np.arange(len(sites), request.n_columns))
    prevalence = np.full(n_drawn, np.nan)
    if scales is not None and noisy.loadings is None:
        prevalence = np.where(scales["is_binary"], scales["centre"], np.nan)
    clips = {"bound": request.outcome_bound, "norm": request.outcome_norm, "n_shared": request.n_outcomes}
    slopes, squares = clip_moments(prevalence, **clips)
    arrays = {
        "cross": noisy.cross[:, columns],
        "frequency": sites["frequency"].to_numpy()[rows["row"]],
        "slopes": slopes,
        "squares": squares,
    }
    if request.has_private_gram:
        columns = np.append(columns, request.n_columns)
        arrays["gram"] = noisy.gram[np.ix_(columns, columns)]
    if request.has_private_outcome_counts:
        arrays["observed"] = noisy.observed
    if noisy.cases is not None:
        # Of others it is noise alone.
        arrays["cases"] = np.where(np.isnan(prevalence), 0.0, noisy.cases)
    if hasattr(noisy, "smallest_eigenvalue"):
        arrays["smallest_eigenvalue"] = np.array(noisy.smallest_eigenvalue)
    effects = None
    if noisy.loadings is None and request.coding == Coding.FREQUENCY:
        sds = [event["sigma"] for event in label["events"] if event["statistic"] == "cross product"]
        known = {"n": noisy.n, "rows": request.rows}
        # One draw is of all outcomes of a budget.
        effects = marginal_effects(arrays, cross_sd=np.repeat(sds, n_drawn // len(sds)), **known)
    return ReleasedStatistics(arrays, effects, rows)


def write_statistics(folder: Path, statistics: ReleasedStatistics, statement: dict) -> None:
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
    chromosomes = {name: place + 1 for place, name in enumerate(CHROMOSOMES)}
    return {
        "chromosome": rows["chr_name"].map(chromosomes).to_numpy(),
        "base_pair_location": rows["chr_position"].to_numpy(),
        "effect_allele": rows["effect_allele"].to_numpy(),
        "other_allele": rows["other_allele"].to_numpy(),
        "beta": rounded(beta, DIGITS),
        "standard_error": rounded(error, DIGITS),
        "effect_allele_frequency": statistics.arrays["frequency"][is_there],
        "neg_log_10_p_value": rounded(np.maximum(log_p, 0.0), P_DIGITS),
        "n": np.full(len(rows), effects.n_people[index]),
    }
