"""The public table of the loadings of principal components."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.files import read_bytes, require_regular, write_table
from dpgrs.io.tables.tables import number_of

SITE_COLUMNS = ["contig", "position", "ref", "alt"]


@dataclass(frozen=True)
class Loadings:
    """Loadings of principal components on sites."""

    sites: pd.DataFrame  # n_sites rows: contig, position, ref and alt
    frequency: np.ndarray  # (n_sites,) float64, of ALT in the reference
    names: tuple[str, ...]  # of components, `PC1` and so on
    values: np.ndarray  # (n_components, n_sites) float64

    def rows_in(self, variants: pd.DataFrame) -> np.ndarray:
        """Return the (n_sites,) rows of a table of variants at which the sites are; refuse an absent site."""
        keys = pd.MultiIndex.from_frame(variants[SITE_COLUMNS].astype({"position": np.int64}))
        rows = keys.get_indexer(pd.MultiIndex.from_frame(self.sites))
        if (rows < 0).any():
            raise DpgrsError(
                "loadings-of-other-variants",
                "The loadings must be of the study's variants, got others. Make them again.",
            )
        return rows


def component_names(n_components: int) -> tuple[str, ...]:
    """Return the names of the first principal components."""
    return tuple(f"PC{number}" for number in range(1, n_components + 1))


def write_loadings(
    path: Path | str, variants: pd.DataFrame, frequency: np.ndarray, values: Sequence[np.ndarray] | np.ndarray
) -> None:
    """Write (n_components, n_sites) loadings of variants, as text that gives every number back exactly.

    The (n_sites,) frequency is that of ALT in the reference.
    """
    table = variants[SITE_COLUMNS].reset_index(drop=True).assign(frequency=frequency)
    for name, loadings in zip(component_names(len(values)), values, strict=True):
        table[name] = list(map(repr, loadings.tolist()))
    write_table(path, table)


def read_loadings(path: Path | str) -> Loadings:
    """Read what `write_loadings` wrote, exactly."""
    require_regular(path)
    try:
        # As text, which Python turns into the very numbers.
        table = pd.read_csv(BytesIO(read_bytes(path)), sep="\t", dtype=str, keep_default_na=False)
        names = tuple(table.columns[len(SITE_COLUMNS) + 1 :])
        values = np.array([[number_of(cell) for cell in table[name]] for name in names])
        frequency = np.array([number_of(cell) for cell in table["frequency"]])
        sites = table[SITE_COLUMNS].astype({"position": np.int64})
    except (OSError, ValueError, LookupError):
        raise DpgrsError(
            "not-loadings", f"`{path}` must be a table of loadings, got another file. Make it again."
        ) from None
    if np.isnan(frequency).any() or np.isnan(values).any():
        raise DpgrsError(
            "loadings-not-finite", f"`{path}` must hold finite numbers, got others. Make it again."
        )
    if not names or names != component_names(len(names)):
        raise DpgrsError(
            "loadings-columns", f"`{path}` must be a table of loadings, PC1 and so on. Make it again."
        )
    return Loadings(sites, frequency, names, values)
