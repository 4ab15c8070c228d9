"""Scores as tables that `plink2 --score` reads as they are, many outcomes in one pass."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.release.plain_tables import write_table
from dpgrs.statement.files import file_stems

if TYPE_CHECKING:
    from dpgrs.release.pgs_catalog import Scores

# Of weights in a file, zeros of variants that were not chosen included: some 80 MB of text.
MOST_WEIGHTS = 2**22
FOLDER = "plink2"


def write_plink_scores(folder: Path, scores: "Scores", *, most_weights: int = MOST_WEIGHTS) -> None:
    """Write the weights of all outcomes, as many outcomes in a file as fit, at least one.

    Columns are `ID`, chromosome, position and both alleles in alphabetical order, as plink2 names variants by
    ``--set-all-var-ids '@:#:$1:$2'`` whichever allele a target calls REF; `allele`, the effect allele; and
    the weights of each outcome, named as its scoring file is. A variant that was not chosen has weight 0.
    """
    (folder / FOLDER).mkdir()
    stems, n_variants = file_stems(scores.outcomes), len(scores.sites)
    n_outcomes = max(1, most_weights // n_variants)
    for number, first in enumerate(range(0, len(stems), n_outcomes), start=1):
        outcomes = range(first, min(first + n_outcomes, len(stems)))
        write_table(
            folder / FOLDER / f"scores_{number}.tsv.gz",
            ["ID", "allele", *stems[outcomes.start : outcomes.stop]],
            _columns(scores, outcomes),
        )


def _columns(scores: "Scores", outcomes: range) -> list[np.ndarray]:
    """Return the columns of a file, of the variants that any of its outcomes has a weight of."""
    sites = scores.all_rows
    if scores.chosen is not None:
        sites = sites[sites["row"].isin(scores.chosen[list(outcomes)].ravel())]
    effect, other, row = (sites[name].to_numpy() for name in ("effect_allele", "other_allele", "row"))
    site_columns = [
        sites["chr_name"],
        sites["chr_position"].astype(str),
        np.minimum(effect, other),
        np.maximum(effect, other),
    ]
    ids = np.array([":".join(cells) for cells in zip(*site_columns, strict=True)], dtype=object)
    return [ids, effect, *(scores.weights[index, row] for index in outcomes)]
