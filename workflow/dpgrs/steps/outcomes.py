"""Outcomes of a trial and its split into training and test rows."""

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.evaluation.split import per_row, row_names, split_rows
from dpgrs.io.panel import Panel
from dpgrs.io.phenotypes import (
    constants_of,
    describe_scale,
    match_outcomes,
    read_outcomes,
    read_scales,
    standardise,
)
from dpgrs.io.trials import Outcomes
from dpgrs.regression.statistics import coded_rows, column_moments
from dpgrs.simulation.outcomes import simulate_outcomes
from dpgrs.steps.people import TELL_NOBODY, count_people


def make_outcomes(
    panel,
    *,
    output,
    trial,
    rows,
    sizes,
    count,
    heritability,
    causal_share,
    test_share,
    seed,
    table,
    scales=None,
    is_release=False,
    least_share=0.5,
    people_counts=None,
):
    """Simulate outcomes, or read them from a table, and split the rows.

    Parameters
    ----------
    panel : path of the panel.
    output : path of the outcomes file.
    trial : int, tells the trials' draws apart.
    rows : Rows
    sizes : list of int, panel sizes; simulated outcomes depend on the variants of each.
    count : int or None, number of outcomes; None takes all of the table.
    heritability, causal_share : float, of simulated outcomes.
    test_share : float, share of people to test on.
    seed : int
    table : path or None; None simulates.
    scales : path of the public constants that standardise the table's outcomes; None takes them as they are.
    is_release : bool, whether every row must depend on itself alone: simulated outcomes are then scaled by
        the panel's frequencies, which are public, a side of the split may be empty, and a table of raw
        values is refused.
    least_share : float, of the people with genotypes that must be in the table, and of the people in it
        that must have genotypes.
    people_counts : path of a table of how many have each outcome, for the operator; None writes none.

    Raises
    ------
    DpgrsError
        If the table and the genotypes share too few people; in a release, outcomes of the table that plainly
        are not standardised. Both depend on private data.
    """
    panel = Panel.open(panel)
    is_training = split_rows(
        panel.sample_id,
        rows=rows,
        test_share=test_share,
        seed=seed,
        key=(trial,),
        keeps_both_sides=not is_release,
    )
    if table is None and count is None:
        raise UsageError("`--count` must be given for simulated outcomes. Give it, or a table.")
    if table is None:
        options = {
            "n_outcomes": count,
            "heritability": heritability,
            "causal_share": causal_share,
            "is_release": is_release,
            "seed": seed,
        }
        simulated = {size: _simulate(panel, size, rows=rows, key=(trial,), **options) for size in sizes}
        values = {size: both[0] for size, both in simulated.items()}
        effects = {size: both[1] for size, both in simulated.items()}
        names = [f"simulated_{i + 1:04d}" for i in range(count)]
    else:
        outcomes = read_outcomes(table, columns=slice(count))
        count_people(
            outcomes,
            panel.sample_id,
            path=table,
            kind="outcome",
            least_share=least_share,
            output=people_counts,
            is_release=is_release,
        )
        if scales is not None:
            outcomes = _standardised(outcomes, scales, is_release=is_release)
        per_person, names = match_outcomes(outcomes, panel.sample_id)
        if is_release:
            _require_standardised(outcomes.loc[outcomes.index.isin(panel.sample_id)], table)
        values = dict.fromkeys(sizes, per_row(per_person, rows=rows))
        effects = {}
    Outcomes(tuple(names[:count]), values, effects, is_training, rows).save(output)


def _standardised(outcomes, scales, *, is_release):
    constants = constants_of(outcomes.columns, read_scales(scales), path=scales)
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
