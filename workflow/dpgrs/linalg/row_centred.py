"""Exact statistics of rows less their own mean, as in the PRIMO paper (docs/proofs/clipped_gram.md).

Centring a row looks at no other row, so it costs no privacy, and makes no row longer than in `half` coding.
"""

from typing import TYPE_CHECKING

import numpy as np

from dpgrs.linalg.clipped_statistics import (
    clipped_cross_product,
    clipped_gram,
    half_coded,
    row_blocks,
)

if TYPE_CHECKING:
    from dpgrs.types import Rows


def row_centred_statistics(
    genotypes: np.ndarray,  # (n_variants, n_words) uint64
    Y: np.ndarray,  # (n_outcomes, n_rows) int64 in units of `OUTCOME_STEP`, of all rows
    *,
    n_haplotypes: int,
    rows: "Rows",
    is_selected: np.ndarray,  # (n_rows,) bool
) -> tuple[np.ndarray, np.ndarray]:
    """Sum X'X and X'Y of centred rows over the selected rows, a block of people at a time.

    `n_haplotypes` and `rows`: as in `clipped_statistics`. The result is `gram`, `cross`, as
    `clipped_statistics` gives, but that the intercept is 0 in all other columns: such rows have none.
    """
    size = len(genotypes) + 1
    G, V = np.zeros((size, size), dtype=np.int64), np.zeros((len(Y), size), dtype=np.int64)
    row_options = {"n_haplotypes": n_haplotypes, "rows": rows, "covariates": None}
    for block_genotypes, block, options in row_blocks(genotypes, is_selected, **row_options):
        block_selection = options["is_selected"]
        half = half_coded(
            block_genotypes, n_haplotypes=options["n_haplotypes"], rows=rows, is_selected=block_selection
        )
        X = centred_rows(half)
        G += clipped_gram(X)
        V += clipped_cross_product(X, Y[:, block][:, block_selection])
    G[-1, :-1] = G[:-1, -1] = 0
    return G, V


def centred_rows(
    half: np.ndarray,  # (n_variants, n_rows) int16, whole numbers
) -> np.ndarray:
    """Centre rows, and round them towards 0 onto the grid.

    The result is (n_rows, n_variants) int16.
    """
    T = half.T.astype(np.int64)
    scaled = T * T.shape[1] - T.sum(axis=1, keepdims=True)
    return (np.sign(scaled) * (np.abs(scaled) // T.shape[1])).astype(np.int16)
