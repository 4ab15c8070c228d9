"""The bundle of a release: one folder with all that is published, and nothing else.

A replay gives the same bytes: times, hosts, paths and commands stay in the study's own provenance.
"""

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import file_digests, remove_own, replacing, table_text
from dpgrs.release.pgs_catalog import FOLDER as PLINK_SCORES
from dpgrs.release.pgs_catalog import (
    site_digest,
    write_plink_scores,
    write_scoring_file,
    write_standard_errors,
)
from dpgrs.release.plain_tables import format_weight
from dpgrs.statement.deployments_registry import to_registry_yaml
from dpgrs.statement.files import (
    ACCURACY_SUMS,
    CONSTANTS,
    COVARIATES,
    LOADINGS,
    MEASURES,
    OUTCOME_LOADINGS,
    PLAIN_LANGUAGE,
    PROVENANCE,
    REGISTRY,
    RELEASE,
    SCALES,
    STATEMENT,
    STATISTICS,
    SUMS,
    file_stems,
)
from dpgrs.statement.schema import validate
from dpgrs.statement.text import plain_language
from dpgrs.study.traits import traits_by_outcome

if TYPE_CHECKING:
    from dpgrs.release.pgs_catalog import Scores
    from dpgrs.release.statistics_files import ReleasedStatistics

SUM_COLUMNS = ("n", "outcome_sum", "outcome_squares", "score_sum", "score_squares", "products")
# Fields of a run's provenance that two replays share and that show nothing about a machine.
PUBLIC_PROVENANCE = ("dpgrs", "commit", "code_digest", "python", "libraries", "settings_digest")


def write_bundle(
    directory: Path | str,
    *,
    scores: "Scores",
    statement: dict[str, Any],
    provenance: dict[str, Any],
    scales: pd.DataFrame | None = None,
    covariates: pd.DataFrame | None = None,
    loadings: Path | str | None = None,
    outcome_loadings: str | None = None,
    sums: np.ndarray | None = None,
    measures: pd.DataFrame | None = None,
    statistics: "ReleasedStatistics | None" = None,
) -> dict[str, Any]:
    """Write a release as one folder, which is whole or absent; return the statement with its files.

    The folder must be new or empty. Only `PUBLIC_PROVENANCE` is published of the provenance of the run;
    `scales` are public constants of the outcomes, `covariates` the weights of covariates with their
    constants, `loadings` a file and `outcome_loadings` the text of public loadings. `sums`, (n_outcomes, 6)
    float64, and `measures` are of public people. A number that did not come from the ledger and secret noise,
    and scores of another statement, are refused before anything is written.
    """
    _require_release(scores, statement)
    _require_match(scores, statement)
    with replacing(directory) as folder:
        folder.mkdir()
        statement = statement | {"scores": _write_scores(folder, scores, statement["curation"])}
        write_plink_scores(folder, scores)
        if statistics is not None:
            from dpgrs.release.statistics_files import write_statistics  # brings the check, and scipy

            write_statistics(folder, statistics, statement)
        published = {name: provenance[name] for name in PUBLIC_PROVENANCE}
        _write_text(folder / PROVENANCE, _json(published))
        _write_text(folder / PLAIN_LANGUAGE, plain_language(statement))
        _write_text(folder / REGISTRY, to_registry_yaml(statement))
        _write_text(folder / CONSTANTS, table_text(_constants(scores)))
        if sums is not None:
            _write_text(
                folder / ACCURACY_SUMS, table_text(_plain_table(scores.outcomes, SUM_COLUMNS, sums.T))
            )
        if measures is not None:
            _write_text(folder / MEASURES, table_text(_plain_numbers(measures)))
        if scales is not None:
            _write_text(folder / SCALES, table_text(_plain_scales(scales).reset_index()))
        if covariates is not None:
            exact = {name: covariates[name].map(format_weight) for name in ("centre", "scale")}
            _write_text(folder / COVARIATES, table_text(covariates.assign(**exact)))
        if loadings is not None:
            shutil.copyfile(loadings, folder / LOADINGS)
        if outcome_loadings is not None:
            _write_text(folder / OUTCOME_LOADINGS, outcome_loadings)
        statement |= {"files": file_digests(folder)}
        validate(statement)
        _write_text(folder / STATEMENT, _json(statement))
        sums = "".join(f"{digest}  {name}\n" for name, digest in file_digests(folder).items())
        _write_text(folder / SUMS, sums)
    return statement


def remove_bundle(directory: Path | str) -> None:
    """Remove an earlier bundle, so that a new one can take its place.

    A folder that holds anything else is refused: it could be anybody's.
    """
    files = {STATEMENT, SUMS, PROVENANCE, PLAIN_LANGUAGE, REGISTRY}
    files |= {CONSTANTS, SCALES, ACCURACY_SUMS, MEASURES, COVARIATES, LOADINGS, OUTCOME_LOADINGS}
    folders = {"scores", "standard_errors", PLINK_SCORES, STATISTICS}
    remove_own(directory, names=files | folders, kind="a release")


