"""Noise: statistics, choices or fits from which all weights follow, drawn by one mechanism."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from dpgrs.errors import UsageError
from dpgrs.io.files import write_table, written_digest
from dpgrs.io.json_files import read_json
from dpgrs.io.replicates import save_labelled, write_events
from dpgrs.methods.labels import timed
from dpgrs.methods.mechanisms import mechanism_named
from dpgrs.methods.registry import METHODS, REGRESSION
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.ledger.charging import check, complete, release
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.privacy.noise.study_key import load_study_key
from dpgrs.privacy.private_folders import require_closed
from dpgrs.release.audits import drawn_statistics, require_audited
from dpgrs.release.bundle_room import require_no_other_bundle
from dpgrs.statement.audits import STEERED
from dpgrs.statement.methods import steers_rows
from dpgrs.study.adjustment import adjustment_identity, require_adjusted
from dpgrs.study.draws import Draw, draws_of
from dpgrs.study.fit_identity import ld_identity, output_digests
from dpgrs.study.identity import accuracy_identity, identify_part, loadings_identity, public_identity
from dpgrs.study.later_draws import later_draws_of
from dpgrs.study.requests import is_measured_again
from dpgrs.study.training_data import TrainingData

if TYPE_CHECKING:
    import numpy as np

    from dpgrs.config.study import StudyConfig
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.methods.sum_mechanisms import SharedStatistics

# Rules give of these what the mechanism reads, see `dpgrs.study.requests.reads_of_draw`.
READS = (
    "mode",
    "study",
    "methods",
    "seed",
    "variants.size",
    "outcomes",
    "privacy",
    "screening",
    "regression",
    "dataset",
    "cohort",
    "covariates",
    "people",
    "public",
)

RESTS_ON = (
    "outcomes",
    "statistics",
    "variant_set",
    "ld",
    "covariates",
    "chromosomes",
    "sites",
    "loadings",
    "audit",
    "public_files",
)


def draw(
    settings: "StudyConfig",
    outcomes: Path,
    *,
    mechanism: str,
    method: list[str] = (),
    statistics: Path | None = None,
    variant_set: Path | None = None,
    choices: Path | None = None,
    ld: Path | None = None,
    chromosomes: list[Path] = (),
    covariates: Path | None = None,
    sites: Path | None = None,
    loadings: Path | None = None,
    audit: Path | None = None,
    public_files: list[Path] = (),
    replicate: int = 1,
    threads: int = 1,
    output: Path,
    events: Path,
    seconds: Path | None = None,
    # Called when all files are read: raises DpgrsError if one was replaced since its note was compared.
    before_charge: Callable[[], None] | None = None,
    # All settings of the release that runs, whose later charges must be possible; None by itself.
    study_settings: "StudyConfig | None" = None,
) -> None:
    """Draw noise by one mechanism: from a public seed in a benchmark, in a release secret and charged before.

    A benchmark draws for every combination of protection, accounting, epsilon, number of variants and
    of outcomes; each is a release of its own, with its own noise.

    Parameters
    ----------
    outcomes : outcomes and split of the replicate.
    mechanism : name of the mechanism, such as reusecov-statistics.
    method : method to draw for, if the mechanism draws separately for each.
    statistics : exact statistics, for mechanisms that draw from sums.
    variant_set : the variant set, for mechanisms that draw from rows, for a regression on covariates, which
        is refused if people changed, and for charged metrics with separate budgets, likewise.
    choices : private choices of variants that an earlier run of this command drew, in benchmarks.
    ld : linkage disequilibrium of public genotypes, for mechanisms that use it, and its map for a regression
        on covariates that such a mechanism follows.
    chromosomes : exact sums of chromosomes along a public map, for mechanisms that draw from these.
    covariates : covariates, for the regression of outcomes on them, and beside `variant_set` for charged
        metrics.
    sites : public sites, in releases.
    loadings : public loadings of principal components, in releases.
    audit : audits of the mechanisms, in releases: stale ones, and those of other mechanisms, are refused
        before the charge.
    public_files : public files of later steps, in releases: if other settings made one, nothing is charged.
    replicate : number of the replicate, from 1.
    threads : number of threads that compare genotypes with outcomes for choices; the result does not depend
        on it.
    output : the noisy results to write.
    events : record of the draws to write, JSON. In a release, the ledger has them before they are written.
    seconds : table to write of the time that each draw took, in benchmarks.
    """
    drawing = mechanism_named(mechanism)
    if settings.mode == "release":
        _require_released(drawing, method)
        require_closed(
            *filter(None, (statistics, variant_set, covariates)), *chromosomes, outcomes, output, events
        )
        is_measured = study_settings is not None and is_measured_again(study_settings)
        if (drawing.name == REGRESSION or is_measured) and variant_set is None:
            raise UsageError(
                "variant-set-missing",
                "`--variant-set` must be given for a regression on covariates, and for charged metrics with "
                "separate budgets, got none. Nothing was charged. Name the genotypes of the study.",
            )
        if drawing.name == REGRESSION and METHODS[settings.methods[0]].takes_map and ld is None:
            raise UsageError(
                "map-missing",
                f"`--ld` must be given for a regression on covariates before `{settings.methods[0]}`, got "
                "none. Nothing was charged. Name the map of the sums that are drawn next.",
            )
        if choices is not None:
            raise UsageError(
                "choices-in-release",
                "`--choices` must be left out in a release, which draws its choices and is charged for them. "
                "Nothing was charged. Leave it out.",
            )
    files = {"statistics": statistics, "variant_set": variant_set, "choices": choices, "ld": ld}
    files["chromosomes"] = chromosomes
    files["covariates"] = covariates
    training_data = TrainingData(outcomes, **files, n_threads=threads)
    draws = list(draws_of(settings, drawing, method or [None], training_data))
    if settings.mode == "release":
        public = loadings_identity(loadings) | ld_identity(ld) | adjustment_identity(training_data.outcomes)
        charge_options = {"sites": sites, "public": public, "audit": audit, "before_charge": before_charge}
        charge_options["study_settings"] = study_settings
        _charge(_only(draws), output, events, **charge_options)
        return
    labels, took = [], []

    def draws_in_turn() -> "Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]":
        """Yield one after another, so that no more than one is in memory."""
        for planned_draw in draws:
            (label, arrays), elapsed = timed(_draw_seeded, planned_draw, settings.seed, replicate)
            labels.append(label)
            took.append(elapsed)
            yield label, arrays
            del arrays

    save_labelled(output, draws_in_turn())
    if seconds is not None:
        write_table(seconds, pd.DataFrame({"seconds": took}))
    # Draws without privacy have no events.
    write_events(events, [label for label in labels if label["events"]])


def _require_released(mechanism: "SharedStatistics", methods: list[str]) -> None:
    """Refuse a mechanism, or methods of another one, of which no bundle can be made."""
    if mechanism.name == REGRESSION and not methods:
        return
    released = [name for name in mechanism.methods if METHODS[name].may_be_released]
    if not released or not {*methods} <= {*released}:
        raise UsageError(
            "mechanism-not-released",
            f"`--mechanism` must draw for a method of releases, got {mechanism.name} for "
            f"{', '.join(methods or mechanism.methods)}. Nothing was charged. Set `methods` to one that "
            "`dpgrs` offers for releases, and run Snakemake.",
        )
    if not methods and mechanism.drawn_for(released) != [None]:
        raise UsageError(
            "method-not-given",
            f"`--method` must be given for `--mechanism {mechanism.name}`, got none. Nothing was charged. "
            f"Name one of {', '.join(released)}.",
        )


def _only(draws: Sequence[Draw]) -> Draw:
    """Return the one draw of a release; others raise UsageError."""
    if len(draws) != 1:
        raise UsageError(
            "several-requests", f"A release must be one request, got {len(draws)}. Give one value each."
        )
    return draws[0]


def _draw_seeded(
    planned_draw: Draw, seed: int, replicate: int
) -> "tuple[dict[str, Any], dict[str, np.ndarray]]":
    """Draw for a benchmark; returns label and arrays."""
    noise = BenchmarkNoise(seed, replicate, *planned_draw.key, *planned_draw.request.key)
    noisy = planned_draw.draw(noise)
    method_label = {"method": planned_draw.method} if planned_draw.method else {}
    return planned_draw.label(noisy) | method_label, planned_draw.mechanism.arrays(noisy)


def _charge(
    planned_draw: Draw,
    output: Path,
    events: Path,
    *,
    sites: Path | None,
    public: dict[str, Any],  # identifies other public files
    audit: Path | None,
    before_charge: Callable[[], None] | None,  # called when the rehearsal has read all data
    study_settings: "StudyConfig | None",
) -> None:
    """Charge the ledger, draw, record the draw, and store it; files and settings are as in `draw`."""
    ledger, site_digest = Ledger(planned_draw.settings.privacy.ledger), written_digest(sites)
    require_adjusted(planned_draw, ledger)
    mechanism, request = planned_draw.mechanism, planned_draw.request
    ld = {"ld": public.pop("ld")} if mechanism.name == REGRESSION and "ld" in public else {}
    identity = public_identity(planned_draw.settings) | public
    release_terms = {"sites": site_digest} | identity["dataset"]

    def identify(
        release_part: tuple[str, ...],
        mechanism: "SharedStatistics" = mechanism,
        request: "PrivacyRequest" = request,
    ) -> dict[str, Any]:
        depends_on = mechanism.depends_on(release_part, planned_draw.names, request)
        mechanism_terms = {"mechanism": mechanism.name, "drawn_before": mechanism.drawn_before(request)}
        public_terms = identity if mechanism is planned_draw.mechanism else identity | ld
        return identify_part(public_terms, site_digest, request, depends_on, **mechanism_terms)

    account = Account(request.protection, request.unit, request.neighbours)
    charged_to = {"account": account, "ledger": ledger, "study_key": load_study_key()}
    later = later_draws_of(planned_draw, study_settings)
    statistics_of_later = later.statistics()
    measured = {name: value for name, value in identity.items() if name not in ("ld", "adjusted_by")}
    identify_accuracy = partial(accuracy_identity, measured, site_digest, request)

    def require_replayed(noisy: Any, requests: dict[tuple[str, ...], str]) -> None:
        """Refuse what would be refused after the charge: other outputs, and other people held out."""
        outputs = output_digests(mechanism.outputs(noisy, planned_draw.names, request))
        ledger.check_all({requests[release_part]: outputs[release_part] for release_part in requests})
        later.require_same_accuracy(noisy, requests, identify=identify_accuracy, **charged_to)

    def allow(draws: Sequence[dict[str, Any]]) -> Cost | None:
        require_no_other_bundle(output, draws, ledger=ledger, public_terms=release_terms)
        later.require_unchanged(identify=identify, **charged_to)
        if audit is not None:
            turned = [STEERED] * any(map(steers_rows, later.mechanism.methods[:1]))
            statistics = [*drawn_statistics(draws), *statistics_of_later, *turned]
            require_audited(read_json(audit, kind=list), statistics=statistics)
        if before_charge is not None:
            before_charge()
        if study_settings is None:
            return None
        return later.cost(draws, book=ledger.read(), account=account, identify=identify_accuracy)

    noisy, receipt = release(
        planned_draw.draw,
        identify=identify,
        allow=allow,
        require_replayed=require_replayed,
        **charged_to,
    )
    label = planned_draw.label(noisy) | {"requests": list(receipt.requests.items())}
    label |= {name: public[name] for name in ("ld", "adjusted_by") if name in public}
    receipt = replace(receipt, outputs=output_digests(mechanism.outputs(noisy, planned_draw.names, request)))
    check(receipt, ledger)
    # Complete the entry before writing the file: otherwise another machine could finish a run killed here.
    complete(receipt, ledger, study=planned_draw.settings.study)
    save_labelled(output, [(label, mechanism.arrays(noisy))])
    write_events(events, [label])
