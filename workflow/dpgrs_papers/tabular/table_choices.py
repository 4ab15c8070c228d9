"""Choose features of a plain table by DP-SIS or two-stage, with seeded noise. Benchmarks only."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.evaluation.overlap import n_shared
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.reporting.text_table import text_table
from dpgrs.types import Neighbours, Unit
from dpgrs_papers.selection.dp_sis import SisRequest, private_sis, table_sis_scores
from dpgrs_papers.selection.lasso import check_lasso
from dpgrs_papers.selection.peel import private_peel
from dpgrs_papers.selection.sensitivity import votes_sensitivity
from dpgrs_papers.selection.sublasso import Ballot, GroupRule, count_votes, number_of_groups
from dpgrs_papers.selection.top_k import top_k
from dpgrs_papers.tabular.feature_tables import OWN_SCALE, FeatureTable, read_feature_table, read_scales
from dpgrs_papers.types import TableSelector

BALLOTS = {TableSelector.TWO_STAGE: Ballot.LARGEST, TableSelector.SUPPORTS: Ballot.SUPPORT}
# In standard deviations: where entries are clipped that are scaled by the rows' own.
OWN_WIDTH = 2.0
RELATION = {"neighbours": Neighbours.REPLACE_ONE, "unit": Unit.PERSON}


def choose_from_table(
    path: Path | str,
    *,
    target: str | None,
    one_hot: Sequence[str],
    drop: Sequence[str],
    selector: str,
    k: int,
    epsilon: float,
    bounds: str | None,
    replicates: int,
    seed: int,
) -> dict:
    """Choose k features several times, each with noise of its own.

    Neighbouring data sets differ in the values of one row; the number of rows is public. For `SIS`, bounds
    are a table as for `read_scales`, where entries are clipped at `scale` on either side of `centre`, or
    `OWN_SCALE` for means and `OWN_WIDTH` standard deviations of the rows, which are not private; else they
    are None.

    The result is a dict of JSON values: names of the features chosen in each replicate and without noise, and
    how many features both have.
    """
    table = read_feature_table(path, target=target, one_hot=one_hot, drop=drop)
    check_lasso(table.X, table.y, k=k)
    selector = TableSelector(selector)
    is_sis = selector == TableSelector.SIS
    if (bounds is not None) != is_sis:
        raise UsageError(
            "bounds-of-selector",
            f"`--bounds` must be given for {TableSelector.SIS} and for no other, got {bounds or 'none'} for "
            f"{selector}. Add or remove it.",
        )
    if is_sis:
        scores, choose = _sis(table, k, epsilon, bounds)
    else:
        scores, choose = _votes(table, k, epsilon, BALLOTS[selector])
    exact = top_k(scores, k)
    chosen = [
        choose(noise=BenchmarkNoise(seed, "table choices", replicate))[0]
        for replicate in range(1, replicates + 1)
    ]
    names = np.array(table.features)
    return {
        "selector": str(selector),
        "epsilon": epsilon,
        "k": k,
        "replicates": replicates,
        "chosen": [names[choice].tolist() for choice in chosen],
        "without_noise": names[exact].tolist(),
        "shared": n_shared(chosen, [exact] * replicates).tolist(),
        "neighbours": str(RELATION["neighbours"]),
        "bounds": bounds,
        "seed": seed,
        "target": table.target,
        "rows": len(table.y),
        "features": len(names),
        "is_private": False,
    }


def as_text(result: dict) -> str:
    """Return the result of `choose_from_table` as a table with its summary."""
    rows = [
        [str(number), str(shared), ", ".join(chosen)]
        for number, (shared, chosen) in enumerate(
            zip(result["shared"], result["chosen"], strict=True), start=1
        )
    ]
    rows.append(["no noise", str(result["k"]), ", ".join(result["without_noise"])])
    summary = (
        f"{result['k']} of {result['features']} features for `{result['target']}` by {result['rows']} rows. "
        f"Epsilon {result['epsilon']:g}, {result['neighbours']} of a row."
    )
    return "\n".join([text_table(["replicate", "as without noise", "features"], rows), "", summary])


def caveats(result: dict) -> list[str]:
    """Return what a result of `choose_from_table` must not be taken for, a list of str."""
    lines = ["Benchmark: not private. The noise is seeded, and anyone can take it off."]
    if result["bounds"] == OWN_SCALE:
        lines.append("Columns are centred and clipped by the rows' own values, which no epsilon covers.")
    return lines


def _sis(table: FeatureTable, k: int, epsilon: float, bounds: str) -> tuple[np.ndarray, Callable]:
    """Return exact scores, and what chooses by them with a source of noise."""
    values = np.column_stack([table.X, table.y])
    if bounds == OWN_SCALE:
        centres, widths = values.mean(axis=0), OWN_WIDTH * values.std(axis=0)
    else:
        centres, widths = read_scales(bounds, table)
    values = (values - centres) / widths
    scores = table_sis_scores(values[:, :-1], values[np.newaxis, :, -1], column_bounds=1.0, outcome_bound=1.0)
    request = SisRequest(epsilon=epsilon, n_choices=k, **RELATION)
    scores = scores.of_outcome(0)
    return scores.values, partial(private_sis, scores, request=request)


def _votes(table: FeatureTable, k: int, epsilon: float, ballot: Ballot) -> tuple[np.ndarray, Callable]:
    """Return votes, and what chooses by them; the rows are in groups by their places."""
    n_groups = number_of_groups(len(table.y), k, rule=GroupRule.TWO_STAGE)
    vote_options = {"k": k, "n_groups": n_groups, "seed": 0, "rows_per_unit": 1, "ballot": ballot}
    votes = count_votes(table.X, table.y, None, **vote_options)
    sensitivity = votes_sensitivity(**RELATION, is_by_place=True)
    return votes, partial(private_peel, votes, k=k, sensitivity=sensitivity, epsilon=epsilon, name="votes")
