"""Outcomes of a replicate and its split: on disk a Zarr group, written and read in parts of the rows.

What is small lies beside the values in `TERMS`, since Zarr takes milliseconds for each array.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dpgrs.io.files import load_arrays, replacing, save_arrays
from dpgrs.io.sealed_zarr import Kind, checked, open_sealed, read_sealed, seal
from dpgrs.types import Rows

KIND = Kind("dpgrs outcomes", 1, "store of outcomes", "dpgrs make-outcomes")

CHUNK = (256, 2**13)  # outcomes and rows of a chunk of values: 16 MiB at most
_PACKING = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}
_SHARED = "values"  # of every number of variants, where these do not differ
TERMS = "terms.npz"


def simulated_names(count):
    """Return the names of simulated outcomes, a list."""
    return [f"simulated_{number:04d}" for number in range(1, count + 1)]


class StoredValues:
    """Outcomes of one size on disk; what is taken by outcomes and rows, as of an array, is an array.

    Attributes
    ----------
    shape : (n_outcomes, n_rows)
    """

    def __init__(self, path, array):
        self._path, self._array = path, array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, selection):
        outcomes, rows = selection if isinstance(selection, tuple) else (selection, slice(None))
        return read_sealed(self._array, (outcomes, rows), KIND.damaged(self._path))

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self[:, :], dtype=dtype)


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of one replicate and the split of its rows.

    Attributes
    ----------
    names : tuple of n_outcomes str.
    values : dict of number of variants to (n_outcomes, n_rows) float64, NaN where missing; `StoredValues` of
        a file.
    effects : dict of number of variants to (n_outcomes, number of variants) float64, the simulated truth;
        empty where real.
    is_training : (n_rows,) bool. All rows of a person are on the same side.
    rows : Rows, what a row is.
    prevalence : (n_outcomes,) float64, public, of 0/1 outcomes; NaN of all others.
    components : tuple of n_components str, drawn in place of the outcomes; None where these are drawn.
    loadings : (n_outcomes, n_components) float64, public, on these; None likewise.
    population_prevalence : (n_outcomes,) float64, public, of the population whose cases and controls these
        are; NaN where none is stated.
    """

    names: tuple
    values: dict
    effects: dict
    is_training: np.ndarray
    rows: Rows
    prevalence: np.ndarray | None = None
    components: tuple | None = None
    loadings: np.ndarray | None = None
    population_prevalence: np.ndarray | None = None

    def __post_init__(self):
        if self.prevalence is None:
            object.__setattr__(self, "prevalence", np.full(len(self.names), np.nan))
        if self.population_prevalence is None:
            object.__setattr__(self, "population_prevalence", self.prevalence)

    @property
    def drawn_names(self):
        """The names of what is drawn of them."""
        return self.names if self.components is None else self.components

    def drawn_counts(self, counts):
        """Return how many are drawn together, a list, for `outcomes.count` of the settings."""
        if self.components is not None:
            return [len(self.components)]
        return counts or [len(self.names)]

    def of_rows(self, rows):
        """Return the outcomes of a slice of the rows, in memory."""
        whole = {id(values): values for values in self.values.values()}
        found = {place: values[:, rows] for place, values in whole.items()}
        values = {size: found[id(values)] for size, values in self.values.items()}
        return replace(self, values=values, is_training=self.is_training[rows])

    def save(self, path, parts=None):
        """Write outcomes.

        Parameters
        ----------
        path : the folder; new, or empty.
        parts : iterable of dicts like `values`, the rows of one after those of another. None writes `values`,
            of which otherwise the numbers of variants alone are taken. What is one array under all sizes is
            written once.
        """
        import zarr

        parts = [self.values] if parts is None else parts
        with replacing(path) as temporary:
            group = zarr.create_group(temporary, zarr_format=2)
            start = 0
            for part in parts:
                by_name = {_place(size, part): values for size, values in part.items()}
                n_rows = next(iter(by_name.values())).shape[1] if by_name else 0
                for name, values in by_name.items():
                    if name not in group:
                        _create(group, name, (len(values), len(self.is_training)))
                    group[name][:, start : start + n_rows] = np.asarray(values)
                start += n_rows
            seal(temporary, group, KIND, {"rows": str(self.rows), "sizes": list(self.values)})
            save_arrays(temporary / TERMS, self._terms())  # last, as Zarr warns of what it does not know

    def _terms(self):
        named = {"names": np.array(self.names, dtype=str), "is_training": self.is_training}
        named |= {"prevalence": self.prevalence, "population_prevalence": self.population_prevalence}
        if self.components is not None:
            named |= {"components": np.array(self.components, dtype=str), "loadings": self.loadings}
        return named | {f"effects/{size}": effects for size, effects in self.effects.items()}

    @classmethod
    def load(cls, path):
        """Open what `save` wrote: values stay on disk until they are taken.

        Raises
        ------
        DpgrsError
            No such store at `path`, or a damaged one.
        """
        path = Path(path)
        group, own = open_sealed(path, KIND)
        terms, sizes, stored = load_arrays(path / TERMS), own["sizes"], {}
        if _SHARED in group:
            stored = dict.fromkeys(sizes, StoredValues(path, group[_SHARED]))
        return cls(
            tuple(terms["names"].tolist()),
            stored or {size: StoredValues(path, group[f"{_SHARED}_{size}"]) for size in sizes},
            {size: terms[name] for size in sizes if (name := f"effects/{size}") in terms},
            terms["is_training"],
            Rows(own["rows"]),
            terms["prevalence"],
            tuple(terms["components"].tolist()) if "components" in terms else None,
            terms.get("loadings"),
            terms["population_prevalence"],
        )


def _place(size, part):
    """Return the name of the array of a number of variants's values."""
    values = list(part.values())
    return _SHARED if all(one is values[0] for one in values) else f"{_SHARED}_{size}"


def _create(group, name, shape):
    chunks = (max(min(length, most), 1) for length, most in zip(shape, CHUNK, strict=True))
    group.create_array(
        name,
        shape=shape,
        chunks=tuple(chunks),
        dtype="float64",
        **checked(_PACKING),
        attributes={"_ARRAY_DIMENSIONS": ["outcomes", "rows"]},
    )
