"""The bundle of a release, only from released values, public files and the ledger."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs.config.study import StudyConfig
from dpgrs.errors import DpgrsError
from dpgrs.io.files import file_digest, replacing, written_digest
from dpgrs.io.json_files import read_json
from dpgrs.io.sites import read_chosen_sites
from dpgrs.io.tables.outcome_loadings import read_outcome_loadings
from dpgrs.methods.genome_sums import map_terms
from dpgrs.methods.mechanisms import drawn_names, mechanism_of_file, request_of
from dpgrs.privacy.accounting.exact_numbers import exact_values
from dpgrs.privacy.ledger.ledger import Book, Ledger
from dpgrs.release.audits import summarise_audits
from dpgrs.release.bundle import remove_bundle, write_bundle
from dpgrs.release.bundle_room import require_same_release
from dpgrs.release.constants import prediction_constants, published
from dpgrs.release.content import release_content
from dpgrs.release.covariates import covariate_weights, with_regression
from dpgrs.release.pgs_catalog import Scores
from dpgrs.release.statement import build_statement
from dpgrs.release.statistics_files import released_genome_effects, released_statistics
from dpgrs.statement.audits import STEERED
from dpgrs.statement.methods import steers_rows
from dpgrs.study.fit_identity import effects_identity, fit_settings, ld_identity, output_digests
from dpgrs.study.genome_maps import stored_map
from dpgrs.study.identity import WHERE_THERE, loadings_identity, public_identity
from dpgrs.study.provenance import provenance
from dpgrs.study.public_files import load_effects
from dpgrs.study.released import load_released, load_weights
from dpgrs.study.released_accuracy import load_accuracy, load_measures, load_reference_sums
from dpgrs.study.settings import without_paths
from dpgrs.study.table_settings import outcome_constants
from dpgrs.study.traits import read_traits
from dpgrs.verify.draw_check import has_statistics

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

RESTS_ON = ("sites", "drawn", "weights", "accuracy", "loadings", "ld", "effects", "audit", "regression")


def write_release(
    settings: Path,
    sites: Path,
    drawn: Path,
    weights: Path,
    accuracy: Path,
    *,
    audit: Path | None = None,
    loadings: Path | None = None,
    ld: Path | None = None,
    effects: Path | None = None,
    traits: Path | None = None,
    regression: Path | None = None,
    truncated_ld: Path | None = None,
    output: Path,
    # Called when all files are read: raises DpgrsError if one was replaced since its note was compared.
    before_charge: Callable[[], None] | None = None,
) -> None:
    """Write the bundle of a release.

    Raises DpgrsError if a file does not belong to this release or to what the ledger charged for, or an audit
    is missing or failed.

    Parameters
    ----------
    settings : the resolved configuration, JSON.
    sites : the public sites.
    drawn : noisy results of the release.
    weights : weights of one fit.
    accuracy : the sums that the metrics are computed from.
    audit : audits of the mechanisms, from `dpgrs audit --json`; none if `release.audit_draws` is 0.
    loadings : public loadings of principal components.
    ld : linkage disequilibrium of public genotypes, for fits that use it.
    effects : public effects, for fits that start from them.
    regression : the released regression on covariates, if outcomes were adjusted by one.
    traits : table that describes the outcomes, written by the curator.
    truncated_ld : file to write of the LD of effects along directions, for maps with equal shares. An earlier
        one stays as it is if the release is refused.
    output : folder to write. An earlier bundle of the same release there is written again; a bundle of
        another release is refused.
    """
    settings = StudyConfig.of(read_json(settings))
    book = Ledger(settings.privacy.ledger).read()
    label, noisy = load_released(drawn, book)
    before = _regression(regression, label, book)
    files = {"sites": written_digest(sites)} | loadings_identity(loadings)
    for released_label in filter(None, (label, before)):
        _require_same_data(settings, files, released_label, book)
    fit_terms = fit_settings(settings) | ld_identity(ld) | effects_identity(effects)
    fit = published(load_weights(weights, label, noisy, fit=fit_terms))
    names, sites = tuple(label["outcomes"]), read_chosen_sites(sites)
    constants = outcome_constants(settings.outcomes, names)
    measured, stated = load_accuracy(accuracy, book, label, fit=fit_terms, constants=constants)
    events = with_regression(label, before)["events"]
    audits = _audits(audit, events + measured, settings)
    content_fields = {
        "noisy": noisy,
        "measured": measured,
        "stated": stated,
        "audits": audits,
        "loadings": loadings,
    }
    content_fields |= {"fit": fit_terms, "fitted": fit, "effects": load_effects(effects)[0]}
    content_fields |= {"traits": () if traits is None else read_traits(traits, names)}
    content_fields |= {"regression": before}
    with replacing(truncated_ld) if truncated_ld is not None else nullcontext() as ld_file:
        statistics = _statistics(settings, label, noisy, sites, ld=ld, truncated_ld=ld_file)
        if ld_file is not None:
            content_fields["truncated_ld"] = file_digest(ld_file)
        content = release_content(settings, sites, label, book, **content_fields)
        size, covariates = len(sites), settings.covariates
        scores = Scores(
            outcomes=names,
            sites=sites,
            weights=fit.weights[:, :size],
            constants=prediction_constants(
                fit, n_variants=size, n_components=covariates.pcs, rows=settings.cohort.rows
            ),
            standard_errors=None if fit.standard_errors is None else fit.standard_errors[:, :size],
            chosen=fit.chosen if before is None or fit.chosen is None else _of_variants(fit.chosen, size),
            frequency=sites["frequency"].to_numpy(),
            genome_build=settings.release.genome_build,
            terms=content.terms,
            source=_source(content.events),
        )
        outcome_loadings = settings.outcomes.loadings
        bundle_fields = {
            "scores": scores,
            "statement": build_statement(content),
            "provenance": provenance(without_paths(settings), []),
            "scales": constants,
            "covariates": covariate_weights(fit.weights[:, size:], names, settings=settings),
            "loadings": loadings,
            "outcome_loadings": outcome_loadings and read_outcome_loadings(outcome_loadings).text,
            "sums": load_reference_sums(accuracy),
            "measures": load_measures(accuracy),
            "statistics": statistics,
        }
        if before_charge is not None:
            before_charge()
        require_same_release(output, {event["request"] for event in content.events}, fit=fit_terms)
        remove_bundle(output)
        write_bundle(output, **bundle_fields)


def _regression(path: Path | None, label: dict[str, Any], book: Book) -> dict[str, Any] | None:
    """Return the label of the released regression on covariates that adjusted outcomes, or None."""
    if path is None:
        stated = None
    else:
        before, effects = load_released(path, book)
        outputs = mechanism_of_file(before).outputs(effects, drawn_names(before), request_of(before))
        stated = list(output_digests(outputs).values())
    if label.get("adjusted_by") != stated:
        raise DpgrsError(
            "covariate-effects-differ",
            "The noisy statistics must be of outcomes that the released regression on covariates adjusted, "
            "got others. Run the study again.",
        )
    return None if path is None else before


def _of_variants(
    chosen: "np.ndarray",  # (n_outcomes, n_chosen) int64
    size: int,
) -> "np.ndarray":
    """Return the chosen columns that are variants: (n_outcomes, n_chosen), of as many for each outcome."""
    return chosen[:, : (chosen < size).sum(axis=1).min()]


def _statistics(
    settings: StudyConfig,
    label: dict[str, Any],
    noisy: Any,  # the draws of a mechanism
    sites: "pd.DataFrame",
    *,
    ld: Path | None,
    truncated_ld: Path | None,
) -> Any:
    """Return the published statistics of the draws; None where the curator leaves them out, or none exist."""
    scales = outcome_constants(settings.outcomes, label["outcomes"])
    if truncated_ld is not None:
        stored = stored_map(ld, map_terms(request_of(label)))
        paths = {"stored": stored, "truncated_ld": truncated_ld}
        return released_genome_effects(label, noisy, sites, scales=scales, **paths)
    is_wanted = settings.release.statistics
    if not is_wanted or not has_statistics(settings.methods[0], label["request"]["protection"]):
        return None
    return released_statistics(label, noisy, sites, scales=scales)


def _require_same_data(
    settings: StudyConfig, files: dict[str, Any], label: dict[str, Any], book: Book
) -> None:
    """Refuse statistics of other data, sites, covariates, loadings or choices of people than are named."""
    public = public_identity(settings)
    # None where a study has none: statistics with covariates, say, must not pass for those without.
    named = {name: public.get(name) for name in WHERE_THERE}
    stated_identity = public["dataset"] | exact_values(named) | files
    for statistic_part, request in label["requests"]:
        identity = book.requests[request].identity
        outcomes = identity.get("outcomes", public["outcomes"])
        for name in ("loadings", "scales"):
            if outcomes.get(name) != public["outcomes"].get(name):
                raise DpgrsError(
                    "outcome-terms-differ",
                    f"The statistics of the outcomes were released by other `outcomes.{name}` than the "
                    "study's. Run the study again.",
                )
        # The LD that steered X'Y; the fit has compared its file with the label.
        is_along_map = label["request"].get("ld_share") is not None
        steered = {"ld": label.get("ld")} if statistic_part[0] == "outcomes" or is_along_map else {}
        other = [
            name
            for name, stated_value in (stated_identity | steered).items()
            if identity.get(name) != stated_value
        ]
        if other:
            raise DpgrsError(
                "statistics-terms-differ",
                f"The statistics of the {statistic_part[0]} were released for another {other[0]} than the "
                "study's. Run the study again.",
            )


def _audits(path: Path | None, events: Sequence[dict[str, Any]], settings: StudyConfig) -> Any:
    """Read and sum up the audits of the draws; None where a study leaves them out."""
    draws = settings.release.audit_draws
    if draws == 0:
        return None
    if path is None:
        raise DpgrsError(
            "audits-missing",
            f"A release with `release.audit_draws` = {draws} must have audits. Give --audit.",
        )
    turned = [STEERED] if steers_rows(settings.methods[0]) else []
    return summarise_audits(
        read_json(path, kind=list),
        statistics=[*(event["statistic"] for event in events), *turned],
        draws=draws,
        seed=settings.seed,
    )


def _source(events: Sequence[Any]) -> str:
    """Return where the noise of all events came from; anything but ``release`` is refused by the bundle."""
    return " and ".join(sorted({event["source"] for event in events}))
