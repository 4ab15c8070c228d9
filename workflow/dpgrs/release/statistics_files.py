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
from dpgrs.release.pgs_catalog import CHROMOSOMES, file_rows, file_stems, format_weight, write_gzip
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
        write_gzip(path, _summary_statistics(statistics, index))
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


def _summary_statistics(statistics: ReleasedStatistics, index: int) -> str:
    """Return the effects on an outcome as GWAS-SSF 1.0, tab-separated text."""
    rows, effects = statistics.sites, statistics.effects
    beta, error = effects.beta[index], effects.standard_error[index]
    # On both sides; p itself may be below what float64 holds.
    log_p = -(np.log(2) + norm.logsf(abs(beta / error))) / np.log(10) + 0.0
    table = pd.DataFrame(
        {
            "chromosome": rows["chr_name"].map({name: place + 1 for place, name in enumerate(CHROMOSOMES)}),
            "base_pair_location": rows["chr_position"],
            "effect_allele": rows["effect_allele"],
            "other_allele": rows["other_allele"],
            "beta": [_rounded(number, DIGITS) for number in beta],
            "standard_error": [_rounded(number, DIGITS) for number in error],
            "effect_allele_frequency": list(map(format_weight, statistics.arrays["frequency"])),
            "neg_log_10_p_value": [_rounded(max(number, 0.0), P_DIGITS) for number in log_p],
            "n": effects.n_people[index],
        }
    )
    return table[np.isfinite(error)].to_csv(sep="\t", index=False, lineterminator="\n")


def _rounded(number: float, digits: int) -> str:
    return format_weight(float(f"{number:.{digits}g}"))
