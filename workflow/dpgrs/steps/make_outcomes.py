"""Outcomes of a trial and its split into training and test rows."""

from pathlib import Path

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.evaluation.split import per_row, row_names, split_rows
from dpgrs.io.files import file_digest
from dpgrs.io.panel import Panel
from dpgrs.io.tables.outcome_loadings import read_outcome_loadings
from dpgrs.io.tables.phenotypes import (
    constants_of,
    describe_scale,
    match_outcomes,
    read_outcomes,
    read_scales,
    standardise,
)
from dpgrs.io.trials import Outcomes, simulated_names
from dpgrs.linalg.statistics import coded_rows, column_moments
from dpgrs.simulation.outcomes import simulate_outcomes
from dpgrs.study.counted_people import TELL_NOBODY, count_people

READS = (
    "mode",
    "seed",
    "cohort.rows",
    "panel.size",
    "outcomes.count",
    "outcomes.heritability",
    "outcomes.causal_share",
    "outcomes.factors",
    "outcomes.network",
    "outcomes.prevalence",
    "outcomes.test_share",
    "outcomes.least_share",
    "public.outcomes.sha256",
)


def make_outcomes(
    settings,
    panel: Path,
    *,
    trial: int,
    table: Path | None = None,
    scales: Path | None = None,
    loadings: Path | None = None,
    people_counts: Path | None = None,
    output: Path,
):
    """Simulate outcomes, or read them from a table, and split people into training and test rows.

    In a release every row depends on itself alone: simulated outcomes are scaled by the panel's frequencies,
    which are public, a side of the split may be empty, and a table of raw values is refused.

    Parameters
    ----------
    settings : Settings
    panel : the panel.
    trial : number of the trial, from 1: it tells the trials' draws apart.
    table : table of real outcomes; they are simulated if it is left out.
    scales : public constants that standardise the table's outcomes, which are taken as they are otherwise.
    loadings : public loadings of the outcomes on components, which are drawn in their place.
    people_counts : how many have each outcome, for the operator.
    output : outcomes and split.

    Raises
    ------
    DpgrsError
        If the table and the genotypes share too few people, or a public table is another one, or of other
        people; in a release, outcomes of the table that plainly are not standardised. All of these depend on
        private data.
    """
    panel, rows, sizes = Panel.open(panel), settings.cohort.rows, settings.panel.size
    terms, seed, is_release = settings.outcomes, settings.seed, settings.mode == "release"
    count = max(terms.count) if terms.count else None
    is_training = split_rows(
        panel.sample_id,
        rows=rows,
        test_share=terms.test_share,
        seed=seed,
        key=(trial,),
        keeps_both_sides=not is_release,
    )
    prevalence = None
    if table is None and count is None:
        raise UsageError("`outcomes.count` must be given for simulated outcomes, got null. Give it.")
    if table is None:
        options = {
            "n_outcomes": count,
            "heritability": terms.heritability,
            "causal_share": terms.causal_share,
            "n_factors": terms.factors,
            "width": terms.network,
            "prevalence": terms.prevalence,
            "is_release": is_release,
            "seed": seed,
        }
        simulated = {size: _simulate(panel, size, rows=rows, key=(trial,), **options) for size in sizes}
        values = {size: both[0] for size, both in simulated.items()}
        effects = {size: both[1] for size, both in simulated.items()}
        names = simulated_names(count)
        prevalence = None if terms.prevalence is None else np.full(count, terms.prevalence)
    else:
        _require_published(table, settings.public.outcomes.sha256)
        outcomes = read_outcomes(table, columns=slice(count))
        if settings.public.outcomes.sha256 is not None:
            _require_same_people(outcomes.index, panel.sample_id, table)
        count_people(
            outcomes,
            panel.sample_id,
            path=table,
            kind="outcome",
            least_share=terms.least_share,
            output=people_counts,
            is_release=is_release,
        )
        if scales is not None:
            constants = constants_of(outcomes.columns, read_scales(scales), path=scales)
            outcomes = _standardised(outcomes, constants, is_release=is_release)
            prevalence = constants["centre"].where(constants["is_binary"]).to_numpy()
        per_person, names = match_outcomes(outcomes, panel.sample_id)
        if is_release:
            _require_standardised(outcomes.loc[outcomes.index.isin(panel.sample_id)], table)
        values = dict.fromkeys(sizes, per_row(per_person, rows=rows))
        effects = {}
    prevalence = None if prevalence is None else prevalence[:count]
    names = tuple(names[:count])
    found = None if loadings is None else read_outcome_loadings(loadings)
    drawn = (None, None) if found is None else (found.components, found.of(names))
    Outcomes(names, values, effects, is_training, rows, prevalence, *drawn).save(output)


def _require_published(path, digest):
    """Refuse other outcomes than those that are taken as public; a digest of None takes none as public."""
    if digest is not None and file_digest(path) != digest:
        raise DpgrsError(
            f"`outcomes.file`, `{path}`, must be the file of `public.outcomes.sha256`, got another. "
            "Restore the published one."
        )


def _require_same_people(ids, sample_id, path):
    """Refuse public outcomes of other people than the panel's, whose rows would tell who is in the study."""
    if {*ids} != {*sample_id}:
        raise DpgrsError(
            f"`outcomes.file`, `{path}`, must be of the people of the panel and no others under feature "
            "protection, got others. Take the genotypes of the same people."
        )


def _standardised(outcomes, constants, *, is_release):
    try:
        return standardise(outcomes, constants)
    except DpgrsError as error:
        raise DpgrsError(f"{error} {TELL_NOBODY}" if is_release else str(error)) from None


def _require_standardised(outcomes, path):
    """Refuse raw units before they are clipped to nothing at the price of a release; tell nothing of them."""
    if describe_scale(outcomes)["is_raw"].any():
        raise DpgrsError(
            "`outcomes.file` and `evaluation.outcomes` must hold outcomes of mean 0 and standard deviation "
            f"1, got others in `{path}`. Give the public constants that standardise them, `outcomes.scales`. "
            f"{TELL_NOBODY}"
        )


def _simulate(panel, size, *, rows, is_release, **options):
    columns = panel.of_size(size)
    X = coded_rows(panel.genotypes(columns), n_haplotypes=panel.n_haplotypes, rows=rows)
    return simulate_outcomes(
        X,
        row_id=row_names(panel.sample_id, rows=rows),
        variant_rank=panel.variant_rank[columns],
        public_moments=column_moments(panel.frequency[columns], rows=rows) if is_release else None,
        **options,
    )
