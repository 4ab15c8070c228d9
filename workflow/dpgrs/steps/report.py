"""Pages for readers, and the record of how the results came about."""

import json
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from dpgrs.io.files import replacing
from dpgrs.io.panel import Panel
from dpgrs.io.trials import Outcomes, load_labelled
from dpgrs.provenance import provenance
from dpgrs.reporting.data import VARIANT_COLUMNS, FitWeights, ReportData, StudyInfo, read_metrics
from dpgrs.reporting.pages import chunks, write_outcome_pages, write_overview


def render_report(*, metrics, population_metrics, panel, outcomes, weights, settings, output, processes):
    """Write the overview and one page per outcome, of the largest panel and number of outcomes.

    Parameters
    ----------
    metrics, population_metrics : paths of the study's tables.
    panel : path.
    outcomes, weights : paths of the first trial, whose weights the pages show.
    settings : path of the resolved configuration, JSON.
    output : folder to write.
    processes : int, how many processes write outcome pages; the pages do not depend on it.
    """
    data = _report_data(metrics, population_metrics, panel, outcomes, weights, _read(settings))
    with replacing(output) as temporary:
        temporary.mkdir()
        write_overview(data, temporary)
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            list(pool.map(partial(_write_chunk, data, temporary), chunks(len(data.outcomes))))


def write_provenance(settings, outputs, *, output):
    """Write provenance.json.

    Parameters
    ----------
    settings : path of the resolved configuration, JSON.
    outputs : list of paths, results whose digests are recorded.
    output : path.
    """
    record = provenance(_read(settings), outputs)
    with replacing(output) as temporary:
        Path(temporary).write_text(json.dumps(record, indent=2) + "\n")


def _read(settings):
    return json.loads(Path(settings).read_text())


def _report_data(metrics, population_metrics, panel, outcomes, weights, settings):
    panel, outcomes = Panel.open(panel), Outcomes.load(outcomes)
    metrics = read_metrics(metrics)
    largest = panel.n_variants
    fits = [
        FitWeights(
            label["method"],
            label["protection"],
            label["accounting"] or "",
            label["epsilon"],
            arrays["weights"],
        )
        for label, arrays in load_labelled(weights)
        if label["reported"] and (label["n_variants"], label["n_outcomes"]) == (largest, len(outcomes.names))
    ]
    return ReportData(
        study=_study_info(settings, panel, outcomes, metrics),
        outcomes=outcomes.names,
        metrics=metrics,
        population_metrics=read_metrics(population_metrics),
        variants=panel.variants.assign(frequency=panel.frequency)[list(VARIANT_COLUMNS)],
        weights=fits,
        effects=outcomes.effects.get(largest),
    )


def _study_info(settings, panel, outcomes, metrics):
    simulated = settings["outcomes"]["source"] == "simulate"
    return StudyInfo(
        name=settings["study"],
        mode=settings["mode"],
        n_people=panel.n_samples,
        n_rows=len(outcomes.is_training),
        rows=settings["cohort"]["rows"],
        panel_sizes=tuple(sorted(settings["panel"]["size"])),
        outcome_counts=tuple(sorted(metrics["n_outcomes"].unique().tolist())),
        trials=settings["trials"],
        source=_source(settings["cohort"]),
        chromosomes=tuple(settings["cohort"]["chromosomes"]),
        heritability=settings["outcomes"]["heritability"] if simulated else None,
        outcome_bound=settings["outcomes"]["bound"],
        delta=settings["privacy"]["delta"],
        penalty=settings["regression"]["lambda"],
        seed=settings["seed"],
    )


def _source(cohort):
    """Say where the genotypes come from; file names alone, since folders tell about a machine."""
    if cohort["source"] == "simulate":
        return f"simulated under {cohort['simulation']['model']} (stdpopsim)"
    return f"VCF {Path(cohort['vcf']).name}"


def _write_chunk(data, directory, chunk):
    write_outcome_pages(data, chunk.first, chunk.last, directory / "outcomes" / chunk.name)
