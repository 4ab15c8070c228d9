"""Rows for training and rows for testing, never split within a person."""

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.public_random import generator
from dpgrs.types import Rows


def split_rows(n_people, *, rows, test_share, seed, key=()):
    """Choose the training rows: all rows of a person fall on the same side.

    Parameters
    ----------
    n_people : int, at least 2.
    rows : Rows, two rows a person for haplotypes, one for people.
    test_share : float in (0, 1), share of people to test on; at least one person is left on either side.
    seed : int, public.
    key : tuple, tells trials apart.

    Returns
    -------
    (n_rows,) bool, True where a row is for training.

    Raises
    ------
    UsageError
        With fewer than two people.
    """
    if n_people < 2:
        raise UsageError(f"The cohort must have at least 2 people to train and test on, got {n_people}.")
    n_test = min(max(round(test_share * n_people), 1), n_people - 1)
    is_training = np.ones(n_people, dtype=bool)
    is_training[generator(seed, "split", *key).permutation(n_people)[:n_test]] = False
    return per_row(is_training, rows=rows)


def per_row(per_person, *, rows):
    """Repeat values of people, along the last axis, for each of their rows.

    Parameters
    ----------
    per_person : (..., n_people)
    rows : Rows

    Returns
    -------
    (..., n_rows): haplotype rows 2 i and 2 i + 1 belong to person i.
    """
    return np.repeat(per_person, 2 if rows == Rows.HAPLOTYPES else 1, axis=-1)
