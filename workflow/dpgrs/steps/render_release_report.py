"""Pages of a release, from its bundle, the public sites and its metrics; nothing private is opened."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import replacing
from dpgrs.io.scoring_files import open_effects
from dpgrs.io.sites import SITE_COLUMNS, read_chosen_sites
from dpgrs.release.pgs_catalog import in_file_order, site_digest
from dpgrs.reporting import release_pages
from dpgrs.reporting.data import VARIANT_COLUMNS, read_metrics
from dpgrs.reporting.release_data import ReleaseData
from dpgrs.reporting.rendering import write_report
from dpgrs.statement.files import (
    CONSTANTS,
    COVARIATES,
    MEASURES,
    OUTCOME_LOADINGS,
    PLAIN_LANGUAGE,
    SCALES,
    STATEMENT,
)
from dpgrs.statement.text import budget_in_words, n_chosen
from dpgrs.types import Metrics
from dpgrs.verify.bundle import verify_release

SITE = {"contig": "contig", "position": "position", "alt": "effect_allele", "ref": "other_allele"}
ACCURACY = ["r2", "mse"]
STATED = re.compile(r"(?:R\^2|mean squared error) (-?\d+\.\d{4})", re.ASCII)


def render_release_report(
    bundle: Path, sites: Path, metrics: Path, *, output: Path, figures: Path | None = None, processes: int = 1
) -> None:
    """Write the overview and one page per outcome of a release.

    Raises UsageError if pages and bundle would not lie side by side, or the release has other sites. Raises
    DpgrsError if the bundle cannot be trusted, or the metrics hold numbers that were not released.

    Parameters
    ----------
    bundle : folder of the release; it is verified first.
    sites : the public sites, for their frequencies and names.
    metrics : the metrics of the release; pages show R^2 and error only if they were charged.
    output : folder to write, beside the bundle: pages link to its files.
    figures : folder to write of figures as files, for the first ten outcomes, and of the statement.
    processes : number of processes that write outcome pages; the pages do not depend on it.
    """
    if bundle.resolve().parent != Path(output).resolve().parent:
        raise UsageError(
            "output-outside-release",
            f"`output` must lie beside the release {bundle}, got {output}. Put it there.",
        )
    verify_release(bundle)
    statement = json.loads((bundle / STATEMENT).read_text(encoding="utf-8"))
    # Scores of all variants have the sites of the release.
    columns = {} if n_chosen(statement) is None else SITE
    scores = [_read_score(bundle / score["file"], columns) for score in statement["scores"]]
    variants = _variants(read_chosen_sites(sites), statement["data_domain"]["site_digest"])
    report_data = ReleaseData(
        statement=statement,
        bundle=f"../{bundle.name}/",
        variants=variants,
        weights=np.array([score["effect_weight"] for score in scores]),
        accuracy=_accuracy(read_metrics(metrics), statement),
        budget=budget_in_words(statement),
        constants=_constants(bundle / CONSTANTS),
        covariates=_table(bundle / COVARIATES),
        scales=_scales(bundle / SCALES),
        measures=read_metrics(bundle / MEASURES) if (bundle / MEASURES).exists() else None,
        loadings=_loadings(bundle / OUTCOME_LOADINGS, statement["data_domain"]["outcomes"]),
        **_of_chosen(variants, scores, bundle, statement),
    )
    write_report(release_pages, report_data, output, processes=processes, figures=figures)
    if figures is not None:
        path = Path(figures, "Privacy", "statement.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_bytes((bundle / PLAIN_LANGUAGE).read_bytes())


def _read_score(path: Path, columns: Mapping[str, str]) -> pd.DataFrame:
    """Read the weights of a scoring file, and columns of its sites by the names that the package uses."""
    site_parts = list(open_effects(path, build=None).row_blocks())
    sites = {
        name: np.concatenate([getattr(site_part, field) for site_part in site_parts])
        for name, field in columns.items()
    }
    return pd.DataFrame(
        sites | {"effect_weight": np.concatenate([site_part.effects[:, 0] for site_part in site_parts])}
    )


def _variants(sites: pd.DataFrame, digest: str) -> pd.DataFrame:
    """Return the public sites with names and frequencies, in the order of a score that holds all of them."""
    if site_digest(sites) != digest:
        raise UsageError(
            "sites-of-another-release",
            "`sites` must be the sites of the release, got others. Name the file it was made with.",
        )
    sites = in_file_order(sites.assign(contig=sites["contig"].str.removeprefix("chr")))
    return sites[list(VARIANT_COLUMNS)]


def _of_chosen(
    variants: pd.DataFrame, scores: Sequence[pd.DataFrame], bundle: Path, statement: dict[str, Any]
) -> dict[str, np.ndarray]:
    """Return the rows of the variants that were chosen for each outcome, with standard errors; else {}."""
    if n_chosen(statement) is None:
        return {}
    keys = pd.MultiIndex.from_frame(variants[list(SITE_COLUMNS)])
    chosen = np.array(
        [keys.get_indexer(pd.MultiIndex.from_frame(score[list(SITE_COLUMNS)])) for score in scores]
    )
    if (chosen < 0).any():
        raise DpgrsError(
            "variants-of-another-release",
            "The variants of every score must be among the public sites of the release, got others. "
            "Get the release again from where it was published, or ask its curator.",
        )
    files = [score["standard_errors"] for score in statement["scores"]]
    if not all(files):
        return {"chosen": chosen}
    errors = [pd.read_csv(bundle / file, sep="\t")["standard_error"] for file in files]
    return {"chosen": chosen, "standard_errors": np.array(errors)}


def _constants(path: Path) -> pd.DataFrame:
    """Return the constants of predictions by outcome, as they are written."""
    return pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False).set_index("outcome")


def _scales(path: Path) -> pd.DataFrame | None:
    """Return the public constants of outcomes, indexed by outcome; None where a release has none."""
    table = _table(path)
    return None if table is None else table.set_index("outcome")


def _loadings(path: Path, outcomes: Sequence[str]) -> np.ndarray | None:
    """Return the public loadings of outcomes, (n_outcomes, n_components); None where a release has none."""
    table = _table(path)
    return None if table is None else table.set_index("outcome").loc[outcomes].to_numpy(dtype=np.float64)


def _table(path: Path) -> pd.DataFrame | None:
    """Return a table of the bundle; None where a release has none."""
    if not path.exists():
        return None
    return pd.read_csv(path, sep="\t", dtype={"outcome": str, "covariate": str}, keep_default_na=False)


def _accuracy(metrics: pd.DataFrame, statement: dict[str, Any]) -> pd.DataFrame:
    """Read R^2 and mean squared error by outcome; no other metric, and no other value, reaches a page."""
    if metrics["mse_nonprivate"].notna().any():
        raise DpgrsError(
            "metrics-with-exact-errors",
            "`metrics` must hold no error of a fit without privacy. Take the metrics of the release.",
        )
    outcomes, stated = statement["data_domain"]["outcomes"], statement["accuracy"]
    accuracy = metrics.set_index("outcome")[ACCURACY].reindex(outcomes)
    numbers = [[number for number in row if np.isfinite(number)] for row in accuracy.to_numpy()]
    if stated != Metrics.WITHHELD and not _are_stated(numbers, [line["value"] for line in stated]):
        raise DpgrsError(
            "metrics-differ-from-statement",
            "`metrics` must hold the accuracy that the statement gives, got other numbers. "
            "Take the metrics of the release.",
        )
    return accuracy


def _are_stated(numbers: list[list[float]], values: list[str]) -> bool:
    """Tell whether texts state these numbers, to four decimals or the twelve digits of a table."""
    texts = [STATED.findall(value) for value in values]
    return list(map(len, texts)) == list(map(len, numbers)) and all(
        text == f"{number:.4f}" or math.isclose(float(text), number, rel_tol=1e-11)
        for text, number in zip(chain(*texts), chain(*numbers), strict=True)
    )
