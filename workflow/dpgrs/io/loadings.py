"""The public table of the loadings of principal components."""

from dataclasses import dataclass
from io import BytesIO

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.files import read_bytes, require_regular, write_table
from dpgrs.io.tables.tables import number_of

SITE_COLUMNS = ["contig", "position", "ref", "alt"]


@dataclass(frozen=True)
class Loadings:
    """Loadings of principal components on sites.

    Attributes
    ----------
    sites : DataFrame of n_sites rows with contig, position, ref and alt.
    frequency : (n_sites,) float64, of ALT in the reference.
    names : tuple of n_components str, ``PC1`` and so on.
    values : (n_components, n_sites) float64
    """

    sites: pd.DataFrame
    frequency: np.ndarray
    names: tuple
    values: np.ndarray

    def places(self, variants):
        """Return the (n_sites,) rows of a table of variants at which the sites are.

        Raises
        ------
        DpgrsError
            If one is not there.
        """
        keys = pd.MultiIndex.from_frame(variants[SITE_COLUMNS].astype({"position": np.int64}))
        found = keys.get_indexer(pd.MultiIndex.from_frame(self.sites))
        if (found < 0).any():
            raise DpgrsError("The loadings must be of the study's variants, got others. Make them again.")
        return found


def component_names(n_components):
    """Return the names of the first principal components."""
    return tuple(f"PC{number}" for number in range(1, n_components + 1))


def write_loadings(path, variants, frequency, values):
    """Write loadings, as text that gives every number back exactly.

    Parameters
    ----------
    path : the table.
    variants : DataFrame of n_sites rows with contig, position, ref and alt.
    frequency : (n_sites,) of ALT in the reference.
    values : (n_components, n_sites) float64
    """
    table = variants[SITE_COLUMNS].reset_index(drop=True).assign(frequency=frequency)
    for name, loadings in zip(component_names(len(values)), values, strict=True):
        table[name] = list(map(repr, loadings.tolist()))
    write_table(path, table)


def read_loadings(path):
    """Read what `write_loadings` wrote, exactly.

    Raises
    ------
    DpgrsError
        If it is no such table.
    """
    require_regular(path)
    try:
        # As text, which Python turns into the very numbers.
        table = pd.read_csv(BytesIO(read_bytes(path)), sep="\t", dtype=str, keep_default_na=False)
        names = tuple(table.columns[len(SITE_COLUMNS) + 1 :])
        values = np.array([[number_of(cell) for cell in table[name]] for name in names])
        frequency = np.array([number_of(cell) for cell in table["frequency"]])
        sites = table[SITE_COLUMNS].astype({"position": np.int64})
    except (OSError, ValueError, LookupError):
        raise DpgrsError(f"`{path}` must be a table of loadings, got another file. Make it again.") from None
    if np.isnan(frequency).any() or np.isnan(values).any():
        raise DpgrsError(f"`{path}` must hold finite numbers, got others. Make it again.")
    if not names or names != component_names(len(names)):
        raise DpgrsError(f"`{path}` must be a table of loadings, PC1 and so on. Make it again.")
    return Loadings(sites, frequency, names, values)
