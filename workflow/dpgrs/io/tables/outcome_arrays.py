"""Outcomes as arrays, as a study keeps columns of its own table: no number stands for a missing one."""

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.files import load_arrays, save_arrays
from dpgrs.io.tables.tables import sample_index

OUTCOME_ARRAYS = ".npz"


def save_outcome_arrays(path, *, sample, names, values):
    """Write outcomes.

    Parameters
    ----------
    path : the file, named `.npz`.
    sample : (n_rows,) str
    names : list of n_outcomes str.
    values : (n_rows, n_outcomes) float64
    """
    save_arrays(path, {"sample": sample, "names": np.array(names, dtype=str), "values": values})


def load_outcome_arrays(path):
    """Return what `save_outcome_arrays` wrote as a data frame, as from `read_outcomes`.

    Raises
    ------
    DpgrsError
        If it is of another kind.
    """
    found = load_arrays(path)
    if set(found) != {"sample", "names", "values"}:
        raise DpgrsError(f"`{path}` must be outcomes that dpgrs wrote, got other arrays. Give a table.")
    index = sample_index(found["sample"].tolist())
    return pd.DataFrame(found["values"], index=index, columns=found["names"].tolist())
