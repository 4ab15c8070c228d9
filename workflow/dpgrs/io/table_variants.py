"""The variant set of a table of real numbers: its columns as dosages on a public grid, within public ranges.

A value v of a column between low and high becomes the dosage 2 (v - low)/(high - low), in `half` coding
x = dosage - 1 in [-1, 1]; what is beyond is clipped. A public centre is the frequency of the column, half its
dosage, so that `frequency` coding, whose rows tight bounds clip, is centred there.
"""

import numpy as np
import pandas as pd

from dpgrs.genotypes.bits import pack
from dpgrs.genotypes.dosages import dosage_steps, hard_calls
from dpgrs.io.haplotype_store import StoreWriter, rows_per_batch
from dpgrs.io.variant_set import TABLE_KIND, thinning_rank

CONTIG = "table"


def write_table_variants(path, table, ranges, *, size, seed):
    """Write columns of a table as a variant set, thinned at random.

    Parameters
    ----------
    path : the variant set's folder; new, or empty.
    table : RealTable
    ranges : triple of (n_columns,) float64, low, high and centre, as from `read_ranges`.
    size : int, columns to take, at most all; those of one size are among those of every larger one.
    seed : int, public, of the thinning.

    Returns
    -------
    dict of n_variants, n_usable and n_clipped (values beyond their ranges), also in the variant set's
    attributes.
    """
    rank = thinning_rank(table.names, seed=seed)
    taken = np.flatnonzero(rank < size)
    low, high, centre = (bound[taken] for bound in ranges)
    sites = column_sites(table.names).iloc[taken]
    n_rows, n_clipped = len(table.row_id), 0
    with StoreWriter.create(path, sample_id=table.row_id, has_dosages=True) as writer:
        step = rows_per_batch(n_rows, has_dosages=True)
        for start in range(0, len(taken), step):
            block = slice(start, min(start + step, len(taken)))
            values = table.values[:, taken[block]].T
            steps, is_beyond = column_steps(values, low=low[block], high=high[block])
            writer.append(sites.iloc[block], pack(hard_calls(steps)), dosages=steps)
            n_clipped += int(is_beyond.sum())
        writer.add_variant_array("variant_rank", rank[taken])
        writer.add_variant_array("variant_frequency", (centre - low) / (high - low))
        counts = {"n_variants": writer.n_variants, "n_usable": len(rank), "n_clipped": n_clipped}
        writer.attributes.update(source=[str(table.path)], options={"kind": TABLE_KIND}, counts=counts)
    return counts


def column_steps(values, *, low, high):
    """Clip values at public ranges and round them to the grid of dosages, each by itself.

    Parameters
    ----------
    values : (n_columns, n_rows) float64
    low, high : (n_columns,) float64, low < high.

    Returns
    -------
    steps : (n_columns, n_rows) uint16, in units of `DOSAGE_STEP`.
    is_beyond : (n_columns, n_rows) bool, what was clipped.
    """
    low, high = low[:, np.newaxis], high[:, np.newaxis]
    clipped = np.clip(values, low, high)
    # By halves, so that no difference of huge numbers leaves float64.
    share = (clipped / 2 - low / 2) / (high / 2 - low / 2)
    return dosage_steps(2 * np.clip(share, 0, 1)), values != clipped


def column_sites(names):
    """Return columns as variants are named: DataFrame of contig, position (from 1), id, ref and alt."""
    places = np.arange(1, len(names) + 1)
    return pd.DataFrame(
        {"contig": CONTIG, "position": places, "id": list(names), "ref": "low", "alt": "high"}
    )
