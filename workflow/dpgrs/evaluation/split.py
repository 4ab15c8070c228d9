"""Rows for training and rows for testing, never split within a person."""

from collections.abc import Sequence

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.public_random import uniforms
from dpgrs.types import Rows


def split_rows(
    sample_id: Sequence[str] | np.ndarray,
    *,
    rows: Rows,
    test_share: float,
    seed: int,
    key: tuple[str | int, ...] = (),
    keeps_both_sides: bool = True,
) -> np.ndarray:
    """Return which rows are for training, (n_rows,) bool: all rows of a person fall on the same side.

    Sample ids are all different. The side of a person follows from the sample id and the public seed only, so
    that nobody else's joining or leaving moves it, as the guarantee needs. The share for testing, in [0, 1),
    is therefore met about, not exactly; 0 trains on everyone. `key` tells replicates apart.

    `keeps_both_sides` leaves at least one person on either side, and needs two people. Sides then depend on
    the others where they would be empty, so a release does without.
    """
    draws = uniforms(seed, sample_id, "split", *key)
    is_training = draws >= test_share
    if keeps_both_sides and test_share > 0:
        if len(draws) < 2:
            raise UsageError(
                "too-few-people",
                "The cohort must have at least 2 people to split, got fewer. Add people to test on.",
            )
        is_training[draws.argmin()], is_training[draws.argmax()] = False, True
    return per_row(is_training, rows=rows)


def per_row(per_person: np.ndarray, *, rows: Rows) -> np.ndarray:
    """Repeat values of people, (..., n_people), along the last axis, for each of their rows: (..., n_rows).

    Haplotype rows 2 i and 2 i + 1 belong to person i.
    """
    return np.repeat(per_person, 2 if rows == Rows.HAPLOTYPES else 1, axis=-1)


def row_names(sample_id: Sequence[str] | np.ndarray, *, rows: Rows) -> list[str]:
    """Return a name for every row: its person and, for haplotypes, its copy."""
    copies = ("0", "1") if rows == Rows.HAPLOTYPES else ("0",)
    return [f"{sample}/{copy}" for sample in sample_id for copy in copies]
