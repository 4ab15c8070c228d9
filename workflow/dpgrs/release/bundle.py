"""The bundle of a release: one folder with all that is published, and nothing else.

A replay gives the same bytes: times, hosts, paths and commands stay in the study's own provenance.
"""

import json
import shutil

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import file_digest, remove_own, replacing, table_text
from dpgrs.privacy.statement.statement import validate
from dpgrs.privacy.statement.text import plain_language
from dpgrs.release.pgs_catalog import (
    file_stems,
    format_weight,
    site_digest,
    write_scoring_file,
    write_standard_errors,
)
from dpgrs.release.plink_scores import FOLDER as PLINK_SCORES
from dpgrs.release.plink_scores import write_plink_scores
from dpgrs.release.registry import to_registry_yaml
from dpgrs.release.traits import traits_by_outcome

STATEMENT, SUMS, PROVENANCE = "privacy_statement.json", "SHA256SUMS", "provenance.json"
PLAIN_LANGUAGE, REGISTRY = "privacy_statement.txt", "registry.yaml"
CONSTANTS, SCALES = "constants.tsv", "outcome_scales.tsv"
# Where accuracy was measured on public people.
ACCURACY_SUMS, MEASURES = "accuracy_sums.tsv", "measures.tsv"
SUM_COLUMNS = ("n", "outcome_sum", "outcome_squares", "score_sum", "score_squares", "products")
COVARIATES, LOADINGS = "covariate_weights.tsv", "pca_loadings.tsv"
OUTCOME_LOADINGS, STATISTICS = "outcome_loadings.tsv", "statistics"
# Of a run's provenance, what two replays share and nobody's machine shows.
PUBLIC_PROVENANCE = ("dpgrs", "commit", "code_digest", "python", "libraries", "settings_digest")
RELEASE = "release"


def write_bundle(
    directory,
    *,
    scores,
    statement,
    provenance,
    scales=None,
    covariates=None,
    loadings=None,
    outcome_loadings=None,
    sums=None,
    measures=None,
    statistics=None,
):
    """Write a release as one folder; it is whole or absent.

    Parameters
    ----------
    directory : the folder, new or empty.
    scores : Scores
    statement : dict, from `dpgrs.privacy.statement.statement.build_statement`.
    provenance : dict, of the run; only `PUBLIC_PROVENANCE` is published.
    scales : pandas.DataFrame of the outcomes' public centre, scale and origin; None where there are none.
    covariates : pandas.DataFrame of the weights of covariates with their public constants; None likewise.
    loadings : path of the public loadings of principal components; None likewise.
    outcome_loadings : text of the table of the public loadings of the outcomes; None likewise.
    sums : (n_outcomes, 6) float64, over the public people measured on, from
        `dpgrs.release.constants.reference_sums`; None where there are none.
    measures : pandas.DataFrame of outcome and the fields of a Measure, on these people; None likewise.
    statistics : ReleasedStatistics; None leaves them out.

    Returns
    -------
    dict, the statement as written, with its files.

    Raises
    ------
    DpgrsError
        If a number did not come from the ledger and secret noise, or scores and statement do not belong
        together. Nothing is written.
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
        statement |= {"files": _digests(folder)}
        validate(statement)
        _write_text(folder / STATEMENT, _json(statement))
        sums = "".join(f"{digest}  {name}\n" for name, digest in _digests(folder).items())
        _write_text(folder / SUMS, sums)
    return statement


def remove_bundle(directory):
    """Remove an earlier bundle, so that a new one can take its place.

    Raises
    ------
    UsageError
        If the folder holds anything else: it could be anybody's.
    """
    files = {STATEMENT, SUMS, PROVENANCE, PLAIN_LANGUAGE, REGISTRY}
    files |= {CONSTANTS, SCALES, ACCURACY_SUMS, MEASURES, COVARIATES, LOADINGS, OUTCOME_LOADINGS}
    folders = {"scores", "standard_errors", PLINK_SCORES, STATISTICS}
    remove_own(directory, names=files | folders, kind="a release")


def _write_scores(folder, scores, curation):
    """Write the files of every outcome, and say which file holds what."""
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


def _constants(scores):
    columns = {"constant": scores.constants.of_person, "haplotype_constant": scores.constants.of_haplotype}
    columns = {name: numbers for name, numbers in columns.items() if numbers is not None}
    return _plain_table(scores.outcomes, columns, columns.values())


def _plain_table(outcomes, names, columns):
    """Return a table of numbers as plain decimals, by outcome."""
    cells = {
        name: [format_weight(number) for number in column]
        for name, column in zip(names, columns, strict=True)
    }
    return pd.DataFrame({"outcome": list(outcomes)} | cells)


def _plain_scales(scales):
    """Return constants of outcomes with plain decimals, and the population's prevalence where one is stated.

    It is where it is another than the prevalence of a 0/1 outcome, which is its centre.
    """
    columns = ["centre", "scale", "is_binary", "origin"]
    own = scales["centre"].where(scales["is_binary"])
    if not scales["population_prevalence"].equals(own):
        columns.append("population_prevalence")
    plain = {
        name: [format_weight(number) if np.isfinite(number) else "" for number in scales[name]]
        for name in columns
        if name not in ("is_binary", "origin")
    }
    return scales.assign(**plain)[columns]


def _plain_numbers(measures):
    """Return measures with numbers as plain decimals of six digits, empty where there is none."""
    plain = {
        name: [
            format_weight(float(f"{number:.6g}")) if np.isfinite(number) else "" for number in measures[name]
        ]
        for name in ("value", "low", "high", "expected")
    }
    return measures.assign(**plain)


def _digests(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files}


def _json(value):
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _write_text(path, text):
    path.write_text(text, encoding="utf-8", newline="\n")


def _require_release(scores, statement):
    mechanisms = statement["mechanisms"]
    sources = {scores.source, *(mechanism["source"] for mechanism in mechanisms)}
    if sources != {RELEASE} or not mechanisms:
        raise DpgrsError(
            f"A release must hold nothing but secret noise, source `{RELEASE}`, got "
            f"{', '.join(sorted(sources - {RELEASE})) or 'no noise at all'}. "
            "Results of benchmark mode are not private: run the study with `mode: release`."
        )
    if not all(mechanism["request"] for mechanism in mechanisms):
        uncharged = ", ".join(sorted(part["statistic"] for part in mechanisms if not part["request"]))
        raise DpgrsError(
            f"Every draw of a release must have its request in the ledger, but not: {uncharged}. "
            "Name the dataset's ledger in `privacy.ledger` and run the study again."
        )


def _require_match(scores, statement):
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
            f"Scores and privacy statement must agree, but differ in {', '.join(different)}. "
            "Build the statement from the same fit."
        )


def _states_choices(scores, statement):
    """Tell whether the statement has, for every outcome, a choice of so many variants among all sites."""
    made = {
        (part["n_choices"], part["entries"], part["outcome"])
        for part in statement["mechanisms"]
        if "n_choices" in part
    }
    size = (np.shape(scores.chosen)[1], len(scores.sites))
    return all((*size, outcome) in made or (*size, None) in made for outcome in scores.outcomes)
