"""The population of each person, as pages group people."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dpgrs.io.tables.tables import read_populations

UNKNOWN_POPULATION = "unknown"


def populations_of(path: Path | str, sample_ids: Sequence[str]) -> np.ndarray:
    """Return each person's super-population, or population if the table has none: (n_people,) str."""
    table = read_populations(path).reindex(sample_ids).fillna("")
    finest = table["population"].where(table["population"] != "", UNKNOWN_POPULATION)
    return table["super_population"].where(table["super_population"] != "", finest).to_numpy(dtype=str)
