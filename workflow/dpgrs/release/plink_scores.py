"""Scores as tables that `plink2 --score` reads as they are, many outcomes in one pass."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.release.pgs_catalog import file_stems, format_weight

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
        chosen = range(first, min(first + n_outcomes, len(stems)))
        with (
            (folder / FOLDER / f"scores_{number}.tsv.gz").open("wb") as raw,
            gzip.GzipFile("", "wb", compresslevel=9, fileobj=raw, mtime=0) as file,
        ):
            file.writelines(_lines(scores, stems, chosen))


def _lines(scores: "Scores", stems: list[str], outcomes: range) -> Iterator[bytes]:
    """Yield the lines of a file, of the variants that any of its outcomes has a weight of."""
    yield _line("ID", "allele", *(stems[index] for index in outcomes))
    places = scores.all_rows["row"].to_numpy()
    if scores.chosen is not None:
        places = places[np.isin(places, scores.chosen[list(outcomes)])]
    held = scores.all_rows.set_index("row").loc[places]
    for place, row in zip(places, held.itertuples(), strict=True):
        first, second = sorted((row.effect_allele, row.other_allele))
        weights = (format_weight(scores.weights[index, place]) for index in outcomes)
        yield _line(f"{row.chr_name}:{row.chr_position}:{first}:{second}", row.effect_allele, *weights)


def _line(*cells: str) -> bytes:
    return ("\t".join(cells) + "\n").encode()
