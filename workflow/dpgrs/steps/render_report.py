"""Pages for readers of a benchmark, and how the pages of any study are written."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.io.covariates import Covariates
from dpgrs.io.files import read_table
from dpgrs.io.genotype_summary import GenotypeSummary
from dpgrs.io.json_files import read_json
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Labelled, Statistics, load_labelled
from dpgrs.io.tables.people_counts import describe_counts, read_counts
from dpgrs.io.variant_set import VariantSet
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.registry import METHODS
from dpgrs.reporting import pages
from dpgrs.reporting.data import (
    VARIANT_COLUMNS,
    ClippedRows,
    Clipping,
    FitWeights,
    Quality,
    ReportData,
    StudyInfo,
    read_metrics,
)
from dpgrs.reporting.rendering import write_report
from dpgrs.reporting.screening_data import read_screening
from dpgrs.reporting.words import GENOTYPE_WORDS, TABLE_WORDS
from dpgrs.statement.findings import correlations_in_words, misfit_in_words
from dpgrs.study.method_choice import choice_in_words
from dpgrs.study.people_terms import n_copies
from dpgrs.study.public_files import load_effects
from dpgrs.study.table_cohort import is_table
from dpgrs.study.variant_terms import has_public_sites

if TYPE_CHECKING:
    import pandas as pd

    from dpgrs.config.cohort import Cohort
    from dpgrs.config.study import StudyConfig

LEFT_OUT = {
    "not_kept": "not on the list to keep",
    "removed": "on the list to remove",
    "no_consent": "without consent",
    "related": "related",
}


READS = (
    "study",
    "mode",
    "seed",
    "methods",
    "replicates",
    "cohort",
    "variants",
    "outcomes",
    "covariates",
    "privacy",
    "regression",
    "screening",
    "public",
)


def render_report(
    settings: "StudyConfig",
    metrics: Path,
    population_metrics: Path,
    measures: Path,
    variant_set: Path,
    outcomes: Path,
    weights: Path,
    *,
    statistics: Path | None = None,
    attacks: Path | None = None,
    choices: list[Path] = (),
    people: Path | None = None,
    people_counts: list[Path] = (),
    qc: Path | None = None,
    genotypes: Path | None = None,
    covariates: Path | None = None,
    effects: Path | None = None,
    figures: Path | None = None,
    processes: int = 1,
    output: Path,
) -> None:
    """Write the pages of a benchmark: the overview and one page per outcome.

    They show the largest numbers of variants and outcomes, and describe people in the data.

    Raises UsageError if the study is a release.

    Parameters
    ----------
    metrics : table of metrics by outcome.
    population_metrics : table of metrics by population.
    measures : table of measures with intervals.
    variant_set : the variant set of the first replicate.
    outcomes : outcomes of the first replicate.
    weights : weights of all methods in the first replicate.
    statistics : exact statistics of the first replicate, if the study has them.
    attacks : table of attacks.
    choices : table of chosen variants.
    people : counts of people who were left out, JSON.
    people_counts : counts of people with a value of an outcome or covariate.
    qc : table of all variants, each with the reason why it was left out.
    genotypes : summary of the genotypes; with `--qc` it gets a page.
    covariates : covariates of the first replicate.
    effects : public effects.
    figures : folder to write of figures as files, for the first ten outcomes.
    processes : number of processes that write outcome pages; the pages do not depend on it.
    output : folder of the pages to write.
    """
    if settings.mode != "benchmark":
        raise UsageError(
            "exact-pages-of-release",
            f"`mode` must be benchmark for pages with exact figures, got {settings.mode}."
            " Use `dpgrs render-release-report`.",
        )
    variant_set, outcomes = VariantSet.open(variant_set), Outcomes.load(outcomes)
    metrics = read_metrics(metrics)
    largest = variant_set.n_variants
    fitted, shown = load_labelled(weights), (largest, len(outcomes.names))

    def is_shown(label: dict[str, Any]) -> bool:
        return label["reported"] and (label["n_variants"], label["n_outcomes"]) == shown

    fits = [
        FitWeights(
            label["method"],
            label["protection"],
            label["accounting"] or "",
            label["epsilon"],
            LinearFit.of(arrays).weights[:, :largest],
        )
        for label, arrays in fitted.of(is_shown)
    ]
    report_data = ReportData(
        study=_study_info(
            settings,
            variant_set,
            outcomes,
            metrics,
            Covariates.load(covariates),
            left_out=_left_out(people),
            misfit=tuple(misfit_in_words(arrays for _, arrays in fitted)),
            effects=tuple(_effects_in_words(effects, fitted, outcomes.names)),
            people_counts=tuple(chain.from_iterable(map(describe_counts, map(read_counts, people_counts)))),
        ),
        outcomes=outcomes.names,
        metrics=metrics,
        population_metrics=read_metrics(population_metrics),
        measures=read_metrics(measures),
        variants=variant_set.variants.assign(frequency=variant_set.frequency)[list(VARIANT_COLUMNS)],
        weights=fits,
        effects=outcomes.effects.get(largest),
        attacks=read_metrics(attacks) if attacks else None,
        clipping=_clipping(Statistics.load(statistics), largest) if statistics else None,
        screening=read_screening(choices, variant_set, outcomes, settings) if choices else None,
        binary=_binary(outcomes, largest),
        quality=_quality(qc, genotypes, settings) if qc and genotypes else None,
        loadings=outcomes.loadings,
    )
    write_report(pages, report_data, output, processes=processes, figures=figures)


def _effects_in_words(effects: Path | None, fitted: Labelled, names: Sequence[str]) -> Iterator[str]:
    """Say which public effects were matched, and the median correlations that fits of all outcomes found."""
    files, _ = load_effects(effects)
    yield from (f"{file['name']}: {file['matched']}" for file in files)
    correlations = [arrays["correlations"] for _, arrays in fitted if "correlations" in arrays]
    correlations = [file for file in correlations if len(file) == len(names)]
    if correlations:
        yield correlations_in_words(names, np.median(correlations, axis=0))


def _binary(outcomes: Outcomes, largest: int) -> tuple[str, ...]:
    """Name the outcomes that have two values and no other."""
    outcome_values = outcomes.values[largest]
    low, high = (reduce(outcome_values, axis=1, keepdims=True) for reduce in (np.fmin.reduce, np.fmax.reduce))
    is_binary = ((outcome_values == low) | (outcome_values == high) | np.isnan(outcome_values)).all(
        axis=1
    ) & (low < high)[:, 0]
    return tuple(name for name, has_two in zip(outcomes.names, is_binary, strict=True) if has_two)


def _quality(qc: Path, genotypes: Path, settings: "StudyConfig") -> Quality:
    counts = read_table(qc, required=["chromosome"], dtype={"chromosome": "str"})
    return Quality(counts, GenotypeSummary.load(genotypes), settings.variants)


def _clipping(statistics: Statistics, largest: int) -> Clipping | None:
    """Return the numbers of clipped rows as pages show them; None where nothing was counted."""
    if statistics.clips is None:
        return None
    rows = []
    for (size, count), (n_genotypes, n_outcomes) in sorted(statistics.clips.rows.items(), reverse=True):
        shares = (n_genotypes / statistics.n_rows, n_outcomes / statistics.n_rows)
        rows.append(ClippedRows(size, count, *shares))
    return Clipping(statistics.clips.values[largest], statistics.n_observed, rows)


def _study_info(
    settings: "StudyConfig",
    variant_set: VariantSet,
    outcomes: Outcomes,
    metrics: "pd.DataFrame",
    covariates: Covariates | None,
    **counted: Any,  # further fields of `StudyInfo`
) -> StudyInfo:
    simulated = settings.outcomes.source == "simulate"
    return StudyInfo(
        name=settings.study,
        n_people=variant_set.n_samples,
        n_rows=len(outcomes.is_training),
        rows=settings.cohort.rows,
        variant_counts=tuple(sorted(settings.variants.size)),
        outcome_counts=tuple(sorted(metrics["n_outcomes"].unique().tolist())),
        replicates=settings.replicates,
        source=_source(settings.cohort),
        is_copied=n_copies(settings) is not None,
        field=settings.cohort.field,
        chromosomes=() if is_table(settings) else tuple(settings.cohort.chromosomes),
        heritability=settings.outcomes.heritability if simulated else None,
        prevalence=settings.outcomes.prevalence,
        factors=settings.outcomes.factors,
        network=settings.outcomes.network,
        facts={
            name: facts(settings.regression.as_dict())
            for name in settings.methods
            if (facts := METHODS[name].facts)
        },
        test_share=settings.outcomes.test_share,
        outcome_bound=settings.outcomes.bound,
        delta=settings.privacy.delta,
        penalty=settings.regression.lambda_,
        penalty_rule=settings.regression.lambda_from,
        stated_heritability=settings.regression.heritability,
        is_joint=settings.regression.joint_projection,
        bounds=settings.privacy.bounds,
        genotype_clip=settings.privacy.genotype_clip,
        outcome_clip=settings.privacy.outcome_clip,
        outcome_budget=settings.privacy.outcome_budget,
        seed=settings.seed,
        has_public_sites=has_public_sites(settings),
        choice=tuple(choice_in_words(settings, says_default=False)),
        words=TABLE_WORDS if is_table(settings) else GENOTYPE_WORDS,
        **counted,
        covariates=() if covariates is None else covariates.names,
        covariate_bound=settings.covariates.bound,
    )


def _left_out(people: Path | None) -> str | None:
    """Say how many people were left out of the genotypes, by reason; None where the study chooses nobody."""
    if people is None:
        return None
    counts = read_json(people)
    total = counts["n_people"] - counts["n_chosen"]
    reasons = (f"{number:,} {LEFT_OUT[reason]}" for reason, number in counts["left_out"].items() if number)
    return f"{total:,} of {counts['n_people']:,}" + (f": {', '.join(reasons)}" if total else "")


def _source(cohort: "Cohort") -> str:
    """Say where the genotypes come from; only file names, since folders describe a machine."""
    if cohort.source == "simulate":
        return f"simulated under {cohort.simulation.model} (stdpopsim)"
    source = cohort.source
    return f"{source.upper()} {Path(getattr(cohort, source)).name}"
