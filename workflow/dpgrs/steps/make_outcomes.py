"""Outcomes of a replicate and its split into training and test rows."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.evaluation.split import per_row, split_rows
from dpgrs.io.files import require_new
from dpgrs.io.outcomes import Outcomes, simulated_names
from dpgrs.io.tables.outcome_loadings import read_outcome_loadings
from dpgrs.io.variant_set import VariantSet
from dpgrs.io.variant_set_parts import people_parts
from dpgrs.study.outcome_table import OutcomeTable
from dpgrs.study.simulated_rows import SIMULATED_PEOPLE, SimulatedRows

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

READS = (
    "mode",
    "seed",
    "cohort.rows",
    "variants.size",
    "outcomes.count",
    "outcomes.heritability",
    "outcomes.causal_share",
    "outcomes.factors",
    "outcomes.network",
    "outcomes.prevalence",
    "outcomes.test_share",
    "outcomes.least_share",
    "outcomes.checks",
    "public.outcomes.sha256",
)


def make_outcomes(
    settings: "StudyConfig",
    variant_set: Path,
    *,
    replicate: int,
    table: Path | None = None,
    scales: Path | None = None,
    loadings: Path | None = None,
    people_counts: Path | None = None,
    is_reference: bool = False,
    output: Path,
) -> None:
    """Simulate outcomes, or read them from a table, and split people into training and test rows.

    In a release every row depends only on itself: simulated outcomes are scaled by the variant set's
    frequencies, which are public, and a side of the split may be empty. A table of raw values is refused.

    Raises DpgrsError if the table and the genotypes share too few people, or a public table is another one,
    or of other people, or outcomes of the table plainly are not standardised; all of these depend on private
    data. Raises UsageError if `output` is a folder that holds something.

    Parameters
    ----------
    variant_set : store of the study's variants.
    replicate : number of the replicate, from 1; each replicate has its own public random numbers.
    table : table of measured outcomes; without it, outcomes are simulated.
    scales : public constants that standardise the outcomes of the table; without them, values are used as
        they are.
    loadings : public loadings of components that replace the outcomes.
    people_counts : file for the number of people with each outcome, shown to the operator only.
    is_reference : the people are the public reference; the table may have any number of others.
    output : outcomes and split, to write.
    """
    require_new(output)
    variant_set, rows, sizes = VariantSet.open(variant_set), settings.cohort.rows, settings.variants.size
    outcome_terms, is_release = settings.outcomes, settings.mode == "release"
    count = max(outcome_terms.count) if outcome_terms.count else None
    is_training = split_rows(
        variant_set.sample_id,
        rows=rows,
        test_share=outcome_terms.test_share,
        seed=settings.seed,
        key=(replicate,),
        keeps_both_sides=not is_release,
    )
    effects, prevalence, population = {}, None, None
    if table is None:
        simulated = _simulated(variant_set, settings, replicate)
        effects, values_by_part = simulated.effects, simulated.outcome_blocks()
        names = simulated_names(count)
        prevalence = None if outcome_terms.prevalence is None else np.full(count, outcome_terms.prevalence)
    else:
        outcome_table = OutcomeTable(
            table,
            variant_set.sample_id,
            count=count,
            scales=scales,
            public_digest=settings.public.outcomes.sha256,
            least_share=outcome_terms.least_share,
            checks=outcome_terms.checks,
            counts=people_counts,
            is_release=is_release,
            is_reference=is_reference,
            folder=output.parent,
        )
        names, prevalence, population = (
            outcome_table.names,
            outcome_table.prevalence,
            outcome_table.population_prevalence,
        )
        people = people_parts(slice(0, variant_set.n_samples), SIMULATED_PEOPLE)
        values_by_part = (
            dict.fromkeys(sizes, per_row(outcome_table.of_people(people_slice), rows=rows))
            for people_slice in people
        )
    names = tuple(names)
    component_loadings = (None, None)
    if loadings is not None:
        components = read_outcome_loadings(loadings)
        component_loadings = components.components, components.of(names)
    no_values = dict.fromkeys(sizes)
    Outcomes(names, no_values, effects, is_training, rows, prevalence, *component_loadings, population).save(
        output, values_by_part
    )


def _simulated(variant_set: VariantSet, settings: "StudyConfig", replicate: int) -> SimulatedRows:
    outcome_terms = settings.outcomes
    if outcome_terms.count is None:
        raise UsageError(
            "outcome-count-missing",
            "`outcomes.count` must be given for simulated outcomes, got null. Give it.",
        )
    return SimulatedRows(
        variant_set,
        settings.variants.size,
        rows=settings.cohort.rows,
        by_frequency=settings.mode == "release",
        n_outcomes=max(outcome_terms.count),
        heritability=outcome_terms.heritability,
        causal_share=outcome_terms.causal_share,
        n_factors=outcome_terms.factors,
        width=outcome_terms.network,
        prevalence=outcome_terms.prevalence,
        seed=settings.seed,
        key=(replicate,),
    )
