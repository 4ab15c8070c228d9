"""Rows for training and rows for testing, never split within a person."""

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.public_random import uniforms
from dpgrs.types import Rows


def split_rows(sample_id, *, rows, test_share, seed, key=(), keeps_both_sides=True):
    """Choose the training rows: all rows of a person fall on the same side.

    The side of a person follows from the sample id and the seed alone, so that nobody else's joining or
    leaving moves it, as the guarantee needs. The share is therefore met about, not exactly.

    Parameters
    ----------
    sample_id : (n_people,) str, all different.
    rows : Rows, two rows a person for haplotypes, one for people.
    test_share : float in [0, 1), probability that a person is for testing. 0 trains on everyone.
    seed : int, public.
    key : tuple, tells replicates apart.
    keeps_both_sides : bool, whether one person at least is left on either side. Sides then depend on the
        others where they would be empty, so a release does without.

    Returns
    -------
    (n_rows,) bool, True where a row is for training.

    Raises
    ------
    UsageError
        With fewer than two people to split.
    """
    place = uniforms(seed, sample_id, "split", *key)
    is_training = place >= test_share
    if keeps_both_sides and test_share > 0:
        if len(place) < 2:
            raise UsageError("The cohort must have at least 2 people to split, got fewer.")
        is_training[place.argmin()], is_training[place.argmax()] = False, True
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


def row_names(sample_id, *, rows):
    """Name every row by its person and, for haplotypes, its copy.

    Parameters
    ----------
    sample_id : (n_people,) str
    rows : Rows

    Returns
    -------
    list of n_rows str
    """
    copies = ("0", "1") if rows == Rows.HAPLOTYPES else ("0",)
    return [f"{sample}/{copy}" for sample in sample_id for copy in copies]