def _write_scores(folder: Path, scores: "Scores", curation: dict[str, Any]) -> list[dict[str, Any]]:
    """Write the files of every outcome, and return which file holds what."""
    written = []
    (folder / "scores").mkdir()
    has_errors, traits = scores.standard_errors is not None, traits_by_outcome(curation)
    if has_errors:
        (folder / "standard_errors").mkdir()
    for index, stem in enumerate(file_stems(scores.outcomes)):
        file = f"scores/{stem}.txt.gz"
        write_scoring_file(
            folder / file,
            scores,
            index,
            pgs_id=stem,
            citation=curation["citation"],
            license_text=curation["license"],
            acknowledgement=curation.get("acknowledgement", ""),
            trait=traits.get(scores.outcomes[index]),
        )
        errors_file = f"standard_errors/{stem}.tsv.gz" if has_errors else None
        if has_errors:
            write_standard_errors(folder / errors_file, scores, index)
        names = {"outcome": scores.outcomes[index], "file": file, "standard_errors": errors_file}
        written.append(names | scores.subset(index))
    return written


def _constants(scores: "Scores") -> pd.DataFrame:
    columns = {"constant": scores.constants.of_person, "haplotype_constant": scores.constants.of_haplotype}
    columns = {name: numbers for name, numbers in columns.items() if numbers is not None}
    return _plain_table(scores.outcomes, columns, columns.values())


def _plain_table(
    outcomes: Sequence[str], names: Iterable[str], columns: Iterable[np.ndarray]
) -> pd.DataFrame:
    """Return a table of numbers as plain decimals, by outcome."""
    cells = {
        name: [format_weight(number) for number in column]
        for name, column in zip(names, columns, strict=True)
    }
    return pd.DataFrame({"outcome": list(outcomes)} | cells)


def _plain_scales(scales: pd.DataFrame) -> pd.DataFrame:
    """Return constants of outcomes as plain decimals, with the population's prevalence if one is stated.

    A 0/1 outcome has its centre as prevalence; the column is there only if another one is stated.
    """
    columns = ["centre", "scale", "is_binary", "origin"]
    sample_prevalence = scales["centre"].where(scales["is_binary"])
    if not scales["population_prevalence"].equals(sample_prevalence):
        columns.append("population_prevalence")
    plain = {
        name: [format_weight(number) if np.isfinite(number) else "" for number in scales[name]]
        for name in columns
        if name not in ("is_binary", "origin")
    }
    return scales.assign(**plain)[columns]


def _plain_numbers(measures: pd.DataFrame) -> pd.DataFrame:
    """Return measures as plain decimals of six digits, empty if there is no number."""
    plain = {
        name: [
            format_weight(float(f"{number:.6g}")) if np.isfinite(number) else "" for number in measures[name]
        ]
        for name in ("value", "low", "high", "expected")
    }
    return measures.assign(**plain)


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _require_release(scores: "Scores", statement: dict[str, Any]) -> None:
    mechanisms = statement["mechanisms"]
    sources = {scores.source, *(mechanism["source"] for mechanism in mechanisms)}
    if sources != {RELEASE} or not mechanisms:
        raise DpgrsError(
            "release-with-public-noise",
            f"A release must hold nothing but secret noise, source `{RELEASE}`, got "
            f"{', '.join(sorted(sources - {RELEASE})) or 'no noise at all'}. "
            "Results of benchmark mode are not private: run the study with `mode: release`.",
        )
    if not all(mechanism["request"] for mechanism in mechanisms):
        uncharged = ", ".join(
            sorted(mechanism["statistic"] for mechanism in mechanisms if not mechanism["request"])
        )
        raise DpgrsError(
            "draw-not-charged",
            f"Every draw of a release must have its request in the ledger, but not: {uncharged}. "
            "Name the dataset's ledger in `privacy.ledger` and run the study again.",
        )


def _require_match(scores: "Scores", statement: dict[str, Any]) -> None:
    """Refuse a statement of another release."""
    domain = statement["data_domain"]
    pairs = {
        "the outcomes": (list(scores.outcomes), domain["outcomes"]),
        "the number of variants": (len(scores.sites), domain["n_variants"]),
        "the site list": (site_digest(scores.sites), domain["site_digest"]),
        "the genome build": (scores.genome_build, domain["genome_build"]),
    }
    pairs |= {
        f"`{name}`": (value, statement["guarantee"][name]) for name, value in scores.terms.as_text().items()
    }
    if scores.chosen is not None:
        pairs["the choice of variants"] = (True, _states_choices(scores, statement))
    different = [name for name, (ours, stated) in pairs.items() if ours != stated]
    if different:
        raise UsageError(
            "scores-differ-from-statement",
            f"Scores and privacy statement must agree, but differ in {', '.join(different)}. "
            "Build the statement from the same fit.",
        )


def _states_choices(scores: "Scores", statement: dict[str, Any]) -> bool:
    """Return whether the statement has a choice of so many variants among all sites for every outcome."""
    choices = {
        (mechanism["n_choices"], mechanism["entries"], mechanism["outcome"])
        for mechanism in statement["mechanisms"]
        if "n_choices" in mechanism
    }
    size = (np.shape(scores.chosen)[1], len(scores.sites))
    return all((*size, outcome) in choices or (*size, None) in choices for outcome in scores.outcomes)
