"""Outcomes as arrays, as a study keeps columns of its own table: no number stands for a missing one."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.files import load_arrays, save_arrays
from dpgrs.io.tables.tables import sample_index

OUTCOME_ARRAYS = ".npz"


def save_outcome_arrays(
    path: Path | str, *, sample: np.ndarray, names: Sequence[str], values: np.ndarray
) -> None:
    """Write ids of samples, names of outcomes and (n_rows, n_outcomes) float64 values to an ``.npz``."""
    save_arrays(path, {"sample": sample, "names": np.array(names, dtype=str), "values": values})


def load_outcome_arrays(path: Path | str) -> pd.DataFrame:
    """Return what `save_outcome_arrays` wrote as a data frame, as from `read_outcomes`."""
    arrays = load_arrays(path)
    if set(arrays) != {"sample", "names", "values"}:
        raise DpgrsError(f"`{path}` must be outcomes that dpgrs wrote, got other arrays. Give a table.")
    index = sample_index(arrays["sample"].tolist())
    return pd.DataFrame(arrays["values"], index=index, columns=arrays["names"].tolist())
