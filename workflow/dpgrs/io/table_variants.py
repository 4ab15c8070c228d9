"""The variant set of a table of real numbers: its columns as dosages on a public grid, within public ranges.

A value v of a column between low and high becomes the dosage 2 (v - low)/(high - low), in `half` coding
x = dosage - 1 in [-1, 1]; values beyond are clipped. A public centre is the frequency of the column, half its
dosage, so that `frequency` coding, whose rows tight bounds clip, is centred there.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.genotypes.bits import pack
from dpgrs.genotypes.dosages import dosage_steps, hard_calls
from dpgrs.io.haplotype_store import rows_per_batch
from dpgrs.io.store_writer import StoreWriter
from dpgrs.io.tables.real_tables import RealTable
from dpgrs.io.variant_set import TABLE_KIND
from dpgrs.io.variant_set_writer import thinning_rank

CONTIG = "table"


def write_table_variants(
    path: Path | str, table: RealTable, ranges: Sequence[np.ndarray], *, size: int, seed: int
) -> dict[str, int]:
    """Write columns of a table as a variant set, thinned at random by a public seed.

    The folder must be new or empty. `ranges` are low, high and centre, (n_columns,) float64, as from
    `read_ranges`. At most all columns are taken; those of one size are among those of every larger one.

    The result has n_variants, n_usable and n_clipped (values beyond their ranges), which are also in the
    variant set's attributes.
    """
    rank = thinning_rank(table.names, seed=seed)
    chosen = np.flatnonzero(rank < size)
    low, high, centre = (bound[chosen] for bound in ranges)
    sites = column_sites(table.names).iloc[chosen]
    n_rows, n_clipped = len(table.row_id), 0
    with StoreWriter.create(path, sample_id=table.row_id, has_dosages=True) as writer:
        step = rows_per_batch(n_rows, has_dosages=True)
        for start in range(0, len(chosen), step):
            block = slice(start, min(start + step, len(chosen)))
            values = table.values[:, chosen[block]].T
            steps, is_beyond = column_steps(values, low=low[block], high=high[block])
            writer.append(sites.iloc[block], pack(hard_calls(steps)), dosages=steps)
            n_clipped += int(is_beyond.sum())
        writer.add_variant_array("variant_rank", rank[chosen])
        writer.add_variant_array("variant_frequency", (centre - low) / (high - low))
        counts = {"n_variants": writer.n_variants, "n_usable": len(rank), "n_clipped": n_clipped}
        writer.attributes.update(source=[str(table.path)], options={"kind": TABLE_KIND}, counts=counts)
    return counts


def column_steps(values: np.ndarray, *, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Clip (n_columns, n_rows) values at public ranges and round them to the grid of dosages, each by itself.

    `low` and `high` are (n_columns,). Return (n_columns, n_rows) steps, uint16 in units of `DOSAGE_STEP`, and
    which values were clipped.
    """
    low, high = low[:, np.newaxis], high[:, np.newaxis]
    clipped = np.clip(values, low, high)
    # By halves, so that no difference of huge numbers leaves float64.
    share = (clipped / 2 - low / 2) / (high / 2 - low / 2)
    return dosage_steps(2 * np.clip(share, 0, 1)), values != clipped


def column_sites(names: Sequence[str]) -> pd.DataFrame:
    """Return columns as variants are named: contig, position (from 1), id, ref and alt."""
    positions = np.arange(1, len(names) + 1)
    return pd.DataFrame(
        {"contig": CONTIG, "position": positions, "id": list(names), "ref": "low", "alt": "high"}
    )
