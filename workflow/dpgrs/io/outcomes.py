"""Outcomes of a replicate and its split: on disk a Zarr group, written and read in parts of the rows.

Small arrays lie beside the values in `TERMS`, since Zarr takes milliseconds for each array.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from dpgrs.io.files import load_arrays, replacing, save_arrays
from dpgrs.io.sealed_zarr import Kind, checked, open_sealed, read_sealed, seal
from dpgrs.types import Rows

KIND = Kind("dpgrs outcomes", 1, "store of outcomes", "dpgrs make-outcomes")

CHUNK = (256, 2**13)  # outcomes and rows of a chunk of values: 16 MiB at most
_PACKING = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}
_SHARED = "values"  # of every number of variants, where these do not differ
TERMS = "terms.npz"


def simulated_names(count: int) -> list[str]:
    """Return the names of simulated outcomes."""
    return [f"simulated_{number:04d}" for number in range(1, count + 1)]


class StoredValues:
    """Outcomes on disk, (n_outcomes, n_rows); a selection of them is an array."""

    def __init__(self, path: Path, array: Any) -> None:
        self._path, self._array = path, array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, selection: Any) -> np.ndarray:
        outcomes, rows = selection if isinstance(selection, tuple) else (selection, slice(None))
        return read_sealed(self._array, (outcomes, rows), KIND.damaged(self._path))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self[:, :], dtype=dtype)


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of one replicate and the split of its rows."""

    names: tuple[str, ...]
    # By number of variants, (n_outcomes, n_rows) float64, NaN if missing; `StoredValues` of a file
    values: Mapping[int, Any]
    # By number of variants, (n_outcomes, number of variants) float64, the simulated truth; empty if outcomes
    # are real
    effects: Mapping[int, np.ndarray]
    is_training: np.ndarray  # (n_rows,) bool; all rows of a person are on the same side
    rows: Rows
    prevalence: np.ndarray | None = None  # (n_outcomes,) float64, public, of 0/1 outcomes; NaN of all others
    # Noise is added to these instead of the outcomes, if there are any
    components: tuple[str, ...] | None = None
    loadings: np.ndarray | None = None  # (n_outcomes, n_components) float64, public, on the components
    # (n_outcomes,) float64, public, of the population whose cases and controls these are; NaN if none is
    # stated
    population_prevalence: np.ndarray | None = None
    # (n_outcomes, n_covariates + 1) float64, a row's constant and the effects of covariates whose part was
    # taken from the values; None of outcomes as they are
    covariate_effects: np.ndarray | None = None
    # Digests of what was released of the regression that gave these effects; empty of exact effects
    adjusted_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.prevalence is None:
            object.__setattr__(self, "prevalence", np.full(len(self.names), np.nan))
        if self.population_prevalence is None:
            object.__setattr__(self, "population_prevalence", self.prevalence)

    @property
    def drawn_names(self) -> tuple[str, ...]:
        """The names of the outcomes or components to which noise is added."""
        return self.names if self.components is None else self.components

    def drawn_counts(self, counts: list[int] | None) -> list[int]:
        """Return how many get noise together, for `outcomes.count` of the settings."""
        if self.components is not None:
            return [len(self.components)]
        return counts or [len(self.names)]

    def of_rows(self, rows: slice) -> Self:
        """Return the outcomes of a slice of the rows, in memory."""
        distinct = {id(values): values for values in self.values.values()}
        selected = {key: values[:, rows] for key, values in distinct.items()}
        values = {size: selected[id(values)] for size, values in self.values.items()}
        return replace(self, values=values, is_training=self.is_training[rows])

    def save(self, path: Path | str, row_blocks: Iterable[Mapping[int, Any]] | None = None) -> None:
        """Write outcomes to a folder, new or empty.

        `row_blocks` are like `values`, the rows of one after those of another; None writes `values`. With
        blocks, only the numbers of variants of `values` are used. An array that is the same under all numbers
        is written once.
        """
        import zarr

        blocks = [self.values] if row_blocks is None else row_blocks
        with replacing(path) as temporary:
            group = zarr.create_group(temporary, zarr_format=2)
            start = 0
            for block in blocks:
                by_name = {_array_name(size, block): values for size, values in block.items()}
                n_rows = next(iter(by_name.values())).shape[1] if by_name else 0
                for name, values in by_name.items():
                    if name not in group:
                        _create(group, name, (len(values), len(self.is_training)))
                    group[name][:, start : start + n_rows] = np.asarray(values)
                start += n_rows
            seal(temporary, group, KIND, {"rows": str(self.rows), "sizes": list(self.values)})
            save_arrays(temporary / TERMS, self._small_arrays())  # last, as Zarr warns of unknown files

    def _small_arrays(self) -> dict[str, np.ndarray]:
        arrays = {"names": np.array(self.names, dtype=str), "is_training": self.is_training}
        arrays |= {"prevalence": self.prevalence, "population_prevalence": self.population_prevalence}
        if self.components is not None:
            arrays |= {"components": np.array(self.components, dtype=str), "loadings": self.loadings}
        if self.covariate_effects is not None:
            arrays |= {"covariate_effects": self.covariate_effects}
            arrays |= {"adjusted_by": np.array(self.adjusted_by, dtype=str)}
        return arrays | {f"effects/{size}": effects for size, effects in self.effects.items()}

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Open what `save` wrote: values stay on disk until they are taken."""
        path = Path(path)
        group, attributes = open_sealed(path, KIND)
        arrays, sizes, stored = load_arrays(path / TERMS), attributes["sizes"], {}
        if _SHARED in group:
            stored = dict.fromkeys(sizes, StoredValues(path, group[_SHARED]))
        return cls(
            tuple(arrays["names"].tolist()),
            stored or {size: StoredValues(path, group[f"{_SHARED}_{size}"]) for size in sizes},
            {size: arrays[name] for size in sizes if (name := f"effects/{size}") in arrays},
            arrays["is_training"],
            Rows(attributes["rows"]),
            arrays["prevalence"],
            tuple(arrays["components"].tolist()) if "components" in arrays else None,
            arrays.get("loadings"),
            arrays["population_prevalence"],
            arrays.get("covariate_effects"),
            tuple(arrays["adjusted_by"].tolist()) if "adjusted_by" in arrays else (),
        )


def _array_name(size: int, block: Mapping[int, Any]) -> str:
    """Return the name of the array of the values of a number of variants."""
    first, *other_values = block.values()
    return _SHARED if all(values is first for values in other_values) else f"{_SHARED}_{size}"


def _create(group: Any, name: str, shape: tuple[int, int]) -> None:
    chunks = (max(min(length, most), 1) for length, most in zip(shape, CHUNK, strict=True))
    group.create_array(
        name,
        shape=shape,
        chunks=tuple(chunks),
        dtype="float64",
        **checked(_PACKING),
        attributes={"_ARRAY_DIMENSIONS": ["outcomes", "rows"]},
    )
