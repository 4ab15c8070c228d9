"""Outcomes of a replicate and its split into training and test rows."""

from pathlib import Path

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
    settings,
    variant_set: Path,
    *,
    replicate: int,
    table: Path | None = None,
    scales: Path | None = None,
    loadings: Path | None = None,
    people_counts: Path | None = None,
    is_reference: bool = False,
    output: Path,
):
    """Simulate outcomes, or read them from a table, and split people into training and test rows.

    In a release every row depends on itself alone: simulated outcomes are scaled by the variant set's
    frequencies, which are public, and a side of the split may be empty. A table of raw values is refused.

    Parameters
    ----------
    settings : Settings
    variant_set : store of the study's variants.
    replicate : number of the replicate, from 1; each replicate has its own public random numbers.
    table : table of measured outcomes; without it, outcomes are simulated.
    scales : public constants that standardise the outcomes of the table; without them, values are used as
        they are.
    loadings : public loadings by which components replace the outcomes.
    people_counts : file for the number of people with each outcome, shown to the operator only.
    is_reference : the people are those of the public reference; the table may have any number of others.
    output : outcomes and split, to write.

    Raises
    ------
    DpgrsError
        If the table and the genotypes share too few people, or a public table is another one, or of other
        people, or outcomes of the table plainly are not standardised; all of these depend on private data.
    UsageError
        If `output` is a folder that holds something.
    """
    require_new(output)
    variant_set, rows, sizes = VariantSet.open(variant_set), settings.cohort.rows, settings.variants.size
    terms, is_release = settings.outcomes, settings.mode == "release"
    count = max(terms.count) if terms.count else None
    is_training = split_rows(
        variant_set.sample_id,
        rows=rows,
        test_share=terms.test_share,
        seed=settings.seed,
        key=(replicate,),
        keeps_both_sides=not is_release,
    )
    effects, prevalence, population = {}, None, None
    if table is None:
        simulated = _simulated(variant_set, settings, replicate)
        effects, parts = simulated.effects, simulated.parts()
        names = simulated_names(count)
        prevalence = None if terms.prevalence is None else np.full(count, terms.prevalence)
    else:
        found = OutcomeTable(
            table,
            variant_set.sample_id,
            count=count,
            scales=scales,
            public_digest=settings.public.outcomes.sha256,
            least_share=terms.least_share,
            checks=terms.checks,
            counts=people_counts,
            is_release=is_release,
            is_reference=is_reference,
            folder=output.parent,
        )
        names, prevalence, population = found.names, found.prevalence, found.population_prevalence
        people = people_parts(slice(0, variant_set.n_samples), SIMULATED_PEOPLE)
        parts = (dict.fromkeys(sizes, per_row(found.of_people(part), rows=rows)) for part in people)
    names = tuple(names)
    own = (None, None)
    if loadings is not None:
        components = read_outcome_loadings(loadings)
        own = components.components, components.of(names)
    values = dict.fromkeys(sizes)
    Outcomes(names, values, effects, is_training, rows, prevalence, *own, population).save(output, parts)


def _simulated(variant_set, settings, replicate):
    terms = settings.outcomes
    if terms.count is None:
        raise UsageError("`outcomes.count` must be given for simulated outcomes, got null. Give it.")
    return SimulatedRows(
        variant_set,
        settings.variants.size,
        rows=settings.cohort.rows,
        by_frequency=settings.mode == "release",
        n_outcomes=max(terms.count),
        heritability=terms.heritability,
        causal_share=terms.causal_share,
        n_factors=terms.factors,
        width=terms.network,
        prevalence=terms.prevalence,
        seed=settings.seed,
        key=(replicate,),
    )
